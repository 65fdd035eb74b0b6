# SPDX-License-Identifier: Apache-2.0
"""What a given Kubernetes release serves and how it behaves where releases differ.

Sources: the prerelease-lifecycle markers of kubernetes/api, the feature gate tables of
kubernetes/apiserver, and "Kubernetes API concepts".
"""

from __future__ import annotations

from dataclasses import dataclass

from .resources import RESOURCES, Served

MINOR_MIN, MINOR_MAX = 16, 37


@dataclass(frozen=True)
class Profile:
    minor: int

    @classmethod
    def parse(cls, text: str) -> Profile:
        """Reads "1.N"."""
        major, _, minor = text.partition(".")
        if major != "1" or not minor.isdigit() or not MINOR_MIN <= int(minor) <= MINOR_MAX:
            raise ValueError(f"profile {text!r} is not one of 1.{MINOR_MIN} to 1.{MINOR_MAX}")
        return cls(int(minor))

    def served(self) -> list[Served]:
        """All resources that this release serves, in every group version."""
        return [
            served for resource in RESOURCES for served in resource.served if served.served_by(self.minor)
        ]

    @property
    def streaming_lists(self) -> str:
        """ignored: parameters unknown; no-gate: the match parameter is refused; off: the gate is off; on."""
        if self.minor <= 18:
            return "ignored"
        if self.minor <= 26:
            return "no-gate"
        return "on" if self.minor == 32 or self.minor >= 34 else "off"

    @property
    def managed_fields(self) -> bool:
        return self.minor >= 18

    @property
    def status_ports(self) -> bool:
        """Addresses in a status have ports; older servers drop them."""
        return self.minor >= 20

    @property
    def openapi_v3(self) -> bool:
        return self.minor >= 24

    @property
    def ip_mode(self) -> bool:
        """Service status entries get ipMode VIP."""
        return self.minor >= 30

    @property
    def status_only_of_balancers(self) -> bool:
        """Service status addresses are refused on other types than LoadBalancer."""
        return self.minor >= 29

    @property
    def sorted_cache(self) -> bool:
        """Lists that the watch cache answers are in the order of names; before, in none."""
        return self.minor >= 27

    @property
    def null_creation_timestamp(self) -> bool:
        """Objects that were never created show "creationTimestamp": null."""
        return self.minor < 34

    def version(self) -> dict[str, str]:
        return {"major": "1", "minor": str(self.minor), "gitVersion": f"v1.{self.minor}.0"}
