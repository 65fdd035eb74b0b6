# SPDX-License-Identifier: Apache-2.0
"""Three replicas of the line beside each other, of which one acts (--leader-elect): it is killed, cut off from Kubernetes, hung and asked to stop,
and another one takes over with nothing written twice."""
from __future__ import annotations

import pathlib

import pytest

from lib.daemon import Daemon
from lib.line import rancher_provider
from lib.replicas import DURATION_S, NAMESPACE, Replica, Replicas
from lib.wait import stays, wait_for
from standins.rancher.client import RancherStandin

WRITES = ("balancer-created", "balancer-updated", "balancer-removed", "stack-made")


class RancherReplicas(Replicas):
    def make_target(self) -> RancherStandin:
        return RancherStandin(kubeconfig=self.kube.kubeconfig, agent_interval=0.1, hosts=3)

    def make_provider(self, runtime: pathlib.Path, folder: pathlib.Path) -> Daemon:
        return rancher_provider(runtime, folder, self.target, "--poll-interval", "0.5")

    @property
    def rancher(self) -> RancherStandin:
        return self.target


def writes(replica: Replica) -> int:
    """How much its provider has written to Rancher."""
    return sum(len(replica.provider.events(name)) for name in WRITES)


@pytest.fixture
def replicas(backends):
    with RancherReplicas(3) as running:
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
    assert all(writes(r) == 0 for r in others)
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
    before = writes(old)
    replicas.cluster.annotate("ingress", "web", **{"scale": "2"})
    wait_for(lambda: replicas.rancher.balancer("default-rancherlb-web")["scale"] == 2, "the new leader to change it")
    stays(lambda: writes(old) == before, "the old one writes nothing", 1)
    assert writes(new) > 0


def test_a_restarted_translator_or_provider_of_the_leader_leads_again(replicas):
    leader = replicas.wait_leader()
    for daemon in (leader.translator, leader.provider):
        daemon.kill()
        daemon.start()
    apply_web(replicas, "web")
    replicas.cluster.wait_addresses("web")
    assert replicas.leader() is leader
    assert_written_once(replicas, "web")
