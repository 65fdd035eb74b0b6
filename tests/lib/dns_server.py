# SPDX-License-Identifier: Apache-2.0
"""A name server on loopback that tells what a test says, by UDP: addresses of names, or a refusal."""
from __future__ import annotations

import contextlib
import socket
import struct
import threading

from .addresses import Address

NETWORK = "127.90"
TYPES = {socket.AF_INET: 1, socket.AF_INET6: 28}
NXDOMAIN, SERVFAIL = 3, 2


class DnsServer(contextlib.AbstractContextManager):
    """`server.put("a.test", "127.0.0.5", ttl=1)` and it is so; a name that was never put does not exist."""

    def __init__(self) -> None:
        self._address = Address(NETWORK)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((self._address.ip, 0))
        self.address = f"{self._address.ip}:{self._socket.getsockname()[1]}"
        self.count = 0  # questions that were answered
        self._names: dict[str, tuple[list[str], int, int]] = {}
        self._is_silent = False
        threading.Thread(target=self._serve, daemon=True).start()

    def put(self, name: str, *ips: str, ttl: int = 1, refusal: int = 0) -> None:
        """What the name has from now on; without addresses it exists, with `refusal` that code is all there is to hear."""
        self._names[name] = (list(ips), ttl, refusal)

    def remove(self, name: str) -> None:
        self._names.pop(name, None)

    def fall_silent(self, is_silent: bool = True) -> None:
        self._is_silent = is_silent

    def _serve(self) -> None:
        while True:
            try:
                question, client = self._socket.recvfrom(4096)
            except OSError:
                return
            if not self._is_silent:
                self._socket.sendto(self.answer(question), client)
                self.count += 1

    def answer(self, question: bytes) -> bytes:
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += question[at] + 1
        wanted = struct.unpack(">H", question[at + 1:at + 3])[0]
        ips, ttl, refusal = self._names.get(".".join(labels).lower(), ([], 1, NXDOMAIN))
        records = b""
        count = 0
        for ip in ips:
            family = socket.AF_INET6 if ":" in ip else socket.AF_INET
            if TYPES[family] == wanted:
                data = socket.inet_pton(family, ip)
                records += struct.pack(">HHHIH", 0xC00C, wanted, 1, ttl, len(data)) + data
                count += 1
        head = question[:2] + struct.pack(">HHHHH", 0x8180 | refusal, 1, count, 0, 0)
        return head + question[12:at + 5] + records

    def stop(self) -> None:
        self._socket.close()
        self._address.release()

    def __exit__(self, *_: object) -> None:
        self.stop()
