# SPDX-License-Identifier: Apache-2.0
"""The stored objects: one revision counter, one table a resource, and the recent past of each table.

Objects are kept as the JSON bytes that go out on the wire. A reader gets those bytes; a writer decodes a
fresh copy, so nothing that is stored is ever changed in place, and old states stay true for pages and
watches.
"""

from __future__ import annotations

import asyncio
import bisect
import collections
import json
from typing import Any, Callable, Iterable

from . import convert
from .encoding import to_json
from .resources import CURRENT, RESOURCES, Resource, Served

WINDOW_EVENTS = 16384  # changes of a type that watches and pages can go back


def key_of(namespace: str, name: str) -> str:
    """The storage key inside a table; its order is the order of lists."""
    return f"{namespace}/{name}" if namespace else name


class Record:
    """One state of one object."""

    __slots__ = ("resource", "namespace", "name", "uid", "rev", "labels", "fields", "body", "_encoded")

    def __init__(self, resource: Resource, obj: dict[str, Any]):
        meta = obj["metadata"]
        self.resource = resource
        self.namespace: str = meta.get("namespace", "")
        self.name: str = meta["name"]
        self.uid: str = meta.get("uid", "")
        self.rev = int(meta["resourceVersion"])
        self.labels: dict[str, str] = meta.get("labels") or {}
        self.fields = selectable_fields(resource, obj)
        self.body = to_json({key: value for key, value in obj.items() if key not in ("kind", "apiVersion")})
        self._encoded: dict[Served, bytes] | None = None

    @property
    def key(self) -> str:
        return key_of(self.namespace, self.name)

    def obj(self) -> dict[str, Any]:
        """A fresh copy of the stored form, without kind and apiVersion."""
        return json.loads(self.body)

    def item(self, served: Served) -> bytes:
        """The object as an item of a list of version `served`."""
        if served.form == CURRENT:
            return self.body
        if self._encoded is None:
            self._encoded = {}
        if served not in self._encoded:
            self._encoded[served] = to_json(convert.from_hub(served, self.obj()))
        return self._encoded[served]

    def full(self, served: Served) -> bytes:
        head = f'{{"kind":"{self.resource.kind}","apiVersion":"{served.api_version}",'
        return head.encode() + self.item(served)[1:]

    def at_revision(self, rev: int) -> Record:
        """The same object under another revision, for DELETED events."""
        obj = self.obj()
        obj["metadata"]["resourceVersion"] = str(rev)
        return Record(self.resource, obj)


def selectable_fields(resource: Resource, obj: dict[str, Any]) -> dict[str, str]:
    meta = obj["metadata"]
    fields = {"metadata.name": meta["name"]}
    if resource.namespaced:
        fields["metadata.namespace"] = meta.get("namespace", "")
    extra = _FIELDS.get(resource.plural)
    if extra:
        fields.update(extra(obj))
    return fields


def _event_fields(obj: dict) -> dict[str, str]:
    involved = obj.get("involvedObject") or {}
    names = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return {"type": obj.get("type", ""), **{f"involvedObject.{name}": involved.get(name, "") for name in names}}


_FIELDS: dict[str, Callable[[dict], dict[str, str]]] = {
    "secrets": lambda obj: {"type": obj.get("type", "")},
    "namespaces": lambda obj: {"status.phase": (obj.get("status") or {}).get("phase", "")},
    "events": _event_fields,
}


class Event:
    """One change of one object. `record` is the state after it, or the last state under the deletion's
    revision."""

    __slots__ = ("type", "record", "before", "_frames")

    def __init__(self, type_: str, record: Record, before: Record | None):
        self.type, self.record, self.before = type_, record, before
        self._frames: dict[tuple, bytes] = {}

    @property
    def rev(self) -> int:
        return self.record.rev

    def frame(self, served: Served, type_: str) -> bytes:
        """The watch frame; made once, whatever the number of watchers."""
        key = (served, type_)
        frame = self._frames.get(key)
        if frame is None:
            record = self.record
            if type_ == "DELETED" and self.type != "DELETED" and self.before is not None:
                record = self.before.at_revision(self.rev)
            frame = self._frames[key] = watch_frame(type_, record.full(served))
        return frame


def watch_frame(type_: str, obj: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (type_.encode(), obj)


class View:
    """A table at one revision: keys in order, and the records under them."""

    def __init__(self, rev: int, keys: list[str], records: dict[str, Record]):
        self.rev, self.keys, self.records = rev, keys, records

    def range(self, namespace: str, after: str = "") -> Iterable[Record]:
        """The records of a namespace (of all, if empty) whose key follows `after`, in order."""
        start = bisect.bisect_right(self.keys, after) if after else 0
        prefix = namespace + "/" if namespace else ""
        if prefix:
            start = max(start, bisect.bisect_left(self.keys, prefix))
        for index in range(start, len(self.keys)):
            key = self.keys[index]
            if not key.startswith(prefix):
                break
            yield self.records[key]


class Table:
    """All objects of one resource and their recent changes."""

    def __init__(self, resource: Resource, floor: int):
        self.resource = resource
        self.records: dict[str, Record] = {}
        self.keys: list[str] = []
        self.log: collections.deque[Event] = collections.deque()
        self.floor = floor  # of the revisions that watches, lists and their pages can go back to
        self.watchers: list[Any] = []  # their on_event() is called for each change, in order, before the write is answered

    def apply(self, event: Event) -> None:
        key = event.record.key
        if event.type == "DELETED":
            del self.records[key]
            del self.keys[bisect.bisect_left(self.keys, key)]
        else:
            if key not in self.records:
                bisect.insort(self.keys, key)
            self.records[key] = event.record
        self.log.append(event)

    def trim(self, events_max: int) -> None:
        """Drops the oldest changes beyond the window."""
        while len(self.log) > events_max:
            self.floor = max(self.log.popleft().rev, self.floor)

    def since(self, rev: int) -> list[Event]:
        found: list[Event] = []
        for event in reversed(self.log):
            if event.rev <= rev:
                break
            found.append(event)
        found.reverse()
        return found

    def view(self, rev: int | None = None) -> View:
        """The state at a revision, the newest by default. The newest is the live state: use it before
        awaiting."""
        newest = self.log[-1].rev if self.log else 0
        if rev is None or rev >= newest:
            return View(rev or newest, self.keys, self.records)
        records = dict(self.records)
        for event in reversed(self.since(rev)):
            if event.before is None:
                records.pop(event.record.key, None)
            else:
                records[event.record.key] = event.before
        return View(rev, sorted(records), records)

    def forget(self, rev: int) -> None:
        """Makes revisions before `rev` unusable."""
        self.floor = max(self.floor, rev)
        while self.log and self.log[0].rev <= self.floor:
            self.log.popleft()

    def reset(self, records: dict[str, Record], floor: int) -> None:
        self.records, self.keys = dict(records), sorted(records)
        self.log.clear()
        self.floor = floor


class Store:
    """All tables under one revision counter."""

    def __init__(self, first_revision: int):
        self.rev = first_revision
        self.tables = {resource.plural: Table(resource, first_revision) for resource in RESOURCES}
        self._changed: list[asyncio.Future] = []

    def table(self, resource: Resource) -> Table:
        return self.tables[resource.plural]

    def get(self, resource: Resource, namespace: str, name: str) -> Record | None:
        return self.table(resource).records.get(key_of(namespace, name))

    def bump(self, count: int = 1) -> int:
        """Moves the counter as a write to something that nobody watches would."""
        self.rev += count
        self._wake()
        return self.rev

    def put(self, resource: Resource, obj: dict[str, Any]) -> Record:
        table = self.table(resource)
        obj["metadata"]["resourceVersion"] = str(self._next())
        record = Record(resource, obj)
        before = table.records.get(record.key)
        self._publish(table, Event("MODIFIED" if before else "ADDED", record, before))
        return record

    def delete(self, record: Record) -> Record:
        """Removes an object. Returns its last state under the revision of the deletion."""
        table = self.table(record.resource)
        last = record.at_revision(self._next())
        self._publish(table, Event("DELETED", last, record))
        return last

    def snapshot(self) -> tuple[int, dict[str, dict[str, Record]]]:
        """The whole state, for `restore`."""
        return self.rev, {plural: dict(table.records) for plural, table in self.tables.items()}

    def restore(self, saved: tuple[int, dict[str, dict[str, Record]]]) -> None:
        """Goes back to an earlier state and counter, as a restored etcd does. Watchers are told nothing."""
        self.rev, states = saved
        for plural, records in states.items():
            self.tables[plural].reset(records, self.rev)
        self._wake()

    def changed(self) -> asyncio.Future:
        """A future that is done at the next change."""
        future = asyncio.get_running_loop().create_future()
        self._changed.append(future)
        return future

    def _next(self) -> int:
        self.rev += 1
        return self.rev

    def _publish(self, table: Table, event: Event) -> None:
        table.apply(event)
        table.trim(WINDOW_EVENTS)
        for watcher in list(table.watchers):
            watcher.on_event(event)
        self._wake()

    def _wake(self) -> None:
        waiting, self._changed = self._changed, []
        for future in waiting:
            if not future.done():
                future.set_result(self.rev)
