# SPDX-License-Identifier: Apache-2.0
"""Validation of what the watcher writes: metadata, the status of Ingresses and Services, Events, Leases. What users write is taken as it
is; the tests that run against a real API server show that it takes it, too."""

from __future__ import annotations

from typing import Any, Callable

from . import names
from .profiles import Profile
from .resources import Resource
from .statuses import FieldError, forbids, invalid, required, too_long, unsupported

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
ANNOTATIONS_MAX = 256 * 1024
MESSAGE_MAX = 1024
Validator = Callable[[dict, "dict | None", Profile], list[FieldError]]


def validate(resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None, profile: Profile) -> list[FieldError]:
    """All complaints about a write of `obj` (stored form) that replaces `old`."""
    found = _metadata(resource, obj["metadata"], (old or {}).get("metadata"), profile)
    validator = _VALIDATORS.get(resource.plural)
    return found + (validator(obj, old, profile) if validator else [])


def validate_status(resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None, profile: Profile) -> list[FieldError]:
    """All complaints about a write of the status subresource."""
    found = _metadata(resource, obj["metadata"], (old or {}).get("metadata"), profile)
    validator = _STATUS_VALIDATORS.get(resource.plural)
    return found + (validator(obj, old, profile) if validator else [])


def _metadata(resource: Resource, meta: dict, old: dict | None, profile: Profile) -> list[FieldError]:
    found = []
    name, annotations = meta.get("name", ""), meta.get("annotations") or {}
    if not name:
        found.append(required("metadata.name", "name or generateName is required"))
    elif old is None:
        complaint = (names.label if resource.plural in ("services", "namespaces") else names.subdomain)(name)
        found += [invalid("metadata.name", name, text) for text in [complaint] if text]
    for key in annotations:
        found += [invalid("metadata.annotations", key, text) for text in [names.qualified(key.lower())] if text]
    if sum(len(text.encode("utf-8", "replace")) for pair in annotations.items() for text in pair) > ANNOTATIONS_MAX:
        found.append(too_long("metadata.annotations", ANNOTATIONS_MAX))
    for index, finalizer in enumerate(meta.get("finalizers") or ()):
        found += [invalid(f"metadata.finalizers[{index}]", finalizer, text) for text in [names.finalizer(finalizer)] if text]
    if old is not None:
        # Up to 1.36 the server looks twice, once for all types and once for each.
        found += profile.metadata_checks * _metadata_update(meta, old)
    return found


def _metadata_update(meta: dict, old: dict) -> list[FieldError]:
    found = []
    if meta.get("uid") != old.get("uid"):
        found.append(invalid("metadata.uid", meta.get("uid"), "field is immutable"))
    new = [name for name in meta.get("finalizers") or () if name not in (old.get("finalizers") or ())]
    if old.get("deletionTimestamp") and new:
        listed = ", ".join(f'"{name}"' for name in new)
        text = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
        found.append(forbids("metadata.finalizers", text))
    return found


STATUS_PATH = "status.loadBalancer.ingress"


def _entries(obj: dict | None) -> list[dict]:
    return (obj or {}).get("status", {}).get("loadBalancer", {}).get("ingress") or []


def _ingress_status(obj: dict, _old: dict | None, _profile: Profile) -> list[FieldError]:
    """The addresses of the load balancer."""
    found = []
    for index, entry in enumerate(_entries(obj)):
        ip, host, path = entry.get("ip", ""), entry.get("hostname", ""), f"{STATUS_PATH}[{index}]"
        if ip and names.address(ip):
            found.append(invalid(f"{path}.ip", ip, names.address(ip)))
        if host and names.subdomain(host):
            found.append(invalid(f"{path}.hostname", host, names.subdomain(host)))
        if host and names.is_address(host):
            found.append(invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address"))
    return found


def _service_status(obj: dict, old: dict | None, profile: Profile) -> list[FieldError]:
    """The addresses of the load balancer; only of Services that ask for one."""
    entries = _entries(obj)
    if profile.status_only_of_balancers and entries and entries != _entries(old) and obj["spec"]["type"] != "LoadBalancer":
        return [forbids(STATUS_PATH, "may only be used when `spec.type` is 'LoadBalancer'")]
    found = _ingress_status(obj, old, profile)
    for index, entry in enumerate(entries):
        mode, path = entry.get("ipMode"), f"{STATUS_PATH}[{index}].ipMode"
        if mode is not None and not entry.get("ip"):
            found.append(forbids(path, "may not be specified when `ip` is not set"))
        elif mode not in (None, "VIP", "Proxy"):
            found.append(unsupported(path, mode, ["VIP", "Proxy"]))
    return found


def _event(obj: dict, _old: dict | None, _profile: Profile) -> list[FieldError]:
    """The namespace, and for those with an instant the fields that the newer API demands."""
    involved, namespace = obj["involvedObject"].get("namespace", ""), obj["metadata"].get("namespace", "")
    found: list[FieldError] = []
    if involved != namespace and not (not involved and namespace in ("default", "kube-system")):
        found.append(invalid("involvedObject.namespace", involved, "does not match event.namespace"))
    if obj.get("eventTime"):
        found += [required(key) for key in ("reportingComponent", "reportingInstance", "action", "reason") if not obj.get(key)]
        if obj.get("type") not in ("Normal", "Warning"):
            found.append(invalid("type", obj.get("type", ""), "has invalid value"))
        if len(obj.get("message", "").encode("utf-8", "replace")) > MESSAGE_MAX:
            found.append(invalid("message", "", f"can have at most {MESSAGE_MAX} characters"))
    return found


def _lease(obj: dict, _old: dict | None, _profile: Profile) -> list[FieldError]:
    spec, found = obj["spec"], []
    for key, low, text in (("leaseDurationSeconds", 1, "must be greater than 0"), ("leaseTransitions", 0, "must be greater than or equal to 0")):
        if spec.get(key, low) < low:
            found.append(invalid(f"spec.{key}", spec[key], text))
    return found


_VALIDATORS: dict[str, Validator] = {"events": _event, "leases": _lease}
_STATUS_VALIDATORS: dict[str, Validator] = {"ingresses": _ingress_status, "services": _service_status}
