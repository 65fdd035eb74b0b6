# SPDX-License-Identifier: Apache-2.0
"""Follows a Kubernetes API and keeps the kubernetesService rows and their containers, as kubernetes-agent and
the server do together.

It polls: lists are read again whenever the collection's resource version has moved. A poll that fails for
whatever reason changes nothing and is repeated, so an API server that is cut, slow or broken for a while does
no harm.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from typing import Any

from standins.kube.public import Access

from .kubernetes_rows import KubernetesRows, Pod, selector_text

USER_AGENT = "kubernetes-agent (rancher stand-in)"
TIMEOUT_S = 5.0
_PATHS = {
    "namespaces": "/api/v1/namespaces", "services": "/api/v1/services", "slices": "/apis/discovery.k8s.io/v1/endpointslices",
}
Lists = dict[str, list[dict[str, Any]]]


class Agent(threading.Thread):
    """Reads in a thread of its own, which ends with the process, and applies what it has read in the loop of the server."""

    def __init__(self, rows: KubernetesRows, cluster: Access, interval: float):
        super().__init__(daemon=True)
        self.rows = rows
        self.cluster = cluster
        self.interval = interval
        self._loop = asyncio.get_running_loop()
        self._link = cluster.connect(TIMEOUT_S)
        self._lists: Lists = {}
        self._versions: dict[str, str] = {}
        self._known: set[str] = set()
        self._namespaces: set[str] = set()
        # Some Services are not rows yet: an older one is in the way.
        self._unfinished = False

    # Reading

    def run(self) -> None:
        while not self._loop.is_closed():
            try:
                lists = {name: self._list(name, path) for name, path in _PATHS.items()}
                if self._unfinished or any(items is not self._lists.get(name) for name, items in lists.items()):
                    self._lists = lists
                    self._loop.call_soon_threadsafe(self.apply, lists)
            except (http.client.HTTPException, OSError, ValueError, LookupError, RuntimeError):
                self._link.close()
            time.sleep(self.interval)

    def _list(self, name: str, path: str) -> list[dict[str, Any]]:
        """A whole list. One item is asked for first: if the resource version has not moved, the last list
        holds."""
        version = self._get(path + "?limit=1")["metadata"]["resourceVersion"]
        if version == self._versions.get(name) and name in self._lists:
            return self._lists[name]
        found = self._get(path)
        self._versions[name] = found["metadata"]["resourceVersion"]
        return found["items"] or []

    def _get(self, path: str) -> dict[str, Any]:
        sent = {"Accept": "application/json", "User-Agent": USER_AGENT, **self.cluster.headers()}
        self._link.request("GET", self.cluster.prefix + path, headers=sent)
        response = self._link.getresponse()
        text = response.read()
        if response.status != 200:
            raise ValueError(f"{path}: status {response.status}")
        return json.loads(text)

    # Applying

    def apply(self, lists: Lists) -> None:
        namespaces = {item["metadata"]["name"]: item["metadata"].get("uid") for item in lists["namespaces"]}
        for gone in self._namespaces - set(namespaces):
            self.rows.remove_namespace(gone)
        self._namespaces = set(namespaces)
        addresses = self._addresses(lists["slices"])
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

    @staticmethod
    def _addresses(items: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Pod]]:
        """(namespace, Service) -> its pods by address."""
        found: dict[tuple[str, str], dict[str, Pod]] = {}
        for item in items:
            owner = (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name")
            if owner is None or item["addressType"] != "IPv4":
                continue
            pods = found.setdefault((item["metadata"]["namespace"], owner), {})
            for endpoint in item["endpoints"] or []:
                # Rancher looks at containers, not at readiness: an unready pod is a running container all the same.
                state = "stopping" if (endpoint.get("conditions") or {}).get("terminating") else "running"
                pods.update({ip: Pod(ip, endpoint.get("nodeName"), state) for ip in endpoint["addresses"]})
        return found
