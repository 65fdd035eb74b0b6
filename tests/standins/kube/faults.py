# SPDX-License-Identifier: Apache-2.0
"""Faults that tests switch on: which requests they meet, how often, and what they do.

A fault is a JSON object:

    {"when": {"verb": "list", "resource": "ingresses"}, "count": 3, "do": "respond", "with": "throttled"}

`when` limits it (see When), `skip` and `count` say how often, and the rest depends on `do` (see ACTIONS). All faults that meet a request act on it together.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, fields
from typing import Any, Callable

from . import statuses
from .auth import Identity, denied
from .request_info import RequestInfo
from .statuses import ApiError
from .wire import Request


class BadFault(ValueError):
    """The description of a fault makes no sense."""


@dataclass
class When:
    """Limits by attributes of the request: a value, a list of values, or nothing for any. `path`, `query` and
    `user_agent` are regular expressions that must be found in the text."""

    verb: Any = None
    group: Any = None
    version: Any = None
    resource: Any = None
    subresource: Any = None
    namespace: Any = None
    name: Any = None
    identity: Any = None
    path: str | None = None
    query: str | None = None
    user_agent: str | None = None

    @classmethod
    def parse(cls, given: Any) -> When:
        """Reads the JSON form."""
        if given is None:
            return cls()
        if not isinstance(given, dict):
            raise BadFault("`when` must be an object")
        known = {entry.name for entry in fields(cls)}
        unknown = given.keys() - known
        if unknown:
            raise BadFault(f"`when` knows {sorted(known)}, not {sorted(unknown)}")
        return cls(**given)

    def meets(self, info: RequestInfo, identity: Identity | None, request: Request) -> bool:
        """Whether a request is meant."""
        alias = identity.alias if identity else ""
        exact = (
            (self.identity, alias),
            *(
                (getattr(self, key), getattr(info, key))
                for key in ("verb", "group", "version", "resource", "subresource", "namespace", "name")
            ),
        )
        if not all(_is_among(wanted, value) for wanted, value in exact):
            return False
        texts = (
            (self.path, request.path),
            (self.query, request.target.partition("?")[2]),
            (self.user_agent, request.user_agent),
        )
        return all(pattern is None or re.search(pattern, text) for pattern, text in texts)


def _is_among(wanted: Any, value: str) -> bool:
    if wanted is None or wanted == "*":
        return True
    return value in wanted if isinstance(wanted, list) else value == wanted


@dataclass
class StreamPlan:
    """What is to happen to one watch. after_frames: frames sent before the end; None: no end."""

    after_frames: int | None = None
    end: str = "clean"
    error: ApiError | None = None
    marker: bool = True
    bookmarks: bool = True


@dataclass
class Plan:
    """Everything that the faults of one request do to it."""

    ids: list[str] = field(default_factory=list)
    delay_s: float = 0
    hang: bool = False
    close: str = ""
    respond: ApiError | None = None
    perform_first: bool = False
    cut: dict[str, Any] | None = None
    page_max: int | None = None
    empty_page: bool = False
    null_items: bool = False
    race: bool = False
    bytes_per_s: float | None = None
    stream: StreamPlan = field(default_factory=StreamPlan)


@dataclass
class Fault:
    """One fault as it was switched on."""

    id: str
    when: When
    do: str
    spec: dict[str, Any]
    skip: int = 0
    count: int | None = None
    hits: int = 0

    @property
    def spent(self) -> bool:
        """Whether it will never act again."""
        return self.count == 0

    def describe(self) -> dict[str, Any]:
        """The JSON form, with what is left of it."""
        return self.spec | {"id": self.id, "hits": self.hits, "left": self.count, "spent": self.spent}


class Faults:
    """The faults that are switched on."""

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}
        self._numbers = itertools.count(1)

    def add(self, spec: Any) -> Fault:
        """Switches a fault on. Raises BadFault."""
        if not isinstance(spec, dict):
            raise BadFault("a fault is an object")
        do = spec.get("do")
        if do not in ACTIONS:
            raise BadFault(f"`do` is one of {sorted(ACTIONS)}, not {do!r}")
        known = {"id", "when", "do", "skip", "count", *PARAMETERS[do]}
        if spec.keys() - known:
            raise BadFault(f"{do} knows {sorted(known)}, not {sorted(spec.keys() - known)}")
        fault = Fault(
            str(spec.get("id") or f"fault-{next(self._numbers)}"),
            When.parse(spec.get("when")),
            do,
            spec,
            spec.get("skip", 0),
            spec.get("count"),
        )
        probe = RequestInfo("list", "/")
        ACTIONS[do](Plan(), spec, probe, None, Request("GET", "/", {}))
        self._faults[fault.id] = fault
        return fault

    def remove(self, id_: str | None = None) -> int:
        """Switches one fault off, or all. Returns how many there were."""
        if id_ is not None:
            return 1 if self._faults.pop(id_, None) else 0
        count = len(self._faults)
        self._faults.clear()
        return count

    def describe(self) -> list[dict[str, Any]]:
        """All faults."""
        return [fault.describe() for fault in self._faults.values()]

    def plan(self, info: RequestInfo, identity: Identity | None, request: Request) -> Plan:
        """What happens to a request. Uses up one count of each fault that acts."""
        plan = Plan()
        for fault in self._faults.values():
            if fault.spent or not fault.when.meets(info, identity, request):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            if fault.count is not None:
                fault.count -= 1
            fault.hits += 1
            plan.ids.append(fault.id)
            ACTIONS[fault.do](plan, fault.spec, info, identity, request)
        return plan


def _number(spec: dict, key: str, default: float | None = None) -> Any:
    value = spec.get(key, default)
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise BadFault(f"`{key}` must be a number that is not negative")
    return value


def _choice(spec: dict, key: str, choices: tuple[str, ...], default: str) -> str:
    value = spec.get(key, default)
    if value not in choices:
        raise BadFault(f"`{key}` is one of {choices}, not {value!r}")
    return value


def _respond(plan: Plan, spec: dict, info: RequestInfo, identity: Identity | None, _request: Request) -> None:
    plan.respond = answer(spec, info, identity)
    plan.perform_first = bool(spec.get("after"))


def answer(spec: dict, info: RequestInfo, identity: Identity | None) -> ApiError:
    """The error that `with`, or `status` and `body`, ask for."""
    if "status" in spec:
        headers = spec.get("headers") or {}
        error = ApiError(
            int(spec["status"]),
            "",
            "",
            text=spec.get("body", ""),
            headers=dict(headers),
            content_type=spec.get("content_type", "text/plain; charset=utf-8"),
        )
    else:
        name = spec.get("with", "internal")
        if name not in ANSWERS:
            raise BadFault(f"`with` is one of {sorted(ANSWERS)}, not {name!r}")
        error = ANSWERS[name](info, identity)
    if "retry_after" in spec:
        error.headers.pop("Retry-After", None)
        if spec["retry_after"] is not None:
            error.headers["Retry-After"] = str(spec["retry_after"])
    return error


def _delay(plan: Plan, spec: dict, *_: Any) -> None:
    plan.delay_s += _number(spec, "ms", 0) / 1000


def _hang(plan: Plan, _spec: dict, *_: Any) -> None:
    plan.hang = True


def _close(plan: Plan, spec: dict, *_: Any) -> None:
    plan.close = _choice(spec, "how", ("fin", "rst"), "rst")
    plan.perform_first = plan.perform_first or bool(spec.get("after"))


def _cut(plan: Plan, spec: dict, *_: Any) -> None:
    plan.cut = {
        "bytes": spec.get("bytes"),
        "fraction": _number(spec, "fraction", 0.5),
        "how": _choice(spec, "how", ("fin", "rst", "silence"), "fin"),
    }


def _page(plan: Plan, spec: dict, *_: Any) -> None:
    if "max" in spec:
        plan.page_max = max(1, int(_number(spec, "max")))
    plan.empty_page = plan.empty_page or bool(spec.get("empty"))
    plan.null_items = plan.null_items or bool(spec.get("null_items"))


def _race(plan: Plan, _spec: dict, *_: Any) -> None:
    plan.race = True


def _slow(plan: Plan, spec: dict, *_: Any) -> None:
    plan.bytes_per_s = _number(spec, "bytes_per_s")


STREAM_ENDS = ("clean", "fin", "rst", "cut", "cut-rst", "garbage", "error", "silence")


def _stream(plan: Plan, spec: dict, info: RequestInfo, identity: Identity | None, _request: Request) -> None:
    if "end" in spec:
        plan.stream.end = _choice(spec, "end", STREAM_ENDS, "clean")
        plan.stream.after_frames = int(_number(spec, "after_frames", 0))
    if plan.stream.end == "error":
        plan.stream.error = answer({"with": "expired"} | spec, info, identity)
    plan.stream.marker = plan.stream.marker and spec.get("marker", True)
    plan.stream.bookmarks = plan.stream.bookmarks and spec.get("bookmarks", True)


ACTIONS: dict[str, Callable[..., None]] = {
    "respond": _respond,
    "delay": _delay,
    "hang": _hang,
    "close": _close,
    "cut": _cut,
    "page": _page,
    "race": _race,
    "slow": _slow,
    "stream": _stream,
}
ANSWER_PARAMETERS = ("with", "retry_after", "status", "headers", "body", "content_type")
PARAMETERS: dict[str, tuple[str, ...]] = {
    "respond": (*ANSWER_PARAMETERS, "after"),
    "delay": ("ms",),
    "hang": (),
    "close": ("how", "after"),
    "cut": ("bytes", "fraction", "how"),
    "page": ("max", "empty", "null_items"),
    "race": (),
    "slow": ("bytes_per_s",),
    "stream": ("after_frames", "end", "marker", "bookmarks", *ANSWER_PARAMETERS),
}


def _retry(error: ApiError, seconds: int) -> ApiError:
    error.headers["Retry-After"] = str(seconds)
    if error.text is None:
        error.details = (error.details or {}) | {"retryAfterSeconds": seconds}
    return error


def _qualified(info: RequestInfo) -> str:
    return f"{info.resource}.{info.group}" if info.group else info.resource


def deadline_error() -> ApiError:
    """504 of the filter that bounds ordinary requests: a Status without kind, as plain text."""
    text = (
        '{"metadata":{},"status":"Failure",'
        '"message":"Timeout: request did not complete within the allotted timeout",'
        '"reason":"Timeout","details":{},"code":504}'
    )
    return ApiError(504, "Timeout", text, text=text, content_type="text/plain; charset=utf-8")


def _html(_info: RequestInfo, _identity: Identity | None) -> ApiError:
    page = (
        "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n"
        "<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>"
    )
    return ApiError(502, "", page, text=page, content_type="text/html")


def _garbage(_info: RequestInfo, _identity: Identity | None) -> ApiError:
    text = '{"kind":"List","items":[{"metadata":{"name":"a\u0000b"},"spec":{]]\ufffd\ufffe}'
    return ApiError(200, "", text, text=text, content_type="application/json")


ANSWERS: dict[str, Callable[[RequestInfo, Identity | None], ApiError]] = {
    "throttled": lambda info, who: _retry(
        statuses.plain(429, "Too many requests, please try again later."), 1
    ),
    "throttled-json": lambda info, who: _retry(
        ApiError(429, "TooManyRequests", "storage is (re)initializing"), 1
    ),
    "starting": lambda info, who: _retry(
        ApiError(
            503,
            "ServiceUnavailable",
            "the request has been made before all known HTTP paths have been installed, please try again",
        ),
        5,
    ),
    "shutting-down": lambda info, who: ApiError(
        503,
        "ServiceUnavailable",
        "apiserver is shutting down",
        headers={"Retry-After": "1", "X-Content-Type-Options": "nosniff"},
    ),
    "shutting-down-text": lambda info, who: _retry(
        statuses.plain(429, "The apiserver is shutting down, please try again later.", Connection="close"), 5
    ),
    "too-large-revision": lambda info, who: statuses.too_large_revision(999999, 15230),
    "deadline": lambda info, who: deadline_error(),
    "internal": lambda info, who: statuses.internal("etcdserver: leader changed"),
    "etcd-timeout": lambda info, who: ApiError(
        500,
        "ServerTimeout",
        f"The {info.verb} operation against {_qualified(info)} could not be completed at this "
        "time, please try again.",
        statuses.details("", info.group, info.resource, retryAfterSeconds=2),
    ),
    "unauthorized": lambda info, who: statuses.unauthorized(),
    "forbidden": lambda info, who: denied(who or Identity("anonymous", "system:anonymous"), info),
    "not-found-text": lambda info, who: statuses.no_such_path(),
    "not-found": lambda info, who: statuses.no_such_resource(),
    "expired": lambda info, who: statuses.expired("The resourceVersion for the provided list is too old."),
    "conflict": lambda info, who: ApiError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {_qualified(info)} "{info.name}": {statuses.MODIFIED}',
        statuses.details(info.name, info.group, info.resource),
    ),
    "html": _html,
    "garbage": _garbage,
    "empty": lambda info, who: ApiError(200, "", "", text="", content_type="application/json"),
}
