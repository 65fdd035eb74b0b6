# SPDX-License-Identifier: Apache-2.0
"""Faults on demand: which requests they hit, how often, and what happens to those.

A fault is a JSON object. Its scope: `method` (one or a list), `type`, `name`, `skip` (let so many matching requests
pass first), `count` (how many are hit; absent: until cleared). Its effect: `fault`, one of EFFECTS, with the parameters that README.md names, and `when`: `before` (the
request is not carried out) or `after` (it is carried out, but the answer suffers).
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any

from .journal import Entry

EFFECTS = ("error", "reset", "close", "slow", "trickle", "garbage", "json", "truncate", "hang", "drop-rows", "drift")
# These change an otherwise right answer, so the request is always carried out.
_AFTER_ONLY = ("trickle", "truncate", "drop-rows", "drift")
_KNOWN = {"fault", "method", "type", "name", "skip", "count", "when", "status", "code", "message", "fieldName", "body", "delay", "rows",
          "shift"}


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

    def matches(self, subject: Entry) -> bool:
        spec = self.spec
        methods = spec.get("method")
        if methods is not None and subject.method not in ([methods] if isinstance(methods, str) else methods):
            return False
        return all(spec.get(k) is None or getattr(subject, k) == spec[k] for k in ("type", "name"))


class Faults:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.active: dict[int, Fault] = {}

    def add(self, spec: dict[str, Any]) -> Fault:
        if spec.get("fault") not in EFFECTS or spec.keys() - _KNOWN:
            raise ValueError(f"wrong fault {spec}")
        fault = Fault(next(self._numbers), dict(spec))
        self.active[fault.number] = fault
        return fault

    def clear(self, number: int | None = None) -> None:
        numbers = list(self.active) if number is None else [number] if number in self.active else []
        for n in numbers:
            self.active.pop(n).cleared.set()

    def hit(self, subject: Entry) -> Fault | None:
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
