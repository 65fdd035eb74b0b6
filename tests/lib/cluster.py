# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster as its users see it: kubectl and nothing else, so that the same tests run against a real API server."""
from __future__ import annotations

import base64
import json
import os
import subprocess
from typing import Any

from .wait import wait_for


class Cluster:
    def __init__(self, kubeconfig: str, namespace: str = "default"):
        self.kubeconfig = kubeconfig
        self.namespace = namespace

    def within(self, namespace: str) -> "Cluster":
        return Cluster(self.kubeconfig, namespace)

    def kubectl(self, *arguments: str, text: str | None = None, check: bool = True) -> str:
        environment = {**os.environ, "KUBECONFIG": self.kubeconfig}
        # What a server serves kubectl remembers for hours, by address and port: an older one of another test may have had the same.
        command = ["kubectl", "--namespace", self.namespace, "--cache-dir", f"{self.kubeconfig}.cache", *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, timeout=120, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def delete(self, kind: str, name: str) -> None:
        self.kubectl("delete", kind, name, "--ignore-not-found", "--wait=true", "--timeout=60s")

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        text = self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def list(self, kind: str) -> list[dict[str, Any]]:
        return json.loads(self.kubectl("get", kind, "-o", "json"))["items"]

    def patch(self, kind: str, name: str, patch: dict[str, Any]) -> None:
        self.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(patch))

    def annotate(self, kind: str, name: str, **annotations: str | None) -> None:
        self.patch(kind, name, {"metadata": {"annotations": annotations}})

    # Objects

    def ingress(self, name: str, rules: list[dict[str, Any]] | None = None, annotations: dict[str, str] | None = None,
                **spec: Any) -> dict[str, Any]:
        """An Ingress; a rule is {"host":, "paths": [(path, type, service, port)]}."""
        built = [{**({"host": rule["host"]} if rule.get("host") else {}),
                  "http": {"paths": [path_of(*path) for path in rule["paths"]]}} for rule in rules or []]
        meta = {"name": name, "namespace": self.namespace, "annotations": annotations or {}}
        return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta,
                "spec": {**({"rules": built} if built else {}), **spec}}

    def service(self, name: str, port: int = 80, target: int | str = 8080, port_name: str | None = None,
                selector: dict[str, str] | None = None) -> dict[str, Any]:
        one = {"port": port, "targetPort": target, **({"name": port_name} if port_name else {})}
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": self.namespace},
                "spec": {"ports": [one], "selector": selector or {"app": name}}}

    def slice(self, service: str, ips: list[str], port: int = 8080, port_name: str = "", suffix: str = "a",
              conditions: dict[str, bool] | None = None) -> dict[str, Any]:
        endpoints = [{"addresses": [ip], "conditions": conditions or {"ready": True, "serving": True},
                      "targetRef": {"kind": "Pod", "name": f"{service}-{index}", "namespace": self.namespace}}
                     for index, ip in enumerate(ips)]
        return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"name": f"{service}-{suffix}", "namespace": self.namespace,
                             "labels": {"kubernetes.io/service-name": service}},
                "endpoints": endpoints, "ports": [{"name": port_name, "port": port, "protocol": "TCP"}]}

    def tls_secret(self, name: str, certificate: bytes, key: bytes, ca: bytes | None = None) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
                "metadata": {"name": name, "namespace": self.namespace},
                "data": {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode(),
                         **({"ca.crt": base64.b64encode(ca).decode()} if ca is not None else {})}}

    # What our line has written

    def addresses(self, name: str, kind: str = "ingress") -> list[str]:
        """What `kubectl get ingress` shows as ADDRESS, or the same of a Service."""
        found = self.get(kind, name)
        entries = ((found or {}).get("status", {}).get("loadBalancer", {}).get("ingress")) or []
        return [entry.get("ip") or entry.get("hostname") for entry in entries]

    def wait_addresses(self, ingress: str, count: int | None = None, timeout: float = 30.0) -> list[str]:
        return wait_for(lambda: (got := self.addresses(ingress)) and (count is None or len(got) == count) and got,
                        f"{count or 'some'} address(es) of Ingress {self.namespace}/{ingress}", timeout, 0.1)

    def wait_no_addresses(self, ingress: str, timeout: float = 30.0) -> None:
        wait_for(lambda: not self.addresses(ingress), f"no address of Ingress {self.namespace}/{ingress}", timeout, 0.1)

    def events(self, name: str, reason: str | None = None) -> list[dict[str, Any]]:
        found = [e for e in self.list("events") if e["involvedObject"].get("name") == name]
        return [e for e in found if reason is None or e["reason"] == reason]

    def wait_event(self, name: str, reason: str, text: str = "", timeout: float = 20.0) -> dict[str, Any]:
        return wait_for(lambda: [e for e in self.events(name, reason) if text in e["message"]],
                        f"Event {reason} {text!r} on {name}", timeout, 0.1)[0]


def path_of(path: str, path_type: str, service: str, port: int | str) -> dict[str, Any]:
    number = {"number": port} if isinstance(port, int) else {"name": port}
    return {"path": path, "pathType": path_type, "backend": {"service": {"name": service, "port": number}}}
