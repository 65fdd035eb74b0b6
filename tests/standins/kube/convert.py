# SPDX-License-Identifier: Apache-2.0
"""Conversion between the stored form of an object, which is that of the newest version, and the group versions in
which it is served."""

from __future__ import annotations

from typing import Any

from .resources import BEFORE_18, BETA, ENDPOINT_SLICES, INGRESSES, Served

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def from_hub(served: Served, obj: dict[str, Any]) -> dict[str, Any]:
    """Turns a stored object (changed in place) into the form of `served`."""
    if served.resource is INGRESSES and served.form in (BETA, BEFORE_18):
        _ingress_to_beta(obj, served.form == BEFORE_18)
    elif served.resource is ENDPOINT_SLICES and served.form == BETA:
        _slice_to_beta(obj)
    return obj


def to_hub(served: Served, obj: dict[str, Any]) -> dict[str, Any]:
    """Turns an object of version `served` (changed in place) into the stored form. Old slices are never written."""
    if served.resource is INGRESSES and served.form in (BETA, BEFORE_18):
        _ingress_from_beta(obj, served.form == BEFORE_18)
    return obj


def _paths(obj: dict) -> list[dict]:
    rules = (obj.get("spec") or {}).get("rules") or ()
    return [path for rule in rules for path in (rule.get("http") or {}).get("paths") or ()]


def _backends(obj: dict, default: str) -> list[dict]:
    spec = obj.get("spec") or {}
    return [*([spec[default]] if default in spec else []), *(path["backend"] for path in _paths(obj))]


def _ingress_to_beta(obj: dict, before_18: bool) -> None:
    spec = obj.get("spec") or {}
    if "defaultBackend" in spec:
        spec["backend"] = spec.pop("defaultBackend")
    for backend in _backends(obj, "backend"):
        service = backend.pop("service", None)
        if service is not None:
            port = service.get("port") or {}
            backend |= {"serviceName": service.get("name", ""), "servicePort": port.get("name") or port.get("number", 0)}
    if before_18:
        _forget_newer(obj)


def _ingress_from_beta(obj: dict, before_18: bool) -> None:
    if before_18:
        _forget_newer(obj)
    spec = obj.get("spec") or {}
    if "backend" in spec:
        spec["defaultBackend"] = spec.pop("backend")
    for path in _paths(obj):
        path.setdefault("pathType", "ImplementationSpecific")
    for backend in _backends(obj, "defaultBackend"):
        if "serviceName" in backend or "servicePort" in backend:
            port = backend.pop("servicePort", 0)
            backend["service"] = {
                "name": backend.pop("serviceName", ""),
                "port": {"name": port} if isinstance(port, str) else {"number": port},
            }


def _forget_newer(obj: dict) -> None:
    """Releases before 1.18 know neither path types nor the class field."""
    (obj.get("spec") or {}).pop("ingressClassName", None)
    for path in _paths(obj):
        path.pop("pathType", None)


def _slice_to_beta(obj: dict) -> None:
    for endpoint in obj.get("endpoints") or ():
        topology = {}
        if endpoint.get("zone"):
            topology[ZONE] = endpoint.pop("zone")
        if endpoint.get("nodeName"):
            topology[HOST] = endpoint["nodeName"]
        endpoint["topology"] = topology
