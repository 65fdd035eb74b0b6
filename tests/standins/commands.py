# SPDX-License-Identifier: Apache-2.0
"""What tests tell a running stand-in: on its control socket a line of JSON asks, `{"command": name, ...its arguments}`, and a line
answers, `{"result": ...}` or `{"error": text}`."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import signal
import sys
import traceback

LINE_MAX = 256 * 1024 * 1024


class Commands:
    """Every method whose name begins with `do_` is a command; its keyword arguments are the command's."""

    async def listen(self, path: str) -> asyncio.AbstractServer:
        """Answers commands, each on a connection of its own."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        old = os.umask(0o077)
        try:
            return await asyncio.start_unix_server(self._answer, path, limit=LINE_MAX)
        finally:
            os.umask(old)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            arguments = json.loads(await reader.readline())
            command = getattr(self, "do_" + arguments.pop("command").replace("-", "_"))
            result = command(**arguments)
            answer = {"result": await result if inspect.isawaitable(result) else result}
        except Exception as problem:  # told to the test instead of ending the server
            if not isinstance(problem, ValueError):
                traceback.print_exc()
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        with contextlib.suppress(ConnectionError):
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
            writer.close()


async def ended(with_stdin: bool) -> None:
    """Waits for SIGINT or SIGTERM, or for the end of standard input."""
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    if with_stdin:
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        asked = loop.create_task(end.wait())
        await asyncio.wait([asked, loop.create_task(reader.read())], return_when=asyncio.FIRST_COMPLETED)
        return
    await end.wait()
