# SPDX-License-Identifier: Apache-2.0
"""The table of cases (tests/cases/routes.json) through an application load balancer. Where it cannot do as a proxy does, the row says what it does, and why."""
from __future__ import annotations

from typing import Any

import pytest

from lib.certs import self_signed
from lib.elb_traffic import WEB, TrafficBench
from lib.provider_link import certificate, load_balancer, virtual_host
from lib.raw_http import exchange
from lib.route_table import CASES, bytes_of, expand, title

pytestmark = pytest.mark.plain

# No Ingress is so large that it needs more than these by default: the table has every case in one.
ROOM = {"quotas": {"rules-per-application-load-balancer": 300}}
# What comes of a request that HTTP forbids, and which headers are added, is up to AWS. The stand-in knows no methods but the usual ones.
ROWS = [row for row in CASES["rows"]
        if "raw" not in row and row.get("status", 200) in (200, 404, 503) and not row.get("sees") and row.get("method") != "X-OWN"]


class Table(TrafficBench):
    """One of the table's balancers, with a pod for each pool."""

    def __init__(self, name: str):
        super().__init__(settings=ROOM)
        wanted = CASES["balancers"][name]
        default = wanted.get("default_pool")
        pools = {rule[2] for listed in wanted["hosts"].values() for rule in listed} | ({default} if default else set())
        self.translator.put(certificate("cert", self_signed("default.test")),
                            *(self.pool(each, *([None] if each == "EMPTY" else [])) for each in sorted(pools - {"MISSING"})),
                            *(self.host(host, listed) for host, listed in wanted["hosts"].items()),
                            load_balancer("web", https=443, certificates=["default/cert"], **({"default_pool": f"default/{default}"} if default else {})))
        self.settle()

    @staticmethod
    def host(name: str, listed: list[Any]) -> dict[str, Any]:
        host = virtual_host(WEB, expand(name))
        host["rules"] = [{"path": expand(rule[0]), "match": rule[1], "pool": f"default/{rule[2]}", "ingress": WEB, **(rule[3] if len(rule) > 3 else {})}
                         for rule in listed]
        return host


@pytest.fixture(scope="module")
def tables():
    running: dict[str, Table] = {}

    def table(name: str) -> Table:
        if name not in running:
            running[name] = Table(name)
        return running[name]

    yield table
    complaints = [complaint for each in running.values() for complaint in each.stop()]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("row", ROWS, ids=title)
def test_case(row, tables):
    table = tables(row["balancer"])
    answer = exchange("127.0.0.1", table.port(443 if row.get("tls") else 80), bytes_of(row))
    wanted = row.get("elb", row.get("reaches", row.get("status")))
    assert answer.headers.get("x-backend", answer.status) == (f"default/{wanted}" if isinstance(wanted, str) else wanted)
