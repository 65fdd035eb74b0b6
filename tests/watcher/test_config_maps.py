# SPDX-License-Identifier: Apache-2.0
"""ConfigMaps: that of the global options of ingress-nginx, and those that it or an Ingress names, each watched by its name."""
from __future__ import annotations

import pytest

from lib.wait import wait_for

PLACE = "ingress-nginx/controller"
OPTION = ("--ingress-nginx-configmap", PLACE)
ONE = {"resource": "configmaps", "query": "metadata.name%3Dcontroller", "identity": "controller"}
HEADERS = {"nginx.ingress.kubernetes.io/custom-headers": "default/headers"}
READ = [{"verbs": ["list", "watch"], "apiGroups": ["*"], "resources": ["ingresses", "ingressclasses", "services", "secrets", "endpointslices"]},
        {"verbs": ["create", "patch"], "apiGroups": ["*"], "resources": ["events", "ingresses/status"]}]


def config_map(data: dict[str, str], name: str = "controller", namespace: str = "ingress-nginx") -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def create(rig, data: dict[str, str], name: str = "controller", namespace: str = "ingress-nginx") -> None:
    rig.kube.api.ensure_namespace(namespace)
    rig.kube.api.create(config_map(data, name, namespace))


def entries(rig, name: str = "controller", namespace: str = "ingress-nginx") -> dict[str, str]:
    return {entry["key"]: entry.get("value", "") for entry in rig.link.record("config-map", name, namespace).get("entries", [])}


def start(rig, *arguments: str) -> None:
    rig.prepare(*OPTION, *arguments).start()
    rig.link.wait_whole()


def asked(rig, since: int = 0) -> set[str]:
    """The selectors of what was asked of ConfigMaps; empty for a request without one."""
    return {next((part for part in entry["query"].split("&") if part.startswith("fieldSelector=")), "")
            for entry in rig.kube.requests(since, resource="configmaps", identity="controller")}


def by_name(*names: str) -> set[str]:
    return {f"fieldSelector=metadata.name%3D{name}" for name in names}


def test_without_the_option_only_what_ingresses_name_is_asked_for(rig):
    create(rig, {"proxy-body-size": "8m"})
    create(rig, {"X-A": "1"}, "headers", "default")
    rig.start()
    rig.link.wait_whole()
    assert asked(rig) == set()
    rig.ingress(annotations=HEADERS)
    wait_for(lambda: rig.link.names("config-map") == {"default/headers"}, "the ConfigMap")
    assert entries(rig, "headers", "default") == {"X-A": "1"} and asked(rig) == by_name("headers")


def test_one_that_an_ingress_names_and_that_may_not_be_read_is_missing(rig):
    create(rig, {"X-A": "1"}, "headers", "default")
    rig.ingress(annotations=HEADERS)
    rig.kube.rules(READ)
    rig.start()
    rig.link.wait_whole()
    assert rig.link.names("config-map") == set()
    rig.kube.rules([*READ, {"verbs": ["list", "watch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["headers"], "namespaces": ["default"]}])
    wait_for(lambda: rig.link.names("config-map") == {"default/headers"}, "the ConfigMap")


def test_the_options_are_in_the_first_snapshot_and_nothing_else_is_asked_for(rig):
    create(rig, {"proxy-body-size": "8m", "empty": ""})
    create(rig, {"secret": "x"}, "other")
    start(rig)
    assert rig.link.names("config-map") == {PLACE}
    assert entries(rig) == {"proxy-body-size": "8m", "empty": ""}
    assert rig.link.connection.settings["ingress_nginx_options"] == PLACE
    assert asked(rig) == by_name("controller")


def test_a_change_arrives(rig):
    start(rig)
    assert rig.link.names("config-map") == set()
    create(rig, {"hsts": "false"})
    wait_for(lambda: rig.link.names("config-map") == {PLACE}, "the ConfigMap")
    rig.kube.api.patch("configmaps", "controller", {"data": {"hsts": "true"}}, "ingress-nginx")
    wait_for(lambda: entries(rig) == {"hsts": "true"}, "the new value")
    rig.kube.api.delete("configmaps", "controller", "ingress-nginx")
    wait_for(lambda: rig.link.names("config-map") == set(), "the ConfigMap to be gone")


def test_what_the_options_name_comes_with_them(rig):
    create(rig, {"add-headers": "ingress-nginx/answers", "proxy-set-headers": "other/requests", "hide-headers": "ingress-nginx/no"})
    create(rig, {"X-A": "1"}, "answers")
    create(rig, {"X-B": "2"}, "requests", "other")
    start(rig)
    assert rig.link.names("config-map") == {PLACE, "ingress-nginx/answers", "other/requests"}
    assert asked(rig) == by_name("controller", "answers", "requests")
    rig.kube.api.patch("configmaps", "controller", {"data": {"add-headers": None}}, "ingress-nginx")
    wait_for(lambda: rig.link.names("config-map") == {PLACE, "other/requests"}, "one to be forgotten")


def test_ingresses_name_those_of_their_own_namespace(rig):
    create(rig, {})
    for namespace in ("default", "other"):
        create(rig, {"X-A": namespace}, "headers", namespace)
    rig.ingress(annotations=HEADERS)
    rig.ingress("second", "b.example", annotations={"nginx.ingress.kubernetes.io/custom-headers": "other/headers"})
    start(rig)
    assert rig.link.names("config-map") == {PLACE, "default/headers"}
    assert entries(rig, "headers", "default") == {"X-A": "default"}


@pytest.mark.parametrize("refusal", ["forbidden", "internal"])
def test_nothing_is_whole_without_the_options(rig, refusal):
    """Something might be served that they forbid."""
    create(rig, {"whitelist-source-range": "10.0.0.0/8"})
    fault = rig.kube.fault("respond", ONE, with_=refusal)
    rig.prepare(*OPTION).start()
    rig.watcher.wait_event("not-ready", "configmaps in namespace ingress-nginx")
    assert not rig.link.names("ingress-class") and not (rig.link.connection and rig.link.connection.is_whole)
    rig.kube.clear(fault)
    rig.link.wait_whole()
    assert entries(rig) == {"whitelist-source-range": "10.0.0.0/8"}


def test_a_right_to_that_name_is_enough(rig):
    create(rig, {"proxy-body-size": "8m"})
    rig.kube.rules([*READ, {"verbs": ["list", "watch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["controller"],
                            "namespaces": ["ingress-nginx"]}])
    start(rig)
    rig.watcher.wait_event("ready")
    assert entries(rig) == {"proxy-body-size": "8m"}


def test_a_missing_right_is_named(rig):
    create(rig, {})
    rig.kube.rules([*READ, {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["controller"]}])
    rig.prepare(*OPTION, "--streaming-lists=false").start()
    rig.watcher.wait_event("right-missing", "watch configmaps controller in namespace ingress-nginx")


def test_a_value_that_is_too_long_hurts_only_itself(rig):
    create(rig, {"http-snippet": "x" * (16 * 1024 + 1), "hsts": "false", "longest": "y" * 16 * 1024})
    start(rig)
    found = {entry["key"]: entry for entry in rig.link.record("config-map", "controller", "ingress-nginx")["entries"]}
    assert found["http-snippet"] == {"key": "http-snippet", "too_long": True}
    assert found["hsts"]["value"] == "false" and len(found["longest"]["value"]) == 16 * 1024


def test_a_map_with_too_many_keys_keeps_its_last_form(rig):
    create(rig, {"hsts": "false"})
    start(rig)
    rig.kube.api.patch("configmaps", "controller", {"data": {f"k{i}": "" for i in range(1000)}}, "ingress-nginx")
    rig.watcher.wait_event("object-refused", "data: has more than 1000 keys")
    assert entries(rig) == {"hsts": "false"}


def test_nothing_is_whole_while_no_form_of_the_options_can_be_read(rig):
    create(rig, {f"k{i}": "" for i in range(1001)})
    rig.prepare(*OPTION).start()
    rig.watcher.wait_event("not-ready", "cannot be used")
    assert not (rig.link.connection and rig.link.connection.is_whole)
    rig.kube.put_object("configmaps", config_map({"hsts": "false"}))
    rig.link.wait_whole()
    assert entries(rig) == {"hsts": "false"}


def test_a_name_that_is_none_is_refused_at_the_start(rig):
    assert rig.prepare("--ingress-nginx-configmap", "controller").start().reap() == 2
    rig.watcher = None
