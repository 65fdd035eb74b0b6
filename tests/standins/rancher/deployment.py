# SPDX-License-Identifier: Apache-2.0
"""Makes the containers of a service agree with its scale, its ports and the hosts, and publishes its
endpoints."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import defaultdict
from typing import Any

from . import scheduler as scheduling
from .behaviour import Behaviour
from .engine import ProcessFailed
from .network import Network
from .ports import PortSpec
from .scheduler import AllocationFailed, Scheduler
from .store import Row, Store, now_ms

log = logging.getLogger(__name__)

RUNS_NOWHERE = "docker:rancher/none"   # such a balancer's endpoints are written by its owner
_UP = ("starting", "running")
_LOST_HOST = ("reconnecting", "disconnected", "removed", "removing")


class StartFailed(Exception):
    """A container did not come up, for example because an address is in use."""


class Containers:
    """Containers that exist on paper only; a data plane has real ones. Starting and stopping are repeatable."""

    async def start(self, container: Row) -> None:
        pass

    async def stop(self, container: Row, graceful: bool = True) -> None:
        pass

    async def ports_changed(self, container: Row) -> None:
        pass


class Deployment:
    def __init__(self, store: Store, behaviour: Behaviour, scheduler: Scheduler, network: Network,
                 containers: Containers):
        self.store = store
        self.behaviour = behaviour
        self.scheduler = scheduler
        self.network = network
        self.containers = containers
        # A service's process and its repair after a lost host must not place containers at the same time.
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._repairs: dict[str, asyncio.Task] = {}

    # What a service has

    def of(self, service: Row) -> list[Row]:
        """All containers of a service, oldest first, without those that are on their way out."""
        found = [c for c in self.store.find("instance_by_service", service.id)
                 if not c.internal.get("pod") and not c.internal.get("leaving")]
        return sorted(found, key=lambda c: c.num)

    # Processes

    async def reconcile(self, service: Row) -> None:
        """One attempt; raises ProcessFailed when something could not be placed or started."""
        async with self._locks[service.id]:
            await self._reconcile(service)

    async def deactivate(self, service: Row) -> None:
        async with self._locks[service.id]:
            for container in self.of(service):
                await self._halt(container)
            self.refresh(service)

    async def remove_all(self, service: Row) -> None:
        async with self._locks[service.id]:
            for container in self.store.find("instance_by_service", service.id):
                if not container.internal.get("pod"):
                    await self.remove(container)
            service["instanceIds"] = []
            self.store.touch(service)
        self._locks.pop(service.id, None)

    async def remove(self, container: Row, graceful: bool = True) -> None:
        if not container.live:
            return
        container["state"] = "stopping"
        self.store.touch(container)
        await self.containers.stop(container, graceful)
        container.fields.update(state="removed", removed=now_ms(), healthState=None, ports=[])
        self.store.touch(container)

    async def move(self, service: Row, container: Row, host: Row) -> None:
        """Put a container on another host. The old one goes after the new one is published."""
        if self.scheduler.taken(host, scheduling.wanted_ports(service)):
            raise ValueError(f"{host.id} has a port of {service.name} in use")
        async with self._locks[service.id]:
            await self._create(service, host)
            container.internal["leaving"] = True
            self.store.touch(container)
            self.refresh(service)
            await self.remove(container)

    # Hosts that come and go

    def hosts_changed(self, after: float = 0.0) -> None:
        """Give every running load balancer the chance to follow: global ones and those that lost a
        container."""
        for service in self.store.live("loadBalancerService"):
            if service.state == "active" and service.id not in self._repairs:
                task = asyncio.get_running_loop().create_task(self._repair(service, after))
                self._repairs[service.id] = task

    async def host_lost(self, host: Row) -> None:
        """Everything on the host is dead at once; the rows follow when the loss is noticed."""
        for container in self.store.find("instance_by_host", host.id):
            await self.containers.stop(container, graceful=False)
            container["healthState"] = "unhealthy"
            self.store.touch(container)
        self.hosts_changed(self.behaviour.host_failure_delay)

    def busy(self) -> bool:
        return bool(self._repairs)

    async def stop(self) -> None:
        tasks = list(self._repairs.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._repairs.clear()

    # Endpoints and health

    def refresh(self, service: Row) -> None:
        containers = self.of(service)
        changes = {"instanceIds": [c.id for c in containers],
                   "healthState": self._health(service, containers)}
        if any(service[name] != value for name, value in changes.items()):
            service.fields.update(changes)
            self.store.touch(service)
        self.publish(service)

    def publish(self, service: Row) -> None:
        if not service.live or (service["launchConfig"] or {}).get("imageUuid") == RUNS_NOWHERE:
            return
        if "endpoints" in service.internal:
            wanted = service.internal["endpoints"]["value"]
        else:
            wanted = self._endpoints(service)
            if wanted == [] and service["publicEndpoints"] is None:
                return
            # The stored list is renewed only when addresses or ports differ; ids in it may be stale.
            if self._pairs(service["publicEndpoints"]) == self._pairs(wanted):
                return
        if service["publicEndpoints"] != wanted:
            service["publicEndpoints"] = wanted
            self.store.touch(service)

    def _endpoints(self, service: Row) -> list[dict[str, Any]]:
        found = []
        for container in self.of(service):
            host = self.store.get("host", container["hostId"])
            if container.state != "running" or host is None:
                continue
            for port in self.ports_of(container):
                found.append({"type": "publicEndpoint", "ipAddress": self.public_address(host, port),
                              "port": port.public, "serviceId": service.id, "hostId": host.id,
                              "instanceId": container.id})
        return found

    @staticmethod
    def ports_of(container: Row) -> list[PortSpec]:
        return scheduling.ports.parse_all(container["ports"])

    @staticmethod
    def public_address(host: Row, port: PortSpec) -> str:
        return port.ip if port.ip and port.ip != "0.0.0.0" else host["agentIpAddress"]

    @staticmethod
    def _pairs(endpoints: list[dict[str, Any]] | None) -> set[tuple[str, int]] | None:
        return None if endpoints is None else {(e["ipAddress"], e["port"]) for e in endpoints}

    def _health(self, service: Row, containers: list[Row]) -> str | None:
        if service.state in ("inactive", "updating-inactive"):
            return "unhealthy"
        if service.state in ("requested", "registering"):
            return "healthy"
        states = [c["healthState"] for c in containers]
        if not states:
            return "healthy" if service.state == "active" else "initializing"
        if all(s == "healthy" for s in states):
            return "healthy"
        if any(s == "healthy" for s in states):
            return "degraded"
        return "initializing" if "initializing" in states else "unhealthy"

    # Inside

    async def _reconcile(self, service: Row) -> None:
        if service.type != "loadBalancerService":
            return
        try:
            await self._drop_lost(service)
            await self._wake_stopped(service)
            await self._update_ports(service)
            if not self.scheduler.active_hosts(service["accountId"]):
                return
            if scheduling.is_global(service):
                await self._reconcile_global(service)
            else:
                await self._reconcile_scale(service)
        finally:
            self.refresh(service)

    async def _drop_lost(self, service: Row) -> None:
        for container in self.of(service):
            host = self.store.get("host", container["hostId"])
            if host is None or not host.live or host.state in _LOST_HOST or container.state == "error":
                await self.remove(container, graceful=False)

    async def _wake_stopped(self, service: Row) -> None:
        for container in self.of(service):
            # The last two are what an interrupted process leaves: nobody else works on the container now.
            if container.state not in ("stopped", "starting", "stopping"):
                continue
            host = self.store.get("host", container["hostId"])
            if host is None or self.scheduler.taken(host, scheduling.wanted_ports(service), container.id):
                await self.remove(container)
            else:
                await self._boot(service, container)

    async def _update_ports(self, service: Row) -> None:
        """Published ports change in place, on the containers that are there."""
        wanted = scheduling.wanted_ports(service)
        texts = [str(p) for p in wanted]
        for container in self.of(service):
            host = self.store.get("host", container["hostId"])
            if host is None or container.state not in _UP or container["ports"] == texts:
                continue
            taken = self.scheduler.taken(host, wanted, container.id)
            if taken:
                needs = f"host needs ports {self._list(taken)} available"
                raise ProcessFailed(self._conflict(container.id, [needs]))
            before = container["ports"]
            container["ports"] = texts
            self.store.touch(container)
            try:
                await self.containers.ports_changed(container)
            except StartFailed as reason:
                container["ports"] = before
                self.store.touch(container)
                message = f"Failed to update instance [container:{container.id}]: {reason}"
                raise ProcessFailed(message) from None

    async def _reconcile_global(self, service: Row) -> None:
        hosts = {h.id: h for h in self.scheduler.matching_hosts(service)}
        present = set()
        for container in self.of(service):
            if container["hostId"] in present:
                await self.remove(container)
            present.add(container["hostId"])
        problems = []
        for host_id, host in hosts.items():
            if host_id not in present:
                try:
                    await self._place(service, [host])
                except ProcessFailed as problem:
                    problems.append(str(problem))
        if problems:
            raise ProcessFailed(problems[0])

    async def _reconcile_scale(self, service: Row) -> None:
        wanted = int(service["scale"] or 0)
        containers = self.of(service)
        for container in containers[wanted:]:
            await self.remove(container)
        for _ in range(wanted - len(containers)):
            await self._place(service, None)

    async def _place(self, service: Row, hosts: list[Row] | None) -> None:
        try:
            host = self.scheduler.pick(service, hosts)
        except AllocationFailed as failure:
            # The server makes the container row first and finds no host for it afterwards: an id is used up.
            container_id, _ = self.store.next_id("instance")
            raise ProcessFailed(self._conflict(container_id, failure.needs)) from None
        await self._create(service, host)

    async def _create(self, service: Row, host: Row) -> Row:
        stack = self.store.get("stack", service["stackId"])
        launch = service["launchConfig"] or {}
        index = (service["createIndex"] or 0) + 1
        service["createIndex"] = index
        container = self.store.add("container", {
            "name": f"{stack.name if stack else 'stack'}-{service.name}-{index}", "kind": "container",
            "accountId": service["accountId"], "state": "starting", "transitioning": "yes", "hostId": host.id,
            "imageUuid": launch.get("imageUuid"), "labels": dict(launch.get("labels") or {}),
            "ports": [str(p) for p in scheduling.wanted_ports(service)], "serviceIds": [service.id],
            "createIndex": index, "healthState": "initializing", "startCount": 0, "system": False,
            "deploymentUnitUuid": str(uuid.uuid4()),
            "primaryIpAddress": self.network.container_address(self.store.indexes["instance_by_ip"]),
        })
        await self._boot(service, container)
        return container

    async def _boot(self, service: Row, container: Row) -> None:
        container.fields.update(state="starting", transitioning="yes", healthState="initializing",
                                ports=[str(p) for p in scheduling.wanted_ports(service)])
        self.store.touch(container)
        try:
            await self.containers.start(container)
        except StartFailed as reason:
            container.fields.update(state="error", transitioning="error", transitioningMessage=str(reason))
            self.store.touch(container)
            message = f"Bad instance [container:{container.id}] in state [error]: {reason}"
            await self.remove(container, graceful=False)
            raise ProcessFailed(f"Failed to start instance [container:{container.id}]: {message}") from None
        container.fields.update(state="running", transitioning="no", transitioningMessage=None,
                                healthState="healthy" if self.behaviour.health_checks else "initializing",
                                startCount=(container["startCount"] or 0) + 1)
        self.store.touch(container)

    async def _halt(self, container: Row) -> None:
        container["state"] = "stopping"
        self.store.touch(container)
        await self.containers.stop(container)
        container.fields.update(state="stopped", healthState=None)
        self.store.touch(container)

    async def _repair(self, service: Row, after: float) -> None:
        """Reconcile without a visible change of state, again and again until it works."""
        try:
            await asyncio.sleep(after)
            while service.live and service.state == "active":
                try:
                    await self.reconcile(service)
                    return
                except ProcessFailed as problem:
                    log.info("%s: %s", service.name, problem)
                    await asyncio.sleep(self.behaviour.retry_wait)
        finally:
            self._repairs.pop(service.id, None)

    @staticmethod
    def _list(specs: list[PortSpec]) -> str:
        return ", ".join(f"{p.public}/{p.protocol}" for p in specs)

    def _conflict(self, container_id: str, needs: list[str]) -> str:
        instance = f"instance [container:{container_id}]"
        return f"Failed to allocate {instance}: Bad {instance} in state [error]: Allocation failed: {', '.join(needs)}"
