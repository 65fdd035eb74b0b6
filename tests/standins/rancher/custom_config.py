# SPDX-License-Identifier: Apache-2.0
"""Merges a balancer's custom configuration text into the generated one, by the rules of Rancher's LB image.

Sections `global` and `defaults` replace generated options of the same name; `frontend <port>` and `backend
<name>` go into the generated section of that name; a bare `backend` goes into every backend; `server $IP ...`
in a backend adds to every generated server line. Sections that match no generated one are not needed here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

_DIRECTIVES = ("backend", "frontend", "global", "defaults", "listen", "userlist", "peers", "mailers")
_SERVER = "server $IP"


@dataclass
class Custom:
    """A parsed text: lines by section, and the options of generated server lines by section."""

    sections: dict[str, list[str]] = field(default_factory=dict)
    servers: dict[str, list[str]] = field(default_factory=dict)

    def lines(self, section: str) -> list[str]:
        return self.sections.get(section, [])

    def server_options(self, backend: str) -> str:
        return "\n    ".join(option.strip() for option in self.servers.get(f"backend {backend}", []))


def parse(text: str | None) -> Custom:
    custom = Custom()
    section = ""
    for raw in (text or "").split("\n"):
        line = raw.strip()
        first, _, rest = line.partition(" ")
        if not first:
            continue
        if line.startswith(_SERVER):
            custom.servers.setdefault(section, []).append(line[len(_SERVER):])
        elif first.lower() in _DIRECTIVES:
            section = f"{first} {rest.strip()}".strip()
        else:
            custom.sections.setdefault(section, []).append(line)
    return custom


def merged(own: list[str], generated: Mapping[str, str]) -> list[str]:
    """Lines of a section: the custom ones, then those generated options that no custom line replaces."""
    kept = {name: value for name, value in generated.items()
            if not any(line.startswith(name + " ") for line in own)}
    return own + sorted(f"{name} {value}".strip() for name, value in kept.items())
