# SPDX-License-Identifier: Apache-2.0
"""Requests as a client sends them, once or without end."""
from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    status: int
    body: str
    headers: dict[str, str] = field(default_factory=dict)
    certificate: bytes | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(address: str, port: int, host: str, path: str = "/", tls: bool = False, sni: str | None = None,
            method: str = "GET", headers: dict[str, str] | None = None, timeout: float = 20.0) -> Answer:
    """One request on a connection of its own. With `tls` any certificate is taken, and handed out in DER."""
    connection = http.client.HTTPConnection(address, port, timeout=timeout)
    with contextlib.closing(connection):
        connection.connect()
        certificate = None
        if tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            connection.sock = context.wrap_socket(connection.sock, server_hostname=sni or host)
            certificate = connection.sock.getpeercert(binary_form=True)
        connection.request(method, path, headers={"Host": host, **(headers or {})})
        response = connection.getresponse()
        return Answer(response.status, response.read().decode(errors="replace"), dict(response.getheaders()), certificate)


def answers(address: str, port: int, host: str, path: str = "/", status: int = 200, **how: Any) -> bool:
    """Whether a request is answered so; False also when nobody listens."""
    try:
        return request(address, port, host, path, **how).status == status
    except (OSError, http.client.HTTPException):
        return False


class Traffic:
    """Requests in a loop until it is stopped; every answer but 200 and every failure counts."""

    def __init__(self, address: str, port: int, host: str, path: str = "/", pause: float = 0.005):
        self.target = (address, port, host, path)
        self.pause = pause
        self.good = 0
        self.failures: list[str] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._end.is_set():
            try:
                status = request(*self.target).status
                if status == 200:
                    self.good += 1
                else:
                    self.failures.append(f"{time.strftime('%H:%M:%S')} status {status}")
            except (OSError, http.client.HTTPException, socket.timeout) as problem:
                self.failures.append(f"{time.strftime('%H:%M:%S')} {type(problem).__name__}: {problem}")
            self._end.wait(self.pause)

    def __enter__(self) -> "Traffic":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(timeout=30)
