# SPDX-License-Identifier: Apache-2.0
"""The control side: what tests tell the stand-in, and what they ask it."""

from __future__ import annotations

import asyncio
from typing import Any

from ..commands import Commands
from .kubernetes_rows import Pod, selector_text
from .resources import Renderer, Urls, setting_row
from .seeding import STACK_EXTERNAL_ID, STACK_NAME
from .server import PROJECT, Standin
from .store import Row


class Control(Commands):
    def __init__(self, standin: Standin):
        self.standin = standin
        self.store = standin.store
        self.renderer = Renderer(standin.store)

    # Reading

    def do_info(self) -> dict[str, Any]:
        """Where everything is: URLs, keys, hosts."""
        standin = self.standin
        key = next(iter(standin.accounts.keys.values()))
        return {"url": f"{standin.base}/v2-beta", "base": standin.base, "project": PROJECT,
                "access_key": key.access, "secret_key": key.secret,
                "hosts": [{"id": h.id, "address": h["agentIpAddress"], "state": h.state,
                           "labels": h["labels"]}
                          for h in self.store.live("host")]}

    def do_rows(self, type: str, removed: bool = False) -> list[dict[str, Any]]:
        """Rows of a type (or of all kinds of a table) as an administrator sees them; with keys of
        certificates."""
        rows = self.store.tables.get(type) or self.store.types.get(type) or {}
        return [self._show(r) for r in list(rows.values()) if removed or r.live]

    def do_forget_requests(self) -> None:
        self.standin.journal.reset()

    def do_requests(self, **wanted: Any) -> list[dict[str, Any]]:
        """The request log: entries with the given method, type, id, name, action, status..."""
        return self.standin.journal.find(**wanted)

    def do_traffic(self, lb: str) -> list[tuple[str, int]]:
        return self.standin.traffic(self.standin.balancer(lb))

    def do_configuration(self, lb: str) -> str:
        """What the first HAProxy of a balancer runs with."""
        container = self.standin.deployment.of(self.standin.balancer(lb))[0]
        return self.standin.dataplane.proxies[container.id].text

    async def do_settle(self, timeout: float) -> None:
        """Wait until nothing goes on any more (processes that fail and retry do not count)."""
        deadline = asyncio.get_running_loop().time() + timeout
        while not self.standin.settled():
            if asyncio.get_running_loop().time() > deadline:
                raise ValueError("the stand-in did not come to rest")
            await asyncio.sleep(0.01)

    # Behaviour and faults

    def do_configure(self, **changes: Any) -> None:
        self.standin.behaviour.configure(changes)
        self.standin.engine.wake()

    def do_fault(self, **spec: Any) -> int:
        """Inject a fault; see faults.py for scope and effects. Answers its number."""
        return self.standin.faults.add(spec).number

    def do_clear_faults(self, number: int | None = None) -> None:
        self.standin.faults.clear(number)

    async def do_api(self, state: str) -> None:
        """`down`: connections are refused; `black-hole`: accepted, never answered; `up`: back to work."""
        if state == "down":
            await self.standin.api_down()
        elif state == "black-hole":
            self.standin.api_black_hole()
        else:
            await self.standin.api_up()

    async def do_restart(self, down: float) -> None:
        """The server dies, stays away for `down` seconds and takes up its work again. Balancers go on."""
        await self.standin.restart(down)

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

    def do_rotate_key(self) -> dict[str, Any]:
        """Replace the first key: the old one is answered 401 from now on."""
        key = self.standin.accounts.rotate(next(iter(self.standin.accounts.keys)))
        return {"access_key": key.access, "secret_key": key.secret}

    def do_add_key(self, role: str) -> dict[str, Any]:
        key = self.standin.accounts.new(role, PROJECT)
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

    def do_forget_row(self, id: str) -> None:
        """Drop a row from the database: it answers 404 from now on."""
        self.store.drop(self._row(id))

    def do_add_stack(self, name: str = STACK_NAME, external_id: str | None = STACK_EXTERNAL_ID) -> dict[str, Any]:
        """A stack made by somebody else, for example of the same name with another externalId."""
        return self._show(self.store.add_stack(name, external_id, PROJECT))

    # Hosts

    def do_add_host(self) -> dict[str, Any]:
        row = self.standin.add_host()
        self.standin.deployment.hosts_changed()
        return self._show(row)

    async def do_fail_host(self, host: str) -> None:
        """The host is dead: its balancers stop at once and are replaced after host_failure_delay."""
        row = self.standin.host(host)
        row["state"] = "reconnecting"
        self.store.touch(row)
        await self.standin.deployment.host_lost(row)

    def do_deactivate_host(self, host: str) -> None:
        """No new containers on this host; those that are there stay."""
        row = self.standin.host(host)
        row["state"] = "inactive"
        self.store.touch(row)

    def do_hold_port(self, port: int, host: str) -> None:
        """Somebody else publishes a port on a host."""
        row = self.standin.host(host)
        row.internal["heldPorts"] = [*row.internal.get("heldPorts", []), f"{port}:{port}/tcp"]

    def do_release_port(self, port: int, host: str) -> None:
        self.standin.host(host).internal["heldPorts"].remove(f"{port}:{port}/tcp")

    async def do_move(self, lb: str, host: str) -> None:
        """Put a container of a balancer on another host; the old one goes after the new one is published."""
        row = self.standin.balancer(lb)
        await self.standin.deployment.move(row, self.standin.deployment.of(row)[0], self.standin.host(host))

    # Kubernetes

    def do_set_service(self, uid: str, name: str, namespace: str = "default",
                       vip: str | None = None, at_once: bool = False) -> dict[str, Any]:
        """Create or update a kubernetesService, as after an event from kubernetes-agent."""
        text = selector_text({"app": name}, namespace)
        row = self.standin.kubernetes.upsert(uid, name, namespace, None, text, vip, None, at_once)
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
        self.standin.kubernetes.set_pods(row, [Pod(p) if isinstance(p, str) else Pod(**p) for p in pods])
        return {"service": row.id}

    # Seeding

    async def do_seed_balancers(self, items: list[dict[str, Any]]) -> list[str]:
        """Balancers as the Go controller left them, active and running."""
        return await self._start_seeded(self.standin.seeding.balancers(items))

    async def do_seed(self, count: int) -> list[str]:
        return await self._start_seeded(self.standin.seeding.bulk(count))

    # Inside

    async def _start_seeded(self, rows: list[Row]) -> list[str]:
        if self.standin.dataplane is not None:
            for row in rows:
                for container in self.standin.deployment.of(row):
                    await self.standin.dataplane.start(container)
        return [row.id for row in rows]

    def _row(self, ident: str) -> Row:
        row = self.store.by_any_id(ident)
        if row is None:
            raise ValueError(f"there is no row {ident!r}")
        return row

    def _show(self, row: Row) -> dict[str, Any]:
        urls = Urls(self.standin.base, PROJECT)
        return self.renderer.resource(row, urls, "admin")
