# SPDX-License-Identifier: Apache-2.0
"""JSON and YAML in the dialect of Kubernetes."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

_ESCAPED = re.compile("[<>&\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class MalformedDocument(Exception):
    """The text is neither JSON nor YAML that could be an object."""


def to_json(value: Any, indent: bool = False) -> bytes:
    """Encodes as Go does: compact, `<`, `>` and `&` escaped."""
    if indent:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    else:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def from_json(data: bytes) -> Any:
    """Decodes a request body; invalid UTF-8 becomes U+FFFD as in Go."""
    try:
        return json.loads(data.decode("utf-8", "replace"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise MalformedDocument(str(error)) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"invalid character {name[0]!r} looking for beginning of value")


class _Loader(yaml.CSafeLoader):
    """Leaves dates as strings, as the API server's YAML reader does."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def from_yaml(data: bytes) -> Any:
    """Decodes YAML, of which JSON is nearly always a part."""
    if data.lstrip()[:1] == b"{":
        try:
            return from_json(data)
        except MalformedDocument:
            pass
    try:
        return yaml.load(data.decode("utf-8", "replace"), Loader=_Loader)  # a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise MalformedDocument(str(error)) from None


def to_yaml(value: Any) -> bytes:
    """Encodes as kubectl and the API server do: keys sorted, block style."""
    return yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=False, allow_unicode=True).encode()
