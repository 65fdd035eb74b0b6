# SPDX-License-Identifier: Apache-2.0
"""Secrets of basic authentication: watched by name, as long as an Ingress names them, and no others."""
from __future__ import annotations

import pytest

from lib.wait import wait_for

NAMING = {"sluice.io/basic-auth.secret": "staff"}


def users(name: str = "staff", text: str = "adam:$1$x", kind: str = "Opaque") -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, "type": kind, "stringData": {"auth": text}}


def entries(rig, name: str = "staff") -> dict[str, bytes]:
    return {entry["key"]: entry["value"] for entry in rig.link.record("secret", name)["entries"]}


def asked(rig, since: int = 0) -> set[str]:
    """The selectors of what was asked of Secrets."""
    return {part for entry in rig.kube.requests(since, resource="secrets", identity="controller")
            for part in entry["query"].split("&") if part.startswith("fieldSelector=")}


BY_TYPE = "fieldSelector=type%3Dkubernetes.io%2Ftls"
BY_NAME = "fieldSelector=metadata.name%3Dstaff%2Ctype%21%3Dkubernetes.io%2Ftls"


@pytest.mark.parametrize("annotation, value", [("sluice.io/basic-auth.secret", "staff"), ("nginx.ingress.kubernetes.io/auth-secret", "default/staff")])
def test_what_an_ingress_names_is_in_the_first_snapshot(rig, annotation, value):
    rig.kube.api.create(users())
    rig.kube.api.create(users("other"))
    rig.ingress(annotations={annotation: value})
    rig.start()
    assert rig.link.names("secret") == {"default/staff"}
    assert entries(rig) == {"auth": b"adam:$1$x"}
    assert asked(rig) == {BY_TYPE, BY_NAME}


def test_secrets_of_other_namespaces_are_not_asked_for(rig):
    rig.kube.api.create(users())
    rig.ingress(annotations={"nginx.ingress.kubernetes.io/auth-secret": "kube-system/staff"})
    rig.start()
    assert rig.link.names("secret") == set() and asked(rig) == {BY_TYPE}


def test_a_change_arrives_and_a_secret_that_comes_later_too(rig):
    rig.ingress(annotations=NAMING)
    rig.start()
    assert rig.link.names("secret") == set()
    rig.kube.api.create(users())
    rig.link.wait_record("secret", "staff", like=lambda record: record["entries"][0]["value"] == b"adam:$1$x")
    rig.kube.api.patch("secrets", "staff", {"stringData": {"auth": "eve:$1$y"}}, "default")
    rig.link.wait_record("secret", "staff", like=lambda record: record["entries"][0]["value"] == b"eve:$1$y")
    rig.kube.api.delete("secrets", "staff", "default")
    wait_for(lambda: rig.link.names("secret") == set(), "the Secret to be gone")


def test_it_is_forgotten_with_the_last_ingress_that_names_it(rig):
    rig.kube.api.create(users())
    rig.ingress(annotations=NAMING)
    rig.ingress("second", "b.example", annotations=NAMING)
    rig.start()
    mark = rig.kube.mark()
    rig.kube.api.patch("ingresses", "web", {"metadata": {"annotations": {"sluice.io/basic-auth.secret": None}}}, "default")
    rig.link.wait_record("ingress", "web", like=lambda record: not record.get("annotations"))
    assert rig.link.names("secret") == {"default/staff"}
    rig.kube.api.delete("ingresses", "second", "default")
    wait_for(lambda: rig.link.names("secret") == set(), "the Secret to be forgotten")
    assert asked(rig, mark) == set()


def test_a_list_of_the_others_leaves_it_alone(rig):
    rig.kube.api.create(users())
    rig.ingress(annotations=NAMING)
    rig.start()
    mark = rig.kube.mark()
    rig.kube.forget()
    rig.kube.end_streams("error")
    wait_for(lambda: {BY_TYPE, BY_NAME} <= {part for entry in rig.lists(mark) for part in entry["query"].split("&")}, "both to be listed again")
    rig.kube.api.create(users("pair", "x", "kubernetes.io/tls") | {"stringData": {"tls.crt": "c", "tls.key": "k"}})
    rig.link.wait_record("secret", "pair")
    assert rig.link.names("secret") == {"default/staff", "default/pair"}
    assert entries(rig) == {"auth": b"adam:$1$x"}


ONE = {"resource": "secrets", "query": "metadata.name%3Dstaff", "identity": "controller"}


def test_the_first_snapshot_waits_for_a_server_in_trouble(rig):
    rig.kube.api.create(users())
    rig.ingress(annotations=NAMING)
    rig.kube.fault("respond", ONE, with_="internal", count=3)
    rig.start()
    assert entries(rig) == {"auth": b"adam:$1$x"}


def test_a_refusal_keeps_nobody_waiting(rig):
    rig.kube.api.create(users())
    rig.ingress(annotations=NAMING)
    rig.kube.fault("respond", ONE, id="no", with_="forbidden")
    rig.start()
    assert rig.link.names("secret") == set() and rig.link.names("ingress") == {"default/web"}
    rig.kube.clear("no")
    rig.link.wait_record("secret", "staff")


def test_a_server_that_stays_in_trouble_keeps_nobody_waiting_for_ever(rig):
    """The snapshot comes without the Secret when it has failed for ten seconds."""
    rig.kube.api.create(users())
    rig.ingress(annotations=NAMING)
    rig.kube.fault("respond", ONE, id="no", with_="internal")
    rig.start()
    assert rig.link.names("secret") == set() and rig.link.names("ingress") == {"default/web"}
    rig.kube.clear("no")
    rig.link.wait_record("secret", "staff")
