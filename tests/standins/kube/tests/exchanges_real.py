# SPDX-License-Identifier: Apache-2.0
"""Exchanges that a real API server and the stand-in are asked to have alike: what the watcher asks and writes (see test_real.py).

A scenario is a list of steps, had one after the other in a namespace of its own, `NS` in what is sent. Where a step needs something of an
answer before it, it is a function of the answers so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Union

from lib.cluster import Cluster
from standins.kube.public import MERGE, STRATEGIC

NS = "NS"
BUILD = Cluster("", NS)
UID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
ING = f"/apis/networking.k8s.io/v1/namespaces/{NS}/ingresses"
SVC = f"/api/v1/namespaces/{NS}/services"
EPS = f"/apis/discovery.k8s.io/v1/namespaces/{NS}/endpointslices"
SEC = f"/api/v1/namespaces/{NS}/secrets"
EVT = f"/api/v1/namespaces/{NS}/events"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
PLAIN = "application/json"
STREAMING = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


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


def web(name: str = "web") -> dict[str, Any]:
    return BUILD.ingress(name, [{"host": f"{name}.example.org", "paths": [("/", "Prefix", name, 80)]}])


def event(name: str, namespace: str = NS, **more: Any) -> dict[str, Any]:
    involved = {"kind": "Ingress", "apiVersion": "networking.k8s.io/v1", "namespace": NS, "name": "web", "uid": UID}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": involved,
        "reason": "Created",
        "message": "made a load balancer",
        "type": "Normal",
        "source": {"component": "sluice"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        **more,
    }


def balancer() -> dict[str, Any]:
    made = BUILD.service("tcp")
    made["spec"] |= {"type": "LoadBalancer", "loadBalancerClass": "sluice.io/load-balancer", "allocateLoadBalancerNodePorts": False}
    return made


def lease(**more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "sluice", "namespace": NS},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z", **more},
    }


def renewed(past: list[Any], **more: Any) -> Step:
    """The lease of the first answer is taken anew."""
    wanted = lease(**more)
    wanted["metadata"]["resourceVersion"] = revision(past[0])
    return put(f"{LEASES}/sluice", wanted)


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
        patch(f"{ING}/web", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC),
        get(f"{ING}/other"),
        get(ING),
        delete(f"{ING}/web"),
        delete(f"{ING}/web"),
        patch(f"{ING}/web", {"metadata": {"annotations": {"scale": "2"}}}),
    ],
    "ingress-status": [
        post(ING, {**web(), "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}),
        lambda past: patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"}, resourceVersion=revision(past[0]))),
        lambda past: patch(f"{ING}/web/status", addresses({"ip": "192.0.2.2"}, resourceVersion=revision(past[0]))),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}, {"ip": "2001:db8::1"})),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1", "ports": [{"port": 80, "protocol": "TCP"}]})),
        patch(f"{ING}/web/status", addresses({"ip": "lb1"})),
        patch(f"{ING}/web/status", addresses({"ip": "::ffff:192.0.2.1"}), only_status=True),
        patch(f"{ING}/web/status", addresses({"hostname": "LB_1.example"}), only_status=True),
        patch(f"{ING}/web/status", addresses({"hostname": "192.0.2.1"}), only_status=True),
        patch(f"{ING}/web/status", {"spec": {"rules": [{"host": "ignored"}]}, "status": {"loadBalancer": {"ingress": None}}}),
        get(f"{ING}/web/status"),
        patch(f"{ING}/none/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{ING}/web/status", addresses(uid=UID), only_status=True),
        lambda past: patch(f"{ING}/web/status", addresses({"ip": "192.0.2.9"}, resourceVersion="1", uid=past[0]["metadata"]["uid"])),
        lambda past: patch(f"{ING}/web/status?fieldManager=sluice", addresses({"ip": "192.0.2.9"}, uid=past[0]["metadata"]["uid"])),
        patch(f"{ING}/web/status", b"{", MERGE, only_status=True),
        patch(f"{ING}/web/status", addresses({"ip": "192.0.2.1"}), "text/plain", only_status=True),
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
        post(SVC, BUILD.service("plain")),
        patch(f"{SVC}/plain/status", addresses({"ip": "192.0.2.1"})),
        patch(f"{SVC}/plain/status", {"status": {"loadBalancer": {}}}),
        get(SVC),
    ],
    "slices-and-secrets": [
        post(EPS, BUILD.slice("web", ["10.1.2.3"])),
        patch(f"{EPS}/web-a", {"endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": False}, "zone": "z", "nodeName": "n"}]}),
        get(f"{EPS}?labelSelector=kubernetes.io%2Fservice-name%3Dweb"),
        get(f"{EPS}?labelSelector=kubernetes.io%2Fservice-name%3Dnone"),
        post(SEC, BUILD.tls_secret("cert", b"a", b"b")),
        post(SEC, BUILD.tls_secret("opaque", b"a", b"b") | {"type": "Opaque"}),
        get(f"{SEC}?fieldSelector=type%3Dkubernetes.io%2Ftls"),
        patch(f"{SEC}/cert", {"data": {"tls.crt": "Yg=="}}),
    ],
    "events": [
        post(EVT, event("web.1")),
        post(EVT, event("web.1")),
        patch(f"{EVT}/web.1", {"count": 3, "lastTimestamp": "2026-01-02T00:00:00Z"}),
        patch(f"{EVT}/web.none", {"count": 2}),
        post(EVT, event("wrong", involvedObject={"kind": "Ingress", "namespace": "default", "name": "web"})),
        post(EVT, event("long", message="x" * 2000)),
        get(f"{EVT}?fieldSelector=involvedObject.name%3Dweb"),
    ],
    "leases": [
        post(LEASES, lease()),
        post(LEASES, lease()),
        renewed,
        lambda past: renewed(past, holderIdentity="b", leaseTransitions=1),
        lambda past: renewed(past, holderIdentity="c"),
        get(f"{LEASES}/sluice"),
    ],
    "lists": [
        *[post(ING, web(f"w{number}")) for number in range(5)],
        get(ING),
        get(f"{ING}?limit=2"),
        lambda past: get(f"{ING}?limit=2&continue={past[-1]['metadata']['continue']}"),
        lambda past: get(f"{ING}?limit=2&continue={past[-1]['metadata']['continue']}"),
        get(f"{ING}?limit=2&continue=nonsense", only_status=True),
        get(f"{ING}?limit=2&resourceVersion=0"),
        lambda past: get(f"{ING}?resourceVersion={revision(past[5])}&resourceVersionMatch=NotOlderThan"),
        get(f"{ING}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan"),
        get(f"{ING}?fieldSelector=metadata.name%3Dw3"),
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
    ],
    "streaming-lists": [
        *[post(ING, web(name)) for name in ("one", "two")],
        watch(ING, f"{STREAMING}&allowWatchBookmarks=true"),
        watch(ING, f"{STREAMING}&allowWatchBookmarks=true&resourceVersion=0"),
        lambda past: watch(ING, f"{STREAMING}&allowWatchBookmarks=true&resourceVersion={revision(past[0])}"),
        watch(ING, STREAMING),
        watch(ING, "sendInitialEvents=true&allowWatchBookmarks=true"),
        watch(f"/api/v1/namespaces/{NS}/secrets", f"{STREAMING}&allowWatchBookmarks=true&fieldSelector=type%3Dkubernetes.io%2Ftls"),
    ],
    "refusals": [
        get(ING, user="nobody"),
        get(ING, headers={"Authorization": "Bearer wrong"}, user="nobody"),
        get(f"/api/v1/namespaces/{NS}/pods", user="controller"),
        get(f"{ING}/web", user="controller"),
        post(ING, web(), user="controller"),
        get("/apis/networking.k8s.io/v1/ingresses?limit=500", user="controller", only_status=True),
        get("/apis/none.example.com/v1/things"),
        get("/apis/networking.k8s.io/v7/ingresses"),
        get("/apis/networking.k8s.io/v1/nothing"),
        get("/nothing"),
    ],
    "tables": [
        post(ING, web()),
        get(ING, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}),
    ],
}
