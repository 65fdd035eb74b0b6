# SPDX-License-Identifier: Apache-2.0
"""What one request, or one answer, can cost a proxy where rules and policies read it: whatever stands there, it is read once from its beginning to its end."""
from __future__ import annotations

import contextlib
from typing import Any

import pytest

from lib.backend import Backend
from lib.local_proxy import LB, host, pool, rule_of
from lib.prices import SHAPES, Prices
from lib.proxies import PROXIES, proxy_class

SIZE = 12_000
# Beside a plain request of the length: scripts read much of what stands here text by text. What begins anew at each byte costs hundreds.
RATIO_MAX = 40

ALTERNATIVES = 60
REGEXES_MAX = 64  # of a path
SEARCHES_MAX = 30  # as dear as one, though there are hundreds

USERS = [{"name": "alice", "hash": "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="}]
POLICIES: dict[str, dict[str, Any]] = {
    "password": {"basic_auth": {"realm": "r", "users": "users"}},
    "asking": {"external_auth": {"pool": "web", "target": [{"text": "/"}], "copied": ["X-Found"]}},
    "outside": {"cookie_paths": [{"from": "/in", "to": "/out"}], "cookie_domains": [{"from": "in.test", "to": "out.test"}],
                "location_changes": [{"from": "http://in.test", "to": "https://out.test"}]},
    "pieces": {"rewrite": [{"text": "/"}, {"value": "cookie", "text": "c"}, {"text": "/"}, {"value": "argument", "text": "a"}]},
    "many-pieces": {"request_headers": [{"name": f"X-{number}", "value": [{"value": kind, "text": f"x{number}"} for kind in ("argument", "cookie", "header")] * 5}
                                        for number in range(40)]},
    "many-targets": {"request_headers": [{"name": f"X-{number}", "value": [{"value": "target-escaped"}] * 16} for number in range(10)]},
}
WANTED = {"cookie": {"subject": "cookie", "name": "c", "value": "1"}, "query": {"subject": "query", "name": "a", "value": "1"},
          "header": {"subject": "header", "name": "x-asked", "match": "regex", "value": "^a+$"}}


def sent(path: str, name: str, before: str = "", host_name: str = "rules.test"):
    """A header of the request."""
    return lambda text: f"GET {path} HTTP/1.1\r\nHost: {host_name}\r\n{name}: {before}{text}\r\n\r\n"


FIELDS = {
    "password": sent("/password", "Authorization", "Basic "), "cookie-of-condition": sent("/cookie", "Cookie"), "cookie-of-piece": sent("/pieces", "Cookie"),
    "header-of-condition": sent("/header", "X-Asked"), "query-of-condition": lambda text: f"GET /query?{text} HTTP/1.1\r\nHost: rules.test\r\n\r\n",
    "query-of-piece": lambda text: f"GET /pieces?{text} HTTP/1.1\r\nHost: rules.test\r\n\r\n",
    "decoded-path": lambda text: f"GET /%41/{text}/ HTTP/1.1\r\nHost: decoded.test\r\n\r\n",
    "copied-answer": sent("/asking", "X-Say", "X-Found: "), "set-cookie": sent("/outside", "X-Say", "Set-Cookie: "),
    "attribute": sent("/outside", "X-Say", "Set-Cookie: a=b;"), "cookie-path": sent("/outside", "X-Say", "Set-Cookie: a=b; path="),
    "cookie-domain": sent("/outside", "X-Say", "Set-Cookie: a=b; domain="), "location": sent("/outside", "X-Say", "Location: "),
    "refresh": sent("/outside", "X-Say", "Refresh: 1; url="),
    "cookie-of-many-pieces": sent("/many-pieces", "Cookie"), "query-of-many-pieces": lambda text: f"GET /many-pieces?{text} HTTP/1.1\r\nHost: rules.test\r\n\r\n",
    "escaped-target": lambda text: f"GET /many-targets?{text} HTTP/1.1\r\nHost: rules.test\r\n\r\n",
    "cookie-of-many-conditions": sent("/many-cookies", "Cookie"), "query-of-many-conditions": lambda text: f"GET /many-queries?{text} HTTP/1.1\r\nHost: rules.test\r\n\r\n",
}
# With blanks only, which what reads a header has lost at its ends already.
BLANK = {"blanks": lambda size: ";" + " " * (size - 2) + "x", "blank-values": lambda size: "c=x" + " " * (size - 4) + "x"}


def searching(alternatives: int, searches: int) -> list[Any]:
    """Rules that a request takes only when it has been searched so often; each search goes over the text once for each of its bytes."""
    dear = {"subject": "header", "name": "x-asked", "match": "regex", "value": "a*a*b|x$"}
    never = {"subject": "header", "name": "x-asked", "value": "never"}
    return [*(rule_of("/", "web", conditions=[dear] * searches + [never]) for _ in range(alternatives)), rule_of("/", "web")]


@pytest.fixture(scope="module", params=PROXIES)
def prices(request):
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(Backend("web"))
        proxy = stack.enter_context(proxy_class(request.param)())
        rules = [rule_of(f"/{name}", "web", policy=name) for name in POLICIES]
        rules += [rule_of(f"/{name}", "web", conditions=[condition]) for name, condition in WANTED.items()]
        rules += [rule_of(f"/many-{path}", "web", conditions=[{"subject": subject, "name": f"x{number}", "value": "1"}])
                  for path, subject in (("cookies", "cookie"), ("queries", "query")) for number in range(ALTERNATIVES)]
        proxy.apply(pool("web", web), {"kind": "users", "id": "users", "users": USERS},
                    *({"kind": "policy", "id": name, "ingress": "default/web", **policy} for name, policy in POLICIES.items()),
                    host("a.test", ("/", "web")), host("one.test", *searching(1, 1)), host("many.test", *searching(ALTERNATIVES, 7)),
                    host("paths.test", *(rule_of("/", "web", regex=f"(?i)^/shop/[a-z]+/item-{number}$") for number in range(REGEXES_MAX))), host("rules.test", *rules, ("/", "web")), proxy.balancer(),
                    {**host("decoded.test", ("/", "web"), ("/a b", "web")), "id": f"{LB}/decoded.test", "decoded": True})
        yield Prices(proxy)


@pytest.mark.plain  # what is measured is the proxy
@pytest.mark.parametrize("field", FIELDS)
def test_no_text_is_read_again_and_again(prices, field):
    before = prices.proxy.workers()
    requests = {name: FIELDS[field](shape(SIZE)).encode("latin-1") for name, shape in {**SHAPES, **BLANK}.items()}
    ratios = {name: prices.ratio(request, SIZE, RATIO_MAX) for name, request in requests.items()}
    assert not {name: round(ratio, 1) for name, ratio in ratios.items() if ratio > RATIO_MAX}
    assert prices.proxy.workers() == before and prices.proxy.reached("a.test") == "web"


@pytest.mark.plain
def test_searches_of_a_request_have_a_limit_together(prices):
    before = prices.proxy.workers()
    requests = [sent("/", "X-Asked", "a" * SIZE, f"{name}.test")("x").encode() for name in ("many", "one")]
    many, one = (min(prices.of(request, again=True) for _ in range(3)) for request in requests)
    assert many < SEARCHES_MAX * one
    assert prices.proxy.reached("many.test") == "web"
    assert prices.proxy.request("many.test", "/", headers={"X-Asked": "a" * SIZE + "x"}).status == 500
    assert prices.proxy.workers() == before


def test_a_path_may_have_all_its_regular_expressions(prices):
    """Those that are soon done, though of a long path."""
    long = "/shop/" + "a" * 6000
    assert prices.proxy.reached("paths.test", f"{long}/item-{REGEXES_MAX - 1}") == "web"
    assert prices.proxy.request("paths.test", f"{long}/item-{REGEXES_MAX}").status == 404
