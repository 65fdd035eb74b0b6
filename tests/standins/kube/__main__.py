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

from .faults import BadFault
from .profiles import Profile
from .standin import Options, Standin


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="python3 -m standins.kube", description="A Kubernetes API server for tests: faithful on the wire, faulty on demand. "
        "Prints one JSON line with addresses and files when it is ready.")
    parser.add_argument("--dir", type=Path, help="folder for certificates, tokens and the control socket (default: a new one)")
    parser.add_argument("--profile", type=Profile.parse, default=Profile.parse("1.34"), metavar="1.N",
                        help="Kubernetes release to behave as, 1.16 to 1.37 (default 1.34)")
    parser.add_argument("--address", default="127.0.0.1", help="loopback address to listen on (default 127.0.0.1)")
    parser.add_argument("--https-port", type=int, default=0, metavar="PORT", help="port of the API (default: any)")
    parser.add_argument("--no-https", action="store_true", help="serve plain HTTP only")
    parser.add_argument("--http-port", type=int, metavar="PORT", help="serve plain HTTP too, on this port (0: any)")
    parser.add_argument("--control", default="", metavar="PATH", help="control socket (default DIR/control.sock)")
    parser.add_argument("--kubeconfig-out", type=Path, metavar="FILE", help="administrator's kubeconfig (default DIR/kubeconfig)")
    parser.add_argument("--controller-kubeconfig-out", type=Path, metavar="FILE",
                        help="controller's kubeconfig with tokenFile (default DIR/controller.kubeconfig)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="controller's token (default DIR/token)")
    parser.add_argument("--ca-file", type=Path, metavar="FILE", help="CA certificate (default DIR/ca.crt)")
    parser.add_argument("--service-account-dir", type=Path, metavar="DIR",
                        help="write token, ca.crt and namespace there behind a ..data link, as the kubelet does")
    parser.add_argument("--controller-user", default=Options.controller_user, metavar="USER", help="user name of the controller's token")
    parser.add_argument("--token-expires-s", type=float, metavar="S", help="life of the first controller token (default: for ever)")
    parser.add_argument("--anonymous-admin", action="store_true",
                        help="requests without credentials are the administrator's (kubectl sends none over plain HTTP)")
    parser.add_argument("--namespace", action="append", default=[], metavar="NAME", help="namespace that exists from the start")
    parser.add_argument("--strict-namespaces", action="store_true",
                        help="refuse objects in missing namespaces instead of making the namespace")
    parser.add_argument("--first-revision", type=int, default=Options.first_revision, metavar="N", help="revision to start at")
    parser.add_argument("--window-events", type=int, default=Options.window_events, metavar="N",
                        help="changes of one type that watches and pages can go back")
    parser.add_argument("--seed", type=int, metavar="N", help="makes random choices repeatable")
    parser.add_argument("--fault", action="append", default=[], type=json.loads, metavar="JSON",
                        help="a fault that acts from the start (see README.md)")
    parser.add_argument("--until-eof", action="store_true", help="stop when standard input ends")
    return parser.parse_args()


def options_of(given: argparse.Namespace) -> Options:
    """Turns arguments into options."""
    folder = given.dir or Path(tempfile.mkdtemp(prefix="standin-kube-"))
    http_port = given.http_port if given.http_port is not None else (0 if given.no_https else None)
    return Options(
        folder=folder.absolute(), profile=given.profile, address=given.address,
        https_port=None if given.no_https else given.https_port, http_port=http_port, control=given.control,
        kubeconfig=given.kubeconfig_out, controller_kubeconfig=given.controller_kubeconfig_out, token_file=given.token_file,
        ca_file=given.ca_file, service_account_dir=given.service_account_dir, controller_user=given.controller_user,
        token_expires_s=given.token_expires_s, anonymous_admin=given.anonymous_admin or given.no_https,
        namespaces=tuple(given.namespace), strict_namespaces=given.strict_namespaces, first_revision=given.first_revision,
        window_events=given.window_events, seed=given.seed, faults=given.fault)


async def main() -> None:
    """Runs one stand-in."""
    given = arguments()
    standin = Standin(options_of(given))
    try:
        await standin.start()
    except (BadFault, OSError) as error:
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
