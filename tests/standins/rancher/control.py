# SPDX-License-Identifier: Apache-2.0
"""The control side: what tests tell the stand-in, and what they ask it.

`POST /<command>` with a JSON object as arguments; the answer is JSON. `GET /` lists the commands. An error is
status 400 with {"error": text}.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from typing import Any, Callable

from aiohttp import web

from .accounts import Key
from .deployment import StartFailed
from .errors import ApiError
from .kubernetes_rows import Pod, selector_text
from .resources import Renderer, Urls, setting_row
from .seeding import STACK_EXTERNAL_ID, STACK_NAME
from .server import PROJECT, Standin
from .store import Row, TABLES

log = logging.getLogger(__name__)


class Control:
    """Every method whose name begins with `do_` is a command; its keyword arguments are the command's."""

    def __init__(self, standin: Standin):
        self.standin = standin
        self.store = standin.store
        self.renderer = Renderer(standin.store)

    def application(self) -> web.Application:
        application = web.Application(client_max_size=256 * 1024 * 1024)
        application.router.add_post("/{command}", self._command)
        return application

    # Reading

    def do_info(self) -> dict[str, Any]:
        """Where everything is: URLs, keys, hosts."""
        standin = self.standin
        key = next(iter(standin.accounts.keys.values()))
        return {"url": f"{standin.base}/v2-beta", "base": standin.base, "project": PROJECT,
                "access_key": key.access,
                "secret_key": key.secret, "network": standin.network.prefix,
                "port_offset": standin.options.port_offset,
                "hosts": [{"id": h.id, "address": h["agentIpAddress"], "state": h.state,
                           "labels": h["labels"]}
                          for h in self.store.live("host")]}

    def do_rows(self, type: str, removed: bool = False) -> list[dict[str, Any]]:
        """Rows of a type (or of all kinds of a table) as an administrator sees them; with keys of
        certificates."""
        if type not in TABLES:
            raise ValueError(f"type must be one of {', '.join(sorted(TABLES))}")
        rows = self.store.tables.get(type) or self.store.types.get(type) or {}
        return [self._show(r) for r in list(rows.values()) if removed or r.live]

    def do_forget_requests(self) -> dict[str, Any]:
        """Begin to log requests anew."""
        self.standin.journal.reset()
        return {}

    def do_requests(self, since: int = 0, limit: int | None = None, **wanted: Any) -> list[dict[str, Any]]:
        """The request log: entries after number `since` with the given method, type, id, name, action,
        status..."""
        return self.standin.journal.find(since, limit, **wanted)

    def do_traffic(self, lb: str) -> list[dict[str, Any]]:
        """Where a balancer really listens."""
        return self.standin.traffic(self.standin.balancer(lb))

    def do_proxies(self, lb: str) -> list[dict[str, Any]]:
        """The HAProxies of a balancer: process id, configuration text, what was refused."""
        plane = self.standin.dataplane
        if plane is None:
            return []
        return [{"instanceId": c.id, **plane.describe(c)} for c in
                self.standin.deployment.of(self.standin.balancer(lb))]

    async def do_settle(self, timeout: float = 10.0) -> dict[str, Any]:
        """Wait until nothing goes on any more (processes that fail and retry do not count)."""
        deadline = asyncio.get_running_loop().time() + timeout
        while not self.standin.settled():
            if asyncio.get_running_loop().time() > deadline:
                return {"settled": False}
            await asyncio.sleep(0.01)
        return {"settled": True}

    # Behaviour and faults

    def do_configure(self, **changes: Any) -> dict[str, Any]:
        """Change delays, limits and intervals; without arguments: show them."""
        settings = self.standin.behaviour.configure(changes)
        self.standin.engine.wake()
        return settings

    def do_fault(self, **spec: Any) -> dict[str, Any]:
        """Inject a fault; see faults.py for scope and effects. Answers its number."""
        return {"number": self.standin.faults.add(spec).number}

    def do_clear_faults(self, number: int | None = None) -> dict[str, Any]:
        """End one fault, or all."""
        return {"cleared": self.standin.faults.clear(number)}

    async def do_api(self, state: str) -> dict[str, Any]:
        """`down`: connections are refused; `black-hole`: accepted, never answered; `up`: back to work."""
        if state == "down":
            await self.standin.api_down()
        elif state == "black-hole":
            self.standin.api_black_hole()
        elif state == "up":
            await self.standin.api_up()
        else:
            raise ValueError("state must be up, down or black-hole")
        return {}

    async def do_restart(self, down: float = 0.0) -> dict[str, Any]:
        """The server dies, stays away for `down` seconds and takes up its work again. Balancers go on."""
        await self.standin.restart(down)
        return {}

    # Subscriptions

    async def do_websocket(self, mode: str | None = None, cut: bool = False, logout: bool = False) -> dict[str, Any]:
        """Set the mode of subscriptions, cut them, or log them out."""
        subscriptions = self.standin.subscriptions
        if mode is not None:
            subscriptions.set_mode(mode)
        if logout:
            await subscriptions.logout()
        if cut:
            subscriptions.cut()
        return subscriptions.describe()

    # Keys, projects, settings

    def do_rotate_key(self, access_key: str | None = None) -> dict[str, Any]:
        """Replace a key (the first): the old one is answered 401 from now on."""
        access = access_key or next(iter(self.standin.accounts.keys))
        key = self.standin.accounts.rotate(access)
        return {"access_key": key.access, "secret_key": key.secret}

    def do_add_key(self, role: str = "environment", project: str | None = PROJECT, agent: bool = True,
                   access_key: str | None = None, secret_key: str | None = None) -> dict[str, Any]:
        """A further key; project null makes an account key, which sees all projects in role admin."""
        if access_key is not None:
            key = self.standin.accounts.add(Key(access_key, secret_key or "", role, project, agent))
        else:
            key = self.standin.accounts.new(role, project, agent)
        return {"access_key": key.access, "secret_key": key.secret}

    def do_set_setting(self, name: str, value: str | None) -> dict[str, Any]:
        """Change a setting; null removes it."""
        row = self.store.get("setting", name)
        if value is not None:
            setting_row(self.store, name, value)
        elif row is not None:
            self.store.drop(row)
        return {}

    # Rows changed behind the API's back

    def do_set_fields(self, id: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Overwrite fields of a row in place, as in the database: a stale `transitioning: error`, a state, a
        name."""
        row = self._row(id)
        row.fields.update(fields)
        self.store.touch(row)
        return self._show(row)

    def do_set_endpoints(self, lb: str, value: Any = None, normal: bool = False) -> dict[str, Any]:
        """Pin publicEndpoints to null, [] or any list; `normal`: back to what is true."""
        row = self.standin.balancer(lb)
        if normal:
            row.internal.pop("endpoints", None)
        else:
            row.internal["endpoints"] = {"value": value}
        self.standin.deployment.publish(row)
        return self._show(row)

    def do_set_fqdn(self, lb: str, fqdn: str | None) -> dict[str, Any]:
        """What external-dns does: store a name and schedule an update of the service."""
        row = self.standin.balancer(lb)
        row["fqdn"] = fqdn
        self.store.touch(row)
        if self.standin.engine.allowed(row, "update"):
            self.standin.engine.start(row, "update")
        return self._show(row)

    def do_remove_row(self, id: str) -> dict[str, Any]:
        """Remove a stack, service or certificate as somebody in the UI would, whatever its state."""
        row = self._row(id)
        self.standin.engine.start(row, "remove")
        return self._show(row)

    def do_forget_row(self, id: str) -> dict[str, Any]:
        """Drop a row from the database: it answers 404 from now on."""
        self.store.drop(self._row(id))
        return {}

    def do_add_stack(self, name: str = STACK_NAME, external_id: str | None = STACK_EXTERNAL_ID,
                     system: bool = False, state: str = "active") -> dict[str, Any]:
        """A stack made by somebody else, for example of the same name with another externalId."""
        return self._show(self.store.add("stack", {
            "name": name, "externalId": external_id, "kind": "stack", "accountId": PROJECT, "state": state,
            "transitioning": "no", "system": system, "startOnCreate": False}))

    # Hosts

    def do_add_host(self) -> dict[str, Any]:
        """A new active host."""
        row = self.standin.add_host()
        self.standin.deployment.hosts_changed()
        return self._show(row)

    async def do_fail_host(self, host: str) -> dict[str, Any]:
        """The host is dead: its balancers stop at once and are replaced after host_failure_delay."""
        row = self.standin.host(host)
        row["state"] = "reconnecting"
        self.store.touch(row)
        await self.standin.deployment.host_lost(row)
        return {}

    def do_deactivate_host(self, host: str) -> dict[str, Any]:
        """No new containers on this host; those that are there stay."""
        row = self.standin.host(host)
        row["state"] = "inactive"
        self.store.touch(row)
        return {}

    def do_hold_port(self, port: int, host: str | None = None, protocol: str = "tcp") -> dict[str, Any]:
        """Somebody else publishes a port, on one host or on all."""
        return self._held(host, f"{port}:{port}/{protocol}", True)

    def do_release_port(self, port: int, host: str | None = None, protocol: str = "tcp") -> dict[str, Any]:
        """The port is free again."""
        return self._held(host, f"{port}:{port}/{protocol}", False)

    async def do_move(self, lb: str, host: str, overlap: float = 1.0) -> dict[str, Any]:
        """Put a container of a balancer on another host; the old one goes `overlap` seconds after the new one is
        published."""
        row = self.standin.balancer(lb)
        containers = self.standin.deployment.of(row)
        if not containers:
            raise ValueError("there is no such container")
        return self._show(await self.standin.deployment.move(row, containers[0], self.standin.host(host), overlap))

    # Kubernetes

    def do_set_service(self, uid: str, name: str, namespace: str = "default",
                       namespace_uid: str | None = None,
                       selector: dict[str, str] | None = None, vip: str | None = None,
                       at_once: bool = False) -> dict[str, Any]:
        """Create or update a kubernetesService, as after an event from kubernetes-agent."""
        text = selector_text(selector if selector is not None else {"app": name}, namespace)
        row = self.standin.kubernetes.upsert(uid, name, namespace, namespace_uid, text, vip, None, at_once)
        return self._show(row) if row is not None else {}

    def do_remove_service(self, uid: str) -> dict[str, Any]:
        """The Service is gone: its row is removed, and its rules from all balancers."""
        return {"removed": self.standin.kubernetes.remove(uid)}

    def do_set_pods(self, pods: list[Any], uid: str) -> dict[str, Any]:
        """The pods of a kubernetesService: a list of IPs or of {ip, host, state, ports}, where ports maps a
        container port to the real address behind it."""
        row = self.standin.kubernetes.find(uid)
        if row is None:
            raise ValueError("there is no such kubernetesService")
        self.standin.kubernetes.set_pods(row, [Pod.parse(p) for p in pods])
        return {"service": row.id}

    # Seeding

    async def do_seed_balancers(self, items: list[dict[str, Any]]) -> list[str]:
        """Balancers as the Go controller left them, active and running."""
        return await self._start_seeded(self.standin.seeding.balancers(items))

    async def do_seed(self, count: int) -> list[str]:
        """`count` Services with an adopted balancer each."""
        return await self._start_seeded(self.standin.seeding.bulk(count))

    # Inside

    async def _start_seeded(self, rows: list[Row]) -> list[str]:
        if self.standin.dataplane is not None:
            for row in rows:
                for container in self.standin.deployment.of(row):
                    await self.standin.dataplane.start(container)
        return [row.id for row in rows]

    def _held(self, host: str | None, text: str, held: bool) -> dict[str, Any]:
        rows = [self.standin.host(host)] if host else list(self.store.live("host"))
        for row in rows:
            ports = [p for p in row.internal.get("heldPorts", []) if p != text]
            row.internal["heldPorts"] = [*ports, text] if held else ports
            self.store.touch(row, announce=False)
        return {"hosts": [row.id for row in rows]}

    def _row(self, ident: str) -> Row:
        row = self.store.by_any_id(ident)
        if row is None:
            raise ValueError(f"there is no row {ident!r}")
        return row

    def _show(self, row: Row) -> dict[str, Any]:
        urls = Urls(self.standin.base, PROJECT)
        return self.renderer.resource(row, urls, "admin")

    async def _command(self, request: web.Request) -> web.Response:
        name = request.match_info["command"].replace("-", "_")
        method: Callable[..., Any] | None = getattr(self, f"do_{name}", None)
        if method is None:
            return web.json_response({"error": f"no such command: {name}"}, status=404)
        try:
            arguments = json.loads(await request.read() or b"{}")
            result = method(**arguments)
            if inspect.isawaitable(result):
                result = await result
        except Exception as problem:
            if not isinstance(problem, (ValueError, TypeError, KeyError, StartFailed, ApiError)):
                log.exception("command %s", name)
            return web.json_response({"error": f"{type(problem).__name__}: {problem}"}, status=400)
        return web.json_response(result)
