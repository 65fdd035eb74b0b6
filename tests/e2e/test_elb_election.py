# SPDX-License-Identifier: Apache-2.0
"""Two replicas of the line with AWS, of which one acts: each has a key of its own, so AWS's journal says who has written."""
from __future__ import annotations

import pathlib
from typing import Any

import pytest

from lib.daemon import Daemon
from lib.elb_bench import InAws, elb_provider, policy
from lib.replicas import Replica, Replicas
from lib.wait import stays, wait_for
from standins.elb.client import Aws

TAG = "AddTags"
WRITE = "ChangeResourceRecordSets"
OWNER = "default/web"


class ElbReplicas(InAws, Replicas):
    def make_target(self) -> Aws:
        aws = Aws(settings={"policy": policy()})
        self.zone = aws.zone("example.com")
        return aws

    def make_provider(self, runtime: pathlib.Path, folder: pathlib.Path) -> Daemon:
        return elb_provider(runtime, folder, self.aws, source="session")

    def hosts(self) -> list[str]:
        """Those that have a record."""
        return sorted(record["Name"].rstrip(".") for record in self.aws.records(self.zone) if record["Type"] == "A")

    @property
    def aws(self) -> Aws:
        return self.target

    def writes_of(self, replica: Replica) -> list[str]:
        """Actions that have been carried out since the last forget()."""
        key = replica.provider.environment["AWS_ACCESS_KEY_ID"]
        return [call["action"] for call in self.aws.writes() if call["access_key"] == key and call["applied"]]

    def apply(self, *paths: str, ips: tuple[str, ...] = ("172.31.0.10",)) -> None:
        cluster = self.cluster
        cluster.apply(cluster.service("web"), cluster.slice("web", list(ips)),
                      cluster.ingress("web", [{"host": "web.example.com", "paths": [(path, "Prefix", "web", 80) for path in paths]}]))

    def wait_applied(self, rules: int) -> None:
        """And the tag says so."""
        wait_for(lambda: len(self.rules(OWNER)) == rules and self.balancer(OWNER)["tags"].get("sluice.io/applied", "changing") != "changing",
                 f"{rules} rules", 60)

    def statuses(self) -> list[Any]:
        return [w["body"] for w in self.kube.writes() if w["subresource"] == "status" and w["name"] == "web"]


@pytest.fixture
def replicas():
    with ElbReplicas(2) as running:
        running.apply("/foo")
        running.cluster.wait_addresses("web", 1)
        running.wait_applied(1)
        yield running


@pytest.mark.parametrize("how", ["killed", "cut off", pytest.param("hung", marks=pytest.mark.long), pytest.param("stopped", marks=pytest.mark.long)])
def test_another_takes_over_and_writes_what_has_changed(replicas, how):
    old = replicas.wait_leader()
    new = next(replica for replica in replicas.all if replica is not old)
    assert replicas.writes_of(new) == [] != replicas.writes_of(old)
    replicas.aws.forget()
    undo = replicas.lose(old, how)
    replicas.apply("/foo", "/new", ips=("172.31.0.10", "172.31.0.11"))
    assert replicas.wait_leader(but=old) is new
    replicas.wait_applied(2)
    wait_for(lambda: len(replicas.targets(f"{OWNER}:80")) == 2, "the new endpoint", 60)
    assert sorted(replicas.writes_of(new)) == sorted([TAG, "CreateRule", TAG, "RegisterTargets"])
    # It comes back, and follows.
    undo()
    wait_for(lambda: old.watcher.events("following"), "the old one to follow")
    replicas.apply("/foo", ips=("172.31.0.10", "172.31.0.11"))
    replicas.wait_applied(1)
    assert replicas.writes_of(old) == []
    assert len(replicas.statuses()) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_one_that_loses_its_right_in_the_middle_of_a_change(replicas, when):
    """Its provider still reaches AWS, and waits for an answer; the other one reads what has become of it."""
    old = replicas.wait_leader()
    new = next(replica for replica in replicas.all if replica is not old)
    replicas.aws.forget()
    number = replicas.aws.fault("hold", action="CreateRule", count=1, when=when)
    replicas.apply("/foo", "/new")
    wait_for(lambda: "CreateRule" in [call["action"] for call in replicas.aws.calls()], "the change to be half done")
    replicas.lose(old, "cut off")
    old.provider.wait_event("follows", timeout=60)
    assert replicas.wait_leader(but=old) is new
    if when == "after":
        replicas.aws.clear(number)
        replicas.wait_applied(2)
        assert (replicas.writes_of(old), replicas.writes_of(new)) == ([TAG, "CreateRule"], [TAG])
    else:
        replicas.wait_applied(2)
        assert (replicas.writes_of(old), replicas.writes_of(new)) == ([TAG], ["CreateRule", TAG])
        replicas.aws.clear(number)
        stays(lambda: len(replicas.rules(OWNER)) == 2, "what the other one has made", 1)
    stays(lambda: len(replicas.writes_of(old)) <= 2, "that the old one writes nothing more", 0.5)
    replicas.apply("/foo", "/new", "/third")
    replicas.wait_applied(3)
    assert replicas.writes_of(new)[-3:] == [TAG, "CreateRule", TAG]


def test_who_follows_reads_nothing_again_and_again(replicas):
    leader = replicas.wait_leader()
    other = next(replica for replica in replicas.all if replica is not leader)
    key = other.provider.environment["AWS_ACCESS_KEY_ID"]
    replicas.aws.forget()
    replicas.apply("/foo", "/new")
    replicas.wait_applied(2)
    stays(lambda: not [call for call in replicas.aws.calls() if call["access_key"] == key], "that only the leader calls AWS", 1)


# Records in Route 53


class DnsReplicas(ElbReplicas):
    def make_provider(self, runtime: pathlib.Path, folder: pathlib.Path) -> Daemon:
        return elb_provider(runtime, folder, self.aws, "--route53-zone", self.zone, "--dns-rate", "500", source="session")

    def apply_hosts(self, *names: str) -> None:
        cluster = self.cluster
        cluster.apply(cluster.service("web"), cluster.slice("web", ["172.31.0.10"]),
                      cluster.ingress("web", [{"host": f"{name}.example.com", "paths": [("/", "Prefix", "web", 80)]} for name in names]))

    def wait_hosts(self, *names: str) -> None:
        wait_for(lambda: self.hosts() == [f"{name}.example.com" for name in names], f"records of {names}", 60)

    def changes_of(self, replica: Replica) -> int:
        return self.writes_of(replica).count(WRITE)


@pytest.fixture
def named():
    with DnsReplicas(2) as running:
        running.apply_hosts("a", "b")
        running.wait_hosts("a", "b")
        running.cluster.wait_addresses("web", 1)
        running.aws.forget()
        yield running


def test_another_takes_over_the_records(named):
    """It takes the records that the other one has made for ours, and writes what has changed, and only that."""
    old = named.wait_leader()
    new = next(replica for replica in named.all if replica is not old)
    undo = named.lose(old, "killed")
    named.apply_hosts("b", "c")
    assert named.wait_leader(but=old) is new
    named.wait_hosts("b", "c")
    assert named.changes_of(new) == 1
    undo()
    wait_for(lambda: old.watcher.events("following"), "the old one to follow")
    named.apply_hosts("c", "d")
    named.wait_hosts("c", "d")
    assert named.changes_of(old) == 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_one_loses_its_right_while_it_writes_records(named, when):
    """Its change may be carried out much later; it says what has to be there, so it overwrites nothing that the other one has made."""
    old = named.wait_leader()
    new = next(replica for replica in named.all if replica is not old)
    number = named.aws.fault("hold", action=WRITE, count=1, when=when)
    named.apply_hosts("a", "b", "c")
    wait_for(lambda: named.aws.calls(WRITE), "the change to be half done")
    named.lose(old, "cut off")
    old.provider.wait_event("follows", timeout=60)
    assert named.wait_leader(but=old) is new
    named.wait_hosts("a", "b", "c")
    named.apply_hosts("a", "c")
    named.wait_hosts("a", "c")
    written = named.changes_of(new)
    named.aws.clear(number)
    stays(lambda: named.hosts() == ["a.example.com", "c.example.com"], "what the other one has made", 1)
    assert written == named.changes_of(new) == (2 if when == "before" else 1)
