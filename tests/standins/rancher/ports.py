# SPDX-License-Identifier: Apache-2.0
"""Port specifications of a launchConfig: `[ip:]public[:private][/protocol]`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PortSpec:
    ip: str | None
    public: int
    private: int
    protocol: str

    @property
    def slot(self) -> tuple[str | None, int, str]:
        """What excludes another port on the same host. As in the real allocator, a port with a bind address
        and one without do not exclude each other."""
        return (self.ip, self.public, self.protocol)

    def __str__(self) -> str:
        address = f"{self.ip}:" if self.ip else ""
        return f"{address}{self.public}:{self.private}/{self.protocol}"


def parse(text: str) -> PortSpec:
    """The specification that a text stands for; every text here is one."""
    rest, _, protocol = text.partition("/")
    parts = rest.split(":")
    ip = parts.pop(0) if "." in parts[0] else None
    return PortSpec(ip, int(parts[0]), int(parts[-1]), protocol.lower() or "tcp")


def parse_all(texts: list[str] | None) -> list[PortSpec]:
    """All specifications, each (ip, public port, protocol) once."""
    seen: dict[tuple, PortSpec] = {}
    for text in texts or []:
        spec = parse(text)
        seen.setdefault(spec.slot, spec)
    return list(seen.values())
