# SPDX-License-Identifier: Apache-2.0
"""Objects that cannot be read are told apart from objects that are gone, also by a watcher that never could read them."""
from __future__ import annotations

from typing import Any

import pytest

from lib.wait import wait_for

from .conftest import Rig, ingress, service
from .test_sync import PAGED

UID = "11111111-2222-3333-4444-555555555555"


def slice_of(name: str) -> dict[str, Any]:
    """An EndpointSlice."""
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [], "ports": [],
            "metadata": {"name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": "web"}}}


def secret(name: str) -> dict[str, Any]:
    """A TLS Secret."""
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": name, "namespace": "default"},
            "data": {"tls.crt": "eA==", "tls.key": "eA=="}}


def ingress_class(name: str) -> dict[str, Any]:
    """An IngressClass."""
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name}, "spec": {"controller": "x.io/y"}}


# kind of the record, resource, kind of the object, a good one, what breaks it, what is said of that
KINDS = [
    ("ingress", "ingresses", "Ingress", ingress("odd"), {"spec": {"rules": "none"}}, "spec.rules: must be a list"),
    ("service", "services", "Service", service("odd"), {"spec": {"type": "Magic"}}, "spec.type: is no known type of Service"),
    ("secret", "secrets", "Secret", secret("odd"), {"data": {"tls.crt": "?"}}, "data.tls.crt: is no base64"),
    ("endpoints", "endpointslices", "EndpointSlice", slice_of("odd"), {"endpoints": 7}, "endpoints: must be a list"),
    ("ingress-class", "ingressclasses", "IngressClass", ingress_class("odd"), {"spec": {"controller": 7}}, "spec.controller: must be text"),
]


def put(rig: Rig, resource: str, obj: dict[str, Any], broken: dict[str, Any] | None = None) -> None:
    """Stores an object of the same uid, whatever is wrong with it."""
    rig.kube.put_object(resource, obj | {"metadata": {**obj["metadata"], "uid": UID}} | (broken or {}))


def pass_through(rig: Rig, name: str = "marker") -> None:
    """Waits until the watcher has told of an Ingress made just now."""
    rig.ingress(name)
    rig.link.wait_record("ingress", name, timeout=60)


@pytest.mark.parametrize("kind, resource, named, good, broken, why", KINDS, ids=[row[0] for row in KINDS])
def test_what_was_known_stands_in_every_life(rig, kind, resource, named, good, broken, why):
    namespace = good["metadata"].get("namespace", "")
    put(rig, resource, good)
    rig.start()
    record = rig.link.wait_record(kind, "odd", namespace)
    put(rig, resource, good, broken)
    line = rig.watcher.wait_event("object-refused", "name=odd", timeout=60)
    assert f"kind={kind}" in line and why in line
    event = wait_for(lambda: rig.events("Unusable", "odd"), "an Event", 60)[0]
    assert event["type"] == "Warning" and why in event["message"]
    assert event["involvedObject"]["kind"] == named and event["involvedObject"]["uid"] == UID
    assert rig.link.record(kind, "odd", namespace) == record
    # The translator is told that it must not take it for gone.
    rig.watcher.restart()
    rig.settle(2)
    assert rig.link.record(kind, "odd", namespace) == record
    assert rig.link.messages("keep")[0][1] == {name: record[name] for name in ("kind", "namespace", "name", "uid") if name in record}
    assert len(rig.events("Unusable", "odd")) == 1
    # Mended, it is told of; and when it goes it is gone.
    put(rig, resource, good)
    wait_for(lambda: (kind, namespace, "odd") not in rig.link.kept, "it to be told", 60)
    assert rig.link.messages("upsert")[-1][1]["name"] == "odd"
    put(rig, resource, good, broken)
    rig.kube.delete_objects(resource, namespace, "odd")
    rig.link.wait_gone(kind, "odd", namespace, timeout=60)


@pytest.mark.parametrize("who", ["watcher", "translator", "both"])
def test_one_that_goes_while_nobody_looks_is_gone(rig, who):
    put(rig, "ingresses", ingress("odd"))
    rig.start()
    put(rig, "ingresses", ingress("odd"), {"spec": {"rules": 7}})
    rig.watcher.wait_event("object-refused", timeout=60)
    if who != "translator":
        rig.watcher.kill()
    if who != "watcher":
        rig.link.stop()
    rig.kube.delete_objects("ingresses", "default", "odd")
    if who != "translator":
        rig.watcher.start()
    if who != "watcher":
        rig.link.listen()
    rig.settle(2)
    rig.link.wait_gone("ingress", "odd", timeout=60)


def test_a_translator_that_restarts_is_told_what_was_known(rig):
    put(rig, "ingresses", ingress("odd"))
    rig.start()
    record = rig.link.wait_record("ingress", "odd")
    put(rig, "ingresses", ingress("odd"), {"spec": {"rules": 7}})
    rig.watcher.wait_event("object-refused", timeout=60)
    rig.link.hang_up()
    rig.link.records.clear()
    rig.settle(2)
    assert rig.link.wait_record("ingress", "odd", timeout=60) == record and not rig.link.messages("keep")


@pytest.mark.parametrize("profile", [PAGED, "1.34"])
def test_a_full_list_takes_nothing_away(make_rig, profile):
    rig = make_rig(profile)
    put(rig, "ingresses", ingress("odd"))
    rig.start()
    record = rig.link.wait_record("ingress", "odd")
    put(rig, "ingresses", ingress("odd"), {"spec": {"rules": 7}})
    rig.watcher.wait_event("object-refused", timeout=60)
    rig.kube.forget()
    mark = rig.kube.mark()
    rig.kube.end_streams("error", {"resource": "ingresses"})
    wait_for(lambda: [entry for entry in rig.lists(mark) if entry["resource"] == "ingresses"], "another list", 60)
    pass_through(rig)
    assert rig.link.record("ingress", "odd") == record


@pytest.mark.parametrize("profile", [PAGED, "1.34"])
def test_an_object_that_outgrows_the_limit_stands_in_the_next_life(make_rig, profile):
    rig = make_rig(profile)
    rig.ingress("big")
    rig.start()
    record = rig.link.wait_record("ingress", "big")
    rig.watcher.kill()
    for number in range(5):  # the stand-in takes no more than 3 MiB at once
        rig.kube.patch_object("ingresses", "big", {"metadata": {"annotations": {f"a{number}": "x" * (2 * 1024 * 1024)}}})
    rig.watcher.start()
    rig.link.wait_whole(2, timeout=60)
    assert rig.link.record("ingress", "big") == record and rig.link.kept[("ingress", "default", "big")]["uid"] == record["uid"]
    event = wait_for(lambda: rig.events("Unusable", "big"), "an Event", 60)[0]
    assert "longer than an object may be" in event["message"]


def test_another_object_of_that_name_is_another(rig):
    put(rig, "ingresses", ingress("odd"))
    rig.start()
    rig.link.wait_record("ingress", "odd")
    rig.kube.delete_objects("ingresses", "default", "odd")
    other = ingress("odd", uid="99999999-2222-3333-4444-555555555555")
    rig.kube.put_object("ingresses", other | {"spec": {"rules": 7}})
    rig.link.wait_gone("ingress", "odd", timeout=60)
    wait_for(lambda: rig.link.kept.get(("ingress", "default", "odd"), {}).get("uid") == other["metadata"]["uid"], "the other to be kept", 60)


def test_its_status_is_still_written(rig):
    put(rig, "ingresses", ingress("odd"))
    rig.start()
    record = rig.link.wait_record("ingress", "odd")
    long = ingress("odd")
    long["spec"]["rules"][0]["http"]["paths"][0]["path"] = "/" + "x" * 20_000
    put(rig, "ingresses", long)
    rig.watcher.wait_event("object-refused", "path", timeout=60)
    rig.link.status(record, "192.0.2.1")
    rig.kube.wait_requests(1, resource="ingresses", subresource="status", name="odd", status=200)
    assert rig.link.record("ingress", "odd") == record
