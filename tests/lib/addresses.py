# SPDX-License-Identifier: Apache-2.0
"""Addresses of one's own on this machine: no two tests ever get the same one at the same time."""
from __future__ import annotations

import itertools
import os
import socket

_PER_NETWORK = 250 * 250


class Address:
    """NETWORK.x.y (a network is "127.88", say), ours until release(): a name in the kernel's abstract namespace is bound as long as we
    hold it. One that was given back is not given out again for long, because somebody may remember what was there."""

    _next = itertools.count(os.getpid() * 37)  # begins where others are not likely to

    def __init__(self, network: str):
        self._guard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        for _ in range(_PER_NETWORK):
            x, y = divmod(next(self._next) % _PER_NETWORK, 250)
            self.ip = f"{network}.{x}.{y + 2}"
            try:
                self._guard.bind(f"\0sluice-test-{self.ip}")
                return
            except OSError:
                continue
        raise AssertionError(f"no free address in network {network}")

    def release(self) -> None:
        self._guard.close()


def free_port(ip: str = "127.0.0.1") -> int:
    """A port that nobody listens on now. On an address of one's own nobody will take it either."""
    with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET) as probe:
        probe.bind((ip, 0))
        return probe.getsockname()[1]
