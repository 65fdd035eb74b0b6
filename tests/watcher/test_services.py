# SPDX-License-Identifier: Apache-2.0
"""Services of type LoadBalancer: held by a finalizer from before their load balancer is built until it is gone, whoever dies in between."""
from __future__ import annotations

from typing import Any

import pytest

from lib.wait import stays, wait_for

from .conftest import Rig

CLASS = "sluice.io/load-balancer"
CLEANUP = "service.kubernetes.io/load-balancer-cleanup"
WRITE = {"resource": "services", "verb": "patch", "identity": "controller"}


def balancer(name: str = "tcp", wanted: str | None = CLASS, meta: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Service of type LoadBalancer."""
    named = {"loadBalancerClass": wanted} if wanted else {}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default", **(meta or {})},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 5432}], "selector": {"app": name}, **named, **spec}}


def find(rig: Rig, name: str = "tcp") -> dict[str, Any] | None:
    """The Service as the server has it."""
    return rig.kube.api.find("services", name)


def finalizers(rig: Rig, name: str = "tcp") -> list[str]:
    """What holds it."""
    return (find(rig, name) or {"metadata": {}})["metadata"].get("finalizers", [])


def shown(rig: Rig, name: str = "tcp") -> list[str]:
    """Its addresses."""
    return [entry.get("ip") or entry.get("hostname") for entry in find(rig, name)["status"]["loadBalancer"].get("ingress") or []]


def wait_shown(rig: Rig, *addresses: str, name: str = "tcp") -> None:
    """Waits until it shows these."""
    wait_for(lambda: shown(rig, name) == list(addresses), f"{name} to show {addresses}", 60)


def wait_held(rig: Rig, name: str = "tcp") -> dict[str, Any]:
    """Waits until the translator has heard that it is held."""
    return rig.link.wait_record("service", name, like=lambda record: record.get("finalizer"), timeout=60)


def wait_vanished(rig: Rig, name: str = "tcp") -> None:
    """Waits until nothing holds it any more."""
    wait_for(lambda: find(rig, name) is None, f"{name} to vanish", 60)


def patch(rig: Rig, body: dict[str, Any], name: str = "tcp", **more: Any) -> dict[str, Any]:
    """Somebody changes it."""
    return rig.kube.api.patch("services", name, body, **more)


def pass_through(rig: Rig, name: str = "marker") -> None:
    """Waits until the watcher has worked off what happened before: it has told of, and written to, a Service made just now."""
    rig.kube.api.create(balancer(name))
    wait_held(rig, name)


@pytest.fixture
def tcp(rig: Rig) -> dict[str, Any]:
    """The record of a Service of ours that is held."""
    rig.kube.api.create(balancer())
    rig.start()
    return wait_held(rig)


def test_the_life_of_one(rig, tcp):
    assert finalizers(rig) == [CLEANUP]
    assert tcp["load_balancer_class"] == CLASS and tcp["created"] > 1_500_000_000 and "deleting" not in tcp
    rig.link.status(tcp, "192.0.2.1", {"hostname": "lb.example", "ports": [{"port": 5432, "protocol": "tcp"}]})
    wait_shown(rig, "lb.example", "192.0.2.1")
    rig.kube.api.delete("services", "tcp")
    rig.link.wait_record("service", "tcp", like=lambda record: record.get("deleting"), timeout=60)
    pass_through(rig)
    assert finalizers(rig) == [CLEANUP] and shown(rig) == ["lb.example", "192.0.2.1"]
    mark = rig.kube.mark()
    rig.link.status(tcp, release=True)
    rig.link.wait_gone("service", "tcp", timeout=60)
    assert find(rig) is None
    writes = [(entry["subresource"], entry["status"]) for entry in rig.writes(mark)]
    assert writes == [("status", 200), ("", 200)]


def test_the_settings_say_which_are_ours(rig):
    rig.start("--load-balancer-class", "example.com/lb", "--default-load-balancer-class")
    settings = rig.link.connection.settings
    assert settings["load_balancer_class"] == "example.com/lb" and settings["without_load_balancer_class"] is True


def test_only_ours_are_held(rig):
    rig.kube.api.create(balancer("other", "example.com/lb"))
    rig.kube.api.create(balancer("none", None))
    rig.kube.api.create(balancer("plain", None, type="NodePort"))
    rig.start()
    settings = rig.link.connection.settings
    assert settings["load_balancer_class"] == CLASS and "without_load_balancer_class" not in settings
    pass_through(rig)
    assert {entry["name"] for entry in rig.writes()} == {"marker"}
    for name in ("other", "none", "plain"):
        assert "finalizer" not in rig.link.record("service", name) and finalizers(rig, name) == []


def test_those_without_a_class_when_told_so(rig):
    rig.kube.api.create(balancer("other", "example.com/lb"))
    rig.kube.api.create(balancer("none", None))
    rig.start("--default-load-balancer-class")
    wait_held(rig, "none")
    pass_through(rig)
    assert finalizers(rig, "other") == []


def test_other_finalizers_stay(rig):
    rig.kube.api.create(balancer(meta={"finalizers": ["example.com/b", "example.com/a"]}))
    rig.start()
    held = wait_held(rig)
    assert finalizers(rig) == ["example.com/b", "example.com/a", CLEANUP]
    patch(rig, {"metadata": {"finalizers": ["example.com/a", CLEANUP, "example.com/c"]}})
    rig.kube.api.delete("services", "tcp")
    rig.link.status(held, release=True)
    wait_for(lambda: finalizers(rig) == ["example.com/a", "example.com/c"], "ours to go", 60)


def test_the_finalizer_of_somebody_else_is_not_ours(rig):
    rig.kube.api.create(balancer(wanted=None, meta={"finalizers": [CLEANUP]}))
    rig.start()
    record = rig.link.record("service", "tcp")
    assert "finalizer" not in record
    rig.link.status(record, release=True)
    rig.kube.api.delete("services", "tcp")
    rig.link.wait_record("service", "tcp", like=lambda record: record.get("deleting"), timeout=60)
    pass_through(rig)
    assert finalizers(rig) == [CLEANUP]


def test_two_of_us_for_two_classes_do_not_free_what_the_other_holds(rig):
    rig.kube.api.create(balancer())
    rig.start("--load-balancer-class", "example.com/first", "--default-load-balancer-class")
    rig.kube.api.create(balancer("first", "example.com/first"))
    rig.kube.api.create(balancer("none", None))
    wait_held(rig, "first")
    wait_held(rig, "none")
    rig.watcher.stop()
    # The other one, in its place.
    rig.start()
    rig.settle(2)
    wait_held(rig)
    for name in ("first", "none"):
        record = rig.link.record("service", name)
        assert "finalizer" not in record
        rig.link.status(record, release=True)
    pass_through(rig)
    assert finalizers(rig, "first") == [CLEANUP] and finalizers(rig, "none") == [CLEANUP]


def test_nothing_is_put_on_what_is_going_already(rig):
    rig.kube.api.create(balancer(meta={"finalizers": ["example.com/a"]}))
    rig.kube.api.delete("services", "tcp")
    rig.start()
    record = rig.link.record("service", "tcp")
    assert record["deleting"] and "finalizer" not in record
    rig.link.status(record, "192.0.2.1")
    pass_through(rig)
    assert finalizers(rig) == ["example.com/a"] and shown(rig) == []
    assert {entry["name"] for entry in rig.writes()} == {"marker"}


def test_addresses_wait_for_the_finalizer(rig):
    rig.kube.fault("respond", {**WRITE, "subresource": ""}, id="no", with_="internal")
    rig.kube.api.create(balancer())
    rig.start()
    record = rig.link.record("service", "tcp")
    assert "finalizer" not in record
    rig.link.status(record, "192.0.2.1")
    rig.watcher.wait_event("finalizer-failed", timeout=60)
    assert shown(rig) == [] and not [entry for entry in rig.writes() if entry["subresource"] == "status"]
    rig.kube.clear()
    wait_shown(rig, "192.0.2.1")
    assert finalizers(rig) == [CLEANUP]


def test_a_finalizer_that_somebody_takes_off_is_put_back(rig, tcp):
    patch(rig, {"metadata": {"finalizers": None}})
    wait_for(lambda: finalizers(rig) == [CLEANUP], "it to be back", 60)


# It is ours no longer

def test_another_type(rig, tcp):
    rig.link.status(tcp, "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    patch(rig, {"spec": {"type": "ClusterIP"}})
    record = rig.link.wait_record("service", "tcp", like=lambda record: "type" not in record, timeout=60)
    assert record["finalizer"]
    pass_through(rig)
    assert finalizers(rig) == [CLEANUP]
    rig.link.status(record, release=True)
    record = rig.link.wait_record("service", "tcp", like=lambda record: "finalizer" not in record, timeout=60)
    assert finalizers(rig) == []
    # And ours again: the earlier release no longer counts.
    patch(rig, {"spec": {"type": "LoadBalancer", "loadBalancerClass": CLASS}})
    record = wait_held(rig)
    rig.link.status(record, "192.0.2.2")
    wait_shown(rig, "192.0.2.2")


def test_another_class(rig, tcp):
    """The class is immutable, so the way leads over another type."""
    rig.link.status(tcp, "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    patch(rig, {"spec": {"type": "ClusterIP"}})
    patch(rig, {"spec": {"type": "LoadBalancer", "loadBalancerClass": "example.com/lb"}})
    record = rig.link.wait_record("service", "tcp", like=lambda record: record.get("load_balancer_class") == "example.com/lb", timeout=60)
    assert record["finalizer"]

    # Until it is released ours would be written again.
    rig.kube.fault("respond", {**WRITE, "subresource": "status"}, id="no", with_="internal")
    patch(rig, {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.7"}]}}}, subresource="status")
    rig.link.wait_record("service", "tcp", like=lambda record: record.get("addresses") == [{"ip": "198.51.100.7"}], timeout=60)
    rig.link.status(record, release=True)
    wait_for(lambda: finalizers(rig) == [], "ours to go", 60)
    assert shown(rig) == ["198.51.100.7"]


def test_no_longer_the_default(rig):
    rig.kube.api.create(balancer(wanted=None))
    rig.start("--default-load-balancer-class")
    rig.link.status(wait_held(rig), "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    rig.watcher.stop()
    rig.start()
    rig.settle(2)
    record = rig.link.wait_record("service", "tcp", like=lambda record: record.get("finalizer"), timeout=60)
    rig.link.status(record, release=True)
    wait_for(lambda: finalizers(rig) == [] and shown(rig) == [], "all of ours to go", 60)


def test_a_release_of_one_that_stays_takes_the_addresses_and_leaves_the_finalizer(rig, tcp):
    rig.link.status(tcp, "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    rig.link.status(tcp, release=True)
    wait_shown(rig)
    pass_through(rig)
    assert finalizers(rig) == [CLEANUP]
    # Deleted, nothing is left to wait for.
    rig.kube.api.delete("services", "tcp")
    wait_vanished(rig)


def test_made_anew_it_gets_no_old_release(rig, tcp):
    rig.kube.api.delete("services", "tcp")
    rig.link.status(tcp, release=True)
    wait_vanished(rig)
    rig.kube.api.create(balancer())
    new = rig.link.wait_record("service", "tcp", like=lambda record: record["uid"] != tcp["uid"] and record.get("finalizer"), timeout=60)
    rig.link.status(tcp, release=True)
    rig.kube.api.delete("services", "tcp")
    rig.link.wait_record("service", "tcp", like=lambda record: record.get("deleting"), timeout=60)
    pass_through(rig)
    assert finalizers(rig) == [CLEANUP]
    rig.link.status(new, release=True)
    wait_vanished(rig)


# Whoever restarts

@pytest.mark.parametrize("step", ["held", "shown", "deleting", "cleared"])
def test_killed_at_every_step(rig, tcp, step):
    if step != "held":
        rig.link.status(tcp, "192.0.2.1")
        wait_shown(rig, "192.0.2.1")
    if step in ("deleting", "cleared"):
        rig.kube.api.delete("services", "tcp")
        rig.link.wait_record("service", "tcp", like=lambda record: record.get("deleting"), timeout=60)
    if step == "cleared":
        rig.kube.fault("hang", {**WRITE, "subresource": ""})
        rig.link.status(tcp, release=True)
        wait_shown(rig)
    rig.watcher.kill()
    rig.kube.clear()
    mark = rig.kube.mark()
    rig.watcher.start()
    rig.settle(2)
    # Nothing is taken away, and nothing written, because of that.
    record = wait_held(rig)
    stays(lambda: rig.writes(mark) == [] and finalizers(rig) == [CLEANUP], "the finalizer", 0.5)
    if step in ("deleting", "cleared"):
        rig.link.status(record, release=True)
        wait_vanished(rig)
    else:
        rig.link.status(record, "192.0.2.2")
        wait_shown(rig, "192.0.2.2")


def test_killed_before_the_finalizer_stands(rig):
    rig.kube.fault("hang", {**WRITE, "subresource": ""})
    rig.kube.api.create(balancer())
    rig.start()
    assert "finalizer" not in rig.link.record("service", "tcp")
    wait_for(lambda: rig.kube.faults()[0]["hits"], "the write", 60)
    rig.watcher.kill()
    rig.kube.clear()
    rig.watcher.start()
    wait_held(rig)
    assert finalizers(rig) == [CLEANUP]


def test_deleted_and_released_while_nobody_looks(rig, tcp):
    rig.link.status(tcp, "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    rig.watcher.kill()
    rig.kube.api.delete("services", "tcp")
    assert find(rig)["metadata"]["deletionTimestamp"]
    rig.watcher.start()
    rig.settle(2)
    record = rig.link.record("service", "tcp")
    assert record["deleting"] and record["finalizer"]
    rig.link.status(record, release=True)
    wait_vanished(rig)


def test_an_orderly_end_leaves_all_as_it_is(rig, tcp):
    rig.link.status(tcp, "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    mark = rig.kube.mark()
    rig.watcher.stop()
    assert rig.writes(mark) == [] and finalizers(rig) == [CLEANUP] and shown(rig) == ["192.0.2.1"]


def test_a_translator_that_restarts_writes_nothing(rig, tcp):
    rig.link.status(tcp, "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    mark = rig.kube.mark()
    rig.link.hang_up()
    rig.settle(2)
    rig.link.status(tcp, "192.0.2.1")
    pass_through(rig)
    assert {entry["name"] for entry in rig.writes(mark)} == {"marker"}


# What can go wrong

def test_conflicts_are_tried_again_with_the_newest_object(rig):
    rig.kube.fault("race", {**WRITE, "subresource": ""}, count=2)
    rig.kube.api.create(balancer())
    rig.start()
    held = wait_held(rig)
    assert [entry["status"] for entry in rig.writes()] == [409, 409, 200]
    rig.kube.fault("race", {**WRITE, "subresource": "status"}, count=1)
    rig.link.status(held, "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    rig.kube.api.delete("services", "tcp")
    rig.kube.fault("race", {**WRITE, "subresource": ""}, count=1)
    rig.link.status(held, release=True)
    wait_vanished(rig)


def test_an_object_that_is_gone_is_done_with(rig, tcp):
    rig.kube.api.delete("services", "tcp")
    rig.link.wait_record("service", "tcp", like=lambda record: record.get("deleting"), timeout=60)
    # The watch does not tell before the write has met nothing.
    streams = {"resource": "services", "identity": "controller"}
    rig.kube.end_streams("silence", streams)
    rig.kube.delete_objects("services", "default", "tcp")
    mark = rig.kube.mark()
    rig.link.status(tcp, release=True)
    rig.kube.wait_requests(1, since=mark, **WRITE, status=404)
    rig.kube.end_streams("resume", streams)
    rig.link.wait_gone("service", "tcp", timeout=60)
    assert not rig.watcher.events("finalizer-failed")


@pytest.mark.parametrize("answer", ["throttled", "internal", "html", "unauthorized"])
def test_trouble_passes(rig, answer):
    rig.kube.fault("respond", {**WRITE, "subresource": ""}, with_=answer, count=2, retry_after=None)
    rig.kube.api.create(balancer())
    rig.start()
    held = wait_held(rig)
    rig.kube.fault("respond", {**WRITE, "subresource": ""}, with_=answer, count=1, retry_after=None)
    rig.kube.api.delete("services", "tcp")
    rig.link.status(held, release=True)
    wait_vanished(rig)


@pytest.mark.parametrize("forbidden, named", [("services", "patch services:"), ("services/status", "patch services/status:")])
def test_a_missing_permission_is_named_and_stops_nothing_else(rig, forbidden, named):
    resource, _, subresource = forbidden.partition("/")
    rig.kube.fault("respond", {**WRITE, "subresource": subresource}, with_="forbidden")
    rig.kube.api.create(balancer())
    rig.ingress()
    rig.prepare().start()
    rig.settle()
    rig.link.status(rig.link.record("service", "tcp"), "192.0.2.1")
    rig.watcher.wait_event("forbidden", named, timeout=60)
    rig.watcher.wait_event("not-ready", named, timeout=60)
    rig.link.status(rig.link.record("ingress", "web"), "192.0.2.2")
    rig.wait_shown("192.0.2.2", timeout=60)
    rig.rehost("b.example")
    rig.wait_host("b.example", timeout=60)


def test_no_permission_is_needed_where_no_service_is_ours(rig):
    rig.kube.deny("patch", "services")
    rig.kube.api.create(balancer("other", "example.com/lb"))
    rig.start()
    rig.watcher.wait_event("ready", timeout=60)
    assert rig.writes() == []


def test_another_controller_may_fight_only_so_long(rig, tcp):
    rig.link.status(tcp, "192.0.2.1")
    rounds = 0
    while not rig.watcher.events("status-fight") and rounds < 12:
        wait_for(lambda: shown(rig) == ["192.0.2.1"] or rig.watcher.events("status-fight"), "our address", 60)
        foreign = {"status": {"loadBalancer": {"ingress": [{"ip": f"198.51.100.{rounds}"}]}}}
        patch(rig, foreign, subresource="status")
        rounds += 1
    rig.watcher.wait_event("status-fight", timeout=60)
    event = wait_for(lambda: rig.events("StatusConflict", "tcp"), "an Event", 60)[0]
    assert event["involvedObject"]["kind"] == "Service" and event["involvedObject"]["apiVersion"] == "v1"
    # What another one shows is left to it; the finalizer goes nevertheless.
    rig.kube.api.delete("services", "tcp")
    rig.link.status(tcp, release=True)
    wait_vanished(rig)


def test_events_on_services(rig, tcp):
    rig.link.event(tcp, "PortTaken", "port 5432 belongs to default/older", warning=True)
    event = wait_for(lambda: rig.events("PortTaken", "tcp"), "the Event", 60)[0]
    assert event["involvedObject"] == {"kind": "Service", "apiVersion": "v1", "namespace": "default", "name": "tcp", "uid": tcp["uid"]}


# What the translator is told

def test_addresses_where_others_publish_a_service(rig):
    rig.kube.api.create(balancer("cloud", None, externalIPs=["198.51.100.9"]))
    rig.kube.api.create(balancer("ours", externalIPs=["198.51.100.9"]))
    ingress = [{"hostname": "B.example"}, {"ip": "198.51.100.7"}, {"ip": "198.51.100.7", "ports": [{"port": 80, "protocol": "TCP"}]}]
    patch(rig, {"status": {"loadBalancer": {"ingress": [{"hostname": "b.example"}, *ingress[1:]]}}}, "cloud", subresource="status")
    rig.start()
    assert rig.link.record("service", "cloud")["addresses"] == [
        {"hostname": "b.example"}, {"ip": "198.51.100.7"}, {"ip": "198.51.100.7", "ports": [{"port": 80}]}, {"ip": "198.51.100.9"}]
    assert "addresses" not in rig.link.record("service", "ours")


def test_all_that_layer_4_needs(rig):
    rig.kube.api.create(balancer(meta={"annotations": {"sluice.io/b": "2", "sluice.io/a": "1", "example.com/c": "3"}},
                                 loadBalancerSourceRanges=[" 10.0.0.0/8", "fd00::/8 "], sessionAffinity="ClientIP"))
    old = {"service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8, 192.0.2.0/24"}
    rig.kube.api.create(balancer("old", meta={"annotations": old}))
    rig.start()
    record = rig.link.record("service", "tcp")
    assert record["annotations"] == [{"key": "sluice.io/a", "value": "1"}, {"key": "sluice.io/b", "value": "2"}]
    assert record["source_ranges"] == ["10.0.0.0/8", "fd00::/8"] and record["client_ip_affinity"] is True
    assert rig.link.record("service", "old")["source_ranges"] == ["10.0.0.0/8", "192.0.2.0/24"]


def test_many_at_once(rig):
    for number in range(30):
        rig.kube.put_object("services", balancer(f"tcp-{number}"))
    rig.start()
    for number in range(30):
        rig.link.status(wait_held(rig, f"tcp-{number}"), "192.0.2.1")
    for number in range(30):
        wait_shown(rig, "192.0.2.1", name=f"tcp-{number}")
    assert len(rig.kube.requests(**WRITE, status=200)) == 60


def test_old_servers(make_rig):
    rig = make_rig("1.16")
    rig.kube.api.create(balancer(wanted=None))
    rig.start("--default-load-balancer-class")
    held = wait_held(rig)
    rig.link.status(held, "192.0.2.1")
    wait_shown(rig, "192.0.2.1")
    rig.kube.api.delete("services", "tcp")
    rig.link.status(held, release=True)
    wait_vanished(rig)
