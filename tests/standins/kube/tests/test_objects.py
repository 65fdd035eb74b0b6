# SPDX-License-Identifier: Apache-2.0
"""Writes, as far as the stories rest on them: what is no change, who wrote what, versions, types of Services, finalizers, namespaces."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest

from standins.kube.client import KubeStandin
from standins.kube.public import JSON, STRATEGIC, ApiFailure

from .conftest import ingress, service

CLEANUP = "service.kubernetes.io/load-balancer-cleanup"
ADDRESS = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
PATH = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"


def refusal(status: int, action: Callable[..., Any], *arguments: Any, **more: Any) -> str:
    """The message of a refusal."""
    with pytest.raises(ApiFailure) as caught:
        action(*arguments, **more)
    assert caught.value.status == status, caught.value
    return caught.value.response.json()["message"]


def test_writes_that_change_nothing(kube: KubeStandin) -> None:
    made = kube.api.create(ingress("a"))
    mark = kube.mark()
    assert kube.api.replace(made)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    for content_type, patch in (("application/merge-patch+json", {}), (STRATEGIC, {"spec": {}}), (JSON, [])):
        again = kube.api.patch("ingresses", "a", patch, content_type=content_type)
        assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert {entry["effect"] for entry in kube.requests(mark, identity="admin")} == {"noop"}


def test_unknown_fields_are_refused_if_asked_and_else_dropped(kube: KubeStandin) -> None:
    odd = ingress("a")
    odd["spec"]["foo"] = odd["metadata"]["bar"] = 1
    strict = kube.api.request("POST", PATH + "?fieldValidation=Strict", odd)
    assert strict.status == 400
    assert 'strict decoding error: unknown field "metadata.bar", unknown field "spec.foo"' in strict.json()["message"]
    made = kube.api.request("POST", PATH, odd)
    assert made.status == 201 and "foo" not in made.json()["spec"] and "bar" not in made.json()["metadata"]


def test_kubectl_has_unknown_fields_refused(kube: KubeStandin) -> None:
    manifest = json.dumps(ingress("a") | {"spec": {"rules": [{"hosts": "a.example"}]}})
    done = kube.api.kubectl("apply", "-f", "-", stdin=manifest, check=False)
    assert done.returncode != 0 and 'unknown field "spec.rules[0].hosts"' in done.stderr
    kube.api.kubectl("apply", "-f", "-", stdin=manifest.replace("hosts", "host"))
    kube.api.kubectl("apply", "-f", "-", stdin=manifest.replace("hosts", "host").replace("a.example", "b.example"))
    assert "b.example" in kube.api.kubectl("get", "ingress").stdout


@pytest.mark.parametrize(
    "change, status",
    [
        ({"spec": {"rules": "x"}}, 400),
        ({"kind": "Service"}, 400),
        ({"metadata": {"name": "Bad_Name"}}, 422),
        ({"metadata": {"name": "a", "namespace": "other"}}, 400),
        ({"metadata": {"name": "a", "resourceVersion": "5"}}, 500),
        ({"metadata": {"name": "a", "annotations": {"x": "y" * 300_000}}}, 422),
    ],
)
def test_malformed_objects(kube: KubeStandin, change: dict[str, Any], status: int) -> None:
    assert kube.api.request("POST", PATH, ingress("a") | change).status == status


def test_generation_moves_with_the_spec_only(kube: KubeStandin) -> None:
    def generation(patch: dict[str, Any], subresource: str = "") -> int:
        return kube.api.patch("ingresses", "a", patch, subresource=subresource)["metadata"]["generation"]

    kube.api.create(ingress("a") | ADDRESS)
    assert kube.api.get("ingresses", "a")["status"] == {"loadBalancer": {}}
    assert generation({"metadata": {"labels": {"x": "y"}}}) == 1
    assert generation(ADDRESS | {"spec": {"rules": []}}, "status") == 1
    assert kube.api.get("ingresses", "a")["spec"]["rules"]
    assert generation({"spec": {"ingressClassName": "other"}}) == 2


def test_optimistic_locks(kube: KubeStandin) -> None:
    old = kube.api.create(ingress("a"))
    kube.api.patch("ingresses", "a", {"metadata": {"annotations": {"x": "1"}}})
    refusal(409, kube.api.replace, old)
    del old["metadata"]["resourceVersion"]
    assert "annotations" not in kube.api.replace(old)["metadata"]


def test_managed_fields_tell_who_wrote_what(kube: KubeStandin) -> None:
    kube.api.create(ingress("a"))
    for manager in ("one", "two"):
        path = f"{PATH}/a/status?fieldManager={manager}"
        ip = {"ip": f"192.0.2.{len(manager + path) % 7 + (manager == 'two')}"}
        body = {"status": {"loadBalancer": {"ingress": [ip]}}}
        shown = kube.api.request("PATCH", path, body, "application/merge-patch+json").json()
        entries = [entry for entry in shown["metadata"]["managedFields"] if entry.get("subresource") == "status"]
        assert [(e["manager"], e["fieldsV1"]) for e in entries] == [(manager, {"f:status": {"f:loadBalancer": {"f:ingress": {}}}})]


def test_older_slices_and_paths(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.20")
    topology = {"kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "z"}
    endpoint = {"addresses": ["10.1.1.1"], "topology": topology}
    old: dict[str, Any] = {"apiVersion": "discovery.k8s.io/v1beta1", "kind": "EndpointSlice", "metadata": {"name": "s"}}
    made = kube.api.create(old | {"addressType": "IPv4", "endpoints": [endpoint]})
    assert made["endpoints"][0]["topology"] == topology
    assert kube.objects("endpointslices")[0]["endpoints"][0] == {
        "addresses": ["10.1.1.1"], "conditions": {}, "nodeName": "n1", "zone": "z"
    }
    paths = [{"backend": {"serviceName": "w", "servicePort": 80}}]
    spec = {"backend": {"serviceName": "d", "servicePort": "http-alt"}, "rules": [{"http": {"paths": paths}}]}
    kube.api.create({"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": {"name": "a"}, "spec": spec})
    stored = kube.objects("ingresses")[0]["spec"]
    assert stored["defaultBackend"] == {"service": {"name": "d", "port": {"name": "http-alt"}}}
    assert stored["rules"][0]["http"]["paths"] == [
        {"pathType": "ImplementationSpecific", "backend": {"service": {"name": "w", "port": {"number": 80}}}}
    ]


def test_before_path_types_and_managed_fields(start: Callable[..., KubeStandin]) -> None:
    backend = {"serviceName": "w", "servicePort": 80}
    paths = [{"path": "/x", "pathType": "Exact", "backend": backend}]
    spec = {"ingressClassName": "x", "rules": [{"http": {"paths": paths}}]}
    old = {"apiVersion": "networking.k8s.io/v1beta1", "kind": "Ingress", "metadata": {"name": "a"}, "spec": spec}
    made = start("1.16").api.create(old)
    assert made["spec"] == {"rules": [{"http": {"paths": [{"path": "/x", "backend": backend}]}}]}
    assert "managedFields" not in made["metadata"]


def test_another_type_takes_class_and_addresses_away(kube: KubeStandin) -> None:
    kube.api.create(service("a", type="LoadBalancer", loadBalancerClass="x.io/lb"))
    shown = kube.api.patch("services", "a", ADDRESS, subresource="status")
    assert shown["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1", "ipMode": "VIP"}]
    kube.api.patch("services", "a", {"metadata": {"labels": {"x": "y"}}})
    assert kube.api.get("services", "a")["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.1"
    changed = kube.api.patch("services", "a", {"spec": {"type": "ClusterIP"}})
    assert changed["status"]["loadBalancer"] == {}
    assert not {"loadBalancerClass", "allocateLoadBalancerNodePorts", "externalTrafficPolicy"} & set(changed["spec"])
    message = refusal(422, kube.api.patch, "services", "a", ADDRESS, subresource="status")
    assert "status.loadBalancer.ingress: Forbidden" in message
    back = kube.api.patch("services", "a", {"spec": {"type": "LoadBalancer", "loadBalancerClass": "y.io/lb"}})
    assert back["spec"]["loadBalancerClass"] == "y.io/lb"


def test_old_releases_know_no_class(start: Callable[..., KubeStandin]) -> None:
    made = start("1.21").api.create(service("a", type="LoadBalancer", loadBalancerClass="x.io/lb"))
    assert "loadBalancerClass" not in made["spec"]


def test_a_finalizer_holds_a_service(kube: KubeStandin) -> None:
    made = kube.api.create(service("a", type="LoadBalancer"))
    patch = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"], "finalizers": [CLEANUP]}}
    entries = kube.api.patch("services", "a", patch)["metadata"]["managedFields"]
    assert [e for e in entries if f'v:"{CLEANUP}"' in e["fieldsV1"].get("f:metadata", {}).get("f:finalizers", {})]
    refusal(409, kube.api.patch, "services", "a", patch)
    kube.api.delete("services", "a")
    going = kube.api.get("services", "a")
    assert going["metadata"]["deletionTimestamp"] and going["metadata"]["deletionGracePeriodSeconds"] == 0
    more = {"metadata": {"finalizers": [CLEANUP, "x.io/y"]}}
    assert "no new finalizers" in refusal(422, kube.api.patch, "services", "a", more)
    kube.api.delete("services", "a")
    assert kube.api.get("services", "a")["metadata"]["resourceVersion"] == going["metadata"]["resourceVersion"]
    kube.api.patch("services", "a", {"metadata": {"finalizers": None}}, subresource="status")
    assert kube.api.find("services", "a") is None


def test_deletion_of_another_than_was_meant(kube: KubeStandin) -> None:
    made = kube.api.create(ingress("a"))
    assert kube.api.request("DELETE", PATH + "/a", {"preconditions": {"uid": "other"}}).status == 409
    assert kube.api.request("DELETE", PATH + "/a", {"preconditions": {"uid": made["metadata"]["uid"]}}).status == 200
    assert kube.api.find("ingresses", "a") is None


def test_namespaces(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.34", "--setting", "strict_namespaces=true")
    assert 'namespaces "shop" not found' in refusal(404, kube.api.create, ingress("a", "shop"))
    kube.api.ensure_namespace("shop")
    kube.api.create(ingress("a", "shop"))
    kube.api.create(ingress("b", "shop", metadata={"finalizers": ["x.io/hold"]}))
    kube.api.delete("namespaces", "shop")
    assert kube.api.get("namespaces", "shop")["status"]["phase"] == "Terminating"
    assert "because it is being terminated" in refusal(403, kube.api.create, ingress("c", "shop"))
    kube.api.wait("ingresses", "a", lambda obj: obj is None, "shop")
    assert kube.api.find("namespaces", "shop") is not None
    kube.api.patch("ingresses", "b", {"metadata": {"finalizers": None}}, "shop")
    kube.api.wait("namespaces", "shop", lambda obj: obj is None)


def test_patches(kube: KubeStandin) -> None:
    def names(patch: Any, kind: str = STRATEGIC) -> list[str]:
        return [port["name"] for port in kube.api.patch("services", "web", patch, content_type=kind)["spec"]["ports"]]

    kube.api.create(service("web", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}]))
    assert names({"spec": {"ports": [{"port": 81, "targetPort": "x"}, {"name": "c", "port": 82}]}}) == ["a", "b", "c"]
    ordered = {"$setElementOrder/ports": [{"port": 82}, {"port": 81}], "ports": [{"$patch": "delete", "port": 80}]}
    assert names({"spec": ordered}) == ["c", "b"]
    assert names({"spec": {"ports": [{"name": "d", "port": 83}]}}, "application/merge-patch+json") == ["d"]
    assert names([{"op": "add", "path": "/metadata/labels", "value": {"a-b": "1"}}], JSON) == ["d"]
    for patch, status in (
        ([{"op": "test", "path": "/spec/ports/0/name", "value": "x"}], 422),
        ([{"op": "remove", "path": "/nope"}], 422),
        ({"op": "x"}, 400),
    ):
        refusal(status, kube.api.patch, "services", "web", patch, content_type=JSON)


def test_raw_objects_are_stored_as_they_come(kube: KubeStandin) -> None:
    kube.put_object("ingresses", ingress("a") | {"spec": {"rules": "none", "odd": [1]}}, raw=True)
    assert kube.api.get("ingresses", "a")["spec"] == {"rules": "none", "odd": [1]}


def test_events_expire(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.34", "--setting", "event_ttl_s=0.1")
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"kind": "Ingress", "namespace": "default"}}
    kube.api.create(event)
    kube.api.wait("events", "e", lambda obj: obj is None)
