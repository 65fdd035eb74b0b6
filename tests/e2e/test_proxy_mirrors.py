# SPDX-License-Identifier: Apache-2.0
"""Local proxies: copies of requests that nobody answers are bounded, and take nothing of the answers, or of others' copies."""
from __future__ import annotations

from typing import Any, Iterator

import pytest

from lib.backend import Backend
from lib.local_proxy import PATIENCE, LocalProxy, host, pool
from lib.others import Other
from lib.provider_link import Object
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

# Copies under way at a time, the least and the most: HAProxy counts those of a policy; nginx those of a mirror, in each of two workers.
COPIES_MAX = {"haproxy": (256, 256), "nginx": (32, 2 * 32)}


def policy(name: str, **settings: Any) -> Object:
    return {"kind": "policy", "id": name, "ingress": "default/web", **settings}


def rule(policy_id: str) -> Object:
    return {"path": "/", "match": "prefix", "ingress": "default/web", "pool": "web", "policy": policy_id}


@pytest.fixture(name="others")
def fixture_others() -> Iterator[tuple[Other, Other]]:
    with Other("silent") as silent, Other("calm") as calm:
        yield silent, calm


@pytest.fixture(name="proxy", params=PROXIES)
def fixture_proxy(request: pytest.FixtureRequest, others: tuple[Other, Other]) -> Iterator[LocalProxy]:
    silent, calm = others
    with Backend("web") as web, proxy_class(request.param)() as proxy:
        proxy.send(proxy.balancer())
        proxy.apply(pool("web", web), pool("silent", silent), pool("calm", calm),
                    policy("p", mirrors=[{"pool": "silent"}]), policy("q", mirrors=[{"pool": "calm"}]),
                    host("silent.test", rule("p")), host("calm.test", rule("q")))
        yield proxy


def test_copies_that_nobody_answers_are_bounded(proxy: LocalProxy, others: tuple[Other, Other]) -> None:
    silent, calm = others
    least, most = COPIES_MAX[proxy.name]
    silent.is_silent = True
    for _ in range(most + 60):
        assert proxy.request("silent.test").status == 200
    wait_for(lambda: silent.count >= least, "copies to be under way", PATIENCE)
    assert proxy.request("calm.test").status == 200
    wait_for(lambda: calm.count == 1, "another's copy to be sent", PATIENCE)
    assert silent.count <= most

    silent.is_silent = False
    silent.release()
    before = silent.count

    def copied() -> bool:
        assert proxy.request("silent.test").status == 200
        return silent.count > before
    wait_for(copied, "copies to be sent again", PATIENCE)
