# SPDX-License-Identifier: Apache-2.0
"""Answers that a real server cannot be made to give when a test wants them, as documents and sources of Kubernetes
show them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Callable

from lib.cluster import Cluster
from standins.kube.client import KubeStandin


INGRESSES = "/apis/networking.k8s.io/v1/ingresses"
TEXT = "text/plain; charset=utf-8"
OBJECT = "application/json"


def shown(name: str) -> bytes:
    """The body of an answer."""
    return (Path(__file__).parent / "exchanges" / f"{name}.json").read_bytes()


def test_trouble(start: Callable[..., KubeStandin]) -> None:
    kube = start()
    for name, status, retry, content_type, body in (
        ("throttled", 429, "1", TEXT, b"Too many requests, please try again later.\n"),
        ("throttled-json", 429, "1", OBJECT, shown("throttled-json")),
        ("starting", 503, "5", OBJECT, shown("starting")),
        ("internal", 500, None, OBJECT, shown("internal")),
        ("too-large-revision", 504, "1", OBJECT, shown("too-large-revision")),
        ("deadline", 504, None, TEXT, shown("deadline")),
    ):
        kube.fault("respond", {"resource": "ingresses"}, with_=name, count=1)
        answer = kube.api.request("GET", f"{INGRESSES}?limit=500")
        found = (answer.status, answer.headers.get("retry-after"), answer.headers["content-type"], answer.body)
        assert found == (status, retry, content_type, body), name
        assert kube.api.request("GET", f"{INGRESSES}?limit=500").status == 200, name


def test_pages_of_a_forgotten_revision(start: Callable[..., KubeStandin]) -> None:
    kube = start()
    for name in "abc":
        kube.api.create(Cluster("").ingress(name))
    first = kube.api.list("ingresses", limit="2")
    kube.bump(10)
    kube.forget()
    answer = kube.api.request("GET", f"{INGRESSES}?limit=2&continue={first['metadata']['continue']}")
    refusal = answer.json
    assert (answer.status, refusal["reason"], refusal["code"]) == (410, "Expired", 410)
    again = refusal["metadata"]["continue"]
    assert json.loads(base64.urlsafe_b64decode(again + "==")) == {"v": "meta.k8s.io/v1", "rv": -1, "start": "default/b\x00"}
    rest = kube.api.list("ingresses", **{"limit": "2", "continue": again})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c"]
    assert int(rest["metadata"]["resourceVersion"]) == int(first["metadata"]["resourceVersion"]) + 10


def test_watch_from_a_forgotten_revision(start: Callable[..., KubeStandin]) -> None:
    kube = start()
    kube.forget(15801)
    told = json.loads(kube.api.request("GET", f"{INGRESSES}?watch=true&resourceVersion=900").body)
    wanted = json.loads(shown("watch-too-old").replace(b"14801", b"15801"))
    assert told == wanted
