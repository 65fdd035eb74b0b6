# SPDX-License-Identifier: Apache-2.0
"""Event subscriptions over websockets: pings, batched change messages, and the ways in which they can go
wrong."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from .behaviour import Behaviour
from .jsontext import dumps
from .operations import Caller
from .resources import Renderer, Urls
from .store import Row, Store

# README.md says what they do.
MODES = ("normal", "off", "silent", "pings-only", "cut", "garbage", "binary-garbage", "huge")
PING_INTERVAL_S = 5.0
_HUGE = 8 * 1024 * 1024
_NAMES = re.compile(r"[*._0-9a-zA-Z;=]+")


@dataclass(eq=False)
class Subscriber:
    socket: web.WebSocketResponse
    transport: asyncio.Transport
    names: list[str]
    urls: Urls
    caller: Caller
    queue: asyncio.Queue = field(default_factory=asyncio.Queue)

    def wants(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, wanted.split(";")[0]) for wanted in self.names)


class Subscriptions:
    def __init__(self, store: Store, behaviour: Behaviour, renderer: Renderer):
        self.store = store
        self.behaviour = behaviour
        self.renderer = renderer
        self.mode = "normal"
        self.subscribers: set[Subscriber] = set()
        self.total = 0
        self._changed: dict[str, Row] = {}
        self._publisher: asyncio.Task | None = None
        self._last_batch = 0.0
        store.listeners.append(self.row_changed)

    # Changes

    def row_changed(self, row: Row) -> None:
        if self.subscribers:
            self._changed[row.id] = row
            if self._publisher is None:
                self._publisher = asyncio.get_running_loop().create_task(self._publish())

    async def _publish(self) -> None:
        """Send what has changed, as one message a row and not before the interval since the last batch is
        over."""
        due = self._last_batch + self.behaviour.event_interval
        await asyncio.sleep(max(0.01, due - asyncio.get_running_loop().time()))
        self._last_batch = asyncio.get_running_loop().time()
        self._publisher = None
        batch = list(self._changed.values())
        self._changed.clear()
        for subscriber in list(self.subscribers):
            if subscriber.wants("resource.change") and self.mode != "pings-only":
                for row in batch:
                    if row["accountId"] in (None, subscriber.caller.project):
                        subscriber.queue.put_nowait(self._message(subscriber, row))

    def _message(self, subscriber: Subscriber, row: Row) -> str | bytes:
        if self.mode == "garbage":
            return '{"name":"resource.change","data":{"resource":'
        if self.mode == "binary-garbage":
            return b"\x83\xff\xff\xff\xff\xff\xff\xff\xff\xff garbage"
        resource = self.renderer.text(row, subscriber.urls, subscriber.caller.role)
        padding = f',"padding":"{"x" * _HUGE}"' if self.mode == "huge" else ""
        return self._frame("resource.change", row.id, row.type, f'{{"resource":{resource}{padding}}}')

    @staticmethod
    def _frame(name: str, resource_id: str | None, resource_type: str | None, data: str) -> str:
        """A message; unlike an answer it has slashes as they are."""
        head = dumps({"id": str(uuid.uuid4()), "name": name, "resourceId": resource_id, "resourceType": resource_type})
        return f'{head[:-1]},"data":{data},"time":{int(time.time() * 1000)}}}'.replace("\\/", "/")

    # Connections

    @staticmethod
    def good_names(names: list[str]) -> list[str]:
        """The names, or none when one of them is malformed: such a subscription opens, too, and brings pings alone."""
        return names if all(_NAMES.fullmatch(n) for n in names) else []

    async def serve(self, request: web.BaseRequest, names: list[str], urls: Urls,
                    caller: Caller) -> web.StreamResponse:
        """One subscription, from the upgrade to its end."""
        socket = web.WebSocketResponse(autoping=self.mode != "silent", max_msg_size=1024 * 1024)
        await socket.prepare(request)
        transport = request.transport
        assert transport is not None
        self.total += 1
        if self.mode == "cut":
            transport.abort()
            return socket
        subscriber = Subscriber(socket, transport, names, urls, caller)
        self.subscribers.add(subscriber)
        tasks = [asyncio.create_task(work) for work in
                 (self._pings(subscriber), self._writer(subscriber), self._reader(subscriber))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.subscribers.discard(subscriber)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(socket.close(), 1.0)
        return socket

    async def _pings(self, subscriber: Subscriber) -> None:
        while True:
            await asyncio.sleep(PING_INTERVAL_S)
            if self.mode != "silent":
                subscriber.queue.put_nowait(self._frame("ping", None, None, '{"options":{},"resources":[]}'))

    async def _writer(self, subscriber: Subscriber) -> None:
        while True:
            message = await subscriber.queue.get()
            if self.mode == "silent":
                continue
            if isinstance(message, bytes):
                subscriber.transport.write(message)
            else:
                await subscriber.socket.send_str(message)

    async def _reader(self, subscriber: Subscriber) -> None:
        while True:
            message = await subscriber.socket.receive()
            if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
                return

    # Orders from the control side

    def set_mode(self, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}")
        self.mode = mode

    def cut(self) -> None:
        for subscriber in self.subscribers:
            subscriber.transport.abort()

    async def logout(self) -> None:
        for subscriber in list(self.subscribers):
            with contextlib.suppress(Exception):
                await subscriber.socket.send_str(dumps({"name": "logout"}))
                await subscriber.socket.close()

    def describe(self) -> dict[str, Any]:
        return {"mode": self.mode, "subscribers": len(self.subscribers), "total": self.total}

    async def stop(self) -> None:
        if self._publisher:
            self._publisher.cancel()
            self._publisher = None
        self.cut()
