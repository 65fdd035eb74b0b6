# SPDX-License-Identifier: Apache-2.0
"""The table of the benchmark, and what processes use."""
from __future__ import annotations

import contextlib
import pathlib
import re
import time
from typing import Callable, Iterable, NamedTuple

from lib.wait import wait_for


def _number(value: float, unit: str) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".") + unit


class Budget(NamedTuple):
    """One line of the table: met if what was measured is not above the limit. Without a limit it is only shown."""

    name: str
    measured: float
    limit: float | None
    unit: str

    @property
    def met(self) -> bool:
        return self.limit is None or self.measured <= self.limit

    def columns(self) -> tuple[str, ...]:
        measured = _number(self.measured, self.unit)
        if self.limit is None:
            return (self.name, measured, "-", "-", "")
        ratio = f"{self.measured / self.limit:.2f}" if self.limit else "-"
        return (self.name, measured, _number(self.limit, self.unit), ratio, "met" if self.met else "MISSED")


BUDGETS: list[Budget] = []


class Pair(NamedTuple):
    """A figure of ours beside the same of somebody else. Less is better; nobody has to be better."""

    name: str
    measured: float
    other: float
    unit: str

    def columns(self) -> tuple[str, ...]:
        ratio = self.measured / self.other if self.other else 0
        return (self.name, _number(self.measured, self.unit), _number(self.other, self.unit), f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}")


PAIRS: list[Pair] = []


def say(text: str) -> None:
    print(text, flush=True)


def budget(name: str, measured: float, limit: float | None, unit: str, detail: str = "") -> None:
    BUDGETS.append(Budget(name, measured, limit, unit))
    name, measured_text, limit_text, _, verdict = BUDGETS[-1].columns()
    say(f"  {name}: {measured_text}" + (f" of {limit_text}, {verdict}" if verdict else "") + (f" ({detail})" if detail else ""))


def figure(name: str, measured: float, unit: str, detail: str = "") -> None:
    """A line of the table that has no limit."""
    budget(name, measured, None, unit, detail)


def compare(name: str, measured: float, other: float, unit: str, detail: str = "") -> None:
    """A line of the table of print_peers()."""
    PAIRS.append(Pair(name, measured, other, unit))
    name, measured_text, other_text, ratio = PAIRS[-1].columns()
    say(f"  {name}: {measured_text} beside {other_text}, ratio {ratio}" + (f" ({detail})" if detail else ""))


def print_table() -> None:
    _print_rows([("budget", "measured", "limit", "ratio", ""), *(line.columns() for line in BUDGETS)])


def print_peers(other: str) -> None:
    _print_rows([("figure", "measured", other, "ratio"), *(line.columns() for line in PAIRS)])


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        name, *rest = (text.ljust(widths[0]) if i == 0 else text.rjust(widths[i]) for i, text in enumerate(row))
        say("  ".join(["", name, *rest]).rstrip())


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def cpu_s(pid: int) -> float:
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def pss_mb(pid: int) -> float:
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+) kB", text, re.M)[1]) / 1024


def settle(pids: Callable[[], Iterable[int]]) -> None:
    """Waits until none of them uses the processor any more; which processes they are may change meanwhile."""
    last = [0.0, time.monotonic()]

    def rests() -> bool:
        now = 0.0
        for pid in pids():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                now += cpu_s(pid)
        if abs(now - last[0]) > 0.02:  # more than returning memory to the system takes
            last[:] = [now, time.monotonic()]
        return time.monotonic() - last[1] > 5.0

    wait_for(rests, "the line to come to rest", 600, 0.25)
