# SPDX-License-Identifier: Apache-2.0
"""The whole line on this machine: the two stand-ins (a real API server instead of the first when KUBEBUILDER_ASSETS names one), and
our three daemons in a folder of their own."""
from __future__ import annotations

import os
import pathlib

from standins.rancher.client import RancherStandin

from .backend import LOOPBACK
from .cluster import Cluster
from .daemon import Daemon, Room
from .envtest import kube_server
from .wait import wait_for

DAEMONS = ("watcher", "translator", "provider")


def build_folder() -> pathlib.Path:
    """Where the programs are: $SLUICE_BUILD, set by scripts/test and scripts/demo."""
    return pathlib.Path(os.environ.get("SLUICE_BUILD") or pathlib.Path(__file__).resolve().parents[2] / "build")


def is_sanitized() -> bool:
    """The programs of the build folder are under a sanitizer, and several times slower."""
    return b"__asan_init" in (build_folder() / "translator/sluice-translator").read_bytes()


class Line(Room):
    """Use it as a context manager. `rancher_options` go to the stand-in; `watcher`, `translator`, `provider` are
    Daemon objects, started in that order unless start=False."""

    def __init__(self, start: bool = True, rancher_options: dict | None = None,
                 watcher_arguments: list[str] | None = None, provider_arguments: list[str] | None = None, log_level: str = "info"):
        super().__init__("line")
        self.kube = kube_server()
        self.rancher = RancherStandin(kubeconfig=self.kube.kubeconfig,
                                      **{"agent_interval": 0.1, "hosts": 3, **(rancher_options or {})})
        self.cluster = Cluster(str(self.kube.kubeconfig))
        common = ["--runtime-dir", str(self.runtime), "--log-level", log_level]
        build = build_folder()
        self.watcher = Daemon(build / "watcher/sluice-watcher",
                              [*common, "--kubeconfig", str(self.kube.controller_kubeconfig), *(watcher_arguments or [])],
                              self.folder / "watcher.log")
        self.translator = Daemon(build / "translator/sluice-translator", [*common, *LOOPBACK], self.folder / "translator.log")
        self.provider = Daemon(build / "provider-rancher/sluice-provider-rancher",
                               [*common, "--poll-interval", "0.5", *(provider_arguments or [])],
                               self.folder / "provider.log", self.rancher.environment)
        if start:
            self.start()

    def start(self) -> None:
        for name in ("translator", "watcher", "provider"):
            getattr(self, name).start()
        self.wait_ready()

    def daemon(self, name: str) -> Daemon:
        return getattr(self, name)

    def daemons(self) -> list[Daemon]:
        return [self.daemon(name) for name in DAEMONS]

    def wait_ready(self) -> None:
        wait_for(lambda: self.watcher.events("ready"), "the watcher to be ready")
        wait_for(lambda: self.translator.events("ready"), "the translator to be ready")

    def stop(self) -> list[str]:
        complaints = [text for daemon in self.daemons() for text in daemon.end()]
        self.rancher.stop()
        self.kube.stop()
        return self.leave(complaints)

    # What the balancers do

    def balancer(self, ingress: str, namespace: str = "default") -> dict | None:
        return self.rancher.balancer(f"{namespace}-rancherlb-{ingress}")

    def wait_balancer(self, ingress: str, namespace: str = "default", state: str = "active") -> dict:
        return wait_for(lambda: (lb := self.balancer(ingress, namespace)) and lb["state"] == state and lb,
                        f"load balancer of {namespace}/{ingress} to be {state}")

    def wait_no_balancer(self, ingress: str, namespace: str = "default") -> None:
        wait_for(lambda: self.balancer(ingress, namespace) is None, f"load balancer of {namespace}/{ingress} to be gone")

    def entries(self, ingress: str, namespace: str = "default") -> list[tuple[str, int]]:
        """(address, port) pairs where the load balancer of an Ingress listens; none while there is no load balancer."""
        if self.balancer(ingress, namespace) is None:
            return []
        return self.rancher.traffic_addresses(f"{namespace}-rancherlb-{ingress}")
