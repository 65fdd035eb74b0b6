# SPDX-License-Identifier: Apache-2.0
"""Command line of the stand-in: `PYTHONPATH=tests /usr/bin/python3 -m standins.rancher --help`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import tempfile
from pathlib import Path

from standins.kube.public import Access

from .control import Control
from .server import Options, Standin, serve_control


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="standins.rancher",
        description="Stand-in of a Rancher 1.x server (v2-beta API) for tests.",
        epilog="When it is ready it prints one line of JSON with the URLs, the key and the control address.")
    add = parser.add_argument
    add("--listen", default="127.0.0.1", metavar="IP", help="address of the API (127.0.0.1)")
    add("--port", type=int, default=0, help="port of the API (0: chosen by the kernel)")
    add("--control-socket", metavar="PATH", help="Unix socket of the control side (default: a temporary one)")
    add("--hosts", type=int, default=2, metavar="N", help="number of simulated hosts (2)")
    add("--port-offset", type=int, default=0, metavar="N",
        help="listen on published port + N, to do without the right to bind low ports")
    add("--no-dataplane", dest="dataplane", action="store_false", help="place containers, but run no HAProxy")
    add("--run-directory", metavar="DIR",
        help="configurations and logs of the HAProxies (default: temporary)")
    add("--access-key", metavar="KEY", help="the API key (default: a random one)")
    add("--secret-key", metavar="KEY")
    add("--kubeconfig", metavar="FILE", help="follow the Kubernetes API of this file, as kubernetes-agent does")
    add("--agent-interval", type=float, default=0.3, metavar="S", help="poll of the Kubernetes API (0.3)")
    add("--set", action="append", default=[], metavar="NAME=JSON", help="a behaviour setting; see README.md")
    add("--exit-with-stdin", action="store_true", help="end when standard input is closed")
    add("--log-level", default="warning", choices=("debug", "info", "warning", "error"))
    return parser


def _options(arguments: argparse.Namespace) -> Options:
    same = ("listen", "port", "control_socket", "hosts", "port_offset", "dataplane", "run_directory", "access_key", "secret_key",
            "agent_interval")
    access = Access(Path(arguments.kubeconfig)) if arguments.kubeconfig else None
    return Options(**{name: getattr(arguments, name) for name in same}, cluster=access)


async def _stdin_closed(ended: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader),
                                                       sys.stdin)
    while await reader.read(4096):
        pass
    ended.set()


async def _run(options: Options, arguments: argparse.Namespace) -> None:
    standin = Standin(options)
    settings = (item.partition("=") for item in arguments.set)
    standin.behaviour.configure({name: json.loads(value) for name, _, value in settings})
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    control = Control(standin)
    await standin.start()
    runner, address = await serve_control(control.application(), options)
    watcher = asyncio.create_task(_stdin_closed(ended)) if arguments.exit_with_stdin else None
    try:
        print(json.dumps({**control.do_info(), "control": address}), flush=True)
        await ended.wait()
    finally:
        if watcher is not None:
            watcher.cancel()
        await standin.stop()
        await runner.cleanup()


def main() -> int:
    arguments = _parser().parse_args()
    logging.basicConfig(level=arguments.log_level.upper(), stream=sys.stderr,
                        format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with contextlib.ExitStack() as stack:
        try:
            options = _options(arguments)
            if options.control_socket is None:
                directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="rancher-standin-"))
                options.control_socket = os.path.join(directory, "control.sock")
            asyncio.run(_run(options, arguments))
        except (ValueError, OSError) as problem:
            print(f"standins.rancher: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
