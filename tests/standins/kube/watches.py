# SPDX-License-Identifier: Apache-2.0
"""watch: streams of frames, from their start point to every way in which they can end."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

from . import negotiate, statuses
from .call import Call
from .defaults import SHOWN
from .encoding import to_json
from .faults import StreamPlan
from .reads import parse_revision, seen
from .request_info import is_true
from .selection import Selector
from .statuses import ApiError, forbids
from .store import Event, Record, watch_frame
from .wire import monotonic_ns

END_MARK = "k8s.io/initial-events-end"
MIN_TIMEOUT_S = 1800.0  # watches that ask for no time live once to twice as long
BATCH_BYTES = 512 * 1024
GARBAGE = b'{"type":"ADDED","object":{"kind":]]}\n'

_numbers = itertools.count(1)


class Start:
    """Where a watch starts and what comes first. Reading the parameters may raise 400 or 422."""

    def __init__(self, call: Call):
        self.text = call.query("resourceVersion")
        self.revision = parse_revision(self.text)
        self.bookmarks = is_true(call.query("allowWatchBookmarks"))
        mode = call.state.profile.streaming_lists
        given, match = call.query("sendInitialEvents"), call.query("resourceVersionMatch")
        if mode == "ignored":
            given = match = ""
        errors = _option_errors(mode, given, match, self.text)
        if errors:
            raise statuses.unprocessable("meta.k8s.io", "ListOptions", "", errors)
        fresh = self.revision == 0
        if mode == "on" and fresh and not given and not match:
            given = "true"
        self.streaming = mode == "on" and bool(given) and is_true(given)
        self.initial = self.streaming or (fresh and (not given or mode != "on"))
        self.marker = self.streaming and self.bookmarks


def _option_errors(mode: str, given: str, match: str, revision: str) -> list[statuses.FieldError]:
    where, wanted = "resourceVersionMatch", "NotOlderThan"
    if mode == "no-gate":
        texts = [f"{where} is forbidden for watch", *([] if revision else [f"{where} is forbidden unless resourceVersion is provided"])]
        return [forbids(where, text) for text in texts] if match else []
    if mode == "off" and given:
        text = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        return [forbids("sendInitialEvents", text)]
    if given and match != wanted:
        return [forbids(where, f"sendInitialEvents requires setting {where} to {wanted}")]
    return []


class Stream:
    """One running watch."""

    def __init__(self, call: Call):
        self.id = next(_numbers)
        self.call, self.state, self.connection = call, call.state, call.connection
        self.served = call.served
        self.start = Start(call)
        self.selector = Selector(
            call.served, call.namespace, call.query("labelSelector"), call.query("fieldSelector")
        )
        self.plan: StreamPlan = call.plan.stream
        self.table = self.state.store.table(call.served.resource)
        self.frames = 0
        self.silent = False
        self._opened_ahead = self.state.store.rev < self.start.revision
        self._everything = not self.selector.narrows and not self.selector.namespace
        self._headers_due = True
        self._backlog: list[tuple[str, Event]] | None = []
        self._initial_done_ns = 0  # when the initial part had been given to the kernel
        self._ended = asyncio.get_running_loop().create_future()
        self._timeout_s = self._parse_timeout()

    def _parse_timeout(self) -> float:
        text = self.call.query("timeoutSeconds")
        if int(text or 0):
            return float(text)
        return random.uniform(MIN_TIMEOUT_S, 2 * MIN_TIMEOUT_S)

    def describe(self) -> dict[str, Any]:
        """The stream as the control socket shows it."""
        return {
            "id": self.id,
            "identity": self.call.identity.alias,
            "resource": self.call.info.resource,
            "frames": self.frames,
            "initial_done": self._backlog is None,
            "initial_done_ns": self._initial_done_ns,
        }

    async def run(self, headers: list[tuple[str, str]]) -> None:
        self.connection.write(self.connection.head(200, [*headers, ("Content-Type", "application/json")], None))
        self.state.streams[self.id] = self
        self.state.journal.answered(self.call.entry, 200)
        try:
            await self._run()
        finally:
            self._leave()
            del self.state.streams[self.id]

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_s
        gone = loop.create_task(self.connection.gone())
        try:
            if self._due():
                self.finish(self.plan.end)
            if not self._ended.done():
                await self._begin()
            await self._tick(deadline, gone)
        except (ConnectionError, OSError):
            pass
        finally:
            gone.cancel()

    async def _tick(self, deadline: float, gone: asyncio.Task) -> None:
        """Bookmarks and the deadline, until the stream has ended or the client has left."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while not (gone.done() or (self._ended.done() and not self.silent)):
            if self.silent:
                await asyncio.wait([gone] if self._ended.done() else [gone, self._ended])
                continue
            period = self.state.settings.bookmark_period_s if self.start.bookmarks else 0
            due = min(last + period, deadline) if period else deadline
            await asyncio.wait([gone, self._ended], timeout=max(0.0, due - loop.time()), return_when=asyncio.FIRST_COMPLETED)
            now = loop.time()
            if gone.done() or self._ended.done():
                continue
            if now >= deadline:
                self.finish("clean")
            elif period and now >= last + period:
                last = now
                self._bookmark()

    async def _begin(self) -> None:
        """Registers for live events, and sends what comes before them."""
        if self.start.streaming:
            try:
                await seen(self.call, self.start.revision)
            except ApiError as error:
                self._error(error)
                return
        records: list[Record] = []
        events: list[Event] = []
        if self.start.initial:
            view = self.table.view()
            records = [
                record for record in view.range(self.selector.namespace) if self.selector.matches(record)
            ]
        elif self.start.revision and self.start.revision < self.table.floor:
            self._error(statuses.expired(f"too old resource version: {self.start.revision} ({self.table.floor})"))
            return
        elif self.start.revision:
            events = self.table.since(self.start.revision)
        mark = self.state.store.rev
        self.table.watchers.append(self)
        await self._send_all([("ADDED", record) for record in records])
        if self.start.marker and self.state.settings.end_marker:
            self._bookmark(mark, {END_MARK: "true"})
        await self._send_all([(type_, event) for event in events if (type_ := self._type(event))])
        while self._backlog:
            waiting, self._backlog = self._backlog, []
            await self._send_all(waiting)
        self._backlog = None
        self._initial_done_ns = monotonic_ns()

    async def _send_all(self, changes: list[tuple[str, Any]]) -> None:
        """Sends many frames: joined into larger writes where nothing depends on the single frame."""
        batch: list[bytes] = []
        size = 0
        joined = self.plan.after_frames is None
        for type_, change in changes:
            if self._ended.done():
                return
            frame = self._frame(type_, change)
            if not joined:
                self._send(frame)
                await self.connection.drain()
                continue
            batch.append(frame)
            size += len(frame)
            if size >= BATCH_BYTES:
                await self._flush(batch)
                batch, size = [], 0
        await self._flush(batch)

    async def _flush(self, batch: list[bytes]) -> None:
        if not batch:
            return
        if self.state.settings.split:
            # Frames need not coincide with chunks.
            self.connection.write_chunk(b"".join(batch))
        else:
            self.connection.write(b"".join(b"%x\r\n%b\r\n" % (len(frame), frame) for frame in batch))
        self.frames += len(batch)
        await self.connection.drain()

    def _is_ahead(self) -> bool:
        """Opened at a revision that is yet to come: such a watch brings nothing, not even bookmarks, until it has come. (Of one that was
        open when a backup was restored that cannot be said.)"""
        self._opened_ahead = self._opened_ahead and self.state.store.rev < self.start.revision
        return self._opened_ahead

    def _type(self, event: Event) -> str:
        """The type of frame that an event is for this watch, empty for none."""
        if event.rev <= self.start.revision:
            return ""
        if self._everything:
            return event.type
        after = event.type != "DELETED" and self.selector.matches(event.record)
        before = event.before is not None and self.selector.matches(event.before)
        if after:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else ""

    def on_event(self, event: Event) -> None:
        """Called by the store for each change."""
        type_ = self._type(event)
        if not type_ or self._ended.done():
            return
        if self._backlog is not None:
            self._backlog.append((type_, event))
            return
        self._send(self._frame(type_, event))

    def _frame(self, type_: str, change: Record | Event) -> bytes:
        if not self.call.as_table:
            return watch_frame(type_, change.full(self.served)) if isinstance(change, Record) else change.frame(self.served, type_)
        record = change if isinstance(change, Record) else change.record
        shown = negotiate.table(self.served, [record], {"resourceVersion": str(record.rev)}, self._headers_due)
        self._headers_due = False
        return watch_frame(type_, shown)

    def _due(self) -> bool:
        return (
            self.plan.after_frames is not None
            and self.frames >= self.plan.after_frames
            and not (self.plan.end.startswith("cut"))
        )

    def _send(self, frame: bytes) -> None:
        cut = self.plan.after_frames is not None and self.plan.end.startswith("cut")
        if cut and self.frames >= (self.plan.after_frames or 0):
            self._cut(frame, self.plan.end)
            return
        self.frames += 1
        self.connection.write_chunk(frame)
        if self._due():
            self.finish(self.plan.end)

    def _cut(self, frame: bytes, end: str) -> None:
        """Half a frame, then the end of the connection."""
        self._leave()
        self.connection.write(b"%x\r\n" % len(frame) + frame[: len(frame) // 2])
        self._close(end == "cut-rst")
        self._ended.set_result(None)

    def _bookmark(self, revision: int | None = None, annotations: dict[str, str] | None = None) -> None:
        if self._ended.done() or self._is_ahead():
            return
        meta: dict[str, Any] = {"resourceVersion": str(revision or self.state.store.rev)}
        if self.state.profile.null_creation_timestamp:
            meta["creationTimestamp"] = None
        if annotations:
            meta["annotations"] = annotations
        resource = self.served.resource
        obj = {"kind": resource.kind, "apiVersion": self.served.api_version, "metadata": meta, **SHOWN.get(resource.plural, {})}
        self._send(watch_frame("BOOKMARK", to_json(obj)))

    def _error(self, error: ApiError) -> None:
        """An ERROR frame and the end."""
        if not self._ended.done():
            self.connection.write_chunk(watch_frame("ERROR", to_json(error.status())))
            self.finish("clean")

    def act(self, plan: StreamPlan) -> None:
        """Ends, or silences, the running stream as a test demands."""
        self.plan = plan
        if self._ended.done():
            return
        if plan.end.startswith("cut"):
            self._cut(GARBAGE, plan.end)
        else:
            self.finish(plan.end)

    def resume(self) -> None:
        """Ends a silence; what was held back arrives now."""
        self.silent = False
        self.plan = StreamPlan()
        self.connection.resume()

    def finish(self, end: str) -> None:
        """Ends the stream in one of the ways of STREAM_ENDS."""
        if self._ended.done():
            return
        if end == "silence":
            self.silent = True
            self.connection.silence()
            return
        if end == "error":
            self._error(self.plan.error or statuses.expired("too old resource version"))
            return
        self._leave()
        if end == "garbage":
            self.connection.write_chunk(GARBAGE)
        if end in ("clean", "garbage"):
            self.connection.end_chunks()
        else:
            self._close(end == "rst")
        self._ended.set_result(None)

    def _close(self, reset: bool) -> None:
        if reset:
            self.connection.reset()
        else:
            self.connection.finish()

    def _leave(self) -> None:
        if self in self.table.watchers:
            self.table.watchers.remove(self)
