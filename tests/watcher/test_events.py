# SPDX-License-Identifier: Apache-2.0
"""Kubernetes Events: one for each thing said, whoever restarts; bounded, and never in anybody's way."""
from __future__ import annotations

import pytest

from lib.wait import stays, wait_for
from lib.admin import look

CREATE = {"verb": "create", "resource": "events", "identity": "controller"}


@pytest.fixture
def web(rig):
    """The record of an Ingress that the watcher has told of."""
    rig.ingress()
    rig.start()
    return rig.link.record("ingress", "web")


def counted(rig, reason: str, count: int) -> dict:
    """Waits until the one Event of that reason was counted so often."""
    def found() -> dict | None:
        events = rig.events(reason)
        return events[0] if len(events) == 1 and events[0]["count"] == count else None
    return wait_for(found, f"{reason} to be counted {count} times")


def test_an_event_is_recorded_as_kubectl_shows_it(rig, web):
    rig.link.event(web, "Created", "made a load balancer")
    rig.link.event(web, "BadPort", "Service web has no port 81", warning=True)
    event = counted(rig, "BadPort", 1)
    assert event["type"] == "Warning" and event["message"] == "Service web has no port 81"
    assert event["involvedObject"] == {"kind": "Ingress", "apiVersion": "networking.k8s.io/v1", "namespace": "default", "name": "web",
                                       "uid": web["uid"]}
    assert event["source"] == {"component": "sluice"} and event["firstTimestamp"] and event["lastTimestamp"]
    assert event["metadata"]["namespace"] == "default" and event["metadata"]["name"].startswith("web.")
    shown = rig.kubectl("describe", "ingress", "web")
    assert "Service web has no port 81" in shown and "made a load balancer" in shown and "sluice" in shown


def test_said_again_it_is_counted(rig, web):
    for _ in range(3):
        rig.link.event(web, "Updated", "scale is 2 now")
    first = counted(rig, "Updated", 3)
    # Also after a restart, when the count so far is not known.
    rig.watcher.restart()
    rig.settle(2)
    rig.link.event(web, "Updated", "scale is 2 now")
    again = counted(rig, "Updated", 4)
    assert again["metadata"]["uid"] == first["metadata"]["uid"]


def test_what_stands_is_not_said_again(rig, web):
    rig.link.event(web, "BadPort", "no port", warning=True, standing=True)
    event = counted(rig, "BadPort", 1)
    for life in (2, 3):
        rig.watcher.restart()
        rig.settle(life)
        mark = rig.kube.mark()
        rig.link.event(web, "BadPort", "no port", warning=True, standing=True)
        rig.kube.wait_requests(1, since=mark, **CREATE)
    assert rig.kube.objects("events", "default", event["metadata"]["name"])[0]["metadata"]["resourceVersion"] == event["metadata"]["resourceVersion"]
    assert not rig.kube.requests(verb="patch", resource="events")


def test_one_that_expired_is_recorded_anew(rig, web):
    rig.link.event(web, "Updated", "x")
    event = counted(rig, "Updated", 1)
    rig.kube.delete_objects("events", "default", event["metadata"]["name"])
    rig.link.event(web, "Updated", "x")
    counted(rig, "Updated", 1)


def test_different_things_are_different_events(rig, web):
    rig.link.event(web, "A", "x")
    rig.link.event(web, "A", "y")
    rig.link.event(web, "B", "x")
    rig.link.event(web, "A", "x", warning=True)
    wait_for(lambda: len(rig.kube.objects("events")) == 4, "four Events")


def test_many_similar_ones_become_one(rig, web):
    for number in range(20):
        rig.link.event(web, "Moved", f"to host {number}")
    wait_for(lambda: [event for event in rig.events("Moved") if event["message"].startswith("(combined") and event["message"].endswith("19")],
             "the last of them")
    assert len(rig.events("Moved")) == 10


def test_one_object_cannot_flood(rig, web):
    for number in range(60):
        rig.link.event(web, f"R{number}", "x")
    rig.ingress("other")
    other = rig.link.wait_record("ingress", "other")
    rig.link.event(other, "Last", "x")
    wait_for(lambda: rig.events("Last", "other"), "the other's Event")
    assert len([entry for entry in rig.kube.requests(**CREATE) if '"name":"web"' in entry["body"]]) == 25


@pytest.mark.parametrize("answer", ["throttled", "internal", "starting"])
def test_trouble_passes(rig, web, answer):
    rig.kube.fault("respond", CREATE, with_=answer, count=1, retry_after=1)
    rig.link.event(web, "A", "x")
    counted(rig, "A", 1)


def test_a_missing_permission_stops_nothing_else(rig, web):
    rig.kube.deny(["create", "patch"], "events")
    rig.link.event(web, "A", "x")
    rig.watcher.wait_event("event-failed", "403")
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    rig.kube.clear()
    rig.link.event(web, "B", "x")
    counted(rig, "B", 1)


def test_events_hold_nothing_up_while_they_cannot_be_written(rig, web):
    rig.kube.fault("hang", CREATE)
    rig.kube.bulk(count=1200, namespaces=1)
    rig.link.wait_record("ingress", "app-01199", "bench-0")
    for number in range(1200):
        rig.link.event(rig.link.record("ingress", f"app-{number:05d}", "bench-0"), "R", "x")
    rig.watcher.wait_event("event-dropped")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    rig.link.status(web, "192.0.2.1")
    rig.wait_shown("192.0.2.1")


def test_long_names_and_messages(rig):
    name = "a" * 120 + "." + "b" * 120 + "-c"
    rig.ingress(name)
    rig.start()
    record = rig.link.record("ingress", name)
    rig.link.event(record, "A", "€" * 1300)
    event = wait_for(lambda: rig.events("A", name), "the Event")[0]
    assert len(event["metadata"]["name"]) <= 253 and len(event["message"].encode()) <= 1024


def test_events_on_objects_without_a_namespace(rig):
    rig.kube.api.create({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "lb"}, "spec": {"controller": "x.io/y"}})
    rig.start()
    rig.link.event(rig.link.record("ingress-class", "lb", ""), "A", "x")
    event = wait_for(lambda: rig.events("A", "lb"), "the Event")[0]
    assert event["metadata"]["namespace"] == "default" and event["involvedObject"]["kind"] == "IngressClass"


def test_a_namespace_that_goes_takes_no_events_and_no_log_lines(rig):
    rig.ingress(namespace="going")
    rig.start()
    record = rig.link.record("ingress", "web", "going")
    # Something in it must keep it from going at once.
    rig.kube.put_object("ingresses", {"metadata": {"name": "web", "namespace": "going", "finalizers": ["a.example/x"]}})
    rig.kubectl("delete", "namespace", "going", "--wait=false")
    for number in range(5):
        rig.link.event(record, "A", f"x{number}")
    rig.kube.wait_requests(5, resource="events", verb="create", status=403)
    admin = rig.folder / "run/watcher.admin"
    wait_for(lambda: 'sluice_watcher_events_total{outcome="namespace-gone"} 5' in look(admin, "/metrics").text, "them to be counted")
    assert not rig.watcher.events("event-failed")


def test_a_missing_permission_is_told_by_readiness(rig, web):
    rig.watcher.wait_event("ready")
    since = len(rig.watcher.lines)
    fault = rig.kube.deny("create", "events")
    rig.link.event(web, "A", "x")
    rig.watcher.wait_event("not-ready", "create events", since=since)
    rig.kube.clear(fault)
    rig.link.event(web, "A", "y")
    rig.watcher.wait_event("ready", since=since)


def test_nothing_is_written_when_nothing_is_asked_for(rig, web):
    rig.rehost("b.example")
    rig.wait_host("b.example")
    stays(lambda: rig.writes() == [], "no writes", 0.3)
