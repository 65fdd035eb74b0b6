# SPDX-License-Identifier: Apache-2.0
"""Thousands of mixed changes of what is done with requests, while clients keep asking: no request fails, nothing is reloaded, and each change is what requests meet."""
from __future__ import annotations

import random
from typing import Any, Iterator

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.line import is_sanitized
from lib.local_proxy import LocalProxy, certificate, host, pool
from lib.others import Other
from lib.proxies import PROXIES, proxy_class
from lib.provider_link import Object
from lib.traffic import Load
from lib.traffic_table import POLICY_WORDS, claimed_words

HASH = "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="
POLICIES = 6


def text(value: str) -> Object:
    return {"text": value}


def networks(rng: random.Random) -> list[str]:
    return sorted(f"10.{rng.randrange(200)}.0.0/16" for _ in range(rng.randrange(1, 20)))


def settings(rng: random.Random) -> dict[str, Any]:
    """Of each word one value with which clients here get 200."""
    return {
        "cors": {"origins": [f"https://o{rng.randrange(50)}.test"], "methods": "GET"},
        "hsts": {"max_age_s": rng.randrange(1, 1000)},
        "rate_limits": {"requests": [{"requests": 100000 + rng.randrange(1000), "interval_s": 1, "burst": 100000}]},
        "source_access": {"allow": ["127.0.0.0/8", *networks(rng)]} if rng.random() < 0.5 else {"deny": networks(rng)},
        "basic_auth": {"realm": f"r{rng.randrange(50)}", "users": "users"},
        "rewrite": [text(f"/r{rng.randrange(50)}"), {"value": "path"}],
        "request_headers": [{"name": f"X-H{rng.randrange(5)}", "value": [{"value": "host"}]}],
        "response_headers": [{"name": f"X-R{rng.randrange(5)}", "value": [{"value": "method"}]}],
        "timeouts": {"read_ms": 20000 + rng.randrange(1000)},
        "body_max_bytes": rng.randrange(1, 10000),
        "external_auth": {"pool": "auth", "target": [text(f"/check{rng.randrange(50)}")]},
        "error_pages": {"statuses": [{"status": 410 + rng.randrange(8)}], "pool": "p0"},
        "mirrors": [{"pool": "auth", "target": [text(f"/copy{rng.randrange(50)}")]}],
        "fallback_pool": rng.choice(["p0", "p1"]),
        "location_changes": [{"from": f"http://{rng.randrange(50)}", "to": "/"}],
        "cookie_paths": [{"from": f"/{rng.randrange(50)}", "to": "/"}],
    }


class World:
    """What is wanted, changed at random."""

    def __init__(self, claimed: set[str], pods: list[Backend]):
        self.random = random.Random(11)
        self.pods = pods
        self.keys = [key for key in settings(self.random) if POLICY_WORDS[key] in claimed]
        self.turn = 0

    def policy(self, number: int) -> Object:
        drawn = settings(self.random)
        made = {key: drawn[key] for key in self.random.sample(self.keys, self.random.randrange(4))}
        if "basic_auth" in made:
            # Clients have no password, but are where they have to be.
            made |= {"source_access": {"allow": ["127.0.0.0/8"]}, "satisfy_any": True}
        changes = [*made.pop("response_headers", []), {"name": "X-Turn", "value": [text(str(self.turn))]}]
        return {"kind": "policy", "id": f"y{number}", "ingress": "default/web", "response_headers": changes, **made}

    def hosts(self) -> Object:
        def leads() -> Object:
            if self.random.random() < 0.5:
                return {"pool": self.random.choice(["p0", "p1"])}
            return {"pools": [{"pool": "p0", "weight": self.random.randrange(1, 100)}, {"pool": "p1", "weight": self.random.randrange(100)}]}
        return host("busy.test", *({"path": f"/{number}", "match": "prefix", "ingress": "default/web", "policy": f"y{number}", **leads()}
                                   for number in range(POLICIES)))

    def users(self) -> Object:
        return {"kind": "users", "id": "users", "users": [{"name": f"u{number}", "hash": HASH} for number in range(self.random.randrange(1, 30))]}

    def start(self) -> list[Object]:
        return [self.users(), pool("p0", self.pods[0]), pool("p1", self.pods[1]), pool("auth", self.pods[2]), *(self.policy(number) for number in range(POLICIES)), self.hosts()]

    def change(self) -> Object:
        self.turn += 1
        kind = self.random.random()
        if kind < 0.1:
            return self.hosts()
        if kind < 0.2:
            return self.users()
        return self.policy(self.random.randrange(POLICIES))


@pytest.fixture
def pods() -> Iterator[list[Backend]]:
    with Backend("p0") as first, Backend("p1") as second, Other("auth") as other:
        yield [first, second, other]


@pytest.mark.parametrize("name", PROXIES)
def test_changes_under_load(name: str, pods: list[Backend]) -> None:
    count = 2000 if is_sanitized() else 10000
    proxy: LocalProxy
    with proxy_class(name)() as proxy:
        world = World(claimed_words(name), pods)
        proxy.apply(certificate("default", self_signed("busy.test")), *world.start(), proxy.balancer(https=True, default_certificate="default"))
        workers = proxy.workers()
        targets = [("busy.test", f"/{number}") for number in range(POLICIES)]
        with Load(proxy.address, proxy.http, targets) as plain, Load(proxy.address, proxy.https, targets, sni="busy.test") as secure:
            for number in range(count):
                changed = world.change()
                if number % 100 != 99:
                    proxy.send(changed)
                    proxy.commit()
                    continue
                last = world.policy(number // 100 % POLICIES)
                proxy.apply(changed, last)
                assert proxy.request("busy.test", "/" + last["id"][1:]).headers["x-turn"] == str(world.turn)
        assert plain.failures + secure.failures == [] and plain.good > 0 and secure.good > 0
        assert not proxy.was_reloaded_since(workers)
