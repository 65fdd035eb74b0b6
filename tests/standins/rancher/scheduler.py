# SPDX-License-Identifier: Apache-2.0
"""Chooses hosts for containers: scheduling labels, published ports, spreading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from . import ports
from .behaviour import Behaviour
from .ports import PortSpec
from .store import Row, Store

GLOBAL = "io.rancher.scheduler.global"
_AFFINITY = "io.rancher.scheduler.affinity:"
_OPERATORS = ("_soft_ne", "_soft", "_ne", "")


class AllocationFailed(Exception):
    """No host fits. `needs` says what a fitting host would have to offer."""

    def __init__(self, needs: list[str], ports_wanted: list[PortSpec]):
        super().__init__(", ".join(needs))
        self.needs = needs
        self.ports_wanted = ports_wanted


@dataclass(frozen=True)
class Constraint:
    subject: str      # host_label, container_label or container
    operator: str     # "", "_ne", "_soft", "_soft_ne"
    key: str
    value: str

    @property
    def hard(self) -> bool:
        return not self.operator.startswith("_soft")

    def matches(self, store: Store, host: Row) -> bool:
        return self._present(store, host) != self.operator.endswith("_ne")

    def _present(self, store: Store, host: Row) -> bool:
        if self.subject == "host_label":
            return (host["labels"] or {}).get(self.key) == self.value
        containers = store.find("instance_by_host", host.id)
        if self.subject == "container":
            return any(self.value in (c.name, c["uuid"]) for c in containers)
        return any((c["labels"] or {}).get(self.key) == self.value for c in containers)

    def __str__(self) -> str:
        if self.subject == "host_label":
            return f"needs host with label {self.key}{self.operator}: {self.value}"
        has = "not have" if self.operator.endswith("_ne") else "have"
        must = "must" if self.hard else "should"
        return f"host {must} {has} a container with label {self.key}={self.value}"


def constraints(labels: dict[str, Any] | None) -> list[Constraint]:
    """The affinity rules in a load balancer's labels."""
    found: list[Constraint] = []
    for label, text in (labels or {}).items():
        if not label.startswith(_AFFINITY):
            continue
        subject = label[len(_AFFINITY):]
        operator = next(op for op in _OPERATORS if subject.endswith(op))
        subject = subject[:len(subject) - len(operator)] if operator else subject
        if subject not in ("host_label", "container_label", "container"):
            continue
        for item in str(text).split(","):
            key, _, value = item.strip().partition("=")
            if subject == "container":
                key, value = "", key
            found.append(Constraint(subject, operator, key, value))
    return found


def labels_of(service: Row) -> dict[str, Any]:
    return (service["launchConfig"] or {}).get("labels") or {}


def is_global(service: Row) -> bool:
    return str(labels_of(service).get(GLOBAL, "")).lower() == "true"


def wanted_ports(service: Row) -> list[PortSpec]:
    return ports.parse_all((service["launchConfig"] or {}).get("ports"))


class Scheduler:
    def __init__(self, store: Store, behaviour: Behaviour | None = None):
        self.store = store
        self.behaviour = behaviour or Behaviour()

    def active_hosts(self, project: str | None) -> list[Row]:
        return [h for h in self.store.live("host") if h.state == "active" and h["accountId"] == project]

    def matching_hosts(self, service: Row) -> list[Row]:
        """Active hosts that satisfy the hard label rules, without a look at ports."""
        rules = [c for c in constraints(labels_of(service)) if c.hard]
        return [h for h in self.active_hosts(service["accountId"])
                if all(c.matches(self.store, h) for c in rules)]

    def pick(self, service: Row, hosts: Iterable[Row] | None = None) -> Row:
        """The best host for one more container of a service; raises AllocationFailed."""
        wanted = wanted_ports(service)
        candidates = self.matching_hosts(service) if hosts is None else list(hosts)
        if not candidates:
            unmet = [str(c) for c in constraints(labels_of(service)) if c.hard]
            raise AllocationFailed(unmet or ["no host is available"], wanted)
        free = [h for h in candidates if not self.taken(h, wanted)]
        if not free:
            needs = ", ".join(f"{p.public}/{p.protocol}" for p in wanted)
            raise AllocationFailed([f"host needs ports {needs} available"], wanted)
        soft = [c for c in constraints(labels_of(service)) if not c.hard]
        return min(free, key=lambda h: (sum(not c.matches(self.store, h) for c in soft),
                                        self._load(h), h.num))

    def taken(self, host: Row, wanted: Iterable[PortSpec], apart_from: str | None = None) -> list[PortSpec]:
        """Those of the wanted ports that something on the host already publishes."""
        if self.behaviour.shared_ports:
            return []
        held = {ports.parse(text).slot for text in host.internal.get("heldPorts", [])}
        return [p for p in wanted if p.slot in held or any(
            c.id != apart_from for c in self.store.find("instance_by_slot", (host.id, *p.slot)))]

    def _load(self, host: Row) -> int:
        return self.store.count("balancer_by_host", host.id)
