# SPDX-License-Identifier: Apache-2.0
"""Bulk loading and churn."""

from __future__ import annotations

import time
from typing import Callable

import pytest

from standins.kube.client import ControlFailure, KubeStandin

from .raw import INGRESSES, RawClient

SLICES = "/apis/discovery.k8s.io/v1/endpointslices"


@pytest.fixture
def loaded(start: Callable[..., KubeStandin]) -> KubeStandin:
    """A stand-in with 600 of each kind."""
    kube = start()
    kube.bulk(count=600, namespaces=3, secrets=True, paths=2, ingress_class="rancher", endpoints=3)
    return kube


def test_objects_belong_together(loaded: KubeStandin) -> None:
    ingress = loaded.api.get("ingresses", "app-00007", "bench-1")
    service = loaded.api.get("services", "app-00007", "bench-1")
    secret = loaded.api.get("secrets", ingress["spec"]["tls"][0]["secretName"], "bench-1")
    selected = loaded.api.list(
        "endpointslices", "bench-1", labelSelector="kubernetes.io/service-name=app-00007"
    )["items"]
    assert len(selected) == 1 and len(selected[0]["endpoints"]) == 3
    assert selected[0]["metadata"]["ownerReferences"][0]["uid"] == service["metadata"]["uid"]
    assert selected[0]["ports"][0]["name"] == service["spec"]["ports"][0]["name"]
    assert [path["path"] for path in ingress["spec"]["rules"][0]["http"]["paths"]] == ["/", "/part-1"]
    assert secret["type"] == "kubernetes.io/tls" and ingress["spec"]["ingressClassName"] == "rancher"
    assert all(obj["metadata"]["managedFields"] for obj in (ingress, service, secret, selected[0]))
    addresses = {
        address
        for item in loaded.api.list("endpointslices")["items"]
        for endpoint in item["endpoints"]
        for address in endpoint["addresses"]
    }
    assert len(addresses) == 1800


def test_what_was_loaded_is_what_the_api_would_store(loaded: KubeStandin) -> None:
    mark = loaded.mark()
    for plural, name in (
        ("ingresses", "app-00007"),
        ("services", "app-00007"),
        ("endpointslices", "app-00007-x07"),
        ("secrets", "app-00007-tls"),
    ):
        loaded.api.patch(plural, name, {}, "bench-1")
    effects = [entry["effect"] for entry in loaded.requests(mark, verb="patch")]
    assert effects == ["noop"] * 4


def test_pages(loaded: KubeStandin) -> None:
    raw, seen, token = RawClient(loaded), [], ""
    while True:
        page = raw.ask(f"{INGRESSES}?limit=250" + (f"&continue={token}" if token else "")).json()
        seen += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert len(seen) == 600 and seen == sorted(seen)


def test_loading_more_and_padding(loaded: KubeStandin) -> None:
    loaded.bulk(count=3, first=600, padding_bytes=5000)
    assert len(loaded.objects("ingresses")) == 603
    assert (
        len(
            loaded.api.get("ingresses", "app-00601", "bench-1")["metadata"]["annotations"][
                "example.org/padding"
            ]
        )
        == 5000
    )
    for load in ({"counts": 1}, {"namespaces": 0}):
        with pytest.raises(ControlFailure):
            loaded.bulk(**load)


@pytest.mark.parametrize(
    "resource, path", [("endpointslices", SLICES), ("ingresses", INGRESSES), ("services", "/api/v1/services")]
)
def test_churn(loaded: KubeStandin, resource: str, path: str) -> None:
    with RawClient(loaded).watch_now(path) as stream:
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        changes = loaded.churn(resource=resource, count=20, interval_ms=0.5)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        frames = stream.frames(20)
    assert [str(change["revision"]) for change in changes] == [
        frame["object"]["metadata"]["resourceVersion"] for frame in frames
    ]
    instants = [change["at_ns"] for change in changes]
    assert before < instants[0] and instants == sorted(instants) and instants[-1] < after
    assert {frame["type"] for frame in frames} == {"MODIFIED"}


def test_churn_of_nothing(loaded: KubeStandin) -> None:
    for plan in ({"resource": "secrets"}, {"prefix": "none"}):
        with pytest.raises(ControlFailure):
            loaded.churn(**plan)


def test_loading_while_watching(start: Callable[..., KubeStandin]) -> None:
    kube = start()
    with RawClient(kube).watch_now() as stream:
        kube.bulk(count=400)
        assert len({frame["object"]["metadata"]["uid"] for frame in stream.frames(400)}) == 400
