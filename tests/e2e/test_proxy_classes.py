# SPDX-License-Identifier: Apache-2.0
"""Several IngressClasses of ours on one local proxy: they share its listeners, or have an address and ports of their own.

A listener that comes or goes is a reload, at which nginx closes connections that idle: those tests connect for each request."""
from __future__ import annotations

import contextlib
import http.client

import pytest

from lib.addresses import Address
from lib.local_proxy import LB, PATIENCE, host, pool
from lib.network import own_network
from lib.proxies import PROXIES, proxy_class
from lib.proxy_line import ProxyLine
from lib.traffic import Load, Traffic, request
from lib.wait import wait_for

CONTROLLER = "sluice.io/ingress-controller"


@pytest.fixture(params=PROXIES)
def line(request):
    with ProxyLine(request.param) as running:
        yield running


@pytest.fixture
def address(line):
    """One more address beside that of the proxy."""
    other = Address(line.proxy.network)
    yield other.ip
    other.release()


def ingress_class(name: str, **annotations: str) -> dict:
    own = {f"sluice.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name, "annotations": own},
            "spec": {"controller": CONTROLLER}}


def ingress(line, name: str, of: str, service: str, host_name: str | None = None) -> dict:
    rules = [{"host": host_name or f"{name}.test", "paths": [("/", "Prefix", service, 80)]}]
    return line.cluster.ingress(name, rules, ingressClassName=of)


def deploy(line, pods, *services: str) -> None:
    for service in services:
        pod = pods(service)
        line.cluster.apply(line.cluster.service(service), line.cluster.slice(service, [pod.ip]))


def reached(address: str, port: int, name: str) -> str | int:
    with contextlib.suppress(OSError, http.client.HTTPException):
        got = request(address, port, name, timeout=30.0)
        return got.json["name"] if got.status == 200 else got.status
    return 0


def wait_reaches(address: str, port: int, name: str, what: str | int) -> None:
    wait_for(lambda: reached(address, port, name) == what, f"{name} at {address}:{port} to give {what}", PATIENCE)


def test_two_classes_share_the_listeners(line, pods):
    deploy(line, pods, "one", "two")
    line.cluster.apply(ingress_class("public"), ingress(line, "first", "public", "one"))
    line.wait_serves("first.test", "/", "one")
    with Load(line.proxy.address, line.proxy.http, [("first.test", "/")]) as load:
        line.cluster.apply(ingress_class("inner"), ingress(line, "second", "inner", "two"),
                           ingress(line, "third", "inner", "two", "first.test"))
        line.wait_serves("second.test", "/", "two")
        for name in ("first", "second"):
            assert line.cluster.wait_addresses(name, 1, PATIENCE) == [line.proxy.address]
        # What both want is settled as among the Ingresses of one class.
        line.cluster.wait_event("third", "PathConflict", "default/first", PATIENCE)
        assert line.proxy.reached("first.test") == "one"
        line.cluster.delete("ingress", "second")
        line.cluster.delete("ingress", "third")
        line.cluster.delete("ingressclass", "inner")
        wait_for(lambda: line.proxy.reached("second.test") == 404, "the second class to be gone", PATIENCE)
    assert load.failures == [] and load.good > 0


def test_a_class_with_an_address_of_its_own(line, pods, address):
    deploy(line, pods, "one", "two")
    line.cluster.apply(ingress_class("public"), ingress(line, "first", "public", "one", "web.test"))
    line.wait_serves("web.test", "/", "one")
    with Traffic(line.proxy.address, line.proxy.http, "web.test") as load:
        line.cluster.apply(ingress_class("inner", bind_address=address), ingress(line, "second", "inner", "two", "web.test"))
        wait_reaches(address, line.proxy.http, "web.test", "two")
        assert line.cluster.wait_addresses("second", 1, PATIENCE) == [address]
        assert line.cluster.wait_addresses("first", 1, PATIENCE) == [line.proxy.address]
        assert not line.cluster.events("second", "PathConflict")
        # Between sharing and an address of its own, while somebody asks there.
        line.cluster.annotate("ingressclass", "inner", **{"sluice.io/bind-address": None})
        wait_for(lambda: line.cluster.addresses("second") == [line.proxy.address], "the shared address", PATIENCE)
        line.cluster.annotate("ingressclass", "inner", **{"sluice.io/bind-address": address})
        wait_reaches(address, line.proxy.http, "web.test", "two")
        line.cluster.delete("ingress", "second")
        line.cluster.delete("ingressclass", "inner")
        wait_for(lambda: reached(address, line.proxy.http, "web.test") == 0, "the address to be given up", PATIENCE)
    assert load.failures == [] and load.good > 0


def test_of_two_classes_the_older_keeps_the_port(line, pods, address):
    deploy(line, pods, "one", "two")
    line.cluster.apply(ingress_class("a-class", bind_address=address), ingress(line, "first", "a-class", "one"))
    wait_reaches(address, line.proxy.http, "first.test", "one")
    port = str(line.proxy.other_port(line.proxy.http, line.proxy.https))
    with Traffic(address, line.proxy.http, "first.test") as load:
        line.cluster.apply(ingress_class("b-class", bind_address=address, https_port=port), ingress(line, "second", "b-class", "two"))
        line.cluster.wait_event("b-class", "PortConflict", "a-class", PATIENCE)
        # When the older goes the younger has the port.
        assert reached(address, line.proxy.http, "second.test") == 404
    assert load.failures == [] and load.good > 0
    line.cluster.delete("ingress", "first")
    line.cluster.delete("ingressclass", "a-class")
    wait_reaches(address, line.proxy.http, "second.test", "two")


# An address beside all addresses, without the line


def own_balancer(address: str, port: int) -> dict:
    return {"kind": "load-balancer", "id": "own", "class": "own",
            "listeners": [{"port": port, "protocol": "http", "address": address, "created": 9}]}


def own_host(name: str, pool_id: str) -> dict:
    return {**host(name, ("/", pool_id)), "id": f"own/{name}", "load_balancer": "own"}


@pytest.mark.parametrize("name", PROXIES)
def test_an_address_beside_all_addresses(pods, name):
    with own_network(), proxy_class(name)() as proxy:
        one, two = pods("one"), pods("two")
        other = "127.99.0.1"
        everywhere = {"kind": "load-balancer", "id": LB, "class": "sluice",
                      "listeners": [{"port": proxy.http, "protocol": "http", "address": "0.0.0.0", "created": 5}]}
        shared = [everywhere, host("web.test", ("/", "one"))]
        keys = [("load-balancer", LB), ("virtual-host", "sluice/web.test")]
        own = [own_balancer(other, proxy.http), own_host("web.test", "two")]
        own_keys = [("load-balancer", "own"), ("virtual-host", "own/web.test")]

        def put(*objects: dict, gone: list | None = None) -> None:
            proxy.send(*objects)
            proxy.remove(*(gone or []))
            proxy.commit()

        put(pool("one", one), pool("two", two), *shared)
        wait_reaches(proxy.address, proxy.http, "web.test", "one")
        with Traffic(proxy.address, proxy.http, "web.test") as load:
            put(*own)
            wait_reaches(other, proxy.http, "web.test", "two")
            put(gone=own_keys)
            wait_reaches(other, proxy.http, "web.test", "one")
            put(*own)
            wait_reaches(other, proxy.http, "web.test", "two")
        assert load.failures == [] and load.good > 0
        with Traffic(other, proxy.http, "web.test") as load:
            put(gone=keys)
            wait_for(lambda: reached(proxy.address, proxy.http, "web.test") == 0, "all addresses but one to be given up", PATIENCE)
            put(*shared)
            wait_reaches(proxy.address, proxy.http, "web.test", "one")
        assert load.failures == [] and load.good > 0
        # At once, with no moment at which both are wanted.
        put(*shared, gone=own_keys)
        wait_reaches(other, proxy.http, "web.test", "one")
        put(*own, gone=keys)
        wait_reaches(other, proxy.http, "web.test", "two")
        wait_for(lambda: reached(proxy.address, proxy.http, "web.test") == 0, "the rest to be given up", PATIENCE)
        put(*shared, gone=own_keys)
        wait_reaches(other, proxy.http, "web.test", "one")


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("name", PROXIES)
def test_another_load_balancer_takes_over(pods, name, restarted):
    """As after an upgrade, or when a class gets listeners of its own where it had shared ones: nobody who asks meanwhile notices."""
    with proxy_class(name)() as proxy:
        one = pods("one")
        targets = [f"h{number}.test" for number in range(200)]

        def balancer(key: str) -> list[dict]:
            hosts = [{**host(target, ("/", "one")), "id": f"{key}/{target}", "load_balancer": key} for target in targets]
            return [{**proxy.balancer(), "id": key}, *hosts]

        def keys(objects: list[dict]) -> list[tuple[str, str]]:
            return [(item["kind"], item["id"]) for item in objects]

        def is_applied(key: str) -> bool:
            return (proxy.translator.status(key) or {}).get("state") == "applied"

        proxy.send(pool("one", one), *balancer("class/former"))
        proxy.commit()
        wait_reaches(proxy.address, proxy.http, targets[-1], "one")
        wait_for(lambda: is_applied("class/former"), "the former one to be applied", PATIENCE)
        with Traffic(proxy.address, proxy.http, targets[0], pause=0.001) as load, Traffic(proxy.address, proxy.http, targets[-1], pause=0.001) as more:
            if restarted:
                proxy.kill_provider()
            proxy.send(*balancer("class/sluice"))
            proxy.remove(*keys(balancer("class/former")))
            proxy.commit()
            if restarted:
                proxy.start()
            wait_for(lambda: is_applied("class/sluice"), "the next one to be applied", PATIENCE)
            before = load.good
            wait_for(lambda: load.good > before + 100, "traffic to go on", PATIENCE)
        assert load.failures == [] and more.failures == []
