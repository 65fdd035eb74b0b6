# SPDX-License-Identifier: Apache-2.0
"""Command line of the stand-in: `PYTHONPATH=tests /usr/bin/python3 -m standins.elb --help`."""

from __future__ import annotations

import argparse
import json
import sys

from .. import program
from .control import Control
from .server import Standin

SUBNET_TAGS = {"kubernetes.io/role/elb": "1", "kubernetes.io/role/internal-elb": "1"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="standins.elb", description="Stand-in of AWS (ELBv2, EC2, ACM, STS, tagging, Route 53, metadata) for tests.",
        epilog="When it is ready it prints one line of JSON with the URL, the key and the control address.")
    program.add_common_options(parser)
    add = parser.add_argument
    add("--region", default="us-east-1")
    add("--zones", type=int, default=3, metavar="N", help="zones with a subnet each (3)")
    add("--vpc-cidr", default="172.31.0.0/16", metavar="CIDR")
    add("--subnet-tags", default=json.dumps(SUBNET_TAGS), metavar="JSON", help="tags of all subnets (those of both roles)")
    add("--loopback-targets", action="store_true", help="127.0.0.0/8 is a network of the VPC, too")
    add("--no-check", dest="check_answers", action="store_false", help="do not have botocore read every answer")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    standin = Standin(options)
    await program.serve(options, standin, standin.settings, Control(standin))


if __name__ == "__main__":
    sys.exit(program.run(_parser(), _serve))
