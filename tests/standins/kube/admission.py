# SPDX-License-Identifier: Apache-2.0
"""What the server checks and changes on creation, besides validation: namespaces, and the default
IngressClass."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

from . import statuses
from .call import Call
from .resources import INGRESS_CLASSES, NAMESPACES
from .state import State
from .statuses import details, forbidden

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"
PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")


def now() -> str:
    """The present instant as object times are written."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_namespace(state: State, name: str) -> None:
    """Stores a namespace unless it exists."""
    if state.store.get(NAMESPACES, "", name):
        return
    labels = {"kubernetes.io/metadata.name": name} if state.profile.minor >= 21 else {}
    obj = {
        "metadata": {
            "name": name,
            "uid": str(uuid.uuid4()),
            "resourceVersion": "0",
            "creationTimestamp": now(),
            "labels": labels,
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    state.store.put(NAMESPACES, obj)


def namespace_exists(call: Call) -> None:
    """Refuses creations in namespaces that are missing or going; may make missing ones."""
    namespace = call.namespace
    if not call.served.resource.namespaced:
        return
    record = call.state.store.get(NAMESPACES, "", namespace)
    if record is None:
        if call.state.settings.strict_namespaces:
            raise statuses.not_found(NAMESPACES.hub, namespace)
        make_namespace(call.state, namespace)
    elif record.fields["status.phase"] == "Terminating":
        name = call.info.name
        raise forbidden(
            f'{call.served.qualified} "{name}" is forbidden: unable to create new content in namespace '
            f"{namespace} because it is being terminated",
            details(
                name,
                call.served.group,
                call.served.resource.plural,
                causes=[
                    {
                        "reason": "NamespaceTerminating",
                        "message": f"namespace {namespace} is being terminated",
                        "field": "metadata.namespace",
                    }
                ],
            ),
        )


def default_ingress_class(call: Call, obj: dict[str, Any]) -> None:
    """Fills spec.ingressClassName of a new Ingress that has neither field nor annotation."""
    annotations = obj["metadata"].get("annotations") or {}
    if "ingressClassName" in obj["spec"] or CLASS_ANNOTATION in annotations:
        return
    classes = call.state.store.table(INGRESS_CLASSES).records.values()
    default = [
        record.name
        for record in classes
        if (record.obj()["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    ]
    if len(default) > 1:
        name = obj["metadata"].get("name", "")
        raise forbidden(
            f'{call.served.qualified} "{name}" is forbidden: {len(default)} default IngressClasses were '
            "found, only 1 allowed",
            details(name, call.served.group, call.served.resource.plural),
        )
    if default:
        obj["spec"]["ingressClassName"] = default[0]


def namespace_may_go(name: str) -> None:
    """Refuses the deletion of namespaces that the server itself needs."""
    if name in PROTECTED_NAMESPACES:
        raise forbidden(
            f'namespaces "{name}" is forbidden: this namespace may not be deleted',
            details(name, "", "namespaces"),
        )
