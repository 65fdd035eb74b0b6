# SPDX-License-Identifier: Apache-2.0
"""Faults on demand: which requests they hit, how often, and what happens to those.

A fault is a JSON object. Its scope: `method` (one or a list), `type`, `id`, `name`, `action`, `path` (regular
expression), `skip` (let so many matching requests pass first), `count` (how many are hit; absent: until
cleared). Its effect: `fault`, one of EFFECTS, with the parameters named there, and `when`: `before` (the
request is not carried out) or `after` (it is carried out, but the answer suffers).
"""

from __future__ import annotations

import asyncio
import itertools
import re
from dataclasses import dataclass, field
from typing import Any

EFFECTS = {
    "error": "an error answer: status (500), code, message, fieldName, headers, body (text instead of JSON)",
    "reset": "the connection is reset",
    "close": "the connection is closed without an answer",
    "slow": "the answer comes after `delay` seconds",
    "trickle": "the body comes in small pieces, over `delay` seconds",
    "garbage": "status 200 and `body` (text; some bytes that are no JSON by default)",
    "json": "status (200) and `body` (any JSON value) instead of the right one",
    "truncate": "the first half of the body, then the connection is closed",
    "hang": "no answer at all, until the fault is cleared",
    "drop-rows": "a list answers without its first `rows` (1) rows",
    "drift": "a page resumes `shift` (1) rows further than its marker says; negative: rows come twice",
}
# These change an otherwise right answer, so the request is always carried out.
_AFTER_ONLY = ("trickle", "truncate", "drop-rows", "drift")
_KNOWN = {"fault", "method", "type", "id", "name", "action", "path", "skip", "count", "when", "status",
          "code", "message", "fieldName", "headers", "body", "delay", "rows", "shift"}


@dataclass
class Subject:
    """What a fault's scope is compared with."""

    method: str
    path: str
    type: str | None
    id: str | None
    name: str | None
    action: str | None


@dataclass
class Fault:
    number: int
    spec: dict[str, Any]
    hits: int = 0
    passed: int = 0
    cleared: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def kind(self) -> str:
        return self.spec["fault"]

    @property
    def after(self) -> bool:
        return self.kind in _AFTER_ONLY or self.spec.get("when", "before") == "after"

    def spent(self) -> bool:
        return self.spec.get("count") is not None and self.hits >= self.spec["count"]

    def matches(self, subject: Subject) -> bool:
        spec = self.spec
        methods = spec.get("method")
        if methods is not None and subject.method not in ([methods] if isinstance(methods, str) else methods):
            return False
        if spec.get("path") is not None and not re.search(spec["path"], subject.path):
            return False
        return all(spec.get(k) is None or getattr(subject, k) == spec[k]
                   for k in ("type", "id", "name", "action"))


class Faults:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.active: dict[int, Fault] = {}

    def add(self, spec: dict[str, Any]) -> Fault:
        if spec.get("fault") not in EFFECTS:
            raise ValueError(f"fault must be one of {', '.join(EFFECTS)}")
        unknown = set(spec) - _KNOWN
        if unknown:
            raise ValueError(f"unknown members: {', '.join(sorted(unknown))}")
        if spec.get("path") is not None:
            re.compile(spec["path"])
        fault = Fault(next(self._numbers), dict(spec))
        self.active[fault.number] = fault
        return fault

    def clear(self, number: int | None = None) -> int:
        """End one fault, or all. Returns how many."""
        numbers = list(self.active) if number is None else [number] if number in self.active else []
        for n in numbers:
            self.active.pop(n).cleared.set()
        return len(numbers)

    def hit(self, subject: Subject) -> Fault | None:
        """The oldest fault that strikes this request, counted as used."""
        for fault in list(self.active.values()):
            if fault.spent() or not fault.matches(subject):
                continue
            if fault.passed < fault.spec.get("skip", 0):
                fault.passed += 1
                continue
            fault.hits += 1
            if fault.spent() and fault.kind != "hang":
                # A hanging request still waits for the clearing of the fault that hit it.
                self.active.pop(fault.number, None)
            return fault
        return None
