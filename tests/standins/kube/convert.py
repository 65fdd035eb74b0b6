# SPDX-License-Identifier: Apache-2.0
"""Conversion between the stored form of an object and the group versions it is served in."""

from __future__ import annotations

from typing import Any, Callable

from .resources import ENDPOINT_SLICES, INGRESSES, Served
from .schema import decode

Convert = Callable[[dict], None]


def from_hub(served: Served, obj: dict[str, Any]) -> dict[str, Any]:
    """Turns a stored object (changed in place) into the form of `served`, canonical."""
    convert = _FROM.get((served.resource, served.api_version))
    if convert is None:
        return obj
    convert(obj)
    return decode(served.shape, obj)


def to_hub(served: Served, obj: dict[str, Any]) -> dict[str, Any]:
    """Turns a decoded object of version `served` (changed in place) into the stored form, canonical."""
    convert = _TO.get((served.resource, served.api_version))
    if convert is None:
        return obj
    convert(obj)
    return decode(served.resource.hub.shape, obj)


def _rename(obj: dict | None, *pairs: tuple[str, str]) -> None:
    for old, new in pairs:
        if obj is not None and old in obj:
            obj[new] = obj.pop(old)


def _backends(obj: dict) -> list[dict]:
    spec = obj.get("spec") or {}
    found = [spec[key] for key in ("backend", "defaultBackend") if key in spec]
    for rule in spec.get("rules") or ():
        found += [path["backend"] for path in (rule.get("http") or {}).get("paths") or ()]
    return found


def _ingress_to_beta(obj: dict) -> None:
    _rename(obj.get("spec"), ("defaultBackend", "backend"))
    for backend in _backends(obj):
        service = backend.pop("service", None)
        if service is None:
            continue
        backend["serviceName"] = service.get("name", "")
        port = service.get("port") or {}
        backend["servicePort"] = port.get("name") or port.get("number", 0)


def _ingress_from_beta(obj: dict) -> None:
    _rename(obj.get("spec"), ("backend", "defaultBackend"))
    for rule in (obj.get("spec") or {}).get("rules") or ():
        for path in (rule.get("http") or {}).get("paths") or ():
            path.setdefault("pathType", "ImplementationSpecific")
    for backend in _backends(obj):
        if "serviceName" not in backend and "servicePort" not in backend:
            continue
        port = backend.pop("servicePort", 0)
        backend["service"] = {
            "name": backend.pop("serviceName", ""),
            "port": {"name": port} if isinstance(port, str) else {"number": port},
        }


_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def _slice_to_beta(obj: dict) -> None:
    for endpoint in obj.get("endpoints") or ():
        topology = endpoint.pop("deprecatedTopology", None) or {}
        if endpoint.get("zone"):
            topology[_ZONE] = endpoint.pop("zone")
        if endpoint.get("nodeName"):
            topology[_HOST] = endpoint["nodeName"]
        endpoint["topology"] = topology


def _slice_from_beta(obj: dict) -> None:
    for endpoint in obj.get("endpoints") or ():
        topology = endpoint.pop("topology", None) or {}
        if _ZONE in topology:
            endpoint["zone"] = topology.pop(_ZONE)
        if _HOST in topology:
            endpoint.setdefault("nodeName", topology[_HOST])
            topology.pop(_HOST)
        endpoint["deprecatedTopology"] = topology


_FROM: dict[tuple, Convert] = {}
_TO: dict[tuple, Convert] = {}
for _version in ("networking.k8s.io/v1beta1", "extensions/v1beta1"):
    _FROM[INGRESSES, _version], _TO[INGRESSES, _version] = _ingress_to_beta, _ingress_from_beta
_FROM[ENDPOINT_SLICES, "discovery.k8s.io/v1beta1"] = _slice_to_beta
_TO[ENDPOINT_SLICES, "discovery.k8s.io/v1beta1"] = _slice_from_beta
