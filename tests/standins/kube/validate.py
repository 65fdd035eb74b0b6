# SPDX-License-Identifier: Apache-2.0
"""Validation of metadata, and the way to the validators of each type."""

from __future__ import annotations

from typing import Any, Callable

from . import names, validate_core, validate_networking
from .profiles import Profile
from .resources import Resource
from .statuses import FieldError, forbids, invalid, required, too_long

ANNOTATIONS_MAX = 256 * 1024
Validator = Callable[[dict, "dict | None", Profile], list[FieldError]]


def validate(
    resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None, profile: Profile
) -> list[FieldError]:
    """All complaints about a write of `obj` (stored form) that replaces `old`."""
    found = _metadata(resource, obj["metadata"], (old or {}).get("metadata"), profile)
    validator = _VALIDATORS.get(resource.plural)
    return found + (validator(obj, old, profile) if validator else [])


def validate_status(
    resource: Resource, obj: dict[str, Any], old: dict[str, Any], profile: Profile
) -> list[FieldError]:
    """All complaints about a write of the status subresource."""
    found = _metadata(resource, obj["metadata"], old["metadata"], profile)
    validator = _STATUS_VALIDATORS.get(resource.plural)
    return found + (validator(obj, old, profile) if validator else [])


def _metadata(resource: Resource, meta: dict, old: dict | None, profile: Profile) -> list[FieldError]:
    found = []
    name = meta.get("name", "")
    if not name:
        found.append(required("metadata.name", "name or generateName is required"))
    elif old is None:
        checks = _NAMES | ({"services": names.label} if profile.relaxed_service_names else {})
        complaint = checks.get(resource.plural, names.subdomain)(name)
        if complaint:
            found.append(invalid("metadata.name", name, complaint))
    for key, value in (meta.get("labels") or {}).items():
        found += [invalid("metadata.labels", key, text) for text in [names.qualified(key)] if text]
        found += [invalid("metadata.labels", value, text) for text in [names.label_value(value)] if text]
    annotations = meta.get("annotations") or {}
    for key in annotations:
        found += [
            invalid("metadata.annotations", key, text) for text in [names.qualified(key.lower())] if text
        ]
    if (
        sum(
            len(key.encode("utf-8", "replace")) + len(value.encode("utf-8", "replace"))
            for key, value in annotations.items()
        )
        > ANNOTATIONS_MAX
    ):
        found.append(too_long("metadata.annotations", ANNOTATIONS_MAX))
    for index, finalizer in enumerate(meta.get("finalizers") or ()):
        complaint = names.finalizer(finalizer)
        if complaint:
            found.append(invalid(f"metadata.finalizers[{index}]", finalizer, complaint))
    if old is not None:
        # Up to 1.36 the server looks twice, once for all types and once for each.
        found += profile.metadata_checks * _metadata_update(meta, old)
    return found


def _metadata_update(meta: dict, old: dict) -> list[FieldError]:
    found = []
    if meta.get("uid") != old.get("uid"):
        found.append(invalid("metadata.uid", meta.get("uid"), "field is immutable"))
    if old.get("deletionTimestamp"):
        new = [name for name in meta.get("finalizers") or () if name not in (old.get("finalizers") or ())]
        if new:
            listed = ", ".join(f'"{name}"' for name in new)
            found.append(
                forbids(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    f"found new finalizers []string{{{listed}}}",
                )
            )
    return found


_NAMES: dict[str, Callable[[str], str]] = {
    "services": names.label_1035,
    "namespaces": names.label,
    "roles": lambda name: "",
    "clusterroles": lambda name: "",
    "rolebindings": lambda name: "",
    "clusterrolebindings": lambda name: "",
}
_VALIDATORS: dict[str, Validator] = {
    "ingresses": validate_networking.ingress,
    "ingressclasses": validate_networking.ingress_class,
    "services": validate_core.service,
    "secrets": validate_core.secret,
    "configmaps": validate_core.config_map,
    "events": validate_core.event,
    "endpoints": validate_core.endpoints,
    "endpointslices": validate_core.endpoint_slice,
    "leases": validate_core.lease,
}
_STATUS_VALIDATORS: dict[str, Validator] = {
    "ingresses": validate_networking.ingress_status,
    "services": validate_core.service_status,
}
