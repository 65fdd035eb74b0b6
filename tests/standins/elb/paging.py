# SPDX-License-Identifier: Apache-2.0
"""Pages of lists; a marker is opaque to clients, and holds the place where the next page begins."""

from __future__ import annotations

import base64
from typing import Any, Callable


def page(items: list[Any], marker: str | None, size: int, wrong: Callable[[str], Exception]) -> tuple[list[Any], str | None]:
    """The items of a page, and the next marker."""
    start = 0
    if marker:
        try:
            kind, _, number = base64.b64decode(marker, validate=True).decode().partition(":")
            start = int(number)
        except ValueError:
            kind = ""
        if kind != "at":
            raise wrong(f"the marker {marker!r} is not valid")
    end = start + size
    return items[start:end], base64.b64encode(f"at:{end}".encode()).decode() if end < len(items) else None
