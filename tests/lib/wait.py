# SPDX-License-Identifier: Apache-2.0
"""Waiting for conditions; nothing in the tests sleeps for a fixed time."""
from __future__ import annotations

import time
from typing import Callable, TypeVar

T = TypeVar("T")

# No wait gives up sooner, whatever it asks for: a deadline finds what never comes, it is no measure of how fast something is, and
# machines that run several tests at once are slow.
PATIENCE = 60.0


def wait_for(condition: Callable[[], T], what: str, timeout: float = 20.0, interval: float = 0.02) -> T:
    """The first true value of `condition`; AssertionError with the last value when the time is over."""
    timeout = max(timeout, PATIENCE)
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s in vain for {what}; last value: {value!r}")
        time.sleep(interval)


def stays(condition: Callable[[], object], what: str, seconds: float = 1.0) -> None:
    """Asserts that `condition` is true now and for so long: the only way to see that something does not happen."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), f"{what} did not last"
        time.sleep(0.05)
