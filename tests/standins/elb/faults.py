# SPDX-License-Identifier: Apache-2.0
"""Trouble on demand: faults, and the rates of an account.

A fault (../faults.py) strikes calls by `action` (one or a list, `*` globs) and `service`. README.md has the parameters of EFFECTS.
"""

from __future__ import annotations

import fnmatch
import time
from dataclasses import dataclass
from typing import Any

from ..faults import Fault, FaultList

EFFECTS = ("error", "throttle", "close", "hang", "hold", "slow", "truncate", "page")
_KNOWN = ("action", "service", "status", "code", "message", "delay", "body")


class Faults(FaultList):
    def __init__(self) -> None:
        super().__init__(EFFECTS, _KNOWN, after_only=("truncate",), waiting=("hang", "hold"))

    def hit(self, service: str, action: str) -> Fault | None:
        def matches(spec: dict[str, Any]) -> bool:
            wanted = spec.get("action", "*")
            patterns = [wanted] if isinstance(wanted, str) else wanted
            return spec.get("service", service) == service and any(fnmatch.fnmatchcase(action, pattern) for pattern in patterns)
        return self.strike(matches)


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
