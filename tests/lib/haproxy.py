# SPDX-License-Identifier: Apache-2.0
"""provider-haproxy with its HAProxy, for tests."""
from __future__ import annotations

import pathlib
import socket

from .local_proxy import LocalProxy


class HAProxy(LocalProxy):
    name = "haproxy"
    network = "127.81"

    def socket(self) -> pathlib.Path:
        return self.proxy_dir / "haproxy.sock"

    def cli(self, command: str) -> str:
        """The answer of HAProxy's runtime socket to one command."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(30)
            link.connect(str(self.socket()))
            link.sendall(command.encode() + b"\n")
            pieces = iter(lambda: link.recv(65536), b"")
            return b"".join(pieces).decode(errors="replace")
