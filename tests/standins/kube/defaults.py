# SPDX-License-Identifier: Apache-2.0
"""What becomes of an object that is stored: the form in which equal ones are equal, defaults, cluster addresses
of Services."""

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
    "endpointslices": _slice,
    "secrets": _secret,
    "namespaces": _namespace,
}


class ServiceAllocator:
    def __init__(self) -> None:
        self._addresses = (str(address) for address in ipaddress.ip_network("10.96.0.0/12").hosts())

    def fill(self, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        """Gives a Service its address; what the old one held is kept where the new one does not say."""
        if obj["spec"]["type"] != "LoadBalancer":
            obj["spec"].pop("loadBalancerClass", None)
            obj["status"]["loadBalancer"] = {}
        if obj["spec"]["type"] == "ExternalName":
            obj["spec"].pop("clusterIP", None)
        elif not obj["spec"].get("clusterIP"):
            obj["spec"]["clusterIP"] = (old or {}).get("spec", {}).get("clusterIP") or next(self._addresses)
