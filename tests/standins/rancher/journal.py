# SPDX-License-Identifier: Apache-2.0
"""What was asked of the server: a bounded log of requests with their bodies."""

from __future__ import annotations

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
    user_agent: str | None = None
    body: Any = None
    status: int | None = None
    fault: str | None = None
    changed: bool | None = None


class Journal:
    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=20000)
        self._number = 0

    def begin(self, method: str, path: str, query: list[tuple[str, str]]) -> Entry:
        self._number += 1
        entry = Entry(self._number, time.time(), method, path, query)
        self.entries.append(entry)
        return entry

    def find(self, **wanted: Any) -> list[dict[str, Any]]:
        return [asdict(e) for e in self.entries if all(getattr(e, k) == v for k, v in wanted.items())]

    def reset(self) -> None:
        self.entries.clear()
