# SPDX-License-Identifier: Apache-2.0
"""Namespaces: that of what is created, and those that may not be deleted."""

from __future__ import annotations

import datetime
import uuid
from .call import Call
from .resources import NAMESPACES
from .state import State
from .statuses import details, forbidden

PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_namespace(state: State, name: str) -> None:
    if state.store.get(NAMESPACES, "", name):
        return
    labels = {"kubernetes.io/metadata.name": name} if state.profile.minor >= 21 else {}
    obj = {
        "metadata": {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": now(), "labels": labels},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    state.store.put(NAMESPACES, obj)


def namespace_exists(call: Call) -> None:
    """Refuses creations in namespaces that are going; makes missing ones."""
    if not call.served.resource.namespaced:
        return
    make_namespace(call.state, call.namespace)
    record = call.state.store.get(NAMESPACES, "", call.namespace)
    if record is not None and record.fields["status.phase"] == "Terminating":
        text = f"unable to create new content in namespace {call.namespace} because it is being terminated"
        cause = {"reason": "NamespaceTerminating", "message": f"namespace {call.namespace} is being terminated", "field": "metadata.namespace"}
        about = details("", call.served.group, call.served.resource.plural, causes=[cause])
        raise forbidden(f'{call.served.qualified} "" is forbidden: {text}', about)


def namespace_may_go(name: str) -> None:
    if name in PROTECTED_NAMESPACES:
        raise forbidden(
            f'namespaces "{name}" is forbidden: this namespace may not be deleted',
            details(name, "", "namespaces"),
        )
