# SPDX-License-Identifier: Apache-2.0
"""The listener of the API and its connections, and ways to make the network go away."""

from __future__ import annotations

import asyncio
import ssl
import traceback
from typing import Any

from ..listener import ReservedPort
from .api import Api
from .state import State
from .wire import Connection

BACKLOG = 512


class Network:
    """The endpoint of the API as something that can fail. It keeps its port while it does not listen."""

    def __init__(self, state: State, port: int, tls: ssl.SSLContext | None):
        self._settings, self._api, self._tls = state.settings, Api(state), tls
        self._port = ReservedPort("127.0.0.1", port)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._port.number}"
        self.mode = "gone"
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task] = set()

    async def set(self, mode: str) -> None:
        """up; gone: connections end and new ones are refused; black-hole: new ones are made by the kernel, but never
        answered."""
        if (mode == "gone" or self.mode == "black-hole") and self._server is not None:
            self._server.close()
            self._server = None
        if mode != "gone" and self._server is None:
            extra: dict[str, Any] = {"ssl": self._tls, "ssl_handshake_timeout": 10.0} if self._tls else {}
            self._server = await asyncio.start_server(self._accept, sock=self._port.socket(), backlog=BACKLOG, **extra)
        if mode == "black-hole":
            for listening in self._server.sockets:
                asyncio.get_running_loop().remove_reader(listening.fileno())
        self.mode = mode
        if mode == "gone":
            self.drop()

    def drop(self) -> None:
        for connection in list(self._connections):
            connection.reset()

    async def stop(self) -> None:
        await self.set("gone")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._port.release()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:
            # The handshake was under way when the network went.
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        connection = Connection(reader, writer, self._settings)
        self._connections.add(connection)
        try:
            while not connection.must_close and (request := await connection.read_request()) is not None:
                await self._api.handle(connection, request)
        except (ConnectionError, OSError, ssl.SSLError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            connection.reset()
            raise
        except Exception:  # shown, and only this connection ends
            traceback.print_exc()
        finally:
            self._tasks.discard(task)
            self._connections.discard(connection)
            await connection.close()
