# SPDX-License-Identifier: Apache-2.0
"""Lists: revisions, pages, selectors, forms."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any, Callable

import pytest

from standins.kube.client import KubeStandin

from .conftest import ingress
from .raw import INGRESSES, RawAnswer, RawClient


def names(answer: RawAnswer) -> list[str]:
    """namespace/name of all items."""
    return [
        f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
        for item in answer.json()["items"]
    ]


def walk(raw: RawClient, target: str) -> list[RawAnswer]:
    """All pages."""
    pages = [raw.ask(target)]
    while token := pages[-1].json()["metadata"].get("continue"):
        pages.append(raw.ask(f"{target}&continue={token}"))
    return pages


@pytest.fixture
def five(kube: KubeStandin) -> KubeStandin:
    """Five Ingresses in two namespaces."""
    for namespace, name in (
        ("shop", "b"),
        ("shop", "a"),
        ("default", "z"),
        ("default", "y"),
        ("shop-2", "x"),
    ):
        kube.api.create(
            ingress(
                name, namespace, metadata={"labels": {"app": name, "tier": "front" if name < "n" else "back"}}
            )
        )
    return kube


def test_order_and_bare_items(five: KubeStandin, raw: RawClient) -> None:
    answer = raw.ask(INGRESSES)
    assert names(answer) == ["default/y", "default/z", "shop-2/x", "shop/a", "shop/b"]
    assert all(item.keys() == {"metadata", "spec", "status"} for item in answer.json()["items"])
    assert names(raw.ask("/apis/networking.k8s.io/v1/namespaces/shop/ingresses")) == ["shop/a", "shop/b"]


def test_pages_stay_at_their_revision(five: KubeStandin, raw: RawClient) -> None:
    first = raw.ask(f"{INGRESSES}?limit=2")
    five.api.delete("ingresses", "x", "shop-2")
    five.api.create(ingress("c", "shop"))
    five.api.patch("ingresses", "a", {"metadata": {"annotations": {"new": "1"}}}, "shop")
    token = first.json()["metadata"]["continue"]
    second = raw.ask(f"{INGRESSES}?limit=2&continue={token}")
    assert names(second) == ["shop-2/x", "shop/a"]
    assert "annotations" not in second.json()["items"][1]["metadata"]
    assert second.json()["metadata"]["resourceVersion"] == first.json()["metadata"]["resourceVersion"]
    third = raw.ask(f"{INGRESSES}?limit=2&continue={second.json()['metadata']['continue']}")
    assert names(third) == ["shop/b"]
    assert "continue" not in third.json()["metadata"] and "remainingItemCount" not in third.json()["metadata"]


def test_remaining_items_and_namespaced_tokens(five: KubeStandin, raw: RawClient) -> None:
    meta = raw.ask("/apis/networking.k8s.io/v1/namespaces/shop/ingresses?limit=1").json()["metadata"]
    assert meta["remainingItemCount"] == 1
    assert json.loads(base64.urlsafe_b64decode(meta["continue"] + "=="))["start"] == "a\x00"
    assert "remainingItemCount" not in raw.ask(f"{INGRESSES}?limit=1&labelSelector=app").json()["metadata"]


@pytest.mark.parametrize(
    "token",
    ["garbage!", "e30", base64.urlsafe_b64encode(b'{"v":"x","rv":1,"start":"a"}').decode().rstrip("=")],
)
def test_malformed_tokens(raw: RawClient, token: str) -> None:
    answer = raw.ask(f"{INGRESSES}?limit=1&continue={token}")
    assert answer.status == 400 and answer.json()["message"].startswith("invalid continue token")


def test_meaning_of_revisions(five: KubeStandin, raw: RawClient) -> None:
    then = int(raw.ask(INGRESSES).json()["metadata"]["resourceVersion"])
    five.api.delete("ingresses", "x", "shop-2")
    now = int(raw.ask(INGRESSES).json()["metadata"]["resourceVersion"])

    exact = raw.ask(f"{INGRESSES}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert exact.json()["metadata"]["resourceVersion"] == str(then) and len(exact.json()["items"]) == 5
    legacy = raw.ask(f"{INGRESSES}?resourceVersion={then}&limit=500")
    assert legacy.json()["metadata"]["resourceVersion"] == str(then)
    for query in (
        f"resourceVersion={then}",
        f"resourceVersion={then}&resourceVersionMatch=NotOlderThan",
        "resourceVersion=0",
    ):
        answer = raw.ask(f"{INGRESSES}?{query}").json()
        assert answer["metadata"]["resourceVersion"] == str(now) and len(answer["items"]) == 4
    cached = raw.ask(f"{INGRESSES}?resourceVersion=0&limit=2").json()
    assert len(cached["items"]) == 4 and "continue" not in cached["metadata"]


@pytest.mark.parametrize(
    "query, status",
    [
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=NotOlderThan", 422),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422),
        ("resourceVersion=1&resourceVersionMatch=Sometimes", 422),
        ("sendInitialEvents=true", 422),
        ("resourceVersion=abc", 400),
        ("limit=x", 400),
        ("labelSelector=a%3D(", 400),
        ("fieldSelector=spec.foo%3Dbar", 400),
    ],
)
def test_refused_parameters(raw: RawClient, query: str, status: int) -> None:
    assert raw.ask(f"{INGRESSES}?{query}").status == status


@pytest.mark.parametrize(
    "selector, found",
    [
        ("app=a", "a"),
        ("app==a", "a"),
        ("app!=a", "bxyz"),
        ("app in (a,x)", "ax"),
        ("app notin (a,x)", "byz"),
        ("app", "abxyz"),
        ("!app", ""),
        ("tier=front,app!=a", "b"),
        ("missing!=1", "abxyz"),
    ],
)
def test_label_selectors(five: KubeStandin, raw: RawClient, selector: str, found: str) -> None:
    import urllib.parse

    answer = raw.ask(f"{INGRESSES}?labelSelector={urllib.parse.quote(selector)}")
    assert sorted(item["metadata"]["name"] for item in answer.json()["items"]) == list(found)


def test_field_selectors(five: KubeStandin, raw: RawClient) -> None:
    assert names(raw.ask(f"{INGRESSES}?fieldSelector=metadata.name%3Da")) == ["shop/a"]
    assert names(raw.ask(f"{INGRESSES}?fieldSelector=metadata.namespace!%3Dshop,metadata.name!%3Dx")) == [
        "default/y",
        "default/z",
    ]
    for name, kind in (("one", "kubernetes.io/tls"), ("two", "Opaque")):
        five.api.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name},
                "type": kind,
                "data": {"tls.crt": "", "tls.key": ""},
            }
        )
    assert names(raw.ask("/api/v1/secrets?fieldSelector=type%3Dkubernetes.io/tls")) == ["default/one"]


def test_gzip_over_its_limit_and_when_asked(five: KubeStandin, raw: RawClient) -> None:
    assert "content-encoding" not in raw.ask(INGRESSES, accept_encoding="gzip").headers
    five.settings(gzip_from_bytes=100)
    packed = raw.ask(INGRESSES, accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip" and packed.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(packed.body) == raw.ask(INGRESSES).body


def test_page_faults(five: KubeStandin, raw: RawClient) -> None:
    five.fault("page", max=1)
    assert [len(page.json()["items"]) for page in walk(raw, f"{INGRESSES}?limit=3")] == [1, 1, 1, 1, 1]
    assert len(raw.ask(INGRESSES).json()["items"]) == 5
    five.clear()
    five.fault("page", empty=True, count=2, skip=1)
    pages = walk(raw, f"{INGRESSES}?limit=3")
    assert [len(page.json()["items"]) for page in pages] == [3, 0, 0, 2]
    five.clear()
    five.fault("page", empty=True, count=1)
    assert [len(page.json()["items"]) for page in walk(raw, f"{INGRESSES}?limit=3")] == [0, 3, 2]


def test_null_items(kube: KubeStandin, raw: RawClient) -> None:
    assert b'"items":[]' in raw.ask(INGRESSES).body
    kube.fault("page", null_items=True)
    assert b'"items":null' in raw.ask(INGRESSES).body


def test_stale_list(five: KubeStandin, raw: RawClient) -> None:
    before = int(raw.ask(INGRESSES).json()["metadata"]["resourceVersion"])
    five.api.delete("ingresses", "a", "shop")
    five.fault("stale", {"query": "resourceVersion=0"}, rev=before)
    old = raw.ask(f"{INGRESSES}?resourceVersion=0").json()
    assert old["metadata"]["resourceVersion"] == str(before) and len(old["items"]) == 5
    assert len(raw.ask(INGRESSES).json()["items"]) == 4


def test_rewind(five: KubeStandin, raw: RawClient) -> None:
    remembered = five.snapshot()
    five.api.delete("ingresses", "a", "shop")
    later = five.api.create(ingress("new", "shop"))["metadata"]["resourceVersion"]
    token = raw.ask(f"{INGRESSES}?limit=2").json()["metadata"]["continue"]
    assert five.restore() == remembered < int(later)
    answer = raw.ask(INGRESSES)
    assert answer.json()["metadata"]["resourceVersion"] == str(remembered)
    assert "shop/a" in names(answer) and "shop/new" not in names(answer)
    five.settings(too_large_wait_s=0.01)
    assert raw.ask(f"{INGRESSES}?limit=2&continue={token}").status == 504


def test_unserved_things(raw: RawClient) -> None:
    cases: list[tuple[str, str, int]] = [
        ("GET", "/apis/networking.k8s.io/v1/nothing", 404),
        ("GET", "/nothing", 404),
        ("GET", "/api/v2/pods", 404),
        ("POST", INGRESSES, 405),
        ("POST", "/apis/networking.k8s.io/v1/namespaces/default/ingresses/a", 405),
        ("PUT", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", 405),
        ("GET", "/apis/networking.k8s.io/v1/namespaces/default/ingresses/a/scale", 404),
        ("DELETE", "/apis/networking.k8s.io/v1/namespaces/default/ingresses/a/status", 405),
        ("GET", "/healthz", 200),
        ("GET", "/version", 200),
        ("GET", "/api", 200),
        ("GET", "/apis", 200),
    ]
    assert [(method, path, raw.ask(path, method).status) for method, path, _ in cases] == cases


@pytest.mark.parametrize(
    "profile, groups",
    [
        ("1.16", {"extensions/v1beta1", "networking.k8s.io/v1beta1", "discovery.k8s.io/v1beta1"}),
        (
            "1.20",
            {"extensions/v1beta1", "networking.k8s.io/v1beta1", "networking.k8s.io/v1", "discovery.k8s.io/v1beta1"},
        ),
        ("1.22", {"networking.k8s.io/v1", "discovery.k8s.io/v1beta1", "discovery.k8s.io/v1"}),
        ("1.28", {"networking.k8s.io/v1", "discovery.k8s.io/v1"}),
    ],
)
def test_profiles_serve_what_their_release_did(
    start: Callable[..., KubeStandin], profile: str, groups: set[str]
) -> None:
    raw = RawClient(start(profile))
    found = {
        version["groupVersion"]
        for group in raw.ask("/apis").json()["groups"]
        for version in group["versions"]
    }
    of_interest = ("extensions", "networking.k8s.io", "discovery.k8s.io")
    assert {name for name in found if name.startswith(of_interest)} == groups
    resources: list[Any] = raw.ask(f"/apis/{sorted(groups)[-1]}").json()["resources"]
    assert "ingresses" in [resource["name"] for resource in resources]
