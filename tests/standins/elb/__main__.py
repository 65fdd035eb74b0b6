# SPDX-License-Identifier: Apache-2.0
"""Command line of the stand-in: `PYTHONPATH=tests /usr/bin/python3 -m standins.elb --help`."""

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

SUBNET_TAGS = {"kubernetes.io/role/elb": "1", "kubernetes.io/role/internal-elb": "1"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="standins.elb", description="Stand-in of AWS (ELBv2, EC2, ACM, STS, tagging, Route 53, metadata) for tests.",
        epilog="When it is ready it prints one line of JSON with the URL, the key and the control address.")
    add = parser.add_argument
    add("--listen", default="127.0.0.1", metavar="IP", help="address of all services (127.0.0.1)")
    add("--port", type=int, default=0, help="their port (0: chosen by the kernel)")
    add("--directory", type=Path, metavar="DIR", help="the control socket (default: a new one)")
    add("--region", default="us-east-1")
    add("--zones", type=int, default=3, metavar="N", help="zones with a subnet each (3)")
    add("--vpc-cidr", default="172.31.0.0/16", metavar="CIDR")
    add("--subnet-tags", default=json.dumps(SUBNET_TAGS), metavar="JSON", help="tags of all subnets (those of both roles)")
    add("--loopback-targets", action="store_true", help="127.0.0.0/8 is a network of the VPC, too")
    add("--no-check", dest="check_answers", action="store_false", help="do not have botocore read every answer")
    add("--set", action="append", default=[], metavar="NAME=JSON", help="a setting; see README.md")
    add("--exit-with-stdin", action="store_true", help="end when standard input is closed")
    return parser


async def _run(options: argparse.Namespace) -> None:
    standin = Standin(options)
    settings = (item.partition("=") for item in options.set)
    standin.settings.configure({name: json.loads(value) for name, _, value in settings})
    control, path = Control(standin), str(options.directory / "control.sock")
    await standin.start()
    server = await control.listen(path)
    try:
        print(json.dumps({**control.do_info(), "control": path}), flush=True)
        await ended(options.exit_with_stdin)
    finally:
        server.close()
        await standin.stop()


def main() -> int:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="elb-standin-") as folder:
        options.directory = options.directory or Path(folder)
        try:
            asyncio.run(_run(options))
        except (ValueError, OSError) as problem:
            print(f"standins.elb: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
