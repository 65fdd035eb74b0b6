# SPDX-License-Identifier: Apache-2.0
"""managedFields: who wrote which fields last.

A set of owned fields is held as a dict from path to True, a path being a tuple of FieldsV1 elements
("f:spec", 'k:{"name":"http"}', 'v:"x"'); the element "." stands for the existence of the list item or map
itself. See "Server-Side Apply" in the Kubernetes documentation; apply itself nobody needs here.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

from .schema import ListOf, MapOf, Struct, decode

Path = tuple[str, ...]
KEY_DEFAULTS = {"protocol": "TCP"}
OWNED_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


@dataclass(frozen=True)
class Writer:
    """Who writes, and how."""

    manager: str
    api_version: str
    subresource: str
    time: str


def leaves(schema: Any, value: Any, prefix: Path = (), out: dict[Path, Any] | None = None) -> dict[Path, Any]:
    """All ownable fields of a value, with what they hold."""
    out = {} if out is None else out
    if isinstance(schema, Struct) and not schema.atomic and isinstance(value, dict):
        for key, child in value.items():
            member = schema.fields.get(key)
            leaves(member.type if member else None, child, (*prefix, "f:" + key), out)
        if not value and prefix:
            out[prefix] = value
    elif isinstance(schema, MapOf) and not schema.atomic and isinstance(value, dict) and value:
        out[(*prefix, ".")] = True
        for key, child in value.items():
            out[(*prefix, "f:" + key)] = child
    elif isinstance(schema, ListOf) and schema.kind == "set" and isinstance(value, list):
        out[(*prefix, ".")] = True
        for item in value:
            out[(*prefix, "v:" + json.dumps(item))] = True
    elif isinstance(schema, ListOf) and schema.kind == "map" and isinstance(value, list):
        out[(*prefix, ".")] = True
        for item in value:
            element = (*prefix, element_name(schema, item))
            out[(*element, ".")] = True
            leaves(schema.item, item, element, out)
    elif value is not None:
        out[prefix] = value
    return out


def element_name(schema: ListOf, item: dict) -> str:
    """The FieldsV1 name of a list element."""
    names = {key: item.get(key, KEY_DEFAULTS.get(key)) for key in sorted(schema.keys)}
    return "k:" + json.dumps(names, separators=(",", ":"))


def owned_leaves(shape: Struct, obj: dict[str, Any], subresource: str) -> dict[Path, Any]:
    """The fields that a write through this subresource can own."""
    part = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
    if subresource == "status":
        part = {"status": part.get("status")}
    elif "status" in shape.fields:
        part.pop("status", None)
    meta = {key: value for key, value in obj["metadata"].items() if key in OWNED_METADATA}
    found = leaves(shape, part | ({"metadata": meta} if meta else {}))
    return {path: value for path, value in found.items() if value not in ({}, None)}


def to_fields(paths: dict[Path, Any] | set[Path]) -> dict[str, Any]:
    """FieldsV1 form."""
    root: dict[str, Any] = {}
    for path in sorted(paths):
        node = root
        for part in path:
            node = node.setdefault(part, {})
    return root


def from_fields(fields: Any, prefix: Path = ()) -> set[Path]:
    """Back from FieldsV1 form."""
    if not isinstance(fields, dict):
        return set()
    if not fields:
        return {prefix} if prefix else set()
    out: set[Path] = set()
    for key, child in fields.items():
        out |= from_fields(child, (*prefix, key))
    return out


def record_update(shape: Struct, old: dict | None, new: dict, writer: Writer) -> list[dict]:
    """The managedFields of `new` after an ordinary write that turned `old` into it. What an empty object shows is nobody's."""
    before = owned_leaves(shape, old or decode(shape, {"metadata": {}}), writer.subresource)
    after = owned_leaves(shape, new, writer.subresource)
    missing = object()
    changed = {path for path, value in after.items() if before.get(path, missing) != value}
    removed = before.keys() - after.keys()
    entries = copy.deepcopy((old or {}).get("metadata", {}).get("managedFields") or [])
    if not changed and not removed:
        return entries
    for entry in entries:
        if not _is_mine(entry, writer):
            _shrink(entry, changed | removed)
    mine = next((entry for entry in entries if _is_mine(entry, writer)), None)
    owned = (from_fields(mine.get("fieldsV1")) if mine else set()) | changed
    entries = [entry for entry in entries if entry is not mine]
    return _ordered(entries + [_entry(writer, owned - removed)])


def same_but_time(old: list[dict] | None, new: list[dict] | None) -> bool:
    """Whether two managedFields say the same."""

    def bare(entries: list[dict] | None) -> list[dict]:
        return [{key: value for key, value in entry.items() if key != "time"} for entry in entries or ()]

    return bare(old) == bare(new)


def _is_mine(entry: dict, writer: Writer) -> bool:
    return (entry.get("manager"), entry.get("subresource", "")) == (writer.manager, writer.subresource)


def _entry(writer: Writer, owned: set[Path]) -> dict:
    entry = {
        "manager": writer.manager,
        "operation": "Update",
        "apiVersion": writer.api_version,
        "time": writer.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": to_fields(owned),
    }
    if writer.subresource:
        entry["subresource"] = writer.subresource
    return entry


def _shrink(entry: dict, lost: set[Path]) -> None:
    owned = from_fields(entry.get("fieldsV1"))
    if owned & lost:
        entry["fieldsV1"] = to_fields(owned - lost)


def _ordered(entries: list[dict]) -> list[dict]:
    kept = [entry for entry in entries if entry.get("fieldsV1")]
    return sorted(kept, key=lambda entry: (entry.get("time") or "", entry.get("manager", "")))
