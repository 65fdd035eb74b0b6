# SPDX-License-Identifier: Apache-2.0
"""managedFields: who wrote which fields last.

Of status and metadata they name what the watcher looks for, addresses and finalizers; of all else whole members. See
"Server-Side Apply" in the Kubernetes documentation; apply itself is not needed here.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]
ADDRESSES: Path = ("f:status", "f:loadBalancer", "f:ingress")
FINALIZERS: Path = ("f:metadata", "f:finalizers")
UNOWNED = ("kind", "apiVersion", "metadata", "status")


@dataclass(frozen=True)
class Writer:
    manager: str
    api_version: str
    subresource: str
    time: str


def owned(obj: dict[str, Any], subresource: str) -> dict[Path, Any]:
    """The fields that a write through this subresource can own, with what they hold."""
    if subresource == "status":
        addresses = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress")
        return {ADDRESSES: addresses} if addresses else {}
    found: dict[Path, Any] = {("f:" + key,): value for key, value in obj.items() if key not in UNOWNED}
    finalizers = obj["metadata"].get("finalizers") or ()
    return found | {(*FINALIZERS, "v:" + json.dumps(name)): True for name in finalizers}


def to_fields(paths: set[Path]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path in sorted(paths):
        node = root
        for part in path:
            node = node.setdefault(part, {})
    return root


def from_fields(fields: dict[str, Any], prefix: Path = ()) -> set[Path]:
    """Back from FieldsV1 form."""
    if not fields:
        return {prefix} if prefix else set()
    return {path for key, child in fields.items() for path in from_fields(child, (*prefix, key))}


def record_update(old: dict | None, new: dict, writer: Writer) -> list[dict]:
    """The managedFields of `new` after a write that turned `old` into it."""
    before, after = owned(old or {"metadata": {}}, writer.subresource), owned(new, writer.subresource)
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    removed = before.keys() - after.keys()
    entries = copy.deepcopy((old or {}).get("metadata", {}).get("managedFields") or [])
    if not changed and not removed:
        return entries
    own: set[Path] = set()
    others = []
    for entry in entries:
        fields = from_fields(entry["fieldsV1"])
        if (entry["manager"], entry.get("subresource", "")) == (writer.manager, writer.subresource):
            own = fields
        elif left := fields - changed - removed:
            others.append(entry | {"fieldsV1": to_fields(left)})
    own = (own | changed) - removed
    return others + ([_entry(writer, own)] if own else [])


def _entry(writer: Writer, fields: set[Path]) -> dict[str, Any]:
    entry = {
        "manager": writer.manager,
        "operation": "Update",
        "apiVersion": writer.api_version,
        "time": writer.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": to_fields(fields),
    }
    return entry | ({"subresource": writer.subresource} if writer.subresource else {})
