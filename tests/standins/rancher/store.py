# SPDX-License-Identifier: Apache-2.0
"""The rows of the server, in memory, with indexes.

Nobody but this module changes `Row.id`, `Row.num` or the indexes; everybody who changes a row calls `touch`.
"""

from __future__ import annotations

import re
import time
import uuid
from typing import Any, Callable, Iterable, Iterator

from . import ports
from .errors import invalid

# Short names of the typed ids; a setting's id is its name.
PREFIXES = {"stack": "1st", "service": "1s", "certificate": "1c", "project": "1a", "host": "1h",
            "instance": "1i"}

TABLES = {
    "stack": "stack", "service": "service", "loadBalancerService": "service", "kubernetesService": "service",
    "certificate": "certificate", "project": "project", "host": "host", "container": "instance", "instance": "instance", "setting": "setting",
    "activeSetting": "setting",
}


def now_ms() -> int:
    return int(time.time() * 1000)


class Row:
    """One row. `fields` are the API's fields; `internal` is what the API never shows."""

    __slots__ = ("type", "table", "id", "num", "fields", "internal", "cache", "keys")

    def __init__(self, type_: str, id_: str, num: int, fields: dict[str, Any], internal: dict[str, Any]):
        self.type = type_
        self.table = TABLES[type_]
        self.id = id_
        self.num = num
        self.fields = fields
        self.internal = internal
        self.cache: dict[Any, str] = {}
        self.keys: dict[str, frozenset] = {}

    def __getitem__(self, name: str) -> Any:
        return self.fields.get(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.fields[name] = value

    @property
    def state(self) -> str:
        return self.fields.get("state") or ""

    @property
    def name(self) -> str:
        return self.fields.get("name") or ""

    @property
    def live(self) -> bool:
        """Not yet stamped as removed: a row in `removing` is still live."""
        return self.fields.get("removed") is None


def rule_targets(row: Row) -> set[str]:
    rules = (row["lbConfig"] or {}).get("portRules") or []
    return {rule["serviceId"] for rule in rules if rule.get("serviceId")}


def _when(table: str, keys: Callable[[Row], Iterable[Any]]) -> Callable[[Row], frozenset]:
    return lambda row: frozenset(keys(row)) if row.table == table and row.live else frozenset()


def published_slots(row: Row) -> list[tuple]:
    """(host, bind address, public port, protocol) of every port that a container takes up."""
    if row.state not in ("starting", "running", "stopping"):
        return []
    return [(row["hostId"], *ports.parse(text).slot) for text in row["ports"] or []]


# Secondary indexes over live rows: name -> the keys under which a row is found.
INDEXES: dict[str, Callable[[Row], frozenset]] = {
    "service_by_stack": _when("service", lambda r: [r["stackId"]]),
    "service_by_name": _when("service", lambda r: [(r["stackId"], r.name.lower())]),
    "service_by_external_id": _when("service", lambda r: [r["externalId"]] if r["externalId"] else []),
    "lb_by_target": _when("service", rule_targets),
    "stack_by_name": _when("stack", lambda r: [(r["accountId"], r.name.lower())]),
    "certificate_by_name": _when("certificate", lambda r: [(r["accountId"], r.name.lower())]),
    "instance_by_service": _when("instance", lambda r: r["serviceIds"] or []),
    "instance_by_host": _when("instance", lambda r: [r["hostId"]] if r["hostId"] else []),
    "instance_by_slot": _when("instance", published_slots),
    "balancer_by_host": _when("instance", lambda r: [] if r.internal.get("pod") else [r["hostId"]]),
    "instance_by_ip": _when("instance", lambda r: [r["primaryIpAddress"]] if r["primaryIpAddress"] else []),
}


class Store:
    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Row]] = {table: {} for table in set(TABLES.values())}
        self.types: dict[str, dict[str, Row]] = {}
        self.indexes: dict[str, dict[Any, dict[str, Row]]] = {name: {} for name in INDEXES}
        self.sequences: dict[str, int] = {}
        self.listeners: list[Callable[[Row], None]] = []

    # Reading

    def get(self, table: str, row_id: str | None) -> Row | None:
        return self.tables[table].get(row_id) if row_id else None

    def live(self, type_or_table: str) -> Iterator[Row]:
        """Rows that are not removed, of one table or of one kind within it, by ascending id."""
        rows = self.tables.get(type_or_table) or self.types.get(type_or_table) or {}
        return (row for row in list(rows.values()) if row.live)

    def find(self, index: str, key: Any) -> list[Row]:
        return list(self.indexes[index].get(key, {}).values())

    def count(self, index: str, key: Any) -> int:
        return len(self.indexes[index].get(key, ()))

    def by_any_id(self, row_id: str) -> Row | None:
        for table in self.tables.values():
            if row_id in table:
                return table[row_id]
        return None

    @staticmethod
    def valid_id(table: str, text: str) -> bool:
        prefix = PREFIXES.get(table)
        return prefix is None or re.fullmatch(prefix + r"\d+", text) is not None

    # Writing

    def next_id(self, table: str) -> tuple[str, int]:
        num = self.sequences.get(table, 0) + 1
        self.sequences[table] = num
        return f"{PREFIXES[table]}{num}", num

    def add(self, type_: str, fields: dict[str, Any], internal: dict[str, Any] | None = None,
            row_id: str | None = None) -> Row:
        table = TABLES[type_]
        if row_id is None:
            row_id, num = self.next_id(table)
        else:
            digits = re.search(r"(\d+)$", row_id) if table != "setting" else None
            num = int(digits.group(1)) if digits else len(self.tables[table]) + 1
            self.sequences[table] = max(self.sequences.get(table, 0), num)
        fields.setdefault("uuid", str(uuid.uuid4()))
        fields.setdefault("created", now_ms())
        fields.setdefault("removed", None)
        row = Row(type_, row_id, num, fields, internal if internal is not None else {})
        self._insert(row)
        self.touch(row)
        return row

    def add_stack(self, name: str, external_id: str | None, project: str) -> Row:
        """An active one, as somebody else has made it."""
        return self.add("stack", {
            "name": name, "externalId": external_id, "kind": "stack", "accountId": project, "state": "active",
            "transitioning": "no", "system": False, "startOnCreate": False})

    def check_unused(self, index: str, key: Any, own: Row | None) -> None:
        """No other row is filed under this key; one that is still being removed holds its name. Raises 422."""
        if any(row is not own for row in self.find(index, key)):
            raise invalid("NotUnique", "name")

    def touch(self, row: Row) -> None:
        """A row was changed: renew indexes and caches, and tell the listeners."""
        row.cache.clear()
        self._reindex(row)
        for listener in self.listeners:
            listener(row)

    def drop(self, row: Row) -> None:
        """Forget a row altogether, as the server's clean-up does with removed ones."""
        self._unindex(row)
        self.tables[row.table].pop(row.id, None)
        self.types.get(row.type, {}).pop(row.id, None)

    # Inside

    def _insert(self, row: Row) -> None:
        self.tables[row.table][row.id] = row
        self.types.setdefault(row.type, {})[row.id] = row

    def _reindex(self, row: Row) -> None:
        for name, keys_of in INDEXES.items():
            old, new = row.keys.get(name, frozenset()), keys_of(row)
            if old == new:
                continue
            self._unfile(name, old - new, row)
            for key in new - old:
                self.indexes[name].setdefault(key, {})[row.id] = row
            row.keys[name] = new

    def _unindex(self, row: Row) -> None:
        for name, keys in row.keys.items():
            self._unfile(name, keys, row)
        row.keys = {}

    def _unfile(self, name: str, keys: Iterable[Any], row: Row) -> None:
        index = self.indexes[name]
        for key in keys:
            rows = index.get(key)
            if rows is not None:
                rows.pop(row.id, None)
                if not rows:
                    del index[key]
