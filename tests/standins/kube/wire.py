# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 connections of which every byte and every end can be controlled.

Requests are parsed by h11. Responses are written by hand, since a test server must also be able to write them
wrongly: cut, silent, split at odd places, ended by a reset.
"""

from __future__ import annotations

import asyncio
import collections
import email.utils
import http.client
import random
import socket
import struct
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    from .state import Settings

HEAD_MAX = 64 * 1024
IDLE_S = 90
# Go's server decides between Content-Length and chunks once it has buffered this much.
CHUNKED_FROM = 2048


@dataclass
class Split:
    """Cuts every write at random places. cuts: how many at most; gap_ms: pause between the pieces;
    chunks: also spread a frame over several HTTP chunks."""

    cuts: int = 4
    gap_ms: float = 0
    chunks: bool = True


@dataclass
class Request:
    """One request, read whole."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""
    path: str = field(init=False)
    query: dict[str, str] = field(init=False)
    raw_query: str = field(init=False)

    def __post_init__(self) -> None:
        raw_path, _, self.raw_query = self.target.partition("?")
        self.path = urllib.parse.unquote(raw_path)
        pairs = urllib.parse.parse_qsl(self.raw_query, keep_blank_values=True)
        self.query = dict(reversed(pairs))


class Connection:
    """One accepted connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, settings: Settings):
        self.settings = settings
        self.must_close = False
        self.bytes_per_s: float | None = None
        self._reader, self._writer = reader, writer
        self._leftover = b""
        self._held: list[bytes] | None = None
        self._queue: collections.deque[tuple[bytes, float]] = collections.deque()
        self._pump: asyncio.Task | None = None

    @property
    def peer_certificate(self) -> dict | None:
        """The verified client certificate, if one was shown."""
        tls = self._writer.get_extra_info("ssl_object")
        return tls.getpeercert() if tls else None

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more."""
        return self._writer.transport.is_closing()

    async def read_request(self) -> Request | None:
        """The next request, or None when the client is done."""
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_MAX)
        head: h11.Request | None = None
        body: list[bytes] = []
        if self._leftover:
            parser.receive_data(self._leftover)
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                data = await self._receive(idle=head is None)
                if data is None:
                    return None
                parser.receive_data(data)
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return None
        assert head is not None
        self._leftover = bytes(parser.trailing_data[0])
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        self.must_close = "close" in headers.get("connection", "").lower() or head.http_version < b"1.1"
        return Request(head.method.decode(), head.target.decode("latin-1"), headers, b"".join(body))

    async def _receive(self, idle: bool) -> bytes | None:
        """More bytes; empty at the end of the stream; None after too long an idle time."""
        try:
            return await asyncio.wait_for(self._reader.read(65536), IDLE_S if idle else None)
        except asyncio.TimeoutError:
            return None

    async def gone(self) -> None:
        """Returns when the client has closed its side. Early bytes of a next request are kept."""
        while data := await self._reader.read(65536):
            self._leftover += data
            if len(self._leftover) > HEAD_MAX:
                return

    async def gone_within(self, seconds: float | None) -> bool:
        """Waits, for ever if not told how long. Returns whether the client has left in the meantime."""
        task = asyncio.ensure_future(self.gone())
        done, _ = await asyncio.wait([task], timeout=seconds)
        if not done:
            task.cancel()
            await asyncio.wait([task])
        return bool(done)

    def write(self, data: bytes) -> None:
        """Writes at once, unless the connection is silenced, split with pauses, or throttled."""
        if self.closed:
            return
        if self._held is not None:
            self._held.append(data)
            return
        split = self.settings.split
        pieces = self._cut(data, split.cuts) if split else [data]
        pause = split.gap_ms / 1000 if split else 0.0
        if not (pause or self.bytes_per_s or self._queue):
            for piece in pieces:
                self._writer.write(piece)
            return
        if self.bytes_per_s:
            step = max(1, int(self.bytes_per_s // 20))
            pieces = [piece[at : at + step] for piece in pieces for at in range(0, len(piece), step)]
        for piece in pieces:
            self._queue.append((piece, pause + (len(piece) / self.bytes_per_s if self.bytes_per_s else 0)))
        if self._pump is None or self._pump.done():
            self._pump = asyncio.get_running_loop().create_task(self._write_slowly())

    async def _write_slowly(self) -> None:
        while self._queue and not self.closed:
            piece, pause = self._queue[0]
            self._writer.write(piece)
            await asyncio.sleep(pause)
            self._queue.popleft()

    def _cut(self, data: bytes, cuts: int) -> list[bytes]:
        """Random pieces; half of the cuts fall near the ends, where chunk sizes and line ends are."""
        places = set()
        for _ in range(random.randint(0, cuts)):
            span = len(data) if random.random() < 0.5 else min(8, len(data))
            place = random.randint(0, span)
            places.add(place if random.random() < 0.5 else len(data) - place)
        edges = sorted(places | {0, len(data)})
        return [data[start:end] for start, end in zip(edges, edges[1:])]

    def write_chunk(self, data: bytes) -> None:
        """Writes an HTTP chunk, or several when chunks are to be split."""
        split = self.settings.split
        parts = self._cut(data, split.cuts) if split and split.chunks else [data]
        self.write(b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part))

    def end_chunks(self) -> None:
        self.write(b"0\r\n\r\n")

    def head(self, status: int, headers: list[tuple[str, str]], length: int | None) -> bytes:
        """A response head in the order of Go's server. No length: chunked."""
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in sorted(headers)]
        lines.append("Date: " + email.utils.formatdate(usegmt=True))
        lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
        return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n"

    def respond(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        if len(body) <= CHUNKED_FROM:
            self.write(self.head(status, headers, len(body)) + body)
            return
        self.write(self.head(status, headers, None))
        self.write_chunk(body)
        self.end_chunks()

    def respond_cut(self, status: int, headers: list[tuple[str, str]], body: bytes, keep: int) -> None:
        """Writes a response whose body stops after `keep` bytes although more was promised."""
        if len(body) <= CHUNKED_FROM:
            self.write(self.head(status, headers, len(body)) + body[:keep])
        else:
            self.write(self.head(status, headers, None) + b"%x\r\n" % len(body) + body[:keep])

    async def drain(self) -> None:
        """Waits until the client has taken most of what was written."""
        if self._pump is not None and not self._pump.done():
            await asyncio.wait([self._pump])
        await self._writer.drain()

    def silence(self) -> None:
        """From now on nothing reaches the client, and the connection stays up."""
        if self._held is None:
            self._held = []

    def resume(self) -> None:
        """Ends a silence; what was held back is delivered."""
        held, self._held = self._held, None
        for data in held or ():
            self.write(data)

    async def close(self) -> None:
        """Sends what is left, then FIN."""
        try:
            await self.drain()
            self._writer.close()
            await self._writer.wait_closed()
        except (ConnectionError, OSError, asyncio.TimeoutError):
            pass

    def finish(self) -> None:
        """FIN behind what was written so far, without waiting for it."""
        self.must_close = True
        self._writer.close()

    def reset(self) -> None:
        """RST; what the client has not read yet is lost."""
        self.must_close = True
        raw: socket.socket | None = self._writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def monotonic_ns() -> int:
    """The clock of all measured instants; other processes of the machine see the same one."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
