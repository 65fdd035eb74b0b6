# SPDX-License-Identifier: Apache-2.0
"""Command line of the stand-in: `PYTHONPATH=tests /usr/bin/python3 -m standins.rancher --help`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from ..commands import ended
from .control import Control
from .server import Standin


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="standins.rancher",
        description="Stand-in of a Rancher 1.x server (v2-beta API) for tests.",
        epilog="When it is ready it prints one line of JSON with the URLs, the key and the control address.")
    add = parser.add_argument
    add("--listen", default="127.0.0.1", metavar="IP", help="address of the API (127.0.0.1)")
    add("--port", type=int, default=0, help="port of the API (0: chosen by the kernel)")
    add("--directory", type=Path, metavar="DIR", help="the control socket, and of the HAProxies configurations and logs (default: a new one)")
    add("--hosts", type=int, default=2, metavar="N", help="number of simulated hosts (2)")
    add("--no-dataplane", dest="dataplane", action="store_false", help="place containers, but run no HAProxy")
    add("--access-key", metavar="KEY", help="the API key (default: a random one)")
    add("--secret-key", metavar="KEY")
    add("--kubeconfig", type=Path, metavar="FILE", help="follow the Kubernetes API of this file, as kubernetes-agent does")
    add("--agent-interval", type=float, default=0.3, metavar="S", help="poll of the Kubernetes API (0.3)")
    add("--set", action="append", default=[], metavar="NAME=JSON", help="a behaviour setting; see README.md")
    add("--exit-with-stdin", action="store_true", help="end when standard input is closed")
    return parser


async def _run(options: argparse.Namespace) -> None:
    standin = Standin(options)
    settings = (item.partition("=") for item in options.set)
    standin.behaviour.configure({name: json.loads(value) for name, _, value in settings})
    control, path = Control(standin), str(options.directory / "control.sock")
    await standin.start()
    server = await control.listen(path)
    try:
        print(json.dumps({**control.do_info(), "control": path}), flush=True)
        await ended(options.exit_with_stdin)
    finally:
        await standin.stop()
        server.close()


def main() -> int:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="rancher-standin-") as folder:
        options.directory = options.directory or Path(folder)
        try:
            asyncio.run(_run(options))
        except (ValueError, OSError) as problem:
            print(f"standins.rancher: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
