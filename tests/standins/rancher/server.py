# SPDX-License-Identifier: Apache-2.0
"""Puts the parts together: one simulated Rancher server with its hosts, its network and its two HTTP
faces."""

from __future__ import annotations

import argparse
import asyncio
import shutil

from aiohttp import web

from standins.kube.public import Access

from ..listener import ReservedPort
from .accounts import Accounts, Key
from .agent import Agent
from .api import Api
from .behaviour import Behaviour
from .dataplane import DataPlane
from .deployment import Containers, Deployment
from .engine import Engine
from .faults import Faults
from .journal import Journal
from .kubernetes_rows import KubernetesRows
from .lb_spec import SpecBuilder
from .network import claim
from .operations import Operations
from .processes import Processes
from .resources import Renderer, setting_row
from .scheduler import Scheduler
from .seeding import Seeding
from .store import Row, Store
from .subscribe import Subscriptions

PROJECT = "1a5"
_PROJECT = {
    "kind": "project", "state": "active", "transitioning": "no", "orchestration": "kubernetes", "version": "2", "healthState": "healthy",
    "defaultNetworkId": "1n1", "virtualMachine": False,
    "servicesPortRange": {"type": "servicesPortRange", "startPort": 49153, "endPort": 65535},
}
_SETTINGS = {
    "lb.instance.image": "rancher/lb-service-haproxy:v0.9.14",
    "api.host": "", "catalog.url": '{"catalogs":{}}', "rancher.server.version": "v1.6.30",
    "rancher.compose.version": "v0.12.5", "cattle.version": "v0.183.83",
}


class Listener:
    """The API's listening socket, which can be closed and opened again without losing its port."""

    def __init__(self, host: str, port: int):
        self._port = ReservedPort(host, port)
        self.url = f"http://{host}:{self._port.number}"
        self._server: asyncio.AbstractServer | None = None
        self._factory: web.Server | None = None

    async def open(self, factory: web.Server) -> None:
        if self._server is None:
            self._factory = factory
            self._server = await asyncio.get_running_loop().create_server(factory, sock=self._port.socket(), backlog=512)

    async def close(self) -> None:
        """Refuse connections from now on and reset those that are there."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._factory is not None:
            for connection in list(self._factory.connections):
                transport = connection.transport
                if transport is not None:
                    transport.abort()

    def forget(self) -> None:
        self._port.release()


class Standin:
    """The simulated server. `start` and `stop` may be called once each."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        if options.dataplane and shutil.which("haproxy") is None:
            raise ValueError("haproxy is not installed (or use --no-dataplane)")
        self.behaviour = Behaviour()
        self.store = Store()
        self.network = claim()
        self.journal = Journal()
        self.faults = Faults()
        self.engine = Engine(self.store, self.behaviour)
        self.scheduler = Scheduler(self.store, self.behaviour)
        self.builder = SpecBuilder(self.store)
        self.dataplane = DataPlane(self.store, self.behaviour, self.builder, options.directory) if options.dataplane else None
        self.deployment = Deployment(self.store, self.behaviour, self.scheduler, self.network,
                                     self.dataplane or Containers())
        self.processes = Processes(self.store, self.behaviour, self.engine, self.deployment)
        self.operations = Operations(self.store, self.engine, self.deployment, self.processes)
        self.kubernetes = KubernetesRows(self.store, self.engine, PROJECT)
        self.seeding = Seeding(self.store, self.operations.rules, self.kubernetes, self.network, PROJECT)
        self.accounts = Accounts(self.store, PROJECT)
        renderer = Renderer(self.store)
        self.subscriptions = Subscriptions(self.store, self.behaviour, renderer)
        self.api = Api(self.store, self.accounts, self.operations, renderer, self.subscriptions, self.faults, self.journal)
        self.listener = Listener(options.listen, options.port)

    # Life

    async def start(self) -> None:
        self._first_rows()
        await self.api_up()
        if self.options.kubeconfig is not None:
            Agent(self.kubernetes, Access(self.options.kubeconfig), self.options.agent_interval).start()

    async def stop(self) -> None:
        await self.api_down()
        self.listener.forget()
        self.faults.clear()
        await self.subscriptions.stop()
        await self.deployment.stop()
        await self.engine.stop()
        if self.dataplane is not None:
            await self.dataplane.close()
        self.network.close()

    async def restart(self, down: float = 0.0) -> None:
        """As if the server process had died and come back: connections and processes end, rows and load balancers stay."""
        await self.api_down()
        await self.subscriptions.stop()
        await self.deployment.stop()
        await self.engine.stop()
        await asyncio.sleep(down)
        self.engine.resume()
        await self.api_up()

    async def api_up(self) -> None:
        if self.api.black_hole is not None:
            self.api.black_hole.set()
            self.api.black_hole = None
        await self.listener.open(web.Server(self.api.handle, request_factory=self.api.make_request,
                                            access_log=None))

    async def api_down(self) -> None:
        await self.listener.close()

    def api_black_hole(self) -> None:
        self.api.black_hole = self.api.black_hole or asyncio.Event()

    # What tests ask

    @property
    def base(self) -> str:
        return self.listener.url

    def settled(self) -> bool:
        """No process is running, no container is being replaced, every HAProxy is up to date."""
        return self.engine.idle() and not self.deployment.busy() \
            and not (self.dataplane is not None and self.dataplane.busy())

    def balancer(self, ident: str) -> Row:
        row = self.store.get("service", ident)
        if row is not None:
            return row
        for row in self.store.live("loadBalancerService"):
            if row.name == ident:
                return row
        raise ValueError(f"there is no load balancer {ident!r}")

    def host(self, ident: str) -> Row:
        for row in self.store.live("host"):
            if ident in (row.id, row.name, row["agentIpAddress"]):
                return row
        raise ValueError(f"there is no host {ident!r}")

    def add_host(self) -> Row:
        row_id, num = self.store.next_id("host")
        return self.store.add("host", {
            "name": f"host-{num}", "hostname": f"host-{num}", "kind": "docker", "accountId": PROJECT,
            "state": "active", "transitioning": "no", "agentState": None, "labels": {},
            "agentIpAddress": self.network.host_address(num)}, row_id=row_id)

    def traffic(self, balancer: Row) -> list[tuple[str, int]]:
        containers = [c for c in self.deployment.of(balancer) if c.state == "running"]
        return [(address, port.public) for c in containers for port, address in self.builder.listening(c)]

    # Inside

    def _first_rows(self) -> None:
        self.store.add("project", {**_PROJECT, "name": "Default"}, row_id=PROJECT)
        for _ in range(self.options.hosts):
            self.add_host()
        for name, value in _SETTINGS.items():
            setting_row(self.store, name, value)
        if self.options.access_key:
            self.accounts.add(Key(self.options.access_key, self.options.secret_key or "", "environment", PROJECT))
        else:
            self.accounts.new("environment", PROJECT)
