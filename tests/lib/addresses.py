# SPDX-License-Identifier: Apache-2.0
"""Addresses of one's own on this machine: no two tests ever get the same one at the same time."""
from __future__ import annotations

import functools
import itertools
import socket

_PER_PROCESS = 500
_PROCESSES = 125


def _hold(name: str) -> socket.socket | None:
    """A name in the kernel's abstract namespace is bound as long as we hold it; None: somebody else does."""
    guard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        guard.bind(f"\0sluice-test-{name}")
    except OSError:
        guard.close()
        return None
    return guard


class _Share:
    """The part of each network that is this process's until it ends. Were the parts not apart, another process could take what was
    given back here a moment ago, while a test of ours goes on believing that nobody answers there."""

    def __init__(self) -> None:
        for number in range(_PROCESSES):
            self._guard = _hold(f"share-{number}")
            if self._guard is not None:
                self._offsets = itertools.cycle(range(number * _PER_PROCESS, (number + 1) * _PER_PROCESS))
                return
        raise AssertionError(f"{_PROCESSES} processes have taken addresses")

    def next_offset(self) -> int:
        return next(self._offsets)


@functools.lru_cache(maxsize=1)
def _share() -> _Share:
    return _Share()


class Address:
    """NETWORK.x.y (a network is "127.88", say), ours until release(). One that was given back is not given out again for long, because
    somebody may remember what was there."""

    def __init__(self, network: str):
        for _ in range(_PER_PROCESS):
            x, y = divmod(_share().next_offset(), 250)
            self.ip = f"{network}.{x}.{y + 2}"
            guard = _hold(self.ip)
            if guard is not None:
                self._guard = guard
                return
        raise AssertionError(f"no free address in network {network}")

    def release(self) -> None:
        self._guard.close()


def free_port(ip: str = "127.0.0.1") -> int:
    """A port that nobody listens on now. On an address of one's own nobody will take it either."""
    with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET) as probe:
        probe.bind((ip, 0))
        return probe.getsockname()[1]
