# SPDX-License-Identifier: Apache-2.0
"""Port specifications of a launchConfig: `[ip:]public[:private][/protocol]`."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from .errors import ApiError, invalid


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


_MESSAGES = {
    "PortWrongFormat": "the specified port spec format is wrong",
    "PortInvalidPublicPort": "incorrect public port, valid range is 0-65535",
    "PortInvalidPrivatePort": "incorrect private port, valid range is 0-65535",
    "PortInvalidProtocol": "invalid protocol, only tcp/udp is allowed",
}


def _refused(code: str) -> ApiError:
    return invalid(code, None, _MESSAGES[code])


def _number(text: str, code: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise _refused("PortWrongFormat")
    if not 1 <= int(text) <= 65535:
        raise _refused(code)
    return int(text)


def parse(text: str) -> PortSpec:
    """Raises the server's own codes: PortWrongFormat, PortInvalidPublicPort and so on."""
    rest, slash, protocol = text.partition("/")
    protocol = protocol.lower() if slash else "tcp"
    if protocol not in ("tcp", "udp"):
        raise _refused("PortInvalidProtocol")
    parts = rest.split(":")
    ip = None
    if len(parts) > 1 and "." in parts[0]:
        ip = parts.pop(0)
        try:
            ipaddress.IPv4Address(ip)
        except ValueError:
            raise _refused("PortWrongFormat") from None
    if len(parts) not in (1, 2) or not all(parts):
        raise _refused("PortWrongFormat")
    private = _number(parts[-1], "PortInvalidPrivatePort")
    public = _number(parts[0], "PortInvalidPublicPort") if len(parts) == 2 else private
    return PortSpec(ip, public, private, protocol)


def parse_all(texts: list[str] | None) -> list[PortSpec]:
    """All specifications, each (ip, public port, protocol) once."""
    seen: dict[tuple, PortSpec] = {}
    for text in texts or []:
        spec = parse(text)
        seen.setdefault(spec.slot, spec)
    return list(seen.values())
