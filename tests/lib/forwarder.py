# SPDX-License-Identifier: Apache-2.0
"""Ways to a TCP server of loopback: one that can be cut, and one that asks for TLS."""
from __future__ import annotations

import contextlib
import pathlib
import socket
import ssl
import threading
from typing import Any


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
        with contextlib.suppress(OSError), self._opened(near) as opened, socket.create_connection(self.to) as far:
            back = threading.Thread(target=self._copy, args=(far, opened), daemon=True)
            back.start()
            self._copy(opened, far)
            back.join()

    def _opened(self, near: socket.socket) -> socket.socket:
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


class TlsGate(Forwarder, contextlib.AbstractContextManager):
    """TLS before a plain server; what it shows may be changed for all clients that have not yet begun to speak. Use it as a context
    manager. `clients` are the common names that were shown, oldest first; "" for nobody."""

    def __init__(self, port: int, folder: pathlib.Path, pair: Any, clients_of: bytes):
        self.folder = folder
        self.clients_of = clients_of
        self.clients: list[str] = []
        self.show(pair)
        super().__init__(port)

    def show(self, pair: Any) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (self.folder / "gate.pem").write_bytes(pair.pem + pair.key)
        context.load_cert_chain(self.folder / "gate.pem")
        context.load_verify_locations(cadata=self.clients_of.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        context.sni_callback = self._choose
        self.context = context

    def _choose(self, tls: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
        """What is shown when the client has spoken, not when its connection was accepted: by then its side may trust others."""
        tls.context = self.context

    def _opened(self, near: socket.socket) -> socket.socket:
        tls = self.context.wrap_socket(near, server_side=True)
        shown = dict(pair[0] for pair in (tls.getpeercert() or {}).get("subject", ()))
        self.clients.append(shown.get("commonName", ""))
        return tls

    def __exit__(self, *_: object) -> None:
        self.stop()
