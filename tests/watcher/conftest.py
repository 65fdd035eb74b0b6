# SPDX-License-Identifier: Apache-2.0
"""The real watcher between a Kubernetes stand-in and a translator made of a few lines of Python."""
from __future__ import annotations

import pathlib
import re
import shutil
import tempfile
from typing import Any, Callable, Iterator

import pytest

from lib.cluster import Cluster
from lib.daemon import Daemon
from lib.line import build_folder
from lib.sourcelink import SourceLink
from lib.wait import wait_for
from standins.kube.client import KubeStandin

READS = ("get", "list", "watch")
SANITIZER_EXIT = 77


class Rig:
    """One watcher with its neighbours. Pauses are short, so that tests are; what is given up after a time is given plenty, so that a
    loaded machine is not taken for a broken server."""

    def __init__(self, profile: str = "1.34", *kube_arguments: str):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-watcher-"))
        self.kube = KubeStandin(profile, *kube_arguments)
        self.runtime = self.folder / "run"
        self.runtime.mkdir()
        self.link = SourceLink(self.runtime)
        self.watcher: Daemon | None = None

    def __enter__(self) -> "Rig":
        self.kube.start()
        self.link.listen()
        return self

    def __exit__(self, *_: object) -> None:
        codes = []
        if self.watcher is not None:
            codes.append(self.watcher.stop() if self.watcher.is_running() else self.watcher.exit_code)
        self.link.stop()
        self.kube.stop()
        log = (self.folder / "log").read_text() if (self.folder / "log").exists() else ""
        shutil.rmtree(self.folder, ignore_errors=True)
        assert "Sanitizer" not in log and "runtime error" not in log, log
        assert all(code in (0, None) for code in codes), (codes, log)
        assert not self.link.problems, (self.link.problems, log)

    def kubectl(self, *arguments: str) -> str:
        return Cluster(str(self.kube.kubeconfig)).kubectl(*arguments)

    def prepare(self, *arguments: str, environment: dict[str, str] | None = None, stdin: bytes | None = None,
                kubeconfig: pathlib.Path | str | None = "") -> Daemon:
        """The watcher, not started."""
        given = ["--runtime-dir", str(self.runtime), "--log-level", "debug", "--backoff-first", "0.05",
                 "--backoff-max", "0.4", "--stream-timeout", "3", "--request-timeout", "30"]
        if kubeconfig is not None:
            given += ["--kubeconfig", str(kubeconfig or self.kube.controller_kubeconfig)]
        self.watcher = Daemon(build_folder() / "watcher/sluice-watcher", [*given, *arguments], self.folder / "log",
                              environment, stdin)
        return self.watcher

    def start(self, *arguments: str, **more: Any) -> Daemon:
        """Starts the watcher and waits until it has told everything and all its watches run."""
        self.prepare(*arguments, **more).start()
        self.settle()
        return self.watcher

    def settle(self, connections: int = 1) -> None:
        """Waits for a whole snapshot, and for one running watch of each kind; ConfigMaps are watched by name alone."""
        kinds = set(self.link.wait_whole(connections).settings["kinds"]) - {"config-map"}
        self.kube.wait_streams(len(kinds), identity="controller")

    def lists(self, since: int) -> list[dict[str, Any]]:
        """Lists of the watcher, streaming ones included; not those of one object, by which it asks for the server's revision."""
        return [entry for entry in self.kube.requests(since, identity="controller")
                if (entry["verb"] == "list" and not re.search(r"limit=1(&|$)", entry["query"])) or "sendInitialEvents" in entry["query"]]

    def writes(self, since: int = 0) -> list[dict[str, Any]]:
        """Whatever the watcher wrote or tried to."""
        return self.kube.writes(since)

    # What changes in the cluster

    def ingress(self, name: str = "web", host: str = "a.example", namespace: str = "default", **meta: Any) -> dict[str, Any]:
        """Creates an Ingress."""
        self.kube.api.ensure_namespace(namespace)
        return self.kube.api.create(ingress(name, host, namespace, **meta))

    def rehost(self, host: str, name: str = "web", namespace: str = "default") -> None:
        """Changes its host."""
        self.kube.api.patch("ingresses", name, {"spec": ingress(name, host)["spec"]}, namespace)

    def wait_host(self, host: str, name: str = "web", timeout: float = 10.0) -> dict[str, Any]:
        """Waits until the translator has heard of it."""
        return self.link.wait_record("ingress", name, like=lambda record: record["rules"][0]["host"] == host, timeout=timeout)

    def shown(self, name: str = "web") -> list[str]:
        """The addresses that an Ingress shows."""
        found = self.kube.api.get("ingresses", name)
        entries = found["status"]["loadBalancer"].get("ingress") or []
        return [entry.get("ip") or entry.get("hostname") for entry in entries]

    def wait_shown(self, *addresses: str, name: str = "web", timeout: float = 10.0) -> None:
        """Waits until it shows these."""
        wait_for(lambda: self.shown(name) == list(addresses), f"{name} to show {addresses}", timeout)

    def events(self, reason: str, name: str = "web") -> list[dict[str, Any]]:
        """Kubernetes Events on an Ingress."""
        return [event for event in self.kube.objects("events") if event["reason"] == reason and event["involvedObject"]["name"] == name]


def ingress(name: str = "web", host: str = "a.example", namespace: str = "default", **meta: Any) -> dict[str, Any]:
    """An Ingress with one rule."""
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": namespace, **meta},
            "spec": {"rules": [{"host": host, "http": {"paths": [path]}}]}}


def service(name: str = "web", port: int = 80, namespace: str = "default") -> dict[str, Any]:
    """A Service with one port."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
            "spec": {"ports": [{"port": port}], "selector": {"app": name}}}


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    """Makes rigs of any profile; all are taken down afterwards."""
    rigs: list[Rig] = []

    def make(profile: str = "1.34", *kube_arguments: str) -> Rig:
        rigs.append(Rig(profile, *kube_arguments))
        return rigs[-1].__enter__()

    yield make
    for rig in rigs:
        rig.__exit__()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    """A rig with a recent server; the watcher is not started."""
    return make_rig()
