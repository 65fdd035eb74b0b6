# SPDX-License-Identifier: Apache-2.0
"""Mutilated documents: whatever is sent, the server answers as one that understood or one that refused."""

from __future__ import annotations

import collections
import copy
import json
import random
from typing import Any

import pytest

from standins.kube.client import KubeStandin
from standins.kube.public import KINDS, path_of

from .conftest import ingress, service

VALUES: list[Any] = [
    None, "", 0, -1, 1 << 40, 1.5, True, False, [], {}, [None], [1], [{}], {"a": None}, "\ud800x", "a" * 300,
    "/../", "\u0000", {"$patch": "delete"}, [{"$patch": "replace"}], ["x", "x"], "9999-99-99T00:00:00Z",
]
MEMBERS = [
    "labels",
    "finalizers",
    "managedFields",
    "ownerReferences",
    "deletionTimestamp",
    "generateName",
    "$retainKeys",
]
POINTERS = ["/spec", "/spec/ports/-", "", "/metadata"]
MEDIA = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


def documents() -> list[dict[str, Any]]:
    """One whole object of each kind that is validated."""
    slice_ = {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "a", "port": 1}],
    }
    event = {
        "involvedObject": {"kind": "Ingress", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "series": {"count": 1},
        "type": "Normal",
    }
    bare: list[tuple[str, str, dict[str, Any]]] = [
        ("EndpointSlice", "discovery.k8s.io/v1", slice_),
        ("Endpoints", "v1", {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}]}]}),
        (
            "Secret",
            "v1",
            {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}, "stringData": {"a": "b"}},
        ),
        ("Event", "v1", event),
        ("Lease", "coordination.k8s.io/v1", {"spec": {"leaseDurationSeconds": 1, "holderIdentity": "a"}}),
        ("ConfigMap", "v1", {"data": {"a": "b"}, "binaryData": {"c": ""}}),
        (
            "Pod",
            "v1",
            {"spec": {"containers": [{"name": "x"}]}, "status": {"containerStatuses": [{"ready": True}]}},
        ),
    ]
    made = [{"kind": kind, "apiVersion": version, "metadata": {}, **rest} for kind, version, rest in bare]
    balancer = service("a", type="LoadBalancer", sessionAffinity="ClientIP")
    return [*made, ingress("a"), balancer]


def mutilate(dice: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """A copy with up to three things replaced, removed or added."""
    out = copy.deepcopy(document)
    for _ in range(dice.randint(1, 3)):
        node: Any = out
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = dice.choice(keys)
            if isinstance(node[key], (dict, list)) and node[key] and dice.random() < 0.75:
                node = node[key]
                continue
            if dice.random() < 0.7 or not isinstance(node, dict):
                node[key] = copy.deepcopy(dice.choice(VALUES))
            elif dice.random() < 0.5:
                del node[key]
            else:
                node[dice.choice(MEMBERS)] = copy.deepcopy(dice.choice(VALUES))
            break
    return out


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_document_breaks_the_server(kube: KubeStandin, seed: int) -> None:
    dice = random.Random(seed)
    whole = documents()
    connection = kube.api.access.connect(10)
    seen: collections.Counter[int] = collections.Counter()

    def ask(method: str, path: str, body: Any, media: str = "application/json") -> None:
        connection.request(method, path, json.dumps(body).encode(), {"Content-Type": media})
        answer = connection.getresponse()
        text = answer.read()
        seen[answer.status] += 1
        assert answer.status < 500 or b"should not be set" in text, (method, path, body, text)

    for _ in range(250):
        document = dice.choice(whole)
        name = f"n{dice.randint(0, 4)}"
        named = document | {"metadata": {"name": name, "labels": {"a": "b"}, "annotations": {"c": "d"}}}
        collection = path_of(KINDS[document["kind"]], "default", api_version=document["apiVersion"])
        one = f"{collection}/{name}{dice.choice(['', '/status'])}"
        ask("POST", collection, dice.choice([named, mutilate(dice, named)]))
        ask("PUT", one, mutilate(dice, named))
        ask(
            "PATCH", f"{one}?fieldManager=x&fieldValidation=Ignore", mutilate(dice, named), dice.choice(MEDIA)
        )
        verb, where = dice.choice(["add", "remove", "replace", "test", "copy"]), dice.choice(POINTERS)
        operation = {"op": verb, "from": "/metadata", "path": where, "value": dice.choice(VALUES)}
        ask("PATCH", one, [operation], "application/json-patch+json")
        if dice.random() < 0.2:
            ask("DELETE", f"{collection}/{name}", dice.choice([{}, {"preconditions": {"uid": "x"}}, []]))
    connection.close()
    kube.delete_objects("pods")
    assert {200, 201, 400, 404, 409, 422} <= seen.keys()
