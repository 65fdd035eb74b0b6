# SPDX-License-Identifier: Apache-2.0
"""The pods that take traffic, and their nodes: what the addresses of Ingresses are made of."""
from __future__ import annotations

import pytest

from lib.wait import wait_for

NAMESPACE = "edge"
OPTION = ("--publish-pods", f"{NAMESPACE}/app.kubernetes.io/name=sluice,tier=edge")
LABELS = {"app.kubernetes.io/name": "sluice", "tier": "edge"}
READ = [{"verbs": ["list", "watch"], "apiGroups": ["*"], "resources": ["ingresses", "ingressclasses", "services", "secrets", "endpointslices"]},
        {"verbs": ["create", "patch"], "apiGroups": ["*"], "resources": ["events", "ingresses/status"]}]
PODS = {"verbs": ["list", "watch"], "apiGroups": [""], "resources": ["pods"], "namespaces": [NAMESPACE]}
NODES = {"verbs": ["list", "watch"], "apiGroups": [""], "resources": ["nodes"]}


def conditions(ready: bool) -> list[dict]:
    return [{"type": "Ready", "status": str(ready)}]


def pod(name: str, node: str, labels: dict[str, str] | None = None, namespace: str = NAMESPACE) -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": LABELS if labels is None else labels},
            "spec": {"nodeName": node}, "status": {"hostIP": "10.0.0.1", "conditions": conditions(True)}}


def node(name: str, internal: str) -> dict:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"addresses": [{"type": "InternalIP", "address": internal}]}}


def put(rig, *objects: dict) -> None:
    for found in objects:
        if "namespace" in found["metadata"]:
            rig.kube.api.ensure_namespace(found["metadata"]["namespace"])
        rig.kube.put_object(found["kind"].lower() + "s", found)


def test_nothing_is_asked_without_the_option(rig):
    put(rig, pod("one", "n1"), node("n1", "10.0.0.1"))
    rig.start()
    assert not {"pod", "node"} & set(rig.link.connection.settings["kinds"])
    assert not rig.kube.requests(0, resource="pods", identity="controller") and not rig.kube.requests(0, resource="nodes", identity="controller")


def test_only_pods_of_the_selector_are_asked_for(rig):
    put(rig, pod("one", "n1"), pod("other", "n1", {"tier": "edge"}), pod("foreign", "n1", namespace="default"), node("n1", "10.0.0.1"))
    rig.start(*OPTION)
    assert rig.link.names("pod") == {f"{NAMESPACE}/one"} and rig.link.names("node") == {"n1"}
    record = rig.link.record("pod", "one", NAMESPACE)
    assert (record["node"], record["ready"], record["host_ip"]) == ("n1", True, "10.0.0.1")
    asked = rig.kube.requests(0, resource="pods", identity="controller")
    assert asked and all(f"/namespaces/{NAMESPACE}/" in entry["path"] and "labelSelector=" in entry["query"] for entry in asked)


def test_what_changes_arrives(rig):
    put(rig, pod("one", "n1"), node("n1", "10.0.0.1"))
    rig.start(*OPTION)
    put(rig, {**pod("one", "n1"), "status": {"conditions": conditions(False)}})
    rig.link.wait_record("pod", "one", NAMESPACE, like=lambda record: not record.get("ready"))
    put(rig, node("n1", "10.0.0.2"))
    rig.link.wait_record("node", "n1", "", like=lambda record: record["internal_ip"] == "10.0.0.2")
    rig.kube.api.delete("nodes", "n1")
    wait_for(lambda: rig.link.names("node") == set(), "the node to be gone")
    rig.kube.api.delete("pods", "one", NAMESPACE)
    wait_for(lambda: rig.link.names("pod") == set(), "the pod to be gone")


def test_what_says_nothing_new_is_not_sent(rig):
    """A node tells its state every few minutes, and its images."""
    put(rig, pod("one", "n1"), node("n1", "10.0.0.1"))
    rig.start(*OPTION)
    told = len(rig.link.connection.messages)
    put(rig, {**node("n1", "10.0.0.1"), "spec": {"unschedulable": True}})
    put(rig, node("n2", "10.0.0.2"))
    rig.link.wait_record("node", "n2", "")
    assert [body["name"] for kind, body in rig.link.connection.messages[told:] if kind == "upsert"] == ["n2"]


def test_with_internal_addresses_nodes_are_not_read(rig):
    put(rig, pod("one", "n1"), node("n1", "10.0.0.1"))
    rig.kube.rules([*READ, PODS])
    rig.start(*OPTION, "--report-node-internal-ip-address")
    rig.watcher.wait_event("ready")
    assert "node" not in rig.link.connection.settings["kinds"] and rig.link.names("pod") == {f"{NAMESPACE}/one"}


def test_rights_to_these_are_enough(rig):
    put(rig, pod("one", "n1"), node("n1", "10.0.0.1"))
    rig.kube.rules([*READ, PODS, NODES])
    rig.start(*OPTION)
    rig.watcher.wait_event("ready")


@pytest.mark.parametrize("missing, right", [(PODS, f"watch pods in namespace {NAMESPACE}"), (NODES, "watch nodes")])
def test_a_missing_right_is_named(rig, missing, right):
    rig.kube.rules([*READ, *(rule for rule in (PODS, NODES) if rule is not missing)])
    rig.prepare(*OPTION).start()
    rig.watcher.wait_event("right-missing", right)


@pytest.mark.parametrize("value", ["edge", "edge/", "edge/name", "Edge/a=b", "/a=b", "edge/a=b&limit=1", "edge/a in (b)", "edge/a=" + "b" * 1024])
def test_what_is_no_selector_is_refused_at_the_start(rig, value):
    assert rig.prepare("--publish-pods", value).start().reap() == 2
    rig.watcher = None
