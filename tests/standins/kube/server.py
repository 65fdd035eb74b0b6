# SPDX-License-Identifier: Apache-2.0
"""Listeners and connections: the API over TLS and over plain HTTP, and ways to make the network go away."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
import traceback
from typing import Any, Awaitable, Callable

from .auth import CONTROLLER, Identity
from .faults import When
from .request_info import of_request
from .state import State
from .wire import Connection, Request, WireSettings

Handler = Callable[[Connection, int, Request], Awaitable[None]]
BACKLOG = 512


class Endpoint:
    """One address that is served. It keeps its port while it does not listen."""

    def __init__(
        self, address: str, port: int, handler: Handler, wire: WireSettings, tls: ssl.SSLContext | None = None
    ):
        self.connections: dict[int, Connection] = {}
        self._handler, self._wire, self._tls = handler, wire, tls
        self._family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._reserved = self._socket(address, port)
        self.address, self.port = self._reserved.getsockname()[:2]
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task] = set()

    @property
    def url(self) -> str:
        """The URL of the root."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    def _socket(self, address: str, port: int) -> socket.socket:
        # SO_REUSEPORT lets a silent twin hold the port while nobody listens.
        # The protocol is named because asyncio sets TCP_NODELAY only on sockets that tell it.
        made = socket.socket(self._family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((address, port))
        return made

    async def up(self) -> None:
        """Listens and accepts."""
        if self._server is None:
            listening = self._socket(self.address, self.port)
            extra: dict[str, Any] = {"ssl": self._tls, "ssl_handshake_timeout": 10.0} if self._tls else {}
            self._server = await asyncio.start_server(self._accept, sock=listening, backlog=BACKLOG, **extra)
        await self._server.start_serving()

    def gone(self) -> None:
        """Refuses new connections."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def black_hole(self) -> None:
        """New connections are made by the kernel and never answered."""
        if self._server is not None:
            loop = asyncio.get_running_loop()
            for listening in self._server.sockets:
                loop.remove_reader(listening.fileno())

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:
            # The handshake was under way when the network went.
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await serve(reader, writer, self._handler, self._wire, self.connections)
        finally:
            self._tasks.discard(task)

    async def stop(self) -> None:
        """Ends everything."""
        self.gone()
        for connection in list(self.connections.values()):
            connection.reset()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._reserved.close()


_numbers = itertools.count(1)


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    handler: Handler,
    wire: WireSettings,
    connections: dict[int, Connection],
) -> None:
    """Serves one connection to its end."""
    number = next(_numbers)
    connection = connections[number] = Connection(reader, writer, wire)
    try:
        while (request := await connection.read_request()) is not None:
            await handler(connection, number, request)
            if connection.must_close:
                break
    except (ConnectionError, OSError, ssl.SSLError, asyncio.IncompleteReadError):
        pass
    except asyncio.CancelledError:
        connection.reset()
        raise
    except Exception:  # shown, and only this connection ends
        traceback.print_exc()
    finally:
        del connections[number]
        await connection.close()


class Network:
    """The endpoint of the API as something that can fail."""

    def __init__(self, state: State, endpoint: Endpoint):
        self._state, self.endpoint = state, endpoint
        self.mode = "up"

    async def set(self, mode: str, drop: str | None = None) -> None:
        """up; gone: connections end and new ones are refused; black-hole: new ones are made but never
        answered."""
        if mode == "gone" or self.mode == "black-hole":
            self.endpoint.gone()
        if mode != "gone":
            await self.endpoint.up()
        if mode == "black-hole":
            self.endpoint.black_hole()
        self.mode = mode
        if mode == "gone" or drop:
            self.drop(drop or "rst")

    def drop(self, how: str, when: When | None = None) -> int:
        """Ends connections: all, or those whose latest request matches. Returns how many."""
        count = 0
        for connection in list(self.endpoint.connections.values()):
            if when is not None and not self._meant(connection, when):
                continue
            count += 1
            if how == "rst":
                connection.reset()
            else:
                connection.finish()
        return count

    def _meant(self, connection: Connection, when: When) -> bool:
        if connection.request is None:
            return False
        identity: Identity | None
        try:
            identity = self._state.authenticator.identify(connection, connection.request)
        except Exception:  # an expired token still names nobody
            identity = self._state.authenticator.by_alias(CONTROLLER) if when.identity == CONTROLLER else None
        return when.meets(of_request(connection.request), identity, connection.request)
