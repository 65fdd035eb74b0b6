# SPDX-License-Identifier: Apache-2.0
"""Command line of the Kubernetes API stand-in."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from .profiles import Profile
from .state import BadSetting
from .standin import Options, Standin


def _profile(text: str) -> Profile:
    try:
        return Profile.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("NAME=JSON")
    return name, json.loads(value)


FLAG: dict[str, Any] = {"action": "store_true"}
OPTIONS: dict[str, dict[str, Any]] = {
    "--profile": dict(type=_profile, default=Profile.parse("1.34"), metavar="1.N",
                      help="Kubernetes release to behave as, 1.16 to 1.37 (default 1.34)"),
    "--first-revision": dict(type=int, default=Options.first_revision, metavar="N", help="revision to start at"),
    "--setting": dict(action="append", default=[], type=_setting, metavar="NAME=JSON",
                      help="a knob turned from the start (see README.md)"),
    "--port": dict(type=int, default=0, metavar="PORT", help="port of the API (default: any)"),
    "--no-https": FLAG | {"help": "serve plain HTTP only; requests without credentials are the administrator's"},
    "--until-eof": FLAG | {"help": "stop when standard input ends"},
    "--dir": dict(type=Path, help="folder for certificates, tokens and the control socket (default: a new one)"),
    "--service-account-dir": dict(type=Path, metavar="DIR",
                                  help="write token, ca.crt and namespace there behind a ..data link, as the kubelet does"),
    "--controller-user": dict(default=Options.controller_user, metavar="USER", help="user name of the controller's token"),
    "--token": dict(metavar="TEXT", help="the first controller token (default: a random one)"),
}


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="python3 -m standins.kube",
        description="A Kubernetes API server for tests: faithful on the wire, faulty on demand. "
        "Prints one JSON line with addresses and files when it is ready.",
    )
    for flag, details in OPTIONS.items():
        parser.add_argument(flag, **details)
    return parser.parse_args()


def options_of(given: argparse.Namespace) -> Options:
    """Turns arguments into options."""
    folder = given.dir or Path(tempfile.mkdtemp(prefix="standin-kube-"))
    return Options(
        folder=folder.absolute(),
        profile=given.profile,
        port=given.port,
        is_plain=given.no_https,
        service_account_dir=given.service_account_dir,
        controller_user=given.controller_user,
        token=given.token,
        first_revision=given.first_revision,
        settings=dict(given.setting),
    )


async def main() -> None:
    """Runs one stand-in."""
    given = arguments()
    standin = Standin(options_of(given))
    try:
        await standin.start()
    except (BadSetting, OSError) as error:
        sys.exit(f"standins.kube: {error}")
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, standin.stopping.set)
    if given.until_eof:
        threading.Thread(target=_wait_for_eof, args=(loop, standin), daemon=True).start()
    print(json.dumps(standin.describe()), flush=True)
    await standin.run()


def _wait_for_eof(loop: asyncio.AbstractEventLoop, standin: Standin) -> None:
    # Not through sys.stdin, whose lock this thread would still hold when the interpreter ends.
    while os.read(0, 4096):
        pass
    try:
        loop.call_soon_threadsafe(standin.stopping.set)
    except RuntimeError:
        pass


if __name__ == "__main__":
    asyncio.run(main())
