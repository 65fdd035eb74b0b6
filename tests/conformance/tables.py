# SPDX-License-Identifier: Apache-2.0
"""The tables of PROTOCOL.md, read from the page itself: whether a message is what the page says."""
from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass, field
from typing import Any

PAGE = pathlib.Path(__file__).resolve().parents[2] / "proto/PROTOCOL.md"
LIST_MAX = 65536
LIST_TEXT_MAX = 1024


@dataclass
class Key:
    name: str
    is_required: bool
    type: str  # "text", "binary", "number", "bool", "word", "list", "map"
    limit: int = 0
    words: list[str] = field(default_factory=list)
    of: str = ""  # of lists and maps: a table, "text", or "" for words


def read_tables(page: pathlib.Path = PAGE) -> dict[str, dict[str, Key]]:
    """Keys by table and name."""
    tables: dict[str, dict[str, Key]] = {}
    name = ""
    for line in page.read_text().splitlines():
        if head := re.match(r"\| key of ([a-z -]+) \| type and limit \|", line):
            name = head[1]
            tables.setdefault(name, {})
        elif not line.startswith("|"):
            name = ""
        elif name and (row := re.match(r"\| `([a-z_]+)`( \(required\))? \| ([^|]*) \|", line)):
            tables[name][row[1]] = parse_key(row[1], bool(row[2]), row[3])
    return tables


def parse_key(name: str, is_required: bool, text: str) -> Key:
    words = re.findall(r"`([^`]+)`", text)
    number = re.search(r"(\d+)", text)
    if text.startswith("list of `"):
        return Key(name, is_required, "list", words=words)
    if text.startswith("list of "):
        return Key(name, is_required, "list", of=text[len("list of "):])
    if text.startswith("map: "):
        return Key(name, is_required, "map", of=text[len("map: "):])
    if text.startswith("one of"):
        return Key(name, is_required, "word", words=words)
    if text == "true or false":
        return Key(name, is_required, "bool")
    if text.startswith(("text", "binary")):
        return Key(name, is_required, text.split(",")[0], limit=int(number[1]))
    limit = 2 ** 64 - 1 if "64 bits" in text or "up to" not in text else int(number[1])
    return Key(name, is_required, "number", limit=limit)


class Map(dict):
    """A map as it came: text keys only, and what else was in it."""

    def __init__(self, pairs: list[tuple[Any, Any]]):
        super().__init__((key, value) for key, value in pairs if isinstance(key, str))
        self.pair_count = len(pairs)
        self.has_other_keys = any(not isinstance(key, str) for key, _ in pairs)
        self.twice: set[str] = set()
        if len(self) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if isinstance(key, str):
                    (self.twice if key in seen else seen).add(key)


class Tables:
    def __init__(self) -> None:
        self.tables = read_tables()

    def problem(self, table: str, body: Any, place: str = "") -> str | None:
        """What is wrong with a map that should be as that table says: `addresses[0].ip is 7, no text`. None when nothing is."""
        if not isinstance(body, Map):
            return f"{place or 'body'} is no map"
        if body.has_other_keys:
            return f"{place or 'body'} has a key that is no text"
        for name, key in self.tables[table].items():
            at = f"{place}.{name}" if place else name
            if name not in body:
                if key.is_required:
                    return f"{at} is missing"
            elif name in body.twice:
                return f"{at} stands twice"
            elif name == "id" and body[name] == "":
                return f"{at} is empty"
            elif problem := self._problem_of(key, body[name], at):
                return problem
        return None

    def _problem_of(self, key: Key, value: Any, at: str) -> str | None:
        if key.type == "list":
            if not isinstance(value, list):
                return f"{at} is no list"
            if len(value) > LIST_MAX:
                return f"{at} has {len(value)} items, more than {LIST_MAX}"
            return next((problem for n, item in enumerate(value) if (problem := self._problem_of_item(key, item, f"{at}[{n}]"))), None)
        if key.type == "map":
            return self.problem(key.of, value, at)
        if key.type == "word":
            return None if value in key.words else f"{at} is {value!r}, none of {', '.join(key.words)}"
        if key.type == "bool":
            return None if isinstance(value, bool) else f"{at} is {value!r}, not true or false"
        if key.type == "number":
            good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= key.limit
            return None if good else f"{at} is {value!r}, not a number up to {key.limit}"
        return problem_of_text(key, value, at)

    def _problem_of_item(self, key: Key, item: Any, at: str) -> str | None:
        if key.of == "text":
            return problem_of_text(Key(key.name, False, "text", LIST_TEXT_MAX), item, at)
        if key.of:
            return self.problem(key.of, item, at)
        return None if item in key.words else f"{at} is {item!r}, none of {', '.join(key.words)}"


def problem_of_text(key: Key, value: Any, at: str) -> str | None:
    if not isinstance(value, str if key.type == "text" else bytes):
        return f"{at} is {value!r}, no {key.type}"
    if key.type == "binary":
        return f"{at} has {len(value)} bytes, more than {key.limit}" if len(value) > key.limit else None
    data = value.encode("utf-8", "surrogateescape")  # as it came
    if len(data) > key.limit:
        return f"{at} has {len(data)} bytes, more than {key.limit}"
    if "\0" in value:
        return f"{at} holds NUL"
    try:
        data.decode()
    except UnicodeDecodeError as problem:
        return f"{at} is no UTF-8: {problem.reason} at byte {problem.start}"
    return None
