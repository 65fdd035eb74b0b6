# SPDX-License-Identifier: Apache-2.0
"""A port that a server keeps while it does not listen."""

from __future__ import annotations

import socket


class ReservedPort:
    """Connections are refused until somebody listens on a socket()."""

    def __init__(self, address: str, number: int):
        self._address = address
        self.number = number
        self._silent = self.socket()
        self.number = self._silent.getsockname()[1]

    def socket(self) -> socket.socket:
        # SO_REUSEPORT lets the silent twin hold the port while nobody listens.
        # The protocol is named because asyncio sets TCP_NODELAY only on sockets that tell it.
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((self._address, self.number))
        return made

    def release(self) -> None:
        self._silent.close()
