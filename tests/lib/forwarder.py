# SPDX-License-Identifier: Apache-2.0
"""A way to a TCP server that can be cut: what is under way ends in silence, and nothing new gets through."""
from __future__ import annotations

import select
import socket
import threading


class Forwarder(threading.Thread):
    """Forwards a port of loopback to another, while `open`; as a context manager or with start() and stop()."""

    def __init__(self, port: int):
        super().__init__(daemon=True)
        self.to = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.is_open = True
        self.ending = False
        self.pairs: dict[socket.socket, socket.socket] = {}
        self.wake_in, self.wake_out = socket.socketpair()

    def run(self) -> None:
        while not self.ending:
            # While it is cut, nothing is read: senders fill their buffers and hear nothing.
            sources = [self.wake_in, *([self.listener, *self.pairs] if self.is_open else [])]
            for source in select.select(sources, [], [])[0]:
                if source is self.wake_in:
                    source.recv(4096)
                elif source is self.listener:
                    self._accept()
                elif source in self.pairs:
                    self._pass(source)
        for end in [*self.pairs, self.listener]:
            end.close()

    def _accept(self) -> None:
        near = self.listener.accept()[0]
        try:
            far = socket.create_connection(self.to, timeout=10)
        except OSError:
            near.close()
            return
        self.pairs[near], self.pairs[far] = far, near

    def _pass(self, source: socket.socket) -> None:
        other = self.pairs[source]
        try:
            data = source.recv(65536)
            if data:
                other.sendall(data)
                return
        except OSError:
            pass
        for end in (source, other):
            self.pairs.pop(end, None)
            end.close()

    def _wake(self) -> None:
        self.wake_out.send(b"x")

    def cut(self) -> None:
        self.is_open = False
        self._wake()

    def mend(self) -> None:
        self.is_open = True
        self._wake()

    def stop(self) -> None:
        self.ending = True
        self._wake()
        self.join(10)
