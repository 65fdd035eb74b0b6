# SPDX-License-Identifier: Apache-2.0
"""A client that sees every byte and tells the ways in which an answer ends."""

from __future__ import annotations

import json
import socket
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

from standins.kube.client import KubeStandin

TIMEOUT_S = 10.0
INGRESSES = "/apis/networking.k8s.io/v1/ingresses"


@dataclass
class RawAnswer:
    """What came back. end: `length` or `zero-chunk` for whole bodies, else `fin`, `rst` or `silence`."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    head: bytes = b""
    chunks: list[bytes] = field(default_factory=list)
    rest: bytes = b""
    end: str = ""

    @property
    def body(self) -> bytes:
        """All complete data."""
        return b"".join(self.chunks)

    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)


class RawStream:
    """A request on a connection of its own, read step by step."""

    def __init__(self, address: tuple[str, int], request: bytes):
        self.socket = socket.create_connection(address, TIMEOUT_S)
        self.answer = RawAnswer()
        self._buffer = b""
        self._lines = b""
        self.socket.sendall(request)

    def __enter__(self) -> RawStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _more(self, timeout_s: float) -> bool:
        self.socket.settimeout(timeout_s)
        try:
            data = self.socket.recv(65536)
        except socket.timeout:
            self.answer.end = self.answer.end or "silence"
            return False
        except ConnectionResetError:
            self.answer.end = "rst"
            return False
        if not data:
            self.answer.end = "fin"
            return False
        self._buffer += data
        return True

    def read_head(self) -> RawAnswer:
        """Reads status line and headers."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more(TIMEOUT_S):
                return self.answer
        self.answer.head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        lines = self.answer.head.decode().split("\r\n")
        self.answer.status = int(lines[0].split()[1])
        self.answer.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        return self.answer

    def read_chunk(self, timeout_s: float = TIMEOUT_S) -> bytes | None:
        """The next chunk; None at any end."""
        while not self._whole_chunk():
            if not self._more(timeout_s):
                self.answer.rest = self._buffer
                return None
        size, _, rest = self._buffer.partition(b"\r\n")
        length = int(size, 16)
        chunk, self._buffer = rest[:length], rest[length + 2 :]
        if not length:
            self.answer.end = "zero-chunk"
            return None
        self.answer.chunks.append(chunk)
        return chunk

    def _whole_chunk(self) -> bool:
        size, found, rest = self._buffer.partition(b"\r\n")
        return bool(found) and len(rest) >= int(size, 16) + 2

    def frame(self, timeout_s: float = TIMEOUT_S) -> dict[str, Any] | None:
        """The next watch frame, whatever the chunks; None at any end."""
        while b"\n" not in self._lines:
            chunk = self.read_chunk(timeout_s)
            if chunk is None:
                return None
            self._lines += chunk
        line, _, self._lines = self._lines.partition(b"\n")
        return json.loads(line)

    def frames(self, count: int, timeout_s: float = TIMEOUT_S) -> list[dict[str, Any]]:
        """So many frames."""
        found: list[dict[str, Any]] = []
        for _ in range(count):
            frame = self.frame(timeout_s)
            assert frame is not None, f"ended by {self.answer.end} after {found}"
            found.append(frame)
        return found

    def ending(self, timeout_s: float = TIMEOUT_S) -> str:
        """Reads on to the end; tells how it ended."""
        deadline = time.monotonic() + timeout_s
        while self.read_chunk(max(0.01, deadline - time.monotonic())) is not None:
            pass
        return self.answer.end

    def whole(self, timeout_s: float = TIMEOUT_S) -> RawAnswer:
        """Reads the whole answer."""
        self.read_head()
        if self.answer.headers.get("transfer-encoding") == "chunked":
            self.ending(timeout_s)
        elif self.answer.status:
            length = int(self.answer.headers["content-length"])
            while len(self._buffer) < length and self._more(timeout_s):
                pass
            self.answer.chunks = [self._buffer[:length]]
            if len(self._buffer) >= length:
                self.answer.end = "length"
        return self.answer


class RawClient:
    """Makes requests to one stand-in over plain HTTP."""

    def __init__(self, standin: KubeStandin, token: str | None = None):
        parts = urllib.parse.urlsplit(standin.info["urls"]["http"])
        self.address = (parts.hostname or "", parts.port or 0)
        self._standin, self._token = standin, token

    def open(self, target: str, method: str = "GET", body: bytes = b"", **headers: str) -> RawStream:
        """Sends a request; header names are written with underscores."""
        token = self._token if self._token is not None else self._standin.token_file.read_text()
        sent = {
            "Host": "10.96.0.1:443",
            "User-Agent": "lbwatch/0.1 (linux/amd64)",
            "Accept": "application/json",
            "Authorization": f"Bearer {token}",
        }
        sent |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        if body:
            sent["Content-Length"] = str(len(body))
        lines = [
            f"{method} {target} HTTP/1.1",
            *(f"{name}: {value}" for name, value in sent.items() if value),
        ]
        return RawStream(self.address, "\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def ask(self, target: str, method: str = "GET", body: bytes = b"", **headers: Any) -> RawAnswer:
        """One request and its whole answer."""
        with self.open(target, method, body, **headers) as stream:
            return stream.whole()

    def watch(self, target: str, **headers: Any) -> RawStream:
        """Opens a watch and reads its head."""
        stream = self.open(target + ("&" if "?" in target else "?") + "watch=true", **headers)
        stream.read_head()
        return stream

    def watch_now(self, target: str = INGRESSES, **headers: str) -> RawStream:
        """Opens a watch from the present revision and waits until it is registered."""
        revision = self._standin.control("GET", "info")["revision"]
        mark = self._standin.mark()
        stream = self.watch(f"{target}{'&' if '?' in target else '?'}resourceVersion={revision}", **headers)
        entry = self._standin.wait_requests(since=mark, verb="watch")[0]
        self._standin.wait_streams(1, seq=entry["seq"])
        return stream
