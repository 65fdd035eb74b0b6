# SPDX-License-Identifier: Apache-2.0
"""What a Rancher 1.6 server (build 0.183.83) was asked and answered, and the comparison of other answers with it.

`transcript.jsonl` holds one exchange a line, and before them one line with what many share: `texts` that stand as @name@ in bodies,
`shapes` of answers, and the `services` that the server knew. Of an answer its shape is kept: of an error everything but its id, of
anything else the names and the JSON type of each value, one level down into launchConfig, lbConfig, pagination and the first row of a
list; the state; and names that stand twice in one object.
"""

from __future__ import annotations

import json
import pathlib
import re
from dataclasses import dataclass
from typing import Any

FILE = pathlib.Path(__file__).with_name("transcript.jsonl")
_DEEP = ("launchConfig", "lbConfig", "pagination")
_ERROR = ("status", "code", "fieldName", "message", "detail", "baseType")
# What these hold differs with what the server offers besides; that they are there is compared.
_OPEN = ("links", "sortLinks", "createTypes", "filters", "data")
_ID = re.compile(r"\b1(?:st|s|c|i|h)\d+\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KINDS = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}

Shape = dict[str, Any]


@dataclass(frozen=True)
class Exchange:
    name: str
    method: str
    path: str
    status: int
    body: str | None = None
    headers: dict[str, str] | None = None
    key: str | None = "environment"    # whose key is sent; None: none
    shape: Shape | None = None         # None: the body is not compared
    challenge: bool = False            # the answer has WWW-Authenticate
    now: bool = False                  # sent at once, before the server has come to rest
    is_setup: bool = False             # the answer is not compared
    remove: bool = False               # what it has made is removed before the next one
    ids: tuple[str, ...] = ()          # id and uuid of what it has made


class Transcript:
    def __init__(self, file: pathlib.Path = FILE):
        with open(file, encoding="utf-8") as lines:
            shared = json.loads(next(lines))
            self.services: list[dict[str, str]] = shared["services"]
            self.exchanges = [self._exchange(json.loads(line), shared) for line in lines]

    @staticmethod
    def _exchange(line: dict[str, Any], shared: dict[str, Any]) -> Exchange:
        if isinstance(line.get("shape"), str):
            line["shape"] = shared["shapes"][line["shape"]]
        if line.get("body") is not None:
            line["body"] = re.sub(r"@([a-z0-9-]+)@", lambda m: json.dumps(_text(shared["texts"][m[1]]))[1:-1], line["body"])
        return Exchange(**{**line, "ids": tuple(line.get("ids", ()))})


def _text(written: str | list[Any]) -> str:
    """A text, or [letter, how many of it]."""
    return written if isinstance(written, str) else written[0] * written[1]


class Ids:
    """The ids of the recorded server, and what they are called here."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def learn(self, recorded: str, here: str) -> None:
        self._ids[recorded] = here

    def translate(self, text: str) -> str:
        return _ID.sub(lambda m: self._ids.get(m.group(), m.group()), text)


def shape_of(text: str) -> Shape:
    """The shape of a body; {} of what is no JSON object."""
    twins: list[str] = []

    def take(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twins.extend(name for name in set(names) if names.count(name) > 1)
        return dict(pairs)

    try:
        body = json.loads(text, object_pairs_hook=take)
    except ValueError:
        return {}
    if not isinstance(body, dict):
        return {}
    if body.get("type") == "error":
        return {"error": {name: body[name] for name in _ERROR if name in body}}
    shape: Shape = {"names": _names(body)}
    shape.update({name: _names(body[name]) for name in _DEEP if isinstance(body.get(name), dict)})
    if "state" in body:
        shape["state"] = body["state"]
        shape["actions"] = " ".join(sorted(body["actions"]))
    if isinstance(body.get("data"), list) and body["data"] and isinstance(body["data"][0], dict):
        row = body["data"][0]
        shape["row"] = {"names": _names(row), "type": row.get("type"),
                        **{name: _names(row[name]) for name in _DEEP if isinstance(row.get(name), dict)}}
    if twins:
        shape["twins"] = " ".join(sorted(set(twins)))
    return shape


def _names(value: dict[str, Any]) -> dict[str, str]:
    """The members by type: {"string": "id name", "null": "description"}."""
    found: dict[str, list[str]] = {}
    for name in sorted(value):
        found.setdefault("any" if name in _OPEN else _KINDS[type(value[name])], []).append(name)
    return {kind: " ".join(names) for kind, names in sorted(found.items())}


def differences(recorded: Shape, here: Shape) -> list[str]:
    """In words; rows of different types are not held against each other, as lists begin with whatever is there."""
    found = []
    for part in sorted({*recorded, *here}):
        real, ours = recorded.get(part), here.get(part)
        if part == "row" and real and ours and real["type"] != ours["type"]:
            continue
        if part == "actions" and recorded.get("state") != here.get("state"):
            continue
        if isinstance(real, dict) and isinstance(ours, dict):
            for name in sorted({*real, *ours}):
                if real.get(name) != ours.get(name):
                    found.append(f"{part}.{name}: real {real.get(name)}, here {ours.get(name)}")
        elif real != ours:
            found.append(f"{part}: real {real}, here {ours}")
    return found
