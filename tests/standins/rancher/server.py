# SPDX-License-Identifier: Apache-2.0
"""Puts the parts together: one simulated Rancher server with its hosts, its network and its two HTTP
faces."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import socket
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from standins.kube.public import Access

from .accounts import Accounts, Key
from .agent import Agent
from .api import Api
from .behaviour import Behaviour
from .dataplane import DataPlane
from .deployment import Deployment, NoDataPlane
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

log = logging.getLogger(__name__)

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


@dataclass
class Options:
    listen: str = "127.0.0.1"
    port: int = 0
    control_socket: str | None = None
    hosts: int = 2
    port_offset: int = 0
    dataplane: bool = True
    run_directory: str | None = None
    access_key: str | None = None
    secret_key: str | None = None
    cluster: Access | None = None
    agent_interval: float = 0.3


class Listener:
    """The API's listening socket, which can be closed and opened again without losing its port."""

    def __init__(self, host: str, port: int):
        # A bound socket that does not listen keeps the port; connections to it are refused.
        self._reserved = self._bound(host, port)
        self.address = self._reserved.getsockname()
        self._server: asyncio.AbstractServer | None = None
        self._factory: web.Server | None = None

    @staticmethod
    def _bound(host: str, port: int) -> socket.socket:
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        return bound

    async def open(self, factory: web.Server) -> None:
        if self._server is None:
            self._factory = factory
            listening = self._bound(self.address[0], self.address[1])
            self._server = await asyncio.get_running_loop().create_server(factory, sock=listening, backlog=512)

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
        self._reserved.close()


class Standin:
    """The simulated server. `start` and `stop` may be called once each."""

    def __init__(self, options: Options):
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
        self.builder = SpecBuilder(self.store, options.port_offset)
        self.dataplane = None
        if options.dataplane:
            self.dataplane = DataPlane(self.store, self.behaviour, self.builder, options.run_directory)
        self.deployment = Deployment(self.store, self.behaviour, self.scheduler, self.network,
                                     self.dataplane or NoDataPlane())
        self.processes = Processes(self.store, self.behaviour, self.engine, self.deployment)
        self.operations = Operations(self.store, self.engine, self.deployment, self.processes)
        self.kubernetes = KubernetesRows(self.store, self.engine, PROJECT)
        self.seeding = Seeding(self.store, self.operations.rules, self.kubernetes, self.network, PROJECT)
        self.accounts = Accounts(self.store, PROJECT)
        renderer = Renderer(self.store)
        self.subscriptions = Subscriptions(self.store, self.behaviour, renderer)
        self.api = Api(self.store, self.behaviour, self.accounts, self.operations, renderer,
                       self.subscriptions,
                       self.faults, self.journal)
        self.agent = Agent(self.kubernetes, options.cluster, options.agent_interval) if options.cluster else None
        self.listener = Listener(options.listen, options.port)

    # Life

    async def start(self) -> None:
        self._first_rows()
        await self.api_up()
        if self.agent is not None:
            self.agent.start()

    async def stop(self) -> None:
        if self.agent is not None:
            await self.agent.stop()
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
        """Accept connections and requests, and never answer."""
        self.api.black_hole = self.api.black_hole or asyncio.Event()

    # What tests ask

    @property
    def base(self) -> str:
        return f"http://{self.listener.address[0]}:{self.listener.address[1]}"

    def settled(self) -> bool:
        """No process is running, no container is being replaced, every HAProxy is up to date."""
        return self.engine.idle() and not self.deployment.busy() \
            and not (self.dataplane is not None and self.dataplane.busy())

    def balancer(self, ident: str) -> Row:
        """A load balancer by id or name."""
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

    def traffic(self, balancer: Row) -> list[dict[str, Any]]:
        """Where a balancer really listens, container by container."""
        found = []
        for container in self.deployment.of(balancer):
            if container.state == "running":
                found += [{"address": address, "port": real, "publicPort": port.public,
                           "privatePort": port.private,
                           "hostId": container["hostId"], "instanceId": container.id}
                          for port, address, real in self.builder.listening(container)]
        return found

    # Inside

    def _first_rows(self) -> None:
        if self.store.get("project", PROJECT) is None:
            self.store.add("project", {**_PROJECT, "name": "Default"}, row_id=PROJECT)
            for _ in range(self.options.hosts):
                self.add_host()
            for name, value in _SETTINGS.items():
                setting_row(self.store, name, value)
        if self.options.access_key:
            self.accounts.add(Key(self.options.access_key, self.options.secret_key or "", "environment", PROJECT))
        else:
            self.accounts.new("environment", PROJECT)



async def serve_control(application: web.Application, options: Options) -> tuple[web.AppRunner, str]:
    """Open the control socket. Returns its path."""
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    assert options.control_socket is not None
    with contextlib.suppress(FileNotFoundError):
        os.unlink(options.control_socket)
    await web.UnixSite(runner, options.control_socket).start()
    os.chmod(options.control_socket, 0o600)
    return runner, options.control_socket
