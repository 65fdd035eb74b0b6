# SPDX-License-Identifier: Apache-2.0
"""What was asked of the server: counters, and a bounded log of requests with their bodies."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Entry:
    """One request. `changed` is None for reads and failures, else whether a write altered anything."""

    number: int
    time: float
    method: str
    path: str
    query: list[tuple[str, str]]
    type: str | None = None
    id: str | None = None
    name: str | None = None
    action: str | None = None
    key: str | None = None
    user_agent: str | None = None
    body: Any = None
    status: int | None = None
    fault: str | None = None
    changed: bool | None = None


def mask(value: Any) -> Any:
    """A body without private keys. A digest stays, so that a test can tell which key was sent."""
    if isinstance(value, list):
        return [mask(item) for item in value]
    if not isinstance(value, dict):
        return value
    masked = {}
    for name, item in value.items():
        if name == "key" and isinstance(item, str):
            item = "<masked sha256:" + hashlib.sha256(item.encode()).hexdigest() + ">"
        masked[name] = mask(item)
    return masked


@dataclass
class Counters:
    total: int = 0
    reads: int = 0
    websockets: int = 0
    faults: int = 0
    requests: Counter = field(default_factory=Counter)      # "GET loadBalancerService"
    status: Counter = field(default_factory=Counter)        # "200"
    writes: Counter = field(default_factory=lambda: Counter(changed=0, noop=0, failed=0))
    puts: Counter = field(default_factory=Counter)          # PUTs by name of the balancer
    created: Counter = field(default_factory=Counter)       # balancers by name
    removed: Counter = field(default_factory=Counter)
    recreations: int = 0                                    # a balancer made again under a name it had before
    certificates: Counter = field(default_factory=lambda: Counter(created=0, updated=0, removed=0))


class Journal:
    def __init__(self, size: int = 20000):
        self.entries: deque[Entry] = deque(maxlen=size)
        self.counters = Counters()
        self._number = 0
        self._names_made: set[str] = set()

    def begin(self, method: str, path: str, query: list[tuple[str, str]]) -> Entry:
        self._number += 1
        entry = Entry(self._number, time.time(), method, path, query)
        self.entries.append(entry)
        return entry

    def end(self, entry: Entry) -> None:
        """The request is answered (or dropped by a fault): count it."""
        counters = self.counters
        counters.total += 1
        counters.requests[f"{entry.method} {entry.type or '-'}"] += 1
        counters.status[str(entry.status) if entry.status else "none"] += 1
        if entry.fault:
            counters.faults += 1
        if entry.method in ("GET", "HEAD"):
            counters.reads += 1
            return
        self._count_write(entry)

    def seeded(self, name: str) -> None:
        """A balancer of that name exists without having been made by a request."""
        self._names_made.add(name)

    def as_dict(self) -> dict[str, Any]:
        return {k: dict(v) if isinstance(v, Counter) else v for k, v in vars(self.counters).items()}

    def find(self, since: int = 0, limit: int | None = None, **wanted: Any) -> list[dict[str, Any]]:
        """Entries with a number above `since` whose fields equal the wanted values."""
        found = [asdict(e) for e in self.entries
                 if e.number > since and all(getattr(e, k) == v for k, v in wanted.items())]
        return found[-limit:] if limit else found

    def reset(self) -> None:
        self.counters = Counters()
        self.entries.clear()

    def _count_write(self, entry: Entry) -> None:
        counters = self.counters
        outcome = "failed" if entry.changed is None else "changed" if entry.changed else "noop"
        counters.writes[outcome] += 1
        label = entry.name or entry.id or "-"
        if entry.type == "loadBalancerService" and entry.method == "PUT":
            counters.puts[label] += 1
        if entry.changed:
            self._count_change(entry, label)

    def _count_change(self, entry: Entry, label: str) -> None:
        counters = self.counters
        creation = entry.method == "POST" and entry.action is None
        removal = entry.method == "DELETE" or entry.action == "remove"
        if entry.type == "loadBalancerService" and creation:
            counters.created[label] += 1
            counters.recreations += label in self._names_made
            self._names_made.add(label)
        elif entry.type == "loadBalancerService" and removal:
            counters.removed[label] += 1
        elif entry.type == "certificate":
            kind = "created" if creation else "removed" if removal else "updated"
            counters.certificates[kind] += 1
