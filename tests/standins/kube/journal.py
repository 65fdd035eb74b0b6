# SPDX-License-Identifier: Apache-2.0
"""What was asked of the server: a bounded log of requests.

Writes are told apart by their effect: `changed` (a new revision), `noop` (the object was so already),
`refused`.
"""

from __future__ import annotations

import asyncio
import collections
import itertools
from dataclasses import asdict, dataclass
from typing import Any

from .auth import Identity
from .faults import When
from .request_info import RequestInfo
from .wire import Request, monotonic_ns

LOG_MAX = 20_000
BODY_KEPT = 16 * 1024


@dataclass
class Entry:
    """One request; of its body the beginning."""

    seq: int
    at_ns: int
    identity: Identity | None
    info: RequestInfo
    request: Request
    name: str
    status: int = 0
    effect: str = ""
    duration_us: int = 0

    def describe(self) -> dict[str, Any]:
        request = self.request
        return asdict(self.info) | {
            "at_ns": self.at_ns,
            "identity": self.identity.alias if self.identity else "",
            "name": self.name,
            "method": request.method,
            "query": request.raw_query,
            "content_type": request.headers.get("content-type", ""),
            "body": request.body.decode("utf-8", "replace"),
            "status": self.status,
            "effect": self.effect,
            "duration_us": self.duration_us,
        }


class Journal:
    def __init__(self) -> None:
        self._log: collections.deque[Entry] = collections.deque(maxlen=LOG_MAX)
        self._numbers = itertools.count(1)
        self._waiting: list[asyncio.Future] = []
        self.last = 0

    def begin(self, request: Request, info: RequestInfo, identity: Identity | None) -> Entry:
        self.last = next(self._numbers)
        kept = Request(request.method, request.target, request.headers, request.body[:BODY_KEPT])
        entry = Entry(self.last, monotonic_ns(), identity, info, kept, info.name)
        self._log.append(entry)
        return entry

    def answered(self, entry: Entry, status: int, effect: str = "read") -> None:
        """Notes the answer; for a watch, its start."""
        entry.status, entry.effect = status, effect
        entry.duration_us = (monotonic_ns() - entry.at_ns) // 1000
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def find(self, when: When, since: int = 0, status: int | None = None, effect: str | None = None) -> list[Entry]:
        """The answered requests after number `since` that match, oldest first."""
        found = []
        for entry in reversed(self._log):
            if entry.seq <= since:
                break
            wanted = status in (None, entry.status) and effect in (None, entry.effect)
            if entry.effect and wanted and when.meets(entry.info, entry.identity, entry.request):
                found.append(entry)
        found.reverse()
        return found

    async def wait(self, when: When, since: int, count: int, timeout_s: float, **more: Any) -> list[Entry]:
        """Waits until `count` requests match. Returns what there is when the time is up."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while len(found := self.find(when, since, **more)) < count:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await asyncio.wait([future], timeout=left)
        return found
