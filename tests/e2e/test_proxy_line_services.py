# SPDX-License-Identifier: Apache-2.0
"""The life of a Service of type LoadBalancer from kubectl to bytes that arrive, with each local proxy at the end of the line; each process is
killed before every step, and comes back while the step is under way."""
from __future__ import annotations

import contextlib

import pytest

from lib.backend import Backend
from lib.balancer_services import CLEANUP, balancer_service, balancer_slice, finalizers
from lib.line import DAEMONS
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.raw_http import dial
from lib.traffic import request
from lib.wait import wait_for


@pytest.fixture(params=PROXIES, scope="module")
def line(request):
    with ProxyLine(request.param) as running:
        yield running


@pytest.fixture
def pods():
    with contextlib.ExitStack() as stack:
        yield lambda name: stack.enter_context(Backend(name))


@pytest.fixture
def ports(line):
    """Two that are free, on the loopback address of this line."""
    first = line.proxy.other_port(line.proxy.http, line.proxy.https)
    return first, line.proxy.other_port(line.proxy.http, line.proxy.https, first)


def reached(line, port: int) -> str | None:
    """The pod that answers there; None while none does."""
    with contextlib.suppress(OSError, ValueError):
        return request(line.proxy.address, port, "any.example").json["name"]
    return None


def is_refused(line, port: int) -> bool:
    """Nobody listens."""
    try:
        dial(line.proxy.address, port).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


@contextlib.contextmanager
def without(line, victim: str | None):
    """What is done within it is done while the victim is dead. A proxy comes back by itself."""
    if victim == "proxy":
        line.proxy.kill_proxy()
    elif victim is not None:
        line.daemon(victim).kill()
    yield
    if victim in DAEMONS:
        line.daemon(victim).start()


@pytest.mark.parametrize("victim", [None, *DAEMONS, "proxy"])
def test_the_life_of_a_service(line, pods, ports, victim):
    cluster, (one, two) = line.cluster, ports
    old, new = pods("old"), pods("new")
    with without(line, victim):
        cluster.apply(balancer_service(cluster, "db", one), balancer_slice(cluster, "db", [old.ip], 1))
    wait_for(lambda: reached(line, one) == "old", "the first port", PATIENCE)
    wait_for(lambda: cluster.addresses("db", "service") == [line.proxy.address], "the address of the Service", PATIENCE)
    assert finalizers(cluster, "db") == [CLEANUP]
    # A connection that is open goes on through everything but its proxy's death.
    with contextlib.closing(dial(line.proxy.address, one)) as link:
        with without(line, victim):
            cluster.apply(balancer_service(cluster, "db", one, two), balancer_slice(cluster, "db", [old.ip], 2))
        wait_for(lambda: reached(line, two) == "old", "the second port", PATIENCE)
        if victim != "proxy":
            link.sendall(b"GET /still HTTP/1.1\r\nHost: any.example\r\n\r\n")
            assert link.recv(4096).startswith(b"HTTP/1.1 200 ")
    wait_for(lambda: reached(line, one) == "old", "the first port, still", PATIENCE)
    with without(line, victim):
        cluster.apply(balancer_slice(cluster, "db", [new.ip], 2))
    wait_for(lambda: {reached(line, port) for port in ports} == {"new"}, "other endpoints", PATIENCE)
    with without(line, victim):
        cluster.kubectl("delete", "service", "db", "--wait=false")
    wait_for(lambda: cluster.get("service", "db") is None, "the Service to be gone", PATIENCE)
    wait_for(lambda: is_refused(line, one) and is_refused(line, two), "its listeners to be gone", PATIENCE)
    cluster.delete("endpointslice", "db-a")


def test_a_service_is_held_while_its_listener_stands(line, pods, ports):
    cluster = line.cluster
    cluster.apply(balancer_service(cluster, "db", ports[0]), balancer_slice(cluster, "db", [pods("db").ip], 1))
    wait_for(lambda: reached(line, ports[0]) == "db" and cluster.addresses("db", "service"), "the port and the address", PATIENCE)
    line.provider.kill()
    cluster.kubectl("delete", "service", "db", "--wait=false")
    lines = len(line.translator.lines)
    line.translator.restart()
    line.translator.wait_event("link-up", "peer=watcher", PATIENCE, since=lines)
    assert finalizers(cluster, "db") == [CLEANUP] and reached(line, ports[0]) == "db"
    line.provider.start()
    wait_for(lambda: cluster.get("service", "db") is None, "the Service to be gone", PATIENCE)
    wait_for(lambda: is_refused(line, ports[0]), "its listener to be gone", PATIENCE)
    cluster.delete("endpointslice", "db-a")


def test_a_service_that_becomes_another_type(line, pods, ports):
    cluster = line.cluster
    cluster.apply(balancer_service(cluster, "db", ports[0]), balancer_slice(cluster, "db", [pods("db").ip], 1))
    wait_for(lambda: reached(line, ports[0]) == "db" and cluster.addresses("db", "service"), "the port and the address", PATIENCE)
    cluster.patch("service", "db", {"spec": {"type": "ClusterIP", "loadBalancerClass": None}})
    wait_for(lambda: not cluster.addresses("db", "service") and not finalizers(cluster, "db"), "neither addresses nor our finalizer", PATIENCE)
    wait_for(lambda: is_refused(line, ports[0]), "its listener to be gone", PATIENCE)
    cluster.delete("service", "db")
    cluster.delete("endpointslice", "db-a")
