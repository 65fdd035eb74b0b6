# SPDX-License-Identifier: Apache-2.0
"""Parts of the stand-in by themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from standins.kube import encoding, managed, negotiate, openapi_protobuf, patch, protobuf, tables
from standins.kube.profiles import Profile
from standins.kube.resources import RESOURCES
from standins.kube.schema import DecodeError, Reader, decode
from standins.kube.shapes import core, networking, others


@pytest.mark.parametrize(
    "seconds, text",
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (12000, "3h20m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (180000, "2d2h"),
        (691200, "8d"),
        (63072000, "2y"),
        (70000000, "2y80d"),
        (252288000, "8y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert tables.duration(seconds) == text


def test_decoding_is_canonical() -> None:
    odd = {
        "metadata": {
            "labels": {"b": "1", "a": "2"},
            "name": "x",
            "annotations": {},
            "creationTimestamp": "2026-01-01T01:00:00.5+01:00",
        },
        "status": {},
        "spec": {"type": "", "ports": [{"port": 80, "name": ""}], "externalIPs": []},
    }
    got = decode(core.SERVICE, odd)
    assert json.dumps(got) == json.dumps(
        {
            "metadata": {
                "name": "x",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"a": "2", "b": "1"},
            },
            "spec": {"ports": [{"port": 80, "targetPort": 0}]},
            "status": {"loadBalancer": {}},
        }
    )
    assert decode(core.SERVICE, got) == got


def test_pointers_differ_from_absence() -> None:
    shape = others.ENDPOINT_SLICE
    got = decode(shape, {"endpoints": [{"conditions": {"ready": False}}], "ports": [{"name": ""}]})
    assert got["endpoints"][0]["conditions"] == {"ready": False} and got["ports"] == [{"name": ""}]
    assert decode(networking.INGRESS, {"spec": {"ingressClassName": ""}})["spec"] == {"ingressClassName": ""}


@pytest.mark.parametrize(
    "spec",
    [
        {"leaseDurationSeconds": 1.5},
        {"leaseDurationSeconds": True},
        {"leaseDurationSeconds": "1"},
        {"leaseDurationSeconds": 1 << 70},
        {"renewTime": "2026-01-01T00:00:00.123Z"},
        {"renewTime": "2026-13-01T00:00:00.123456Z"},
        {"holderIdentity": []},
        [],
    ],
)
def test_wrong_types(spec: Any) -> None:
    with pytest.raises(DecodeError):
        decode(others.LEASE, {"spec": spec})


def test_strict_and_sparse_reading() -> None:
    reader = Reader(sparse=True)
    got = decode(networking.INGRESS, {"metadata": {"x": 1}, "spec": {"rules": [{"http": {"y": 1}}]}}, reader)
    assert got == {"metadata": {}, "spec": {"rules": [{"http": {}}]}}
    assert reader.issues == ['unknown field "metadata.x"', 'unknown field "spec.rules[0].http.y"']


def test_json_dialect() -> None:
    assert (
        encoding.to_json({"a": "<b>&\u2028\u00e4"}) == '{"a":"\\u003cb\\u003e\\u0026\\u2028\u00e4"}'.encode()
    )
    assert encoding.to_json({"a": "\ud800"}) == '{"a":"\ufffd"}'.encode()
    assert encoding.from_json(b'{"a":"\xff"}') == {"a": "\ufffd"}
    assert encoding.from_yaml(b"a: 2026-01-01\nb: 5\n") == {"a": "2026-01-01", "b": 5}
    for broken in (b"{", b'{"a":NaN}', b"[" * 100_000):
        with pytest.raises(encoding.MalformedDocument):
            encoding.from_json(broken)


SUBSETS = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]


@pytest.mark.parametrize(
    "change, want",
    [
        (
            {"spec": {"ports": [{"port": 2, "name": "c"}]}},
            {"spec": {"ports": [SUBSETS[0], {"name": "c", "port": 2}]}},
        ),
        ({"spec": {"ports": [{"port": 1, "$patch": "delete"}]}}, {"spec": {"ports": [SUBSETS[1]]}}),
        ({"spec": {"ports": [{"port": 3}, {"$patch": "replace"}]}}, {"spec": {"ports": [{"port": 3}]}}),
        (
            {
                "spec": {
                    "ports": [{"port": 3}],
                    "$setElementOrder/ports": [{"port": 3}, {"port": 1}, {"port": 2}],
                }
            },
            {"spec": {"ports": [{"port": 3}, *SUBSETS]}},
        ),
        ({"spec": {"$patch": "replace", "type": "x"}}, {"spec": {"type": "x"}}),
        ({"spec": {"$retainKeys": ["type"], "type": "x"}}, {"spec": {"type": "x"}}),
        ({"spec": None}, {}),
    ],
)
def test_strategic_patches(change: dict[str, Any], want: dict[str, Any]) -> None:
    target = {"spec": {"ports": [dict(port) for port in SUBSETS]}}
    assert patch.strategic(core.SERVICE, target, change) == want
    assert target == {"spec": {"ports": SUBSETS}}


def test_strategic_patches_of_plain_lists() -> None:
    target = {"metadata": {"finalizers": ["a", "b"]}}
    assert patch.strategic(core.SERVICE, target, {"metadata": {"finalizers": ["c", "a"]}})["metadata"][
        "finalizers"
    ] == ["a", "b", "c"]
    assert patch.strategic(
        core.SERVICE, target, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    )["metadata"]["finalizers"] == ["b"]
    with pytest.raises(patch.PatchError):
        patch.strategic(
            core.SERVICE, {"spec": {"ports": [{"port": 1}]}}, {"spec": {"ports": [{"name": "x"}]}}
        )


@pytest.mark.parametrize(
    "operations, want",
    [
        ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3]}),
        ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2]}),
        ([{"op": "remove", "path": "/a/1"}], {"a": [1]}),
        ([{"op": "replace", "path": "", "value": {"x": 1}}], {"x": 1}),
        ([{"op": "move", "from": "/a/0", "path": "/b"}], {"a": [2], "b": 1}),
        ([{"op": "copy", "from": "/a", "path": "/b~1c"}], {"a": [1, 2], "b/c": [1, 2]}),
        ([{"op": "remove", "path": "/a/2"}], None),
        ([{"op": "add", "path": "/x/y", "value": 1}], None),
        ([{"op": "replace", "path": "/x", "value": 1}], None),
        ([{"op": "jump", "path": "/a"}], None),
        ([{"op": "add", "path": "a"}], None),
        ([{"op": "test", "path": "/a/0", "value": 5}], None),
    ],
)
def test_json_patches(operations: list[dict[str, Any]], want: Any) -> None:
    if want is None:
        with pytest.raises(patch.PatchError):
            patch.json_patch({"a": [1, 2]}, operations)
    else:
        assert patch.json_patch({"a": [1, 2]}, operations) == want


def test_merge_patch() -> None:
    assert patch.merge({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None, "e": {"f": None}}, "d": [2]}) == {
        "a": {"c": 2, "e": {}},
        "d": [2],
    }


def test_sets_of_fields() -> None:
    obj = decode(
        core.SERVICE,
        {
            "metadata": {"name": "a", "labels": {"x": "1"}, "finalizers": ["f"]},
            "spec": {"ports": [{"port": 80}]},
        },
    )
    fields = managed.to_fields(set(managed.owned_leaves(core.SERVICE, obj, "")))
    assert fields == {
        "f:metadata": {"f:labels": {".": {}, "f:x": {}}, "f:finalizers": {".": {}, 'v:"f"': {}}},
        "f:spec": {
            "f:ports": {
                ".": {},
                'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:targetPort": {}},
            }
        },
    }
    assert managed.to_fields(managed.from_fields(fields)) == fields
    assert managed.display(("f:spec", "f:ports", 'k:{"port":80}', "f:port")) == ".spec.ports[port=80].port"


def test_media_types_by_preference() -> None:
    found = [
        media for media, _ in negotiate.clauses("text/html;q=0.5, application/json;as=Table;q=0.9,*/*;q=0.1")
    ]
    assert found == ["application/json", "text/html", "*/*"]


def message(*parts: tuple[int, Any]) -> bytes:
    """A protobuf message of numbers, texts and messages."""
    out = b""
    for number, value in parts:
        if isinstance(value, int):
            out += bytes([number << 3]) + openapi_protobuf._varint(value)  # the same encoding
        else:
            out += openapi_protobuf._message(number, value.encode() if isinstance(value, str) else value)
    return out


def test_protobuf_bodies() -> None:
    backend = message((4, message((1, "svc"), (2, message((2, 80))))))
    path = message((1, "/x"), (3, "Exact"), (2, backend))
    rule = message((1, "foo.com"), (2, message((1, message((1, path))))))
    meta = message((1, "web"), (8, b""), (11, message((1, "k"), (2, "v"))))
    body = message((1, meta), (2, message((4, "rancher"), (3, rule))), (3, b""))
    data = protobuf.MAGIC + message((1, message((1, "networking.k8s.io/v1"), (2, "Ingress"))), (2, body))
    assert decode(networking.INGRESS, protobuf.read(data, networking.INGRESS)) == decode(
        networking.INGRESS,
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "web", "labels": {"k": "v"}},
            "spec": {
                "ingressClassName": "rancher",
                "rules": [
                    {
                        "host": "foo.com",
                        "http": {
                            "paths": [
                                {
                                    "path": "/x",
                                    "pathType": "Exact",
                                    "backend": {"service": {"name": "svc", "port": {"number": 80}}},
                                }
                            ]
                        },
                    }
                ],
            },
        },
    )
    for end in range(len(data)):
        try:
            protobuf.read(data[:end], networking.INGRESS)
        except protobuf.Unreadable:
            pass


def test_protobuf_scalars() -> None:
    target = message((3, 443), (4, message((1, 1), (3, "https"))), (5, (1 << 64) - 1))
    port = protobuf.read(protobuf.MAGIC + message((2, message((2, message((1, target)))))), core.SERVICE)[
        "spec"
    ]["ports"][0]
    assert port == {"port": 443, "targetPort": "https", "nodePort": -1}
    secret = protobuf.read(
        protobuf.MAGIC + message((2, message((2, message((1, "a"), (2, "b"))), (5, 1)))), core.SECRET
    )
    assert secret["data"] == {"a": "Yg=="} and secret["immutable"] is True


def test_tables_of_all_resources() -> None:
    for resource in RESOURCES:
        obj = decode(
            resource.hub.shape,
            {"metadata": {"name": "x"}, "spec": {"type": "ClusterIP"}}
            if resource.plural == "services"
            else {"metadata": {"name": "x"}},
        )
        assert len(tables.row(resource, obj)) == len(tables.columns(resource))


@pytest.mark.parametrize("text", ["1.15", "1.38", "2.20", "1", "1.x"])
def test_unknown_releases(text: str) -> None:
    with pytest.raises(ValueError):
        Profile.parse(text)
