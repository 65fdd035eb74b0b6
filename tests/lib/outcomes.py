#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a report of lib.report or of `meson test` (in meson-logs) for scripts/test: a line `passed N`, and a line
`failed NAME` each. With NAMEs behind the report these are to have passed: one that is not there has failed."""
from __future__ import annotations

import json
import pathlib
import sys


def outcomes(path: pathlib.Path) -> dict[str, str]:
    text = path.read_text()
    if path.parent.name != "meson-logs":
        return json.loads(text)
    words = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}
    rows = [json.loads(line) for line in text.splitlines()]
    # meson names a test "suite / name"; it takes the name alone.
    return {row["name"].split(" / ")[-1]: words.get(row["result"], "failed") for row in rows}


def main() -> None:
    found = outcomes(pathlib.Path(sys.argv[1]))
    if not found:
        sys.exit("an empty report")
    print("passed", sum(word == "passed" for word in found.values()))
    for name in dict.fromkeys([*found, *sys.argv[2:]]):
        if found.get(name, "missing") in ("failed", "missing") or (name in sys.argv[2:] and found[name] != "passed"):
            print("failed", name)


if __name__ == "__main__":
    main()
