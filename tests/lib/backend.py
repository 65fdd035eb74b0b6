# SPDX-License-Identifier: Apache-2.0
"""Small servers that play the pods: each on an address of its own, answering with its name and exactly what it got.

The answer is JSON: name, method, target as sent, version, headers as [name, value] in order, host, body, client, and `path` as `target`; with TLS also `tls`: name, version, cipher.
Words in the query ask for more: `status=N` another status than 200, `hold` waits for release(), `stream` sends a chunk at once and the end after release(), `close` closes
the connection after the answer, `drop` in place of it, `say=NAME:VALUE` puts that header into the answer. A header `X-Say: NAME: VALUE` puts that header into the answer. `/healthz` answers 503 while
`is_healthy` is false. An upgrade to WebSocket is accepted; frames are echoed.
"""
from __future__ import annotations

import base64
import collections
import contextlib
import hashlib
import json
import os
import re
import socket
import ssl
import threading
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from .addresses import Address

# tests/pod-network makes one that is not loopback, and tells its name.
NETWORK = os.environ.get("SLUICE_POD_NETWORK", "127.88")
# What lets a program send requests to pods that are on loopback.
LOOPBACK = ["--allow-egress", "127.0.0.0/8"]
_WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Pod(contextlib.AbstractContextManager):
    """A server on an address of its own; subclasses serve(connection, peer address) one connection, in a thread of its own."""

    alpn: list[str] = []

    def __init__(self, name: str, port: int = 8080, ip: str | None = None, tls: Any = None, clients_of: bytes | None = None,
                 least: ssl.TLSVersion | None = None):
        self.name = name
        self._address = None if ip else Address(NETWORK)
        self.ip = ip or self._address.ip
        self.count = 0  # requests, or connections where there are none
        self.accepted = 0  # connections
        self.is_healthy = True
        self.targets: collections.deque[str] = collections.deque(maxlen=10000)  # of requests, as sent
        self.begun: collections.deque[str] = collections.deque(maxlen=10000)  # targets of requests of which the headers have come
        self.last_answer = b"{}"  # of HTTP/1: the JSON of the last one, also if it was sent without a body
        self.gate = threading.Event()
        self.takes_s = 0.0  # how long an answer takes, for those that are compared by that
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self.server_names: collections.deque[str | None] = collections.deque(maxlen=10000)  # of handshakes, as asked for
        self._tls = server_context(tls, clients_of, self.alpn, self.server_names) if tls is not None else None
        if self._tls is not None and least is not None:
            self._tls.minimum_version = least
        self._listener = socket.create_server((self.ip, port), backlog=512,
                                              family=socket.AF_INET6 if ":" in self.ip else socket.AF_INET)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, peer = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self.handle, args=(connection, peer[0]), daemon=True).start()

    def handle(self, connection: socket.socket, peer: str) -> None:
        with self._lock:
            self._connections.add(connection)
            self.accepted += 1
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                with self._lock:
                    self._connections.add(connection)
            self.serve(connection, peer)
        except (OSError, ValueError, h2.exceptions.ProtocolError):
            pass  # the client has gone or is no client of ours
        finally:
            with self._lock:
                self._connections = {item for item in self._connections if item.fileno() >= 0 and item is not connection}
            with contextlib.suppress(OSError):
                connection.close()

    def serve(self, connection: socket.socket, peer: str) -> None:
        raise NotImplementedError

    def counted(self) -> None:
        with self._lock:
            self.count += 1

    def release(self) -> None:
        """Lets all that hold go on, now and later."""
        self.gate.set()

    def stop(self) -> None:
        """As when the pod's process ends: nobody listens, and every connection is closed."""
        self.gate.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def __exit__(self, *_: object) -> None:
        """Only now may another pod have the address: until then it answers nobody."""
        self.stop()
        if self._address is not None:
            self._address.release()


def is_last(version: str, known: dict, target: str) -> bool:
    """Whether the connection is closed behind the request."""
    return version == "HTTP/1.0" or known.get("connection", "").lower() == "close" or "close" in query_words(target)


class Backend(Pod):
    """HTTP/1.x: `Backend("a").ip` is its address, `port` its container port. With `tls` (a lib.certs.Pair) it speaks TLS,
    and with `clients_of` only to clients whose certificate that CA has signed."""

    def serve(self, connection: socket.socket, peer: str) -> None:
        reader = connection.makefile("rb", buffering=65536)
        while line := reader.readline(1 << 17):
            method, target, version = line.decode("latin-1").rstrip("\r\n").split(" ", 2)
            headers = []
            while (line := reader.readline(1 << 17).decode("latin-1").rstrip("\r\n")):
                name, _, value = line.partition(":")
                headers.append([name, value.strip()])
            known = {name.lower(): value for name, value in headers}
            if known.get("upgrade", "").lower() == "websocket":
                self.counted()
                return self.serve_websocket(connection, reader, known)
            self.begun.append(target)
            body = read_body(reader, known)
            self.answer(connection, method, target, version, headers, known, body, peer)
            if is_last(version, known, target):
                return None
        return None

    def answer(self, connection: socket.socket, method: str, target: str, version: str, headers: list, known: dict, body: bytes,
               peer: str) -> None:
        is_check = target.split("?")[0] == "/healthz"
        self.targets.append(target)
        if not is_check:
            self.counted()
        status = "503 Unhealthy" if is_check and not self.is_healthy else "200 OK"
        text = json.dumps({"name": self.name, "method": method, "target": target, "path": target, "version": version, "headers": headers,
                           "host": known.get("host"), "body": body.decode("latin-1"), "client": peer, **handshake(connection)}).encode()
        self.last_answer = text
        words = query_words(target)
        if "drop" in words:
            connection.shutdown(socket.SHUT_RDWR)
            raise ConnectionResetError("as the request wants it")
        status = next((f"{word[7:]} Said" for word in words if re.fullmatch("status=[2-5][0-9]{2}", word)), status)
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nX-Backend: {self.name}\r\n"
        head += "".join(f"{value}\r\n" for name, value in headers if name.lower() == "x-say")
        head += "".join(f"{word[4:]}\r\n" for word in words if word.startswith("say="))
        if "hold" in words:
            self.gate.wait(120)
        if self.takes_s:
            self.gate.wait(self.takes_s)
        if "stream" in words:
            connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n")
            self.gate.wait(120)
            connection.sendall(f"{len(text):x}\r\n".encode() + text + b"\r\n0\r\n\r\n")
            return
        # Whoever closes says so (RFC 9112, section 9.6), lest a request that cannot be repeated come just then.
        if is_last(version, known, target):
            head += "Connection: close\r\n"
        connection.sendall(head.encode() + f"Content-Length: {len(text)}\r\n\r\n".encode() + (b"" if method == "HEAD" else text))

    def serve_websocket(self, connection: socket.socket, reader: Any, known: dict) -> None:
        key = known.get("sec-websocket-key", "")
        accept = base64.b64encode(hashlib.sha1((key + _WEBSOCKET_GUID).encode()).digest()).decode()
        connection.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Accept: {accept}\r\nX-Backend: {self.name}\r\n\r\n").encode())
        while (frame := read_frame(reader)) is not None:
            connection.sendall(bytes([0x80 | frame[0], len(frame[1])]) + frame[1])


class H2Backend(Pod):
    """HTTP/2, as gRPC servers speak it, with TLS only if the client agrees to it: the answer has trailers, and holds what `Backend`
    tells, and the request's body."""

    alpn = ["h2"]

    def serve(self, connection: socket.socket, peer: str) -> None:
        if isinstance(connection, ssl.SSLSocket) and connection.selected_alpn_protocol() != "h2":
            return
        h2_link = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        h2_link.initiate_connection()
        connection.sendall(h2_link.data_to_send())
        requests: dict[int, tuple[list, bytearray]] = {}
        while data := connection.recv(65536):
            for event in h2_link.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    requests[event.stream_id] = ([list(item) for item in event.headers], bytearray())
                elif isinstance(event, h2.events.DataReceived):
                    requests[event.stream_id][1].extend(event.data)
                    h2_link.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    self.answer(h2_link, event.stream_id, *requests.pop(event.stream_id), peer)
            connection.sendall(h2_link.data_to_send())

    def answer(self, h2_link: h2.connection.H2Connection, stream: int, headers: list, body: bytearray, peer: str) -> None:
        self.counted()
        known = dict(headers)
        text = json.dumps({"name": self.name, "method": known[":method"], "target": known[":path"], "path": known[":path"],
                           "version": "HTTP/2", "headers": headers, "host": known.get(":authority"), "body": body.decode("latin-1"),
                           "client": peer}).encode()
        status = "503" if known[":path"] == "/healthz" and not self.is_healthy else "200"
        h2_link.send_headers(stream, [(":status", status), ("content-type", known.get("content-type", "application/json")),
                                      ("x-backend", self.name)])
        h2_link.send_data(stream, text)
        h2_link.send_headers(stream, [("grpc-status", "0"), ("grpc-message", "ok")], end_stream=True)


class TcpBackend(Pod):
    """Plain TCP: says its name and a newline, then echoes."""

    def serve(self, connection: socket.socket, peer: str) -> None:
        self.counted()
        connection.sendall(self.name.encode() + b"\n")
        while data := connection.recv(65536):
            connection.sendall(data)


def query_words(target: str) -> list[str]:
    return target.partition("?")[2].split("&")


def read_body(reader: Any, known: dict[str, str]) -> bytes:
    if known.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int(reader.readline(64).split(b";")[0], 16):
            body += reader.read(size)
            reader.readline(8)
        while reader.readline(1 << 16).strip():
            pass  # trailers
        return body
    return reader.read(int(known.get("content-length") or 0))


def read_frame(reader: Any) -> tuple[int, bytes] | None:
    """One short WebSocket frame as (opcode, unmasked payload); None at the end."""
    head = reader.read(2)
    if len(head) < 2 or head[0] & 0x0f == 8:
        return None
    length = head[1] & 0x7f
    mask = reader.read(4) if head[1] & 0x80 else bytes(4)
    data = reader.read(length)
    return head[0] & 0x0f, bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))


def handshake(connection: socket.socket) -> dict[str, Any]:
    """Of a connection with TLS: which server name the client has asked for, the version and the cipher."""
    if not isinstance(connection, ssl.SSLSocket):
        return {}
    return {"tls": {"name": getattr(connection, "asked_name", None), "version": connection.version(), "cipher": (connection.cipher() or [None])[0]}}


def server_context(pair: Any, clients_of: bytes | None, alpn: list[str], server_names: collections.deque) -> ssl.SSLContext:
    """`clients_of`: PEM of the CA without whose certificate no client gets in."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    def note_name(connection: Any, name: str | None, _context: ssl.SSLContext) -> None:
        server_names.append(name)
        connection.asked_name = name

    context.sni_callback = note_name
    if alpn:
        context.set_alpn_protocols(alpn)
    if clients_of is not None:
        context.load_verify_locations(cadata=clients_of.decode())
        context.verify_mode = ssl.CERT_REQUIRED
    pair.load_into(context)
    return context
