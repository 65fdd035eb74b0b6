# SPDX-License-Identifier: Apache-2.0
"""Command line of the Kubernetes API stand-in."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from ..commands import ended
from .control import Control
from .profiles import Profile
from .standin import Standin

FLAG: dict[str, Any] = {"action": "store_true"}
OPTIONS: dict[str, dict[str, Any]] = {
    "--profile": dict(type=Profile.parse, default="1.34", metavar="1.N",
                      help="Kubernetes release to behave as, 1.16 to 1.37 (default 1.34)"),
    "--port": dict(type=int, default=0, metavar="PORT", help="port of the API (default: any)"),
    "--no-https": FLAG | {"help": "serve plain HTTP only; requests without credentials are the administrator's"},
    "--until-eof": FLAG | {"help": "stop when standard input ends"},
    "--dir": dict(type=Path, help="folder for certificates, tokens and the control socket (default: a new one)"),
    "--token": dict(default="", metavar="TEXT", help="the first controller token (default: a random one)"),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m standins.kube",
        description="A Kubernetes API server for tests: faithful on the wire, faulty on demand. "
        "Prints one JSON line with addresses and files when it is ready.",
    )
    for flag, details in OPTIONS.items():
        parser.add_argument(flag, **details)
    return parser.parse_args()


async def main() -> None:
    given = arguments()
    folder = (given.dir or Path(tempfile.mkdtemp(prefix="standin-kube-"))).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    standin = Standin(folder, given.profile, given.port, given.no_https, given.token)
    await standin.network.set("up")
    control = await Control(standin).listen(standin.files["control"])
    print(json.dumps({"url": standin.network.url, **standin.files}), flush=True)
    await ended(given.until_eof)
    await standin.network.stop()
    control.close()


if __name__ == "__main__":
    asyncio.run(main())
