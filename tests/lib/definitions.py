# SPDX-License-Identifier: Apache-2.0
"""The rows of the programs' tables (*.def), as the compiler sees them: METRIC(...), ANNOTATION(...), LOG_EVENT(...)."""

from __future__ import annotations

import ast
import re

from lib.markdown import ROOT, repository_files

TOKEN = re.compile(r'(?m:^#[^\n]*)|"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[(),]|[^\s"(),/]+|/', re.DOTALL)


def _value(tokens: list[str]) -> str | None:
    """Texts that stand beside each other are one text; a macro among them shows as its name."""
    if tokens == ["NULL"]:
        return None
    return "".join(ast.literal_eval(token) if token.startswith('"') else token for token in tokens)


def rows(text: str, macro: str) -> list[list[str | None]]:
    """The arguments of each MACRO(...) in the text of a table."""
    found: list[list[str | None]] = []
    tokens = [token for token in TOKEN.findall(text) if not token.startswith(("//", "/*", "#"))]
    at = 0
    while at < len(tokens) - 1:
        if tokens[at] != macro or tokens[at + 1] != "(":
            at += 1
            continue
        row: list[str | None] = []
        value: list[str] = []
        depth, at = 1, at + 2
        while depth:
            token = tokens[at]
            depth += {"(": 1, ")": -1}.get(token, 0)
            if depth == 0 or (depth == 1 and token == ","):
                row.append(_value(value))
                value = []
            else:
                value.append(token)
            at += 1
        found.append(row)
    return found


def table(path: str, macro: str) -> list[list[str | None]]:
    """The rows of one file; ValueError when there are none."""
    found = rows((ROOT / path).read_text(), macro)
    if not found:
        raise ValueError(f"{path} has no {macro}()")
    return found


def tables(name: str, macro: str) -> dict[str, list[list[str | None]]]:
    """Of all files of that name: folder to rows."""
    return {path.split("/")[0]: table(path, macro) for path in sorted(repository_files(f"*/{name}"))}
