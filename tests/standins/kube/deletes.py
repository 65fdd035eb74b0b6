# SPDX-License-Identifier: Apache-2.0
"""delete, finalizers, and the end of namespaces."""

from __future__ import annotations

import asyncio
from typing import Any

from . import admission, negotiate, statuses
from .call import CHANGED, NOOP, Answer, Call
from .encoding import to_json
from .resources import NAMESPACES, RESOURCES
from .state import State
from .statuses import details
from .store import Record

# Namespaces end a moment after the request, as with the controller of a real cluster.
NAMESPACE_ENDS_S = 0.02


async def delete(call: Call) -> Answer:
    record = call.state.store.get(call.served.resource, call.namespace, call.info.name)
    if record is None:
        raise statuses.not_found(call.served, call.info.name)
    left = _delete(call.state, record)
    if left is None:
        gone = details(record.name, call.served.group, call.served.resource.plural, uid=record.uid)
        return Answer(200, to_json(statuses.success(gone)) + b"\n", effect=CHANGED)
    effect = CHANGED if left is not record else NOOP
    return Answer(200, negotiate.one(call.served, left, call.as_table), effect=effect)


def _delete(state: State, record: Record) -> Record | None:
    """Deletes, or marks as going when finalizers hold it. Returns what is left."""
    if record.resource is NAMESPACES:
        return _end_namespace(state, record)
    obj = record.obj()
    if obj["metadata"].get("finalizers"):
        return record if obj["metadata"].get("deletionTimestamp") else _mark(state, record, obj)
    remove(state, record)
    return None


def _mark(state: State, record: Record, obj: dict[str, Any]) -> Record:
    meta = obj["metadata"] | {"deletionTimestamp": admission.now(), "deletionGracePeriodSeconds": 0}
    if meta.get("generation"):
        meta["generation"] += 1
    return state.store.put(record.resource, obj | {"metadata": meta})


def remove(state: State, record: Record) -> None:
    state.store.delete(record)
    if record.namespace:
        finish_namespace(state, record.namespace)


def _end_namespace(state: State, record: Record) -> Record:
    admission.namespace_may_go(record.name)
    obj = record.obj()
    if obj["metadata"].get("deletionTimestamp"):
        return record
    obj["status"]["phase"] = "Terminating"
    left = _mark(state, record, obj)
    asyncio.get_running_loop().call_later(NAMESPACE_ENDS_S, _empty_namespace, state, record.name)
    return left


def _empty_namespace(state: State, name: str) -> None:
    for resource in RESOURCES:
        if resource.namespaced:
            for record in list(state.store.table(resource).view().range(name)):
                _delete(state, record)
    finish_namespace(state, name)


def finish_namespace(state: State, name: str) -> None:
    record = state.store.get(NAMESPACES, "", name)
    if record is None or record.fields["status.phase"] != "Terminating":
        return
    tables = (state.store.table(resource) for resource in RESOURCES if resource.namespaced)
    if not any(any(True for _ in table.view().range(name)) for table in tables):
        state.store.delete(record)
