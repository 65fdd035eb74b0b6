# SPDX-License-Identifier: Apache-2.0
"""Several lines beside each other before the same API server, of which one acts (--leader-elect)."""
from __future__ import annotations

import pathlib
from typing import Any, Callable, Self

import yaml

from standins.kube.client import KubeStandin

from .cluster import Cluster
from .daemon import Daemon, Room
from .envtest import RealKube, kube_server
from .forwarder import Forwarder
from .line import ThreeDaemons, is_sanitized
from .wait import wait_for

KUBERNETES = pathlib.Path(__file__).resolve().parents[2] / "docker/kubernetes"
NAMESPACE = "sluice-system"
# Short, because a test waits for it; the proportions are those of the defaults.
DURATION_S = 12 if is_sanitized() else 4


def granted() -> list[dict[str, Any]]:
    """The rules that docker/kubernetes gives the watchers of several replicas; those of the election in their own namespace."""
    everywhere = yaml.safe_load_all((KUBERNETES / "base/rights.yaml").read_text())
    here = yaml.safe_load_all((KUBERNETES / "election/rights.yaml").read_text())
    return [rule for role in everywhere for rule in role.get("rules", [])] + \
        [{**rule, "namespaces": [NAMESPACE]} for role in here for rule in role.get("rules", [])]


class Replica(ThreeDaemons):
    def __init__(self, folder: pathlib.Path, kube: KubeStandin | RealKube, provider: Callable[[pathlib.Path, pathlib.Path], Daemon], duration_s: int):
        folder.mkdir()
        runtime = folder / "run"
        runtime.mkdir()
        port = int(kube.url.rsplit(":", 1)[1])
        self.way = Forwarder(port)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(pathlib.Path(kube.controller_kubeconfig).read_text().replace(f":{port}", f":{self.way.port}"))
        election = ["--leader-elect", "--lease-namespace", NAMESPACE, "--lease-duration", str(duration_s), "--lease-renew-deadline", str(duration_s * 2 / 3),
                    "--lease-retry", str(duration_s / 8)]
        self.prepare(runtime, folder, kubeconfig, provider(runtime, folder), election)

    def stop(self) -> list[str]:
        complaints = self.end()
        self.way.stop()
        return complaints

    def leads(self) -> bool:
        """According to the last line of its watcher."""
        told = [line for line in list(self.watcher.lines) if "event=leading" in line or "event=following" in line]
        return self.watcher.is_running() and bool(told) and "event=leading" in told[-1]


class Replicas(Room):
    """Use it as a context manager. What the providers write to is made by make_target(), and stopped last."""

    def __init__(self, count: int, duration_s: int = DURATION_S):
        super().__init__("replicas")
        self.kube = kube_server()
        self.cluster = Cluster(str(self.kube.kubeconfig))
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        if isinstance(self.kube, RealKube):
            self.cluster.within(NAMESPACE).kubectl("apply", "-f", str(KUBERNETES / "election/rights.yaml"))
        else:
            self.kube.rules(granted())
        self.target = self.make_target()
        self.all = [Replica(self.folder / f"replica{i}", self.kube, self.make_provider, duration_s) for i in range(count)]

    def make_target(self) -> Any:
        raise NotImplementedError

    def make_provider(self, runtime: pathlib.Path, folder: pathlib.Path) -> Daemon:
        raise NotImplementedError

    def __enter__(self) -> Self:
        for replica in self.all:
            replica.start_daemons()
        for replica in self.all:
            replica.wait_ready()
        return self

    def stop(self) -> list[str]:
        complaints = [text for replica in self.all for text in replica.stop()]
        self.target.stop()
        self.kube.stop()
        return self.leave(complaints)

    def leader(self, but: Replica | None = None) -> Replica | None:
        found = [replica for replica in self.all if replica.leads() and replica is not but]
        return found[0] if len(found) == 1 else None

    def wait_leader(self, but: Replica | None = None) -> Replica:
        return wait_for(lambda: self.leader(but), "one to lead", 60)

    def lose(self, replica: Replica, how: str) -> Callable[[], None]:
        """Takes the leader away; what is returned brings it back."""
        if how == "cut off":
            replica.way.cut()
            return replica.way.mend
        if how == "hung":
            replica.watcher.pause()
            return replica.watcher.resume
        if how == "stopped":
            assert replica.watcher.stop() == 0
        else:
            for daemon in replica.daemons():
                daemon.kill()

        def come_back() -> None:
            mark = len(replica.watcher.lines)
            replica.start_daemons()
            replica.watcher.wait_event("following", since=mark)
        return come_back
