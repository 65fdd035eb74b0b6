# SPDX-License-Identifier: Apache-2.0
"""What was called: a bounded log."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import Any

READS = ("Describe", "List", "Get", "Assume")


@dataclass
class Entry:
    """One call. `outcome` is "ok" or the code of an error; None: it is not answered yet. `applied`: it was carried out."""

    number: int
    time: float
    service: str
    action: str
    params: Any = None
    status: int | None = None
    outcome: str | None = None
    message: str | None = None
    applied: bool = False
    fault: str | None = None
    access_key: str | None = None
    user_agent: str | None = None
    ended: float | None = None


class Journal:
    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=200000)
        self._number = 0

    def begin(self, service: str, action: str) -> Entry:
        self._number += 1
        entry = Entry(self._number, time.time(), service, action)
        self.entries.append(entry)
        return entry

    def find(self, since: int = 0, **wanted: Any) -> list[dict[str, Any]]:
        return [asdict(e) for e in self.entries if e.number > since and all(getattr(e, k) == v for k, v in wanted.items())]

    def counts(self) -> dict[str, int]:
        return dict(Counter(entry.action for entry in self.entries))

    def writes(self) -> list[dict[str, Any]]:
        return [asdict(e) for e in self.entries if not e.action.startswith(READS)]

    def clear(self) -> None:
        self.entries.clear()


def shown(value: Any) -> Any:
    """Parameters without what is secret or large."""
    if isinstance(value, dict):
        return {k: "hidden" if k in ("PrivateKey", "WebIdentityToken") else shown(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shown(item) for item in value]
    return f"{len(value)} bytes" if isinstance(value, bytes) else value
