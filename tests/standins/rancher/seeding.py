# SPDX-License-Identifier: Apache-2.0
"""Rows that exist before the test begins: load balancers made by the Go controller, in both of its name forms, or by
somebody else."""

from __future__ import annotations

from typing import Any

from .kubernetes_rows import KubernetesRows, selector_text
from .network import Network
from .service_rules import ServiceRules
from .store import Row, Store

STACK_NAME = "kubernetes-ingress-lbs"
STACK_EXTERNAL_ID = "kubernetes-ingress-lbs://"
_LAUNCH = {
    "type": "launchConfig", "kind": "container", "startOnCreate": True, "instanceTriggeredStop": "stop", "vcpu": 1,
    "version": "0", "drainTimeoutMs": 0, "privileged": False, "publishAllPorts": False, "readOnly": False,
    "runInit": False, "stdinOpen": False, "tty": False, "system": False, "networkMode": "managed",
}


def balancer_name(namespace: str, name: str, form: str, separator: str) -> str:
    """`current`: <namespace>-<separator>-<name>; `legacy`: <namespace>-<name>."""
    return {"current": f"{namespace}-{separator}-{name}", "legacy": f"{namespace}-{name}"}[form]


class Seeding:
    def __init__(self, store: Store, rules: ServiceRules, kubernetes: KubernetesRows, network: Network, project: str):
        self.store = store
        self.rules = rules
        self.kubernetes = kubernetes
        self.network = network
        self.project = project

    def balancers(self, items: list[dict[str, Any]]) -> list[Row]:
        """Balancers as the Go controller leaves them, each with a container that is published without regard to port
        conflicts.

        Members of an item: namespace, name (of the Ingress), form (current or legacy), separator, hostname, path, uid;
        httpsPort with defaultCertificateId; host (id) to be placed on. For balancers of somebody else: balancerName and
        externalId (may be null).
        """
        stack = self._stack()
        hosts = [h for h in self.store.live("host") if h["accountId"] == self.project and h.state == "active"]
        rows = []
        for number, item in enumerate(items):
            row = self._balancer(stack, item)
            if hosts:
                self._place(row, self.store.get("host", item.get("host")) or hosts[number % len(hosts)])
            rows.append(row)
        return rows

    def bulk(self, count: int) -> list[Row]:
        items = []
        for number in range(1, count + 1):
            uid, name = f"00000000-0000-4000-8000-{number:012d}", f"svc-{number:05d}"
            self.kubernetes.upsert(uid, name, selector=selector_text({"app": name}, "default"), at_once=True)
            items.append({"name": f"ing-{number:05d}", "hostname": f"h{number:05d}.example.com", "path": "/p", "uid": uid})
        return self.balancers(items)

    # Inside

    def _stack(self) -> Row:
        for row in self.store.find("stack_by_name", (self.project, STACK_NAME)):
            return row
        return self.store.add_stack(STACK_NAME, STACK_EXTERNAL_ID, self.project)

    def _balancer(self, stack: Row, item: dict[str, Any]) -> Row:
        name = item.get("balancerName") or balancer_name(
            item.get("namespace", "default"), item["name"], item.get("form", "current"), item.get("separator", "rancherlb"))
        target = self.kubernetes.find(item["uid"])
        setting = self.store.get("setting", "lb.instance.image")
        if target is None or setting is None:
            raise ValueError(f"there is no kubernetesService with UID {item['uid']}, or no image")
        frontends = [(80, "http"), *([(item["httpsPort"], "https")] if "httpsPort" in item else [])]
        rules = [{"type": "portRule", "protocol": protocol, "serviceId": target.id, "sourcePort": port, "targetPort": 8080,
                  "hostname": item["hostname"], "path": item["path"]} for port, protocol in frontends]
        ports = [f"{port}:{port}/tcp" for port, _ in frontends]
        launch = {**_LAUNCH, "imageUuid": "docker:" + setting["value"], "ports": ports}
        self.rules.fill_in(launch)
        config: dict[str, Any] = {"type": "lbConfig", "portRules": rules}
        if "defaultCertificateId" in item:
            config["defaultCertificateId"] = item["defaultCertificateId"]
        its_stack = self.store.get("stack", target["stackId"])
        linked = {f"{its_stack.name if its_stack else '?'}/{target.name}": target.id}
        return self.store.add("loadBalancerService", {
            "name": name, "externalId": item.get("externalId", STACK_EXTERNAL_ID + name), "stackId": stack.id,
            "accountId": self.project, "kind": "loadBalancerService", "state": "active", "healthState": "healthy",
            "scale": 1, "currentScale": 1, "assignServiceIpAddress": False, "launchConfig": launch, "lbConfig": config,
            "publicEndpoints": None, "instanceIds": None, "linkedServices": linked,
            "transitioning": "no", "system": False, "startOnCreate": False})

    def _place(self, row: Row, host: Row) -> None:
        """A running container on paper; the caller starts it where there is a data plane."""
        launch = row["launchConfig"]
        container = self.store.add("container", {
            "name": f"{STACK_NAME}-{row.name}-1", "kind": "container", "accountId": self.project, "state": "running",
            "transitioning": "no", "hostId": host.id, "imageUuid": launch["imageUuid"], "labels": launch["labels"],
            "ports": launch["ports"], "serviceIds": [row.id], "createIndex": 1, "healthState": "healthy", "startCount": 1,
            "system": False, "primaryIpAddress": self.network.container_address(())})
        endpoints = [{"type": "publicEndpoint", "ipAddress": host["agentIpAddress"], "port": int(text.partition(":")[0]),
                      "serviceId": row.id, "hostId": host.id, "instanceId": container.id} for text in launch["ports"]]
        row.fields.update(instanceIds=[container.id], publicEndpoints=endpoints, createIndex=1)
        self.store.touch(row)
