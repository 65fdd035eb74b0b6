# SPDX-License-Identifier: Apache-2.0
"""JSON in the dialect of Kubernetes."""

from __future__ import annotations

import json
import re
from typing import Any

_ESCAPED = re.compile("[<>&\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class MalformedDocument(Exception):
    """The text is no JSON."""


def to_json(value: Any) -> bytes:
    """Encodes as Go does: compact, `<`, `>` and `&` escaped."""
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
