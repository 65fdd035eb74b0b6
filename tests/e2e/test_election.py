# SPDX-License-Identifier: Apache-2.0
"""Three replicas of the line beside each other, of which one acts (--leader-elect): it is killed, cut off from Kubernetes, hung and asked to stop,
and another one takes over with nothing written twice."""
from __future__ import annotations

import pathlib
from typing import Any, Callable

import pytest
import yaml

from lib.cluster import Cluster
from lib.daemon import Room
from lib.envtest import RealKube, kube_server
from lib.forwarder import Forwarder
from lib.line import ThreeDaemons, is_sanitized, rancher_provider
from lib.wait import stays, wait_for
from standins.kube.client import KubeStandin
from standins.rancher.client import RancherStandin

KUBERNETES = pathlib.Path(__file__).resolve().parents[2] / "docker/kubernetes"
NAMESPACE = "sluice-system"
WRITES = ("balancer-created", "balancer-updated", "balancer-removed", "stack-made")
# Short, because a test waits for it; the proportions are those of the defaults.
DURATION_S = 12 if is_sanitized() else 4


def granted() -> list[dict[str, Any]]:
    """The rules that docker/kubernetes gives the watchers of several replicas; those of the election in their own namespace."""
    everywhere = yaml.safe_load_all((KUBERNETES / "base/rights.yaml").read_text())
    here = yaml.safe_load_all((KUBERNETES / "election/rights.yaml").read_text())
    return [rule for role in everywhere for rule in role.get("rules", [])] + \
        [{**rule, "namespaces": [NAMESPACE]} for role in here for rule in role.get("rules", [])]


class Replica(ThreeDaemons):
    def __init__(self, folder: pathlib.Path, kube: KubeStandin | RealKube, rancher: RancherStandin, duration_s: int):
        folder.mkdir()
        runtime = folder / "run"
        runtime.mkdir()
        port = int(kube.url.rsplit(":", 1)[1])
        self.way = Forwarder(port)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(pathlib.Path(kube.controller_kubeconfig).read_text().replace(f":{port}", f":{self.way.port}"))
        election = ["--leader-elect", "--lease-namespace", NAMESPACE, "--lease-duration", str(duration_s), "--lease-renew-deadline", str(duration_s * 2 / 3),
                    "--lease-retry", str(duration_s / 8)]
        self.prepare(runtime, folder, kubeconfig, rancher_provider(runtime, folder, rancher, "--poll-interval", "0.5"), election)

    def stop(self) -> list[str]:
        complaints = self.end()
        self.way.stop()
        return complaints

    def leads(self) -> bool:
        """According to the last line of its watcher."""
        told = [line for line in list(self.watcher.lines) if "event=leading" in line or "event=following" in line]
        return self.watcher.is_running() and bool(told) and "event=leading" in told[-1]

    def writes(self) -> int:
        """How much its provider has written to Rancher."""
        return sum(len(self.provider.events(name)) for name in WRITES)


class Replicas(Room):
    def __init__(self, count: int, duration_s: int):
        super().__init__("replicas")
        self.kube = kube_server()
        self.cluster = Cluster(str(self.kube.kubeconfig))
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        if isinstance(self.kube, RealKube):
            self.cluster.within(NAMESPACE).kubectl("apply", "-f", str(KUBERNETES / "election/rights.yaml"))
        else:
            self.kube.rules(granted())
        self.rancher = RancherStandin(kubeconfig=self.kube.kubeconfig, agent_interval=0.1, hosts=3)
        self.all = [Replica(self.folder / f"replica{i}", self.kube, self.rancher, duration_s) for i in range(count)]

    def __enter__(self) -> "Replicas":
        for replica in self.all:
            replica.start_daemons()
        for replica in self.all:
            replica.wait_ready()
        return self

    def stop(self) -> list[str]:
        complaints = [text for replica in self.all for text in replica.stop()]
        self.rancher.stop()
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


@pytest.fixture
def replicas(backends):
    with Replicas(3, DURATION_S) as running:
        running.backends = backends
        yield running


def apply_web(replicas, name: str, service: str = "one") -> None:
    cluster = replicas.cluster
    cluster.apply(cluster.service(service), cluster.slice(service, ["10.88.0.9"]),
                  cluster.ingress(name, [{"host": f"{name}.example.com", "paths": [("/", "Prefix", service, 80)]}]))


def assert_written_once(replicas, *names: str) -> None:
    """Each load balancer was made once, each status written once, by whomever."""
    for name in names:
        made = [r for r in replicas.rancher.requests() if r["method"] == "POST" and r["name"] == f"default-rancherlb-{name}" and r["action"] is None]
        assert len([r for r in made if r["status"] < 300]) == 1, made
        statuses = [(w["effect"], w["body"]) for w in replicas.kube.writes() if w["subresource"] == "status" and w["name"] == name]
        assert [effect for effect, body in statuses] == ["changed"], statuses


def test_one_acts_and_the_others_are_ready(replicas):
    apply_web(replicas, "web")
    replicas.cluster.wait_addresses("web")
    leader = replicas.wait_leader()
    assert_written_once(replicas, "web")
    others = [r for r in replicas.all if r is not leader]
    assert all(r.watcher.events("ready") and r.watcher.events("following") for r in others)
    assert all(r.writes() == 0 for r in others)
    lease, = replicas.kube.objects("leases", NAMESPACE)
    assert lease["spec"]["leaseDurationSeconds"] == DURATION_S


@pytest.mark.parametrize("how", ["killed", "cut off", "hung", "stopped"])
def test_another_takes_over(replicas, how):
    apply_web(replicas, "web")
    replicas.cluster.wait_addresses("web")
    old = replicas.wait_leader()
    undo = replicas.lose(old, how)
    apply_web(replicas, "new", "two")
    replicas.cluster.wait_addresses("new", timeout=60)
    new = replicas.wait_leader(but=old)
    assert_written_once(replicas, "web", "new")
    # It comes back, and follows.
    undo()
    wait_for(lambda: old.watcher.events("following"), "the old one to follow")
    apply_web(replicas, "third", "three")
    replicas.cluster.wait_addresses("third")
    assert_written_once(replicas, "web", "new", "third")
    assert replicas.leader() is new


def test_one_that_is_cut_off_stops_acting_before_another_begins(replicas):
    """The old leader still reaches Rancher, and its translator and provider work: only the right is gone."""
    apply_web(replicas, "web")
    replicas.cluster.wait_addresses("web")
    old = replicas.wait_leader()
    replicas.lose(old, "cut off")
    old.provider.wait_event("follows")
    new = replicas.wait_leader(but=old)
    before = old.writes()
    replicas.cluster.annotate("ingress", "web", **{"scale": "2"})
    wait_for(lambda: replicas.rancher.balancer("default-rancherlb-web")["scale"] == 2, "the new leader to change it")
    stays(lambda: old.writes() == before, "the old one writes nothing", 1)
    assert new.writes() > 0


def test_a_restarted_translator_or_provider_of_the_leader_leads_again(replicas):
    leader = replicas.wait_leader()
    for daemon in (leader.translator, leader.provider):
        daemon.kill()
        daemon.start()
    apply_web(replicas, "web")
    replicas.cluster.wait_addresses("web")
    assert replicas.leader() is leader
    assert_written_once(replicas, "web")
