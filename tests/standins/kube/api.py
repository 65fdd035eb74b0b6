# SPDX-License-Identifier: Apache-2.0
"""The way of a request through the server: who asks, which faults meet it, may they, what is asked, the
answer."""

from __future__ import annotations

import gzip
import re
import traceback
import uuid

from . import deletes, discovery, reads, statuses, writes
from .auth import Identity
from .call import DROPPED, READ, REFUSED, Answer, Call
from .encoding import to_json
from .faults import Plan, deadline_error
from .journal import Entry
from .negotiate import wants_table
from .request_info import RequestInfo, of_request
from .resources import Served
from .state import State
from .statuses import ApiError
from .watches import Stream
from .wire import Connection, Request

ORDINARY_DEADLINE_S = 60.0
WRITE_VERBS = ("create", "update", "patch", "delete", "deletecollection")
GZIP_FROM_BYTES = 128 * 1024
HEALTH_PATHS = ("/healthz", "/livez", "/readyz")
PF_HEADERS = [
    ("X-Kubernetes-Pf-Flowschema-Uid", "f0a2c6f4-9a3d-4f0b-8a59-3a4f5b6c7d88"),
    ("X-Kubernetes-Pf-Prioritylevel-Uid", "7b3c7b1e-6c1b-4d0c-8f3e-0d0f3d1f2a11"),
]
HANDLERS = {
    "get": reads.get,
    "list": reads.list_,
    "create": writes.create,
    "update": writes.update,
    "patch": writes.patch_,
    "delete": deletes.delete,
}


class Api:
    """Answers the requests of one connection after the other."""

    def __init__(self, state: State):
        self.state = state

    async def handle(self, connection: Connection, number: int, request: Request) -> None:
        """Answers one request, in whatever way the faults of the moment allow."""
        info = of_request(request)
        headers = [
            ("Audit-Id", request.headers.get("audit-id") or str(uuid.uuid4())),
            ("Cache-Control", "no-cache, private"),
        ]
        try:
            identity = self.state.authenticator.identify(connection, request)
        except ApiError as error:
            entry = self.state.journal.begin(request, info, None, number)
            self._send_error(connection, error, headers, entry, Plan())
            return
        plan = self.state.faults.plan(info, identity, request)
        entry = self.state.journal.begin(request, info, identity, number)
        entry.faults = tuple(plan.ids)
        try:
            await self._serve(connection, request, info, identity, plan, entry, headers)
        except (ConnectionError, OSError):
            entry.ended = entry.ended or "client"
            connection.must_close = True

    async def _serve(
        self,
        connection: Connection,
        request: Request,
        info: RequestInfo,
        identity: Identity,
        plan: Plan,
        entry: Entry,
        headers: list[tuple[str, str]],
    ) -> None:
        if plan.bytes_per_s:
            connection.bytes_per_s = plan.bytes_per_s
        if not await self._wait(connection, request, plan, entry):
            return
        if plan.respond is not None and not plan.perform_first:
            self._send_error(connection, plan.respond, headers, entry, plan)
            return
        if plan.close and not plan.perform_first:
            self._drop(connection, entry, plan.close)
            return
        try:
            answer = await self._answer(connection, request, info, identity, plan, entry, headers)
        except ApiError as error:
            self._send_error(connection, error, headers, entry, plan)
            return
        except (ConnectionError, OSError):
            raise
        except Exception as error:  # a defect here must be seen as one and not end the server
            traceback.print_exc()
            self._send_error(connection, statuses.internal(repr(error)), headers, entry, plan)
            return
        if answer is not None:
            self._finish(connection, request, answer, headers, entry, plan)
            await connection.drain()

    async def _wait(self, connection: Connection, request: Request, plan: Plan, entry: Entry) -> bool:
        """Latency and hanging. Returns whether there is still somebody to answer."""
        if not plan.delay_s and not plan.hang:
            return True
        limit = None if entry.verb == "watch" else _timeout_s(request.query.get("timeout", ""))
        late = limit is not None and plan.delay_s > limit
        seconds = None if plan.hang else limit if late else plan.delay_s
        if await connection.gone_within(seconds):
            self.state.journal.answered(entry, 0, DROPPED)
            entry.ended = "client"
            connection.must_close = True
            return False
        if late:
            plan.respond, plan.perform_first = deadline_error(), False
        return True

    def _drop(self, connection: Connection, entry: Entry, how: str) -> None:
        """Ends the connection instead of answering."""
        self.state.journal.answered(entry, 0, DROPPED if entry.effect == "" else entry.effect)
        entry.ended = how
        if how == "rst":
            connection.reset()
        else:
            connection.finish()

    async def _answer(
        self,
        connection: Connection,
        request: Request,
        info: RequestInfo,
        identity: Identity,
        plan: Plan,
        entry: Entry,
        headers: list[tuple[str, str]],
    ) -> Answer | None:
        """What a faultless server answers. None: it was a watch, which is over."""
        self.state.authorizer.check(identity, info)
        if not info.is_resource:
            return self._outside(request)
        served = self._served(info)
        call = Call(self.state, connection, request, info, identity, served, wants_table(request), plan, entry)
        _check_method(served, info, request)
        if info.verb == "watch":
            await Stream(call).run([*headers, *PF_HEADERS])
            return None
        return await HANDLERS[info.verb](call)

    def _outside(self, request: Request) -> Answer:
        if request.path.rstrip("/") in HEALTH_PATHS:
            return Answer(200, b"ok", "text/plain; charset=utf-8")
        answer = discovery.answer(self.state, request)
        if answer is None:
            raise statuses.no_such_path()
        return answer

    def _served(self, info: RequestInfo) -> Served:
        if info.group not in self.state.groups:
            raise statuses.no_such_path()
        served = self.state.index.get((info.group, info.version), {}).get(info.resource)
        if served is None or (
            info.subresource and not (info.subresource == "status" and served.resource.status)
        ):
            raise statuses.no_such_resource()
        if served.resource.namespaced and not info.namespace and info.verb not in ("list", "watch"):
            raise (
                statuses.method_not_allowed()
                if info.verb in ("create", "deletecollection")
                else statuses.no_such_resource()
            )
        if info.namespace and not served.resource.namespaced and info.resource != "namespaces":
            raise statuses.no_such_resource()
        return served

    def _finish(
        self,
        connection: Connection,
        request: Request,
        answer: Answer,
        headers: list[tuple[str, str]],
        entry: Entry,
        plan: Plan,
    ) -> None:
        """Sends an answer, or what the faults make of it once the work is done."""
        effect = READ if entry.verb not in WRITE_VERBS else answer.effect
        if plan.perform_first and plan.close:
            entry.effect = effect
            self._drop(connection, entry, plan.close)
            return
        if plan.perform_first and plan.respond is not None:
            self._send_error(connection, plan.respond, headers, entry, plan, effect)
            return
        headers = [*headers, *PF_HEADERS, *answer.headers, ("Content-Type", answer.content_type)]
        body = answer.body
        if (
            len(body) > GZIP_FROM_BYTES
            and request.method == "GET"
            and "gzip" in request.headers.get("accept-encoding", "")
        ):
            body = gzip.compress(body, 1)
            headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        self.state.journal.answered(entry, answer.status, effect)
        self._transmit(connection, answer.status, headers, body, plan)

    def _transmit(
        self, connection: Connection, status: int, headers: list[tuple[str, str]], body: bytes, plan: Plan
    ) -> None:
        if plan.cut is None:
            connection.respond(status, headers, body)
            return
        given = plan.cut["bytes"]
        keep = int(len(body) * plan.cut["fraction"]) if given is None else int(given)
        connection.respond_cut(status, headers, body, keep)
        if plan.cut["how"] == "silence":
            connection.silence()
        elif plan.cut["how"] == "rst":
            connection.reset()
        else:
            connection.finish()

    def _send_error(
        self,
        connection: Connection,
        error: ApiError,
        headers: list[tuple[str, str]],
        entry: Entry,
        plan: Plan,
        effect: str | None = None,
    ) -> None:
        if error.text is None:
            body, content_type = to_json(error.status()) + b"\n", "application/json"
        else:
            body, content_type = error.text.encode(), error.content_type or "text/plain; charset=utf-8"
        headers = [*headers, ("Content-Type", content_type), *error.headers.items()]
        if error.code != 401:
            headers += PF_HEADERS
        if error.headers.get("Connection") == "close":
            connection.must_close = True
        if effect is None:
            effect = REFUSED if entry.verb in WRITE_VERBS else READ
        self.state.journal.answered(entry, error.code, effect)
        self._transmit(connection, error.code, headers, body, plan)


def _check_method(served: Served, info: RequestInfo, request: Request) -> None:
    """405 for verbs that the resource, or this part of it, does not have."""
    verbs = ("get", "patch", "update") if info.subresource else served.resource.verbs
    on_object = info.verb in ("get", "update", "patch", "delete")
    if request.method == "HEAD" or info.verb not in (*HANDLERS, "watch") or info.verb not in verbs or (info.verb == "create" and info.name) or on_object is not bool(info.name):
        raise statuses.method_not_allowed()


def _timeout_s(text: str) -> float:
    """A Go duration, at most what the server grants."""
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    return min(
        ORDINARY_DEADLINE_S, sum(float(number) * units[unit] for number, unit in parts) or ORDINARY_DEADLINE_S
    )
