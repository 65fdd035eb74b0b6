# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the tests of the stand-in."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import pytest

from standins.kube.client import KubeStandin

from .examples import place
from .raw import RawClient

# Written to where tests must not find what an earlier one left.
KINDS_CLEANED = (
    "ingresses",
    "services",
    "endpointslices",
    "endpoints",
    "secrets",
    "events",
    "leases",
    "ingressclasses",
)


@pytest.fixture(scope="session")
def shared() -> Iterator[KubeStandin]:
    """One stand-in of a recent release for all tests that leave its knobs as they were."""
    with KubeStandin("1.34", "--http-port", "0") as standin:
        yield standin


@pytest.fixture
def kube(shared: KubeStandin) -> Iterator[KubeStandin]:
    """The shared stand-in, empty, without faults, and with the settings of its start."""
    before = shared.control("GET", "settings")
    yield shared
    shared.clear()
    shared.network("up")
    shared.rules(None)
    shared.control("PATCH", "settings", before)
    shared.end_streams("rst")
    for plural in KINDS_CLEANED:
        shared.delete_objects(plural)


@pytest.fixture
def start() -> Iterator[Callable[..., KubeStandin]]:
    """Starts further stand-ins, which end with the test."""
    running: list[KubeStandin] = []

    def begin(profile: str = "1.34", *arguments: str, **options: Any) -> KubeStandin:
        standin = KubeStandin(profile, "--http-port", "0", *arguments, **options).start()
        running.append(standin)
        return standin

    yield begin
    for standin in running:
        standin.stop()


@pytest.fixture
def raw(kube: KubeStandin) -> RawClient:
    """Requests as bytes, with the controller's token, to the shared stand-in."""
    return RawClient(kube)


@pytest.fixture
def cluster(start: Callable[..., KubeStandin]) -> KubeStandin:
    """The three example Ingresses under the revisions of the examples."""
    kube = start("1.34", "--first-revision", "14000", "--controller-user", "system:serviceaccount:lb:watcher")
    place(kube, "web-b", 14990, {"ingress": [{"ip": "192.0.2.10"}]})
    place(kube, "web-a", 15001)
    place(kube, "web-c", 15040)
    kube.bump(2)
    return kube


def ingress(name: str, namespace: str = "default", host: str = "", **more: Any) -> dict[str, Any]:
    """An Ingress with one rule."""
    backend = {"service": {"name": name, "port": {"number": 80}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, **more.pop("metadata", {})},
        "spec": {
            "rules": [
                {
                    "host": host or f"{name}.example.org",
                    "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]},
                }
            ],
            **more,
        },
    }


def service(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A Service with one port."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"ports": [{"port": 80}], "selector": {"app": name}, **spec},
    }
