# SPDX-License-Identifier: Apache-2.0
"""The whole line on this machine: the two stand-ins (a real API server instead of the first when KUBEBUILDER_ASSETS names one), and
our three daemons in a folder of their own."""
from __future__ import annotations

import os
import pathlib
from typing import Iterable

from standins.rancher.client import RancherStandin

from .backend import LOOPBACK
from .cluster import Cluster
from .daemon import Daemon, Room
from .envtest import kube_server
from .wait import wait_for

DAEMONS = ("watcher", "translator", "provider")
READY_S_MAX = 90.0


def build_folder() -> pathlib.Path:
    """Where the programs are: $SLUICE_BUILD, set by scripts/test and scripts/demo."""
    return pathlib.Path(os.environ.get("SLUICE_BUILD") or pathlib.Path(__file__).resolve().parents[2] / "build")


def is_sanitized() -> bool:
    """The programs of the build folder are under a sanitizer, and several times slower."""
    return b"__asan_init" in (build_folder() / "translator/sluice-translator").read_bytes()


def rancher_provider(runtime: pathlib.Path, folder: pathlib.Path, rancher: RancherStandin, *arguments: str) -> Daemon:
    """provider-rancher with its log in `folder`, not started."""
    return Daemon(build_folder() / "provider-rancher/sluice-provider-rancher", ["--runtime-dir", str(runtime), *arguments],
                  folder / "provider.log", rancher.environment)


class ThreeDaemons:
    """The daemons of one line: `watcher`, `translator` and `provider`."""

    def prepare(self, runtime: pathlib.Path, folder: pathlib.Path, kubeconfig: pathlib.Path, provider: Daemon,
                watcher: Iterable[str] = (), translator: Iterable[str] = LOOPBACK) -> None:
        """`watcher` and `translator` are their arguments; their logs are in `folder`."""
        common, build = ["--runtime-dir", str(runtime)], build_folder()
        self.watcher = Daemon(build / "watcher/sluice-watcher", [*common, "--kubeconfig", str(kubeconfig), *watcher], folder / "watcher.log")
        self.translator = Daemon(build / "translator/sluice-translator", [*common, *translator], folder / "translator.log")
        self.provider = provider

    def daemon(self, name: str) -> Daemon:
        return getattr(self, name)

    def daemons(self) -> list[Daemon]:
        return [self.daemon(name) for name in DAEMONS]

    def start(self) -> None:
        self.start_daemons()
        self.wait_ready()

    def start_daemons(self) -> None:
        """All that do not run; the one that listens first, so that the others need not come back."""
        for daemon in (self.translator, self.watcher, self.provider):
            if not daemon.is_running():
                daemon.start()

    def wait_ready(self) -> None:
        for daemon in (self.watcher, self.translator):
            daemon.wait_event("ready", timeout=READY_S_MAX)

    def end(self) -> list[str]:
        return [complaint for daemon in self.daemons() for complaint in daemon.end()]


class Line(ThreeDaemons, Room):
    """Use it as a context manager. `rancher_options` go to the stand-in; without `start` the daemons are only prepared."""

    def __init__(self, start: bool = True, rancher_options: dict | None = None,
                 watcher_arguments: list[str] | None = None, provider_arguments: list[str] | None = None, log_level: str = "info"):
        super().__init__("line")
        self.kube = kube_server()
        self.rancher = RancherStandin(kubeconfig=self.kube.kubeconfig,
                                      **{"agent_interval": 0.1, "hosts": 3, **(rancher_options or {})})
        self.cluster = Cluster(str(self.kube.kubeconfig))
        level = ["--log-level", log_level]
        provider = rancher_provider(self.runtime, self.folder, self.rancher, *level, "--poll-interval", "0.5", *(provider_arguments or []))
        self.prepare(self.runtime, self.folder, self.kube.controller_kubeconfig, provider, [*level, *(watcher_arguments or [])], [*level, *LOOPBACK])
        if start:
            self.start()

    def stop(self) -> list[str]:
        complaints = self.end()
        self.rancher.stop()
        self.kube.stop()
        return self.leave(complaints)

    # What the balancers do

    def balancer(self, ingress: str, namespace: str = "default") -> dict | None:
        return self.rancher.balancer(f"{namespace}-rancherlb-{ingress}")

    def wait_balancer(self, ingress: str, namespace: str = "default") -> dict:
        return wait_for(lambda: (lb := self.balancer(ingress, namespace)) and lb["state"] == "active" and lb,
                        f"load balancer of {namespace}/{ingress} to be active")

    def wait_no_balancer(self, ingress: str, namespace: str = "default") -> None:
        wait_for(lambda: self.balancer(ingress, namespace) is None, f"load balancer of {namespace}/{ingress} to be gone")

    def entries(self, ingress: str, namespace: str = "default") -> list[tuple[str, int]]:
        """(address, port) pairs where the load balancer of an Ingress listens; none while there is no load balancer."""
        if self.balancer(ingress, namespace) is None:
            return []
        return self.rancher.traffic_addresses(f"{namespace}-rancherlb-{ingress}")
