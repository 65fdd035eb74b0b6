# SPDX-License-Identifier: Apache-2.0
"""What becomes of an object that is stored: the form in which equal ones are equal, defaults, cluster addresses and
node ports of Services."""

from __future__ import annotations

import base64
import copy
import ipaddress
from typing import Any, Callable

from .profiles import Profile
from .resources import Resource

SHOWN: dict[str, dict[str, Any]] = {
    "services": {"spec": {}, "status": {"loadBalancer": {}}},
    "ingresses": {"spec": {}, "status": {"loadBalancer": {}}},
    "ingressclasses": {"spec": {}},
    "namespaces": {"spec": {}, "status": {}},
    "leases": {"spec": {}},
    "endpointslices": {"addressType": "", "endpoints": None, "ports": None},
    "events": {
        "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
        "reportingComponent": "", "reportingInstance": "",
    },
}
SERVICE_CLASSIC_TYPES = ("ClusterIP", "NodePort", "LoadBalancer")
NODE_PORTS = range(30000, 32768)


def canonical(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what says nothing, with the members that are always shown; metadata comes first."""
    meta = {key: value for key, value in _without_nothing(obj["metadata"]).items() if value != {}}
    meta |= {key: dict(sorted(meta[key].items())) for key in ("labels", "annotations") if key in meta}
    rest = {key: _without_nothing(value) for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
    shown = copy.deepcopy(SHOWN.get(resource.plural, {}))
    return {"metadata": meta} | shown | {key: value for key, value in rest.items() if value is not None}


def _without_nothing(value: Any) -> Any:
    """Storage knows no difference between null, an empty list and nothing."""
    if isinstance(value, dict):
        kept = {key: _without_nothing(inner) for key, inner in value.items()}
        return {key: inner for key, inner in kept.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nothing(inner) for inner in value] or None
    return value


def apply_defaults(resource: Resource, obj: dict[str, Any], profile: Profile) -> None:
    """Completes an object in stored form, in place."""
    if resource.status and resource.plural != "namespaces":
        obj["status"] = {"loadBalancer": {}} | (obj.get("status") or {})
    fill = _DEFAULTS.get(resource.plural)
    if fill:
        fill(obj, profile)


def _service(obj: dict, profile: Profile) -> None:
    spec = obj["spec"]
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port["port"]
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {}).setdefault(
            "timeoutSeconds", 10800
        )
    if spec["type"] in SERVICE_CLASSIC_TYPES and profile.minor >= 21:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer" and profile.minor >= 20:
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if profile.ip_mode:
        for entry in obj["status"]["loadBalancer"].get("ingress") or ():
            if entry.get("ip"):
                entry.setdefault("ipMode", "VIP")
    _drop_status_ports(obj, profile)


def _ingress(obj: dict, profile: Profile) -> None:
    _drop_status_ports(obj, profile)


def _drop_status_ports(obj: dict, profile: Profile) -> None:
    if not profile.status_ports:
        for entry in obj["status"]["loadBalancer"].get("ingress") or ():
            entry.pop("ports", None)


def _endpoints(obj: dict, _: Profile) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _slice(obj: dict, _: Profile) -> None:
    for endpoint in obj.get("endpoints") or ():
        endpoint.setdefault("conditions", {})
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _secret(obj: dict, _: Profile) -> None:
    obj.setdefault("type", "Opaque")
    written = obj.pop("stringData", None)
    if written:
        data = obj.setdefault("data", {})
        data.update(
            {key: base64.b64encode(text.encode("utf-8", "replace")).decode() for key, text in written.items()}
        )
        obj["data"] = dict(sorted(data.items()))


def _ingress_class(obj: dict, profile: Profile) -> None:
    if "parameters" in obj["spec"] and profile.minor >= 21:
        obj["spec"]["parameters"].setdefault("scope", "Cluster")


def _namespace(obj: dict, profile: Profile) -> None:
    if not obj["metadata"].get("deletionTimestamp"):
        obj["spec"].setdefault("finalizers", ["kubernetes"])
    obj["status"].setdefault("phase", "Active")
    if profile.minor >= 21:
        labels = obj["metadata"].setdefault("labels", {})
        labels["kubernetes.io/metadata.name"] = obj["metadata"].get("name", "")


_DEFAULTS: dict[str, Callable[[dict, Profile], None]] = {
    "services": _service,
    "ingresses": _ingress,
    "endpoints": _endpoints,
    "endpointslices": _slice,
    "secrets": _secret,
    "ingressclasses": _ingress_class,
    "namespaces": _namespace,
}


def drop_service_fields(obj: dict[str, Any], old: dict[str, Any] | None, profile: Profile) -> None:
    """Takes away what the type of a Service has no use for, as far as the write left it alone, addresses too."""
    spec, before = obj["spec"], (old or {}).get("spec") or {}
    if not profile.balancer_class:
        spec.pop("loadBalancerClass", None)
    if spec["type"] == "LoadBalancer":
        return
    if before.get("type") == "LoadBalancer":
        for key in ("loadBalancerClass", "allocateLoadBalancerNodePorts"):
            if spec.get(key) == before.get(key):
                spec.pop(key, None)
    policy = spec.get("externalTrafficPolicy")
    if spec["type"] != "NodePort" and policy == before.get("externalTrafficPolicy"):
        spec.pop("externalTrafficPolicy", None)
    obj["status"]["loadBalancer"] = {}


class ServiceAllocator:
    """Hands out cluster addresses and node ports. What is in use is told by the Services themselves."""

    def __init__(self, network: str = "10.96.0.0/12"):
        self._network = ipaddress.ip_network(network)
        self._next = 10
        self._addresses: set[str] = set()
        self._ports: set[int] = set()

    def fill(self, obj: dict[str, Any], old: dict[str, Any] | None, profile: Profile) -> None:
        """Completes the spec of a Service; what the old one held is kept where the new one does not say."""
        spec, before = obj["spec"], (old or {}).get("spec") or {}
        if spec["type"] not in SERVICE_CLASSIC_TYPES:
            for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
                spec.pop(key, None)
            return
        if not spec.get("clusterIP"):
            spec["clusterIP"] = before.get("clusterIP") or self._address()
        self._addresses.add(spec["clusterIP"])
        if profile.minor >= 20:
            if not spec.get("clusterIPs"):
                spec["clusterIPs"] = [spec["clusterIP"]]
            for key, value in (("ipFamilies", ["IPv4"]), ("ipFamilyPolicy", "SingleStack")):
                spec.setdefault(key, before.get(key) or value)
        if spec["type"] == "ClusterIP" or spec.get("allocateLoadBalancerNodePorts") is False:
            return
        kept = {
            (port["port"], port.get("protocol")): port.get("nodePort") for port in before.get("ports") or ()
        }
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                port["nodePort"] = kept.get((port["port"], port.get("protocol"))) or self._port()
            self._ports.add(port["nodePort"])

    def release(self, obj: dict[str, Any]) -> None:
        """Takes back what a deleted Service held."""
        self._addresses.discard(obj["spec"].get("clusterIP", ""))
        self._ports -= {port.get("nodePort", 0) for port in obj["spec"].get("ports") or ()}

    def _address(self) -> str:
        while True:
            address = str(self._network[self._next % (self._network.num_addresses - 1) or 1])
            self._next += 1
            if address not in self._addresses:
                return address

    def _port(self) -> int:
        return next(port for port in NODE_PORTS if port not in self._ports)
