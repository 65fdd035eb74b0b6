# SPDX-License-Identifier: Apache-2.0
"""How the stand-in behaves; every setting can be changed at any time (command `configure`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

QUOTAS = {
    "application-load-balancers": 50, "network-load-balancers": 50, "target-groups": 3000,
    "listeners-per-application-load-balancer": 50, "listeners-per-network-load-balancer": 50,
    "rules-per-application-load-balancer": 100, "certificates-per-application-load-balancer": 25,
    "certificates-per-network-load-balancer": 25, "target-groups-per-application-load-balancer": 100,
    "target-groups-per-action-on-application-load-balancer": 5, "target-groups-per-action-on-network-load-balancer": 1,
    "targets-per-application-load-balancer": 1000, "targets-per-network-load-balancer": 3000,
    "targets-per-availability-zone-per-network-load-balancer": 500, "targets-per-target-group": 1000,
    "condition-values-per-alb-rule": 5, "condition-wildcards-per-alb-rule": 5,
    # DescribeAccountLimits tells none of these, nor of certificates.
    "imported-certificates": 2500, "security-groups": 2500, "rules-per-security-group": 60,
}
NOT_TOLD = ("certificates-per-application-load-balancer", "certificates-per-network-load-balancer", "targets-per-target-group", "imported-certificates",
            "security-groups", "rules-per-security-group")
KINDS = ("balancer", "listener", "rule", "group", "security-group", "certificate")


@dataclass
class Settings:
    # States. A balancer is provisioning for so many reads and so many seconds; "told": until `set-state`.
    provisioning_polls: int = 1
    provisioning_s: float = 0.0
    provisioning_told: bool = False
    # A target is initial for so many reads of its health and so many seconds.
    initial_polls: int = 0
    initial_s: float = 0.0
    draining_s: float | None = 0.5  # None: what the group's attribute says
    # Seconds that a thing still counts as used after its last use has ended.
    group_release_s: float = 0.0
    certificate_release_s: float = 0.0
    security_group_release_s: float = 0.0
    # Reads that do not find what has just been created, by kind.
    hidden_reads: dict[str, int] = field(default_factory=dict)
    tagging_lag_s: float = 0.0
    page_max: int = 400
    policy: list[dict[str, Any]] | None = None  # statements of what callers may do; None: everything
    denies_unknown: bool = False  # a write to what is not there is refused by a policy that asks for its tags
    quotas: dict[str, int] = field(default_factory=lambda: dict(QUOTAS))
    # Conditions and forward actions are answered in both forms, or in that of their Config members only.
    answer_both_forms: bool = True
    tags_are_settings: bool = True  # a create with other tags than the first one is no repetition
    unknown_group_deletes: bool = True  # DeleteTargetGroup of what is not there succeeds
    skew_s: float = 0.0  # what signatures are compared with is so far ahead
    session_s: float = 3600.0  # life of temporary credentials
    # Traffic.
    strips_port: bool = False  # from the Host header, before it is compared
    regex_ignores_case: bool = True  # of host names
    initial_serves: bool = False  # targets get requests while all of them are initial

    def configure(self, changes: dict[str, Any]) -> None:
        """Raises ValueError for a setting that does not exist. Quotas are changed one by one."""
        known = {f.name for f in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"there is no setting {name}")
            if name == "quotas":
                if value.keys() - QUOTAS.keys():
                    raise ValueError(f"unknown quotas {sorted(value.keys() - QUOTAS.keys())}")
                value = {**self.quotas, **value}
            if name == "hidden_reads" and value.keys() - set(KINDS):
                raise ValueError(f"hidden_reads knows {', '.join(KINDS)}")
            setattr(self, name, value)

    def told(self) -> dict[str, Any]:
        return asdict(self)
