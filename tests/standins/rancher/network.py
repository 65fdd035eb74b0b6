# SPDX-License-Identifier: Apache-2.0
"""Addresses of the simulated hosts and containers, all of them on the loopback interface.

A stand-in owns one /16 of 127.0.0.0/8, so that several can run side by side. Hosts are 127.x.<host>.1 with
<host> up to 99; the containers' own addresses (the Rancher network) begin at 127.x.128.1.
"""

from __future__ import annotations

import os
import socket
from typing import Container

_FIRST_CONTAINER_NET = 128


class Network:
    def __init__(self, prefix: str, lock: socket.socket):
        self.prefix = prefix
        self._lock = lock
        self._next = 0

    def host_address(self, number: int) -> str:
        return f"{self.prefix}.{number}.1"

    def container_address(self, taken: Container[str]) -> str:
        """The next container address that is not among those taken."""
        for _ in range(126 * 254):
            third, fourth = divmod(self._next, 254)
            self._next = (self._next + 1) % (126 * 254)
            address = f"{self.prefix}.{_FIRST_CONTAINER_NET + third}.{fourth + 1}"
            if address not in taken:
                return address
        raise ValueError("no container address is left")

    def close(self) -> None:
        self._lock.close()


def claim() -> Network:
    """The first network that no other stand-in on this machine uses.

    The claim is an abstract Unix socket: it ends with the process, however that ends.
    """
    for candidate in (f"127.{40 + (os.getpid() + i) % 80}" for i in range(80)):
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            lock.bind(f"\0rancher-standin-{candidate}")
            return Network(candidate, lock)
        except OSError:
            lock.close()
    raise ValueError("other stand-ins use all networks")
