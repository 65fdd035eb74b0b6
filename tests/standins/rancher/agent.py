# SPDX-License-Identifier: Apache-2.0
"""Follows a Kubernetes API and keeps the kubernetesService rows and their containers, as kubernetes-agent and
the server do together.

It polls: lists are read again whenever the collection's resource version has moved. A poll that fails for
whatever reason changes nothing and is repeated, so an API server that is cut, slow or broken for a while does
no harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from typing import Any

import aiohttp

from standins.kube.public import Access

from .kubernetes_rows import KubernetesRows, Pod, selector_text

log = logging.getLogger(__name__)

USER_AGENT = "kubernetes-agent (rancher stand-in)"
_PATHS = {"namespaces": "/api/v1/namespaces", "services": "/api/v1/services"}
_SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
_ENDPOINTS = "/api/v1/endpoints"


class Unavailable(Exception):
    """The API gave no usable answer this time."""


class Agent:
    def __init__(self, rows: KubernetesRows, cluster: Access, interval: float = 0.3):
        self.rows = rows
        self.cluster = cluster
        self.interval = interval
        self.synced = asyncio.Event()
        self.last_error: str | None = None
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self._versions: dict[str, str] = {}
        self._endpoint_kind: str | None = None
        self._known: set[str] = set()
        self._namespaces: set[str] = set()
        # Some Services are not rows yet: an older one is in the way.
        self._unfinished = False
        self._task: asyncio.Task | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=5, connect=2)
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT, **self.cluster.headers()}
        async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
            while True:
                await self._poll(session)
                await asyncio.sleep(self.interval)

    async def _poll(self, session: aiohttp.ClientSession) -> None:
        try:
            lists = {name: await self._list(session, name, path) for name, path in _PATHS.items()}
            lists["endpoints"] = await self._endpoint_list(session)
            moved = any(items is not self._lists.get(name) for name, items in lists.items())
            self._lists = lists
            if moved or self._unfinished:
                self.apply(lists)
            self.last_error = None
            self.synced.set()
        except (Unavailable, aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as problem:
            text = str(problem) or type(problem).__name__
            if text != self.last_error:
                log.info("kubernetes: %s", text)
            self.last_error = text

    # Reading

    async def _list(self, session: aiohttp.ClientSession, name: str, path: str) -> list[dict[str, Any]]:
        """A whole list. One item is asked for first: if the resource version has not moved, the last list
        holds."""
        head = await self._get(session, path, {"limit": "1"})
        version = (head.get("metadata") or {}).get("resourceVersion")
        if version and version == self._versions.get(name) and name in self._lists:
            return self._lists[name]
        items: list[dict[str, Any]] = []
        token = ""
        while True:
            page = await self._get(session, path, {"limit": "500", **({"continue": token} if token else {})})
            items += page["items"] or []
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                break
        self._versions[name] = (page.get("metadata") or {}).get("resourceVersion") or ""
        return items

    async def _endpoint_list(self, session: aiohttp.ClientSession) -> list[dict[str, Any]]:
        if self._endpoint_kind is None:
            async with session.get(self.cluster.server + _SLICES, params={"limit": "1"},
                                   ssl=self.cluster.tls) as probe:
                if probe.status not in (200, 404):
                    raise Unavailable(f"{_SLICES}: status {probe.status}")
                self._endpoint_kind = _SLICES if probe.status == 200 else _ENDPOINTS
        return await self._list(session, "endpoints", self._endpoint_kind)

    async def _get(self, session: aiohttp.ClientSession, path: str, params: dict[str, str]) -> dict[str, Any]:
        async with session.get(self.cluster.server + path, params=params, ssl=self.cluster.tls) as response:
            text = await response.text()
            if response.status != 200:
                raise Unavailable(f"{path}: status {response.status}")
        body = json.loads(text)
        if not isinstance(body, dict) or not isinstance(body.get("items") or [], list) or "items" not in body:
            raise Unavailable(f"{path}: the answer is no list")
        return body

    # Applying

    def apply(self, lists: dict[str, list[dict[str, Any]]]) -> None:
        """Bring the rows in line with complete lists."""
        namespaces = {item["metadata"]["name"]: item["metadata"].get("uid") for item in lists["namespaces"]}
        for gone in self._namespaces - set(namespaces):
            self.rows.remove_namespace(gone)
        self._namespaces = set(namespaces)
        addresses = self._addresses(lists["endpoints"])
        present: set[str] = set()
        self._unfinished = False
        for item in lists["services"]:
            uid = item["metadata"]["uid"]
            present.add(uid)
            if not self._service(item, namespaces, addresses):
                self._unfinished = True
        for uid in self._known - present:
            self.rows.remove(uid)
        self._known &= present

    def _service(self, item: dict[str, Any], namespaces: dict[str, str | None],
                 addresses: dict[tuple[str, str], dict[str, Pod]]) -> bool:
        """Create or update one Service's row and containers. False: it has to be tried again."""
        meta, spec = item["metadata"], item.get("spec") or {}
        namespace = meta["namespace"]
        selector = selector_text(spec.get("selector"), namespace)
        vip = spec.get("clusterIP")
        row = self.rows.upsert(meta["uid"], meta["name"], namespace, namespaces.get(namespace), selector,
                               vip if vip and vip != "None" else None, item)
        if row is None or row.state in ("removing", "removed"):
            return False
        self._known.add(meta["uid"])
        # Pods are found by the selector: a Service without one has no containers, whatever its endpoints say.
        pods = addresses.get((namespace, meta["name"]), {}) if selector else {}
        self.rows.set_pods(row, list(pods.values()))
        return True

    def _addresses(self, items: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Pod]]:
        """(namespace, Service) -> its pods by address."""
        found: dict[tuple[str, str], dict[str, Pod]] = {}
        for item in items:
            meta = item["metadata"]
            if self._endpoint_kind == _ENDPOINTS or "subsets" in item:
                pods, owner = self._from_endpoints(item), meta["name"]
            else:
                labels = meta.get("labels") or {}
                pods, owner = self._from_slice(item), labels.get("kubernetes.io/service-name")
            if owner:
                found.setdefault((meta["namespace"], owner), {}).update({pod.ip: pod for pod in pods})
        return found

    def _from_slice(self, item: dict[str, Any]) -> list[Pod]:
        if item.get("addressType", "IPv4") != "IPv4":
            return []
        pods = []
        for endpoint in item.get("endpoints") or []:
            # Rancher looks at containers, not at readiness: an unready pod is a running container all the same.
            state = "stopping" if (endpoint.get("conditions") or {}).get("terminating") else "running"
            pods += [Pod(ip, endpoint.get("nodeName"), state) for ip in endpoint.get("addresses") or []]
        return pods

    def _from_endpoints(self, item: dict[str, Any]) -> list[Pod]:
        pods = []
        for subset in item.get("subsets") or []:
            for kind in ("addresses", "notReadyAddresses"):
                pods += [Pod(a["ip"], a.get("nodeName")) for a in subset.get(kind) or []]
        return pods
