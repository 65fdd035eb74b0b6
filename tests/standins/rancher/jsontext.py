# SPDX-License-Identifier: Apache-2.0
"""JSON as the server writes it: UTF-8 as it is, and a slash in a string always escaped."""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> str:
    # A slash can only stand inside a string in JSON text, so replacing it in the text is exact.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("/", "\\/")
