# SPDX-License-Identifier: Apache-2.0
"""CPU time of processes, in nanoseconds as the scheduler counts it."""
from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterable


def used_ns(pids: Iterable[int]) -> int:
    total = 0
    for pid in pids:
        for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(file.read_text().split()[0])
    return total


def resident_bytes(pids: Iterable[int]) -> int:
    """Memory that is theirs alone or shared with others, in RAM now."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    return total
