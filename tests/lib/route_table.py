# SPDX-License-Identifier: Apache-2.0
"""The table of cases that all providers pass (tests/cases/routes.json): what becomes of a request."""
from __future__ import annotations

import json
import pathlib
import re
from typing import Any

CASES = json.loads((pathlib.Path(__file__).resolve().parents[1] / "cases/routes.json").read_text())


def expand(text: str) -> str:
    """`{x*3}` is xxx."""
    return re.sub(r"\{(.)\*(\d+)\}", lambda found: found[1] * int(found[2]), text)


def bytes_of(row: dict[str, Any]) -> bytes:
    if "raw" in row:
        return expand(row["raw"]).encode("latin-1")
    method = row.get("method", "GET")
    return f"{method} {expand(row['target'])} HTTP/1.1\r\nHost: {expand(row['host'])}\r\n\r\n".encode("latin-1")


def title(row: dict[str, Any]) -> str:
    words = row.get("about") or f"{row.get('method', '')}{row['host']}{row['target']}"
    words = ("tls-" if row.get("tls") else "") + row["balancer"] + "-" + words
    return re.sub(r"[^!-~]+", "-", words.replace("[", "(").replace("]", ")"))[:80]
