# SPDX-License-Identifier: Apache-2.0
"""Compares what attacker.c has reached with what it may reach."""
from __future__ import annotations

import re
from typing import Iterable


def is_over(said: str) -> bool:
    return "done" in said.splitlines()


def of_last_life(before: str, said: str) -> str:
    """The part of the log behind `before`; empty until the attacker of that life is done."""
    since = said.removeprefix(before)
    return since if is_over(since) else ""


def check(said: str, may: Iterable[str], may_not: Iterable[str]) -> None:
    """Fails if it reached more than it may, and also if it reached less: an attacker that does not work reaches nothing."""
    may, may_not = set(may), set(may_not)
    assert not may & may_not, may & may_not
    assert is_over(said), said
    reached = {row.removeprefix("reached ") for row in said.splitlines() if row.startswith("reached ")}
    blocked = {row.removeprefix("blocked ").split(": ")[0] for row in said.splitlines() if row.startswith("blocked ")}
    assert reached | blocked == may | may_not, said
    assert reached - may == set(), f"reached what it must not:\n{said}"
    assert may - reached == set(), f"did not reach what is its own:\n{said}"


def refused_users(log: str) -> set[str]:
    """The options which, according to the translator's log, do not name the user of a peer that it sent away."""
    return set(re.findall(r"event=link-refused .*user \d+ may not connect; the translator's (--[a-z-]+)", log))
