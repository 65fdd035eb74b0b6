# SPDX-License-Identifier: Apache-2.0
"""What one request, or one backend, can cost a proxy: no shape of a request costs more than three plain ones of its length, and nothing that a
backend sends is read without a limit."""
from __future__ import annotations

import contextlib
import re

import pytest

from lib.backend import Backend
from lib.cpu import used_ns
from lib.local_proxy import host, pool
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import dial

SIZES = [1_000, 4_000, 12_000, 15_000, 64_000]  # a line of 16 kB with what stands around it would be refused unread
TAKEN_MAX = 12_000  # by HAProxy, in thousands: what is somewhat longer, and refused, may cost no more than three of these
RATIO_MAX = 3
REQUESTS = 6  # in one measurement, far above what the clock of the scheduler can tell
ROUNDS = 60  # measurements at most: noise only adds to the time that was used, so the least of them counts
PATH_ELEMENTS_MAX, PATH_LEN_MAX = 64, 1024  # of a route


def repeated(unit: str, end: str = ""):
    return lambda size: (unit * (size // len(unit) + 1))[:size - len(end)] + end


# Runs that a pattern may cut in many ways, and words of ours that come often.
SHAPES = {
    "digits": repeated("1", "!"), "letters": repeated("a", "!"), "dots": repeated("."), "labels": repeated("a."), "colons": repeated(":"),
    "brackets": repeated("["), "in-brackets": lambda size: "[" + ":" * (size - 1), "slashes": repeated("/"), "elements": repeated("/a"),
    "dot-elements": repeated("/./"), "escapes": repeated("%2f"), "questions": repeated("?"), "ampersands": repeated("&"),
    "equals": repeated("="), "semicolons": repeated(";"), "pairs": repeated("a=b;"), "names": repeated("a;"), "commas": repeated(","),
    "quotes": repeated('"'), "backslashes": repeated("\\"), "spaces": lambda size: "x" + " " * (size - 2) + "x", "tabs": lambda size: "x" + "\t" * (size - 2) + "x",
    "space-semicolons": repeated(" ;"), "ours": repeated("sid=a;"), "ours-spaced": repeated("sid =a;"), "nearly-ours": repeated("sid;"), "within": repeated("xsid=a;"),
    "websockets": repeated("websocket,"), "names-of-ours": repeated("x-forwarded-for,"),
}


def header(name: str):
    return lambda text: f"GET / HTTP/1.1\r\nHost: a.test\r\n{name}: {text}\r\n\r\n"


FIELDS = {
    "host": lambda text: f"GET / HTTP/1.1\r\nHost: {text}\r\n\r\n",
    "path": lambda text: f"GET /{text} HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "query": lambda text: f"GET /?{text} HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "authority": lambda text: f"GET http://{text}/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "scheme": lambda text: f"GET a{text}://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "method": lambda text: f"{text} / HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "name": lambda text: f"GET / HTTP/1.1\r\nHost: a.test\r\n{text}: x\r\n\r\n",
    **{name.lower(): header(name) for name in ("Cookie", "Connection", "Upgrade", "Forwarded", "X-Forwarded-For", "Accept", "X-Own", "Transfer-Encoding",
                                               "Content-Length", "Expect", "If-Modified-Since", "Range")},
}


def many(line: str):
    """Many short lines; {} is the number of the line."""
    def lines(size: int) -> str:
        text, number = "", 0
        while len(text) < size:
            text += line.format(number) + "\r\n"
            number += 1
        return f"GET / HTTP/1.1\r\nHost: a.test\r\n{text}\r\n"
    return lines


LINES = {
    "headers": many("h{}: x"), "claims": many("X-Forwarded-{}: x"), "equal-claims": many("X-Forwarded-For: x"), "underscores": many("x_{}: x"),
    "cookies": many("Cookie: sid=a"), "other-cookies": many("Cookie: a{}=b"), "connections": many("Connection: h{}"), "hosts": many("Host: a.test"),
    "empty": many("a:"),
}


def plain(size: int) -> bytes:
    """Passed on by a proxy that takes as many bytes."""
    lines = "".join(f"X-Plain: {'x' * min(4000, size - at)}\r\n" for at in range(0, size, 4000))
    return f"GET / HTTP/1.1\r\nHost: a.test\r\n{lines}\r\n".encode()


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request):
    """A proxy with the deepest and longest route there can be, and a pool that reads cookies."""
    element = "/" + "a" * (PATH_LEN_MAX // PATH_ELEMENTS_MAX - 1)
    rules = [("/a" * PATH_ELEMENTS_MAX, "web"), (element * PATH_ELEMENTS_MAX, "web"), ("/", "web")]
    with Backend("web") as web, proxy_class(request.param)() as running:
        running.web = web
        running.apply(pool("web", web, stickiness={"cookie": "sid", "mode": "insert", "indirect": True}), host("a.test", *rules),
                      host("*.w.test", *rules), running.balancer())
        yield running


def cost(proxy, request: bytes) -> float:
    """Nanoseconds of the proxy's processes for one such request on a connection of its own."""
    pids = [process.pid for process in proxy.proxies()]
    before = used_ns(pids)
    for _ in range(REQUESTS):
        with contextlib.closing(dial(proxy.address, proxy.http)) as link, contextlib.suppress(ConnectionError):
            link.sendall(request)
            answer = b""
            while b"\r\n\r\n" not in answer and (piece := link.recv(65536)):
                answer += piece
    return (used_ns(pids) - before) / REQUESTS


class Prices:
    """What requests cost, the least that was seen of each."""

    def __init__(self, proxy):
        self.proxy = proxy
        self._known: dict[bytes, float] = {}

    def of(self, request: bytes, again: bool = False) -> float:
        if again or request not in self._known:
            self._known[request] = min(cost(self.proxy, request), self._known.get(request, float("inf")))
        return self._known[request]

    def ratio(self, request: bytes, size: int) -> float:
        """To a plain one of the size, or to the longest that is taken."""
        size = TAKEN_MAX if self.proxy.name == "haproxy" and size == 15_000 else size
        found = self.of(request) / self.of(plain(size))
        for _ in range(ROUNDS):
            if found <= RATIO_MAX:
                break
            found = self.of(request, again=True) / self.of(plain(size), again=True)
        return found


@pytest.fixture(scope="module")
def prices(proxy):
    return Prices(proxy)


def hostile(field: str, size: int) -> dict[str, bytes]:
    """Requests by the name of their shape."""
    if field in LINES:
        return {"many": LINES[field](size).encode()}
    return {name: FIELDS[field](shape(size)).encode("latin-1") for name, shape in SHAPES.items()}


@pytest.mark.plain  # what is measured is the proxy
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("field", [*FIELDS, *LINES])
def test_no_shape_of_a_request_costs_more_than_plain_ones(proxy, prices, field, size):
    ratios = {name: prices.ratio(request, size) for name, request in hostile(field, size).items()}
    assert not {name: round(ratio, 1) for name, ratio in ratios.items() if ratio > RATIO_MAX}
    assert proxy.reached("a.test") == "web"
