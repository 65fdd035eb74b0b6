# SPDX-License-Identifier: Apache-2.0
"""The exchanges that documents and sources of Kubernetes describe, byte by byte where they are fixed."""

from __future__ import annotations

import base64
import json
from typing import Callable

import pytest

from standins.kube.client import KubeStandin

from .examples import TOKEN, example, golden, place
from .raw import INGRESSES, RawClient


def test_discovery_of_a_group_version(raw: RawClient) -> None:
    answer = raw.ask("/apis/networking.k8s.io/v1")
    assert answer.status == 200 and answer.headers["content-length"] == "652"
    assert answer.body == golden("discovery")
    assert {"audit-id", "cache-control", "date", "x-kubernetes-pf-flowschema-uid"} <= answer.headers.keys()


@pytest.mark.parametrize(
    "path", ["/apis/networking.k8s.io/v1beta1/ingresses?limit=500", "/apis/networking.k8s.io/v1beta1"]
)
def test_served_group_without_the_version(raw: RawClient, path: str) -> None:
    answer = raw.ask(path)
    assert answer.status == 404 and answer.headers["content-length"] == "174"
    assert answer.body == golden("unserved-version")


def test_group_that_is_not_served(raw: RawClient) -> None:
    answer = raw.ask("/apis/extensions/v1beta1/ingresses")
    assert answer.status == 404 and answer.body == b"404 page not found\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_pages(cluster: KubeStandin) -> None:
    raw = RawClient(cluster)
    first = raw.ask(f"{INGRESSES}?limit=2")
    assert first.headers["content-length"] == "1048"
    assert first.body.decode() == (
        '{"kind":"IngressList","apiVersion":"networking.k8s.io/v1",'
        '"metadata":{"resourceVersion":"15042","continue":"'
        + TOKEN
        + '","remainingItemCount":1},"items":['
        + example("web-a", "15001")
        + ","
        + example("web-b", "14990", status='{"ingress":[{"ip":"192.0.2.10"}]}')
        + "]}\n"
    )
    cluster.bump(100)
    last = raw.ask(f"{INGRESSES}?limit=2&continue={TOKEN}")
    assert last.headers["content-length"] == "502"
    assert last.body.decode() == (
        '{"kind":"IngressList","apiVersion":"networking.k8s.io/v1","metadata":{"resourceVersion":"15042"},'
        '"items":[' + example("web-c", "15040") + "]}\n"
    )
    both = raw.ask(f"{INGRESSES}?limit=2&resourceVersion=5&continue={TOKEN}")
    assert both.status == 400


def test_expired_continue_token(cluster: KubeStandin) -> None:
    cluster.bump(10)
    cluster.forget()
    answer = RawClient(cluster).ask(f"{INGRESSES}?limit=2&continue={TOKEN}")
    document = answer.json()
    assert answer.status == 410 and document["reason"] == "Expired" and document["code"] == 410
    again = document["metadata"]["continue"]
    assert json.loads(base64.urlsafe_b64decode(again + "==")) == {
        "v": "meta.k8s.io/v1",
        "rv": -1,
        "start": "default/web-b\x00",
    }
    rest = RawClient(cluster).ask(f"{INGRESSES}?limit=2&continue={again}").json()
    assert [item["metadata"]["name"] for item in rest["items"]] == ["web-c"]
    assert rest["metadata"]["resourceVersion"] == "15052"


@pytest.mark.parametrize(
    "query", ["resourceVersion=12&resourceVersionMatch=Exact", "resourceVersion=12&limit=500"]
)
def test_list_at_a_compacted_revision(raw: RawClient, query: str) -> None:
    answer = raw.ask(f"{INGRESSES}?{query}")
    assert answer.status == 410 and answer.headers["content-length"] == "165"
    assert answer.body == golden("list-too-old")


def test_watch_frames_and_a_clean_end(cluster: KubeStandin) -> None:
    cluster.settings(final_bookmark_s=0.2)
    with RawClient(cluster).watch(
        f"{INGRESSES}?resourceVersion=15042&allowWatchBookmarks=true&timeoutSeconds=1"
    ) as stream:
        cluster.wait_streams(1)
        place(cluster, "web-d", 15051)
        place(cluster, "web-a", 15077, generation=2)
        cluster.bump(15099 - 15077)
        cluster.delete_objects("ingresses", "default", "web-a")
        cluster.bump(15230 - 15100)
        assert stream.ending() == "zero-chunk"
    head = '","object":{"kind":"Ingress","apiVersion":"networking.k8s.io/v1",'
    assert [chunk.decode() for chunk in stream.answer.chunks] == [
        '{"type":"ADDED' + head + example("web-d", "15051")[1:] + "}\n",
        '{"type":"MODIFIED' + head + example("web-a", "15077", 2)[1:] + "}\n",
        '{"type":"DELETED' + head + example("web-a", "15100", 2)[1:] + "}\n",
        '{"type":"BOOKMARK'
        + head
        + '"metadata":{"resourceVersion":"15230"},"spec":{},"status":{"loadBalancer":{}}}}\n',
    ]
    assert [len(chunk) for chunk in stream.answer.chunks] == [0x1D9, 0x1DC, 0x1DB, 0xA2]


@pytest.mark.parametrize(
    "path, shape",
    [
        (
            "/api/v1/services",
            '"kind":"Service","apiVersion":"v1","metadata":{%s},"spec":{},"status":{"loadBalancer":{}}',
        ),
        ("/api/v1/secrets", '"kind":"Secret","apiVersion":"v1","metadata":{%s}'),
        (
            "/apis/discovery.k8s.io/v1/endpointslices",
            '"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{%s},'
            '"addressType":"","endpoints":null,"ports":null',
        ),
        ("/api/v1/endpoints", '"kind":"Endpoints","apiVersion":"v1","metadata":{%s}'),
        (
            "/apis/networking.k8s.io/v1/ingressclasses",
            '"kind":"IngressClass","apiVersion":"networking.k8s.io/v1","metadata":{%s},"spec":{}',
        ),
    ],
)
def test_bookmarks_of_other_kinds(kube: KubeStandin, raw: RawClient, path: str, shape: str) -> None:
    kube.settings(bookmark_period_s=0.05)
    revision = kube.control("GET", "info")["revision"]
    with raw.watch(f"{path}?resourceVersion={revision}&allowWatchBookmarks=true") as stream:
        chunk = stream.read_chunk()
    assert chunk is not None
    assert chunk.decode() == '{"type":"BOOKMARK","object":{%s}}\n' % (
        shape % f'"resourceVersion":"{revision}"'
    )


def test_bookmarks_of_older_servers_show_a_null_time(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.33")
    kube.settings(bookmark_period_s=0.05)
    with RawClient(kube).watch("/api/v1/secrets?resourceVersion=15003&allowWatchBookmarks=true") as stream:
        assert b'"metadata":{"resourceVersion":"15003","creationTimestamp":null}' in (
            stream.read_chunk() or b""
        )


def test_watch_from_a_forgotten_revision(cluster: KubeStandin) -> None:
    cluster.forget(14801, lists=False)
    with RawClient(cluster).watch(
        f"{INGRESSES}?resourceVersion=900&allowWatchBookmarks=true&timeoutSeconds=420"
    ) as stream:
        assert stream.answer.status == 200
        assert stream.ending() == "zero-chunk"
    assert stream.answer.chunks == [golden("watch-too-old")]


STREAMING = (
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="
    "&allowWatchBookmarks=true&timeoutSeconds=480"
)


def test_streaming_list(cluster: KubeStandin) -> None:
    cluster.bump(15230 - 15042)
    with RawClient(cluster).watch(f"{INGRESSES}?{STREAMING}") as stream:
        start = stream.frames(4)
        place(cluster, "web-c", 15244, generation=2)
        live = stream.frames(1)[0]
    assert [frame["object"]["metadata"].get("name") for frame in start] == ["web-a", "web-b", "web-c", None]
    assert start[3] == {
        "type": "BOOKMARK",
        "object": {
            "kind": "Ingress",
            "apiVersion": "networking.k8s.io/v1",
            "metadata": {"resourceVersion": "15230", "annotations": {"k8s.io/initial-events-end": "true"}},
            "spec": {},
            "status": {"loadBalancer": {}},
        },
    }
    assert live["type"] == "MODIFIED" and live["object"]["metadata"]["resourceVersion"] == "15244"


def test_streaming_list_refused(start: Callable[..., KubeStandin]) -> None:
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    answer = RawClient(start("1.33")).ask(f"{INGRESSES}?{query}")
    assert answer.status == 422 and answer.headers["content-length"] == "504"
    assert answer.body == golden("streaming-gate-off")
    answer = RawClient(start("1.26")).ask(f"{INGRESSES}?{query}")
    assert answer.status == 422
    assert answer.body == golden("streaming-unknown")


def test_bad_token(kube: KubeStandin) -> None:
    answer = RawClient(kube, token="wrong").ask(f"{INGRESSES}?limit=500")
    assert answer.status == 401 and answer.headers["content-length"] == "129"
    assert answer.body == golden("unauthorized")
    assert (
        not any(name.startswith("x-kubernetes-pf") for name in answer.headers)
        and "www-authenticate" not in answer.headers
    )


def test_denied(cluster: KubeStandin) -> None:
    cluster.deny("list", "ingresses")
    answer = RawClient(cluster).ask(f"{INGRESSES}?limit=500")
    assert answer.status == 403 and answer.headers["content-length"] == "347"
    assert answer.body == golden("forbidden")


def test_denied_in_a_namespace_without_credentials(kube: KubeStandin) -> None:
    answer = RawClient(kube, token="").ask("/api/v1/namespaces/shop/secrets", Authorization="")
    assert answer.status == 403
    assert answer.json()["message"] == (
        'secrets is forbidden: User "system:anonymous" cannot list resource "secrets" in API group '
        '"" in the namespace "shop"'
    )
    assert "group" not in answer.json()["details"]


TEXT = {"content-type": "text/plain; charset=utf-8"}


@pytest.mark.parametrize(
    "name, status, length, headers",
    [
        ("throttled", 429, "43", {"retry-after": "1", "x-content-type-options": "nosniff"} | TEXT),
        ("throttled-json", 429, "181", {"retry-after": "1"}),
        ("starting", 503, "248", {"retry-after": "5"}),
        ("internal", 500, "233", {}),
        ("too-large-revision", 504, "292", {"retry-after": "1"}),
        ("deadline", 504, "151", TEXT),
    ],
)
def test_server_trouble(
    kube: KubeStandin, raw: RawClient, name: str, status: int, length: str, headers: dict[str, str]
) -> None:
    kube.fault("respond", {"resource": "ingresses"}, with_=name, count=1)
    answer = raw.ask(f"{INGRESSES}?limit=500")
    assert (answer.status, answer.headers["content-length"]) == (status, length)
    text = b"Too many requests, please try again later.\n"
    assert answer.body == (text if name == "throttled" else golden(name))
    assert headers.items() <= answer.headers.items()
    assert raw.ask(f"{INGRESSES}?limit=500").status == 200


def test_list_from_the_future(kube: KubeStandin, raw: RawClient) -> None:
    kube.settings(too_large_wait_s=0.05)
    answer = raw.ask(f"{INGRESSES}?resourceVersion=99999999")
    assert answer.status == 504 and answer.headers["retry-after"] == "1"
    assert answer.json()["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
