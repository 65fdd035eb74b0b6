# SPDX-License-Identifier: Apache-2.0
"""Services of type LoadBalancer as their owners make them and see them."""
from __future__ import annotations

from typing import Any

from .cluster import Cluster

CLASS = "sluice.io/load-balancer"
CLEANUP = "service.kubernetes.io/load-balancer-cleanup"


def balancer_service(cluster: Cluster, name: str, *ports: int) -> dict[str, Any]:
    service = cluster.service(name, ports[0], 8080, "p0")
    service["spec"] |= {"type": "LoadBalancer", "loadBalancerClass": CLASS, "allocateLoadBalancerNodePorts": False,
                        "ports": [{"name": f"p{index}", "port": port, "targetPort": 8080} for index, port in enumerate(ports)]}
    return service


def balancer_slice(cluster: Cluster, name: str, ips: list[str], count: int) -> dict[str, Any]:
    """Endpoints for the first `count` ports."""
    made = cluster.slice(name, ips, 8080, "p0")
    made["ports"] = [{"name": f"p{index}", "port": 8080, "protocol": "TCP"} for index in range(count)]
    return made


def finalizers(cluster: Cluster, name: str) -> list[str]:
    return (cluster.get("service", name) or {"metadata": {}})["metadata"].get("finalizers", [])
