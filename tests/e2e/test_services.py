# SPDX-License-Identifier: Apache-2.0
"""The life of a Service of type LoadBalancer through the real watcher and the real translator, with a provider driven by hand; each daemon is
killed before every step and comes back while the step is under way."""
from __future__ import annotations

import contextlib
import pathlib
from typing import Any, Callable

import pytest

from lib.daemon import Daemon
from lib.envtest import kube_server
from lib.line import build_folder
from lib.links import LinkClosed, Provider
from lib.wait import wait_for

PATIENCE_S = 90.0
CLASS = "sluice.io/load-balancer"
CLEANUP = "service.kubernetes.io/load-balancer-cleanup"


class Rig:
    """Kubernetes, the watcher, the translator, and a provider that is played here."""

    def __init__(self, folder: pathlib.Path, grouping: str, victim: str):
        self.folder = folder
        self.grouping = grouping
        self.kube = kube_server()
        common = ["--runtime-dir", str(folder)]
        self.translator = Daemon(build_folder() / "translator/sluice-translator", common, folder / "translator.log")
        self.watcher = Daemon(build_folder() / "watcher/sluice-watcher", [*common, "--kubeconfig", str(self.kube.controller_kubeconfig)],
                              folder / "watcher.log")
        self.provider: Provider | None = None
        self.victim = {"watcher": self.watcher, "translator": self.translator}.get(victim)

    def start(self) -> None:
        self.translator.start()
        self.watcher.start()
        self.connect()
        self.watcher.wait_event("ready", timeout=PATIENCE_S)

    def connect(self) -> None:
        """The provider, with what it knew before."""
        view = self.provider.view if self.provider else None
        if self.provider is not None:
            self.provider.close()
        self.provider = Provider(self.folder, view, self.grouping)
        self.reported: dict[str, int] = {}

    def stop(self) -> None:
        if self.provider is not None:
            self.provider.close()
        codes = [daemon.stop() for daemon in (self.watcher, self.translator) if daemon.is_running()]
        self.kube.stop()
        assert not any(codes), codes

    @contextlib.contextmanager
    def step(self):
        """What is done within it is done while the victim is dead."""
        if self.victim is not None:
            self.victim.kill()
        yield
        if self.victim is not None:
            self.victim.start()

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """Meanwhile the provider applies whatever is wanted, and says so."""
        def look() -> Any:
            try:
                while self.provider.receive(0):
                    pass
                self.report()
            except (LinkClosed, OSError):
                self.connect()
            return condition()
        return wait_for(look, what, PATIENCE_S, 0.05)

    def report(self) -> None:
        """Says of each load balancer, once in a connection, that it is applied."""
        if not self.provider.view.commits:
            return
        for (kind, name), body in self.provider.view.objects.items():
            if kind != "load-balancer" or self.reported.get(name) == body["rev"] or body.get("keep"):
                continue
            self.reported[name] = body["rev"]
            if body.get("listeners"):
                self.provider.report(name, "192.0.2.1")
            else:
                self.provider.report(name)

    def listeners(self) -> list[dict[str, Any]]:
        """All TCP listeners that are wanted."""
        return [listener for (kind, _), body in self.provider.view.objects.items() if kind == "load-balancer"
                for listener in body.get("listeners", []) if listener["protocol"] == "tcp"]

    def service(self, name: str = "db") -> dict[str, Any] | None:
        return self.kube.api.find("services", name)

    def shown(self, name: str = "db") -> list[str]:
        found = self.service(name) or {"status": {"loadBalancer": {}}}
        return [entry["ip"] for entry in found["status"]["loadBalancer"].get("ingress") or []]

    def finalizers(self, name: str = "db") -> list[str]:
        return (self.service(name) or {"metadata": {}})["metadata"].get("finalizers", [])

    def deploy(self, name: str = "db", port: int = 5432) -> None:
        """A Service with one endpoint."""
        self.kube.api.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
                              "spec": {"type": "LoadBalancer", "loadBalancerClass": CLASS, "selector": {"app": name},
                                       "ports": [{"name": "tcp", "port": port, "targetPort": 15432}]}})
        self.kube.api.create({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                              "metadata": {"name": f"{name}-1", "namespace": "default", "labels": {"kubernetes.io/service-name": name}},
                              "endpoints": [{"addresses": ["192.0.2.50"], "conditions": {"ready": True}}],
                              "ports": [{"name": "tcp", "port": 15432, "protocol": "TCP"}]})


@pytest.fixture(params=["per-ingress", "merged"])
def grouping(request) -> str:
    return request.param


@pytest.fixture(params=["nobody", "watcher", "translator"], ids=lambda victim: f"kill-{victim}")
def rig(request, tmp_path, grouping):
    rig = Rig(tmp_path, grouping, request.param)
    try:
        rig.start()
        yield rig
    finally:
        rig.stop()


def served(rig: Rig) -> None:
    """A Service whose addresses stand in its status."""
    with rig.step():
        rig.deploy()
    rig.wait(lambda: rig.shown() == ["192.0.2.1"], "the address")
    assert rig.finalizers() == [CLEANUP]


def test_from_creation_to_deletion(rig):
    served(rig)
    listener = rig.wait(rig.listeners, "the listener")[0]
    assert listener["port"] == 5432
    assert rig.provider.view.objects["pool", listener["pool"]]["endpoints"][0]["ip"] == "192.0.2.50"
    with rig.step():
        rig.kube.api.delete("services", "db")
    rig.wait(lambda: rig.service() is None, "the Service to vanish")
    assert not rig.listeners()


def test_another_type(rig):
    served(rig)
    with rig.step():
        rig.kube.api.patch("services", "db", {"spec": {"type": "ClusterIP"}})
    rig.wait(lambda: rig.finalizers() == [] and not rig.listeners(), "all of it to go")
    assert rig.shown() == [] and rig.service()
    with rig.step():
        rig.kube.api.patch("services", "db", {"spec": {"type": "LoadBalancer", "loadBalancerClass": CLASS}})
    rig.wait(lambda: rig.finalizers() == [CLEANUP] and rig.shown() == ["192.0.2.1"], "all of it to be back")


def test_a_service_is_held_while_its_load_balancer_stands(rig):
    served(rig)
    # A provider that says nothing holds everything up.
    report, rig.report = rig.report, lambda: None
    with rig.step():
        rig.kube.api.delete("services", "db")
    rig.wait(lambda: not rig.listeners(), "the listener to go")
    assert rig.finalizers() == [CLEANUP]
    rig.report = report
    rig.wait(lambda: rig.service() is None, "the Service to vanish")


@pytest.mark.parametrize("grouping", ["merged"], indirect=True)  # otherwise each has a load balancer of its own
def test_a_port_that_is_taken_is_told_to_the_later_one(rig):
    served(rig)
    with rig.step():
        rig.deploy("later")
    # It may have been accepted before its port was looked at.
    events = rig.wait(lambda: [event for event in rig.kube.objects("events")
                               if event["involvedObject"]["name"] == "later" and event["type"] == "Warning"], "a Warning")
    assert events[0]["involvedObject"]["kind"] == "Service"
    rig.kube.api.delete("services", "db")
    rig.wait(lambda: rig.service() is None and rig.shown("later") == ["192.0.2.1"], "the later one to take its place")
