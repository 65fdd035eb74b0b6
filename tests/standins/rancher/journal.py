# SPDX-License-Identifier: Apache-2.0
"""What was asked of the server: a bounded log of requests with their bodies."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from dataclasses import asdict, dataclass
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


class Journal:
    def __init__(self, size: int = 20000):
        self.entries: deque[Entry] = deque(maxlen=size)
        self._number = 0

    def begin(self, method: str, path: str, query: list[tuple[str, str]]) -> Entry:
        self._number += 1
        entry = Entry(self._number, time.time(), method, path, query)
        self.entries.append(entry)
        return entry

    def find(self, since: int = 0, limit: int | None = None, **wanted: Any) -> list[dict[str, Any]]:
        """Entries with a number above `since` whose fields equal the wanted values."""
        found = [asdict(e) for e in self.entries
                 if e.number > since and all(getattr(e, k) == v for k, v in wanted.items())]
        return found[-limit:] if limit else found

    def reset(self) -> None:
        self.entries.clear()
