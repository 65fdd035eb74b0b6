# SPDX-License-Identifier: Apache-2.0
"""Requests as bytes, without a library that would make them proper; WebSockets and HTTP/2 from the client's side."""
from __future__ import annotations

import base64
import contextlib
import http.client
import os
import socket
import ssl
from typing import Any

import h2.config
import h2.connection
import h2.events

from .answer import Answer, read

PATIENCE = 60.0


def client_context(alpn: list[str] | None = None) -> ssl.SSLContext:
    """Accepts any certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(alpn)
    return context


def dial(address: str, port: int, sni: str | None = None, tls: bool = False, alpn: list[str] | None = None, source: str | None = None,
         timeout: float = PATIENCE) -> socket.socket:
    """A connection, with TLS when `tls` or `sni` is given; `source` is the client's address."""
    link = socket.create_connection((address, port), timeout=timeout, source_address=(source, 0) if source else None)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not tls and sni is None:
        return link
    try:
        return client_context(alpn).wrap_socket(link, server_hostname=sni)
    except BaseException:
        link.close()
        raise


def read_answer(link: socket.socket, method: str = "GET") -> Answer:
    """The next answer on a connection that may stay open. OSError when there is none."""
    response = http.client.HTTPResponse(link, method=method)
    with contextlib.closing(response):
        try:
            response.begin()
            return read(response)
        except http.client.HTTPException as problem:
            raise ConnectionError(f"no answer: {type(problem).__name__} {problem}") from None


def exchange(address: str, port: int, request: bytes, sni: str | None = None, tls: bool = False, source: str | None = None) -> Answer:
    """Sends these bytes on a connection of its own; the (first) answer."""
    with contextlib.closing(dial(address, port, sni, tls, source=source)) as link:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the answer may be there before all was read
            link.sendall(request)
        return read_answer(link, request.split(b" ", 1)[0].decode("latin-1"))


class WebSocket(contextlib.AbstractContextManager):
    """A WebSocket to a host; OSError when it is refused."""

    def __init__(self, address: str, port: int, host: str, path: str = "/", sni: str | None = None):
        self.link = dial(address, port, sni)
        key = base64.b64encode(os.urandom(16)).decode()
        self.link.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.reader = self.link.makefile("rb")
        self.status = int(self.reader.readline().split()[1])
        self.headers = {}
        while line := self.reader.readline().strip():
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        if self.status != 101:
            self.close()
            raise ConnectionError(f"status {self.status}")

    def echo(self, text: bytes) -> bytes:
        """Sends one frame; what comes back."""
        mask = os.urandom(4)
        self.link.sendall(bytes([0x81, 0x80 | len(text)]) + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(text)))
        head = self.reader.read(2)
        if len(head) < 2:
            raise ConnectionError("closed")
        return self.reader.read(head[1] & 0x7f)

    def close(self) -> None:
        self.link.close()

    def __exit__(self, *_: object) -> None:
        self.close()


class H2Client(contextlib.AbstractContextManager):
    """HTTP/2 over TLS with ALPN, or without TLS by prior knowledge."""

    def __init__(self, address: str, port: int, sni: str | None = None):
        self.link = dial(address, port, sni, alpn=["h2"] if sni else None)
        if sni is not None:
            assert self.link.selected_alpn_protocol() == "h2", "HTTP/2 is not offered"
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.link.sendall(self.h2.data_to_send())
        self.answers: dict[int, Answer] = {}
        self.ended: set[int] = set()

    def ask(self, host: str, path: str = "/", method: str = "GET", body: bytes = b"", headers: dict[str, str] | None = None, scheme: str = "https") -> int:
        """Sends a request; its stream."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, [(":method", method), (":scheme", scheme), (":authority", host), (":path", path),
                                      *(headers or {}).items()], end_stream=not body)
        if body:
            self.h2.send_data(stream, body, end_stream=True)
        self.link.sendall(self.h2.data_to_send())
        return stream

    def wait(self, stream: int) -> Answer:
        """The answer of a stream. OSError when the stream or the connection is lost."""
        while stream not in self.ended:
            data = self.link.recv(65536)
            if not data:
                raise ConnectionError("closed")
            for event in self.h2.receive_data(data):
                self._take(event)
            self.link.sendall(self.h2.data_to_send())
        return self.answers[stream]

    def _take(self, event: Any) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            headers = dict(event.headers)
            self.answers[event.stream_id] = Answer(int(headers[":status"]), headers, b"")
        elif isinstance(event, h2.events.DataReceived):
            self.answers[event.stream_id].body += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived):
            self.answers[event.stream_id].trailers = dict(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
            raise ConnectionError(f"{type(event).__name__} {event.error_code}")

    def request(self, host: str, path: str = "/", **how: Any) -> Answer:
        return self.wait(self.ask(host, path, **how))

    def close(self) -> None:
        self.link.close()

    def __exit__(self, *_: object) -> None:
        self.close()
