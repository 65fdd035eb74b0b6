# SPDX-License-Identifier: Apache-2.0
"""Rows that exist before the test begins: load balancers made by the Go controller, in both of its name
forms, and mirrors of Kubernetes Services; one by one or ten thousand at once."""

from __future__ import annotations

from typing import Any

from .kubernetes_rows import KubernetesRows, Pod, selector_text
from .network import Network
from .service_rules import ServiceRules
from .store import Row, Store

STACK_NAME = "kubernetes-ingress-lbs"
STACK_EXTERNAL_ID = "kubernetes-ingress-lbs://"
_DEFAULT_IMAGE = "rancher/lb-service-haproxy:v0.9.14"


def balancer_name(namespace: str, name: str, form: str, separator: str = "rancherlb") -> str:
    """`current`: <namespace>-<separator>-<name>; `legacy`: <namespace>-<name>."""
    if form not in ("current", "legacy"):
        raise ValueError("form must be current or legacy")
    return f"{namespace}-{separator}-{name}" if form == "current" else f"{namespace}-{name}"


class Seeding:
    def __init__(self, store: Store, rules: ServiceRules, kubernetes: KubernetesRows, network: Network, project: str):
        self.store = store
        self.rules = rules
        self.kubernetes = kubernetes
        self.network = network
        self.project = project

    # The stack

    def stack(self, name: str = STACK_NAME, external_id: str | None = STACK_EXTERNAL_ID) -> Row:
        """The stack of that name, made active at once when missing."""
        for row in self.store.find("stack_by_name", (self.project, name.lower())):
            return row
        return self.store.add("stack", {
            "name": name, "externalId": external_id, "kind": "stack", "accountId": self.project,
            "state": "active",
            "transitioning": "no", "system": False, "startOnCreate": False})

    # Services

    def services(self, items: list[dict[str, Any]]) -> list[Row]:
        """Mirrors of Services, active at once. Members: uid, name, namespace, namespaceUid, selector (a map),
        vip, template, pods (as for set-pods)."""
        rows = []
        for item in items:
            namespace = item.get("namespace", "default")
            selector = selector_text(item.get("selector", {"app": item["name"]}), namespace)
            row = self.kubernetes.upsert(item["uid"], item["name"], namespace, item.get("namespaceUid"),
                                         selector,
                                         item.get("vip"), item.get("template"), at_once=True)
            if row is None:
                raise ValueError(f"{item['name']}: an older Service of this name is in the way")
            if item.get("pods"):
                self.kubernetes.set_pods(row, [Pod.parse(p) for p in item["pods"]])
            rows.append(row)
        return rows

    # Balancers

    def balancers(self, items: list[dict[str, Any]], place: bool) -> list[Row]:
        """Balancers as the Go controller leaves them. Members of an item:

        namespace, name (of the Ingress), form (current or legacy), separator; rules: a list of {hostname,
        path, uid or serviceId, targetPort} or the shorthand hostname, path, uid, targetPort; httpPort (80;
        null for none), httpsPort with defaultCertificateId; scale, labels, config, stickinessPolicy; host
        (id) to be placed on. For balancers of somebody else: balancerName and externalId (may be null).

        With `place` each is given a container, published without regard to port conflicts."""
        stack = self.stack()
        hosts = [h for h in self.store.live("host") if h["accountId"] == self.project and h.state == "active"]
        rows = []
        for number, item in enumerate(items):
            row = self._balancer(stack, item)
            if place and hosts:
                host = self.store.get("host", item.get("host")) or hosts[number % len(hosts)]
                self._place(row, host)
            rows.append(row)
        return rows

    def _balancer(self, stack: Row, item: dict[str, Any]) -> Row:
        name = item.get("balancerName") or balancer_name(
            item.get("namespace", "default"), item["name"], item.get("form", "current"),
            item.get("separator", "rancherlb"))
        frontends = [(port, protocol) for port, protocol in
                     ((item.get("httpPort", 80), "http"), (item.get("httpsPort"), "https")) if port]
        rules = [self._rule(rule, port, protocol) for port, protocol in frontends
                 for rule in item.get("rules", [item])]
        setting = self.store.get("setting", "lb.instance.image")
        launch: dict[str, Any] = {
            "type": "launchConfig",
            "imageUuid": "docker:" + (setting["value"] if setting else _DEFAULT_IMAGE),
            "ports": [f"{port}:{port}/tcp" for port, _ in frontends], "kind": "container",
            "startOnCreate": True, "instanceTriggeredStop": "stop", "vcpu": 1, "version": "0",
            "drainTimeoutMs": 0, "privileged": False,
            "publishAllPorts": False, "readOnly": False, "runInit": False, "stdinOpen": False, "tty": False,
            "system": False, "networkMode": "managed",
        }
        if item.get("labels"):
            launch["labels"] = item["labels"]
        self.rules.fill_in(launch)
        config: dict[str, Any] = {"type": "lbConfig", "portRules": rules}
        for member in ("config", "defaultCertificateId", "stickinessPolicy"):
            if item.get(member) is not None:
                config[member] = item[member]
        row = self.store.add("loadBalancerService", {
            "name": name, "externalId": item.get("externalId", STACK_EXTERNAL_ID + name), "stackId": stack.id,
            "accountId": self.project,
            "kind": "loadBalancerService", "state": "active", "transitioning": "no", "healthState": "healthy",
            "scale": item.get("scale", 1), "currentScale": item.get("scale", 1),
            "assignServiceIpAddress": False,
            "startOnCreate": False, "system": False, "launchConfig": launch, "lbConfig": config,
            "publicEndpoints": None, "instanceIds": None, "linkedServices": self._links(rules)})
        return row

    def _rule(self, rule: dict[str, Any], port: int, protocol: str) -> dict[str, Any]:
        target_id = rule.get("serviceId")
        if target_id is None:
            target = self.kubernetes.find(rule["uid"])
            if target is None:
                raise ValueError(f"there is no kubernetesService with UID {rule['uid']}")
            target_id = target.id
        sent: dict[str, Any] = {"type": "portRule", "protocol": protocol, "serviceId": target_id,
                                "sourcePort": port, "targetPort": rule.get("targetPort", 8080)}
        for member in ("hostname", "path", "priority", "backendName"):
            if rule.get(member):
                sent[member] = rule[member]
        return sent

    def _links(self, rules: list[dict[str, Any]]) -> dict[str, str] | None:
        linked = {}
        for target in filter(None, (self.store.get("service", r["serviceId"]) for r in rules)):
            stack = self.store.get("stack", target["stackId"])
            linked[f"{stack.name if stack else '?'}/{target.name}"] = target.id
        return linked or None

    def _place(self, row: Row, host: Row) -> None:
        """A running container on paper; the caller starts it where there is a data plane."""
        container = self.store.add("container", {
            "name": f"{STACK_NAME}-{row.name}-1", "kind": "container", "accountId": self.project,
            "state": "running",
            "transitioning": "no", "hostId": host.id, "imageUuid": row["launchConfig"]["imageUuid"],
            "labels": row["launchConfig"]["labels"], "ports": row["launchConfig"]["ports"],
            "serviceIds": [row.id], "createIndex": 1, "healthState": "healthy", "startCount": 1,
            "system": False,
            "primaryIpAddress": self.network.container_address(())})
        endpoints = [{"type": "publicEndpoint", "ipAddress": host["agentIpAddress"],
                      "port": int(text.partition(":")[0]), "serviceId": row.id, "hostId": host.id,
                      "instanceId": container.id} for text in row["launchConfig"]["ports"]]
        row.fields.update(instanceIds=[container.id], publicEndpoints=endpoints, createIndex=1)
        self.store.touch(row)

    # Many at once

    def bulk(self, count: int, first: int = 1, namespace: str = "default", ingress: str = "ing-{n:05d}",
             service: str = "svc-{n:05d}", host: str = "h{n:05d}.example.com", path: str = "/p",
             uid: str = "00000000-0000-4000-8000-{n:012d}", target_port: int = 8080, form: str = "current",
             balancers: bool = True) -> dict[str, Any]:
        """Services, and with `balancers` an adopted balancer for each; the patterns know the number as
        {n}."""
        numbers = range(first, first + count)
        self.services([{"uid": uid.format(n=n), "name": service.format(n=n), "namespace": namespace}
                       for n in numbers])
        if balancers:
            self.balancers([{"namespace": namespace, "name": ingress.format(n=n), "form": form,
                             "hostname": host.format(n=n), "path": path, "uid": uid.format(n=n),
                             "targetPort": target_port} for n in numbers], place=True)
        return {"services": count, "balancers": count if balancers else 0}
