# SPDX-License-Identifier: Apache-2.0
"""Writes: defaults, validation, conversion, generations, finalizers, namespaces, ownership of fields."""

from __future__ import annotations

import base64
import copy
from typing import Any, Callable

import pytest

from standins.kube.client import KubeStandin
from standins.kube.public import APPLY, JSON, STRATEGIC, ApiFailure

from .conftest import ingress, service


def refused(kube: KubeStandin, obj: dict[str, Any], status: int = 422) -> str:
    """Creates in vain; returns the message."""
    with pytest.raises(ApiFailure) as caught:
        kube.api.create(obj)
    assert caught.value.status == status, caught.value
    return caught.value.response.json()["message"]


def with_path(path: Any, kind: Any = "Prefix", backend: Any = None) -> dict[str, Any]:
    """An Ingress with one path."""
    obj = ingress("a")
    entry: dict[str, Any] = {"path": path, "backend": backend or {"service": {"name": "a", "port": {"number": 80}}}}
    if kind is not None:
        entry["pathType"] = kind
    obj["spec"]["rules"][0]["http"]["paths"] = [entry]
    return obj


@pytest.mark.parametrize("path, kind, fine", [
    ("/", "Prefix", True), ("/foo bar\n{};#?\u00e4%00..x", "Prefix", True), ("x", "Prefix", False), ("", "Exact", False), ("/a//b", "Exact", False),
    ("/a/./b", "Prefix", False), ("/a/../b", "Prefix", False), ("/a%2fb", "Exact", False), ("/a%2Fb", "Exact", False), ("/a/..", "Prefix", False),
    ("/a/.", "Prefix", False), ("", "ImplementationSpecific", True), ("x", "ImplementationSpecific", False),
    ("/a//b/../c%2f", "ImplementationSpecific", True), ("/", None, False), ("/", "Regex", False)])
def test_paths(kube: KubeStandin, path: str, kind: str | None, fine: bool) -> None:
    if fine:
        made = kube.api.create(with_path(path, kind))
        assert made["spec"]["rules"][0]["http"]["paths"][0].get("path", "") == path
    else:
        assert "spec.rules[0].http.paths[0].path" in refused(kube, with_path(path, kind))


SERVICE_BACKEND = {"name": "a", "port": {"number": 80}}


@pytest.mark.parametrize("backend", [
    {}, {"service": SERVICE_BACKEND, "resource": {"apiGroup": "x", "kind": "y", "name": "z"}}, {"service": {"name": "a", "port": {}}},
    {"service": {"name": "a", "port": {"number": 80, "name": "http"}}}, {"service": {"name": "A", "port": {"number": 80}}},
    {"service": {"name": "", "port": {"number": 80}}}, {"service": {"name": "a", "port": {"number": 70000}}},
    {"service": {"name": "a", "port": {"name": "80"}}}, {"service": {"name": "a", "port": {"name": "far-too-long-a-name"}}}])
def test_bad_backends(kube: KubeStandin, backend: dict[str, Any]) -> None:
    assert "backend" in refused(kube, with_path("/", backend=backend or {"service": None}))


@pytest.mark.parametrize("host, fine", [("foo.bar.com", True), ("*.bar.com", True), ("10.0.0.1", False), ("a.*.com", False), ("*", False),
                                        ("Upper.com", False), ("a..b", False)])
def test_hosts(kube: KubeStandin, host: str, fine: bool) -> None:
    if fine:
        assert kube.api.create(ingress("a", host=host))
    else:
        assert "spec.rules[0].host" in refused(kube, ingress("a", host=host))


def test_empty_specs(kube: KubeStandin) -> None:
    obj = ingress("a")
    assert "either `defaultBackend` or `rules`" in refused(kube, obj | {"spec": {}})
    obj["spec"]["rules"][0]["http"]["paths"] = []
    assert "paths: Required value" in refused(kube, obj)
    assert kube.api.create(obj | {"spec": {"rules": [{"host": "x.com"}]}})
    assert kube.api.create(ingress("b") | {"spec": {"defaultBackend": {"service": SERVICE_BACKEND}}})


@pytest.mark.parametrize("profile, equal", [("1.20", False), ("1.34", True)])
def test_class_annotation_and_field(start: Callable[..., KubeStandin], profile: str, equal: bool) -> None:
    kube = start(profile)
    both = ingress("a", metadata={"annotations": {"kubernetes.io/ingress.class": "x"}})
    both["spec"]["ingressClassName"] = "x"
    if equal:
        assert kube.api.create(both)
    else:
        refused(kube, both)
    different = copy.deepcopy(both)
    different["metadata"]["name"], different["spec"]["ingressClassName"] = "b", "y"
    refused(kube, different)
    del different["metadata"]["annotations"]
    kube.api.create(different)
    patched = kube.api.patch("ingresses", "b", {"metadata": {"annotations": {"kubernetes.io/ingress.class": "z"}}})
    assert patched["spec"]["ingressClassName"] == "y"


def ingress_class(name: str, default: bool = False) -> dict[str, Any]:
    """An IngressClass."""
    mark = {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}} if default else {}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name, **mark},
            "spec": {"controller": "sluice.io/ingress-controller"}}


def test_default_class(kube: KubeStandin) -> None:
    kube.api.create(ingress_class("plain"))
    assert "ingressClassName" not in kube.api.create(ingress("a"))["spec"]
    kube.api.create(ingress_class("main", default=True))
    assert kube.api.create(ingress("b"))["spec"]["ingressClassName"] == "main"
    assert "ingressClassName" not in kube.api.create(ingress("c", metadata={"annotations": {"kubernetes.io/ingress.class": ""}}))["spec"]
    assert "ingressClassName" not in kube.api.get("ingresses", "a")["spec"]
    kube.api.create(ingress_class("second", default=True))
    assert "2 default IngressClasses were found" in refused(kube, ingress("d"), 403)
    with pytest.raises(ApiFailure):
        kube.api.patch("ingressclasses", "main", {"spec": {"controller": "example.org/other"}})


def test_generation_moves_with_the_spec_only(kube: KubeStandin) -> None:
    assert kube.api.create(ingress("a", status={"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}))["status"] == {"loadBalancer": {}}
    patches: list[tuple[dict[str, Any], str, int]] = [
        ({"metadata": {"annotations": {"x": "1"}}}, "", 1), ({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}, "status", 1),
        ({"spec": {"ingressClassName": "x"}}, "", 2), ({"spec": {"ingressClassName": "y"}}, "status", 2), ({"spec": {"ingressClassName": None}}, "", 3)]
    seen = [kube.api.patch("ingresses", "a", patch, subresource=sub)["metadata"]["generation"] for patch, sub, _ in patches]
    assert seen == [generation for _, _, generation in patches]
    left = kube.api.get("ingresses", "a")
    assert left["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1"}] and "ingressClassName" not in left["spec"]


def test_status_and_main_are_apart_but_for_metadata(kube: KubeStandin) -> None:
    made = kube.api.create(ingress("a"))
    made["status"] = {"loadBalancer": {"ingress": [{"hostname": "lb.example.org"}]}}
    assert kube.api.replace(made)["status"] == {"loadBalancer": {}}
    made["spec"]["ingressClassName"], made["metadata"]["labels"] = "x", {"via": "status"}
    made["metadata"]["resourceVersion"] = ""
    stored = kube.api.replace(made, "status")
    assert stored["metadata"]["labels"] == {"via": "status"} and "ingressClassName" not in stored["spec"]
    assert stored["status"]["loadBalancer"]["ingress"] == [{"hostname": "lb.example.org"}]


@pytest.mark.parametrize("entry", [{"ip": "lb.example.org"}, {"hostname": "192.0.2.1"}, {"hostname": "UPPER"}, {"ip": "2001:DB8::1"}])
def test_bad_addresses(kube: KubeStandin, entry: dict[str, str]) -> None:
    kube.api.create(ingress("a"))
    with pytest.raises(ApiFailure) as caught:
        kube.api.patch("ingresses", "a", {"status": {"loadBalancer": {"ingress": [entry]}}}, subresource="status")
    assert caught.value.status == 422


def test_writes_that_change_nothing(kube: KubeStandin) -> None:
    made = kube.api.create(ingress("a"))
    mark = kube.mark()
    assert kube.api.replace(made)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    for content_type, patch in (("application/merge-patch+json", {}), (STRATEGIC, {"spec": {}}), (JSON, [])):
        again = kube.api.patch("ingresses", "a", patch, content_type=content_type)
        assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert {entry["effect"] for entry in kube.requests(mark, identity="admin")} == {"noop"}


def test_unknown_fields(kube: KubeStandin, start: Callable[..., KubeStandin]) -> None:
    odd = ingress("a")
    odd["spec"]["foo"] = odd["metadata"]["bar"] = 1
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    strict = kube.api.request("POST", path + "?fieldValidation=Strict", odd)
    assert strict.status == 400 and 'strict decoding error: unknown field "metadata.bar", unknown field "spec.foo"' in strict.json()["message"]
    warned = kube.api.request("POST", path, odd)
    assert warned.status == 201 and 'unknown field \\"spec.foo\\"' in warned.headers["warning"]
    assert "foo" not in warned.json()["spec"] and "bar" not in warned.json()["metadata"]
    assert "warning" not in start("1.22").api.request("POST", path, odd).headers


@pytest.mark.parametrize("change, status", [
    ({"spec": {"rules": "x"}}, 400), ({"spec": {"rules": [{"host": 5}]}}, 400), ({"kind": "Service"}, 400), ({"apiVersion": "v2"}, 400),
    ({"metadata": {"name": "Bad_Name"}}, 422), ({"metadata": {}}, 422), ({"metadata": {"name": "a", "namespace": "other"}}, 400),
    ({"metadata": {"name": "a", "labels": {"x": "spaced value"}}}, 422), ({"metadata": {"name": "a", "resourceVersion": "5"}}, 500)])
def test_malformed_objects(kube: KubeStandin, change: dict[str, Any], status: int) -> None:
    body = ingress("a") | change
    answer = kube.api.request("POST", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", body)
    assert answer.status == status, answer


def test_limits(kube: KubeStandin) -> None:
    big = base64.b64encode(b"x" * 1_000_000).decode()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": big}}
    assert len(kube.api.create(secret)["data"]["a"]) == len(big)
    secret["metadata"]["name"], secret["data"]["b"] = "t", base64.b64encode(b"x" * 100_000).decode()  # type: ignore[index]
    refused(kube, secret)
    refused(kube, ingress("a", metadata={"annotations": {"x": "y" * 300_000}}))


def test_services(kube: KubeStandin) -> None:
    made = kube.api.create(service("web"))
    spec = made["spec"]
    assert spec["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 80}]
    assert spec["clusterIP"] == spec["clusterIPs"][0] and spec["clusterIP"].startswith("10.")
    assert (spec["type"], spec["sessionAffinity"], spec["internalTrafficPolicy"]) == ("ClusterIP", "None", "Cluster")
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
    del made["spec"]["clusterIP"], made["spec"]["clusterIPs"]
    made["spec"]["type"] = "NodePort"
    replaced = kube.api.replace(made)
    assert replaced["spec"]["clusterIP"] == spec["clusterIPs"][0] if "clusterIPs" in spec else True
    assert 30000 <= replaced["spec"]["ports"][0]["nodePort"] < 32768
    with pytest.raises(ApiFailure):
        kube.api.patch("services", "web", {"spec": {"clusterIP": "10.96.99.99", "clusterIPs": ["10.96.99.99"]}})
    assert "clusterIP" not in kube.api.create(service("ext", type="ExternalName", externalName="example.org", ports=None))["spec"]
    assert kube.api.create(service("headless", clusterIP="None"))["spec"]["clusterIPs"] == ["None"]
    refused(kube, service("two", ports=[{"port": 80}, {"port": 81}]))
    refused(kube, service("none", ports=[]))
    refused(kube, service("1digit"))
    affinity = kube.api.create(service("sticky", sessionAffinity="ClientIP"))["spec"]["sessionAffinityConfig"]
    assert affinity == {"clientIP": {"timeoutSeconds": 10800}}


def test_service_status(kube: KubeStandin, start: Callable[..., KubeStandin]) -> None:
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}}
    for cluster, mode in ((kube, {"ipMode": "VIP"}), (start("1.28"), {})):
        cluster.api.create(service("web"))
        cluster.api.create(service("lb", type="LoadBalancer"))
        assert cluster.api.patch("services", "lb", status, subresource="status")["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.9", **mode}]
        if mode:
            with pytest.raises(ApiFailure):
                cluster.api.patch("services", "web", status, subresource="status")
        else:
            cluster.api.patch("services", "web", status, subresource="status")


def test_secrets(kube: KubeStandin) -> None:
    def secret(name: str, kind: str | None = None, **more: Any) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **({"type": kind} if kind else {}), **more}

    made = kube.api.create(secret("a", stringData={"user": "me"}))
    assert made["data"] == {"user": "bWU="} and made["type"] == "Opaque" and "stringData" not in made
    assert "data[tls.key]" in refused(kube, secret("b", "kubernetes.io/tls", data={"tls.crt": ""}))
    assert kube.api.create(secret("c", "kubernetes.io/tls", data={"tls.crt": "", "tls.key": "bm90IHBlbQ=="}))["data"]["tls.crt"] == ""
    refused(kube, secret("d", data={"bad key": ""}))
    refused(kube, secret("d", data={"a": "***"}), 400)
    with pytest.raises(ApiFailure):
        kube.api.patch("secrets", "a", {"type": "other"})
    kube.api.create(secret("e", immutable=True, data={"a": "Yg=="}))
    with pytest.raises(ApiFailure):
        kube.api.patch("secrets", "e", {"data": {"a": "Yw=="}})


def test_slices(kube: KubeStandin) -> None:
    obj: dict[str, Any] = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "s"}, "addressType": "IPv4"}
    made = kube.api.create(obj | {"endpoints": [], "ports": []})
    assert made["endpoints"] is None and made["ports"] is None and made["metadata"]["generation"] == 1
    obj["metadata"]["name"] = "t"
    made = kube.api.create(obj | {"endpoints": [{"addresses": ["10.1.1.1"], "conditions": {"ready": False}}], "ports": [{"port": 80}]})
    assert made["ports"] == [{"name": "", "protocol": "TCP", "port": 80}]
    assert made["endpoints"] == [{"addresses": ["10.1.1.1"], "conditions": {"ready": False}}]
    obj["metadata"]["name"] = "u"
    refused(kube, obj | {"endpoints": [{"addresses": ["::1"]}]})
    with pytest.raises(ApiFailure):
        kube.api.patch("endpointslices", "t", {"addressType": "IPv6"})


def test_older_slices_and_paths(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.20")
    made = kube.api.create({"apiVersion": "discovery.k8s.io/v1beta1", "kind": "EndpointSlice", "metadata": {"name": "s"}, "addressType": "IPv4",
                            "endpoints": [{"addresses": ["10.1.1.1"], "topology": {"kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "z"}}]})
    assert made["endpoints"][0]["topology"] == {"kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "z"}
    assert kube.objects("endpointslices")[0]["endpoints"][0] == {"addresses": ["10.1.1.1"], "conditions": {}, "nodeName": "n1", "zone": "z"}
    old = {"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": {"name": "a"}, "spec": {
        "backend": {"serviceName": "d", "servicePort": "http-alt"}, "rules": [{"http": {"paths": [{"backend": {"serviceName": "w", "servicePort": 80}}]}}]}}
    kube.api.create(old)
    spec = kube.objects("ingresses")[0]["spec"]
    assert spec["defaultBackend"] == {"service": {"name": "d", "port": {"name": "http-alt"}}}
    assert spec["rules"][0]["http"]["paths"] == [{"pathType": "ImplementationSpecific", "backend": {"service": {"name": "w", "port": {"number": 80}}}}]


def test_before_path_types(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.16")
    old = {"apiVersion": "networking.k8s.io/v1beta1", "kind": "Ingress", "metadata": {"name": "a"}, "spec": {"ingressClassName": "x", "rules": [
        {"http": {"paths": [{"path": "/x", "pathType": "Exact", "backend": {"serviceName": "w", "servicePort": 80}}]}}]}}
    made = kube.api.create(old)
    assert made["spec"] == {"rules": [{"http": {"paths": [{"path": "/x", "backend": {"serviceName": "w", "servicePort": 80}}]}}]}
    assert "managedFields" not in made["metadata"]


def test_finalizers(kube: KubeStandin) -> None:
    kube.api.create(ingress("a", metadata={"finalizers": ["sluice.io/lb"]}))
    kube.api.delete("ingresses", "a")
    going = kube.api.get("ingresses", "a")
    assert going["metadata"]["deletionTimestamp"] and going["metadata"]["deletionGracePeriodSeconds"] == 0
    with pytest.raises(ApiFailure) as caught:
        kube.api.patch("ingresses", "a", {"metadata": {"finalizers": ["sluice.io/lb", "sluice.io/more"]}})
    assert caught.value.status == 422
    kube.api.delete("ingresses", "a")
    assert kube.api.get("ingresses", "a")["metadata"]["resourceVersion"] == going["metadata"]["resourceVersion"]
    kube.api.patch("ingresses", "a", {"metadata": {"finalizers": None}}, subresource="status")
    assert kube.api.find("ingresses", "a") is None


def test_deletion(kube: KubeStandin) -> None:
    made = kube.api.create(ingress("a"))
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    wrong = kube.api.request("DELETE", path + "/a", {"preconditions": {"uid": "other"}})
    assert wrong.status == 409 and kube.api.find("ingresses", "a")
    gone = kube.api.request("DELETE", path + "/a", {"preconditions": {"uid": made["metadata"]["uid"]}}).json()
    assert gone == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                    "details": {"name": "a", "group": "networking.k8s.io", "kind": "ingresses", "uid": made["metadata"]["uid"]}}
    for name in ("a", "b", "c"):
        kube.api.create(ingress(name, metadata={"labels": {"x": name}}))
    assert kube.api.request("DELETE", path + "?labelSelector=x+in+(a,b)").status == 200
    assert [item["metadata"]["name"] for item in kube.api.list("ingresses")["items"]] == ["c"]


def test_namespaces(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.34", "--strict-namespaces", "--namespace", "given")
    assert kube.api.create(ingress("a", "given"))
    assert 'namespaces "shop" not found' in refused(kube, ingress("a", "shop"), 404)
    kube.api.ensure_namespace("shop")
    kube.api.ensure_namespace("shop")
    kube.api.create(ingress("a", "shop"))
    kube.api.create(ingress("b", "shop", metadata={"finalizers": ["x.io/hold"]}))
    kube.api.delete("namespaces", "shop")
    assert kube.api.get("namespaces", "shop")["status"]["phase"] == "Terminating"
    assert "because it is being terminated" in refused(kube, ingress("c", "shop"), 403)
    kube.api.wait("ingresses", "a", lambda obj: obj is None, "shop")
    assert kube.api.find("namespaces", "shop") is not None
    kube.api.patch("ingresses", "b", {"metadata": {"finalizers": None}}, "shop")
    kube.api.wait("namespaces", "shop", lambda obj: obj is None)
    with pytest.raises(ApiFailure):
        kube.api.delete("namespaces", "default")


def test_generated_names_dry_runs_and_replacement_by_put(kube: KubeStandin) -> None:
    obj = ingress("x")
    obj["metadata"] = {"generateName": "gen-"}
    first, second = (kube.api.create(obj)["metadata"]["name"] for _ in range(2))
    assert first != second and first.startswith("gen-") and len(first) == len("gen-") + 5
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    assert kube.api.request("POST", path + "?dryRun=All", ingress("dry")).status == 201
    assert kube.api.find("ingresses", "dry") is None
    assert kube.api.request("DELETE", f"{path}/{first}?dryRun=All").status == 200 and kube.api.find("ingresses", first)
    with pytest.raises(ApiFailure):
        kube.api.replace(ingress("absent"))
    assert kube.api.replace(service("absent"))["metadata"]["uid"]


def test_optimistic_locks(kube: KubeStandin) -> None:
    old = kube.api.create(ingress("a"))
    kube.api.patch("ingresses", "a", {"metadata": {"annotations": {"x": "1"}}})
    with pytest.raises(ApiFailure) as caught:
        kube.api.replace(old)
    assert caught.value.status == 409
    del old["metadata"]["resourceVersion"]
    assert "annotations" not in kube.api.replace(old)["metadata"]


def test_patches(kube: KubeStandin) -> None:
    kube.api.create(service("web", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}]))
    merged = kube.api.patch("services", "web", {"spec": {"ports": [{"port": 81, "targetPort": "x"}, {"name": "c", "port": 82}]}},
                            content_type=STRATEGIC)
    assert [(port["name"], port["targetPort"]) for port in merged["spec"]["ports"]] == [("a", 80), ("b", "x"), ("c", 82)]
    removed = kube.api.patch("services", "web", {"spec": {"ports": [{"$patch": "delete", "port": 80}]}}, content_type=STRATEGIC)
    assert [port["name"] for port in removed["spec"]["ports"]] == ["b", "c"]
    replaced = kube.api.patch("services", "web", {"spec": {"ports": [{"name": "d", "port": 83}]}})
    assert [port["name"] for port in replaced["spec"]["ports"]] == ["d"]
    kube.api.patch("services", "web", [{"op": "test", "path": "/spec/ports/0/name", "value": "d"},
                                       {"op": "add", "path": "/metadata/labels", "value": {"a-b": "1"}}], content_type=JSON)
    for patch, status in (([{"op": "test", "path": "/spec/ports/0/name", "value": "x"}], 422), ([{"op": "remove", "path": "/nope"}], 422),
                          ({"op": "x"}, 400)):
        with pytest.raises(ApiFailure) as caught:
            kube.api.patch("services", "web", patch, content_type=JSON)
        assert caught.value.status == status
    with pytest.raises(ApiFailure) as caught:
        kube.api.patch("services", "web", {"metadata": {"name": "other"}})
    assert caught.value.status == 400


def managers(obj: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Who manages what part."""
    return [(entry["manager"], entry["operation"], entry.get("subresource", "")) for entry in obj["metadata"]["managedFields"]]


def test_server_side_apply(kube: KubeStandin) -> None:
    obj = service("web", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}])
    obj["metadata"]["labels"] = {"one": "1", "two": "2"}
    made = kube.api.apply(obj, "first")
    assert managers(made) == [("first", "Apply", "")]
    again = kube.api.apply(obj, "first")
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    kube.api.patch("services", "web", {"metadata": {"annotations": {"x": "y"}}})
    del obj["metadata"]["labels"]["two"], obj["spec"]["ports"][1]
    less = kube.api.apply(obj, "first")
    assert less["metadata"]["labels"] == {"one": "1"} and [port["name"] for port in less["spec"]["ports"]] == ["a"]
    assert less["metadata"]["annotations"] == {"x": "y"}
    path = "/api/v1/namespaces/default/services/web?fieldManager=second"
    rival = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"one": "other"}}}
    answer = kube.api.request("PATCH", path, rival, APPLY)
    assert answer.status == 409 and answer.json()["details"]["causes"][0]["field"] == ".metadata.labels.one"
    assert kube.api.request("PATCH", path + "&force=true", rival, APPLY).json()["metadata"]["labels"] == {"one": "other"}
    assert kube.api.request("PATCH", path.partition("?")[0], rival, APPLY).status == 422
    yaml = b"apiVersion: v1\nkind: Service\nmetadata:\n  name: fresh\nspec:\n  ports:\n  - port: 80\n"
    assert kube.api.request("PATCH", path.replace("/web?", "/fresh?"), yaml, APPLY).status == 201


def test_managed_fields_of_updates(kube: KubeStandin) -> None:
    kube.api.create(ingress("a"))
    kube.api.patch("ingresses", "a", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}, subresource="status")
    found = kube.api.get("ingresses", "a")
    assert managers(found) == [("sluice-tests", "Update", ""), ("sluice-tests", "Update", "status")]
    assert found["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:rules": {}}}


def test_raw_objects(kube: KubeStandin) -> None:
    kube.put_object("endpointslices", {"metadata": {"name": "odd", "namespace": "default"}, "addressType": "IPv4",
                                       "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": None}]}, raw=True)
    assert kube.api.get("endpointslices", "odd")["ports"] == [{"port": None}]
    assert "conditions" not in kube.api.get("endpointslices", "odd")["endpoints"][0]
    lax = ingress("lax")
    lax["spec"]["rules"][0]["host"] = "UPPER"
    uid = kube.put_object("ingresses", lax)["metadata"]["uid"]
    changed = kube.patch_object("ingresses", "lax", {"spec": {"ingressClassName": "x"}})
    stored = kube.api.get("ingresses", "lax")
    assert stored["metadata"]["uid"] == uid and stored["metadata"]["resourceVersion"] == str(changed["revision"])
    assert kube.api.kubectl("get", "ing,endpointslices").returncode == 0


def test_events_expire(start: Callable[..., KubeStandin]) -> None:
    kube = start()
    event = {"involvedObject": {"kind": "Ingress", "name": "a", "namespace": "default"}}
    for name, born in (("old", "2020-01-01T00:00:00Z"), ("young", "2099-01-01T00:00:00Z")):
        kube.put_object("events", event | {"metadata": {"name": name, "namespace": "default", "creationTimestamp": born}})
    kube.settings(event_ttl_s=0.1)
    kube.api.wait("events", "old", lambda obj: obj is None)
    assert kube.api.find("events", "young")
