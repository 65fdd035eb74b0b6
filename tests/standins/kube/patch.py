# SPDX-License-Identifier: Apache-2.0
"""The three patch formats: JSON patch (RFC 6902), JSON merge patch (RFC 7386), strategic merge patch.

The last is Kubernetes' own: lists of some types are merged element by element, and directives ($patch,
$deleteFromPrimitiveList, $setElementOrder, $retainKeys) say what a merge alone cannot. See "Strategic Merge
Patch" in the Kubernetes community documents.
"""

from __future__ import annotations

import copy
from typing import Any

from .schema import ListOf, MapOf, Struct


class PatchError(Exception):
    """The patch cannot be applied. `invalid` tells 422 from 400."""

    def __init__(self, message: str, invalid: bool = False):
        super().__init__(message)
        self.invalid = invalid


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), value)
    return out


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902."""
    if not isinstance(operations, list):
        raise PatchError("json patch must be a list of operations")
    document = [copy.deepcopy(target)]
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise PatchError("a json patch operation needs op and path")
        _operate(document, operation)
    return document[0]


def _operate(document: list, operation: dict) -> None:
    name, path = operation.get("op"), _pointer(operation["path"])
    if name == "test":
        if _find(document, path) != operation.get("value"):
            raise PatchError(f"testing path {operation['path']} failed", invalid=True)
    elif name == "remove":
        _remove(document, path)
    elif name == "add":
        _add(document, path, copy.deepcopy(operation.get("value")))
    elif name == "replace":
        _find(document, path)
        _remove(document, path)
        _add(document, path, copy.deepcopy(operation.get("value")))
    elif name in ("move", "copy"):
        source = _pointer(operation.get("from", ""))
        value = copy.deepcopy(_find(document, source))
        if name == "move":
            _remove(document, source)
        _add(document, path, value)
    else:
        raise PatchError(f"Unexpected kind: {name}")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise PatchError(f"bad json pointer {text!r}")
    return ["0"] + [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _index(container: list, part: str, end: bool = False) -> int:
    if part == "-" and end:
        return len(container)
    if not part.isdigit() or int(part) > len(container) - (0 if end else 1):
        raise PatchError(f"Unable to access invalid index: {part}", invalid=True)
    return int(part)


def _find(document: Any, path: list[str]) -> Any:
    node = document
    for part in path:
        if isinstance(node, list):
            node = node[_index(node, part)]
        elif isinstance(node, dict) and part in node:
            node = node[part]
        else:
            raise PatchError(f"the path {'/'.join(path[1:])!r} does not exist: missing value", invalid=True)
    return node


def _add(document: Any, path: list[str], value: Any) -> None:
    parent = _find(document, path[:-1])
    if isinstance(parent, list):
        if parent is document:
            parent[:] = [value]
        else:
            parent.insert(_index(parent, path[-1], end=True), value)
    elif isinstance(parent, dict):
        parent[path[-1]] = value
    else:
        raise PatchError(f"add operation does not apply: {path[-1]!r} has no container", invalid=True)


def _remove(document: Any, path: list[str]) -> None:
    parent = _find(document, path[:-1])
    _find(document, path)
    if isinstance(parent, list):
        if parent is not document:
            del parent[int(path[-1])]
    else:
        del parent[path[-1]]


def strategic(schema: Any, target: Any, patch: Any) -> Any:
    """Strategic merge patch of a value of type `schema`."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    if directive == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    out = dict(target) if isinstance(target, dict) else {}
    if isinstance(patch.get("$retainKeys"), list):
        out = {key: value for key, value in out.items() if key in patch["$retainKeys"]}
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_member(_member(schema, key), out, key, value)
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            out[name] = [item for item in out.get(name) or () if item not in (value or ())]
    for key, value in patch.items():
        if key.startswith("$setElementOrder/"):
            _reorder(_member(schema, key.partition("/")[2]), out, key.partition("/")[2], value)
    return out


def _member(schema: Any, key: str) -> Any:
    if isinstance(schema, Struct):
        member = schema.fields.get(key)
        return member.type if member else None
    return schema.value if isinstance(schema, MapOf) else None


def _merge_member(schema: Any, out: dict, key: str, value: Any) -> None:
    if value is None:
        out.pop(key, None)
    elif isinstance(value, list):
        out[key] = _merge_list(schema, out.get(key), value)
    elif isinstance(value, dict):
        if value.get("$patch") == "delete":
            out.pop(key, None)
        else:
            out[key] = strategic(schema, out.get(key), value)
    else:
        out[key] = value


def _merge_list(schema: Any, target: Any, patch: list) -> list:
    if not isinstance(schema, ListOf) or schema.strategy != "merge" or not isinstance(target, list):
        plain = [item for item in patch if not (isinstance(item, dict) and "$patch" in item)]
        return copy.deepcopy(plain)
    if not schema.merge_key:
        return target + [item for item in patch if item not in target]
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return copy.deepcopy([item for item in patch if item.get("$patch") != "replace"])
    out = list(target)
    for item in patch:
        if not isinstance(item, dict) or schema.merge_key not in item:
            raise PatchError(f"map: {item} does not contain declared merge key: {schema.merge_key}")
        _merge_element(schema, out, item)
    return out


def _merge_element(schema: ListOf, out: list, item: dict) -> None:
    name = item[schema.merge_key]
    at = next((index for index, old in enumerate(out) if old.get(schema.merge_key) == name), None)
    if item.get("$patch") == "delete":
        if at is not None:
            del out[at]
    elif at is None:
        out.append(strategic(schema.item, {}, item))
    else:
        out[at] = strategic(schema.item, out[at], item)


def _reorder(schema: Any, out: dict, key: str, order: Any) -> None:
    """Brings the named elements into the given order; the others keep their place behind their neighbours."""
    current = out.get(key)
    if not isinstance(order, list) or not isinstance(current, list):
        return
    merge_key = schema.merge_key if isinstance(schema, ListOf) else ""

    def name(item: Any) -> Any:
        return item.get(merge_key) if merge_key and isinstance(item, dict) else item

    wanted = [name(item) for item in order]
    listed = sorted(
        (item for item in current if name(item) in wanted), key=lambda item: wanted.index(name(item))
    )
    queue = iter(listed)
    out[key] = [next(queue) if name(item) in wanted else item for item in current]
