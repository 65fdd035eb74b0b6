# SPDX-License-Identifier: Apache-2.0
"""The example objects of the exchanges: three Ingresses under known revisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from standins.kube.client import KubeStandin

UIDS = {
    "web-a": "4a42242c-bc17-4bf5-8b7a-d01076fa5270",
    "web-b": "969322ea-45d4-44d2-859e-8a7850cd4c68",
    "web-c": "3ba0edc5-75a3-4d7d-81e0-f2ab5d49eb97",
    "web-d": "b03b1aab-671d-49c5-8c55-3a57ef581c5a",
}
TOKEN = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTUwNDIsInN0YXJ0IjoiZGVmYXVsdC93ZWItYlx1MDAwMCJ9"

EXCHANGES = Path(__file__).parent / "exchanges"


def golden(name: str) -> bytes:
    """A body as the documents or the sources of the server show it."""
    return (EXCHANGES / f"{name}.json").read_bytes()


def place(
    kube: KubeStandin, name: str, revision: int, status: dict[str, Any] | None = None, generation: int = 1
) -> None:
    """Stores one of the example Ingresses under a given revision."""
    kube.bump(revision - 1 - kube.control("GET", "info")["revision"])
    backend = {"service": {"name": name, "port": {"number": 80}}}
    kube.put_object(
        "ingresses",
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": UIDS[name],
                "generation": generation,
                "creationTimestamp": "2026-07-14T09:00:00Z",
            },
            "spec": {
                "ingressClassName": "lb",
                "rules": [
                    {
                        "host": f"{name}.example.org",
                        "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]},
                    }
                ],
            },
            "status": {"loadBalancer": status or {}},
        },
    )


def example(name: str, revision: str, generation: int = 1, status: str = "{}") -> str:
    """The example Ingress as an item of a list."""
    return (
        '{"metadata":{"name":"%s","namespace":"default","uid":"%s","resourceVersion":"%s","generation":%d,'
        '"creationTimestamp":"2026-07-14T09:00:00Z"},"spec":{"ingressClassName":"lb","rules":'
        '[{"host":"%s.example.org","http":{"paths":[{"path":"/","pathType":"Prefix",'
        '"backend":{"service":{"name":"%s","port":{"number":80}}}}]}}]},'
        '"status":{"loadBalancer":%s}}' % (name, UIDS[name], revision, generation, name, name, status)
    )
