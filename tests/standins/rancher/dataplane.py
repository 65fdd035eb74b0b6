# SPDX-License-Identifier: Apache-2.0
"""The containers for real: one HAProxy for each running LB container, kept up to date with the rows."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from . import haproxy_config
from .behaviour import Behaviour
from .deployment import StartFailed
from .haproxy_config import Paths
from .haproxy_process import HaproxyProcess
from .lb_spec import SpecBuilder
from .store import Row, Store

log = logging.getLogger(__name__)

_RELOADS_AT_ONCE = 4
# Certificates do not count: a balancer notices a new one only when something else has changed.
_METADATA = ("service", "instance", "stack", "host")


@dataclass
class _Proxy:
    process: HaproxyProcess
    # Text (with neutral paths) and certificates: in force, and the last that HAProxy did not accept.
    applied: tuple[str, dict[str, str]] | None = None
    refused: tuple[str, dict[str, str]] | None = None


class DataPlane:
    def __init__(self, store: Store, behaviour: Behaviour, builder: SpecBuilder, directory: str | None = None):
        self.store = store
        self.behaviour = behaviour
        self.builder = builder
        self._own_directory = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix="rancher-lb-")
        self.proxies: dict[str, _Proxy] = {}
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._slots = asyncio.Semaphore(_RELOADS_AT_ONCE)
        self._poll: asyncio.Task | None = None
        self._stale = False
        self._closed = False
        store.listeners.append(self._row_changed)

    # What the deployment asks for

    async def start(self, container: Row) -> None:
        """Start the container's HAProxy; raises StartFailed. Not undone by a cancellation of the caller."""
        await asyncio.shield(self._start(container))

    async def stop(self, container: Row, graceful: bool = True) -> None:
        await asyncio.shield(self._stop(container, graceful))

    async def ports_changed(self, container: Row) -> None:
        """Published ports are a matter of the host, not of the metadata: they change without the poll's
        delay."""
        async with self._locks[container.id]:
            proxy = self.proxies.get(container.id)
            if proxy is not None and not await self._apply(container, proxy):
                raise StartFailed("the published ports could not be changed")

    async def settle(self) -> None:
        """Wait until every HAProxy has what the rows say."""
        while self.busy():
            await asyncio.sleep(0.01)

    def busy(self) -> bool:
        return self._poll is not None

    async def close(self) -> None:
        self._closed = True
        if self._poll is not None:
            self._poll.cancel()
        await asyncio.gather(*(proxy.process.stop(graceful=False) for proxy in self.proxies.values()))
        self.proxies.clear()
        if self._own_directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def describe(self, container: Row) -> dict[str, Any]:
        """The state of a container's HAProxy, for tests."""
        proxy = self.proxies.get(container.id)
        if proxy is None:
            return {"running": False}
        with open(proxy.process.config_path, encoding="utf-8") as file:
            config = file.read()
        return {"running": proxy.process.running, "pid": proxy.process.pid, "reloads": proxy.process.reloads,
                "rejected": proxy.process.rejected if proxy.refused else None, "config": config,
                "directory": proxy.process.directory}

    # Metadata

    def _row_changed(self, row: Row) -> None:
        if row.table in _METADATA and self.proxies:
            self._metadata_changed()

    def _metadata_changed(self) -> None:
        self._stale = True
        if self._poll is None and not self._closed:
            self._poll = asyncio.get_running_loop().create_task(self._update())

    async def _update(self) -> None:
        """What the containers do when their poll sees a new version of the metadata."""
        try:
            while self._stale:
                await asyncio.sleep(self.behaviour.metadata_poll)
                self._stale = False
                await asyncio.gather(*(self._update_one(container_id) for container_id in list(self.proxies)))
        except Exception:  # a defect of the stand-in must be seen
            log.exception("updating the balancers")
        finally:
            self._poll = None

    async def _update_one(self, container_id: str) -> None:
        async with self._slots, self._locks[container_id]:
            container = self.store.get("instance", container_id)
            proxy = self.proxies.get(container_id)
            if container is not None and proxy is not None and proxy.process.running:
                await self._apply(container, proxy)

    # Inside

    async def _start(self, container: Row) -> None:
        async with self._locks[container.id]:
            if container.id in self.proxies and self.proxies[container.id].process.running:
                return
            directory = os.path.join(self.directory, container.id)
            os.makedirs(directory, mode=0o700, exist_ok=True)
            proxy = _Proxy(HaproxyProcess(directory))
            wanted = await self._check(container, proxy)
            if wanted is None:
                # The container runs even so; it serves nothing until it is given something that HAProxy
                # accepts.
                await self._check_idle(container, proxy)
            await proxy.process.start()
            proxy.applied = wanted
            proxy.process.on_exit = lambda: self._exited(container.id)
            self.proxies[container.id] = proxy
            self._metadata_changed()  # rows may have changed while it started

    async def _stop(self, container: Row, graceful: bool) -> None:
        async with self._locks[container.id]:
            proxy = self.proxies.pop(container.id, None)
            if proxy is not None:
                await proxy.process.stop(graceful)
                shutil.rmtree(proxy.process.directory, ignore_errors=True)

    async def _apply(self, container: Row, proxy: _Proxy) -> bool:
        """Go over to the wanted configuration. False when a configuration in good order could not be
        loaded."""
        service = self._service(container)
        if service is None or self._wanted(container, service) in (proxy.applied, proxy.refused):
            return True
        wanted = await self._check(container, proxy)
        if wanted is None:
            log.info("%s: refused: %s", container.name, proxy.process.rejected)
            return True
        try:
            await proxy.process.reload()
        except (asyncio.TimeoutError, StartFailed):
            log.error("%s: reload failed", container.name)
            return False
        proxy.applied = wanted
        return True

    async def _check(self, container: Row, proxy: _Proxy) -> tuple[str, dict[str, str]] | None:
        """Have the wanted configuration judged; None when HAProxy refuses it."""
        service = self._service(container)
        if service is None:
            return None
        wanted = self._wanted(container, service)
        spec = self.builder.build(container, service)
        text = haproxy_config.render(spec, self._paths(proxy.process))
        if await proxy.process.check(text, wanted[1]) is not None:
            proxy.refused = wanted
            return None
        proxy.refused = None
        return wanted

    async def _check_idle(self, container: Row, proxy: _Proxy) -> None:
        service = self._service(container)
        if service is None:
            raise StartFailed("the service is gone")
        refusal = proxy.process.rejected
        spec = self.builder.build(container, service)
        problem = await proxy.process.check(haproxy_config.idle(spec, self._paths(proxy.process)), {})
        if problem is not None:
            raise StartFailed(problem)
        proxy.process.rejected = refusal

    def _wanted(self, container: Row, service: Row) -> tuple[str, dict[str, str]]:
        spec = self.builder.build(container, service)
        return (haproxy_config.render(spec, Paths("certs", "stats")), self.builder.certificates(service))

    @staticmethod
    def _paths(process: HaproxyProcess) -> Paths:
        return Paths(process.certificate_directory(), process.stats_socket)

    def _service(self, container: Row) -> Row | None:
        ids = container["serviceIds"] or []
        return self.store.get("service", ids[0]) if ids else None

    def _exited(self, container_id: str) -> None:
        """A container that died by itself is started again, as Docker does."""
        container = self.store.get("instance", container_id)
        if not self._closed and container is not None and container.live and container.state == "running":
            self.proxies.pop(container.id, None)
            asyncio.get_running_loop().create_task(self._revive(container))

    async def _revive(self, container: Row) -> None:
        try:
            await self.start(container)
        except StartFailed as reason:
            log.error("%s: %s", container.name, reason)
