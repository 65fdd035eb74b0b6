# SPDX-License-Identifier: Apache-2.0
"""What an LB container learns about itself: its service's rules with targets resolved to endpoints,
certificates by name, stickiness, custom configuration. The counterpart of Rancher's metadata service."""

from __future__ import annotations

from typing import Any

from . import ports, states
from .haproxy_config import Bind, Endpoint, Rule, Spec
from .ports import PortSpec
from .store import Row, Store

_SERVING = ("running", "starting", "stopping")
_TARGET_LABEL = "io.rancher.lb_service.target"


class SpecBuilder:
    def __init__(self, store: Store):
        self.store = store

    def build(self, container: Row, service: Row) -> Spec:
        config = service["lbConfig"] or {}
        certificate_id = config.get("defaultCertificateId")
        default = self.store.get("certificate", certificate_id)
        return Spec(
            rules=self._rules(container, service, config.get("portRules") or []),
            container_ip=container["primaryIpAddress"],
            binds=self._binds(container),
            has_default_certificate=bool(certificate_id),
            default_certificate=default.name if default is not None and default.live else "",
            stickiness=config.get("stickinessPolicy"), custom=config.get("config"))

    def certificates(self, service: Row) -> dict[str, str]:
        """File name -> PEM of every certificate of a balancer. One that is gone leaves an unnamed, empty
        file, which HAProxy refuses: so did the image, which went on with its last configuration."""
        config = service["lbConfig"] or {}
        ids = [i for i in [config.get("defaultCertificateId"), *(config.get("certificateIds") or [])] if i]
        files: dict[str, str] = {}
        for row in (self.store.get("certificate", i) for i in ids):
            if row is None or not row.live:
                files[".pem"] = "\n"
            else:
                files[f"{row.name}.pem"] = f"{row['key']}\n{row['cert']}\n{row['certChain'] or ''}"
        return files

    def listening(self, container: Row) -> list[tuple[PortSpec, str]]:
        """Published ports of a container with their address."""
        host = self.store.get("host", container["hostId"])
        if host is None:
            return []
        found = []
        for port in ports.parse_all(container["ports"]):
            address = port.ip if port.ip and port.ip != "0.0.0.0" else host["agentIpAddress"]
            found.append((port, address))
        return found

    def _binds(self, container: Row) -> dict[int, list[Bind]]:
        binds: dict[int, list[Bind]] = {}
        for port, address in self.listening(container):
            if port.protocol == "tcp":
                binds.setdefault(port.private, []).append(Bind(address, port.public))
        return binds

    def _rules(self, container: Row, service: Row, rules: list[dict[str, Any]]) -> list[Rule]:
        found = []
        for rule in rules:
            target = self.store.get("service", rule.get("serviceId"))
            if target is None or target.state in states.NOT_SERVING:
                continue
            found.append(Rule(
                source_port=rule["sourcePort"], protocol=rule.get("protocol") or "http",
                hostname=rule.get("hostname") or "", path=rule.get("path") or "",
                backend_name=rule.get("backendName") or "", priority=rule.get("priority") or 0,
                endpoints=tuple(self._endpoints(container, service, target, rule))))
        return found

    def _endpoints(self, container: Row, service: Row, target: Row, rule: dict[str, Any]) -> list[Endpoint]:
        port = rule["targetPort"]
        preference = ((service["launchConfig"] or {}).get("labels") or {}).get(_TARGET_LABEL, "any")
        near: list[Endpoint] = []
        far: list[Endpoint] = []
        for pod in self.store.find("instance_by_service", target.id):
            if pod.state not in _SERVING or not pod["primaryIpAddress"]:
                continue
            ip = pod["primaryIpAddress"]
            endpoint = Endpoint(ip, pod.internal.get("ports", {}).get(str(port)) or f"{ip}:{port}")
            local = preference == "any" or pod["hostId"] == container["hostId"]
            (near if local else far).append(endpoint)
        return near or (far if preference == "prefer-local" else [])
