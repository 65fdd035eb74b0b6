# SPDX-License-Identifier: Apache-2.0
"""Runs a provider program through a list of checks, and prints what it does not do; run it by scripts/check-provider."""
from __future__ import annotations

import argparse
import signal
import sys
import time

from . import checks_link, checks_limits, checks_traffic, checks_words, checks_objects, checks_filter  # noqa: F401  they register themselves, in the order in which they run
from .bench import Bench, CannotStart, Failed
from .registry import CHECKS, Check

HELP = """\
CMD is started with `--runtime-dir DIR` behind its arguments, unless {runtime} stands in one of them; SLUICE_RUNTIME_DIR is set as well.
{folder} is a folder that is removed afterwards, {address} a loopback address that nobody else uses.

exit status: 0 all checks hold, 1 some do not, 2 wrong usage

example: scripts/check-provider examples/provider.py 192.0.2.7
"""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/check-provider", description=__doc__, epilog=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the checks and what each wants")
    parser.add_argument("--only", action="append", metavar="NAME", help="run only these checks; may be given several times")
    parser.add_argument("--skip", action="append", default=[], metavar="NAME", help="leave out these checks")
    parser.add_argument("--quick", action="store_true", help="leave out the checks that wait for the protocol's limits of time")
    parser.add_argument("--traffic", action="store_true",
                        help="run the checks that send requests, too: for load balancers on this machine, which reach backends at 127.88.0.0/16")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="how long to wait for anything (%(default)g)")
    parser.add_argument("--service-uid", default="uid-web", metavar="UID", help="UID of the Service that is asked for (%(default)s)")
    parser.add_argument("--verbose", action="store_true", help="let the program's output through")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD ...")
    args = parser.parse_args(arguments)
    if args.command[:1] == ["--"]:
        args.command = args.command[1:]
    unknown = {*(args.only or []), *args.skip} - {item.name for item in CHECKS}
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}; see --list")
    if not args.list and not args.command:
        parser.error("which program?")
    return args


def choose(args: argparse.Namespace) -> list[Check]:
    if args.only is not None:
        return [item for item in CHECKS if item.name in args.only and item.name not in args.skip]
    return [item for item in CHECKS if item.name not in args.skip and not (args.quick and item.is_slow) and (args.traffic or not item.needs_traffic)]


def print_list() -> None:
    for item in CHECKS:
        print(f"{item.name:42} {item.text}{' (slow)' if item.is_slow else ''}{' (--traffic)' if item.needs_traffic else ''}{' (optional)' if item.needs_filter else ''}")


def run_one(bench: Bench, item: Check) -> str | None:
    """What is wrong; None when the check holds."""
    try:
        item.run(bench)
    except Failed as failed:
        return str(failed)
    return None


def main() -> int:
    args = parse(sys.argv[1:])
    sys.stdout.reconfigure(errors="backslashreplace")  # what a provider says need not be what the terminal can show
    if args.list:
        print_list()
        return 0
    chosen = choose(args)
    for number in (signal.SIGTERM, signal.SIGHUP):  # what was started is ended, however this ends
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    bench = Bench(args.command, args.timeout, args.service_uid, quiet=not args.verbose)
    failed = 0
    try:
        if any(item.needs_filter for item in chosen) and not bench.is_filter():
            print("skip the provider as a filter, which is optional: it does not answer --hello", flush=True)
            chosen = [item for item in chosen if not item.needs_filter]
        for item in chosen:
            at = time.monotonic()
            problem = run_one(bench, item)
            failed += problem is not None
            print(f"{'ok  ' if problem is None else 'FAIL'} {item.name:42} {time.monotonic() - at:6.2f} s", flush=True)
            if problem is not None:
                print(f"     wanted: {item.text}\n     seen:   {problem}", flush=True)
    except CannotStart as problem:
        print(f"cannot start it: {problem}", file=sys.stderr)
        return 2
    finally:
        bench.stop()
    print(f"{len(chosen) - failed} of {len(chosen)} checks hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
