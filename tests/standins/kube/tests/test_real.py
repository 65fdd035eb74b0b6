# SPDX-License-Identifier: Apache-2.0
"""The stand-in against a real API server of the same release: the same requests, the same answers. Only with KUBEBUILDER_ASSETS."""

from __future__ import annotations

import copy
import itertools
import json
import re
from typing import Any, Iterator

import pytest

from lib.envtest import RealKube, assets
from standins.kube.client import KubeStandin
from standins.kube.public import KubeApi

from .exchanges_real import NS, SCENARIOS, Step

pytestmark = pytest.mark.skipif(not assets(), reason="no real API server: KUBEBUILDER_ASSETS")

NEWEST = 36
# Of a Service what the watcher does not read and a server adds.
ADDED = (
    "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy", "externalTrafficPolicy", "allocateLoadBalancerNodePorts",
)
TIMES = ("creationTimestamp", "deletionTimestamp", "time")
HEADERS = ("content-type", "retry-after", "cache-control", "allow", "www-authenticate")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_numbers = itertools.count(1)


class Server:
    def __init__(self, running: Any):
        self.running = running
        self.apis = {"admin": KubeApi(running.kubeconfig), "controller": KubeApi(running.controller_kubeconfig)}

    def ask(self, step: Step, namespace: str) -> tuple[int, dict[str, str], Any]:
        """Status, headers, and the body: decoded, frames of a watch as a list, or text."""
        api = self.apis["controller" if step.user == "nobody" else step.user]
        headers = {**({"Authorization": ""} if step.user == "nobody" else {}), **step.headers}
        path = step.path.replace(NS, namespace)
        answer = api.request(step.method, path, in_namespace(step.body, namespace), step.content_type, headers)
        text = answer.body.decode()
        if not text.startswith("{") or step.only_status:
            return answer.status, answer.headers, text
        found = [json.loads(line) for line in text.splitlines()]
        if "watch" not in step.path or (found and "object" not in found[0]):
            return answer.status, answer.headers, found[0]
        # Bookmarks come when a server likes, but for the one that ends the first part of a streaming list.
        return answer.status, answer.headers, [f for f in found if f["type"] != "BOOKMARK" or f["object"]["metadata"].get("annotations")]


def in_namespace(body: Any, namespace: str) -> Any:
    if body is None or isinstance(body, bytes):
        return body
    return json.loads(json.dumps(body).replace(f'"{NS}"', f'"{namespace}"'))


def alike(value: Any, key: str = "") -> Any:
    """What may differ between any two servers is made the same."""
    if isinstance(value, dict):
        if "columnDefinitions" in value:
            value = {**value, "columnDefinitions": [column["name"] for column in value["columnDefinitions"]]}
        return {name: alike(inner, name) for name, inner in value.items() if name not in ("managedFields", *ADDED)} | writers(value)
    if isinstance(value, list):
        return [alike(inner, key) for inner in value]
    if key in TIMES and value:
        return "<time>"
    if key in ("resourceVersion", "continue", "clusterIP") and value not in ("", "0", "None", 0):
        return f"<{key}>"
    if isinstance(value, str):
        return re.sub(r"^\d+s$|(?<= at )[-\dTZ:]+|(?<=current: )\d+", "<number>", UUID.sub("<uid>", value))
    return value


def writers(meta: dict[str, Any]) -> dict[str, Any]:
    """Of managedFields what the watcher reads: who wrote the addresses, and who each finalizer."""
    found = []
    for entry in meta.get("managedFields") or ():
        fields = entry["fieldsV1"]
        wrote = ["addresses"] * ("f:ingress" in fields.get("f:status", {}).get("f:loadBalancer", {}))
        wrote += [name for name in fields.get("f:metadata", {}).get("f:finalizers", {}) if name != "."]
        found += [(entry["manager"], entry.get("subresource", ""), what) for what in wrote]
    return {"writers": sorted(found)} if found else {}


@pytest.fixture(scope="module")
def real() -> Iterator[Server]:
    running = RealKube()
    if running.minor < NEWEST:
        pytest.skip(f"the questions are about what 1.{NEWEST} answers")
    running.start()
    yield Server(running)
    running.stop()


@pytest.fixture(scope="module")
def standin(real: Server) -> Iterator[Server]:
    with KubeStandin(f"1.{real.running.minor}") as running:
        running.rules(controller_rules(real))
        yield Server(running)


def controller_rules(real: Server) -> list[dict[str, Any]]:
    role = real.apis["admin"].request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/sluice-watcher").json
    return role["rules"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_answer_alike(real: Server, standin: Server, name: str) -> None:
    namespace = f"both{next(_numbers)}"
    for server in (real, standin):
        server.apis["admin"].ensure_namespace(namespace)
    past: dict[Server, list[Any]] = {real: [], standin: []}
    for number, given in enumerate(SCENARIOS[name]):
        told = {}
        for server in (real, standin):
            step = given if isinstance(given, Step) else given(past[server])
            status, headers, body = server.ask(step, namespace)
            past[server].append(copy.deepcopy(body))
            told[server] = {"status": status}
            if not step.only_status:
                told[server] |= {"headers": {h: headers[h] for h in HEADERS if h in headers}, "body": alike(body)}
        assert told[standin] == told[real], f"{number}: {step.method} {step.path}"
