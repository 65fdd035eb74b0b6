# SPDX-License-Identifier: Apache-2.0
"""Rows that mirror a Kubernetes cluster, as the server keeps them after events from kubernetes-agent: one
stack a namespace, one kubernetesService a Service, one container a pod address."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .engine import Engine
from .store import Row, Store

_PREFIX = "kubernetes://"


@dataclass
class Pod:
    """One pod as a Rancher container. `ports` maps a container port to the real address behind it, where that
    is not the pod's own IP and port: {"8080": "127.0.0.1:34567"}."""

    ip: str
    host: str | None = None
    state: str = "running"
    ports: dict[str, str] = field(default_factory=dict)


def selector_text(selector: dict[str, str] | None, namespace: str) -> str | None:
    """A Service's selector as the container selector that the agent makes of it; None without a selector."""
    if not selector:
        return None
    pairs = [f"{k}={v}" for k, v in sorted(selector.items())]
    return ",".join([*pairs, f"io.kubernetes.pod.namespace={namespace}"])


class KubernetesRows:
    def __init__(self, store: Store, engine: Engine, project: str):
        self.store = store
        self.engine = engine
        self.project = project

    # Stacks

    def stack(self, namespace: str, uid: str | None) -> Row:
        """The stack of a namespace, made when missing."""
        external_id = _PREFIX + ("kube-system" if namespace == "kube-system" else uid or namespace)
        for row in self.store.find("stack_by_name", (self.project, namespace.lower())):
            if (row["externalId"] or "").startswith(_PREFIX) and row.state not in ("removing", "removed"):
                return row
        return self.store.add_stack(namespace, external_id, self.project)

    def remove_namespace(self, namespace: str) -> None:
        for row in self.store.find("stack_by_name", (self.project, namespace.lower())):
            if (row["externalId"] or "").startswith(_PREFIX) and self.engine.allowed(row, "remove"):
                self.engine.start(row, "remove")

    # Services

    def find(self, uid: str) -> Row | None:
        found = [r for r in self.store.find("service_by_external_id", uid) if r.type == "kubernetesService"]
        return found[0] if found else None

    def upsert(self, uid: str, name: str, namespace: str = "default", namespace_uid: str | None = None,
               selector: str | None = None, vip: str | None = None, template: dict[str, Any] | None = None,
               at_once: bool = False) -> Row | None:
        """Create or update the row of a Service. `at_once` skips the states on the way to active. None: an
        older one of its name is still being removed (ask again)."""
        row = self.find(uid)
        if row is None:
            stack = self.stack(namespace, namespace_uid)
            if self._replace(stack, name, uid):
                return None
            row = self._create(stack, uid, name, at_once)
        changes = {"selectorContainer": selector, "vip": vip,
                   "template": template or {"metadata": {"name": name}}}
        if any(row[k] != v for k, v in changes.items()):
            row.fields.update(changes)
            self.store.touch(row)
        return row

    def remove(self, uid: str) -> bool:
        row = self.find(uid)
        return row is not None and self._remove(row)

    # Pods

    def set_pods(self, service: Row, pods: list[Pod]) -> None:
        """The containers of a Service are exactly these pods. A pod may serve several Services."""
        wanted = {pod.ip: pod for pod in pods}
        present = {c["primaryIpAddress"]: c for c in self.store.find("instance_by_service", service.id)}
        for ip, container in present.items():
            if ip not in wanted:
                self._leave(container, service)
        for ip, pod in wanted.items():
            self._join(service, pod, present.get(ip) or self._container(ip))
        ids = [c.id for c in self.store.find("instance_by_service", service.id)]
        health = "healthy" if ids or not service["selectorContainer"] else "unhealthy"
        if service["instanceIds"] != ids or service["healthState"] != health:
            service.fields.update(instanceIds=ids, healthState=health)
            self.store.touch(service)

    # Inside

    def _create(self, stack: Row, uid: str, name: str, at_once: bool) -> Row:
        row = self.store.add("kubernetesService", {
            "name": name, "externalId": uid, "stackId": stack.id, "accountId": self.project,
            "kind": "kubernetesService", "state": "active" if at_once else "requested",
            "transitioning": "no", "startOnCreate": True, "healthState": "healthy", "instanceIds": None,
            "linkedServices": None, "system": False})
        if not at_once:
            self.engine.start(row, "create")
        return row

    def _replace(self, stack: Row, name: str, uid: str) -> bool:
        """An older Service of the same name goes first; the caller asks again until it is gone."""
        busy = False
        for row in self.store.find("service_by_name", (stack.id, name.lower())):
            if row["externalId"] != uid:
                busy = True
                if row.state != "removing":
                    self._remove(row)
        return busy

    def _remove(self, row: Row) -> bool:
        if not self.engine.allowed(row, "remove"):
            return False
        for container in self.store.find("instance_by_service", row.id):
            self._leave(container, row)
        self.engine.start(row, "remove")
        return True

    def _container(self, ip: str) -> Row | None:
        found = [c for c in self.store.find("instance_by_ip", ip) if c.internal.get("pod")]
        return found[0] if found else None

    def _join(self, service: Row, pod: Pod, container: Row | None) -> None:
        if container is None:
            self.store.add("container", {
                "name": f"k8s-{service.name}-{pod.ip.replace('.', '-')}", "kind": "container",
                "state": pod.state,
                "accountId": self.project, "primaryIpAddress": pod.ip, "hostId": self._host(pod.host),
                "serviceIds": [service.id], "healthState": None, "transitioning": "no", "labels": {},
                "system": False}, {"pod": True, "ports": pod.ports})
            return
        ids = container["serviceIds"] or []
        joined = ids if service.id in ids else [*ids, service.id]
        host = self._host(pod.host) if pod.host else container["hostId"]
        fields = {"state": pod.state, "hostId": host, "serviceIds": joined}
        ports = pod.ports or container.internal.get("ports", {})
        if any(container[k] != v for k, v in fields.items()) or ports != container.internal.get("ports"):
            container.fields.update(fields)
            container.internal["ports"] = ports
            self.store.touch(container)

    def _leave(self, container: Row, service: Row) -> None:
        rest = [i for i in container["serviceIds"] or [] if i != service.id]
        container["serviceIds"] = rest
        if rest:
            self.store.touch(container)
        else:
            container["state"] = "removed"
            self.store.touch(container)
            self.store.drop(container)

    def _host(self, name: str | None) -> str | None:
        """The host of a node by id, name or address; without one, the first."""
        hosts = [h for h in self.store.live("host") if h["accountId"] == self.project]
        for host in hosts:
            if name in (host.id, host["hostname"], host.name, host["agentIpAddress"]):
                return host.id
        return hosts[0].id if hosts else None
