# SPDX-License-Identifier: Apache-2.0
"""Proxies in front as a load balancer object names them: by headers and by the PROXY protocol, changed under way; and as the ConfigMap of ingress-nginx does, through the whole line."""
from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Any, Iterator

import pytest

from lib.answer import Answer
from lib.backend import Backend
from lib.certs import self_signed
from lib.ctl import Ctl
from lib.ingress_cases import config_map
from lib.line import DAEMONS
from lib.local_proxy import PATIENCE, LocalProxy, certificate, host, passthrough, pool, rule_of
from lib.proxies import PROXIES, proxy_class
from lib.proxy_line import ProxyLine
from lib.raw_http import client_context, dial, read_answer
from lib.traffic import Load
from lib.wait import wait_for

FRONT, STRANGER = "127.0.0.77", "127.0.0.78"  # a proxy in front, and somebody else
BELIEVED = {"trusted": ["127.0.0.77", "10.0.0.0/8"], "believes_scheme": True}
FEW = {"kind": "policy", "id": "few", "rev": 1, "source_access": {"allow": ["203.0.113.0/24", "2001:db8::/32"]}}
PIECES = {"kind": "policy", "id": "pieces", "rev": 1, "request_headers": [{"name": "X-Piece", "value": [{"value": "port"}]}]}
SAFE = {"kind": "policy", "id": "safe", "rev": 1, "https_redirect": 308}
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}


@contextlib.contextmanager
def served(name: str, *arguments: str) -> Iterator[LocalProxy]:
    pair = self_signed("open.test")
    with Backend("app") as app, proxy_class(name)(arguments=list(arguments)) as proxy:
        proxy.send(pool("app", app), FEW, PIECES, SAFE, certificate("c", pair, "open.test", "few.test", "safe.test"), host("open.test", ("/", "app")),
                   host("few.test", rule_of("/", "app", policy="few")), host("safe.test", rule_of("/", "app", policy="safe")), host("pieces.test", rule_of("/", "app", policy="pieces")))
        yield proxy


def serve(proxy: LocalProxy, forwarding: dict[str, Any] | None, reads_proxy: bool = False, **more: Any) -> None:
    """The load balancer as it is from now on."""
    balancer = proxy.balancer(https=True, **({"forwarding": forwarding} if forwarding else {}), **more)
    for listener in balancer["listeners"] if reads_proxy else []:
        listener["reads_proxy"] = True
    proxy.apply(balancer)


def proxy_header(client: str, port: int = 1234, to: int = 443) -> bytes:
    """Version 1 of the PROXY protocol, as a load balancer in front speaks it; `to`: the port that the client connected to."""
    family, our = ("TCP6", "::1") if ":" in client else ("TCP4", "127.0.0.1")
    return f"PROXY {family} {client} {our} {port} {to}\r\n".encode()


def proxy_header_2(client: str) -> bytes:
    """Version 2, of IPv4."""
    return b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + socket.inet_aton(client) + socket.inet_aton("127.0.0.1") + b"\x04\xd2\x01\xbb"


def ask(proxy: LocalProxy, name: str, headers: dict[str, str] | None = None, source: str = FRONT, tls: bool = False, first: bytes = b"") -> Answer:
    """One request; `first` is sent before all else."""
    link = dial(proxy.address, proxy.https if tls else proxy.http, source=source)
    with contextlib.closing(link):
        if first:
            link.sendall(first)
        if tls:
            link = client_context().wrap_socket(link, server_hostname=name)
        lines = "".join(f"{key}: {value}\r\n" for key, value in (headers or {}).items())
        link.sendall(f"GET /x HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n{lines}\r\n".encode())
        return read_answer(link)


def seen(answer: Answer, *names: str) -> list[str | None]:
    """What the backend saw under these names; several headers of one name are a list."""
    assert answer.status == 200, answer
    found: dict[str, str] = {}
    for name, value in answer.json["headers"]:
        found[name.lower()] = found[name.lower()] + ", " + value if name.lower() in found else value
    return [found.get(name) for name in names]


@pytest.fixture(scope="module", params=PROXIES, name="proxy")
def fixture_proxy(request):
    with served(request.param) as running:
        yield running


# ---- headers ----

@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_the_scheme_is_what_who_is_believed_says(proxy, tls):
    serve(proxy, BELIEVED)
    own, port = ("https", str(proxy.https)) if tls else ("http", str(proxy.http))
    names = ("x-forwarded-proto", "x-forwarded-port", "forwarded")
    for sent, source, scheme, told in [({"X-Forwarded-Proto": "https", "X-Forwarded-Port": "443"}, FRONT, "https", "443"),
                                       ({"X-Forwarded-Proto": "HTTP", "X-Forwarded-Port": "65536000"}, FRONT, "http", port),
                                       ({"X-Forwarded-Proto": "gopher", "X-Forwarded-Port": "0"}, FRONT, own, port),
                                       ({"X-Forwarded-Proto": "https", "X-Forwarded-Port": "443"}, STRANGER, own, port),
                                       ({}, FRONT, own, port)]:
        found = seen(ask(proxy, "open.test", sent, source, tls), *names)
        assert found[:2] == [scheme, told] and found[2].endswith(f";proto={scheme}"), sent


def test_no_redirect_for_what_came_over_https(proxy):
    serve(proxy, BELIEVED)
    assert ask(proxy, "safe.test", {"X-Forwarded-Proto": "https"}).status == 200
    assert ask(proxy, "safe.test", {"X-Forwarded-Proto": "http"}).status == 308
    assert ask(proxy, "safe.test").status == 308
    assert ask(proxy, "safe.test", {"X-Forwarded-Proto": "https"}, STRANGER).status == 308
    assert ask(proxy, "safe.test", tls=True).status == 200
    assert ask(proxy, "safe.test", {"X-Forwarded-Proto": "http"}, tls=True).status == 308
    assert ask(proxy, "safe.test", {"X-Forwarded-Proto": "http"}, STRANGER, tls=True).status == 200


def test_another_header_and_a_list_that_grows(proxy):
    serve(proxy, {**BELIEVED, "client_header": "CF-Connecting-IP"})
    assert seen(ask(proxy, "open.test", {"CF-Connecting-IP": "203.0.113.7"}), "x-forwarded-for", "x-real-ip") == ["203.0.113.7"] * 2
    serve(proxy, {**BELIEVED, "appends": True})
    assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "198.51.100.1, 203.0.113.7"}), "x-forwarded-for", "x-real-ip") == \
        [f"198.51.100.1, 203.0.113.7, {FRONT}", "203.0.113.7"]
    assert seen(ask(proxy, "open.test"), "x-forwarded-for") == [FRONT]
    assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "203.0.113.7"}, STRANGER), "x-forwarded-for") == [STRANGER]
    assert ask(proxy, "few.test", {"X-Forwarded-For": "203.0.113.7"}).status == 200


def test_everybody_may_be_believed(proxy):
    serve(proxy, {"trusted": ["0.0.0.0/0"]})
    assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "9.9.9.9, 1.2.3.4"}, STRANGER), "x-forwarded-for") == ["9.9.9.9"]
    serve(proxy, None)
    assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "9.9.9.9"}), "x-forwarded-for") == [FRONT]


def test_what_is_no_network_and_no_header_is_nobodys(proxy):
    serve(proxy, {"trusted": ["front.example", "127.0.0.77/33", "127.0.0.77"], "believes_scheme": True})
    assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "203.0.113.7"}), "x-forwarded-for") == ["203.0.113.7"]
    serve(proxy, {**BELIEVED, "client_header": "X Y;\n"})
    assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}), "x-forwarded-for", "x-forwarded-proto") == [FRONT, "http"]


def test_the_host_is_what_who_is_believed_says(proxy):
    """tests/cases/traffic-fronts.json has what is a host, and what it is for."""
    names = ("host", "x-forwarded-host", "forwarded")
    sent = {"X-Forwarded-Host": "told.test:8443, open.test"}
    serve(proxy, {**BELIEVED, "believes_host": True})
    assert seen(ask(proxy, "open.test", sent), *names) == ["told.test:8443", "told.test:8443", f'for={FRONT};host="told.test:8443";proto=http']
    assert seen(ask(proxy, "open.test", sent, STRANGER), *names) == ["open.test", "open.test", f'for={STRANGER};host="open.test";proto=http']
    assert ask(proxy, "safe.test", sent).headers["location"] == "https://told.test/x"
    # Also by itself, and with others.
    serve(proxy, {"trusted": [FRONT], "believes_host": True})
    assert seen(ask(proxy, "open.test", {**sent, "X-Forwarded-Proto": "https"}), *names) == \
        ["told.test:8443", "told.test:8443", f'for={FRONT};host="told.test:8443";proto=http']
    assert ask(proxy, "safe.test", {**sent, "X-Forwarded-Proto": "https"}).headers["location"] == "https://told.test/x"
    serve(proxy, {**BELIEVED, "believes_host": True, "appends": True, "keeps_claims": True})
    assert seen(ask(proxy, "open.test", sent, tls=True), *names) == ["told.test:8443", "told.test:8443", f'for={FRONT};host="told.test:8443";proto=https']
    serve(proxy, BELIEVED)
    assert seen(ask(proxy, "open.test", sent), *names)[:2] == ["open.test", "open.test"]


def test_a_request_without_a_host_has_the_one_that_is_told(proxy):
    serve(proxy, {**BELIEVED, "believes_host": True})
    with Backend("nobody") as nobody:
        proxy.send(pool("nobody", nobody))
        serve(proxy, {**BELIEVED, "believes_host": True}, default_pool="nobody")
        for source, host_told in ((FRONT, "told.test"), (STRANGER, None)):
            with contextlib.closing(dial(proxy.address, proxy.http, source=source)) as link:
                link.sendall(b"GET / HTTP/1.0\r\nX-Forwarded-Host: told.test\r\n\r\n")
                assert seen(read_answer(link), "x-forwarded-host") == [host_told]
        serve(proxy, None)
        proxy.apply(gone=[("pool", "nobody")])


def test_what_anybody_says_is_kept_apart(proxy):
    names = ("x-original-forwarded-for", "x-original-forwarded-host", "x-forwarded-for", "x-forwarded-host")
    sent = {"X-Forwarded-For": "1.2.3.4, what \"ever", "X-Forwarded-Host": "<b>.test", "X-Forwarded-Prefix": "/p"}
    claimed = {"X-Original-Forwarded-For": "9.9.9.9", "X-Original-Forwarded-Host": "z"}
    serve(proxy, {"keeps_claims": True})
    for tls in (False, True):
        for host_name in ("open.test", "safe.test") if tls else ("open.test",):
            assert seen(ask(proxy, host_name, {**sent, **claimed}, STRANGER, tls), *names) == ["1.2.3.4, what \"ever", "<b>.test", STRANGER, host_name]
            assert seen(ask(proxy, host_name, claimed, tls=tls), *names) == [None, None, FRONT, host_name]
            assert seen(ask(proxy, host_name, {"X-Forwarded-For": "", "X-Forwarded-Host": ""}, tls=tls), *names) == [None, None, FRONT, host_name]
    serve(proxy, {**BELIEVED, "keeps_claims": True, "client_header": "CF-Connecting-IP"})
    assert seen(ask(proxy, "open.test", {**sent, "CF-Connecting-IP": "203.0.113.7"}), *names) == ["203.0.113.7", "<b>.test", "203.0.113.7", "open.test"]
    serve(proxy, {"keeps_claims": True})
    for length, is_kept in ((512, True), (513, False)):
        whole = {"X-Forwarded-For": "f" * length, "X-Forwarded-Host": "h" * length, **claimed}
        assert seen(ask(proxy, "open.test", whole), *names[:2]) == (["f" * length, "h" * length] if is_kept else [None, None])
    # Also where there is no more room in a request.
    full = {f"X-Full-{i}": "x" * 480 for i in range(23)}
    assert seen(ask(proxy, "open.test", {**full, "X-Forwarded-For": "f" * 512, "X-Forwarded-Host": "h" * 512}), *names[:2]) == ["f" * 512, "h" * 512]
    # Which header it is cannot be told, so it is none.
    serve(proxy, {"keeps_claims": True, "client_header": "X Y;\n"})
    assert seen(ask(proxy, "open.test", sent), *names) == [None, None, FRONT, "open.test"]
    serve(proxy, None)
    assert seen(ask(proxy, "open.test", claimed), *names)[:2] == ["9.9.9.9", "z"]


def test_the_port_of_https_may_be_another(proxy):
    serve(proxy, {"https_port": 443})
    assert seen(ask(proxy, "open.test", {"X-Forwarded-Port": "9"}), "x-forwarded-port") == [str(proxy.http)]
    assert seen(ask(proxy, "open.test", {"X-Forwarded-Port": "9"}, tls=True), "x-forwarded-port") == ["443"]
    assert seen(ask(proxy, "safe.test", tls=True), "x-forwarded-port") == ["443"]
    serve(proxy, {**BELIEVED, "https_port": 443})
    assert seen(ask(proxy, "open.test", tls=True), "x-forwarded-port") == ["443"]
    assert seen(ask(proxy, "safe.test", {"X-Forwarded-Port": "9"}, tls=True), "x-forwarded-port") == ["9"]
    # Our own one is told as the one that is for clients, to backends alone; X-Piece is what was told.
    own = {"X-Forwarded-Port": str(proxy.https), "X-Forwarded-Proto": "https"}
    for name in ("open.test", "safe.test"):
        assert seen(ask(proxy, name, own), "x-forwarded-port") == ["443"]
        assert seen(ask(proxy, name, own, tls=True), "x-forwarded-port") == ["443"]
    assert seen(ask(proxy, "open.test", own, STRANGER), "x-forwarded-port") == [str(proxy.http)]
    assert seen(ask(proxy, "pieces.test", own), "x-forwarded-port", "x-piece") == ["443", str(proxy.https)]
    serve(proxy, {"trusted": [FRONT], "believes_port": True, "https_port": 443}, reads_proxy=True)
    assert seen(ask(proxy, "open.test", first=proxy_header("203.0.113.7", to=proxy.https)), "x-forwarded-port", "x-forwarded-proto") == ["443", "http"]
    assert seen(ask(proxy, "open.test", first=proxy_header("203.0.113.7", to=8443)), "x-forwarded-port") == ["8443"]
    serve(proxy, BELIEVED)
    assert seen(ask(proxy, "open.test", own), "x-forwarded-port") == [str(proxy.https)]
    serve(proxy, None)
    assert seen(ask(proxy, "open.test", tls=True), "x-forwarded-port") == [str(proxy.https)]


def test_requests_get_an_id(proxy):
    serve(proxy, {"request_id": True})
    made = {seen(ask(proxy, name, tls=True), "x-request-id")[0] for name in ("open.test", "open.test", "safe.test")}
    assert len(made) == 3 and all(len(each) == 32 and not set(each) - set("0123456789abcdef") for each in made), made
    assert seen(ask(proxy, "open.test", {"X-Request-ID": "mine"}), "x-request-id") == ["mine"]
    serve(proxy, None)
    assert seen(ask(proxy, "open.test"), "x-request-id") == [None]


# ---- the PROXY protocol ----

@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_the_proxy_protocol_says_who_the_client_is(proxy, tls):
    serve(proxy, {"trusted": ["127.0.0.77"]}, reads_proxy=True)
    for first, client in [(proxy_header("203.0.113.7"), "203.0.113.7"), (proxy_header("2001:db8::7"), "2001:db8::7"), (proxy_header_2("203.0.113.8"), "203.0.113.8")]:
        assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "192.0.2.1"}, tls=tls, first=first), "x-forwarded-for", "x-real-ip") == [client] * 2
        assert ask(proxy, "few.test", tls=tls, first=first).status == 200
        # Who is not believed is the client himself.
        assert seen(ask(proxy, "open.test", source=STRANGER, tls=tls, first=first), "x-forwarded-for", "x-real-ip") == [STRANGER] * 2
        assert ask(proxy, "few.test", source=STRANGER, tls=tls, first=first).status == 403
    assert ask(proxy, "few.test", tls=tls, first=proxy_header("198.51.100.7")).status == 403
    with contextlib.suppress(OSError, ssl.SSLError):
        assert ask(proxy, "open.test", tls=tls).status == 400, "without the header nothing is served"
    serve(proxy, None)
    assert ask(proxy, "open.test", tls=tls).status == 200


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_the_proxy_protocol_says_which_port_it_was(proxy, tls):
    own = ["https" if tls else "http", str(proxy.https if tls else proxy.http)]
    names = ("x-forwarded-proto", "x-forwarded-port")
    told = {"X-Forwarded-Proto": "http", "X-Forwarded-Port": "9"}

    def heard(first: bytes, headers: dict[str, str] | None = None, source: str = FRONT) -> list[str | None]:
        return seen(ask(proxy, "open.test", headers, source, tls, first), *names)
    serve(proxy, {"trusted": [FRONT], "believes_port": True}, reads_proxy=True)
    for version in (proxy_header("203.0.113.7"), proxy_header("2001:db8::7"), proxy_header_2("203.0.113.8")):
        assert heard(version) == ["https", "443"]
        assert heard(version, told) == ["https", "443"]
        assert heard(version, told, STRANGER) == own
        assert ask(proxy, "safe.test", tls=tls, first=version).status == 200
        assert ask(proxy, "safe.test", source=STRANGER, tls=tls, first=version).status == (200 if tls else 308)
    assert heard(proxy_header("203.0.113.7", to=8080)) == [own[0], "8080"]
    assert heard(b"PROXY UNKNOWN\r\n")[0] == own[0]
    # What the one says by it and what the one before says in headers.
    serve(proxy, {"trusted": [FRONT, "203.0.113.0/24"], "believes_port": True, "believes_scheme": True}, reads_proxy=True)
    assert heard(proxy_header("203.0.113.7"), told) == ["https", "9"]
    assert heard(proxy_header("203.0.113.7", to=80), {**told, "X-Forwarded-Proto": "https"}) == ["https", "9"]
    assert heard(proxy_header("198.51.100.7", to=80), {**told, "X-Forwarded-Proto": "https"}) == [own[0], "80"]
    serve(proxy, {"trusted": [FRONT]}, reads_proxy=True)
    assert heard(proxy_header("203.0.113.7"), told) == own
    serve(proxy, {**BELIEVED, "believes_port": True})
    assert seen(ask(proxy, "open.test", tls=tls), *names) == own


def test_hosts_that_are_passed_through_beside_it(proxy):
    """A port that opens the TLS of some hosts and passes that of others hands the client's address on inside."""
    pair = self_signed("through.test")
    with Backend("inside", tls=pair) as inside:
        through = passthrough("through.test", "inside")
        proxy.send(pool("inside", inside, protocol="tcp"), through)
        serve(proxy, {"trusted": ["127.0.0.77"], "believes_port": True, "https_port": 443}, reads_proxy=True)
        assert seen(ask(proxy, "open.test", tls=True, first=proxy_header("203.0.113.7", to=80)), "x-forwarded-port", "x-forwarded-proto") == ["443", "https"]
        assert ask(proxy, "through.test", tls=True, first=proxy_header("203.0.113.7")).json["name"] == "inside"
        assert seen(ask(proxy, "open.test", tls=True, first=proxy_header("203.0.113.7")), "x-forwarded-for") == ["203.0.113.7"]
        assert seen(ask(proxy, "open.test", source=STRANGER, tls=True, first=proxy_header("203.0.113.7")), "x-forwarded-for") == [STRANGER]
        proxy.send(proxy.balancer(https=True))
        proxy.apply(gone=[("virtual-host", through["id"]), ("pool", "inside")])


def test_changes_cost_no_request(proxy):
    serve(proxy, None)
    with Load(proxy.address, proxy.http, [("open.test", "/")], repeats=True) as load:
        for forwarding in (BELIEVED, {**BELIEVED, "appends": True}, {"request_id": True}, {"trusted": ["0.0.0.0/0"]}, None):
            serve(proxy, forwarding)
    assert load.good > 0 and not load.failures


@pytest.mark.parametrize("name", PROXIES)
def test_the_command_line_goes_before(name):
    with served(name, "--trusted-proxies", STRANGER) as proxy:
        serve(proxy, BELIEVED)
        assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "203.0.113.7"}), "x-forwarded-for") == [FRONT]
        assert seen(ask(proxy, "open.test", {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}, STRANGER), "x-forwarded-for", "x-forwarded-proto") == \
            ["203.0.113.7", "https"]
        proxy.provider.wait_event("trusted-proxies-kept")


# ---- the whole line ----

def options(line: ProxyLine, data: dict[str, str]) -> None:
    line.cluster.apply(config_map("controller", data))


@pytest.mark.parametrize("name", PROXIES)
def test_the_config_map_says_so(name, pods):
    with ProxyLine(name, translator=["--ingress-nginx"], watcher=["--ingress-nginx-configmap", "default/controller"]) as line:
        line.cluster.apply(config_map("controller", {}), CLASS, line.cluster.service("web"), line.cluster.slice("web", [pods("web").ip]),
                           line.cluster.ingress("a", [{"host": "a.test", "paths": [("/", "Prefix", "web", 80)]}], ingressClassName="nginx"))
        line.wait_serves("a.test", "/", "web")
        behind = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "told.test"}
        names = ("x-forwarded-for", "x-forwarded-proto", "host")

        def told(*want: str | None) -> None:
            wait_for(lambda: seen(ask(line.proxy, "a.test", behind), *names) == list(want), f"backends to be told {want}", PATIENCE)
        told(FRONT, "http", "a.test")
        assert seen(ask(line.proxy, "a.test", behind), "x-original-forwarded-host") == ["told.test"]
        with Load(line.proxy.address, line.proxy.http, [("a.test", "/")], repeats=True) as load:
            options(line, {"use-forwarded-headers": "true", "proxy-real-ip-cidr": "127.0.0.77/32"})
            told("203.0.113.7", "https", "told.test")
            for victim in DAEMONS:
                line.daemon(victim).kill()
                told("203.0.113.7", "https", "told.test")
                options(line, {"enable-real-ip": "true", "proxy-real-ip-cidr": "127.0.0.77/32"})
                line.daemon(victim).start()
                told("203.0.113.7", "http", "a.test")
                options(line, {"use-forwarded-headers": "true", "proxy-real-ip-cidr": "127.0.0.77/32"})
                told("203.0.113.7", "https", "told.test")
            options(line, {"use-forwarded-headers": "true", "proxy-real-ip-cidr": "all"})
            told(FRONT, "http", "a.test")
            line.cluster.wait_event("controller", "InvalidOption", "proxy-real-ip-cidr")
            options(line, {"use-forwarded-headers": "true"})
            told("203.0.113.7", "https", "told.test")
            line.cluster.wait_event("controller", "TrustsEverybody", "proxy-real-ip-cidr")
            said = Ctl(line).json("request", f"http://a.test:{line.proxy.http}/x", "--from", FRONT, *(word for item in behind.items() for word in ("--header", ": ".join(item))))
            assert said["host_header"] == "told.test" and "the client is 203.0.113.7, came over HTTPS" in said["steps"][0]["what"]
        assert load.good > 0 and not load.failures
        options(line, {"use-proxy-protocol": "true"})

        def is_read() -> bool:
            with contextlib.suppress(OSError):
                answer = ask(line.proxy, "a.test", first=proxy_header("203.0.113.9"))
                return answer.status == 200 and seen(answer, "x-forwarded-for") == ["203.0.113.9"]
            return False
        wait_for(is_read, "the PROXY protocol to be read", PATIENCE)
        assert seen(ask(line.proxy, "a.test", first=proxy_header("203.0.113.9"), tls=True), "x-forwarded-for") == ["203.0.113.9"]
        line.cluster.delete("configmap", "controller")
        wait_for(lambda: line.proxy.answers("a.test"), "no PROXY protocol", PATIENCE)
