# SPDX-License-Identifier: Apache-2.0
"""What one request, or one backend, can cost a proxy: no shape of a request costs more than three plain ones of its length, and nothing that a
backend sends is read without a limit."""
from __future__ import annotations

import pytest

from lib.backend import Backend
from lib.local_proxy import host, pool
from lib.prices import RATIO_MAX, SHAPES, Prices
from lib.proxies import PROXIES, proxy_class

SIZES = [1_000, 4_000, 12_000, 15_000, 64_000]  # a line of 16 kB with what stands around it would be refused unread
PATH_ELEMENTS_MAX, PATH_LEN_MAX = 64, 1024  # of a route


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
