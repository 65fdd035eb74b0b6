# SPDX-License-Identifier: Apache-2.0
"""Real traffic through each local proxy: TLS, HTTP/2, WebSockets, gRPC, stickiness, draining, layer 4, and changes under load."""
from __future__ import annotations

import collections
import contextlib
import ssl

import pytest

from lib.backend import Backend, H2Backend, TcpBackend
from lib.certs import self_signed
from lib.local_proxy import LB, PATIENCE, certificate, endpoint_of, host, passthrough, pool
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import H2Client, WebSocket, dial, exchange, read_answer
from lib.wait import wait_for

GET = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request):
    """One proxy for all tests of the file, with a default certificate; each test takes its own objects away again."""
    with proxy_class(request.param)() as running:
        running.default = self_signed("default.test")
        running.apply(certificate("default", running.default), running.balancer(https=True, default_certificate="default"))
        yield running


@pytest.fixture
def apply(proxy):
    """proxy.apply(), and takes away afterwards what was added, and other listeners."""
    before = dict(proxy.translator.objects)
    yield proxy.apply
    added = [key for key in proxy.translator.objects if key not in before and key[0] != "load-balancer"]
    proxy.apply(proxy.balancer(https=True, default_certificate="default"), gone=added)


def shown(proxy, name: str | None) -> bytes:
    """The certificate that a client with that server name sees, in DER."""
    with contextlib.closing(dial(proxy.address, proxy.https, sni=name, tls=True)) as link:
        return link.getpeercert(binary_form=True)


# TLS


@pytest.mark.quick
def test_certificates_by_server_name(proxy, apply, pods):
    a, wild, exact = self_signed("a.test"), self_signed("*.w.test"), self_signed("x.w.test")
    apply(certificate("ns/a", a, "a.test"), certificate("ns/wild", wild, "*.w.test"), certificate("ns/exact", exact, "x.w.test"),
          pool("p", pods("p")), host("a.test", ("/", "p")))
    assert shown(proxy, "a.test") == a.der
    assert shown(proxy, "A.TEST") == a.der
    assert shown(proxy, "q.w.test") == wild.der
    assert shown(proxy, "x.w.test") == exact.der
    for other in ("p.q.w.test", "w.test", "unknown.test", "aa.test", None):
        assert shown(proxy, other) == proxy.default.der, other
    assert proxy.reached("a.test", tls=True) == "p"


def test_a_certificate_is_shown_for_its_hosts_only(proxy, apply):
    """The names that stand in the certificate do not count: nobody takes another's host by them."""
    greedy = self_signed("mine.test", "victim.test", "*.w.test")
    apply(certificate("ns/greedy", greedy, "mine.test"))
    assert shown(proxy, "mine.test") == greedy.der
    assert shown(proxy, "victim.test") == proxy.default.der
    assert shown(proxy, "x.w.test") == proxy.default.der


def test_a_certificate_comes_moves_and_goes(proxy, apply):
    one, two = self_signed("a.test"), self_signed("a.test")
    apply(certificate("one", one, "a.test"))
    assert shown(proxy, "a.test") == one.der
    apply(certificate("one", one), certificate("two", two, "a.test"))
    assert shown(proxy, "a.test") == two.der
    apply(gone=[("certificate", "one"), ("certificate", "two")])
    assert shown(proxy, "a.test") == proxy.default.der


def test_renewal_drops_no_connection(proxy, apply, pods):
    pairs = [self_signed("a.test") for _ in range(3)]
    apply(certificate("ns/a", pairs[0], "a.test"), pool("p", pods("p")), host("a.test", ("/", "p")))
    workers = proxy.workers()
    with contextlib.closing(dial(proxy.address, proxy.https, sni="a.test")) as link:
        for pair in pairs[1:]:
            link.sendall(GET)
            assert read_answer(link).status == 200
            apply(certificate("ns/a", pair, "a.test"))
            assert shown(proxy, "a.test") == pair.der
        link.sendall(GET)
        assert read_answer(link).status == 200
    assert not proxy.was_reloaded_since(workers)


def test_old_tls_is_refused(proxy):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with contextlib.closing(dial(proxy.address, proxy.https)) as link, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(link, server_hostname="a.test")


# Protocols


def test_http2_in_front(proxy, apply, pods):
    apply(pool("p", pods("p")), host("a.test", ("/", "p")))
    with H2Client(proxy.address, proxy.https, sni="a.test") as client:
        streams = [client.ask("a.test", f"/{number}", method="POST", body=b"x" * 1000) for number in range(20)]
        for number, stream in enumerate(streams):
            answer = client.wait(stream)
            assert (answer.status, answer.json["name"], answer.json["target"], answer.json["body"]) == (200, "p", f"/{number}", "x" * 1000)
        assert client.request("nobody.test").status == 404
        seen = {name.lower(): value for name, value in client.request("a.test", headers={"x-forwarded-for": "6.6.6.6"}).json["headers"]}
        assert seen["x-forwarded-proto"] == "https" and "6.6.6.6" not in str(seen)


@pytest.mark.parametrize("name", ["a.test", "some.wild.test", "rules.test"])
@pytest.mark.parametrize("scheme", ["http", "https", "HTTPS", "ftp"])
def test_a_scheme_of_http2_is_no_part_of_the_target(proxy, apply, pods, name, scheme):
    """Also one that a proxy does not know, on each way that a route is found."""
    apply(pool("p", pods("p")), host("a.test", ("/", "p")), host("*.wild.test", ("/", "p")), host("rules.test", ("/x", "p"), ("/", "p")))
    with H2Client(proxy.address, proxy.https, sni="a.test") as client:
        for target in ("/x?y=/", "/?y", "/"):
            answer = client.request(name, target, scheme=scheme)
            assert (answer.status, answer.json["target"]) == (200, target)


def test_grpc_to_an_h2c_backend(proxy, apply, pods):
    grpc = pods("grpc", H2Backend)
    apply(pool("g", grpc, protocol="h2c"), host("g.test", ("/", "g")))
    with H2Client(proxy.address, proxy.https, sni="g.test") as client:
        for number in range(3):
            answer = client.request("g.test", f"/echo.Echo/Say{number}", method="POST", body=b"\0\0\0\0\2hi",
                                    headers={"content-type": "application/grpc", "te": "trailers"})
            assert answer.status == 200 and answer.trailers.get("grpc-status", answer.headers.get("grpc-status")) == "0"
            assert answer.json["version"] == "HTTP/2" and answer.json["body"] == "\0\0\0\0\2hi"
    assert proxy.reached("g.test", "/plain") == "grpc"  # a client that speaks HTTP/1.1


def test_a_backend_that_speaks_tls(proxy, apply, pods):
    apply(pool("s", pods("s", tls=self_signed("s.internal")), protocol="https"), host("a.test", ("/", "s")))
    assert proxy.reached("a.test") == "s"
    assert proxy.reached("a.test", tls=True) == "s"


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_websocket_lives_through_changes(proxy, apply, pods, tls):
    apply(pool("p", pods("p")), host("a.test", ("/", "p")))
    port = proxy.https if tls else proxy.http
    with WebSocket(proxy.address, port, "a.test", "/chat", sni="a.test" if tls else None) as link:
        assert link.headers["x-backend"] == "p" and link.echo(b"hello") == b"hello"
        apply(pool("q", pods("q")), host("a.test", ("/", "q")), host("b.test", ("/", "p")))
        assert proxy.reached("a.test") == "q"
        assert link.echo(b"still there") == b"still there"
    with pytest.raises(ConnectionError):
        WebSocket(proxy.address, proxy.http, "nobody.test")


def test_a_long_answer_ends_though_its_route_is_gone(proxy, apply, pods):
    pod = pods("p")
    apply(pool("p", pod), host("a.test", ("/", "p")))
    with contextlib.closing(dial(proxy.address, proxy.http)) as link:
        link.sendall(b"GET /?stream HTTP/1.1\r\nHost: a.test\r\n\r\n")
        wait_for(lambda: pod.count == 1, "the request to arrive", PATIENCE)
        apply(gone=[("virtual-host", f"{LB}/a.test")])
        assert proxy.reached("a.test") == 404
        pod.release()
        assert read_answer(link).json["name"] == "p"


# Endpoints


def names_of(proxy, count: int, name: str = "a.test") -> collections.Counter:
    return collections.Counter(proxy.reached(name) for _ in range(count))


@pytest.mark.quick
def test_load_is_spread_over_all_endpoints(proxy, apply, pods):
    started = [pods(f"p{number}") for number in range(4)]
    apply(pool("p", *started), host("a.test", ("/", "p")))
    wait_for(lambda: len(names_of(proxy, 12)) == 4, "all to be asked", PATIENCE)
    counts = names_of(proxy, 80)
    assert sum(counts.values()) == 80 and set(counts) == {pod.name for pod in started} and min(counts.values()) >= 8, counts


def test_an_endpoint_that_only_drains_gets_nothing_new(proxy, apply, pods):
    old, new = pods("old"), pods("new")
    apply(pool("p", old), host("a.test", ("/", "p")))
    with contextlib.closing(dial(proxy.address, proxy.http)) as link:
        link.sendall(b"GET /?hold HTTP/1.1\r\nHost: a.test\r\n\r\n")
        wait_for(lambda: old.count == 1, "the request to arrive", PATIENCE)
        apply(pool("p", endpoint_of(old, active=False), new))
        assert names_of(proxy, 20) == {"new": 20}
        old.release()
        assert read_answer(link).json["name"] == "old"
    apply(pool("p", endpoint_of(old, active=False)))
    assert proxy.reached("a.test") == 503
    apply(pool("p"))
    assert proxy.reached("a.test") == 503
    apply(pool("p", old))
    assert proxy.reached("a.test") == "old"


def test_an_endpoint_that_does_not_listen_costs_no_request(proxy, apply, pods):
    pod = pods("p")
    dead = pods("dead")
    dead.stop()
    apply(pool("p", pod, (dead.ip, 8080)), host("a.test", ("/", "p")))
    assert names_of(proxy, 20) == {"p": 20}


def test_a_sticky_client_stays_while_its_endpoint_lives(proxy, apply, pods):
    started = {name: pods(name) for name in ("p0", "p1", "p2")}
    apply(pool("p", *started.values(), stickiness={"cookie": "sid", "mode": "insert", "indirect": True, "nocache": True}), host("a.test", ("/", "p")))
    first = proxy.request("a.test")
    cookie = first.headers["set-cookie"].split(";")[0]
    mine = first.json["name"]
    assert cookie.startswith("sid=") and started[mine].ip not in cookie
    sticky = {"headers": {"Cookie": cookie}}
    assert {proxy.reached("a.test", **sticky) for _ in range(12)} == {mine}
    assert len(names_of(proxy, 30)) == 3  # those without a cookie are spread
    # It drains: who has the cookie stays, nobody new comes.
    rest = [pod for name, pod in started.items() if name != mine]
    sticking = {"stickiness": {"cookie": "sid", "mode": "insert", "indirect": True, "nocache": True}}
    apply(pool("p", endpoint_of(started[mine], active=False), *rest, **sticking))
    assert {proxy.reached("a.test", **sticky) for _ in range(6)} == {mine}
    assert mine not in names_of(proxy, 20)
    # It is gone: who has the cookie goes elsewhere.
    apply(pool("p", *rest, **sticking))
    assert proxy.reached("a.test", **sticky) in {pod.name for pod in rest}
    assert proxy.reached("a.test", headers={"Cookie": "sid=forged\"';"}) in {pod.name for pod in rest}


def test_endpoints_of_both_families(proxy, apply, pods):
    """It needs ::1 and nothing else of IPv6, which is there without any network."""
    four, six = pods("four"), pods("six", ip="::1", port=0)
    apply(pool("p", four, six), host("a.test", ("/", "p")))
    wait_for(lambda: set(names_of(proxy, 8)) == {"four", "six"}, "both", PATIENCE)


def test_a_health_check_takes_an_endpoint_out_and_in(proxy, apply, pods):
    good, bad = pods("good"), pods("bad")
    check = {"service": "web", "type": "http", "path": "/healthz", "interval_ms": 200, "timeout_ms": 5000, "rise": 1, "fall": 1}
    apply(pool("p", good, bad, health_check=check), host("a.test", ("/", "p")))
    wait_for(lambda: len(names_of(proxy, 8)) == 2, "both", PATIENCE)
    bad.is_healthy = False
    wait_for(lambda: names_of(proxy, 8) == {"good": 8}, "only the healthy one", PATIENCE)
    bad.is_healthy = True
    wait_for(lambda: len(names_of(proxy, 8)) == 2, "both again", PATIENCE)


# Layer 4


def greeting(address: str, port: int, source: str | None = None) -> str:
    """The first line of a TCP backend; "" when the connection is closed or refused."""
    try:
        with contextlib.closing(dial(address, port, source=source)) as link:
            return link.makefile("r").readline().strip()
    except OSError:
        return ""


def test_tcp_goes_through_and_follows_endpoints(proxy, apply, pods):
    one, two = pods("one", TcpBackend), pods("two", TcpBackend)
    port = proxy.other_port(proxy.http, proxy.https)
    listener = {"port": port, "protocol": "tcp", "pool": "t", "service": "default/db"}
    apply(pool("t", one, protocol="tcp"), proxy.balancer(https=True, default_certificate="default", listeners=[listener]))
    wait_for(lambda: greeting(proxy.address, port) == "one", "the new listener", PATIENCE)
    with contextlib.closing(dial(proxy.address, port)) as link:
        reader = link.makefile("rb")
        assert reader.readline() == b"one\n"
        apply(pool("t", two, protocol="tcp"))
        assert greeting(proxy.address, port) == "two"
        link.sendall(b"x" * 5000 + b"\n")
        assert reader.readline() == b"x" * 5000 + b"\n"
    apply(pool("t", protocol="tcp"))
    assert greeting(proxy.address, port) == ""


def test_source_ranges(proxy, apply, pods):
    port = proxy.other_port(proxy.http, proxy.https)
    listener = {"port": port, "protocol": "tcp", "pool": "t", "source_ranges": ["127.0.0.8/31", "10.0.0.0/8"], "service": "default/db"}
    assert "source-ranges" in proxy.translator.hello["capabilities"]["features"], "without it Services that ask for ranges are not served"
    apply(pool("t", pods("t", TcpBackend), protocol="tcp"), proxy.balancer(https=True, default_certificate="default", listeners=[listener]))
    wait_for(lambda: greeting(proxy.address, port, "127.0.0.9") == "t", "the new listener", PATIENCE)
    assert greeting(proxy.address, port, "127.0.0.8") == "t"
    assert greeting(proxy.address, port, "127.0.0.10") == ""
    assert greeting(proxy.address, port, "127.0.0.1") == ""


def test_tls_is_passed_through_by_server_name(proxy, apply, pods):
    inner, outer = self_signed("pass.test"), self_signed("a.test")
    apply(certificate("ns/a", outer, "a.test"), pool("inside", pods("inside", tls=inner), protocol="tcp"), pool("p", pods("p")),
          passthrough("pass.test", "inside"), passthrough("*.deep.test", "inside"), host("a.test", ("/", "p")), host("pass.test", ("/", "p")))
    wait_for(lambda: shown(proxy, "pass.test") == inner.der, "the backend's own certificate", PATIENCE)
    assert shown(proxy, "PASS.test") == inner.der and shown(proxy, "x.deep.test") == inner.der
    assert shown(proxy, "a.test") == outer.der and shown(proxy, "x.y.deep.test") == proxy.default.der
    assert proxy.reached("pass.test", tls=True) == "inside"
    assert proxy.reached("pass.test") == "p"  # plain HTTP is an ordinary virtual host
    assert proxy.reached("a.test", tls=True) == "p"
    answer = exchange(proxy.address, proxy.https, GET, sni="a.test", source="127.0.0.9").json
    assert dict(answer["headers"]).get("X-Forwarded-For", dict(answer["headers"]).get("x-forwarded-for")) == "127.0.0.9"
