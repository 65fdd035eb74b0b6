# SPDX-License-Identifier: Apache-2.0
"""TLS before a plain server of loopback; what it shows, and whom it asks to show something, may be changed for connections to come."""
from __future__ import annotations

import contextlib
import pathlib
import socket
import ssl
import threading
from typing import Any


class TlsGate:
    """Use it as a context manager. `clients` are the common names that were shown, oldest first; "" for nobody."""

    def __init__(self, port: int, folder: pathlib.Path, pair: Any, clients_of: bytes):
        self.to = ("127.0.0.1", port)
        self.folder = folder
        self.clients_of = clients_of
        self.clients: list[str] = []
        self.show(pair)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def show(self, pair: Any) -> None:
        """Shows this certificate from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (self.folder / "gate.pem").write_bytes(pair.pem + pair.key)
        context.load_cert_chain(self.folder / "gate.pem")
        context.load_verify_locations(cadata=self.clients_of.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        self.context = context

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with contextlib.suppress(OSError), self.context.wrap_socket(near, server_side=True) as tls, socket.create_connection(self.to) as far:
            shown = dict(pair[0] for pair in (tls.getpeercert() or {}).get("subject", ()))
            self.clients.append(shown.get("commonName", ""))
            back = threading.Thread(target=self._copy, args=(far, tls), daemon=True)
            back.start()
            self._copy(tls, far)
            back.join()

    @staticmethod
    def _copy(source: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                to.sendall(data)
        for end in (source, to):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "TlsGate":
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
