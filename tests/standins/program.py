# SPDX-License-Identifier: Apache-2.0
"""A stand-in as a program: options that all have, its folder, the line that says it is ready, its end."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Protocol

from .commands import ended


class Settings(Protocol):
    def configure(self, changes: dict[str, Any]) -> Any: ...


class Server(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class Control(Protocol):
    async def listen(self, path: str) -> asyncio.AbstractServer: ...
    def do_info(self) -> dict[str, Any]: ...


def add_common_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--listen", default="127.0.0.1", metavar="IP", help="address of the API (127.0.0.1)")
    add("--port", type=int, default=0, help="its port (0: chosen by the kernel)")
    add("--directory", type=Path, metavar="DIR", help="the control socket, and whatever else it writes (default: a new one)")
    add("--set", action="append", default=[], metavar="NAME=JSON", help="a setting; see README.md")
    add("--exit-with-stdin", action="store_true", help="end when standard input is closed")


async def serve(options: argparse.Namespace, server: Server, settings: Settings, control: Control) -> None:
    given = (item.partition("=") for item in options.set)
    settings.configure({name: json.loads(value) for name, _, value in given})
    path = str(options.directory / "control.sock")
    await server.start()
    commands = await control.listen(path)
    try:
        print(json.dumps({**control.do_info(), "control": path}), flush=True)
        await ended(options.exit_with_stdin)
    finally:
        commands.close()
        await server.stop()


def run(parser: argparse.ArgumentParser, start: Any) -> int:
    """`start(options)` makes the coroutine that serves until the end."""
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=parser.prog.replace("standins.", "") + "-standin-") as folder:
        options.directory = options.directory or Path(folder)
        try:
            asyncio.run(start(options))
        except (ValueError, OSError) as problem:
            print(f"{parser.prog}: {problem}", file=sys.stderr)
            return 1
    return 0
