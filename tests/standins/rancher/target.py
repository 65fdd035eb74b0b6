# SPDX-License-Identifier: Apache-2.0
"""What a URL means: version, project, type, id and action."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping
from urllib.parse import parse_qsl, unquote

from . import schema
from .errors import not_found
from .resources import VERSION, Urls


@dataclass
class Target:
    urls: Urls
    project: str | None = None
    type: str | None = None
    id: str | None = None
    action: str | None = None
    query: list[tuple[str, str]] = field(default_factory=list)

    def value(self, name: str) -> str | None:
        return next((v for k, v in reversed(self.query) if k == name), None)


def parse(raw_path: str, headers: Mapping[str, str]) -> Target:
    """Raises 404 for a path that means nothing."""
    path, _, query_text = raw_path.partition("?")
    query = parse_qsl(query_text, keep_blank_values=True)
    parts = [unquote(part) for part in path.split("/") if part]
    base = f"http://{headers.get('Host')}"  # the address under which the client knows the server
    if not parts or parts.pop(0) != VERSION:
        raise not_found()
    target = Target(Urls(base, None), query=query)
    if len(parts) > 2 and schema.resolve(parts[0]) == "project":
        target.project = parts[1]
        target.urls = Urls(base, parts[1])
        parts = parts[2:]
    else:
        target.project = headers.get("X-API-Project-Id") or target.value("projectId")
    _resource(target, parts)
    return target


def _resource(target: Target, parts: list[str]) -> None:
    if len(parts) > 2:
        raise not_found()
    if parts:
        target.type = schema.resolve(parts[0])
        if target.type is None:
            raise not_found()
    if len(parts) > 1:
        target.id = parts[1].removeprefix("1as!") if target.type == "setting" else parts[1]
    target.action = target.value("action")
