# SPDX-License-Identifier: Apache-2.0
"""A way to a TCP server of loopback that can be cut."""
from __future__ import annotations

import contextlib
import socket
import threading


class Forwarder:
    """Forwards a port of loopback to another. While it is cut, what is under way ends in silence, and nothing new gets through: senders
    fill their buffers and hear nothing."""

    def __init__(self, port: int):
        self.to = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self._is_open = threading.Event()
        self._is_open.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        self._is_open.wait()
        with contextlib.suppress(OSError), self.opened(near) as opened, socket.create_connection(self.to) as far:
            back = threading.Thread(target=self._copy, args=(far, opened), daemon=True)
            back.start()
            self._copy(opened, far)
            back.join()

    def opened(self, near: socket.socket) -> socket.socket:
        """The client's connection as bytes are read from it and written to it."""
        return near

    def _copy(self, source: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._is_open.wait()
                to.sendall(data)
        self._is_open.wait()
        for end in (source, to):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        self._is_open.clear()

    def mend(self) -> None:
        self._is_open.set()

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.mend()
