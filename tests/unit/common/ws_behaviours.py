# SPDX-License-Identifier: Apache-2.0
"""The WebSocket half of http_server.py, for test_ws.c: /ws/NAME is upgraded, or not, and then misbehaves as its name says."""
from __future__ import annotations

import base64
import hashlib
import json
import socket
import struct
import urllib.parse
from typing import BinaryIO

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

heard: dict[str, str] = {}
"""What clients said, by the name that they gave: the test asks for it with /heard."""


def frame(opcode: int, payload: bytes = b"", fin: bool = True, first_bits: int = 0, mask: bool = False) -> bytes:
    head = bytes([(0x80 if fin else 0) | first_bits | opcode])
    bit = 0x80 if mask else 0
    if len(payload) < 126:
        head += bytes([bit | len(payload)])
    elif len(payload) < 65536:
        head += struct.pack(">BH", bit | 126, len(payload))
    else:
        head += struct.pack(">BQ", bit | 127, len(payload))
    return head + (bytes(4) if mask else b"") + payload


class WebSocketBehaviours:
    """Mixed into a connection of http_server.py, which has read the request."""

    file: BinaryIO
    sock: socket.socket
    headers: list[list[str]]
    query: dict[str, str]

    def header(self, name: str) -> str | None:
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        raise NotImplementedError

    def answer(self, status: int, body: bytes = b"", **headers: str) -> bool:
        raise NotImplementedError

    def do_ws(self, name: str, *rest: str) -> bool:
        getattr(self, "ws_" + name.replace("-", "_"))(*rest)
        return False

    def do_heard(self, name: str) -> None:
        self.answer(200, heard.get(name, "").encode())

    def upgrade_text(self, **changes: str | None) -> bytes:
        key = (self.header("sec-websocket-key") or "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        lines = {"Upgrade": "WebSocket", "Connection": "keep-alive, Upgrade",
                 "Sec-WebSocket-Accept": base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()}
        for line, value in changes.items():
            lines[line.replace("_", "-")] = value
        status = self.query.get("status-line", "HTTP/1.1 101 Switching Protocols")
        return (status + "\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v is not None) + "\r\n").encode()

    def upgrade(self, **changes: str | None) -> None:
        self.send(self.upgrade_text(**changes))

    def text(self, text: str) -> None:
        self.send(frame(TEXT, text.encode()))

    def read_frame(self) -> tuple[int, bytes]:
        """A frame of the client; (CLOSE, b"") at the end of the connection."""
        head = self.file.read(2)
        if len(head) < 2:
            return CLOSE, b""
        assert head[1] & 0x80, "a client must mask"
        length = head[1] & 0x7f
        if length == 126:
            length = struct.unpack(">H", self.file.read(2))[0]
        mask = self.file.read(4)
        payload = self.file.read(length)
        return head[0] & 15, bytes(b ^ mask[i % 4] for i, b in enumerate(payload))

    def listen(self) -> None:
        """Until the client leaves; the code it says good bye with is remembered."""
        while True:
            opcode, payload = self.read_frame()
            if opcode == CLOSE:
                if "name" in self.query:
                    heard[self.query["name"]] = str(struct.unpack(">H", payload[:2])[0]) if payload else "cut"
                return

    # ---- upgraded ----

    def ws_hello(self) -> None:
        self.upgrade()
        self.text("hello")
        self.listen()

    def ws_glued(self) -> None:
        self.send(self.upgrade_text() + frame(TEXT, b"first") + frame(TEXT, b"second")[:4])
        self.send(frame(TEXT, b"second")[4:])
        self.listen()

    def ws_bytewise(self) -> None:
        for byte in self.upgrade_text() + frame(TEXT, b"a") + frame(TEXT, b"b" * 200):
            self.send(bytes([byte]))
        self.listen()

    def ws_fragments(self) -> None:
        self.upgrade()
        self.send(frame(TEXT, b"frag", fin=False) + frame(0, b"", fin=False) + frame(PING, b"now") +
                  frame(0, b"men", fin=False) + frame(0, b"ted \xc3", fin=False) + frame(0, b"\xa4"))
        opcode, payload = self.read_frame()
        self.text(f"{opcode} {payload.decode()}")
        self.listen()

    def ws_ones(self, count: str) -> None:
        self.upgrade()
        self.send(frame(TEXT, b"1", fin=False) + frame(0, b"1", fin=False) * (int(count) - 2) + frame(0, b"1"))
        self.listen()

    def ws_long(self, count: str) -> None:
        self.upgrade()
        self.send(frame(TEXT, b"x" * int(count)) + frame(TEXT, b"after"))
        self.listen()

    def ws_binary(self) -> None:
        self.upgrade()
        self.send(frame(BINARY, b"\xff" * 10, fin=False) + frame(0, b"\xff" * 10) + frame(PONG, b"unasked"))
        self.text("after")
        self.listen()

    def ws_headers(self) -> None:
        self.upgrade()
        self.text(json.dumps({"headers": self.headers}))
        self.listen()

    def ws_close(self, code: str) -> None:
        self.upgrade()
        self.send(frame(CLOSE, struct.pack(">H", int(code)) + b"because") if int(code) else frame(CLOSE))
        self.listen()

    def ws_flood(self) -> None:
        self.upgrade()
        many = frame(TEXT, b"y" * 500) * 100
        while True:
            self.send(many)

    # ---- silence ----

    def ws_pinged(self, count: str) -> None:
        """Says so when it was pinged that often."""
        self.upgrade()
        for _ in range(int(count)):
            opcode, payload = self.read_frame()
            if opcode != PING:
                return
            self.send(frame(PONG, payload))
        self.text("enough")
        self.listen()

    def ws_mute(self) -> None:
        self.upgrade()
        self.listen()

    def ws_never_answers(self) -> None:
        self.file.read(1)

    def ws_pings(self) -> None:
        """Asks and does not read."""
        self.upgrade()
        many = frame(PING, b"p" * 125) * 1000
        while True:
            self.send(many)

    # ---- broken frames ----

    def ws_raw(self, data: str) -> None:
        self.upgrade()
        self.send(bytes.fromhex(data))
        self.listen()

    def ws_cut(self) -> None:
        self.upgrade()
        self.send(frame(TEXT, b"whole") + frame(TEXT, b"never whole")[:5])

    # ---- no upgrade ----

    def ws_refused(self, status: str) -> None:
        self.answer(int(status), b"no")

    def ws_changed(self, header: str, value: str = "") -> None:
        self.upgrade(**{header: value or None})
        self.listen()

    def ws_plain(self, text: str) -> None:
        self.send(urllib.parse.unquote(text).replace("_", " ").encode() + b"\r\n\r\n")
        self.file.read(1)

    def ws_nothing(self) -> None:
        pass

    def ws_long_head(self) -> None:
        self.send(b"HTTP/1.1 101 Words\r\n" + b"X-Header: x\r\n" * 10_000)
        self.file.read(1)
