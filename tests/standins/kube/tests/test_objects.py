# SPDX-License-Identifier: Apache-2.0
"""Writes: defaults, validation, conversion, generations, finalizers, namespaces, ownership of fields."""

from __future__ import annotations

import base64
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
    assert (
        strict.status == 400
        and 'strict decoding error: unknown field "metadata.bar", unknown field "spec.foo"'
        in strict.json()["message"]
    )
    warned = kube.api.request("POST", path, odd)
    assert warned.status == 201 and 'unknown field \\"spec.foo\\"' in warned.headers["warning"]
    assert "foo" not in warned.json()["spec"] and "bar" not in warned.json()["metadata"]
    assert "warning" not in start("1.22").api.request("POST", path, odd).headers


@pytest.mark.parametrize(
    "change, status",
    [
        ({"spec": {"rules": "x"}}, 400),
        ({"spec": {"rules": [{"host": 5}]}}, 400),
        ({"kind": "Service"}, 400),
        ({"apiVersion": "v2"}, 400),
        ({"metadata": {"name": "Bad_Name"}}, 422),
        ({"metadata": {}}, 422),
        ({"metadata": {"name": "a", "namespace": "other"}}, 400),
        ({"metadata": {"name": "a", "labels": {"x": "spaced value"}}}, 422),
        ({"metadata": {"name": "a", "resourceVersion": "5"}}, 500),
    ],
)
def test_malformed_objects(kube: KubeStandin, change: dict[str, Any], status: int) -> None:
    body = ingress("a") | change
    answer = kube.api.request("POST", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", body)
    assert answer.status == status, answer


def test_limits(kube: KubeStandin) -> None:
    big = base64.b64encode(b"x" * 1_000_000).decode()
    secret: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"a": big},
    }
    assert len(kube.api.create(secret)["data"]["a"]) == len(big)
    secret["metadata"]["name"] = "t"
    secret["data"]["b"] = base64.b64encode(b"x" * 100_000).decode()
    refused(kube, secret)
    refused(kube, ingress("a", metadata={"annotations": {"x": "y" * 300_000}}))


def test_services(kube: KubeStandin) -> None:
    made = kube.api.create(service("web"))
    spec = made["spec"]
    assert spec["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 80}]
    assert spec["clusterIP"] == spec["clusterIPs"][0] and spec["clusterIP"].startswith("10.")
    assert (spec["type"], spec["sessionAffinity"], spec["internalTrafficPolicy"]) == (
        "ClusterIP",
        "None",
        "Cluster",
    )
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
    del made["spec"]["clusterIP"], made["spec"]["clusterIPs"]
    made["spec"]["type"] = "NodePort"
    replaced = kube.api.replace(made)
    assert replaced["spec"]["clusterIP"] == spec["clusterIPs"][0] if "clusterIPs" in spec else True
    assert 30000 <= replaced["spec"]["ports"][0]["nodePort"] < 32768
    with pytest.raises(ApiFailure):
        kube.api.patch(
            "services", "web", {"spec": {"clusterIP": "10.96.99.99", "clusterIPs": ["10.96.99.99"]}}
        )
    assert (
        "clusterIP"
        not in kube.api.create(service("ext", type="ExternalName", externalName="example.org", ports=None))[
            "spec"
        ]
    )
    assert kube.api.create(service("headless", clusterIP="None"))["spec"]["clusterIPs"] == ["None"]
    refused(kube, service("two", ports=[{"port": 80}, {"port": 81}]))
    refused(kube, service("none", ports=[]))
    refused(kube, service("1digit"))
    affinity = kube.api.create(service("sticky", sessionAffinity="ClientIP"))["spec"]["sessionAffinityConfig"]
    assert affinity == {"clientIP": {"timeoutSeconds": 10800}}


def test_service_status(kube: KubeStandin, start: Callable[..., KubeStandin]) -> None:
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}}
    for cluster, mode in ((kube, "VIP"), (start("1.28"), None)):
        cluster.api.create(service("web"))
        cluster.api.create(service("lb", type="LoadBalancer"))
        patched = cluster.api.patch("services", "lb", status, subresource="status")
        entry = patched["status"]["loadBalancer"]["ingress"][0]
        assert (entry["ip"], entry.get("ipMode")) == ("192.0.2.9", mode)
        if mode:
            with pytest.raises(ApiFailure):
                cluster.api.patch("services", "web", status, subresource="status")
        else:
            cluster.api.patch("services", "web", status, subresource="status")


def test_secrets(kube: KubeStandin) -> None:
    def secret(name: str, kind: str | None = None, **more: Any) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            **({"type": kind} if kind else {}),
            **more,
        }

    made = kube.api.create(secret("a", stringData={"user": "me"}))
    assert made["data"] == {"user": "bWU="} and made["type"] == "Opaque" and "stringData" not in made
    assert "data[tls.key]" in refused(kube, secret("b", "kubernetes.io/tls", data={"tls.crt": ""}))
    assert (
        kube.api.create(secret("c", "kubernetes.io/tls", data={"tls.crt": "", "tls.key": "bm90IHBlbQ=="}))[
            "data"
        ]["tls.crt"]
        == ""
    )
    refused(kube, secret("d", data={"bad key": ""}))
    refused(kube, secret("d", data={"a": "***"}), 400)
    with pytest.raises(ApiFailure):
        kube.api.patch("secrets", "a", {"type": "other"})
    kube.api.create(secret("e", immutable=True, data={"a": "Yg=="}))
    with pytest.raises(ApiFailure):
        kube.api.patch("secrets", "e", {"data": {"a": "Yw=="}})


def test_slices(kube: KubeStandin) -> None:
    obj: dict[str, Any] = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "s"},
        "addressType": "IPv4",
    }
    made = kube.api.create(obj | {"endpoints": [], "ports": []})
    assert made["endpoints"] is None and made["ports"] is None and made["metadata"]["generation"] == 1
    obj["metadata"]["name"] = "t"
    made = kube.api.create(
        obj
        | {
            "endpoints": [{"addresses": ["10.1.1.1"], "conditions": {"ready": False}}],
            "ports": [{"port": 80}],
        }
    )
    assert made["ports"] == [{"name": "", "protocol": "TCP", "port": 80}]
    assert made["endpoints"] == [{"addresses": ["10.1.1.1"], "conditions": {"ready": False}}]
    obj["metadata"]["name"] = "u"
    refused(kube, obj | {"endpoints": [{"addresses": ["::1"]}]})
    with pytest.raises(ApiFailure):
        kube.api.patch("endpointslices", "t", {"addressType": "IPv6"})


def test_older_slices_and_paths(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.20")
    made = kube.api.create(
        {
            "apiVersion": "discovery.k8s.io/v1beta1",
            "kind": "EndpointSlice",
            "metadata": {"name": "s"},
            "addressType": "IPv4",
            "endpoints": [
                {
                    "addresses": ["10.1.1.1"],
                    "topology": {"kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "z"},
                }
            ],
        }
    )
    assert made["endpoints"][0]["topology"] == {
        "kubernetes.io/hostname": "n1",
        "topology.kubernetes.io/zone": "z",
    }
    assert kube.objects("endpointslices")[0]["endpoints"][0] == {
        "addresses": ["10.1.1.1"],
        "conditions": {},
        "nodeName": "n1",
        "zone": "z",
    }
    old = {
        "apiVersion": "extensions/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": "a"},
        "spec": {
            "backend": {"serviceName": "d", "servicePort": "http-alt"},
            "rules": [{"http": {"paths": [{"backend": {"serviceName": "w", "servicePort": 80}}]}}],
        },
    }
    kube.api.create(old)
    spec = kube.objects("ingresses")[0]["spec"]
    assert spec["defaultBackend"] == {"service": {"name": "d", "port": {"name": "http-alt"}}}
    assert spec["rules"][0]["http"]["paths"] == [
        {"pathType": "ImplementationSpecific", "backend": {"service": {"name": "w", "port": {"number": 80}}}}
    ]


def test_before_path_types(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.16")
    old = {
        "apiVersion": "networking.k8s.io/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": "a"},
        "spec": {
            "ingressClassName": "x",
            "rules": [
                {
                    "http": {
                        "paths": [
                            {
                                "path": "/x",
                                "pathType": "Exact",
                                "backend": {"serviceName": "w", "servicePort": 80},
                            }
                        ]
                    }
                }
            ],
        },
    }
    made = kube.api.create(old)
    assert made["spec"] == {
        "rules": [{"http": {"paths": [{"path": "/x", "backend": {"serviceName": "w", "servicePort": 80}}]}}]
    }
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
    assert (
        kube.api.get("ingresses", "a")["metadata"]["resourceVersion"] == going["metadata"]["resourceVersion"]
    )
    kube.api.patch("ingresses", "a", {"metadata": {"finalizers": None}}, subresource="status")
    assert kube.api.find("ingresses", "a") is None


def test_deletion(kube: KubeStandin) -> None:
    made = kube.api.create(ingress("a"))
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    wrong = kube.api.request("DELETE", path + "/a", {"preconditions": {"uid": "other"}})
    assert wrong.status == 409 and kube.api.find("ingresses", "a")
    gone = kube.api.request("DELETE", path + "/a", {"preconditions": {"uid": made["metadata"]["uid"]}}).json()
    assert gone == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {
            "name": "a",
            "group": "networking.k8s.io",
            "kind": "ingresses",
            "uid": made["metadata"]["uid"],
        },
    }
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
    assert kube.api.request("DELETE", f"{path}/{first}?dryRun=All").status == 200 and kube.api.find(
        "ingresses", first
    )
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
    merged = kube.api.patch(
        "services",
        "web",
        {"spec": {"ports": [{"port": 81, "targetPort": "x"}, {"name": "c", "port": 82}]}},
        content_type=STRATEGIC,
    )
    assert [(port["name"], port["targetPort"]) for port in merged["spec"]["ports"]] == [
        ("a", 80),
        ("b", "x"),
        ("c", 82),
    ]
    removed = kube.api.patch(
        "services", "web", {"spec": {"ports": [{"$patch": "delete", "port": 80}]}}, content_type=STRATEGIC
    )
    assert [port["name"] for port in removed["spec"]["ports"]] == ["b", "c"]
    replaced = kube.api.patch("services", "web", {"spec": {"ports": [{"name": "d", "port": 83}]}})
    assert [port["name"] for port in replaced["spec"]["ports"]] == ["d"]
    kube.api.patch(
        "services",
        "web",
        [
            {"op": "test", "path": "/spec/ports/0/name", "value": "d"},
            {"op": "add", "path": "/metadata/labels", "value": {"a-b": "1"}},
        ],
        content_type=JSON,
    )
    for patch, status in (
        ([{"op": "test", "path": "/spec/ports/0/name", "value": "x"}], 422),
        ([{"op": "remove", "path": "/nope"}], 422),
        ({"op": "x"}, 400),
    ):
        with pytest.raises(ApiFailure) as caught:
            kube.api.patch("services", "web", patch, content_type=JSON)
        assert caught.value.status == status
    with pytest.raises(ApiFailure) as caught:
        kube.api.patch("services", "web", {"metadata": {"name": "other"}})
    assert caught.value.status == 400


def managers(obj: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Who manages what part."""
    return [
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in obj["metadata"]["managedFields"]
    ]


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
    assert less["metadata"]["labels"] == {"one": "1"} and [
        port["name"] for port in less["spec"]["ports"]
    ] == ["a"]
    assert less["metadata"]["annotations"] == {"x": "y"}
    path = "/api/v1/namespaces/default/services/web?fieldManager=second"
    rival = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"one": "other"}}}
    answer = kube.api.request("PATCH", path, rival, APPLY)
    assert answer.status == 409 and answer.json()["details"]["causes"][0]["field"] == ".metadata.labels.one"
    assert kube.api.request("PATCH", path + "&force=true", rival, APPLY).json()["metadata"]["labels"] == {
        "one": "other"
    }
    assert kube.api.request("PATCH", path.partition("?")[0], rival, APPLY).status == 422
    yaml = b"apiVersion: v1\nkind: Service\nmetadata:\n  name: fresh\nspec:\n  ports:\n  - port: 80\n"
    assert kube.api.request("PATCH", path.replace("/web?", "/fresh?"), yaml, APPLY).status == 201


def test_managed_fields_of_updates(kube: KubeStandin) -> None:
    kube.api.create(ingress("a"))
    kube.api.patch(
        "ingresses",
        "a",
        {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}},
        subresource="status",
    )
    found = kube.api.get("ingresses", "a")
    assert managers(found) == [("sluice-tests", "Update", ""), ("sluice-tests", "Update", "status")]
    assert found["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:rules": {}}}


def test_raw_objects(kube: KubeStandin) -> None:
    kube.put_object(
        "endpointslices",
        {
            "metadata": {"name": "odd", "namespace": "default"},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"]}],
            "ports": [{"port": None}],
        },
        raw=True,
    )
    assert kube.api.get("endpointslices", "odd")["ports"] == [{"port": None}]
    assert "conditions" not in kube.api.get("endpointslices", "odd")["endpoints"][0]
    lax = ingress("lax")
    lax["spec"]["rules"][0]["host"] = "UPPER"
    uid = kube.put_object("ingresses", lax)["metadata"]["uid"]
    changed = kube.patch_object("ingresses", "lax", {"spec": {"ingressClassName": "x"}})
    stored = kube.api.get("ingresses", "lax")
    assert stored["metadata"]["uid"] == uid and stored["metadata"]["resourceVersion"] == str(
        changed["revision"]
    )
    assert kube.api.kubectl("get", "ing,endpointslices").returncode == 0


def test_events_expire(start: Callable[..., KubeStandin]) -> None:
    kube = start()
    event = {"involvedObject": {"kind": "Ingress", "name": "a", "namespace": "default"}}
    for name, born in (("old", "2020-01-01T00:00:00Z"), ("young", "2099-01-01T00:00:00Z")):
        kube.put_object(
            "events", event | {"metadata": {"name": name, "namespace": "default", "creationTimestamp": born}}
        )
    kube.settings(event_ttl_s=0.1)
    kube.api.wait("events", "old", lambda obj: obj is None)
    assert kube.api.find("events", "young")


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1"])
def test_endpoints_are_addresses_that_others_can_reach(kube: KubeStandin, address: str) -> None:
    sliced = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "a"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}],
    }
    older = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "a"},
        "subsets": [{"addresses": [{"ip": address}], "ports": [{"port": 80}]}],
    }
    kube.settings(loopback_pods=False)
    for obj in (sliced, older):
        with pytest.raises(ApiFailure) as caught:
            kube.api.create(obj)
        assert caught.value.status == 422 and "may not be" in str(caught.value)
    kube.settings(loopback_pods=True)
    if address == "127.0.0.1":
        kube.api.create(sliced)
        kube.api.create(older)
