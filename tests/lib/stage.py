# SPDX-License-Identifier: Apache-2.0
"""Many stories at once on one line: told side by side, looked at in one glance, with one client that keeps asking for all of them."""
from __future__ import annotations

import contextlib
import http.client
import itertools
import json
from typing import Any, Callable, Iterable

from .envtest import assets
from .line import Line
from .stories import HTTP, STORIES, Expected, Scene
from .traffic import Clients, request, trial
from .wait import wait_for

_rounds = itertools.count(1)
PATIENCE_S = 120.0


class Glance:
    """What is there at one moment, past all APIs, and how it differs from what is expected."""

    def __init__(self, line: Line):
        self.line = line
        self.balancers = {row["name"]: row for row in line.rancher.rows("loadBalancerService")}
        self.services = {row["id"]: row["name"] for row in line.rancher.rows("kubernetesService")}
        self.ingresses = {(i["metadata"]["namespace"], i["metadata"]["name"]): i for i in line.kube.objects("ingresses")}
        self.events = [e for e in line.kube.objects("events") if e["type"] == "Warning"]

    def shown(self, namespace: str, name: str) -> list[str]:
        status = self.ingresses.get((namespace, name), {}).get("status", {})
        return sorted(a.get("ip") or a["hostname"] for a in status.get("loadBalancer", {}).get("ingress") or [])

    def differences(self, scene: Scene, expected: Expected) -> list[str]:
        row = self.balancers.get(scene.balancer)
        if expected.rules is None or row is None:
            found = [] if (expected.rules is None) == (row is None) else [f"load balancer {'exists' if row else 'is missing'}"]
            return found + [f"{name} shows addresses" for name in expected.bare if self.shown(scene.namespace, name)]
        return [*self._of_balancer(row, expected), *self._of_statuses(scene, row, expected), *self._of_events(scene, expected)]

    def _of_balancer(self, row: dict[str, Any], expected: Expected) -> Iterable[str]:
        rules = {(r["sourcePort"], r.get("hostname"), r.get("path"), self.services.get(r["serviceId"]))
                 for r in row["lbConfig"].get("portRules") or []}
        if rules != expected.rules:
            yield f"rules are {sorted(rules, key=str)}"
        if row["state"] != "active" or row["scale"] != expected.scale:
            yield f"state is {row['state']}, scale {row['scale']}"
        ports = {port for port, *_ in expected.rules or ()}
        published = {e["port"] for e in row["publicEndpoints"] or []}
        if published != ports or len(row["publicEndpoints"] or []) != len(ports) * expected.scale:
            yield f"public endpoints are {row['publicEndpoints']}"
        if not self._holds(row, expected):
            yield f"the row is {row['lbConfig']}, {row['launchConfig']}"

    @staticmethod
    def _holds(row: dict[str, Any], expected: Expected) -> bool:
        try:
            return expected.holds is None or bool(expected.holds(row))
        except (KeyError, TypeError):  # what it looks for is not there
            return False

    def _of_statuses(self, scene: Scene, row: dict[str, Any], expected: Expected) -> Iterable[str]:
        addresses = sorted({e["ipAddress"] for e in row["publicEndpoints"] or []})
        for name in expected.ingresses:
            if self.shown(scene.namespace, name) != addresses:
                yield f"{name} shows {self.shown(scene.namespace, name)}, not {addresses}"

    def _of_events(self, scene: Scene, expected: Expected) -> Iterable[str]:
        if expected.event is None:
            return
        reason, words = expected.event
        if not any(e["reason"] == reason and words in e["message"] for e in self.events
                   if e["involvedObject"].get("namespace") == scene.namespace):
            yield f"no Event {reason} with {words!r}"


class Client(Clients):
    """Asks one address after another, without end."""

    def __init__(self, targets: dict[str, tuple[str, int, str, str]]):
        super().__init__(1)
        self.targets = targets
        self.failures_of: dict[str, list[str]] = {name: [] for name in targets}
        self.good = dict.fromkeys(targets, 0)

    def _run(self, _: int) -> None:
        for name in itertools.cycle(self.targets):
            if self._end.wait(0.02):
                return
            if problem := trial(*self.targets[name]):
                self.failures_of[name].append(problem)
            else:
                self.good[name] += 1


class Stage:
    """One telling of all stories. `problems` holds what was wrong at the end, by name of the story; empty lists are good."""

    def __init__(self, line: Line, pods: dict[str, str]):
        self.line = line
        self.round = next(_rounds)
        self.scenes = [Scene(line, story, f"r{self.round}-{story.name}", pods) for story in STORIES]
        self.problems: dict[str, list[str]] = {story.name: [] for story in STORIES}
        self.canaries = itertools.count(1)
        self.pods = pods

    def by_name(self, name: str) -> Scene:
        return next(scene for scene in self.scenes if scene.story.name == name)

    # Telling

    def begin(self) -> None:
        for scene in self.scenes:
            self.line.kube.api.ensure_namespace(scene.namespace)
            scene.story.begin(scene)
        self.settle(lambda scene: scene.story.start(scene), "the beginning")
        glance = Glance(self.line)
        for scene in self.scenes:
            scene.first_id = glance.balancers.get(scene.balancer, {}).get("id")
        self.line.rancher.settle()
        self.quiet()

    def change(self, disturb: Callable[["Stage"], contextlib.AbstractContextManager]) -> None:
        """Changes everything, one half before the disturbance is felt, and waits for the end of all stories."""
        line = self.line
        self.kube_mark = line.kube.mark()
        line.rancher.control("forget-requests")
        with Client(self._targets()) as client:
            for scene in self.scenes:
                if scene.story.fault is not None and not assets():
                    scene.story.fault(scene)
            with disturb(self):
                for scene in self.scenes[1::2]:
                    scene.story.change(scene)
            self.settle(lambda scene: scene.story.end(scene), "the end")
            good = dict(client.good)
            for scene in self.scenes:
                self._ask(scene)
            wait_for(lambda: all(client.good[n] > good[n] or client.failures_of[n] for n in good), "traffic to go on", PATIENCE_S)
        for name, failures in client.failures_of.items():
            self.problems[name] += failures[:5]
        line.rancher.settle()
        self.quiet()
        self._judge()

    def first_half(self) -> None:
        """For disturbances that begin in the middle."""
        for scene in self.scenes[0::2]:
            scene.story.change(scene)

    def clear(self) -> None:
        """Everything goes, load balancers included; those of others are taken away by hand."""
        kube = self.line.kube
        for plural in ("ingresses", "services", "endpointslices", "secrets"):
            for item in kube.objects(plural):
                if item["metadata"].get("namespace", "").startswith(f"r{self.round}-"):
                    kube.api.delete(plural, item["metadata"]["name"], item["metadata"]["namespace"])
        wait_for(lambda: not [n for n in Glance(self.line).balancers if n.startswith(f"r{self.round}-")], "all to be gone", PATIENCE_S)

    def quiet(self) -> None:
        """A further Ingress goes the whole way: what came before it has been dealt with. Pauses of those that back off are over, too,
        because a restarted line has none."""
        namespace = f"r{self.round}-canary{next(self.canaries)}"
        build, api = self.line.cluster.within(namespace), self.line.kube.api
        api.ensure_namespace(namespace)
        for item in (build.service("one"), build.slice("one", [self.pods["one"]]),
                     build.ingress("web", [{"host": f"{namespace}.example.com", "paths": [("/", "Prefix", "one", 80)]}])):
            api.create(item)
        wait_for(lambda: Glance(self.line).shown(namespace, "web"), "the canary to have an address", PATIENCE_S, 0.1)

    # Judging

    def settle(self, expected: Callable[[Scene], Expected], what: str, scenes: list[Scene] | None = None) -> None:
        """Waits until every scene is as expected; what does not become so is noted, and hurts no other."""
        scenes = self.scenes if scenes is None else scenes
        left = list(scenes)

        def all_well() -> bool:
            nonlocal left
            glance = Glance(self.line)
            left = [scene for scene in left if glance.differences(scene, expected(scene))]
            return not left
        try:
            wait_for(all_well, what, PATIENCE_S, 0.1)
        except AssertionError:
            glance = Glance(self.line)
            for scene in left:
                self.problems[scene.story.name] += [f"{what}: {text}" for text in glance.differences(scene, expected(scene))]
        if not left:
            # All at the same time, not only one after the other; what was asked for twice may be under way once more.
            self.line.rancher.settle()
            glance = Glance(self.line)
            for scene in scenes:
                self.problems[scene.story.name] += [f"{what}, again: {t}" for t in glance.differences(scene, expected(scene))]

    def _targets(self) -> dict[str, tuple[str, int, str, str]]:
        found = {}
        for scene in self.scenes:
            if scene.story.steady:
                address, port = next(e for e in self.line.rancher.traffic_addresses(scene.balancer) if e[1] == HTTP)
                found[scene.story.name] = (address, port, scene.host, "/one")
        return found

    def _ask(self, scene: Scene) -> None:
        """Requests through the HAProxies give what is expected."""
        expected = scene.story.end(scene)
        problems = self.problems[scene.story.name]
        if expected.rules is None:
            return
        for port, path, wanted, *host in expected.answers:
            def right() -> bool:
                return self._answer(scene, port, path, *host) == wanted
            self._try(right, f"{path} on {port} to give {wanted}", problems)
        if expected.certificate is not None:
            self._try(lambda: self._certificate(scene, expected.https) == expected.certificate, "the certificate", problems)

    def _try(self, right: Callable[[], bool], what: str, problems: list[str]) -> None:
        try:
            wait_for(right, what)
        except AssertionError as problem:
            problems.append(str(problem))

    def _entry(self, scene: Scene, port: int) -> tuple[str, int]:
        return next((e for e in self.line.rancher.traffic_addresses(scene.balancer) if e[1] == port), ("127.0.0.1", 9))

    def _answer(self, scene: Scene, port: int, path: str, host: str = "") -> str | int | None:
        try:
            got = request(*self._entry(scene, port), host or scene.host, path)
            return json.loads(got.body)["name"] if got.status == 200 else got.status
        except (OSError, http.client.HTTPException):
            return None

    def _certificate(self, scene: Scene, port: int) -> bytes | None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return request(*self._entry(scene, port), scene.host, "/one", tls=True).certificate
        return None

    def _judge(self) -> None:
        """Nothing needless was written, and nothing was removed that had to stay."""
        glance = Glance(self.line)
        ours = self.line.rancher.writes()
        writes = self.line.kube.writes(self.kube_mark)
        for scene in self.scenes:
            problems = self.problems[scene.story.name]
            self._judge_rancher(scene, ours, problems)
            self._judge_kubernetes(scene, writes, problems)
            now = glance.balancers.get(scene.balancer, {}).get("id")
            if scene.story.same and scene.first_id is not None and now != scene.first_id:
                problems.append(f"load balancer {scene.first_id} became {now}")

    def _judge_rancher(self, scene: Scene, ours: list[dict[str, Any]], problems: list[str]) -> None:
        names = (scene.balancer, f"{scene.namespace}-", f"{scene.namespace}/")
        mine = [r for r in ours if r["name"] == names[0] or str(r["name"]).startswith(names[1:])]
        told = [f"{r['method']} {r['action'] or ''} {r['name']} {r['status']}" for r in mine]
        if len([r for r in mine if r["changed"] is False]) > scene.story.idle:
            problems.append(f"needless in Rancher: {told}")
        if len([r for r in mine if r["changed"]]) > scene.story.writes:
            problems.append(f"more than {scene.story.writes} writes in Rancher: {told}")
        if scene.story.same and any(r["type"] == "loadBalancerService" and (r["method"] == "DELETE" or r["action"] == "remove")
                                    for r in mine):
            problems.append(f"removed: {told}")

    def _judge_kubernetes(self, scene: Scene, writes: list[dict[str, Any]], problems: list[str]) -> None:
        mine = [w for w in writes if w["namespace"] == scene.namespace]
        statuses = [w["body"] for w in mine if w["subresource"] == "status" and w["effect"] == "changed"]
        if any(w["effect"] == "noop" for w in mine):
            problems.append(f"needless in Kubernetes: {[w['body'] for w in mine if w['effect'] == 'noop']}")
        if len(statuses) > scene.story.statuses:
            problems.append(f"more than {scene.story.statuses} statuses: {statuses}")
        warnings = [json.loads(w["body"]) for w in mine if w["resource"] == "events" and w["method"] == "POST" and w["effect"] == "changed"]
        told = [(w["reason"], w["message"]) for w in warnings if w["type"] == "Warning" and w["reason"] != "LoadBalancerFailed"]
        if len(told) != len(set(told)):
            problems.append(f"told twice: {told}")
