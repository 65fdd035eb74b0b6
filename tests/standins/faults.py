# SPDX-License-Identifier: Apache-2.0
"""Faults on demand, as all stand-ins have them that answer calls: which calls they strike, how often, and who still waits for their end.

A fault is a JSON object. `fault` is its kind, `skip` how many matching calls are let pass first, `count` how many are struck (absent: until cleared), and `when`
says whether the call is carried out: `before` (it is not) or `after` (it is, but the answer suffers). Which calls match, and what else may be in it, each stand-in says.
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any, Callable, Collection


@dataclass
class Fault:
    number: int
    spec: dict[str, Any]
    is_always_after: bool
    hits: int = 0
    passed: int = 0
    cleared: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def kind(self) -> str:
        return self.spec["fault"]

    @property
    def after(self) -> bool:
        return self.is_always_after or self.spec.get("when", "before") == "after"

    def spent(self) -> bool:
        return self.spec.get("count") is not None and self.hits >= self.spec["count"]


class FaultList:
    """`known`: keys of a fault; `after_only`: kinds that change an otherwise right answer; `waiting`: kinds that hold a call until they are cleared."""

    def __init__(self, effects: Collection[str], known: Collection[str], after_only: Collection[str], waiting: Collection[str]) -> None:
        self._effects, self._known, self._after_only, self._waiting = effects, {"fault", "skip", "count", "when", *known}, after_only, waiting
        self._numbers = itertools.count(1)
        self.active: dict[int, Fault] = {}

    def add(self, spec: dict[str, Any]) -> Fault:
        if spec.get("fault") not in self._effects or spec.keys() - self._known:
            raise ValueError(f"wrong fault {spec}")
        fault = Fault(next(self._numbers), dict(spec), spec["fault"] in self._after_only)
        self.active[fault.number] = fault
        return fault

    def clear(self, number: int | None = None) -> None:
        """Calls that a fault holds go on."""
        for fault in [f for n, f in self.active.items() if number in (None, n)]:
            del self.active[fault.number]
            fault.cleared.set()

    def strike(self, matches: Callable[[dict[str, Any]], bool]) -> Fault | None:
        """The oldest fault whose scope matches, counted as used."""
        for fault in list(self.active.values()):
            if fault.spent() or not matches(fault.spec):
                continue
            if fault.passed < fault.spec.get("skip", 0):
                fault.passed += 1
                continue
            fault.hits += 1
            if fault.spent() and fault.kind not in self._waiting:
                # Whom it holds still waits for its clearing.
                del self.active[fault.number]
            return fault
        return None
