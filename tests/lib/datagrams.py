# SPDX-License-Identifier: Apache-2.0
"""Pods and clients that speak UDP."""
from __future__ import annotations

import collections
import contextlib
import socket
import threading

from .addresses import Address
from .backend import NETWORK


class DatagramPod(contextlib.AbstractContextManager):
    """A server on an address of its own that answers each datagram with its name, a blank and what it got, as many times as `answers` says."""

    def __init__(self, name: str, port: int = 8080, answers: int = 1):
        self.name = name
        self.answers = answers
        self._address = Address(NETWORK)
        self.ip = self._address.ip
        self.port = port
        self.clients: collections.deque[tuple[str, int]] = collections.deque(maxlen=10000)  # of each datagram, as it saw them
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((self.ip, port))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                datagram, peer = self._socket.recvfrom(65536)
            except OSError:
                return
            if datagram == b"" and peer == self._socket.getsockname():
                return
            self.clients.append(peer)
            for _ in range(self.answers):
                self._socket.sendto(self.name.encode() + b" " + datagram, peer)

    def stop(self) -> None:
        """As when the pod's process ends: whoever sends there hears from the kernel that nobody listens."""
        if self._socket.fileno() < 0:
            return
        self._socket.sendto(b"", self._socket.getsockname())  # nothing else wakes a thread that waits for a datagram
        self._thread.join()
        self._socket.close()

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._address.release()


class DatagramClient(contextlib.AbstractContextManager):
    """One address and port of a client."""

    def __init__(self, address: str, port: int):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect((address, port))

    def send(self, datagram: bytes) -> None:
        with contextlib.suppress(ConnectionRefusedError):  # what the kernel has heard of the one before
            self._socket.send(datagram)

    def receive(self, seconds: float = 0.5) -> bytes:
        """Empty: nothing came in that time, or nobody listens."""
        self._socket.settimeout(seconds)
        with contextlib.suppress(OSError):
            return self._socket.recv(65536)
        return b""

    def asks(self, datagram: bytes, seconds: float = 0.5) -> bytes:
        self.send(datagram)
        return self.receive(seconds)

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def reached(address: str, port: int, seconds: float = 0.5) -> str:
    """The name of the pod that answers a new client; empty: nothing comes."""
    with DatagramClient(address, port) as client:
        return client.asks(b"hello", seconds).split(b" ")[0].decode()
