# SPDX-License-Identifier: Apache-2.0
"""Endpoints that fail, for tests of second tries."""
from __future__ import annotations

import socket
from typing import Any

from lib.backend import Backend
from lib.provider_link import Object


class BadBackend(Backend):
    """An endpoint that answers with a status, or does worse once it has read a request: "silent", "junk", "reset" or "close"; it counts what comes."""

    def __init__(self, name: str, how: str):
        self.how = how
        super().__init__(name)

    def answer(self, connection: socket.socket, method: str, target: str, *rest: Any) -> None:
        self.counted()
        self.targets.append(target)
        if self.how == "silent":
            self.gate.wait(120)
        elif self.how == "junk":
            connection.sendall(b"HTTP/1.1 200 OK\r\n\0: x\r\n\r\n")
        elif self.how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        elif self.how != "close":
            connection.sendall(f"HTTP/1.1 {self.how} Bad\r\nX-Backend: {self.name}\r\nContent-Length: 3\r\n\r\nbad".encode())
            return
        raise ConnectionError("closed on purpose")


def codes(*statuses: int) -> list[Object]:
    """Statuses as policies name them."""
    return [{"status": status} for status in statuses]
