# SPDX-License-Identifier: Apache-2.0
"""The patch formats: JSON merge patch (RFC 7386), of JSON patch (RFC 6902) what adds, and strategic merge patch.

The last is Kubernetes' own, and what kubectl sends: lists of some types are merged element by element, and directives ($patch,
$setElementOrder) say what a merge alone cannot. See "Strategic Merge Patch" in the Kubernetes community documents.
"""

from __future__ import annotations

import copy
from typing import Any

# Lists whose elements a strategic merge patch finds by one of their members.
MERGED = {("services", "ports"): "port", ("services", "conditions"): "type", ("deployments", "containers"): "name", ("deployments", "env"): "name"}


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


def added(target: Any, operations: list[dict[str, Any]]) -> Any:
    """RFC 6902, as far as it adds members, or elements at the end."""
    out = copy.deepcopy(target)
    for operation in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place = out
        for part in way:
            place = place[int(part)] if isinstance(place, list) else place[part]
        if operation["op"] != "add" or (isinstance(place, list) and last != "-"):
            raise NotImplementedError(operation)
        if isinstance(place, list):
            place.append(operation["value"])
        else:
            place[last] = operation["value"]
    return out


def strategic(plural: str, target: Any, patch: Any) -> Any:
    """Strategic merge patch of an object, or of a part of it."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            out.pop(key, None)
        elif isinstance(value, list):
            out[key] = _merge_list(plural, key, out.get(key), value)
        else:
            out[key] = strategic(plural, out.get(key), value)
    for key, value in patch.items():
        directive, _, name = key.partition("/")
        if directive == "$setElementOrder" and out.get(name):
            out[name] = _in_order(MERGED.get((plural, name)), out[name], value)
    return out


def _merge_list(plural: str, key: str, target: Any, patch: list) -> list:
    merge_key = MERGED.get((plural, key))
    if merge_key is None or not isinstance(target, list):
        return [copy.deepcopy(item) for item in patch if not (isinstance(item, dict) and "$patch" in item)]
    out = {old.get(merge_key): old for old in target}
    for item in patch:
        name = item[merge_key]
        if item.get("$patch") == "delete":
            out.pop(name, None)
        else:
            out[name] = strategic(plural, out.get(name), item)
    return list(out.values())


def _in_order(merge_key: str | None, items: list, order: list) -> list:
    """The elements that the patch names, in its order; those that it does not, behind them."""
    wanted = [item.get(merge_key) if merge_key else item for item in order]

    def place(item: Any) -> int:
        name = item.get(merge_key) if merge_key else item
        return wanted.index(name) if name in wanted else len(wanted)

    return sorted(items, key=place)
