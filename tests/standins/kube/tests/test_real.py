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

CONTROLLER = "system:serviceaccount:sluice-system:sluice"
NEWEST = 36
TIMES = ("creationTimestamp", "deletionTimestamp", "time")
HEADERS = ("content-type", "retry-after", "cache-control", "allow", "www-authenticate")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_numbers = itertools.count(1)


class Server:
    """One of the two."""

    def __init__(self, running: Any):
        self.running = running
        self.apis = {"admin": KubeApi(running.kubeconfig), "controller": KubeApi(running.controller_kubeconfig)}

    def ask(self, step: Step, namespace: str) -> tuple[int, dict[str, str], Any]:
        """Status, headers, and the body: decoded, frames of a watch as a list, or text."""
        api = self.apis["controller" if step.user == "nobody" else step.user]
        headers = {"Authorization": ""} if step.user == "nobody" else {}
        answer = api.request(
            step.method,
            step.path.replace(NS, namespace),
            in_namespace(step.body, namespace),
            step.content_type,
            {**headers, **step.headers},
        )
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
        return {name: alike(inner, name) for name, inner in value.items() if name != "managedFields"} | writers(value)
    if isinstance(value, list):
        return [alike(inner, key) for inner in value]
    if key in TIMES and value:
        return "<time>"
    if key in ("resourceVersion", "continue", "clusterIP", "clusterIPs", "nodePort") and value not in ("", "0", "None", 0):
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
    with KubeStandin(f"1.{real.running.minor}", "--setting", "strict_namespaces=true", "--controller-user", CONTROLLER) as running:
        running.rules(controller_rules(real))
        yield Server(running)


def controller_rules(real: Server) -> list[dict[str, Any]]:
    role = real.apis["admin"].request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/sluice-watcher").json()
    return role["rules"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_answer_alike(real: Server, standin: Server, name: str) -> None:
    namespace = f"both{next(_numbers)}"
    for server in (real, standin):
        server.apis["admin"].ensure_namespace(namespace)
    past: dict[Server, list[Any]] = {real: [], standin: []}
    differences: dict[str, str] = {}  # each once, with the first step that shows it
    for number, given in enumerate(SCENARIOS[name]):
        told = {}
        for server in (real, standin):
            step = given if isinstance(given, Step) else given(past[server])
            status, headers, body = server.ask(step, namespace)
            past[server].append(copy.deepcopy(body))
            told[server] = {"status": status}
            if not step.only_status:
                told[server] |= {"headers": {h: headers[h] for h in HEADERS if h in headers}, "body": alike(body)}
        what = "\n".join(difference(told[real], told[standin]))
        if what:
            differences.setdefault(what, f"{number}: {step.method} {step.path} {str(step.body)[:300]}")
    assert not differences, "\n".join(["", *(f"{step}\n{what}" for what, step in differences.items())])


def difference(wanted: Any, got: Any, where: str = "") -> Iterator[str]:
    """The members that differ; where an answer is of another kind altogether, only what is most telling."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        keys = list(dict.fromkeys([*wanted, *got]))
        if wanted.get("kind") != got.get("kind"):
            keys = [key for key in ("kind", "message") if key in keys]
        for key in keys:
            yield from difference(wanted.get(key), got.get(key), f"{where}.{key}")
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for index, (a, b) in enumerate(zip(wanted, got)):
            yield from difference(a, b, f"{where}[{index}]")
    elif isinstance(wanted, list) and isinstance(got, list):
        yield from difference(*(", ".join(frame.get("type", "") if isinstance(frame, dict) else str(frame) for frame in side) for side in (wanted, got)), where)
    elif wanted != got:
        yield f"    {where}\n        real      {json.dumps(wanted)}\n        stand-in  {json.dumps(got)}"
