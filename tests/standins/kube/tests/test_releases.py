# SPDX-License-Identifier: Apache-2.0
"""In what releases differ, of which only the newest can be asked itself: what they serve, streaming lists, the forms
of objects."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from standins.kube.client import KubeStandin
from standins.kube.public import ApiFailure

from .conftest import ingress, service
from .test_trouble import shown

STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
LEGACY, BETA, STABLE = "extensions/v1beta1", "networking.k8s.io/v1beta1", "networking.k8s.io/v1"


@pytest.mark.parametrize(
    "profile, ingresses, slices",
    [
        ("1.16", {LEGACY, BETA}, {"discovery.k8s.io/v1beta1"}),
        ("1.20", {LEGACY, BETA, STABLE}, {"discovery.k8s.io/v1beta1"}),
        ("1.22", {STABLE}, {"discovery.k8s.io/v1beta1", "discovery.k8s.io/v1"}),
        ("1.28", {STABLE}, {"discovery.k8s.io/v1"}),
    ],
)
def test_what_is_served(start: Callable[..., KubeStandin], profile: str, ingresses: set[str], slices: set[str]) -> None:
    api = start(profile).api
    groups = api.request("GET", "/apis").json()["groups"]
    found = {version["groupVersion"] for group in groups for version in group["versions"]}
    assert {name for name in found if name.startswith(("extensions", "networking", "discovery"))} == ingresses | slices
    for version in ingresses:
        resources = api.request("GET", f"/apis/{version}").json()["resources"]
        assert "ingresses" in [resource["name"] for resource in resources]
    if LEGACY not in ingresses:
        assert api.request("GET", f"/apis/{BETA}/ingresses").status == 404
        gone = api.request("GET", f"/apis/{LEGACY}/ingresses")
        assert (gone.status, gone.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(
    "profile, is_refused, is_marked",
    [
        ("1.18", False, False), ("1.19", True, False), ("1.26", True, False), ("1.27", True, False), ("1.31", True, False),
        ("1.32", False, True), ("1.33", True, False), ("1.34", False, True), ("1.37", False, True),
    ],
)
def test_streaming_lists(start: Callable[..., KubeStandin], profile: str, is_refused: bool, is_marked: bool) -> None:
    kube = start(profile, "--setting", "bookmark_period_s=0.1")
    kube.api.create(service("a"))
    frames = kube.api.watch("services", **STREAMING)
    if is_refused:
        with pytest.raises(ApiFailure) as refused:
            next(frames)
        assert refused.value.status == 422
        assert refused.value.response.body == shown("streaming-unknown" if profile < "1.27" else "streaming-gate-off")
        return
    added, bookmark = next(frames), next(frames)
    assert (added["type"], added["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert bookmark["type"] == "BOOKMARK" and ("annotations" in bookmark["object"]["metadata"]) is is_marked
    assert ("creationTimestamp" in bookmark["object"]["metadata"]) is (profile < "1.34")
    frames.close()


def test_all_versions_show_one_ingress(start: Callable[..., KubeStandin]) -> None:
    api = start("1.20").api
    api.create(ingress("web"))
    shown_as = {
        version: api.request("GET", f"/apis/{version}/namespaces/default/ingresses/web").json()
        for version in (STABLE, BETA, LEGACY)
    }
    assert len({(obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]) for obj in shown_as.values()}) == 1
    for version in (BETA, LEGACY):
        path = shown_as[version]["spec"]["rules"][0]["http"]["paths"][0]
        assert path["backend"] == {"serviceName": "web", "servicePort": 80}


def test_older_forms_are_stored_as_the_newest(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.20")
    topology = {"kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "z"}
    endpoint = {"addresses": ["10.1.1.1"], "topology": topology}
    old: dict[str, Any] = {"apiVersion": "discovery.k8s.io/v1beta1", "kind": "EndpointSlice", "metadata": {"name": "s"}}
    made = kube.api.create(old | {"addressType": "IPv4", "endpoints": [endpoint]})
    assert made["endpoints"][0]["topology"] == topology
    stored = kube.objects("endpointslices")[0]["endpoints"][0]
    assert (stored["addresses"], stored["nodeName"], stored["zone"]) == (["10.1.1.1"], "n1", "z")
    paths = [{"backend": {"serviceName": "w", "servicePort": 80}}]
    spec = {"backend": {"serviceName": "d", "servicePort": "http-alt"}, "rules": [{"http": {"paths": paths}}]}
    kube.api.create({"apiVersion": LEGACY, "kind": "Ingress", "metadata": {"name": "a"}, "spec": spec})
    spec = kube.objects("ingresses")[0]["spec"]
    assert spec["defaultBackend"] == {"service": {"name": "d", "port": {"name": "http-alt"}}}
    assert spec["rules"][0]["http"]["paths"] == [
        {"pathType": "ImplementationSpecific", "backend": {"service": {"name": "w", "port": {"number": 80}}}}
    ]


def test_fields_that_a_release_does_not_know_are_dropped(start: Callable[..., KubeStandin]) -> None:
    backend = {"serviceName": "w", "servicePort": 80}
    paths = [{"path": "/x", "pathType": "Exact", "backend": backend}]
    spec = {"ingressClassName": "x", "rules": [{"http": {"paths": paths}}]}
    made = start("1.16").api.create({"apiVersion": BETA, "kind": "Ingress", "metadata": {"name": "a"}, "spec": spec})
    assert made["spec"] == {"rules": [{"http": {"paths": [{"path": "/x", "backend": backend}]}}]}
    assert "managedFields" not in made["metadata"]
    balancer = service("b", type="LoadBalancer", loadBalancerClass="x.io/lb")
    assert "loadBalancerClass" not in start("1.21").api.create(balancer)["spec"]
