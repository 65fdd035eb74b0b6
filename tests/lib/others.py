# SPDX-License-Identifier: Apache-2.0
"""Servers that play those who are asked beside the backend: who says what may pass, who gets copies, who answers in place of errors."""
from __future__ import annotations

import collections
import socket
from typing import Any, NamedTuple

from .backend import Backend


class Question(NamedTuple):
    method: str
    target: str
    headers: list[list[str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]

    def one(self, name: str) -> str | None:
        """The only value of the header; None without one."""
        values = self.all(name)
        assert len(values) < 2, values
        return values[0] if values else None


class Other(Backend):
    """Answers with `status`, `lines` (of headers) and `text`, or with the bytes `raw` and the end of the connection; with `is_silent` only after release()."""

    def __init__(self, name: str, status: int = 200, lines: list[str] | None = None, text: bytes = b"", **more: Any):
        self.status, self.lines, self.text = status, list(lines or []), text
        self.raw: bytes | None = None
        self.is_silent = False
        self.questions: collections.deque[Question] = collections.deque(maxlen=10000)
        super().__init__(name, **more)

    def answer(self, connection: socket.socket, method: str, target: str, _version: str, headers: list, _known: dict, body: bytes, _peer: str) -> None:
        self.questions.append(Question(method, target, headers, body))
        self.counted()
        if self.is_silent:
            self.gate.wait(120)
        if self.raw is not None:
            connection.sendall(self.raw)
            raise ConnectionError("closed on purpose")
        head = [f"HTTP/1.1 {self.status} Said", f"X-Backend: {self.name}", f"Content-Length: {len(self.text)}", *self.lines]
        connection.sendall("\r\n".join([*head, "", ""]).encode("latin-1") + (b"" if method == "HEAD" else self.text))
