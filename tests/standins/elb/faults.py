# SPDX-License-Identifier: Apache-2.0
"""Trouble on demand: faults, and the rates of an account.

A fault is a JSON object. Its scope: `action` (one or a list, `*` globs), `service`, `skip` (let so many matching calls pass first), `count` (how many it
strikes; absent: until cleared). Its effect: `fault`, one of EFFECTS, and `when`: `before` (the call is not carried out) or `after` (it is, but the answer
suffers). README.md has their parameters.
"""

from __future__ import annotations

import asyncio
import fnmatch
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

EFFECTS = ("error", "throttle", "close", "hang", "hold", "slow", "truncate", "page")
_KNOWN = {"fault", "action", "service", "skip", "count", "when", "status", "code", "message", "delay", "body"}


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
        return self.kind == "truncate" or self.spec.get("when", "before") == "after"

    def matches(self, service: str, action: str) -> bool:
        wanted = self.spec.get("action", "*")
        patterns = [wanted] if isinstance(wanted, str) else wanted
        return self.spec.get("service", service) == service and any(fnmatch.fnmatchcase(action, pattern) for pattern in patterns)


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
        """Calls that a fault holds go on."""
        for fault in [f for n, f in self.active.items() if number in (None, n)]:
            del self.active[fault.number]
            fault.cleared.set()

    def hit(self, service: str, action: str) -> Fault | None:
        """The oldest fault that strikes this call, counted as used."""
        for fault in self.active.values():
            count = fault.spec.get("count")
            if (count is not None and fault.hits >= count) or not fault.matches(service, action):
                continue
            if fault.passed < fault.spec.get("skip", 0):
                fault.passed += 1
                continue
            fault.hits += 1
            return fault
        return None


@dataclass
class Bucket:
    burst: float
    rate: float
    tokens: float
    filled: float

    def take(self) -> bool:
        now = time.monotonic()
        self.tokens = min(self.burst, self.tokens + (now - self.filled) * self.rate)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


# Tokens and tokens a second. Only the first is AWS's word for ELB, and the last for Route 53; the others are guesses below which users have been throttled.
RATES = {"read": (40, 10), "targets": (20, 4), "write": (20, 3), "ec2": (50, 10), "acm": (10, 5), "tagging": (20, 5), "route53": (5, 5)}


class Rates:
    """Off until set."""

    def __init__(self) -> None:
        self._buckets: dict[str, Bucket] = {}

    def set(self, is_on: bool, rates: dict[str, list[float]]) -> None:
        if rates.keys() - RATES.keys():
            raise ValueError(f"rates are those of {', '.join(RATES)}")
        merged = {**RATES, **rates} if is_on else {}
        self._buckets = {name: Bucket(burst, rate, burst, time.monotonic()) for name, (burst, rate) in merged.items()}

    def take(self, service: str, action: str) -> bool:
        name = service
        if service == "elasticloadbalancing":
            name = "read" if action.startswith("Describe") else "targets" if action in ("RegisterTargets", "DeregisterTargets") else "write"
        return name not in self._buckets or self._buckets[name].take()
