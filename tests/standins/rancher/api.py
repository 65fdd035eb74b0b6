# SPDX-License-Identifier: Apache-2.0
"""The HTTP face of the server: authentication, routing of a request to an operation, answers, injected
faults."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import socket
import struct
from typing import Any

from aiohttp import web

from . import collection, schema
from .accounts import Accounts
from .errors import ApiError, bad_body, not_allowed, not_found, server_error
from .faults import Fault, Faults
from .journal import Entry, Journal
from .jsontext import dumps
from .operations import Caller, Operations, Outcome
from .resources import Renderer, Urls
from .store import Row, Store, TABLES
from .subscribe import Subscriptions
from .target import Target, parse

log = logging.getLogger(__name__)

_GARBAGE = '<html><body>It works!</body></html>\x00\xff{"data": ['
_JSON = "application/json; charset=utf-8"
_PIECES = 20
_BODY_MAX = 32 * 1024 * 1024


class Answer:
    """Status, headers and text of what would be sent if no fault interfered."""

    def __init__(self, status: int, text: str, headers: dict[str, str] | None = None):
        self.status = status
        self.text = text
        self.headers = headers or {}


class Dropped(Exception):
    """The connection was destroyed on purpose; there is nothing left to answer."""


class Api:
    def __init__(self, store: Store, accounts: Accounts, operations: Operations, renderer: Renderer, subscriptions: Subscriptions,
                 faults: Faults, journal: Journal):
        self.store = store
        self.accounts = accounts
        self.operations = operations
        self.renderer = renderer
        self.subscriptions = subscriptions
        self.faults = faults
        self.journal = journal
        self.black_hole: asyncio.Event | None = None   # set: requests are accepted and never answered

    def make_request(self, *parts: Any) -> web.BaseRequest:
        """Requests with room for large bodies; given to the HTTP server as its factory."""
        message, payload, protocol, writer, task = parts
        return web.BaseRequest(message, payload, protocol, writer, task, asyncio.get_running_loop(),
                               client_max_size=_BODY_MAX)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, _ = request.raw_path.partition("?")
        entry = self.journal.begin(request.method, path, [])
        entry.user_agent = request.headers.get("User-Agent")
        try:
            return await self._handle(request, entry)
        except (Dropped, ConnectionResetError):
            return web.Response()  # the connection is gone, this goes nowhere

    async def _handle(self, request: web.BaseRequest, entry: Entry) -> web.StreamResponse:
        raw = await request.read()
        if self.black_hole is not None:
            await self.black_hole.wait()
            if request.transport is None or request.transport.is_closing():
                raise Dropped  # nobody waits for the answer any more: the request is lost, not late
        target, problem = self._target(request)
        body = self._peek(raw)
        fault = self._fault(request, target, body, entry)
        if fault is not None and not fault.after:
            answer = await self._fail(request, fault, entry)
            if answer is not None:
                entry.status = answer.status
                return await self._send(request, answer)
        if target is not None and self._is_subscription(request, target):
            return await self._subscribe(request, target, entry)
        answer = self._answer(request, target, problem, raw, entry, fault)
        entry.status = answer.status
        if fault is not None and fault.after:
            return await self._spoil(request, fault, answer, entry)
        return await self._send(request, answer)

    # From a request to an answer

    @staticmethod
    def _target(request: web.BaseRequest) -> tuple[Target | None, ApiError | None]:
        try:
            return parse(request.raw_path, request.headers), None
        except ApiError as problem:
            return None, problem

    def _answer(self, request: web.BaseRequest, target: Target | None, problem: ApiError | None, raw: bytes,
                entry: Entry, fault: Fault | None) -> Answer:
        try:
            key = self.accounts.authenticate(request.headers)
            if target is None:
                raise problem or not_found()
            caller = self.accounts.caller(key, target.project)
            return self._dispatch(request.method, target, raw, caller, entry, fault)
        except ApiError as error:
            return Answer(error.status, dumps(error.body()), error.headers)

    def _dispatch(self, method: str, target: Target, raw: bytes, caller: Caller, entry: Entry,
                  fault: Fault | None) -> Answer:
        if caller.role == "agent" or target.type in (None, "subscribe"):
            raise not_found()
        if method in ("GET", "HEAD"):
            return self._read(target, caller, fault)
        body = self._body(target, raw)
        if method == "POST" and target.id is None and target.action is None:
            outcome = self.operations.create(target.type, body, caller)
        elif target.id is None:
            raise not_allowed()
        elif method == "POST" and target.action is not None:
            outcome = self.operations.action(self._row(target, caller), target.action, caller)
        elif method == "PUT":
            outcome = self.operations.update(self._row_to_write(method, target, caller), body, caller)
        elif method == "DELETE":
            outcome = self.operations.delete(self._row_to_write(method, target, caller), caller)
        else:
            raise not_allowed()
        return self._outcome(outcome, target, caller, entry)

    def _outcome(self, outcome: Outcome, target: Target, caller: Caller, entry: Entry) -> Answer:
        entry.changed = outcome.changed
        entry.type, entry.id, entry.name = outcome.row.type, outcome.row.id, outcome.row.name
        text = self.renderer.text(outcome.row, target.urls, caller.role, outcome.is_created)
        return Answer(outcome.status, text)

    # Reading

    def _read(self, target: Target, caller: Caller, fault: Fault | None) -> Answer:
        if target.id is None:
            rows = self._rows(target.type, caller)
            return Answer(200, self._list(target.type, rows, target, caller, fault))
        return Answer(200, self.renderer.text(self._row(target, caller), target.urls, caller.role))

    def _list(self, type_: str, rows: list[Row], target: Target, caller: Caller, fault: Fault | None) -> str:
        drift = fault.spec.get("shift", 1) if fault is not None and fault.kind == "drift" else 0
        if fault is not None and fault.kind == "drop-rows":
            rows = rows[fault.spec.get("rows", 1):]
        page = collection.select(type_, rows, target.query, drift)
        texts = [self.renderer.text(row, target.urls, caller.role) for row in page.rows]
        return collection.envelope(type_, page, texts, target.urls, target.query)

    def _rows(self, type_: str, caller: Caller) -> list[Row]:
        """The live rows of a type that the caller may see."""
        # The plurals of a table's base type show all kinds in it.
        name = TABLES[type_] if type_ in ("service", "instance", "setting") else type_
        rows = self.store.live(name)
        if type_ == "setting":
            return list(rows)
        if type_ == "project":
            return [r for r in rows if r.id == caller.project]
        return [r for r in rows if r["accountId"] == caller.project]

    def _row(self, target: Target, caller: Caller) -> Row:
        type_ = target.type or ""
        table = TABLES.get(type_)
        if table is None or target.id is None or not self.store.valid_id(table, target.id):
            raise not_found()
        row = self.store.get(table, target.id)
        if row is None or not self._visible(row, caller):
            raise not_found()
        if type_ not in (row.type, table):
            raise not_found()
        return row

    def _row_to_write(self, method: str, target: Target, caller: Caller) -> Row:
        """An id that is unknown or none is the server's own fault then, but for the PUT of a certificate."""
        try:
            return self._row(target, caller)
        except ApiError:
            if target.type == "certificate" and method == "PUT":
                raise
            raise server_error() from None

    @staticmethod
    def _visible(row: Row, caller: Caller) -> bool:
        if row.table == "project":
            return row.id == caller.project
        return row.table == "setting" or row["accountId"] == caller.project

    # Subscriptions

    @staticmethod
    def _is_subscription(request: web.BaseRequest, target: Target) -> bool:
        return (target.type == "subscribe" and request.method == "GET"
                and request.headers.get("Upgrade", "").lower() == "websocket")

    async def _subscribe(self, request: web.BaseRequest, target: Target, entry: Entry) -> web.StreamResponse:
        try:
            key = self.accounts.authenticate(request.headers)
            caller = self.accounts.caller(key, target.project)
            names = self.subscriptions.good_names([v for k, v in target.query if k == "eventNames"])
            if self.subscriptions.mode == "off":
                raise not_found()
        except ApiError as error:
            entry.status = error.status
            return await self._send(request, Answer(error.status, dumps(error.body()), error.headers))
        entry.status = 101
        return await self.subscriptions.serve(request, names, target.urls, caller)

    # Bodies

    @staticmethod
    def _peek(raw: bytes) -> Any:
        """The body for the log and for the scope of faults; whether it is acceptable is decided later."""
        try:
            return json.loads(raw) if raw else None
        except ValueError:
            return raw[:1000].decode(errors="replace")

    @staticmethod
    def _body(target: Target, raw: bytes) -> dict[str, Any]:
        """The body's fields, over those in the query."""
        fields: dict[str, Any] = {k: v for k, v in target.query if k not in ("action", "projectId")}
        if raw.strip():
            try:
                body = json.loads(raw)
            except ValueError:
                raise bad_body() from None
            if isinstance(body, dict):  # anything else is as good as an empty object
                fields.update(body)
        return fields

    @staticmethod
    async def _prepared(request: web.BaseRequest, answer: Answer, length: int | None = None) -> web.StreamResponse:
        """The head is sent. Without a length the body comes in chunks."""
        response = web.StreamResponse(status=answer.status, headers={"Content-Type": _JSON, **answer.headers})
        if length is None:
            response.enable_chunked_encoding()
        else:
            response.content_length = length
        await response.prepare(request)
        return response

    async def _send(self, request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
        response = await self._prepared(request, answer)
        if request.method != "HEAD":
            await response.write(answer.text.encode())
        await response.write_eof()
        return response

    # Faults

    def _fault(self, request: web.BaseRequest, target: Target | None, body: Any,
               entry: Entry) -> Fault | None:
        """Complete the log entry, and find the fault that strikes this request."""
        if target is not None:
            entry.query, entry.action = target.query, target.action
            entry.type, entry.id = target.type, target.id
            row = self.store.by_any_id(target.id) if target.id else None
            entry.name = row.name if row is not None else None
            if row is not None and target.type in (row.table, row.type):
                entry.type = row.type
        if entry.name is None and isinstance(body, dict) and isinstance(body.get("name"), str):
            entry.name = body["name"]
        entry.body = body
        fault = self.faults.hit(entry)
        entry.fault = fault.kind if fault is not None else None
        return fault

    async def _fail(self, request: web.BaseRequest, fault: Fault, entry: Entry) -> Answer | None:
        """A fault that strikes before the request is carried out. None: carry on after all."""
        spec = fault.spec
        if fault.kind == "slow":
            await asyncio.sleep(spec.get("delay", 1.0))
            return None
        if fault.kind == "hang":
            await fault.cleared.wait()
            self._drop(request, False)
        if fault.kind in ("reset", "close"):
            self._drop(request, fault.kind == "reset")
        if fault.kind == "garbage":
            return Answer(200, _GARBAGE)
        if fault.kind == "json":
            return Answer(spec.get("status", 200), dumps(spec.get("body")))
        status = int(spec.get("status", 500))
        code = spec.get("code", http.client.responses[status])
        error = ApiError(status, code, spec.get("message"), spec.get("fieldName"))
        return Answer(status, dumps(error.body()))

    async def _spoil(self, request: web.BaseRequest, fault: Fault, answer: Answer,
                     entry: Entry) -> web.StreamResponse:
        """A fault that strikes after the request has been carried out."""
        if fault.kind == "truncate":
            await self._send_part(request, answer)
        if fault.kind == "trickle":
            return await self._send_slowly(request, answer, fault.spec.get("delay", 1.0))
        if fault.kind in ("drop-rows", "drift"):
            return await self._send(request, answer)
        replaced = await self._fail(request, fault, entry)
        entry.status = (replaced or answer).status
        return await self._send(request, replaced or answer)

    async def _send_part(self, request: web.BaseRequest, answer: Answer) -> None:
        """Half of the body."""
        data = answer.text.encode()
        response = await self._prepared(request, answer, len(data))
        await response.write(data[:len(data) // 2])
        self._drop(request, False)

    async def _send_slowly(self, request: web.BaseRequest, answer: Answer, delay: float) -> web.StreamResponse:
        data = answer.text.encode()
        response = await self._prepared(request, answer, len(data))
        size = len(data) // _PIECES + 1
        for start in range(0, len(data), size):
            await response.write(data[start:start + size])
            await asyncio.sleep(delay / _PIECES)
        await response.write_eof()
        return response

    @staticmethod
    def _drop(request: web.BaseRequest, reset: bool) -> None:
        transport = request.transport
        if transport is not None:
            raw = transport.get_extra_info("socket")
            if reset and raw is not None:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                transport.abort()
            else:
                transport.close()
        raise Dropped
