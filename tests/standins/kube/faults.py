# SPDX-License-Identifier: Apache-2.0
"""Faults that tests switch on: which requests they meet, how often, and what they do.

`when` limits a fault (see When), `count` says how often it acts, and the rest depends on `do`, one of ACTIONS, whose parameters it
takes. All faults that meet a request act on it together.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Any, Callable

from . import statuses
from .auth import Identity, denied
from .request_info import RequestInfo
from .statuses import ApiError, details
from .wire import Request


@dataclass
class When:
    """Limits by attributes of the request: a value, a list of values, or nothing for any. `path` and `query` are regular
    expressions that must be found in the text."""

    verb: Any = None
    resource: Any = None
    subresource: Any = None
    namespace: Any = None
    name: Any = None
    identity: Any = None
    path: str = ""
    query: str = ""

    def meets(self, info: RequestInfo, identity: Identity | None, request: Request) -> bool:
        exact = [(getattr(self, key), getattr(info, key)) for key in ("verb", "resource", "subresource", "namespace", "name")]
        exact.append((self.identity, identity.alias if identity else ""))
        if not all(_is_among(wanted, value) for wanted, value in exact):
            return False
        return bool(re.search(self.path, request.path) and re.search(self.query, request.raw_query))


def _is_among(wanted: Any, value: str) -> bool:
    if wanted is None:
        return True
    return value in wanted if isinstance(wanted, list) else value == wanted


@dataclass
class StreamPlan:
    """What is to happen to one watch. after_frames: frames sent before the end; None: no end."""

    after_frames: int | None = None
    end: str = "clean"
    error: ApiError | None = None


@dataclass
class Plan:
    """Everything that the faults of one request do to it."""

    delay_s: float = 0
    hang: bool = False
    close: str = ""
    respond: ApiError | None = None
    perform_first: bool = False
    cut: tuple[float, str] | None = None  # the part of the body that is sent, and how the connection ends then
    page_max: int | None = None
    empty_page: bool = False
    null_items: bool = False
    race: bool = False
    bytes_per_s: float | None = None
    stream: StreamPlan = field(default_factory=StreamPlan)


@dataclass
class Fault:
    """One fault as it was switched on. `count`: how often it will act, None for ever."""

    when: When
    do: str
    parameters: dict[str, Any]
    count: int | None = None
    hits: int = 0

    def act(self, plan: Plan, info: RequestInfo, identity: Identity | None) -> None:
        ACTIONS[self.do](plan, info, identity, **self.parameters)


class Faults:
    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}
        self._numbers = itertools.count(1)

    def add(self, do: str, when: dict[str, Any] | None = None, count: int | None = None, id: str = "", **parameters: Any) -> str:
        fault = Fault(When(**(when or {})), do, parameters, count)
        fault.act(Plan(), RequestInfo("list", "/"), None)  # so that a wrong parameter is known now
        id = id or f"fault-{next(self._numbers)}"
        self._faults[id] = fault
        return id

    def clear(self, id: str | None = None) -> None:
        for gone in list(self._faults) if id is None else [id]:
            self._faults.pop(gone, None)

    def describe(self) -> list[dict[str, Any]]:
        """All faults, with how often they have acted and whether they will again."""
        return [{"id": id, "hits": fault.hits, "spent": fault.count == 0} for id, fault in self._faults.items()]

    def plan(self, info: RequestInfo, identity: Identity | None, request: Request) -> Plan:
        """What happens to a request. Uses up one count of each fault that acts."""
        plan = Plan()
        for fault in self._faults.values():
            if fault.count == 0 or not fault.when.meets(info, identity, request):
                continue
            if fault.count is not None:
                fault.count -= 1
            fault.hits += 1
            fault.act(plan, info, identity)
        return plan


# What faults do


def _respond(plan: Plan, info: RequestInfo, who: Identity | None, **what: Any) -> None:
    plan.respond = answer(info, who, **what)


def _delay(plan: Plan, _info: RequestInfo, _who: Identity | None, ms: float) -> None:
    plan.delay_s += ms / 1000


def _hang(plan: Plan, _info: RequestInfo, _who: Identity | None) -> None:
    plan.hang = True


def _close(plan: Plan, _info: RequestInfo, _who: Identity | None, how: str, after: bool = False) -> None:
    """`how`: fin or rst. `after`: the request is carried out first."""
    plan.close = how
    plan.perform_first = after


def _cut(plan: Plan, _info: RequestInfo, _who: Identity | None, fraction: float, how: str = "fin") -> None:
    """The body ends after this part of it."""
    plan.cut = fraction, how


def _page(plan: Plan, _info: RequestInfo, _who: Identity | None, max: int | None = None, empty: bool = False, null_items: bool = False) -> None:
    plan.page_max, plan.empty_page, plan.null_items = max, empty, null_items


def _race(plan: Plan, _info: RequestInfo, _who: Identity | None) -> None:
    plan.race = True


def _slow(plan: Plan, _info: RequestInfo, _who: Identity | None, bytes_per_s: float) -> None:
    plan.bytes_per_s = bytes_per_s


def _stream(plan: Plan, _info: RequestInfo, _who: Identity | None, end: str, after_frames: int = 0) -> None:
    plan.stream = StreamPlan(after_frames, end)


ACTIONS: dict[str, Callable[..., None]] = {
    "respond": _respond, "delay": _delay, "hang": _hang, "close": _close, "cut": _cut, "page": _page, "race": _race, "slow": _slow,
    "stream": _stream,
}
STREAM_ENDS = ("clean", "fin", "rst", "cut", "cut-rst", "garbage", "error", "silence")


# Answers


def answer(info: RequestInfo, who: Identity | None, with_: str = "", status: int = 200, body: str = "",
           headers: dict[str, str] | None = None, content_type: str = "text/plain; charset=utf-8", **more: Any) -> ApiError:
    """The error of this name, or of this status and body. `retry_after`: another header of this name; None: none."""
    if with_:
        error = _known(info, who)[with_]
    else:
        error = ApiError(status, "", "", text=body, headers=dict(headers or {}), content_type=content_type)
    if "retry_after" in more:
        error.headers.pop("Retry-After", None)
        if more["retry_after"] is not None:
            error.headers["Retry-After"] = str(more["retry_after"])
    return error


def _retry(error: ApiError, seconds: int) -> ApiError:
    error.headers["Retry-After"] = str(seconds)
    if error.text is None:
        error.details = (error.details or {}) | {"retryAfterSeconds": seconds}
    return error


def deadline_error() -> ApiError:
    """504 of the filter that bounds ordinary requests: a Status without kind, as plain text."""
    text = (
        '{"metadata":{},"status":"Failure",'
        '"message":"Timeout: request did not complete within the allotted timeout",'
        '"reason":"Timeout","details":{},"code":504}'
    )
    return ApiError(504, "Timeout", text, text=text)


def _known(info: RequestInfo, who: Identity | None) -> dict[str, ApiError]:
    timeout = f"The {info.verb} operation against {info.qualified} could not be completed at this time, please try again."
    starting = "the request has been made before all known HTTP paths have been installed, please try again"
    gateway = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n</body>\r\n</html>"
    garbage = '{"kind":"List","items":[{"metadata":{"name":"a\u0000b"},"spec":{]]\ufffd\ufffe}'
    json = "application/json"
    return {
        "throttled": _retry(statuses.plain(429, "Too many requests, please try again later."), 1),
        "throttled-json": _retry(ApiError(429, "TooManyRequests", "storage is (re)initializing"), 1),
        "starting": _retry(ApiError(503, "ServiceUnavailable", starting), 5),
        "shutting-down": ApiError(503, "ServiceUnavailable", "apiserver is shutting down", headers={"Retry-After": "1"}),
        "shutting-down-text": _retry(
            statuses.plain(429, "The apiserver is shutting down, please try again later.", Connection="close"), 5
        ),
        "too-large-revision": statuses.too_large_revision(999999, 15230),
        "deadline": deadline_error(),
        "internal": statuses.internal("etcdserver: leader changed"),
        "etcd-timeout": ApiError(500, "ServerTimeout", timeout, details("", info.group, info.resource, retryAfterSeconds=2)),
        "unauthorized": statuses.unauthorized(),
        "forbidden": denied(who or Identity("anonymous", "system:anonymous"), info),
        "not-found-text": statuses.no_such_path(),
        "not-found": statuses.no_such_resource(),
        "expired": statuses.expired("The resourceVersion for the provided list is too old."),
        "html": ApiError(502, "", "", text=gateway, content_type="text/html"),
        "garbage": ApiError(200, "", "", text=garbage, content_type=json),
        "empty": ApiError(200, "", "", text="", content_type=json),
    }
