# SPDX-License-Identifier: Apache-2.0
"""The answer to an HTTP request, whoever has sent it."""
from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    status: int
    headers: dict[str, str]  # names in lower case; values of the same name are joined by a comma
    body: bytes
    certificate: bytes | None = None  # that the server has shown, in DER
    trailers: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def read(response: http.client.HTTPResponse) -> Answer:
    """Reads the body, too."""
    headers = {name.lower(): response.getheader(name, "") for name in response.headers}
    return Answer(response.status, headers, response.read())
