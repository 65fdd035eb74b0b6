# SPDX-License-Identifier: Apache-2.0
"""provider-nginx: what becomes of answers and bodies on their way: other texts in Location and Set-Cookie, bandwidth, and who waits for whom."""
from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from typing import Any, Iterator

import pytest

from lib.backend import Backend
from lib.local_proxy import host, pool
from lib.nginx import Nginx
from lib.provider_link import Object
from lib.raw_http import H2Client, dial, read_answer
from lib.wait import wait_for

KB = 1024


class Saying(Backend):
    """Answers with the header lines and as many bytes as it is told."""

    def __init__(self, name: str, lines: list[bytes] | None = None, length: int = 0):
        self.lines = lines or []
        self.length = length
        self.has_sent = threading.Event()
        super().__init__(name)

    def answer(self, connection: socket.socket, method: str, target: str, *rest: Any) -> None:
        self.counted()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * KB)
        head = b"".join(line + b"\r\n" for line in [b"HTTP/1.1 200 OK", f"X-Backend: {self.name}".encode(), *self.lines, b"Content-Length: %d" % self.length])
        connection.sendall(head + b"\r\n" + b"x" * self.length)
        self.has_sent.set()


def policy(name: str = "p", **settings: Any) -> Object:
    return {"kind": "policy", "id": name, "ingress": "default/web", **settings}


def rule(path: str = "/", policy_id: str = "p", pool_id: str = "one") -> Object:
    return {"path": path, "match": "prefix", "ingress": "default/web", "pool": pool_id, "policy": policy_id}


def changes(*pairs: tuple[str, str]) -> list[Object]:
    return [{"from": before, "to": after} for before, after in pairs]


@pytest.fixture(name="proxy")
def fixture_proxy() -> Iterator[Nginx]:
    with Nginx() as proxy:
        proxy.send(proxy.balancer())
        proxy.apply()
        yield proxy


def raw_lines(proxy: Nginx, name: str) -> list[str]:
    """The values of a header as their lines came; http.client takes no more than a hundred."""
    with contextlib.closing(dial(proxy.address, proxy.http)) as link:
        link.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        head, _, _ = link.makefile("rb").read().partition(b"\r\n\r\n")
    lines = [line.decode("latin-1").split(": ", 1) for line in head.split(b"\r\n")[1:]]
    return [value for key, value in lines if key.lower() == name.lower()]


def lines_of(proxy: Nginx, name: str, *sent: str, **settings: Any) -> list[str]:
    """The lines of that name that a client gets when the backend sends these."""
    with Saying("one", [f"{name}: {value}".encode("latin-1") for value in sent]) as pod:
        proxy.apply(pool("one", pod), policy(**settings), host("a.test", rule()))
        return raw_lines(proxy, name)


# ---- answers of nginx's own ----

def test_answers_of_its_own_have_a_length_so_that_their_connection_goes_on(proxy: Nginx) -> None:
    told = {"path": "/told", "match": "prefix", "ingress": "default/web", "answer": {"status": 410, "text": "gone for good"}}
    proxy.apply(pool("none"), policy(body_max_bytes=1), host("a.test", told, rule("/limited", "p", "none"), rule("/", "", "none")))
    with contextlib.closing(dial(proxy.address, proxy.http)) as link:
        for request, status, body in [
                ("GET / HTTP/1.1\r\nHost: a.test", 503, b"no endpoints\n"),
                ("GET / HTTP/1.1\r\nHost: other.test", 404, b"no route\n"),
                ("GET /told HTTP/1.1\r\nHost: a.test", 410, b"gone for good"),
                ("HEAD /told HTTP/1.1\r\nHost: a.test", 410, b""),
                ("GET / HTTP/1.1\r\nHost: a.test", 503, b"no endpoints\n")]:
            link.sendall(f"{request}\r\n\r\n".encode())
            answer = read_answer(link, request.split()[0])
            length = len(body) if not request.startswith("HEAD") else len("gone for good")
            assert (answer.status, answer.body, answer.headers.get("content-length"), answer.headers.get("transfer-encoding")) == (status, body, str(length), None)


# ---- Location and Set-Cookie ----

def test_cookies_stay_in_their_lines_and_order(proxy: Nginx) -> None:
    got = lines_of(
        proxy, "Set-Cookie", "a=1; Path=/y", 'b="x; path=/z"; DOMAIN=LocalHost ;Secure', "c=2;path=/;Path = /q ; domain=.localhost; Domain=other", "d=path=/; domain",
        "e=3, f=4; Expires=Wed, 21 Oct 2015 07:28:00 GMT; Path=/", ";", "", "; Path=/", "g; Domain=localhost.evil", "h=1; Domain=localhost",
        cookie_paths=changes(("/", "/x/"), ("/y", "/never/")), cookie_domains=changes(("localhost", "example.org"), ("other", ".else.test")))
    assert got == [
        "a=1; Path=/x/y", 'b="x; path=/x/z"; DOMAIN=example.org;Secure', "c=2;path=/x/;Path =/x/q; domain=.example.org; Domain=else.test", "d=path=/; domain",
        "e=3, f=4; Expires=Wed, 21 Oct 2015 07:28:00 GMT; Path=/x/", ";", "; Path=/x/", "g; Domain=localhost.evil", "h=1; Domain=example.org"]


def test_more_cookies_than_anybody_needs_are_all_there(proxy: Nginx) -> None:
    sent = [f"c{number}={number}; Path=/{number}" for number in range(300)]
    got = lines_of(proxy, "Set-Cookie", *sent, cookie_paths=changes(("/1", "/one-")))
    assert got == [line.replace("Path=/1", "Path=/one-") for line in sent]


def test_a_sticky_cookie_is_added_to_many(proxy: Nginx) -> None:
    sent = [f"c{number}={number}" for number in range(150)]
    with Saying("one", [f"Set-Cookie: {line}".encode() for line in sent]) as pod:
        proxy.apply(pool("one", pod, stickiness={"cookie": "SID"}), host("a.test", ("/", "one")))
        got = raw_lines(proxy, "Set-Cookie")
    assert got[:-1] == sent and got[-1].startswith("SID=")


@pytest.mark.parametrize("value, wanted", [
    ("http://up/x", "https://a.test/x"), ("http://up/", "https://a.test/"), ("http://up", "http://up"), ("HTTP://up/x", "HTTP://up/x"), ("/rel", "/new/el"),
    ("http://up/\t\x01x", "https://a.test/\t%01x"), ("http://up/%0d%0aX: y", "https://a.test/%0d%0aX: y"), ("http://up/\xff$x{y}", "https://a.test/\xff$x{y}"),
    ("http://up/" + "a" * 12000, "https://a.test/" + "a" * 12000), ("//up/", "//up/")])
def test_a_location_begins_otherwise(proxy: Nginx, value: str, wanted: str) -> None:
    got = lines_of(proxy, "Location", value, location_changes=changes(("http://up/", "https://a.test/"), ("http://up/x", "never"), ("/r", "/new/")))
    assert got == [wanted]


def test_a_head_that_is_too_long_is_refused_and_nobody_dies(proxy: Nginx) -> None:
    with Saying("one", [b"Set-Cookie: a=" + b"x" * 65536 + b"; Path=/"]) as pod:
        proxy.apply(pool("one", pod), policy(cookie_paths=changes(("/", "/x/"))), host("a.test", rule()))
        workers = proxy.workers()
        assert [proxy.request("a.test").status for _ in range(4)] == [502] * 4
        assert proxy.workers() == workers


def test_changes_come_before_headers_of_policies(proxy: Nginx) -> None:
    """And what the proxy says itself is none of the backend's."""
    settings = {"location_changes": changes(("http://up/", "https://a.test/")), "response_headers": [{"name": "X-A", "value": [{"text": "b"}]}]}
    with Saying("one", [b"Location: http://up/x", b"X-A: a"]) as pod:
        proxy.apply(pool("one", pod), policy(**settings), host("a.test", {**rule("/away"), "pool": "", "redirect": {
            "status": 302, "location": [{"text": "http://up/own"}]}}, rule()))
        answer = proxy.request("a.test")
        assert (answer.headers["location"], answer.headers["x-a"]) == ("https://a.test/x", "b")
        answer = proxy.request("a.test", "/away")
        assert (answer.headers["location"], answer.headers["x-a"]) == ("http://up/own", "b")


# ---- bandwidth ----

def seconds_for(proxy: Nginx, pod: Saying, **bandwidth: int) -> float:
    proxy.apply(pool("one", pod), policy(bandwidth=bandwidth), host("a.test", rule()))
    start = time.monotonic()
    answer = proxy.request("a.test")
    assert answer.status == 200 and len(answer.body) == pod.length
    return time.monotonic() - start


def test_an_answer_is_sent_no_faster_than_it_may_be(proxy: Nginx) -> None:
    with Saying("one", length=100 * KB) as pod:
        assert seconds_for(proxy, pod, bytes_per_s=32 * KB) > 1.5
        # A backend has no say in it.
        pod.lines = [b"X-Accel-Limit-Rate: 0"]
        assert seconds_for(proxy, pod, bytes_per_s=32 * KB) > 1.5
        # At a byte a second it would take a day.
        assert seconds_for(proxy, pod, bytes_per_s=1, after_bytes=200 * KB) < 3600
        assert seconds_for(proxy, pod, bytes_per_s=2**64 - 1, after_bytes=2**64 - 1) < 3600


def test_also_over_http2(proxy: Nginx) -> None:
    with Saying("one", length=100 * KB) as pod:
        proxy.apply(proxy.balancer(https=True), pool("one", pod), policy(bandwidth={"bytes_per_s": 32 * KB}), host("a.test", rule()))
        start = time.monotonic()
        with H2Client(proxy.address, proxy.https, "a.test") as client:
            assert len(client.request("a.test").body) == 100 * KB
        assert time.monotonic() - start > 1.5


# ---- who waits for whom ----

def test_a_slow_client_does_not_hold_a_backend(proxy: Nginx) -> None:
    """More than sockets hold, and less than what a file may."""
    with Saying("one", length=15 * KB * KB) as pod:
        proxy.apply(pool("one", pod), policy(buffering={"response": True}), host("a.test", rule()))
        with contextlib.closing(socket.socket()) as link:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * KB)
            link.settimeout(60)
            link.connect((proxy.address, proxy.http))
            link.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            wait_for(pod.has_sent.is_set, "the backend to get rid of its answer", 60)
            answer = read_answer(link)
            assert answer.status == 200 and len(answer.body) == pod.length


def barrier(proxy: Nginx) -> None:
    """Every worker has had something else to do."""
    for _ in range(8):
        assert proxy.reached("b.test") == "other"


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("limit", [{}, {"body_max_bytes": 1000000}])
def test_a_body_is_read_whole_before_anybody_is_asked(proxy: Nginx, chunked: bool, limit: Object) -> None:
    half = b"y" * 100000
    with Backend("one") as pod, Backend("other") as other:
        proxy.apply(pool("one", pod), pool("other", other), policy(buffering={"request": True}, **limit), host("a.test", rule()), host("b.test", ("/", "other")))
        with contextlib.closing(dial(proxy.address, proxy.http)) as link:
            piece = b"%x\r\n%s\r\n" % (len(half), half) if chunked else half
            head = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % (2 * len(half))
            link.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\n" + head + b"\r\n\r\n" + piece)
            barrier(proxy)
            assert pod.accepted == 0
            link.sendall(piece + (b"0\r\n\r\n" if chunked else b""))
            answer = read_answer(link, "POST")
            assert answer.status == 200 and answer.json["body"] == 2 * half.decode()
            # What a client sends next is another request.
            link.sendall(b"GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n")
            assert read_answer(link).json["target"] == "/next"


def begin(proxy: Nginx, stack: contextlib.ExitStack, length: int) -> tuple[socket.socket, int]:
    """A POST whose body is not sent yet, and what nginx says to that: 100 means that it reads the body."""
    link = stack.enter_context(contextlib.closing(dial(proxy.address, proxy.http)))
    link.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % length)
    line = b""
    while not line.endswith(b"\r\n\r\n"):
        line += link.recv(1)
    return link, int(line.split(b" ")[1])


def test_what_goes_on_while_a_body_is_read_counts(proxy: Nginx) -> None:
    """An endpoint that has gone meanwhile is not asked, and a client that has gone takes nothing with it."""
    with Backend("one") as pod, Backend("new") as new, contextlib.ExitStack() as stack:
        proxy.apply(pool("one", pod), policy(buffering={"request": True}, rate_limits={"concurrent": 1}), host("a.test", rule()))
        link, status = begin(proxy, stack, 10)
        assert status == 100 and proxy.request("a.test").status == 429
        proxy.apply(pool("one", new))
        link.sendall(b"0123456789")
        assert read_answer(link, "POST").json["name"] == "new"
        wait_for(lambda: proxy.request("a.test").status == 200, "the former one to be over")
        link, status = wait_for(lambda: next((each for each in [begin(proxy, stack, 10)] if each[1] == 100), None), "another one to be taken")
        assert proxy.request("a.test").status == 429
        link.close()
        wait_for(lambda: proxy.request("a.test").status == 200, "nothing to be left of the client that has gone")
        assert pod.count == 0


def test_bodies_are_counted_together(proxy: Nginx) -> None:
    """A worker keeps 4 GB of them at a time; who asks for more than what is left is sent away, before anything of it is read, if they have to be kept; otherwise passed on."""
    with Backend("one") as pod, Backend("pages") as pages:
        proxy.apply(pool("one", pod), pool("pages", pages), policy(buffering={"request": True}),
                    policy("kept", error_pages={"statuses": [{"status": 502}], "pool": "pages"}), host("a.test", rule()), host("b.test", rule(policy_id="kept")))

        def begin_three(stack: contextlib.ExitStack, name: bytes) -> list[socket.socket]:
            # More than there are workers: one of them would have two.
            links = [stack.enter_context(contextlib.closing(dial(proxy.address, proxy.http))) for _ in range(3)]
            for link in links:
                link.sendall(b"POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 3000000000\r\n\r\nx" % name)
            return links

        with contextlib.ExitStack() as stack:
            links = begin_three(stack, b"b.test")
            refused = wait_for(lambda: select.select(links, [], [], 1)[0], "one of them to be sent away")
            assert {read_answer(link, "POST").status for link in refused} == {503}
            assert len(refused) < len(links)
        wait_for(lambda: proxy.request("b.test", method="POST", body=b"x" * 100000).status == 200, "room for others")
        asked = len(pod.begun)
        with contextlib.ExitStack() as stack:
            links = begin_three(stack, b"a.test")
            wait_for(lambda: len(pod.begun) > asked, "one of them to be passed on")
            assert len(pod.begun) < asked + len(links)
            assert not select.select(links, [], [], 0)[0]
        wait_for(lambda: proxy.request("a.test", method="POST", body=b"x" * 100000).status == 200, "room for others")


def test_bodies_without_any_bound_are_few(proxy: Nginx) -> None:
    """Four at a time of a worker are read whole, although nothing says how long they get; the others are passed on, and those that end make room, also if their clients go."""
    with Backend("one") as pod:
        proxy.apply(pool("one", pod), policy(buffering={"request": True}), host("a.test", rule()))
        for _ in range(2):
            asked = len(pod.begun)
            with contextlib.ExitStack() as stack:
                links = [stack.enter_context(contextlib.closing(dial(proxy.address, proxy.http))) for _ in range(9)]
                for link in links:
                    link.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
                wait_for(lambda: len(pod.begun) > asked, "one of them to be passed on")
                assert len(pod.begun) < asked + len(links)
            wait_for(lambda: proxy.request("a.test", method="POST", body=b"x" * 100000).status == 200, "the others to be served")
