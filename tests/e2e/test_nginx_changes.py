# SPDX-License-Identifier: Apache-2.0
"""provider-nginx: what changes without a reload, what needs one, and that nobody's request is lost meanwhile."""
from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time

import pytest

from lib.backend import Backend, TcpBackend
from lib.certs import self_signed
from lib.local_proxy import LB, certificate, endpoint_of, host, passthrough, pool
from lib.nginx import Nginx
from lib.wait import wait_for

WATCHED = ("a.test", "b.test", "c.test")


class Client:
    """Requests on one connection that is kept; every status but 200 and every lost connection counts."""

    def __init__(self, address: str, port: int, hosts: tuple[str, ...]):
        self.target = (address, port)
        self.hosts = hosts
        self.good = 0
        self.failures: list[str] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        connection = http.client.HTTPConnection(*self.target, timeout=60)
        while not self._end.is_set():
            name = self.hosts[self.good % len(self.hosts)]
            try:
                connection.request("GET", "/", headers={"Host": name})
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    self.good += 1
                else:
                    self.failures.append(f"{name}: {answer.status}")
            except (OSError, http.client.HTTPException) as problem:
                self.failures.append(f"{name}: {problem!r}")
                connection.close()
                return
        connection.close()

    def __enter__(self) -> "Client":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(90)


@pytest.fixture
def proxy():
    with Nginx() as one:
        yield one


@pytest.fixture
def pods():
    running = [Backend(name) for name in ("one", "two", "three")]
    yield running
    for pod in running:
        pod.stop()


def test_mixed_changes_without_a_reload(proxy, pods):
    """Endpoints, routes and certificates change in many commits while clients keep their connections."""
    pairs = [self_signed("a.test") for _ in range(4)]
    proxy.apply(certificate("cert", pairs[0], "a.test"), *(pool(pod.name, pod) for pod in pods),
                *(host(name, ("/", "one")) for name in WATCHED), proxy.balancer(https=True))
    workers = proxy.workers()
    chance = random.Random(4)
    serial = 0
    with Client(proxy.address, proxy.http, WATCHED) as first, Client(proxy.address, proxy.http, WATCHED) as second:
        for number in range(1500):
            what = number % 4
            if what == 0:
                name = chance.choice(("one", "two", "three"))
                proxy.send(pool(name, *chance.sample(pods, chance.randint(1, 3))))
            elif what == 1:
                rules = [(f"/{serial % 50}", "two"), ("/", chance.choice(("one", "two", "three")))]
                proxy.send(host(chance.choice(WATCHED), *rules))
                serial += 1
            elif what == 2:
                proxy.send(host(f"h{number % 97}.test", ("/x", "one"), ("/", "three")))
            else:
                proxy.send(certificate("cert", chance.choice(pairs), "a.test", f"h{number % 13}.test"))
            if number % 3 == 0:
                proxy.commit()
        proxy.apply(certificate("cert", pairs[1], "a.test"))
        wait_for(lambda: min(first.good, second.good) > 20, "clients to have asked", 90)
    assert first.failures == [] and second.failures == []
    assert proxy.workers() == workers, "there was a reload"
    assert proxy.request("a.test", tls=True).certificate == pairs[1].der


def test_certificates_by_server_name(proxy, pods):
    first, wild, default = self_signed("a.test"), self_signed("*.w.test"), self_signed("default.test")
    proxy.apply(certificate("first", first, "a.test"), certificate("wild", wild, "*.w.test"), certificate("default", default),
                pool("one", pods[0]), host("", ("/", "one")), proxy.balancer(https=True, default_certificate="default"))
    workers = proxy.workers()

    def shown(name: str) -> bytes:
        return proxy.request("x.test", tls=True, sni=name).certificate

    assert [shown(name) for name in ("a.test", "A.test", "x.w.test", "y.x.w.test", "w.test", "other.test")] == \
        [first.der, first.der, wild.der, default.der, default.der, default.der]
    renewed = self_signed("a.test")
    proxy.apply(certificate("first", renewed, "a.test", "x.w.test"))
    assert [shown(name) for name in ("a.test", "x.w.test", "y.w.test")] == [renewed.der, renewed.der, wild.der]
    proxy.apply(gone=[("certificate", "first")])
    assert [shown(name) for name in ("a.test", "x.w.test")] == [default.der, wild.der]
    assert proxy.workers() == workers


def test_new_port_by_one_reload(proxy, pods):
    """A listener that comes or goes needs a reload; requests that run go on."""
    other = proxy.other_port(proxy.http, proxy.https)
    proxy.apply(pool("one", pods[0]), host("a.test", ("/", "one")), proxy.balancer())
    before = proxy.workers()
    held = {}
    thread = threading.Thread(target=lambda: held.update(status=proxy.request("a.test", "/?hold").status))
    thread.start()
    wait_for(lambda: pods[0].count == 1, "the request to be held", 90)
    proxy.apply(proxy.balancer(listeners=[{"port": other, "protocol": "http"}]))
    assert not set(proxy.workers()) <= set(before)
    assert http_status(proxy.address, other, "a.test") == 200
    pods[0].release()
    thread.join(90)
    assert held == {"status": 200}
    proxy.apply(proxy.balancer())
    wait_for(lambda: not listens(proxy.address, other), "the port to be closed", 90)
    assert proxy.answers("a.test")


def test_reloads_are_coalesced(pods):
    """However fast listeners come and go, no two reloads are nearer than the interval, and the last wish is what is there."""
    interval_s = 4
    with Nginx(arguments=["--reload-interval", str(interval_s)]) as proxy:
        ports = [proxy.other_port(proxy.http, proxy.https) for _ in range(2)]
        proxy.apply(pool("one", pods[0]), host("a.test", ("/", "one")), proxy.balancer())
        before, start = len(proxy.provider.events("reloaded")), time.monotonic()
        for number in range(3):
            for _ in range(10):
                proxy.send(proxy.balancer(listeners=[{"port": ports[number % 2], "protocol": "http"}]))
                proxy.commit()
            proxy.apply()
        reloads = len(proxy.provider.events("reloaded")) - before
        assert reloads >= 3
        # A slow machine makes them fewer, never more; the second is for what passes between a reload and its line in the log.
        assert (reloads - 1) * interval_s <= time.monotonic() - start + 1
        assert http_status(proxy.address, ports[0], "a.test") == 200


def http_status(address: str, port: int, name: str) -> int:
    connection = http.client.HTTPConnection(address, port, timeout=60)
    connection.request("GET", "/", headers={"Host": name})
    return connection.getresponse().status


def listens(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def greeting(address: str, port: int, source: str | None = None) -> bytes:
    """What a TCP backend says first; nothing when the connection is closed."""
    try:
        with socket.create_connection((address, port), timeout=60, source_address=(source, 0) if source else None) as link:
            return link.recv(100)
    except OSError:
        return b""


def tcp_listener(port: int, pool_id: str, **more):
    return {"port": port, "protocol": "tcp", "pool": pool_id, "service": "default/db", **more}


def test_tcp_listener_and_source_ranges(proxy):
    port = proxy.other_port(proxy.http, proxy.https)
    with TcpBackend("one") as one, TcpBackend("two") as two:
        proxy.apply(pool("db", one, protocol="tcp"), proxy.balancer(listeners=[tcp_listener(port, "db")]))
        assert greeting(proxy.address, port) == b"one\n"
        proxy.apply(pool("db", two, protocol="tcp"))
        wait_for(lambda: greeting(proxy.address, port) == b"two\n", "the other endpoint", 90)
        proxy.apply(proxy.balancer(listeners=[tcp_listener(port, "db", source_ranges=["127.77.0.0/16"])]))
        wait_for(lambda: greeting(proxy.address, port) == b"", "others to be kept out", 90)
        assert greeting(proxy.address, port, "127.77.3.4") == b"two\n"
        proxy.apply(pool("db", protocol="tcp"))
        wait_for(lambda: greeting(proxy.address, port, "127.77.3.4") == b"", "nobody to be there", 90)


def test_passthrough_beside_terminated_hosts(proxy, pods):
    """The client's address survives both hops for hosts that are opened here, and endpoints of the others get no PROXY header."""
    inner, outer = self_signed("inner.test"), self_signed("a.test")
    with Backend("inner", port=8443, tls=inner) as pod:
        proxy.apply(certificate("outer", outer, "a.test"), pool("one", pods[0]), host("a.test", ("/", "one")),
                    proxy.balancer(https=True))
        proxy.apply(pool("tls", pod, protocol="tcp"), passthrough("inner.test", "tls"), passthrough("*.inner.test", "tls"))
        wait_for(lambda: proxy.answers("inner.test", tls=True), "the host to be passed through", 90)
        for name, want in (("inner.test", inner), ("INNER.test", inner), ("x.inner.test", inner), ("y.x.inner.test", None), ("a.test", outer)):
            got = proxy.request("a.test", tls=True, sni=name)
            assert got.status == 200
            assert (got.certificate == want.der) if want else got.certificate not in (inner.der, outer.der), name
        seen = dict(proxy.request("a.test", tls=True).json["headers"])
        assert seen["X-Forwarded-For"].startswith("127.") and seen["X-Forwarded-Port"] == str(proxy.https)
        proxy.apply(gone=[("virtual-host", f"{LB}/passthrough/inner.test"), ("virtual-host", f"{LB}/passthrough/*.inner.test")])

        def is_over() -> bool:
            try:
                return proxy.request("a.test", tls=True, sni="inner.test").certificate != inner.der
            except OSError:
                return False  # a host that is passed through no more may lose connections of the old worker

        wait_for(is_over, "an end of passing through", 90)


def test_stickiness_and_draining(proxy, pods):
    sticky = {"cookie": "WHERE", "mode": "insert", "indirect": True}
    proxy.apply(pool("all", *pods, stickiness=sticky), host("a.test", ("/", "all")), proxy.balancer())
    first = proxy.request("a.test")
    cookie = first.headers["set-cookie"].split(";")[0]
    assert cookie.startswith("WHERE=")
    for _ in range(12):
        again = proxy.request("a.test", headers={"Cookie": f"other=1; {cookie}"})
        assert again.json["name"] == first.json["name"] and "set-cookie" not in again.headers
        assert dict(again.json["headers"])["Cookie"] == "other=1"
    assert {proxy.reached("a.test") for _ in range(30)} == {"one", "two", "three"}
    name = first.json["name"]
    proxy.apply(pool("all", *(endpoint_of(pod, active=pod.name != name) for pod in pods), stickiness=sticky))
    assert proxy.reached("a.test", headers={"Cookie": cookie}) == name, "a draining endpoint keeps its clients"
    assert name not in {proxy.reached("a.test") for _ in range(20)}
    proxy.apply(pool("all", *(pod for pod in pods if pod.name != name), stickiness=sticky))
    moved = proxy.request("a.test", headers={"Cookie": cookie})
    assert moved.json["name"] != name and moved.headers["set-cookie"].split(";")[0] != cookie


def test_dead_endpoint_costs_no_request(proxy, pods):
    """Connections that are refused are tried elsewhere."""
    proxy.apply(pool("all", *pods), host("a.test", ("/", "all")), proxy.balancer())
    pods[1].stop()
    assert {proxy.reached("a.test") for _ in range(40)} == {"one", "three"}


def test_health_checks(proxy, pods):
    check = {"service": "web", "type": "http", "path": "/healthz", "interval_ms": 100, "rise": 1, "fall": 2}
    proxy.apply(pool("all", *pods, health_check=check), host("a.test", ("/", "all")), proxy.balancer())
    assert {proxy.reached("a.test") for _ in range(30)} == {"one", "two", "three"}
    pods[0].is_healthy = False
    wait_for(lambda: {proxy.reached("a.test") for _ in range(20)} == {"two", "three"}, "the unwell one to be left out", 90)
    pods[0].is_healthy = True
    wait_for(lambda: "one" in {proxy.reached("a.test") for _ in range(20)}, "it to be taken back", 90)


def late(proxy) -> list[str]:
    """Whom the provider tells that their health checks are late."""
    return [notice["service"] for notice in proxy.wait_applied().get("notices", []) if notice["reason"] == "HealthChecksLate"]


def test_a_namespace_whose_health_checks_come_late_is_told(proxy, pods):
    """More endpoints than its share of checks, none of which is answered before its time is over; the neighbour's are in time."""
    check = {"service": "web", "type": "http", "path": "/healthz", "interval_ms": 200, "timeout_ms": 2000, "rise": 1, "fall": 2}
    with socket.create_server(("0.0.0.0", 0), backlog=4096) as mute:  # takes connections, and never says a word
        endpoints = [(f"127.77.{i // 250}.{i % 250 + 1}", mute.getsockname()[1]) for i in range(300)]
        greedy = {**pool("greedy", *endpoints, health_check=check), "service": {"namespace": "greedy", "name": "mute", "uid": "u"}}
        proxy.apply(greedy, pool("all", *pods, health_check=check), host("a.test", ("/", "all")), host("b.test", ("/", "greedy")), proxy.balancer())
        wait_for(lambda: late(proxy) == ["greedy/mute"], "its owner to be told, and nobody else")
        pods[0].is_healthy = False
        wait_for(lambda: {proxy.reached("a.test") for _ in range(20)} == {"two", "three"}, "the neighbour's unwell one to be left out")
        assert late(proxy) == ["greedy/mute"]
    proxy.apply(gone=[("pool", "greedy"), ("virtual-host", "sluice/b.test")])
    wait_for(lambda: late(proxy) == [], "the word to be taken back")


def test_every_endpoint_keeps_its_connection(proxy):
    """Also when they are more than any one of nginx's lists of connections holds, and are asked in turn."""
    pods = [Backend(str(number)) for number in range(300)]
    connection = http.client.HTTPConnection(proxy.address, proxy.http, timeout=60)  # kept, so one worker answers

    def ask_all() -> int:
        """How many connections that makes."""
        before = sum(pod.accepted for pod in pods)
        for pod in pods:
            connection.request("GET", "/", headers={"Host": f"h{pod.name}.test"})
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["name"]) == (200, pod.name)
        return sum(pod.accepted for pod in pods) - before

    try:
        proxy.apply(proxy.balancer(), *(pool(f"p{pod.name}", pod) for pod in pods), *(host(f"h{pod.name}.test", ("/", f"p{pod.name}")) for pod in pods))
        # A worker of before the reload may have taken our connection; it ends it, and the next one has connections of its own.
        connection.connect()
        socket = None
        while socket is not connection.sock:
            socket = connection.sock
            ask_all()
        assert all(pod.accepted for pod in pods)
        assert ask_all() == 0 and socket is connection.sock
    finally:
        connection.close()
        for pod in pods:
            pod.stop()


def test_a_connection_is_not_used_for_who_has_the_address_next(proxy, pods):
    """An endpoint leaves, and another pool gets one at its address while nginx still has a connection to the former."""
    one, two, _ = pods
    connection = http.client.HTTPConnection(proxy.address, proxy.http, timeout=60)

    def ask(name: str) -> str:
        connection.request("GET", "/", headers={"Host": name})
        answer = connection.getresponse()
        assert answer.status == 200
        return json.loads(answer.read())["name"]

    proxy.apply(proxy.balancer(), pool("a", one), pool("b", two), host("a.test", ("/", "a")), host("b.test", ("/", "b")))
    assert [ask("a.test"), ask("a.test"), ask("b.test")] == ["one", "one", "two"]
    assert one.accepted == 1
    proxy.apply(pool("a", two))
    assert ask("a.test") == "two"
    proxy.apply(pool("b", one))
    assert ask("b.test") == "one"
    assert one.accepted == 2
    connection.close()
