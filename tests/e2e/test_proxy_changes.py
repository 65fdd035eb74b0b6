# SPDX-License-Identifier: Apache-2.0
"""Thousands of mixed changes while clients keep asking: no request fails, nothing is reloaded, and in the end all is as was wanted."""
from __future__ import annotations

import random

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.line import is_sanitized
from lib.local_proxy import LB, certificate, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.traffic import Load

HOSTS = 40


class World:
    """What is wanted, changed at random but always so that the hosts which clients ask for have a living endpoint."""

    def __init__(self, pods: list[Backend]):
        self.random = random.Random(7)
        self.pods = pods
        self.pairs = [self_signed("busy.test") for _ in range(4)]
        self.routes: dict[str, str] = {}  # host: pool, of those that nobody asks for meanwhile
        self.members: dict[str, list[Backend]] = {f"p{number}": [pods[number % len(pods)]] for number in range(8)}

    def start(self) -> list[dict]:
        return [certificate("busy", self.pairs[0], "busy.test"), *(pool(name, *members) for name, members in self.members.items()),
                host("busy.test", ("/a", "p0"), ("/", "p1"))]

    def change(self) -> tuple[list[dict], list[tuple[str, str]]]:
        """One change: objects to send, and ids to take away."""
        kind = self.random.random()
        if kind < 0.5:
            name = self.random.choice(list(self.members))
            self.members[name] = self.random.sample(self.pods, self.random.randint(1, len(self.pods)))
            return [pool(name, *self.members[name])], []
        if kind < 0.65:
            return [host("busy.test", ("/a", f"p{self.random.randrange(8)}"), ("/", f"p{self.random.randrange(8)}"))], []
        if kind < 0.7:
            return [certificate("busy", self.random.choice(self.pairs), "busy.test")], []
        name = f"h{self.random.randrange(HOSTS)}.test"
        if name in self.routes and self.random.random() < 0.5:
            del self.routes[name]
            return [], [("virtual-host", f"{LB}/{name}")]
        self.routes[name] = self.random.choice(list(self.members))
        return [host(name, ("/", self.routes[name]))], []


@pytest.mark.parametrize("name", PROXIES)
def test_changes_under_load(name):
    count = 2000 if is_sanitized() else 10000
    pods = [Backend(f"b{number}") for number in range(4)]
    try:
        with proxy_class(name)() as proxy:
            world = World(pods)
            proxy.apply(*world.start(), proxy.balancer(https=True, default_certificate="busy"))
            workers = proxy.workers()
            targets = [("busy.test", "/a/x"), ("busy.test", "/b")]
            with Load(proxy.address, proxy.http, targets) as plain, Load(proxy.address, proxy.https, targets, sni="busy.test") as secure:
                for number in range(count):
                    objects, gone = world.change()
                    if number % 100 == 99:
                        proxy.apply(*objects, gone=gone)
                    else:
                        proxy.send(*objects)
                        proxy.remove(*gone)
                        proxy.commit()
                proxy.apply()
            assert plain.failures + secure.failures == [] and plain.good > 0 and secure.good > 0
            assert not proxy.was_reloaded_since(workers)
            for number in range(HOSTS):
                wanted = world.routes.get(f"h{number}.test")
                reached = proxy.reached(f"h{number}.test")
                assert reached in ({pod.name for pod in world.members[wanted]} if wanted else {404}), f"h{number}.test"
    finally:
        for pod in pods:
            pod.stop()
