# SPDX-License-Identifier: Apache-2.0
"""The rules for services beyond those of single fields, in the order in which the server checks them."""

from __future__ import annotations

import re
from typing import Any

from . import scheduler
from .errors import invalid
from .store import Row, Store
from .validation import check_name

HEALTH_PORT = 42
_ROLE = "io.rancher.container.agent.role"
_HEALTH_CHECK = {
    "type": "instanceHealthCheck", "name": None, "port": HEALTH_PORT, "interval": 2000, "responseTimeout": 2000,
    "healthyThreshold": 2, "unhealthyThreshold": 3, "initializingTimeout": 60000,
    "reinitializingTimeout": 60000, "recreateOnQuorumStrategyConfig": None, "requestLine": None, "strategy": None,
}


class ServiceRules:
    def __init__(self, store: Store):
        self.store = store

    def create(self, type_: str, fields: dict[str, Any]) -> None:
        """Check a new service's cleaned fields and fill in what the server adds."""
        self._stack_state(fields.get("stackId"))
        self._name(fields.get("name"), fields["stackId"], None)
        launch = fields.get("launchConfig")
        if launch is not None:
            launch.pop("name", None)
            self._image(launch)
        self._reserved_port(fields)
        if type_ == "loadBalancerService":
            self.fill_in(launch)
        self._port_rules(fields.get("lbConfig"))

    def update(self, row: Row, changes: dict[str, Any]) -> None:
        if "name" in changes:
            self._name(changes["name"], row["stackId"], row)
        if changes.get("launchConfig") is not None:
            self._global_switch(row, changes["launchConfig"])
        self._reserved_port(changes)
        self._port_rules(changes.get("lbConfig"))

    def fill_in(self, launch: dict[str, Any]) -> None:
        """Labels and health check that the server adds at creation and upgrade, and never again on PUT."""
        labels = dict(launch.get("labels") or {})
        if _ROLE not in labels:
            labels[_ROLE] = "environmentAdmin"
            labels["io.rancher.container.create_agent"] = "true"
        if self._drains(launch.get("imageUuid") or ""):
            labels[_ROLE] = "environmentAdmin,agent"
            labels["io.rancher.container.create_agent"] = "true"
            labels["io.rancher.container.agent_service.drain_provider"] = "true"
        launch["labels"] = labels
        launch["healthCheck"] = dict(_HEALTH_CHECK)

    # Single rules

    def _stack_state(self, stack_id: str | None) -> None:
        stack = self.store.get("stack", stack_id) if stack_id else None
        if stack is None or stack.state in ("removing", "removed", "error", "erroring"):
            raise invalid("InvalidState", "stackId", "stack is not in a valid state")

    def _name(self, name: Any, stack_id: str, own: Row | None) -> None:
        if name is None:
            raise invalid("MissingRequired", "name")
        check_name(name)
        self.store.check_unused("service_by_name", (stack_id, name.lower()), own)

    @staticmethod
    def _image(launch: dict[str, Any]) -> None:
        image = launch.get("imageUuid")
        if image is not None and not image.startswith("docker:"):
            raise invalid("InvalidReference", "imageUuid")

    @staticmethod
    def _reserved_port(fields: dict[str, Any]) -> None:
        for rule in (fields.get("lbConfig") or {}).get("portRules") or []:
            if rule["sourcePort"] == HEALTH_PORT:
                raise invalid("InvalidOption", f"Port {HEALTH_PORT} is reserved for service health check")

    @staticmethod
    def _global_switch(row: Row, launch: dict[str, Any]) -> None:
        future = str((launch.get("labels") or {}).get(scheduler.GLOBAL, "")).lower() == "true"
        if future != scheduler.is_global(row):
            raise invalid("InvalidOption", "Switching from global scale to fixed (and vice versa)")

    def _port_rules(self, config: dict[str, Any] | None) -> None:
        for rule in (config or {}).get("portRules") or []:
            if not rule.get("serviceId") and not rule.get("selector"):
                raise invalid("MissingRequired", "serviceId")
            if rule.get("serviceId") and rule.get("targetPort") is None:
                raise invalid("MissingRequired", "targetPort")

    def _drains(self, image: str) -> bool:
        """The configured LB image, of a version that can drain (0.7.12 or later)."""
        setting = self.store.get("setting", "lb.instance.image")
        if setting is None or not setting["value"]:
            return False
        repository, _, tag = image.removeprefix("docker:").rpartition(":")
        version = re.match(r"v?(\d+)\.(\d+)\.(\d+)", tag)
        same = repository == setting["value"].rpartition(":")[0]
        return bool(same and version and tuple(map(int, version.groups())) >= (0, 7, 12))
