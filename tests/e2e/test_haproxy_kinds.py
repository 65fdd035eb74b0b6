# SPDX-License-Identifier: Apache-2.0
"""Policies that say one thing have rules of their own in HAProxy: what these do is what the rules for all policies do with the same policy and a limit that nobody meets."""
from __future__ import annotations

import random
from typing import Any

import pytest

from lib.backend import Backend
from lib.haproxy import HAProxy
from lib.local_proxy import host, pool
from lib.traffic import request

REGEXES = [
    "^/app(/|$)(.*)", "^/app/?(.*)", "^/(a|b)?(/x)?", "^/()(.*)", "^/(?:app|b)/(.*?)/(.*)$", "^/(x)?(y)?(.*)", "(?i)^/APP(/|$)(.*)", "^/[^/]+(/|$)(.*)", "^/a(p*)(.*)", "/(.*)/([^/]*)$",
]
PIECES = ["/", "app", "APP", "a", "b", "x", "y", "//", "%2F", "%41", "%7e", "é", ".", "..", "~", "<", ">", "|", "\"", "{", "}", "^", "\\", "'", "&", "=", "+", ",", ";", ":", "@", "(", ")", "*", "!", "$1", "p", "q" * 300]
REQUESTS = 60


def path_of(rng: random.Random) -> str:
    return "/" + "".join(rng.choice(PIECES) for _ in range(rng.randrange(7))).replace("é", "%C3%A9")


def two_hosts(policy: dict[str, Any], **where: Any) -> list[dict[str, Any]]:
    """For the first the rules of the kind, for the second those for all."""
    made = []
    for name, more in (("one.test", {}), ("all.test", {"timeouts": {"read_ms": 59000}})):
        made.append({"kind": "policy", "id": f"bench/{name}", "ingress": "bench/web", **policy, **more})
        made.append(host(name, {"path": "/", "match": "prefix", "ingress": "bench/web", "pool": "p", "policy": f"bench/{name}", **where}))
    return made


@pytest.mark.parametrize("group", [1, 2])
def test_a_group_of_the_path_is_the_same_path(group):
    rng = random.Random(group)
    with Backend("p") as pod, HAProxy() as proxy:
        proxy.apply(proxy.balancer(), pool("p", pod))
        rewritten = 0
        for regex in REGEXES:
            proxy.apply(*two_hosts({"rewrite": [{"text": "/"}, {"value": "group", "group": group}]}, regex=regex))
            for _ in range(REQUESTS):
                path = path_of(rng)
                seen = []
                for name in ("one.test", "all.test"):
                    pod.targets.clear()
                    status = request(proxy.address, proxy.http, name, path + "?a=/b<c").status
                    seen.append((status, list(pod.targets)))
                assert seen[0] == seen[1], (regex, path)
                rewritten += seen[0][0] == 200
        assert rewritten > len(REGEXES) * REQUESTS / 4
        assert sum(" 100-R|" in line or " 200-R|" in line for line in (proxy.state_dir / "maps/rules.map").read_text().splitlines() if not line.startswith("#")) == 1


# What policies say.
CASES = [
    {"https_redirect": 308}, {"https_redirect": 301, "https_port": 8443}, {"https_redirect": 302}, {"https_redirect": 308, "hsts": {"max_age_s": 5}},
    {"source_access": {"allow": ["127.0.0.0/8"]}}, {"source_access": {"allow": ["10.0.0.0/8", "2001:db8::/32"]}}, {"source_access": {"deny": ["127.0.0.0/8"]}},
    {"https_redirect": 308, "source_access": {"allow": ["10.0.0.0/8"]}}, {"hsts": {"max_age_s": 5}, "source_access": {"allow": ["10.0.0.0/8"]}},
    {"cors": {"any_origin": True, "methods": "GET"}}, {"cors": {"origins": ["https://a.test", "https://*.b.test"], "credentials": True, "max_age_s": 7}},
    {"https_redirect": 308, "cors": {"any_origin": True}}, {"https_redirect": 308, "cors": {"origins": ["https://a.test"]}, "hsts": {"max_age_s": 5}},
    {"rate_limits": {"requests": [{"requests": 1, "interval_s": 60, "burst": 1}]}}, {"rate_limits": {"requests": [{"requests": 1, "interval_s": 60}], "status": 503}},
    {"rate_limits": {"requests": [{"requests": 1, "interval_s": 60}], "status": 509}}, {"rate_limits": {"requests": [{"requests": 1, "interval_s": 60}], "exempt": ["127.0.0.0/8"]}},
]
HEADERS = ["location", "vary", "strict-transport-security", "access-control-allow-origin", "access-control-allow-credentials", "access-control-allow-methods", "access-control-max-age"]


def test_each_kind_answers_as_all_rules_do():
    with Backend("p") as pod, HAProxy() as proxy:
        proxy.apply(proxy.balancer(), pool("p", pod))
        for has_endpoint in (True, False):
            for policy in CASES:
                proxy.apply(*two_hosts(policy))
                for method, origin in (("GET", None), ("OPTIONS", "https://a.test"), ("POST", "https://x.b.test"), ("GET", "https://c.test"), ("PATCH", None)):
                    seen = []
                    for name in ("one.test", "all.test"):
                        answer = request(proxy.address, proxy.http, name, "/a/%41?b=c", method=method, headers={"Origin": origin} if origin else {})
                        seen.append((answer.status, answer.body if answer.status != 200 else b"", [(answer.headers.get(key) or "").replace(name, "") for key in HEADERS]))
                    assert seen[0] == seen[1], (has_endpoint, policy, method, origin)
            proxy.apply(pool("p"))
