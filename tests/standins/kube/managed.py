# SPDX-License-Identifier: Apache-2.0
"""managedFields and server-side apply.

A set of owned fields is held as a dict from path to True, a path being a tuple of FieldsV1 elements
("f:spec", 'k:{"name":"http"}', 'v:"x"'); the element "." stands for the existence of the list item or map
itself. See "Server-Side Apply" in the Kubernetes documentation.
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
    operation: str
    api_version: str
    subresource: str
    time: str


@dataclass(frozen=True)
class Clash:
    """A field that an apply wants to change and another manager owns."""

    entry: dict[str, Any]
    path: Path


def leaves(schema: Any, value: Any, prefix: Path = (), out: dict[Path, Any] | None = None) -> dict[Path, Any]:
    """All ownable fields of a value, with what they hold."""
    out = {} if out is None else out
    if isinstance(schema, Struct) and not schema.atomic and isinstance(value, dict) and not schema.open:
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


def apply(
    shape: Struct, live: dict | None, config: dict, writer: Writer, force: bool
) -> tuple[dict, list[Clash]]:
    """Server-side apply of `config`. Returns the new object, or the clashes that forbid it."""
    live = live or {"metadata": {key: config["metadata"].get(key) for key in ("name", "namespace")}}
    wanted = owned_leaves(shape, config, writer.subresource)
    current = owned_leaves(shape, live, writer.subresource)
    entries = copy.deepcopy(live["metadata"].get("managedFields") or [])
    differing = {path for path, value in wanted.items() if path in current and current[path] != value}
    clashes = [
        Clash(entry, path)
        for entry in entries
        if not _is_mine(entry, writer)
        for path in sorted(from_fields(entry.get("fieldsV1")) & differing)
    ]
    if clashes and not force:
        return live, clashes
    mine = next((entry for entry in entries if _is_mine(entry, writer)), None)
    others = [entry for entry in entries if entry is not mine]
    for entry in others:
        _shrink(entry, differing)
    new = copy.deepcopy(_merge(shape, live, _restrict(config, writer.subresource)))
    if mine:
        held = set().union(*(from_fields(entry.get("fieldsV1")) for entry in others)) if others else set()
        lost = from_fields(mine.get("fieldsV1")) - wanted.keys() - held
        for path in sorted(lost, key=lambda path: (path[-1] != ".", path)):
            _drop(shape, new, path, held)
    fields = to_fields(set(wanted))
    entry = _entry(writer, set(wanted))
    if mine and mine.get("fieldsV1") == fields:
        entry["time"] = mine.get("time")
    new["metadata"]["managedFields"] = _ordered(others + [entry])
    return new, []


def same_but_time(old: list[dict] | None, new: list[dict] | None) -> bool:
    """Whether two managedFields say the same."""

    def bare(entries: list[dict] | None) -> list[dict]:
        return [{key: value for key, value in entry.items() if key != "time"} for entry in entries or ()]

    return bare(old) == bare(new)


def display(path: Path) -> str:
    """A path as error messages print it."""
    out = ""
    for part in path:
        kind, _, rest = part.partition(":")
        if kind == "f":
            out += "." + rest
        elif kind == "k":
            out += (
                "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(rest).items()) + "]"
            )
        elif kind == "v":
            out += f"[={rest}]"
    return out


def _restrict(config: dict, subresource: str) -> dict:
    meta = {key: value for key, value in config["metadata"].items() if key in OWNED_METADATA}
    if subresource == "status":
        return {"metadata": meta, "status": config.get("status")}
    return {"metadata": meta} | {
        key: value for key, value in config.items() if key not in ("metadata", "status", "kind", "apiVersion")
    }


def _is_mine(entry: dict, writer: Writer) -> bool:
    return (entry.get("manager"), entry.get("operation"), entry.get("subresource", "")) == (
        writer.manager,
        writer.operation,
        writer.subresource,
    )


def _entry(writer: Writer, owned: set[Path]) -> dict:
    entry = {
        "manager": writer.manager,
        "operation": writer.operation,
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
    return sorted(
        kept, key=lambda entry: (entry["operation"], entry.get("time") or "", entry.get("manager", ""))
    )


def _merge(schema: Any, live: Any, config: Any) -> Any:
    if (
        isinstance(schema, (Struct, MapOf))
        and isinstance(config, dict)
        and isinstance(live, dict)
        and not getattr(schema, "atomic", False)
    ):
        out = dict(live)
        for key, value in config.items():
            member = schema.fields.get(key) if isinstance(schema, Struct) else None
            inner = member.type if member else getattr(schema, "value", None)
            if value is not None:
                out[key] = _merge(inner, live.get(key), value)
        return out
    if isinstance(schema, ListOf) and isinstance(config, list) and isinstance(live, list):
        if schema.kind == "set":
            return live + [item for item in config if item not in live]
        if schema.kind == "map":
            return _merge_elements(schema, live, config)
    return copy.deepcopy(config)


def _merge_elements(schema: ListOf, live: list, config: list) -> list:
    wanted = {element_name(schema, item): item for item in config}
    out = [_merge(schema.item, item, wanted.pop(element_name(schema, item), {})) for item in live]
    return out + [copy.deepcopy(item) for item in wanted.values()]


def _drop(schema: Any, root: Any, path: Path, held: set[Path]) -> None:
    """Removes what `path` names; a list element only when nobody holds anything inside it."""
    element = path[-1] == "." and path[-2].startswith("k:")
    if element:
        path = path[:-1]
        if any(other[: len(path)] == path for other in held):
            return
    node = root
    for part in path[:-1]:
        schema, node = _step(schema, node, part)
        if node is None:
            return
    kind, _, rest = path[-1].partition(":")
    if kind == "f" and isinstance(node, dict):
        node.pop(rest, None)
    elif kind == "v" and isinstance(node, list) and json.loads(rest) in node:
        node.remove(json.loads(rest))
    elif element and isinstance(node, list):
        node[:] = [item for item in node if element_name(schema, item) != path[-1]]


def _step(schema: Any, node: Any, part: str) -> tuple[Any, Any]:
    kind, _, rest = part.partition(":")
    if kind == "f" and isinstance(node, dict):
        member = schema.fields.get(rest) if isinstance(schema, Struct) else None
        return (member.type if member else getattr(schema, "value", None)), node.get(rest)
    if kind == "k" and isinstance(schema, ListOf) and isinstance(node, list):
        return schema.item, next((item for item in node if element_name(schema, item) == part), None)
    return None, None
