#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the tables that `proto-describe` prints into PROTOCOL.md, or with --check says which differ.

usage: protocol_tables.py [--check] PROTO-DESCRIBE PROTOCOL.md

A table stands in the page between the lines `<!-- table: NAME -->` and `<!-- end -->`. Every printed table must have its
place.
"""
import pathlib
import re
import subprocess
import sys

PLACE = re.compile(r"(<!-- table: (?P<name>[^>]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.S)


def printed_tables(program: str) -> dict[str, str]:
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    parts = re.split(r"<!-- table: ([^>]+) -->\n", text)[1:]
    return {name: body.strip() + "\n" for name, body in zip(parts[::2], parts[1::2])}


def main() -> int:
    args = sys.argv[1:]
    check = args[0] == "--check"
    program, page_path = args[1:] if check else args
    page = pathlib.Path(page_path)
    tables = printed_tables(program)
    text = page.read_text()
    found = {match["name"] for match in PLACE.finditer(text)}
    problems = [f"no place for table {name}" for name in tables if name not in found]
    problems += [f"no such table: {name}" for name in found if name not in tables]
    if not check:
        text = PLACE.sub(lambda m: m[1] + tables.get(m["name"], m["body"]) + m[4], text)
        page.write_text(text)
    for match in PLACE.finditer(text):
        if tables.get(match["name"]) not in (None, match["body"]):
            problems.append(f"table {match['name']} is stale: run scripts/reference")
    print(*(problems or [f"{len(found)} tables fit"]), sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
