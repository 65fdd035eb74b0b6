# SPDX-License-Identifier: Apache-2.0
"""A backend is a stranger, too: what it may send, or keep from sending, and what clients see of it."""
from __future__ import annotations

import collections
import contextlib
import socket
import struct

import pytest

from lib.backend import Backend, Pod
from lib.cpu import resident_bytes
from lib.local_proxy import LB, PATIENCE, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import dial, exchange
from lib.wait import wait_for

RETRIED = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]
NEVER_RETRIED = ["POST", "PATCH", "LOCK"]


class Reader(Pod):
    """Reads a request's head before it does what it does."""

    def serve(self, connection: socket.socket, peer: str) -> None:
        reader = connection.makefile("rb")
        first = reader.readline()
        while reader.readline().strip():
            pass
        if first:
            self.counted()
            self.misbehave(connection)

    def misbehave(self, connection: socket.socket) -> None:
        raise NotImplementedError


class Endless(Reader):
    """A status line without end, as fast as it is read."""

    sent = 0

    def misbehave(self, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 ")
        while True:
            self.sent += connection.send(b"x" * 65536)


class Resetting(Reader):
    def misbehave(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Answering(Reader):
    def __init__(self, answer: bytes):
        super().__init__("answering")
        self.text = answer

    def misbehave(self, connection: socket.socket) -> None:
        connection.sendall(self.text)
        self.gate.wait(120)


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request):
    with proxy_class(request.param)() as running:
        running.apply(running.balancer())
        yield running


@pytest.fixture
def serve(proxy):
    """Has these backends, and no others, serve a.test."""
    with contextlib.ExitStack() as stack:
        def start(*backends: Pod, **more) -> None:
            for backend in backends:
                stack.enter_context(backend)
            proxy.apply(pool("p", *backends, **more), host("a.test", ("/", "p")))
        yield start
        proxy.apply(gone=[("virtual-host", f"{LB}/a.test"), ("pool", "p")])


def ask(proxy, method: str, more: str = "") -> int:
    text = f"{method} / HTTP/1.1\r\nHost: a.test\r\n{more}\r\n"
    return exchange(proxy.address, proxy.http, text.encode("latin-1")).status


def everything(proxy) -> bytes:
    """All that is answered to a request after which the client closes."""
    with contextlib.closing(dial(proxy.address, proxy.http)) as link:
        link.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        return b"".join(iter(lambda: link.recv(65536), b""))


def test_a_health_check_reads_no_more_than_it_needs(proxy, serve):
    good, endless = Backend("good"), Endless("endless")
    serve(good, endless, health_check={"service": "web", "type": "http", "path": "/", "interval_ms": 100, "timeout_ms": 3000, "rise": 1, "fall": 1})
    wait_for(lambda: endless.count >= 2, "the first checks", PATIENCE)
    pids = [process.pid for process in proxy.proxies()]
    before, checks, sent = resident_bytes(pids), endless.count, endless.sent
    wait_for(lambda: endless.count >= checks + 20, "20 more checks", PATIENCE)
    assert resident_bytes(pids) < before + 4 * 1024 * 1024
    # What the kernel takes for a connection whose reader has gone is a few MB.
    assert endless.sent - sent < (endless.count - checks + 1) * 8 * 1024 * 1024


def test_a_request_without_an_answer_goes_to_another_endpoint(proxy, serve):
    serve(Backend("good"), Resetting("bad"))
    for method in RETRIED:
        assert collections.Counter(ask(proxy, method) for _ in range(10)) == {200: 10}, method


@pytest.mark.parametrize("method", NEVER_RETRIED)
def test_what_is_not_idempotent_is_sent_once(proxy, serve, method):
    bad = Resetting("bad"), Resetting("bad")
    serve(*bad)
    assert ask(proxy, method, "Content-Length: 0\r\n") == 502
    assert sum(one.count for one in bad) == 1


@pytest.mark.parametrize("method", NEVER_RETRIED)
def test_what_is_not_idempotent_goes_to_another_endpoint_if_nobody_took_it(proxy, serve, method):
    dead = Backend("dead")
    serve(Backend("good"), dead)
    dead.stop()
    assert collections.Counter(ask(proxy, method, "Content-Length: 0\r\n") for _ in range(10)) == {200: 10}


def test_many_headers_of_an_answer_arrive(proxy, serve):
    lines = "".join(f"X-H{number}: v{number}\r\n" for number in range(240))
    serve(Answering(f"HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n".encode()))
    got = everything(proxy).lower().split(b"\r\n")
    assert got[0] == b"http/1.1 200 ok" and not [number for number in range(240) if f"x-h{number}: v{number}".encode() not in got]


def test_an_early_hint_is_no_answer(proxy, serve):
    """HAProxy passes it on before the answer. nginx cannot, and reads nothing behind it: the client is told that there is no answer."""
    serve(Answering(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    got = everything(proxy)
    if proxy.name == "haproxy":
        early, _, last = got.partition(b"\r\n\r\n")
        assert early.startswith(b"HTTP/1.1 103 ") and last.startswith(b"HTTP/1.1 200 ") and last.endswith(b"\r\n\r\nok")
    else:
        assert got.startswith(b"HTTP/1.1 502 ") and b"103" not in got and b"200 OK" not in got
    assert proxy.reached("b.test") == 404


@pytest.mark.parametrize("status", ["000", "001", "099", "101"])
@pytest.mark.parametrize("length", ["Content-Length: 44", "Transfer-Encoding: chunked"])
def test_what_is_no_answer_does_not_answer_the_next_request(proxy, serve, status, length):
    """The client may be somebody's proxy, which sends requests for several hosts on one connection."""
    other = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen"
    body = other if length.startswith("Content") else b"%x\r\n%s\r\n0\r\n\r\n" % (len(other), other)
    serve(Answering(f"HTTP/1.1 {status} No\r\n{length}\r\n\r\n".encode() + body))
    with contextlib.closing(dial(proxy.address, proxy.http)) as link:
        link.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\nGET / HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n")
        got = b"".join(iter(lambda: link.recv(65536), b""))
    assert got.startswith(b"HTTP/1.1 502 ") and b"stolen" not in got


def test_a_backend_does_not_say_where_a_request_goes(proxy, serve):
    backend = Answering(b"HTTP/1.1 200 OK\r\nX-Accel-Redirect: /other\r\nContent-Length: 2\r\n\r\nok")
    serve(backend)
    assert everything(proxy).endswith(b"\r\n\r\nok")
    assert backend.count == 1


@pytest.mark.parametrize("line", ["X-Own: a\0b", "X-Own: \0", "X-Own: a\0", "Cookie: a=\0", "X-Own: 0\r\nX-Next: p\r\nX-Last: \0"])
def test_no_header_with_a_nul_is_passed_on(proxy, serve, line):
    good = Backend("good")
    serve(good)
    assert ask(proxy, "GET", line + "\r\n") == 400
    assert good.count == 0
    assert ask(proxy, "GET", "X-Own: 0\r\nX-Next: \\0\r\nX-Last: p\r\n") == 200
