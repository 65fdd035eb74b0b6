# SPDX-License-Identifier: Apache-2.0
"""Addresses into the status of Ingresses: only when they differ, never against somebody who was faster, never because somebody restarted."""
from __future__ import annotations

import pytest

from lib.wait import stays, wait_for

STATUS = {"subresource": "status", "verb": "patch", "identity": "controller"}


@pytest.fixture
def web(rig):
    """The record of an Ingress that the watcher has told of."""
    rig.ingress()
    rig.start()
    return rig.link.record("ingress", "web")


def foreign(rig, *addresses: str) -> None:
    """Somebody else writes the status."""
    rig.kube.api.patch("ingresses", "web", {"status": {"loadBalancer": {"ingress": [{"ip": address} for address in addresses] or None}}},
                       subresource="status")


def test_an_address_is_written_once_and_not_told_as_a_change(rig, web):
    told = rig.link.count()
    for _ in range(3):
        rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert len(rig.writes()) == 1
    assert len(rig.link.messages(since=told)) == 1
    written = rig.writes()[0]
    assert written["method"] == "PATCH" and written["content_type"] == "application/merge-patch+json"
    assert "fieldManager=sluice" in written["query"] and '"resourceVersion":"' in written["body"]


def test_several_addresses_and_host_names(rig, web):
    rig.link.status(web, "lb.example", "192.0.2.2", "192.0.2.1", "2001:DB8::1")
    rig.wait_shown("lb.example", "192.0.2.1", "192.0.2.2", "2001:db8::1")
    # In another order they are the same.
    rig.link.status(web, "192.0.2.1", "2001:db8::1", "LB.example", "192.0.2.2")
    rig.link.status(web, "192.0.2.1", {"ip": "192.0.2.9", "ports": [{"port": 443, "protocol": "tcp"}, {"port": 80}]})
    rig.wait_shown("192.0.2.1", "192.0.2.9")
    entry = rig.kube.api.get("ingresses", "web")["status"]["loadBalancer"]["ingress"][1]
    assert entry["ports"] == [{"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP"}]
    assert len(rig.writes()) == 2


def test_what_another_controller_wrote_without_ports_is_completed_once(rig, web):
    """As when a load balancer is taken over: doc/upgrade-from-rancher-controller.md."""
    foreign(rig, "192.0.2.1")
    # What came before this has been heard, too; who writes without knowing it is refused and writes again.
    rig.rehost("heard.example")
    rig.wait_host("heard.example")
    wish = {"ip": "192.0.2.1", "ports": [{"port": 80}]}
    rig.link.status(web, wish)
    wait_for(lambda: rig.kube.api.get("ingresses", "web")["status"]["loadBalancer"]["ingress"][0].get("ports"), "the ports")
    assert len(rig.writes()) == 1
    rig.watcher.kill()
    rig.watcher.start()
    rig.settle(2)
    rig.link.status(web, wish)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert len(rig.writes()) == 1


def test_kubectl_shows_it(rig, web):
    rig.link.status(web, "192.0.2.1", "lb.example")
    rig.wait_shown("lb.example", "192.0.2.1")
    assert "192.0.2.1,lb.example" in rig.kubectl("get", "ingress", "web")


def test_no_addresses_any_more(rig, web):
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.link.status(web)
    rig.wait_shown()
    assert len(rig.writes()) == 2


@pytest.mark.parametrize("who", ["watcher", "translator"])
def test_a_restart_writes_nothing(rig, web, who):
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    mark = rig.kube.mark()
    if who == "watcher":
        rig.watcher.kill()
        rig.watcher.start()
    else:
        rig.link.hang_up()
    rig.settle(2)
    rig.link.status(web, "192.0.2.1")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.writes(mark) == []
    assert rig.shown() == ["192.0.2.1"]
    # And it is still wanted.
    foreign(rig)
    rig.wait_shown("192.0.2.1")


def test_an_orderly_end_takes_nothing_away(rig, web):
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    mark = rig.kube.mark()
    rig.watcher.stop()
    assert rig.shown() == ["192.0.2.1"] and rig.writes(mark) == []


def test_what_somebody_removes_is_put_back(rig, web):
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    foreign(rig)
    rig.wait_shown("192.0.2.1")


@pytest.mark.parametrize("is_away", [True, False], ids=["reconnected", "watching"])
def test_what_comes_back_from_a_backup_is_put_right(rig, is_away):
    rig.kube.settings(bookmark_period_s=0.2)
    rig.ingress()
    rig.start()
    web = rig.link.record("ingress", "web")
    rig.link.status(web, "192.0.2.9")
    rig.wait_shown("192.0.2.9")
    rig.kube.snapshot()
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.kube.bump(1000)
    wait_for(lambda: int(rig.kube.streams(resource="ingresses")[0]["frames"]) >= 2, "a bookmark")
    if is_away:
        rig.kube.network("gone", drop="rst")
        rig.watcher.wait_event("watch-failed", "kind=ingress ")
    rig.kube.restore()
    rig.kube.network("up")
    rig.watcher.wait_event("revision-went-back")
    # What was written last is awaited for a few seconds first.
    rig.wait_shown("192.0.2.1", timeout=30)
    mark = rig.kube.mark()
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.writes(mark) == [entry for entry in rig.writes(mark) if entry["subresource"] != "status"]


# Ownership

def test_release_takes_away_what_is_ours(rig, web):
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.link.status(web, release=True)
    rig.wait_shown()


def test_release_in_a_later_life_is_told_by_the_managed_fields(rig, web):
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.watcher.restart()
    rig.settle(2)
    rig.link.status(web, release=True)
    rig.wait_shown()


def test_release_leaves_alone_what_is_not_ours(rig, web):
    foreign(rig, "198.51.100.7")
    rig.link.status(web, release=True)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    stays(lambda: rig.shown() == ["198.51.100.7"], "the other's address", 0.3)
    assert rig.writes() == []


def test_another_controller_may_fight_only_so_long(rig, web):
    rig.link.status(web, "192.0.2.1")
    rounds = 0
    while not rig.watcher.events("status-fight") and rounds < 12:
        wait_for(lambda: rig.shown() == ["192.0.2.1"] or rig.watcher.events("status-fight"), "our address", 15)
        foreign(rig, f"198.51.100.{rounds}")
        rounds += 1
    rig.watcher.wait_event("status-fight")
    assert rounds == 5 or rounds == 6
    event = wait_for(lambda: rig.events("StatusConflict"), "an Event")[0]
    assert event["type"] == "Warning"
    # Both name the writer.
    manager = next(entry["manager"] for entry in rig.kube.api.get("ingresses", "web")["metadata"]["managedFields"]
                   if entry.get("subresource") == "status" and entry["manager"] != "sluice")
    assert f"({manager})" in event["message"] and f"by={manager} " in rig.watcher.events("status-fight")[0]
    mark = rig.kube.mark()
    foreign(rig, "198.51.100.99")
    rig.ingress("other")
    rig.link.status(rig.link.wait_record("ingress", "other"), "192.0.2.2")
    rig.wait_shown("192.0.2.2", name="other")
    assert rig.shown() == ["198.51.100.99"]
    assert {entry["name"] for entry in rig.writes(mark) if entry["resource"] == "ingresses"} == {"other"}


# What can go wrong

def test_a_conflict_waits_for_the_newer_object(rig, web):
    rig.kube.fault("race", {**STATUS}, count=2)
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    assert [entry["status"] for entry in rig.writes()] == [409, 409, 200]


def test_an_object_that_changes_all_the_time_is_not_overwritten(rig, web):
    rig.kube.fault("delay", {"verb": "watch"}, ms=0)
    for number in range(5):
        rig.link.status(web, f"192.0.2.{number}")
        rig.rehost(f"{number}.example")
    rig.wait_shown("192.0.2.4")
    rig.wait_host("4.example")
    assert rig.kube.api.get("ingresses", "web")["spec"]["rules"][0]["host"] == "4.example"


@pytest.mark.parametrize("answer", ["throttled", "internal", "shutting-down", "html", "unauthorized", "expired", "garbage", "empty"])
def test_trouble_passes(rig, web, answer):
    rig.kube.fault("respond", {**STATUS}, with_=answer, count=2, retry_after=None)
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1", timeout=60)


def test_an_answer_that_is_lost_is_not_written_twice(rig, web):
    rig.kube.fault("close", {**STATUS}, how="rst", after=True, count=1)
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert len([entry for entry in rig.writes() if entry["status"] == 200]) <= 1


@pytest.mark.parametrize("answer", [{"status": 422, "body": "{}"}, {"with_": "not-found"}])
def test_what_the_server_refuses_is_not_tried_again(rig, web, answer):
    rig.kube.fault("respond", {**STATUS}, count=1, **answer)
    rig.link.status(web, "192.0.2.1")
    rig.watcher.wait_event("status-failed")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    stays(lambda: len(rig.writes()) == 1, "one try", 0.3)
    rig.link.status(web, "192.0.2.2")
    rig.wait_shown("192.0.2.2")


def test_a_missing_permission_is_named(rig, web):
    rig.watcher.wait_event("ready")
    since = len(rig.watcher.lines)
    rig.kube.deny("patch", "ingresses")
    rig.link.status(web, "192.0.2.1")
    rig.watcher.wait_event("forbidden", "patch ingresses/status")
    rig.watcher.wait_event("not-ready", "patch ingresses/status", since=since)
    rig.rehost("b.example")
    rig.wait_host("b.example")


def test_wishes_for_what_is_not_there_are_ignored(rig, web):
    rig.link.status({**web, "name": "nobody"}, "192.0.2.1")
    rig.link.status({**web, "uid": "another"}, "192.0.2.1")
    rig.link.send("status", {"kind": "service", "namespace": "default", "name": "web", "addresses": [{"ip": "192.0.2.1"}]})
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.writes() == []


def test_an_object_made_anew_gets_no_old_wish(rig, web):
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.kube.api.delete("ingresses", "web")
    rig.link.wait_gone("ingress", "web")
    mark = rig.kube.mark()
    rig.ingress(host="b.example")
    new = rig.wait_host("b.example")
    stays(lambda: rig.writes(mark) == [], "nothing written", 0.3)
    rig.link.status(new, "192.0.2.2")
    rig.wait_shown("192.0.2.2")


def test_addresses_that_are_none_are_left_out(rig, web):
    rig.link.status(web, {"ip": "lb1"}, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.watcher.wait_event("status-bad-address")
    # A list without one good address is no wish for an empty status.
    rig.link.status(web, {"ip": "lb1"})
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.shown() == ["192.0.2.1"]


def test_a_few_writes_at_a_time(rig):
    rig.kube.bulk(count=40, namespaces=1)
    rig.start()
    rig.kube.fault("delay", {**STATUS}, ms=100)
    for name in sorted(rig.link.names("ingress")):
        rig.link.status(rig.link.record("ingress", name.split("/")[1], "bench-0"), "192.0.2.1")
    rig.kube.wait_requests(40, **STATUS, status=200)
    entries = rig.kube.requests(**STATUS)
    assert len(entries) == 40
    spans = sorted([(entry["at_ns"], 1) for entry in entries] + [(entry["at_ns"] + entry["duration_us"] * 1000, -1) for entry in entries])
    running = most = 0
    for _, step in spans:
        running += step
        most = max(most, running)
    assert most <= 4


PORTS = {"ip": "192.0.2.1", "ports": [{"port": 80}, {"port": 443}]}
KINDS = ["ingress", "service"]


def shown_entry(rig, kind: str, name: str = "web") -> dict:
    """The only address in its status."""
    found = next(item for item in rig.kube.objects(f"{kind}es" if kind == "ingress" else f"{kind}s") if item["metadata"]["name"] == name)
    entries = (found.get("status") or {}).get("loadBalancer", {}).get("ingress") or [{}]
    return entries[0]


def create(rig, kind: str, name: str = "web") -> None:
    """An Ingress as even the oldest servers know it, or a Service of type LoadBalancer."""
    meta = {"name": name, "namespace": "default"}
    if kind == "service":
        rig.kube.api.create({"apiVersion": "v1", "kind": "Service", "metadata": meta,
                             "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "web"}}})
        return
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    version = "networking.k8s.io/v1"
    path: dict = {"path": "/", "pathType": "Prefix", "backend": backend}
    if rig.kube.profile.minor < 19:
        version, path = "networking.k8s.io/v1beta1", {"path": "/", "backend": {"serviceName": "web", "servicePort": 80}}
    rig.kube.api.create({"apiVersion": version, "kind": "Ingress", "metadata": meta,
                         "spec": {"rules": [{"host": f"{name}.example", "http": {"paths": [path]}}]}})


def ask(rig, kind: str, name: str = "web") -> None:
    """The translator asks for an address with ports."""
    like = (lambda found: found.get("finalizer")) if kind == "service" else lambda found: True
    rig.link.status(rig.link.wait_record(kind, name, like=like, timeout=60), PORTS)


def start(rig) -> None:
    """With Services of servers that know no class."""
    rig.start("--default-load-balancer-class")


@pytest.mark.parametrize("profile, writes", [("1.16", 0), ("1.18", 0), ("1.19", 1), ("1.20", 0), ("1.37", 0)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_restart_writes_no_ports_that_the_server_drops(make_rig, kind, profile, writes):
    """Only a write shows that 1.19 does not keep them: one in the life of a watcher."""
    rig = make_rig(profile)
    names = ["web", "second", "third", "fourth", "fifth", "sixth"]
    for name in names:
        create(rig, kind, name)
    start(rig)
    for name in names:
        ask(rig, kind, name)
        wait_for(lambda which=name: shown_entry(rig, kind, which).get("ip"), "the address")
        assert ("ports" in shown_entry(rig, kind, name)) == (rig.kube.profile.minor >= 20)
    mark = rig.kube.mark()
    rig.watcher.kill()
    rig.watcher.start()
    rig.settle(2)
    for name in [*names, *names]:
        ask(rig, kind, name)
    # What is asked for afterwards has been written: nothing else is on its way.
    create(rig, kind, "marker")
    ask(rig, kind, "marker")
    wait_for(lambda: shown_entry(rig, kind, "marker").get("ip"), "the address of the last one")
    assert len([write for write in rig.writes(mark) if write["name"] in names]) == writes


@pytest.mark.parametrize("kind", KINDS)
def test_ports_that_somebody_removes_come_back(make_rig, kind):
    rig = make_rig("1.37")
    create(rig, kind)
    start(rig)
    ask(rig, kind)
    wait_for(lambda: shown_entry(rig, kind).get("ports"), "the ports")
    rig.watcher.kill()
    rig.kube.api.patch({"ingress": "ingresses", "service": "services"}[kind], "web",
                       {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}, subresource="status")
    assert "ports" not in shown_entry(rig, kind)
    rig.watcher.start()
    rig.settle(2)
    ask(rig, kind)
    wait_for(lambda: len(shown_entry(rig, kind).get("ports", ())) == 2, "the ports")


def test_servers_without_managed_fields_and_old_versions(make_rig):
    rig = make_rig("1.16")
    rig.kube.bulk(count=1, namespaces=1)
    rig.start()
    record = rig.link.record("ingress", "app-00000", "bench-0")
    rig.link.status(record, "192.0.2.1")
    wait_for(lambda: (rig.kube.objects("ingresses")[0].get("status") or {}).get("loadBalancer", {}).get("ingress"), "the address")
    assert rig.writes()[0]["version"] == "v1beta1" and rig.writes()[0]["group"] == "networking.k8s.io"
    rig.link.status(record, release=True)
    wait_for(lambda: not (rig.kube.objects("ingresses")[0].get("status") or {}).get("loadBalancer", {}).get("ingress"), "it to go")
