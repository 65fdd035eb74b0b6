# SPDX-License-Identifier: Apache-2.0
"""The translator's end of a link, for tests of one neighbour alone: a socket that serves one peer at a time, from a thread of its own."""
from __future__ import annotations

import contextlib
import pathlib
import socket
import threading
from collections.abc import Iterator

from .frames import Body, frame, hello, split


class TranslatorEnd:
    """Subclasses say what comes behind the hello, and take the peer's messages."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.problems: list[str] = []  # what the peer did that it must not
        self._lock = threading.RLock()
        self._listener: socket.socket | None = None
        self._peer: socket.socket | None = None
        self._together: bytearray | None = None
        self._thread: threading.Thread | None = None

    # Life

    def listen(self) -> None:
        """Opens the socket. What earlier connections have brought stays."""
        self.path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(4)
        self._thread = threading.Thread(target=self._accept, args=(self._listener,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Nobody listens any more, until listen()."""
        with self._lock:
            listener, self._listener = self._listener, None
            if listener is None:
                return
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            self.hang_up()
        self._thread.join(60)
        self.path.unlink(missing_ok=True)

    def hang_up(self) -> None:
        """Ends the connection without a word; the peer comes back."""
        with self._lock:
            peer, self._peer = self._peer, None
            if peer is not None:
                with contextlib.suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)  # the thread, which reads from it, closes it

    # Sending

    def send(self, kind: str, body: Body) -> None:
        self.send_bytes(frame(kind, body))

    def send_bytes(self, data: bytes, end: bool = False) -> None:
        """Sends them as they are; with `end` the connection is then closed."""
        with self._lock:
            assert self._peer is not None, "nobody is connected"
            if self._together is not None:
                self._together += data
                return
            self._peer.sendall(data)
            if end:
                self.hang_up()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """What is sent meanwhile goes in one piece, as the translator sends a commit with what belongs to it."""
        with self._lock:
            if self._together is not None:
                yield
                return
            self._together = bytearray()
            try:
                yield
            finally:
                data, self._together = bytes(self._together), None
                try:
                    if self._peer is not None:
                        self._peer.sendall(data)
                except OSError:
                    self.hang_up()

    def answer(self, kind: str, body: Body) -> None:
        """Sends it if there is still somebody."""
        with self._lock:
            if self._peer is not None:
                try:
                    self.send(kind, body)
                except OSError:
                    self.hang_up()

    # What subclasses do

    def greet(self, peer: socket.socket) -> None:
        """Says what comes first; the lock is held, so nothing else is sent before it."""
        self.send("hello", hello("translator"))

    def wait_readable(self, peer: socket.socket) -> None:
        """Returns when the peer may be read from."""

    def take(self, kind: str, body: Body) -> None:
        raise NotImplementedError

    # Inside

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            try:
                self._serve(listener, peer)
            except OSError:
                pass  # the peer has gone
            except Exception as problem:  # noqa: BLE001, told to the test
                self.problems.append(repr(problem))
            finally:
                with self._lock:
                    self._peer = None if self._peer is peer else self._peer
                peer.close()

    def _serve(self, listener: socket.socket, peer: socket.socket) -> None:
        with self._lock:
            if self._listener is not listener:
                return  # it was stopped meanwhile
            self._peer = peer
            self.greet(peer)
        buffer = b""
        while True:
            self.wait_readable(peer)
            data = peer.recv(1 << 16)
            if not data:
                return
            messages, buffer = split(buffer + data)
            for kind, body in messages:
                self.take(kind, body)
