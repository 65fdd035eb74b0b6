# SPDX-License-Identifier: Apache-2.0
"""Chooses hosts for containers: scheduling labels, published ports, spreading."""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple

from . import ports
from .behaviour import Behaviour
from .ports import PortSpec
from .store import Row, Store

GLOBAL = "io.rancher.scheduler.global"
_AFFINITY = "io.rancher.scheduler.affinity:host_label"
_OPERATORS = ("", "_ne", "_soft", "_soft_ne")


class AllocationFailed(Exception):
    """No host fits. `needs` says what a fitting host would have to offer."""

    def __init__(self, needs: list[str]):
        super().__init__(", ".join(needs))
        self.needs = needs


class Constraint(NamedTuple):
    label: tuple[str, str]
    is_wanted: bool
    is_hard: bool

    def matches(self, host: Row) -> bool:
        key, value = self.label
        return ((host["labels"] or {}).get(key) == value) is self.is_wanted

    def __str__(self) -> str:
        return f"needs host with label {'' if self.is_wanted else '_ne '}{': '.join(self.label)}"


def constraints(labels: dict[str, Any] | None) -> list[Constraint]:
    """The affinity rules in a load balancer's labels, as far as they are about labels of hosts."""
    found: list[Constraint] = []
    for label, text in (labels or {}).items():
        operator = label.removeprefix(_AFFINITY)
        if operator in _OPERATORS:
            pairs = [item.strip().partition("=") for item in str(text).split(",")]
            found += [Constraint((key, value), "_ne" not in operator, "soft" not in operator) for key, _, value in pairs]
    return found


def labels_of(service: Row) -> dict[str, Any]:
    return (service["launchConfig"] or {}).get("labels") or {}


def is_global(service: Row) -> bool:
    return str(labels_of(service).get(GLOBAL, "")).lower() == "true"


def wanted_ports(service: Row) -> list[PortSpec]:
    return ports.parse_all((service["launchConfig"] or {}).get("ports"))


class Scheduler:
    def __init__(self, store: Store, behaviour: Behaviour):
        self.store = store
        self.behaviour = behaviour

    def active_hosts(self, project: str | None) -> list[Row]:
        return [h for h in self.store.live("host") if h.state == "active" and h["accountId"] == project]

    def matching_hosts(self, service: Row) -> list[Row]:
        """Active hosts that satisfy the hard label rules, without a look at ports."""
        rules = [c for c in constraints(labels_of(service)) if c.is_hard]
        return [h for h in self.active_hosts(service["accountId"]) if all(c.matches(h) for c in rules)]

    def pick(self, service: Row, hosts: Iterable[Row] | None = None) -> Row:
        """The best host for one more container of a service; raises AllocationFailed."""
        wanted = wanted_ports(service)
        candidates = self.matching_hosts(service) if hosts is None else list(hosts)
        if not candidates:
            unmet = [str(c) for c in constraints(labels_of(service)) if c.is_hard]
            raise AllocationFailed(unmet or ["no host is available"])
        free = [h for h in candidates if not self.taken(h, wanted)]
        if not free:
            needs = ", ".join(f"{p.public}/{p.protocol}" for p in wanted)
            raise AllocationFailed([f"host needs ports {needs} available"])
        soft = [c for c in constraints(labels_of(service)) if not c.is_hard]
        return min(free, key=lambda h: (sum(not c.matches(h) for c in soft), self.store.count("balancer_by_host", h.id), h.num))

    def taken(self, host: Row, wanted: Iterable[PortSpec], apart_from: str | None = None) -> list[PortSpec]:
        """Those of the wanted ports that something on the host already publishes."""
        if self.behaviour.shared_ports:
            return []
        held = {ports.parse(text).slot for text in host.internal.get("heldPorts", [])}
        return [p for p in wanted if p.slot in held or any(
            c.id != apart_from for c in self.store.find("instance_by_slot", (host.id, *p.slot)))]
