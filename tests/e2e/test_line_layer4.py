# SPDX-License-Identifier: Apache-2.0
"""The whole line below HTTP, with Rancher: the life of a Service of type LoadBalancer, and an Ingress whose TLS is passed through."""
from __future__ import annotations

import contextlib

import pytest

from lib.balancer_services import balancer_service, balancer_slice, finalizers
from lib.line import DAEMONS
from lib.traffic import request
from lib.wait import wait_for

def reached(line, balancer: str, port: int) -> str | None:
    """The pod that answers at a port of a load balancer; None while none does."""
    if line.rancher.balancer(balancer) is None:
        return None
    for address in line.rancher.traffic_addresses(balancer):
        with contextlib.suppress(OSError, ValueError):
            if address[1] == port:
                return request(*address, "any.example").json["name"]
    return None


@pytest.mark.parametrize("victim", [None, *DAEMONS])
def test_the_life_of_a_service(line, namespace, backends, victim):
    cluster, balancer = namespace, f"{namespace.namespace}-rancherlbservice-db"
    pod = backends("db")

    @contextlib.contextmanager
    def step():
        daemon = line.daemon(victim) if victim else None
        if daemon is not None:
            daemon.kill()
        yield
        if daemon is not None:
            daemon.start()

    with step():
        cluster.apply(balancer_service(cluster, "db", 5432), balancer_slice(cluster, "db", [pod.ip], 1))
    wait_for(lambda: reached(line, balancer, 5432) == "db", "the first port")
    wait_for(lambda: cluster.addresses("db", "service"), "addresses of the Service")
    with step():
        cluster.apply(balancer_service(cluster, "db", 5432, 5433), balancer_slice(cluster, "db", [pod.ip], 2))
    wait_for(lambda: reached(line, balancer, 5433) == "db", "the second port")
    assert reached(line, balancer, 5432) == "db"
    with step():
        cluster.kubectl("delete", "service", "db", "--wait=false")
    wait_for(lambda: line.rancher.balancer(balancer) is None, "the load balancer to be gone")
    wait_for(lambda: cluster.get("service", "db") is None, "the Service to be gone")


def test_a_service_that_becomes_another_type(line, namespace, backends):
    cluster, balancer = namespace, f"{namespace.namespace}-rancherlbservice-db"
    pod = backends("db")
    cluster.apply(balancer_service(cluster, "db", 5434), balancer_slice(cluster, "db", [pod.ip], 1))
    wait_for(lambda: reached(line, balancer, 5434) == "db", "the port")
    wait_for(lambda: cluster.addresses("db", "service"), "addresses of the Service")
    cluster.kubectl("patch", "service", "db", "--type=merge", "-p", '{"spec": {"type": "ClusterIP", "loadBalancerClass": null}}')
    wait_for(lambda: line.rancher.balancer(balancer) is None, "the load balancer to be gone")
    wait_for(lambda: not cluster.addresses("db", "service") and not finalizers(cluster, "db"), "neither addresses nor our finalizer")
