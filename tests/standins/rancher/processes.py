# SPDX-License-Identifier: Apache-2.0
"""What each process of a row's life does, apart from changing its state."""

from __future__ import annotations

import asyncio
from typing import Any

from . import ports, schema
from .behaviour import Behaviour
from .deployment import Deployment
from .engine import Engine
from .store import Row, Store, rule_targets


class Processes:
    def __init__(self, store: Store, behaviour: Behaviour, engine: Engine, deployment: Deployment):
        self.store = store
        self.behaviour = behaviour
        self.engine = engine
        self.deployment = deployment
        for process in ("create", "activate", "update", "deactivate", "remove"):
            engine.on("service", process, getattr(self, "service_" + process))
        engine.after("service", "create", self.service_created)
        engine.on("stack", "remove", self.stack_remove)

    # Services

    async def service_create(self, service: Row) -> None:
        launch = service["launchConfig"]
        if launch and launch.get("ports"):
            service["launchConfig"] = {**launch, "ports": [str(p) for p in ports.parse_all(launch["ports"])]}
        self.relink(service)

    def service_created(self, service: Row) -> None:
        service["healthState"] = "unhealthy"
        self.store.touch(service)
        if service["startOnCreate"]:
            self.engine.start(service, "activate")

    async def service_activate(self, service: Row) -> None:
        await self.deployment.reconcile(service)
        self._count(service)

    async def service_update(self, service: Row) -> None:
        self.relink(service)
        if service.state != "updating-inactive":
            await self.service_activate(service)

    async def service_deactivate(self, service: Row) -> None:
        await self.deployment.deactivate(service)

    async def service_remove(self, service: Row) -> None:
        await self.deployment.remove_all(service)
        self.strip_rules(service)

    def relink(self, service: Row) -> None:
        if service.type != "loadBalancerService":
            return
        linked: dict[str, str] = {}
        for target_id in sorted(rule_targets(service)):
            target = self.store.get("service", target_id)
            if target is not None:
                linked[self._path(service, target)] = target_id
        if (service["linkedServices"] or {}) != linked:
            service["linkedServices"] = linked or None
            self.store.touch(service)

    def strip_rules(self, target: Row) -> None:
        """A service goes: every load balancer loses the rules that point at it and is updated."""
        for balancer in self.store.find("lb_by_target", target.id):
            config = balancer["lbConfig"]
            rules = [self._all_keys("portRule", r) for r in config["portRules"] if r.get("serviceId") != target.id]
            balancer["lbConfig"] = {**self._all_keys("lbConfig", config), "portRules": rules}
            self.store.touch(balancer)
            self.relink(balancer)
            if self.engine.allowed(balancer, "update"):
                self.engine.start(balancer, "update")

    # Stacks

    async def stack_remove(self, stack: Row) -> None:
        for service in self.store.find("service_by_stack", stack.id):
            if service.state != "removing":
                self.engine.start(service, "remove")
        # A stack is not gone before its services are.
        while self.store.find("service_by_stack", stack.id):
            await asyncio.sleep(0.01)

    # Inside

    @staticmethod
    def _all_keys(type_: str, value: dict[str, Any]) -> dict[str, Any]:
        # What the server rewrites itself has every key, with nulls.
        return {"type": type_, **{key: value.get(key) for key in schema.NESTED[type_].fields}}

    def _path(self, service: Row, target: Row) -> str:
        stack = self.store.get("stack", target["stackId"])
        if stack is None or stack.id == service["stackId"]:
            return target.name
        return f"{stack.name}/{target.name}"

    def _count(self, service: Row) -> None:
        service["currentScale"] = len(self.deployment.of(service))
        self.store.touch(service)
