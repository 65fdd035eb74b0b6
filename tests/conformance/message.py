# SPDX-License-Identifier: Apache-2.0
"""What a provider under test has sent, read without trusting it: each fault is told by its field and the reason."""
from __future__ import annotations

import ipaddress
import re
from typing import Any

import msgpack

from .tables import Map, Tables

VALUES_MAX = 524288  # of one payload, keys included
DEPTH_MAX = 16  # maps and arrays within each other
FROM_PROVIDERS = ("hello", "ping", "pong", "bye", "lb-status", "applied", "lb-event")
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.IGNORECASE)


class Invalid(Exception):
    """What was sent is no message, or not as the tables of PROTOCOL.md say."""


def read_message(payload: bytes, tables: Tables) -> tuple[str, Map]:
    """Type and body; a type that the page does not know has any body."""
    match _unpacked(payload):
        case [str(kind), Map() as body, *_]:
            pass
        case [str(kind), *_]:
            raise Invalid(f"{printable(kind)}: body is no map")
        case value:
            raise Invalid(f"no array of a type and a map: {printable(repr(value))}")
    if kind not in FROM_PROVIDERS:
        if kind in tables.tables:
            raise Invalid(f"{kind} is not for a provider to send")
        return kind, body
    problem = tables.problem(kind, body) or (_problem_of_status(body) if kind == "lb-status" else None)
    if problem:
        raise Invalid(f"{kind}: {problem}")
    return kind, body


def printable(text: str, limit: int = 1000) -> str:
    """One line for a terminal, whatever the program under test has put into the text."""
    text = text if len(text) <= limit else text[:limit] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def _unpacked(payload: bytes) -> Any:
    try:
        value = msgpack.unpackb(payload, object_pairs_hook=Map, strict_map_key=False, unicode_errors="surrogateescape",
                                max_array_len=VALUES_MAX, max_map_len=VALUES_MAX)
    except (ValueError, TypeError, MemoryError, OverflowError) as problem:
        raise Invalid(f"{payload[:40]!r} is no msgpack: {type(problem).__name__} {problem}") from None
    _measure(value)
    return value


def _measure(value: Any) -> None:
    """Counts values and levels against the limits of a payload."""
    level, depth, count = [value], 0, 1
    while level := [item for item in level if isinstance(item, (list, Map))]:
        depth += 1
        count += sum(len(item) if isinstance(item, list) else 2 * item.pair_count for item in level)
        if depth > DEPTH_MAX:
            raise Invalid(f"maps and arrays within each other more than {DEPTH_MAX} times")
        if count > VALUES_MAX:
            raise Invalid(f"more than {VALUES_MAX} values")
        level = [inner for item in level for inner in (item if isinstance(item, list) else item.values())]


def _problem_of_status(status: Map) -> str | None:
    """What the tables cannot say of a status."""
    if status["state"] == "failed" and not status.get("message"):
        return "message is missing, although state is failed"
    for number, address in enumerate(status.get("addresses", [])):
        if problem := _problem_of_address(address):
            return f"addresses[{number}]{problem}"
    for number, notice in enumerate(status.get("notices", [])):
        if not re.fullmatch("[A-Z][A-Za-z0-9]*", notice["reason"]):
            return f"notices[{number}].reason is {notice['reason']!r}, no CamelCase word"
    return None


def _problem_of_address(address: Map) -> str | None:
    ip, name = address.get("ip"), address.get("hostname")
    if bool(ip) == bool(name):
        return " has both ip and hostname" if ip else " has neither ip nor hostname"
    if ip:
        try:
            ipaddress.ip_address(ip)
        except ValueError:
            return f".ip is {ip!r}, no IP address"
    elif not HOST_NAME.fullmatch(name) or re.fullmatch(r"[0-9.]+", name):
        return f".hostname is {name!r}, no host name"
    return next((f".ports[{number}].port is 0" for number, item in enumerate(address.get("ports", [])) if item["port"] == 0), None)
