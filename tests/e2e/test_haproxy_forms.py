# SPDX-License-Identifier: Apache-2.0
"""A host with one pool has that pool in its row, one with paths of its own a name: while it becomes the one or the other, no request fails."""
from __future__ import annotations

import random

from lib.backend import Backend
from lib.haproxy import HAProxy
from lib.local_proxy import host, pool, rule_of
from lib.traffic import Load
from lib.wait import wait_for

FLIPS = 300
NAMES = {"a.test": "a.test", "*.w.test": "b.w.test"}  # and who is asked for


def rules_of(rng: random.Random) -> list:
    """All of them send `/` somewhere."""
    root = ("/", rng.choice(["p", "q"]))
    return rng.choice([[root], [("/x", "q"), root], [("/x", "p", "exact"), root], [rule_of("/t", "q", tls_only=True), root], [("/", "p", "exact"), root]])


def test_hosts_change_their_form_under_load():
    rng = random.Random(5)
    with Backend("p") as one, Backend("q") as two, HAProxy() as proxy:
        proxy.apply(proxy.balancer(), pool("p", one), pool("q", two), *(host(name, ("/", "p")) for name in NAMES))
        targets = [(asked, path) for asked in NAMES.values() for path in ("/", "/y")]
        with Load(proxy.address, proxy.http, targets) as load:
            for number in range(FLIPS):
                proxy.send(*(host(name, *rules_of(rng)) for name in NAMES))
                proxy.commit()
                good = load.good
                wait_for(lambda good=good: load.good > good or load.failures, "another answer")
            proxy.apply(*(host(name, ("/x", "q"), ("/", "p")) for name in NAMES))
            for asked in NAMES.values():
                assert (proxy.reached(asked), proxy.reached(asked, "/x")) == ("p", "q")
            proxy.apply(*(host(name, ("/", "q")) for name in NAMES))
            for asked in NAMES.values():
                assert (proxy.reached(asked), proxy.reached(asked, "/x")) == ("q", "q")
        assert load.good and not load.failures
        assert not proxy.provider.events("proxy-answer")
        proxy.apply(gone=[("virtual-host", f"sluice/{name}") for name in NAMES])
        for asked in NAMES.values():
            assert proxy.reached(asked) == 404
        for name in ("hosts", "prefixes"):
            lines = (proxy.state_dir / f"maps/{name}.map").read_text().splitlines()
            assert [line for line in lines if not line.startswith("#") and " p" in line and "probe" not in line] == []
