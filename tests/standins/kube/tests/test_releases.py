# SPDX-License-Identifier: Apache-2.0
"""In what releases differ, of which only the newest can be asked itself: what they serve, streaming lists, the forms
of objects."""

from __future__ import annotations

import json
import urllib.parse
from typing import Any, Callable

import pytest

from lib.cluster import Cluster
from standins.kube.client import KubeStandin

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
    groups = api.request("GET", "/apis").json["groups"]
    found = {version["groupVersion"] for group in groups for version in group["versions"]}
    assert {name for name in found if name.startswith(("extensions", "networking", "discovery"))} == ingresses | slices
    for version in ingresses:
        resources = api.request("GET", f"/apis/{version}").json["resources"]
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
    kube = start(profile)
    kube.settings(bookmark_period_s=0.1)
    kube.api.create(Cluster("").service("a"))
    answer = kube.api.request("GET", f"/api/v1/services?watch=true&timeoutSeconds=1&{urllib.parse.urlencode(STREAMING)}")
    if is_refused:
        wanted = shown("streaming-unknown" if profile < "1.27" else "streaming-gate-off")
        assert (answer.status, answer.body) == (422, wanted)
        return
    added, bookmark, *_ = map(json.loads, answer.body.splitlines())
    assert (added["type"], added["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert bookmark["type"] == "BOOKMARK" and ("annotations" in bookmark["object"]["metadata"]) is is_marked
    assert ("creationTimestamp" in bookmark["object"]["metadata"]) is (profile < "1.34")


def test_all_versions_show_one_ingress(start: Callable[..., KubeStandin]) -> None:
    api = start("1.20").api
    api.create(Cluster("").ingress("web", [{"paths": [("/", "Prefix", "web", 80)]}]))
    shown_as = {
        version: api.request("GET", f"/apis/{version}/namespaces/default/ingresses/web").json
        for version in (STABLE, BETA, LEGACY)
    }
    assert len({(obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]) for obj in shown_as.values()}) == 1
    for version in (BETA, LEGACY):
        path = shown_as[version]["spec"]["rules"][0]["http"]["paths"][0]
        assert path["backend"] == {"serviceName": "web", "servicePort": 80}


def test_older_forms_are_stored_as_the_newest(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.20")
    paths = [{"backend": {"serviceName": "w", "servicePort": 80}}]
    spec: dict[str, Any] = {"backend": {"serviceName": "d", "servicePort": "http-alt"}, "rules": [{"http": {"paths": paths}}]}
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
