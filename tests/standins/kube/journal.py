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
    """One request. `ended` tells how a watch ended; while it runs it is empty."""

    seq: int
    at_ns: int
    identity: str
    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str
    method: str
    path: str
    query: str
    user_agent: str
    content_type: str
    connection: int
    body: str = ""
    status: int = 0
    effect: str = ""
    faults: tuple[str, ...] = ()
    duration_us: int = 0
    frames: int = 0
    ended: str = ""

    def describe(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


class Journal:
    """The log."""

    def __init__(self) -> None:
        self._log: collections.deque[tuple[Entry, RequestInfo, Identity | None, Request]] = collections.deque(
            maxlen=LOG_MAX
        )
        self._numbers = itertools.count(1)
        self._waiting: list[asyncio.Future] = []
        self.last = 0

    def begin(self, request: Request, info: RequestInfo, identity: Identity | None, connection: int) -> Entry:
        """Notes a request that has arrived."""
        self.last = next(self._numbers)
        body = (
            request.body[:BODY_KEPT].decode("utf-8", "replace")
            if request.method not in ("GET", "HEAD")
            else ""
        )
        entry = Entry(
            self.last,
            monotonic_ns(),
            identity.alias if identity else "",
            info.verb,
            info.group,
            info.version,
            info.resource,
            info.subresource,
            info.namespace,
            info.name,
            request.method,
            request.path,
            request.target.partition("?")[2],
            request.user_agent,
            request.headers.get("content-type", ""),
            connection,
            body,
        )
        # Bodies are kept in the entry, bounded; the request is kept for its head only.
        head = Request(request.method, request.target, request.headers)
        self._log.append((entry, info, identity, head))
        return entry

    def answered(self, entry: Entry, status: int, effect: str = "read") -> None:
        """Notes the answer; for a watch, its start."""
        entry.status, entry.effect = status, effect
        entry.duration_us = (monotonic_ns() - entry.at_ns) // 1000
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def find(
        self,
        when: When,
        since: int = 0,
        status: int | None = None,
        effect: str | None = None,
        limit: int | None = None,
    ) -> list[Entry]:
        """The answered requests after number `since` that match, oldest first; the newest `limit` of them."""
        found = []
        for entry, info, identity, head in reversed(self._log):
            if entry.seq <= since:
                break
            wanted = status in (None, entry.status) and effect in (None, entry.effect)
            if entry.effect and wanted and when.meets(info, identity, head):
                found.append(entry)
        found.reverse()
        return found if limit is None else found[-limit:]

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
