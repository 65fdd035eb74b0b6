# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the tests of the stand-in, and what is put into them."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import pytest

from standins.kube.client import KubeStandin


@pytest.fixture
def start() -> Iterator[Callable[..., KubeStandin]]:
    """Starts stand-ins, which end with the test."""
    running: list[KubeStandin] = []

    def begin(profile: str = "1.34", *arguments: str, **options: Any) -> KubeStandin:
        standin = KubeStandin(profile, *arguments, **options).start()
        running.append(standin)
        return standin

    yield begin
    for standin in running:
        standin.stop()


def ingress(name: str, namespace: str = "default", host: str = "", **more: Any) -> dict[str, Any]:
    """An Ingress with one rule."""
    backend = {"service": {"name": name, "port": {"number": 80}}}
    http = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, **more.pop("metadata", {})},
        "spec": {"rules": [{"host": host or f"{name}.example.org", "http": http}], **more},
    }


def service(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A Service with one port."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"ports": [{"port": 80}], "selector": {"app": name}, **spec},
    }
