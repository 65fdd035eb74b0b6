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
from lib.wait import wait_for

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


CHANGES = 800


def keep_asking(load: Load, count: int = 10) -> None:
    """Until so many more requests have been answered."""
    before = load.good + len(load.failures)
    wait_for(lambda: load.good + len(load.failures) >= before + count, "answers", 60, 0.001)


@pytest.mark.parametrize("name", PROXIES)
def test_routes_move_to_new_pools(name):
    """The only route goes to a pool that the same commit adds, and the pool it came from goes with that commit: nobody asks in vain."""
    with Backend("pod") as pod, proxy_class(name)() as proxy:
        proxy.apply(pool("p0", pod), host("busy.test", ("/", "p0")), proxy.balancer())
        workers = proxy.workers()
        with Load(proxy.address, proxy.http, [("busy.test", "/x")], clients=8) as load:
            for number in range(1, CHANGES + 1):
                proxy.send(pool(f"p{number}", pod), host("busy.test", ("/", f"p{number}")))
                proxy.remove(("pool", f"p{number - 1}"))
                proxy.commit()
                keep_asking(load)
            proxy.apply()
        assert load.failures == []
        assert not proxy.was_reloaded_since(workers)
        assert proxy.reached("busy.test") == "pod"


@pytest.mark.parametrize("name", PROXIES)
def test_pools_change_what_they_are(name):
    """A cookie and a health check, which HAProxy knows as directives only, come and go under load."""
    kinds = [{}, {"stickiness": {"cookie": "STICK"}}, {"health_check": {"service": "web", "type": "http", "path": "/healthz"}}]
    with Backend("pod") as pod, proxy_class(name)() as proxy:
        proxy.apply(pool("web", pod), host("busy.test", ("/", "web")), proxy.balancer())
        with Load(proxy.address, proxy.http, [("busy.test", "/x")], clients=8) as load:
            for number in range(CHANGES):
                proxy.send(pool("web", pod, **kinds[number % len(kinds)]))
                proxy.commit()
                keep_asking(load)
            proxy.apply(pool("web", pod, **kinds[1]))
        assert load.failures == []
        assert proxy.request("busy.test").headers["set-cookie"].startswith("STICK=")
