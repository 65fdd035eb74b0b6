# SPDX-License-Identifier: Apache-2.0
"""Validation of what the watcher writes: finalizers, addresses, Events, Leases.

What users write is taken as it is; the tests that run against a real API server show that it takes it, too.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from .profiles import Profile
from .resources import EVENTS, INGRESSES, LEASES, SERVICES, Resource
from .statuses import FieldError, forbids, invalid

ADDRESSES = "status.loadBalancer.ingress"
MESSAGE_MAX = 1024
LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
HOST_MAX = 253


def validate(
    resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None, subresource: str, profile: Profile
) -> list[FieldError]:
    """All complaints about a write of `obj` (stored form) that replaces `old`."""
    found = _finalizers(obj["metadata"], old["metadata"]) if old else []
    if subresource == "status" and resource in (INGRESSES, SERVICES):
        found += _addresses(resource, obj, old or {}, profile)
    elif resource is EVENTS:
        found += _event(obj)
    elif resource is LEASES and obj["spec"].get("leaseDurationSeconds", 1) < 1:
        found.append(invalid("spec.leaseDurationSeconds", obj["spec"]["leaseDurationSeconds"], "must be greater than 0"))
    return found


def _finalizers(meta: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    new = [name for name in meta.get("finalizers") or () if name not in (old.get("finalizers") or ())]
    if not new or not old.get("deletionTimestamp"):
        return []
    text = f"no new finalizers can be added if the object is being deleted, found new finalizers {new}"
    return [forbids("metadata.finalizers", text)]


def _entries(obj: dict[str, Any]) -> list[dict[str, Any]]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def _addresses(resource: Resource, obj: dict[str, Any], old: dict[str, Any], profile: Profile) -> list[FieldError]:
    entries = _entries(obj)
    is_refused = resource is SERVICES and profile.status_only_of_balancers and obj["spec"]["type"] != "LoadBalancer"
    if is_refused and entries and entries != _entries(old):
        return [forbids(ADDRESSES, "may only be used when `spec.type` is 'LoadBalancer'")]
    found = []
    for index, entry in enumerate(entries):
        ip, host = entry.get("ip", ""), entry.get("hostname", "")
        if ip and not _is_address(ip):
            text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            found.append(invalid(f"{ADDRESSES}[{index}].ip", ip, text))
        if host and (_is_address(host) or len(host) > HOST_MAX or not re.fullmatch(rf"{LABEL}(\.{LABEL})*", host)):
            found.append(invalid(f"{ADDRESSES}[{index}].hostname", host, "must be a DNS name"))
    return found


def _is_address(text: str) -> bool:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text and getattr(found, "ipv4_mapped", None) is None


def _event(obj: dict[str, Any]) -> list[FieldError]:
    """The namespace, and what the newer API demands of those with an instant."""
    involved, namespace = obj["involvedObject"].get("namespace", ""), obj["metadata"].get("namespace", "")
    found = []
    if involved != namespace and (involved or namespace not in ("default", "kube-system")):
        found.append(invalid("involvedObject.namespace", involved, "does not match event.namespace"))
    if obj.get("eventTime"):
        needed = ("reportingComponent", "reportingInstance", "action", "reason")
        found += [invalid(key, "", "is required") for key in needed if not obj.get(key)]
        if len(obj.get("message", "").encode("utf-8", "replace")) > MESSAGE_MAX:
            found.append(invalid("message", "", f"can have at most {MESSAGE_MAX} characters"))
    return found
