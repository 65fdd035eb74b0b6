# SPDX-License-Identifier: Apache-2.0
"""Exchanges that a real API server and the stand-in are asked to have alike: see test_real.py.

A scenario is a list of steps, had one after the other in a namespace of its own, `NS` in what is sent. Where a step needs something of an
answer before it, it is a function of the answers so far.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Callable, Union

from standins.kube.public import JSON, MERGE, STRATEGIC

from .conftest import ingress, service

NS = "NS"
ING = f"/apis/networking.k8s.io/v1/namespaces/{NS}/ingresses"
SVC = f"/api/v1/namespaces/{NS}/services"
EPS = f"/apis/discovery.k8s.io/v1/namespaces/{NS}/endpointslices"
SEC = f"/api/v1/namespaces/{NS}/secrets"
EVT = f"/api/v1/namespaces/{NS}/events"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
PLAIN = "application/json"


@dataclass
class Step:
    """A request. A watch is read to its end; its answer is the list of its frames."""

    method: str
    path: str
    body: Any = None
    content_type: str = PLAIN
    headers: dict[str, str] = field(default_factory=dict)
    user: str = "admin"  # or controller; nobody
    only_status: bool = False  # nobody reads the text


Given = Union[Step, Callable[[list[Any]], Step]]


def get(path: str, **more: Any) -> Step:
    return Step("GET", path, **more)


def post(path: str, body: Any, **more: Any) -> Step:
    return Step("POST", path, body, **more)


def put(path: str, body: Any, **more: Any) -> Step:
    return Step("PUT", path, body, **more)


def patch(path: str, body: Any, content_type: str = MERGE, **more: Any) -> Step:
    return Step("PATCH", path, body, content_type, **more)


def delete(path: str, body: Any = None, **more: Any) -> Step:
    return Step("DELETE", path, body, **more)


def revision(answer: Any) -> str:
    return answer["metadata"]["resourceVersion"]


def addresses(*entries: Any, **meta: Any) -> dict[str, Any]:
    """A status as the watcher writes it."""
    return {**({"metadata": meta} if meta else {}), "status": {"loadBalancer": {"ingress": list(entries)}}}


def web(name: str = "web", **more: Any) -> dict[str, Any]:
    return ingress(name, NS, **more)


def slice_of(name: str, addresses_: list[str], kind: str = "IPv4", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": NS, "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": kind,
        "endpoints": [{"addresses": [text]} for text in addresses_],
        "ports": [{"port": 8080}],
        **more,
    }


def secret(name: str, kind: str = "kubernetes.io/tls", **data: str) -> dict[str, Any]:
    encoded = {key.replace("_", "."): base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": kind,
        "metadata": {"name": name, "namespace": NS},
        "data": encoded,
    }


def event(name: str, namespace: str = NS, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "kind": "Ingress",
            "apiVersion": "networking.k8s.io/v1",
            "namespace": NS,
            "name": "web",
            "uid": "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        },
        "reason": "Created",
        "message": "made a load balancer",
        "type": "Normal",
        "source": {"component": "sluice"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        **more,
    }


def balancer(name: str = "tcp", **spec: Any) -> dict[str, Any]:
    return service(
        name, NS, type="LoadBalancer", loadBalancerClass="sluice.io/load-balancer", allocateLoadBalancerNodePorts=False, **spec
    )


def lease(name: str = "sluice") -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": NS},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"},
    }


def watch(collection: str, query: str = "", seconds: int = 2) -> Step:
    return get(f"{collection}?watch=true&timeoutSeconds={seconds}{'&' if query else ''}{query}")


SCENARIOS: dict[str, list[Given]] = {
    "ingress-life": [
        post(ING, web()),
        post(ING, web()),
        get(f"{ING}/web"),
        patch(f"{ING}/web", {"metadata": {"annotations": {"scale": "2", "none": None}}}),
        patch(f"{ING}/web", {"metadata": {"annotations": {"scale": "2"}}}),
        patch(f"{ING}/web", {"spec": {"rules": [{"host": "b.example.org"}]}}),
        patch(f"{ING}/web", [{"op": "replace", "path": "/spec/rules/0/host", "value": "c.example.org"}], JSON),
        patch(f"{ING}/web", [{"op": "test", "path": "/spec/rules/0/host", "value": "x"}], JSON),
        put(f"{ING}/web", web()),
        lambda past: put(f"{ING}/web", {**web(), "metadata": {**web()["metadata"], "resourceVersion": revision(past[0])}}),
        put(f"{ING}/other", web()),
        get(f"{ING}/other"),
        get(ING),
        delete(f"{ING}/web"),
        delete(f"{ING}/web"),
        get(f"{ING}/web"),
        patch(f"{ING}/web", {"metadata": {"annotations": {"scale": "2"}}}),
    ],
    "ingress-status": [
        post(ING, {**web(), "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}),
        lambda past: patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"}, resourceVersion=revision(past[0]))),
        lambda past: patch(f"{ING}/web/status", addresses({"ip": "192.0.2.2"}, resourceVersion=revision(past[0]))),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}, {"ip": "2001:db8::1"})),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1", "ports": [{"port": 80, "protocol": "TCP"}]})),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1", "ports": [{"port": 80, "protocol": "SCTPX"}]})),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1", "ports": [{"port": 0, "protocol": "TCP"}]})),
        patch(f"{ING}/web/status", addresses({"ip": "lb1"})),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.01"}), only_status=True),
        patch(f"{ING}/web/status", addresses({"ip": "2001:DB8::0:1"})),
        patch(f"{ING}/web/status", addresses({"ip": "::ffff:192.0.2.1"}), only_status=True),
        patch(f"{ING}/web/status", addresses({"hostname": "LB_1.example"}), only_status=True),
        patch(f"{ING}/web/status", addresses({"hostname": "192.0.2.1"}), only_status=True),
        patch(f"{ING}/web/status", addresses({"hostname": "*.example.com"}), only_status=True),
        patch(f"{ING}/web/status", addresses({"hostname": "lb.example.com."}), only_status=True),
        patch(f"{ING}/web/status", addresses({})),
        patch(f"{ING}/web/status", {"spec": {"rules": [{"host": "ignored"}]}, "status": {"loadBalancer": {"ingress": None}}}),
        get(f"{ING}/web/status"),
        patch(f"{ING}/none/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{ING}/web/status", addresses(uid="1b4e28ba-2fa1-11d2-883f-0016d3cca427"), only_status=True),
        lambda past: patch(f"{ING}/web/status", addresses({"ip": "192.0.2.9"}, resourceVersion="1", uid=past[0]["metadata"]["uid"])),
        lambda past: patch(f"{ING}/web/status?fieldManager=sluice", addresses({"ip": "192.0.2.9"}, uid=past[0]["metadata"]["uid"])),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"}), STRATEGIC),
        patch(f"{ING}/web/status", b"{", MERGE, only_status=True),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"}), "text/plain", only_status=True),
    ],
    "ingress-other-patches": [
        post(ING, web()),
        patch(f"{ING}/web", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC),
        patch(f"{ING}/web", {"metadata": {"name": "other"}}),
        patch(f"{ING}/web", {"metadata": {"namespace": "other"}}),
        post(ING, {**web("elsewhere"), "metadata": {"name": "elsewhere", "namespace": "default"}}),
        post(ING, b"not json", only_status=True),
        get(f"{ING}/web"),
    ],
    "finalizers": [
        post(SVC, balancer()),
        lambda past: patch(
            f"{SVC}/tcp", {"metadata": {"resourceVersion": revision(past[0]), "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}}
        ),
        lambda past: patch(f"{SVC}/tcp", {"metadata": {"resourceVersion": revision(past[0]), "finalizers": []}}),
        delete(f"{SVC}/tcp"),
        get(f"{SVC}/tcp"),
        delete(f"{SVC}/tcp"),
        patch(f"{SVC}/tcp", {"metadata": {"finalizers": ["service.kubernetes.io/load-balancer-cleanup", "example.com/more"]}}, only_status=True),
        patch(f"{SVC}/tcp/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{SVC}/tcp", {"metadata": {"finalizers": None}}),
        get(f"{SVC}/tcp"),
    ],
    "service-status": [
        post(SVC, balancer()),
        patch(f"{SVC}/tcp/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{SVC}/tcp/status", addresses({"ip": "192.0.2.1", "ipMode": "Proxy"})),
        patch(f"{SVC}/tcp/status", addresses({"hostname": "lb.example.com", "ports": [{"port": 5432, "protocol": "TCP"}]})),
        patch(f"{SVC}/tcp/status", addresses({"ip": "x"})),
        patch(f"{SVC}/tcp/status", {"status": {"loadBalancer": None}}),
        post(SVC, service("plain", NS)),
        patch(f"{SVC}/plain/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{SVC}/plain/status", {"status": {"loadBalancer": {}}}),
        get(SVC),
    ],
    "service-changes": [
        post(SVC, balancer()),
        patch(f"{SVC}/tcp", {"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}}),
        patch(f"{SVC}/tcp", {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}}),
        patch(f"{SVC}/tcp/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{SVC}/tcp", {"spec": {"type": "ClusterIP", "loadBalancerClass": None, "loadBalancerSourceRanges": None,
                                      "allocateLoadBalancerNodePorts": None}}),
        patch(f"{SVC}/tcp", {"spec": {"type": "ExternalName", "externalName": "db.example.com", "clusterIP": None, "clusterIPs": None}}),
        patch(f"{SVC}/tcp", {"spec": {"type": "LoadBalancer", "loadBalancerClass": "sluice.io/load-balancer"}}),
        post(SVC, service("headless", NS, clusterIP="None")),
        post(SVC, service("affine", NS, sessionAffinity="ClientIP"), only_status=True),
    ],
    "endpoint-slices": [
        post(EPS, slice_of("fine", ["10.1.2.3", "10.1.2.4"])),
        post(EPS, slice_of("six", ["2001:db8::1"], "IPv6")),
        post(EPS, slice_of("names", ["pod.example.com"], "FQDN")),
        post(EPS, slice_of("port-0", ["10.1.2.3"], ports=[{"port": 0}])),
        post(EPS, slice_of("portless", ["10.1.2.3"], ports=None)),
        patch(f"{EPS}/fine", {"endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": False}, "zone": "z", "nodeName": "n"}]}),
        get(f"{EPS}?labelSelector=kubernetes.io%2Fservice-name%3Dweb"),
        patch(f"{EPS}/fine", {"endpoints": None}, only_status=True),
        get(f"{EPS}?labelSelector=kubernetes.io%2Fservice-name%3Dnone"),
        get(f"{EPS}?labelSelector=%3D%3D", only_status=True),
    ],
    "secrets": [
        post(SEC, secret("cert", tls_crt="a", tls_key="b")),
        post(SEC, secret("opaque", "Opaque", a="b")),
        get(f"{SEC}?fieldSelector=type%3Dkubernetes.io%2Ftls"),
        get(f"{SEC}?fieldSelector=type%21%3Dkubernetes.io%2Ftls"),
        get(f"{SEC}?fieldSelector=data%3Dx"),
        patch(f"{SEC}/cert", {"data": {"tls.crt": "Yg=="}}),
    ],
    "events": [
        post(EVT, event("web.1")),
        post(EVT, event("web.1")),
        patch(f"{EVT}/web.1", {"count": 2, "lastTimestamp": "2026-01-02T00:00:00Z"}, STRATEGIC),
        patch(f"{EVT}/web.1", {"count": 3, "lastTimestamp": "2026-01-02T00:00:00Z"}),
        patch(f"{EVT}/web.none", {"count": 2}),
        post(EVT, event("wrong", involvedObject={"kind": "Ingress", "namespace": "default", "name": "web"})),
        post(EVT, event("nowhere", involvedObject={"kind": "IngressClass", "name": "lb"})),
        post(EVT, event("long", message="x" * 2000)),
        post(EVT, event("odd-type", type="Odd")),
        get(f"{EVT}?fieldSelector=involvedObject.name%3Dweb,reason%3DCreated"),
        get(f"{EVT}?fieldSelector=involvedObject.name%3Dnone"),
    ],
    "leases": [
        post(LEASES, lease()),
        post(LEASES, lease()),
        lambda past: put(f"{LEASES}/sluice", {**lease(), "metadata": {**lease()["metadata"], "resourceVersion": revision(past[0])}}),
        lambda past: put(
            f"{LEASES}/sluice",
            {**lease(), "metadata": {**lease()["metadata"], "resourceVersion": revision(past[0])},
             "spec": {**lease()["spec"], "holderIdentity": "b", "leaseTransitions": 1}},
        ),
        lambda past: put(
            f"{LEASES}/sluice",
            {**lease(), "metadata": {**lease()["metadata"], "resourceVersion": revision(past[0])},
             "spec": {**lease()["spec"], "holderIdentity": "c"}},
        ),
        patch(f"{LEASES}/sluice", {"spec": {"leaseDurationSeconds": 0}}),
        get(f"{LEASES}/sluice"),
    ],
    "lists": [
        *[post(ING, web(f"w{number}")) for number in range(5)],
        get(ING),
        get(f"{ING}?limit=2"),
        lambda past: get(f"{ING}?limit=2&continue={past[-1]['metadata']['continue']}"),
        lambda past: get(f"{ING}?limit=2&continue={past[-1]['metadata']['continue']}"),
        lambda past: get(f"{ING}?limit=2&continue={past[6]['metadata']['continue']}&resourceVersion=1"),
        get(f"{ING}?limit=2&continue=nonsense", only_status=True),
        get(f"{ING}?limit=x", only_status=True),
        get(f"{ING}?limit=-1"),
        get(f"{ING}?limit=2&resourceVersion=0"),
        get(f"{ING}?resourceVersion=0"),
        lambda past: get(f"{ING}?resourceVersion={revision(past[5])}&resourceVersionMatch=NotOlderThan"),
        lambda past: get(f"{ING}?resourceVersion={revision(past[5])}&resourceVersionMatch=Exact"),
        lambda past: get(f"{ING}?limit=2&resourceVersion={revision(past[5])}&resourceVersionMatch=NotOlderThan"),
        get(f"{ING}?resourceVersion=0&resourceVersionMatch=Exact"),
        get(f"{ING}?resourceVersionMatch=NotOlderThan"),
        get(f"{ING}?resourceVersion=1&resourceVersionMatch=Other"),
        get(f"{ING}?resourceVersion=x"),
        get(f"{ING}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan"),
        get(f"{ING}?fieldSelector=metadata.name%3Dw3"),
        get(f"{ING}?fieldSelector=spec.x%3Dw3"),
        get(f"{ING}?sendInitialEvents=true"),
        get(f"{ING}?timeoutSeconds=5"),
    ],
    "watches": [
        *[post(ING, web(name)) for name in ("one", "two")],
        get(ING),
        lambda past: watch(ING, f"resourceVersion={revision(past[0])}"),
        lambda past: watch(ING, f"resourceVersion={revision(past[2])}"),
        watch(ING, "resourceVersion=0"),
        watch(ING),
        watch(ING, "resourceVersion=999999999"),
        watch(ING, "fieldSelector=metadata.name%3Dtwo&resourceVersion=0"),
        patch(f"{ING}/one", {"metadata": {"labels": {"a": "b"}}}),
        delete(f"{ING}/two"),
        lambda past: watch(ING, f"resourceVersion={revision(past[2])}"),
        lambda past: watch(ING, f"resourceVersion={revision(past[2])}&labelSelector=a%3Db"),
        lambda past: watch(ING, f"resourceVersion={revision(past[2])}&labelSelector=a%21%3Db"),
        watch(ING, "limit=1&resourceVersion=0"),
        watch(ING, "resourceVersionMatch=NotOlderThan"),
        get(f"{ING}/one?watch=true&timeoutSeconds=1"),
    ],
    "streaming-lists": [
        *[post(ING, web(name)) for name in ("one", "two")],
        watch(ING, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
        watch(ING, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0"),
        lambda past: watch(
            ING, f"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={revision(past[0])}"
        ),
        watch(ING, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        watch(ING, "sendInitialEvents=true&allowWatchBookmarks=true"),
        watch(ING, "sendInitialEvents=true&resourceVersionMatch=Exact&allowWatchBookmarks=true&resourceVersion=1"),
        watch(ING, "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
        watch(ING, "sendInitialEvents=x&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
        watch(f"/api/v1/namespaces/{NS}/secrets",
              "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=type%3Dkubernetes.io%2Ftls"),
    ],
    "refusals": [
        get(ING, user="nobody"),
        get(ING, headers={"Authorization": "Bearer wrong"}, user="nobody"),
        get(ING, headers={"Authorization": "Basic YTpi"}, user="nobody"),
        get(f"/api/v1/namespaces/{NS}/pods", user="controller"),
        get(f"{ING}/web", user="controller"),
        post(ING, web(), user="controller"),
        patch(f"{SVC}/tcp/scale", {}, user="controller"),
        get("/apis/networking.k8s.io/v1/ingresses?limit=500", user="controller", only_status=True),
        get("/apis/none.example.com/v1/things"),
        get("/apis/networking.k8s.io/v7/ingresses"),
        get("/apis/networking.k8s.io/v1/nothing"),
        get("/nothing"),
        get("/nothing", user="controller"),
        post(f"{ING}/web", web()),
        get(ING, headers={"Accept": "text/html"}, only_status=True),
        get(ING, headers={"Accept": "application/yaml;q=0.5, application/json"}),
        post(ING, web(), content_type="application/xml", only_status=True),
        Step("OPTIONS", ING, only_status=True),
        Step("HEAD", ING, only_status=True),
        post("/apis/networking.k8s.io/v1/namespaces/missing/ingresses", {**web(), "metadata": {"name": "web", "namespace": "missing"}}),
    ],
    "tables": [
        post(ING, web()),
        *[
            get(where, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
            for where in (ING, f"{ING}/web")
        ],
    ],
}
