# SPDX-License-Identifier: Apache-2.0
"""What a request costs that a policy has something to say about: scripts/bench policies.

At 5,000 routes with a policy each, beside the same proxy with one route for which the same is written by hand. No limit where the proxy has
no words of its own for the same thing: then it stands beside a request of the bare proxy to which nothing is done.
"""
from __future__ import annotations

import base64
from typing import Any, NamedTuple

from lib.local_proxy import LocalProxy, host, pool
from lib.proxies import proxy_class
from lib.traffic_table import POLICY_WORDS, claimed_words
from report import budget, say
from request_cost import COMMANDS, ENDPOINT_PORT, LIMIT, Bare, Question, addresses, endpoints, measure_ratio

PASSWORD = "open sesame"
# As `openssl passwd -5 -salt "rounds=1000\$abcdefgh"` makes it of that password.
HASH = "$5$rounds=1000$abcdefgh$uN/x8g5iqpGW8nv2HklfY2EGEvwdVIgjHBpf2Az7t3A"
ORIGIN = "https://shop.example"


class Hand(NamedTuple):
    """What somebody writes by hand: for the route, and outside of it."""

    policy: str = ""
    outside: str = ""


class Case(NamedTuple):
    """A policy, how clients ask, and the same by hand for each proxy that can do it."""

    name: str
    policy: dict[str, Any]
    by_hand: dict[str, Hand]
    question: Question = Question()
    where: dict[str, Any] = {"path": "/", "match": "prefix"}


def basic(user: str, password: str) -> str:
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


CASES = [
    Case("HTTPS redirect", {"https_redirect": 308},
         {"haproxy": Hand("\thttp-request redirect scheme https code 308"), "nginx": Hand("return 308 https://$host$request_uri;")},
         Question(status=308)),
    Case("rewrite by a regular expression", {"rewrite": [{"text": "/"}, {"value": "group", "group": 2}]},
         {"haproxy": Hand("\thttp-request replace-path ^/app(/|$)(.*) /\\2"), "nginx": Hand("rewrite ^/app(/|$)(.*) /$2 break;")},
         Question("/app/cart/items"), {"regex": "^/app(/|$)(.*)"}),
    Case("basic auth", {"basic_auth": {"realm": "Staff", "users": "bench/users"}},
         {"haproxy": Hand('\thttp-request auth realm Staff unless { http_auth(staff) }', f"userlist staff\n\tuser ann password {HASH}"),
          "nginx": Hand('auth_basic Staff; auth_basic_user_file "@FOLDER@/../staff";')},
         Question(headers=(basic("ann", PASSWORD),))),
    Case("CORS", {"cors": {"origins": [ORIGIN], "credentials": True, "methods": "GET, PUT, POST, DELETE, PATCH, OPTIONS", "max_age_s": 1728000}},
         {"haproxy": Hand(f"""	http-request set-var(txn.origin) req.hdr(origin)
	http-response set-header Access-Control-Allow-Origin %[var(txn.origin)] if {{ var(txn.origin) -m str {ORIGIN} }}
	http-response set-header Access-Control-Allow-Credentials true if {{ var(txn.origin) -m str {ORIGIN} }}
	http-response set-header Access-Control-Allow-Methods "GET, PUT, POST, DELETE, PATCH, OPTIONS" if {{ var(txn.origin) -m str {ORIGIN} }}
	http-response set-header Access-Control-Max-Age 1728000 if {{ var(txn.origin) -m str {ORIGIN} }}
	http-response set-header Vary Origin if {{ var(txn.origin) -m str {ORIGIN} }}"""),
          "nginx": Hand(f"""set $origin "";
			if ($http_origin = "{ORIGIN}") {{ set $origin $http_origin; }}
			add_header Access-Control-Allow-Origin $origin always;
			add_header Access-Control-Allow-Credentials true always;
			add_header Access-Control-Allow-Methods "GET, PUT, POST, DELETE, PATCH, OPTIONS" always;
			add_header Access-Control-Max-Age 1728000 always;
			add_header Vary Origin always;""")},
         Question(headers=(f"Origin: {ORIGIN}",))),
    Case("rate limit", {"rate_limits": {"requests": [{"requests": 1000000, "interval_s": 1, "burst": 1000000}]}},
         {"haproxy": Hand("""	stick-table type ip size 100k expire 60s store http_req_rate(1s)
	http-request track-sc0 src
	http-request deny deny_status 429 if { sc_http_req_rate(0) gt 1000000 }"""),
          "nginx": Hand("limit_req zone=clients burst=1000000 nodelay;", "limit_req_zone $binary_remote_addr zone=clients:10m rate=1000000r/s;")}),
    Case("source access", {"source_access": {"allow": ["127.0.0.0/8", "192.0.2.0/24"]}},
         {"haproxy": Hand("\thttp-request deny unless { src 127.0.0.0/8 192.0.2.0/24 }"), "nginx": Hand("allow 127.0.0.0/8; allow 192.0.2.0/24; deny all;")}),
    Case("external auth", {"external_auth": {"pool": "auth", "target": [{"text": "/check"}]}},
         {"nginx": Hand("""auth_request /check;
			location = /check {
				internal;
				proxy_pass_request_body off;
				proxy_set_header Content-Length "";
				proxy_pass http://app;
			}""")}),
]


def _routes(case: Case, names: list[str]) -> list[dict[str, Any]]:
    """A policy, and the rule that has it, for each host."""
    made: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        owner = f"bench/{number}"
        made.append({"kind": "policy", "id": owner, "ingress": owner, **case.policy})
        made.append(host(name, {**case.where, "ingress": owner, "pool": f"pool-{number}", "policy": owner}))
    return made


def _measure_case(proxy: LocalProxy, case: Case, names: list[str], ips: list[str]) -> None:
    name = proxy.name
    proxy.apply(*_routes(case, names))
    where = proxy.address, proxy.other_port(proxy.http, proxy.https)
    by_hand = case.by_hand.get(name)
    folder = proxy.folder / f"bare-{case.name.replace(' ', '-')}"
    with Bare(name, COMMANDS[name], where, folder, ips[0], names[0], *(by_hand or Hand())) as bare:
        others = None if by_hand else Question()
        ratio, detail = measure_ratio(proxy, bare, names[-1:], names[0], case.question, others)
        budget(f"{name}: CPU of a request, {case.name}" + ("" if by_hand else ", beside a plain one"), ratio, LIMIT if by_hand else None, "x", detail)


def measure(name: str, count: int) -> None:
    """One row for each policy that the provider says it honours."""
    names = [f"app-{number:05d}.bench.example.org" for number in range(count)]
    ips = addresses(count)
    with endpoints(ips), proxy_class(name)() as proxy:
        (proxy.folder / "staff").write_text(f"ann:{HASH}\n")
        proxy.send(proxy.balancer(), pool("auth", (ips[0], ENDPOINT_PORT)), *(pool(f"pool-{n}", (ip, ENDPOINT_PORT)) for n, ip in enumerate(ips)))
        proxy.send({"kind": "users", "id": "bench/users", "users": [{"name": "ann", "hash": HASH}]})
        proxy.apply()
        words = claimed_words(name)
        for case in CASES:
            if POLICY_WORDS[next(iter(case.policy))] in words:
                _measure_case(proxy, case, names, ips)
            else:
                say(f"  {name}: does not do {case.name}")
