# SPDX-License-Identifier: Apache-2.0
"""Looks into a daemon through its admin server: its Unix socket, or its TCP port."""
from __future__ import annotations

import http.client
import pathlib
import socket

from .answer import Answer, read
from .wait import wait_for


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: pathlib.Path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def look(place: pathlib.Path | int | tuple[str, int], path: str, **headers: str) -> Answer:
    """GET by a Unix socket, a port of this machine, or an address; header names with _ for -."""
    if isinstance(place, pathlib.Path):
        connection: http.client.HTTPConnection = _UnixConnection(place)
    else:
        connection = http.client.HTTPConnection(*(("127.0.0.1", place) if isinstance(place, int) else place), timeout=60)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        return read(connection.getresponse())
    finally:
        connection.close()


def wait_ready(place: pathlib.Path | int) -> None:
    def is_ready() -> bool:
        try:
            return look(place, "/readyz").status == 200
        except OSError:
            return False
    wait_for(is_ready, f"{place} to be ready")
