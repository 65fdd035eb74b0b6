# SPDX-License-Identifier: Apache-2.0
"""The containers for real: one HAProxy for each running LB container, kept up to date with the rows."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import defaultdict
from pathlib import Path

from . import haproxy_config
from .behaviour import Behaviour
from .deployment import Containers, StartFailed
from .haproxy_config import Paths
from .haproxy_process import HaproxyProcess
from .lb_spec import SpecBuilder
from .store import Row, Store

log = logging.getLogger(__name__)

_RELOADS_AT_ONCE = 4
# Certificates do not count: a balancer notices a new one only when something else has changed.
_METADATA = ("service", "instance", "stack", "host")


class DataPlane(Containers):
    def __init__(self, store: Store, behaviour: Behaviour, builder: SpecBuilder, directory: Path):
        self.store = store
        self.behaviour = behaviour
        self.builder = builder
        self.directory = directory
        self.proxies: dict[str, HaproxyProcess] = {}
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

    def busy(self) -> bool:
        return self._poll is not None

    async def close(self) -> None:
        self._closed = True
        if self._poll is not None:
            self._poll.cancel()
        await asyncio.gather(*(proxy.stop(graceful=False) for proxy in self.proxies.values()))
        self.proxies.clear()

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
            if container is not None and proxy is not None and proxy.running:
                await self._apply(container, proxy)

    # Inside

    async def _start(self, container: Row) -> None:
        async with self._locks[container.id]:
            if container.id in self.proxies and self.proxies[container.id].running:
                return
            proxy = HaproxyProcess(self.directory / container.id)
            if not await proxy.accepts(self._wanted(container, proxy)):
                raise StartFailed("haproxy refuses the configuration")
            await proxy.start()
            self.proxies[container.id] = proxy
            self._metadata_changed()  # rows may have changed while it started

    async def _stop(self, container: Row, graceful: bool) -> None:
        async with self._locks[container.id]:
            proxy = self.proxies.pop(container.id, None)
            if proxy is not None:
                await proxy.stop(graceful)
                shutil.rmtree(proxy.directory, ignore_errors=True)

    async def _apply(self, container: Row, proxy: HaproxyProcess) -> bool:
        """Go over to the wanted configuration. False when a configuration in good order could not be
        loaded."""
        wanted = self._wanted(container, proxy)
        if wanted in (proxy.text, proxy.refused) or not await proxy.accepts(wanted):
            return True
        try:
            await proxy.reload()
        except (asyncio.TimeoutError, StartFailed):
            log.error("%s: reload failed", container.name)
            return False
        return True

    def _wanted(self, container: Row, proxy: HaproxyProcess) -> str:
        service = self.store.get("service", container["serviceIds"][0])
        certificates = proxy.certificates(self.builder.certificates(service))
        return haproxy_config.render(self.builder.build(container, service), Paths(str(certificates), str(proxy.stats_socket)))
