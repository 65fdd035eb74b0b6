# SPDX-License-Identifier: Apache-2.0
"""The way of a request through the server: who asks, which faults meet it, may they, what is asked, the
answer."""

from __future__ import annotations

import gzip
import traceback
import uuid

from . import deletes, discovery, reads, statuses, writes
from .auth import Identity
from .call import DROPPED, READ, REFUSED, Answer, Call
from .encoding import to_json
from .faults import Plan
from .negotiate import wants_table
from .request_info import RequestInfo, of_request
from .resources import Served
from .state import State
from .statuses import ApiError
from .watches import Stream
from .wire import Connection, Request

WRITE_VERBS = ("create", "update", "patch", "delete", "deletecollection")
GZIP_FROM_BYTES = 128 * 1024
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

    async def handle(self, connection: Connection, request: Request) -> None:
        info = of_request(request)
        identity: Identity | None = None
        refusal = None
        try:
            identity = self.state.authenticator.identify(connection, request)
        except ApiError as error:
            refusal = error
        plan = Plan() if refusal else self.state.faults.plan(info, identity, request)
        entry = self.state.journal.begin(request, info, identity)
        headers = [("Audit-Id", request.headers.get("audit-id") or str(uuid.uuid4())), ("Cache-Control", "no-cache, private")]
        call = Call(self.state, connection, request, info, identity, plan, entry, headers)
        try:
            if refusal:
                _send_error(call, refusal)
            else:
                await self._serve(call)
        except (ConnectionError, OSError):
            connection.must_close = True

    async def _serve(self, call: Call) -> None:
        plan = call.plan
        call.connection.bytes_per_s = plan.bytes_per_s or call.connection.bytes_per_s
        if not await self._wait(call):
            return
        if plan.respond is not None:
            _send_error(call, plan.respond)
            return
        if plan.close and not plan.perform_first:
            _drop(call, DROPPED)
            return
        try:
            answer = await self._answer(call)
        except ApiError as error:
            _send_error(call, error)
            return
        except (ConnectionError, OSError):
            raise
        except Exception as error:  # a defect here must be seen as one and not end the server
            traceback.print_exc()
            _send_error(call, statuses.internal(repr(error)))
            return
        if answer is not None:
            _finish(call, answer)
            await call.connection.drain()

    async def _wait(self, call: Call) -> bool:
        """Latency and hanging. Returns whether there is still somebody to answer."""
        plan = call.plan
        if not plan.delay_s and not plan.hang:
            return True
        if await call.connection.gone_within(None if plan.hang else plan.delay_s):
            self.state.journal.answered(call.entry, 0, DROPPED)
            call.connection.must_close = True
            return False
        return True

    async def _answer(self, call: Call) -> Answer | None:
        """What a faultless server answers. None: it was a watch, which is over."""
        self.state.authorizer.check(call.identity, call.info)
        if not call.info.is_resource:
            return self._outside(call.request)
        call.served, call.as_table = self._served(call.info), wants_table(call.request)
        _check_method(call.served, call.info)
        if call.info.verb == "watch":
            await Stream(call).run([*call.headers, *PF_HEADERS])
            return None
        return await HANDLERS[call.info.verb](call)

    def _outside(self, request: Request) -> Answer:
        answer = discovery.answer(self.state, request)
        if answer is None:
            raise statuses.no_such_path()
        return answer

    def _served(self, info: RequestInfo) -> Served:
        if info.group not in self.state.groups:
            raise statuses.no_such_path()
        served = self.state.index.get((info.group, info.version), {}).get(info.resource)
        if served is None or (info.subresource and not (info.subresource == "status" and served.resource.status)):
            raise statuses.no_such_resource()
        if served.resource.namespaced and not info.namespace and info.verb not in ("list", "watch"):
            raise statuses.method_not_allowed()
        return served


def _drop(call: Call, effect: str) -> None:
    call.state.journal.answered(call.entry, 0, effect)
    _end(call, call.plan.close)


def _end(call: Call, how: str) -> None:
    if how == "rst":
        call.connection.reset()
    else:
        call.connection.finish()


def _finish(call: Call, answer: Answer) -> None:
    """Sends an answer, or what the faults make of it once the work is done."""
    effect = READ if call.info.verb not in WRITE_VERBS else answer.effect
    if call.plan.perform_first and call.plan.close:
        _drop(call, effect)
        return
    headers = [*PF_HEADERS, ("Content-Type", answer.content_type)]
    body = answer.body
    takes_gzip = call.request.method == "GET" and "gzip" in call.request.headers.get("accept-encoding", "")
    if len(body) > GZIP_FROM_BYTES and takes_gzip:
        body = gzip.compress(body, 1)
        headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    call.state.journal.answered(call.entry, answer.status, effect)
    _transmit(call, answer.status, headers, body)


def _send_error(call: Call, error: ApiError) -> None:
    if error.text is None:
        body, content_type = to_json(error.status()) + b"\n", "application/json"
    else:
        body, content_type = error.text.encode(), error.content_type
    headers = [("Content-Type", content_type), *error.headers.items()]
    if error.code != 401:
        headers += PF_HEADERS
    if error.headers.get("Connection") == "close":
        call.connection.must_close = True
    call.state.journal.answered(call.entry, error.code, REFUSED if call.info.verb in WRITE_VERBS else READ)
    _transmit(call, error.code, headers, body)


def _transmit(call: Call, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
    headers = [*call.headers, *headers]
    if call.plan.cut is None:
        call.connection.respond(status, headers, body)
        return
    fraction, how = call.plan.cut
    call.connection.respond_cut(status, headers, body, int(len(body) * fraction))
    _end(call, how)


def _check_method(served: Served, info: RequestInfo) -> None:
    """405 for verbs that the resource, or this part of it, does not have."""
    verbs = ("get", "patch", "update") if info.subresource else served.resource.verbs
    on_object = info.verb in ("get", "update", "patch", "delete")
    if info.verb not in (*HANDLERS, "watch") or info.verb not in verbs or on_object is not bool(info.name):
        raise statuses.method_not_allowed()
