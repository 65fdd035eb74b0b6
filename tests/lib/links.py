# SPDX-License-Identifier: Apache-2.0
"""Both ends of the two links as blocking clients: a watcher and a provider that a test drives by hand (PROTOCOL.md)."""
from __future__ import annotations

import contextlib
import pathlib
import select
import socket
import time
from typing import Any, Callable

from .engine import POLICIES, SETTINGS, ProviderView, SourceView, Telling, provider_hello
from .frames import Body, frame, hello, split
from .wait import PATIENCE, wait_for


class LinkClosed(Exception):
    """The translator has closed the link; the text is that of its bye, if it said one."""


class Link(contextlib.AbstractContextManager):
    def __init__(self, path: pathlib.Path, hello: Body | None, on_message: Callable[[str, Body], None] = lambda kind, body: None):
        self.sock = wait_for(lambda: connected(path), f"{path.name} to be opened")
        self.buffer = b""
        self.bye = ""
        self.on_message = on_message  # what comes right behind the other's hello is its business already
        if hello is not None:
            self.send("hello", hello)
            self.wait(lambda: self.peer is not None, "its hello")

    peer: Body | None = None

    def send_bytes(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            self.drain()
            raise LinkClosed(self.bye) from None

    def send(self, kind: str, body: Body) -> None:
        self.send_bytes(frame(kind, body))

    def drain(self) -> None:
        try:
            while self.receive(0):
                pass
        except LinkClosed:
            pass

    def receive(self, timeout: float) -> bool:
        """Takes what has come, waiting at most so long for something; False when nothing came."""
        if not select.select([self.sock], [], [], timeout)[0]:
            return False
        try:
            piece = self.sock.recv(1 << 18)
        except ConnectionResetError:
            piece = b""
        if not piece:
            raise LinkClosed(self.bye)
        messages, self.buffer = split(self.buffer + piece)
        for kind, body in messages:
            self.take(kind, body)
        return True

    def take(self, kind: str, body: Body) -> None:
        if kind == "hello":
            self.peer = body
        elif kind == "ping":
            self.send("pong", body)
        elif kind == "bye":
            self.bye = body["reason"]
        elif kind != "pong":
            self.on_message(kind, body)

    def wait(self, condition: Callable[[], Any], what: str, timeout: float = 20.0) -> Any:
        deadline = time.monotonic() + max(timeout, PATIENCE)
        while not (value := condition()):
            left = deadline - time.monotonic()
            assert left > 0, f"waited in vain for {what}"
            self.receive(min(left, 1.0))
        return value

    def sync(self) -> None:
        """Everything that was sent before is taken, and everything it led to at once is here."""
        seen: list[int] = []
        take, self.take = self.take, lambda kind, body: seen.append(1) if kind == "pong" else take(kind, body)
        for _ in range(20):  # a pong may be left out while much else is on its way
            self.send("ping", {"seq": 1})
            while not seen and self.receive(1.0):
                pass
            if seen:
                break
        assert seen, "no pong"
        self.take = take
        while self.receive(0.05):
            pass

    def wait_closed(self, timeout: float = 20.0) -> str:
        """Why the translator closed it."""
        try:
            self.wait(lambda: False, "the end of the link", timeout)
        except LinkClosed as end:
            return str(end)
        raise AssertionError("not closed")

    def close(self) -> None:
        self.sock.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def connected(path: pathlib.Path) -> socket.socket | None:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(str(path))
        return sock
    except OSError:
        sock.close()
        return None


class Watcher(Link, Telling):
    def __init__(self, runtime: pathlib.Path, settings: Body | None = None):
        self.view = SourceView()
        super().__init__(runtime / "source.sock", hello("watcher"), self.view.take)
        self.send("settings", {**SETTINGS, **(settings or {})})

    def say(self, kind: str, body: Body) -> None:
        self.send(kind, body)


class Provider(Link):
    """Keeps the rules of section 5.1 against the translator; `view.objects` is the state of the last commit."""

    def __init__(self, runtime: pathlib.Path, view: ProviderView | None = None, grouping: str = "per-ingress",
                 policies: list[str] = POLICIES):
        self.view = view or ProviderView()
        self.view.connect()
        super().__init__(runtime / "provider.sock", provider_hello({"grouping": grouping, "policies": policies}), self.view.take)

    def ids(self, kind: str) -> list[str]:
        return sorted(name for this, name in self.view.objects if this == kind)

    def wait_commit(self, timeout: float = 20.0) -> None:
        """Until the first one on this connection."""
        self.wait(lambda: self.view.commits > 0, "a commit", timeout)

    def report(self, name: str, *ips: str, **more: Any) -> None:
        self.send("lb-status", {"id": name, "rev": self.view.objects["load-balancer", name]["rev"], "state": "applied",
                                "addresses_known": True, "addresses": [{"ip": ip} for ip in ips], **more})
