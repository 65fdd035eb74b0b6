#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a table in C of the files of the page, byte for byte, with the type of each by its ending.

usage: embed.py HEADER FILE..."""
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}


def quoted(line: bytes) -> str:
    """A string of C. Octal escapes have three digits at most, so that nothing behind one becomes part of it."""
    return '"' + "".join(chr(b) if 0x20 <= b < 0x7f and chr(b) not in '"\\?' else f"\\{b:03o}" for b in line) + '"'


def main(target: str, *sources: str) -> None:
    rows = []
    for source in map(pathlib.Path, sources):
        text = "\n".join(f"\t\t{quoted(line)}" for line in source.read_bytes().splitlines(keepends=True))
        rows.append(f'\t{{"{source.name}", "{TYPES[source.suffix]}", STR(\n{text})}},\n')
    pathlib.Path(target).write_text("#pragma once\n\nstatic const struct web_file web_files[] = {\n" + "".join(rows) + "};\n", encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
