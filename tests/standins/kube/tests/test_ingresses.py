# SPDX-License-Identifier: Apache-2.0
"""Ingress and IngressClass: validation, classes, generations, status."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from standins.kube.client import KubeStandin
from standins.kube.public import ApiFailure

from .conftest import ingress


def refused(kube: KubeStandin, obj: dict[str, Any], status: int = 422) -> str:
    """Creates in vain; returns the message."""
    with pytest.raises(ApiFailure) as caught:
        kube.api.create(obj)
    assert caught.value.status == status, caught.value
    return caught.value.response.json()["message"]


def with_path(path: Any, kind: Any = "Prefix", backend: Any = None) -> dict[str, Any]:
    """An Ingress with one path."""
    obj = ingress("a")
    entry: dict[str, Any] = {
        "path": path,
        "backend": backend or {"service": {"name": "a", "port": {"number": 80}}},
    }
    if kind is not None:
        entry["pathType"] = kind
    obj["spec"]["rules"][0]["http"]["paths"] = [entry]
    return obj


@pytest.mark.parametrize(
    "path, kind, fine",
    [
        ("/", "Prefix", True),
        ("/foo bar\n{};#?\u00e4%00..x", "Prefix", True),
        ("x", "Prefix", False),
        ("", "Exact", False),
        ("/a//b", "Exact", False),
        ("/a/./b", "Prefix", False),
        ("/a/../b", "Prefix", False),
        ("/a%2fb", "Exact", False),
        ("/a%2Fb", "Exact", False),
        ("/a/..", "Prefix", False),
        ("/a/.", "Prefix", False),
        ("", "ImplementationSpecific", True),
        ("x", "ImplementationSpecific", False),
        ("/a//b/../c%2f", "ImplementationSpecific", True),
        ("/", None, False),
        ("/", "Regex", False),
    ],
)
def test_paths(kube: KubeStandin, path: str, kind: str | None, fine: bool) -> None:
    if fine:
        made = kube.api.create(with_path(path, kind))
        assert made["spec"]["rules"][0]["http"]["paths"][0].get("path", "") == path
    else:
        assert "spec.rules[0].http.paths[0].path" in refused(kube, with_path(path, kind))


SERVICE_BACKEND = {"name": "a", "port": {"number": 80}}


@pytest.mark.parametrize(
    "backend",
    [
        {},
        {"service": SERVICE_BACKEND, "resource": {"apiGroup": "x", "kind": "y", "name": "z"}},
        {"service": {"name": "a", "port": {}}},
        {"service": {"name": "a", "port": {"number": 80, "name": "http"}}},
        {"service": {"name": "A", "port": {"number": 80}}},
        {"service": {"name": "", "port": {"number": 80}}},
        {"service": {"name": "a", "port": {"number": 70000}}},
        {"service": {"name": "a", "port": {"name": "80"}}},
        {"service": {"name": "a", "port": {"name": "far-too-long-a-name"}}},
    ],
)
def test_bad_backends(kube: KubeStandin, backend: dict[str, Any]) -> None:
    assert "backend" in refused(kube, with_path("/", backend=backend or {"service": None}))


@pytest.mark.parametrize(
    "host, fine",
    [
        ("foo.bar.com", True),
        ("*.bar.com", True),
        ("10.0.0.1", False),
        ("a.*.com", False),
        ("*", False),
        ("Upper.com", False),
        ("a..b", False),
    ],
)
def test_hosts(kube: KubeStandin, host: str, fine: bool) -> None:
    if fine:
        assert kube.api.create(ingress("a", host=host))
    else:
        assert "spec.rules[0].host" in refused(kube, ingress("a", host=host))


def test_empty_specs(kube: KubeStandin) -> None:
    obj = ingress("a")
    assert "either `defaultBackend` or `rules`" in refused(kube, obj | {"spec": {}})
    obj["spec"]["rules"][0]["http"]["paths"] = []
    assert "paths: Required value" in refused(kube, obj)
    assert kube.api.create(obj | {"spec": {"rules": [{"host": "x.com"}]}})
    assert kube.api.create(ingress("b") | {"spec": {"defaultBackend": {"service": SERVICE_BACKEND}}})


@pytest.mark.parametrize("profile, equal", [("1.20", False), ("1.34", True)])
def test_class_annotation_and_field(start: Callable[..., KubeStandin], profile: str, equal: bool) -> None:
    kube = start(profile)
    both = ingress("a", metadata={"annotations": {"kubernetes.io/ingress.class": "x"}})
    both["spec"]["ingressClassName"] = "x"
    if equal:
        assert kube.api.create(both)
    else:
        refused(kube, both)
    different = copy.deepcopy(both)
    different["metadata"]["name"], different["spec"]["ingressClassName"] = "b", "y"
    refused(kube, different)
    del different["metadata"]["annotations"]
    kube.api.create(different)
    patched = kube.api.patch(
        "ingresses", "b", {"metadata": {"annotations": {"kubernetes.io/ingress.class": "z"}}}
    )
    assert patched["spec"]["ingressClassName"] == "y"


def ingress_class(name: str, default: bool = False) -> dict[str, Any]:
    """An IngressClass."""
    mark = {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}} if default else {}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": name, **mark},
        "spec": {"controller": "sluice.io/ingress-controller"},
    }


def test_default_class(kube: KubeStandin) -> None:
    kube.api.create(ingress_class("plain"))
    assert "ingressClassName" not in kube.api.create(ingress("a"))["spec"]
    kube.api.create(ingress_class("main", default=True))
    assert kube.api.create(ingress("b"))["spec"]["ingressClassName"] == "main"
    assert (
        "ingressClassName"
        not in kube.api.create(ingress("c", metadata={"annotations": {"kubernetes.io/ingress.class": ""}}))[
            "spec"
        ]
    )
    assert "ingressClassName" not in kube.api.get("ingresses", "a")["spec"]
    kube.api.create(ingress_class("second", default=True))
    assert "2 default IngressClasses were found" in refused(kube, ingress("d"), 403)
    with pytest.raises(ApiFailure):
        kube.api.patch("ingressclasses", "main", {"spec": {"controller": "example.org/other"}})


def test_generation_moves_with_the_spec_only(kube: KubeStandin) -> None:
    assert kube.api.create(ingress("a", status={"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}))[
        "status"
    ] == {"loadBalancer": {}}
    patches: list[tuple[dict[str, Any], str, int]] = [
        ({"metadata": {"annotations": {"x": "1"}}}, "", 1),
        ({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}, "status", 1),
        ({"spec": {"ingressClassName": "x"}}, "", 2),
        ({"spec": {"ingressClassName": "y"}}, "status", 2),
        ({"spec": {"ingressClassName": None}}, "", 3),
    ]
    seen = [
        kube.api.patch("ingresses", "a", patch, subresource=sub)["metadata"]["generation"]
        for patch, sub, _ in patches
    ]
    assert seen == [generation for _, _, generation in patches]
    left = kube.api.get("ingresses", "a")
    assert (
        left["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1"}]
        and "ingressClassName" not in left["spec"]
    )


def test_status_and_main_are_apart_but_for_metadata(kube: KubeStandin) -> None:
    made = kube.api.create(ingress("a"))
    made["status"] = {"loadBalancer": {"ingress": [{"hostname": "lb.example.org"}]}}
    assert kube.api.replace(made)["status"] == {"loadBalancer": {}}
    made["spec"]["ingressClassName"], made["metadata"]["labels"] = "x", {"via": "status"}
    made["metadata"]["resourceVersion"] = ""
    stored = kube.api.replace(made, "status")
    assert stored["metadata"]["labels"] == {"via": "status"} and "ingressClassName" not in stored["spec"]
    assert stored["status"]["loadBalancer"]["ingress"] == [{"hostname": "lb.example.org"}]


@pytest.mark.parametrize(
    "entry",
    [{"ip": "lb.example.org"}, {"hostname": "192.0.2.1"}, {"hostname": "UPPER"}, {"ip": "::ffff:192.0.2.1"}],
)
def test_bad_addresses(kube: KubeStandin, entry: dict[str, str]) -> None:
    kube.api.create(ingress("a"))
    with pytest.raises(ApiFailure) as caught:
        kube.api.patch(
            "ingresses", "a", {"status": {"loadBalancer": {"ingress": [entry]}}}, subresource="status"
        )
    assert caught.value.status == 422
