# SPDX-License-Identifier: Apache-2.0
"""Faults on demand: which requests they strike.

A fault (../faults.py) strikes requests by `method` (one or a list), `type` and `name`. README.md has the parameters of EFFECTS.
"""

from __future__ import annotations

from typing import Any

from ..faults import Fault, FaultList
from .journal import Entry

EFFECTS = ("error", "reset", "close", "slow", "trickle", "garbage", "json", "truncate", "hang", "drop-rows", "drift")
_AFTER_ONLY = ("trickle", "truncate", "drop-rows", "drift")
_KNOWN = ("method", "type", "name", "status", "code", "message", "fieldName", "body", "delay", "rows", "shift")


class Faults(FaultList):
    def __init__(self) -> None:
        super().__init__(EFFECTS, _KNOWN, _AFTER_ONLY, waiting=("hang",))

    def hit(self, subject: Entry) -> Fault | None:
        def matches(spec: dict[str, Any]) -> bool:
            methods = spec.get("method")
            if methods is not None and subject.method not in ([methods] if isinstance(methods, str) else methods):
                return False
            return all(spec.get(k) is None or getattr(subject, k) == spec[k] for k in ("type", "name"))
        return self.strike(matches)
