# SPDX-License-Identifier: Apache-2.0
"""Command line of the stand-in: `PYTHONPATH=tests /usr/bin/python3 -m standins.rancher --help`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import program
from .control import Control
from .server import Standin


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="standins.rancher",
        description="Stand-in of a Rancher 1.x server (v2-beta API) for tests.",
        epilog="When it is ready it prints one line of JSON with the URLs, the key and the control address.")
    program.add_common_options(parser)
    add = parser.add_argument
    add("--hosts", type=int, default=2, metavar="N", help="number of simulated hosts (2)")
    add("--no-dataplane", dest="dataplane", action="store_false", help="place containers, but run no HAProxy")
    add("--access-key", metavar="KEY", help="the API key (default: a random one)")
    add("--secret-key", metavar="KEY")
    add("--kubeconfig", type=Path, metavar="FILE", help="follow the Kubernetes API of this file, as kubernetes-agent does")
    add("--agent-interval", type=float, default=0.3, metavar="S", help="poll of the Kubernetes API (0.3)")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    standin = Standin(options)
    await program.serve(options, standin, standin.behaviour, Control(standin))


if __name__ == "__main__":
    sys.exit(program.run(_parser(), _serve))
