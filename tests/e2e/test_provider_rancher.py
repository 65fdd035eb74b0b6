# SPDX-License-Identifier: Apache-2.0
"""provider-rancher against the Rancher stand-in, told what is wanted by a translator of the tests."""
from __future__ import annotations

import pytest

from lib.provider_bench import Bench
from lib.provider_link import load_balancer, pool, simple, virtual_host
from lib.wait import stays, wait_for

WEB = "default-rancherlb-web"


@pytest.fixture
def bench():
    with Bench() as running:
        running.services("web")
        yield running


def test_one_ingress_becomes_one_load_balancer_by_one_write(bench):
    bench.translator.put(*simple("web", "foo.bar.com"))
    lb = bench.wait_lb(WEB)
    assert lb["externalId"] == f"kubernetes-ingress-lbs://{WEB}"
    assert lb["description"] == "managed by sluice: ingress=default/web"
    assert lb["launchConfig"]["ports"] == ["80:80/tcp"]
    rule, = bench.rules(WEB)
    assert (rule["hostname"], rule["path"], rule["targetPort"], rule["sourcePort"], rule["priority"]) == \
        ("foo.bar.com", "/foo", 8080, 80, 1)
    bench.translator.wait_status("default/web")
    assert wait_for(lambda: bench.translator.addresses("default/web"), "addresses") == \
        [lb["publicEndpoints"][0]["ipAddress"]]
    bench.quiet()
    assert bench.writes() == [("POST", "kubernetes-ingress-lbs"), ("POST", WEB)]
    assert bench.translator.event_reasons("default/web") == ["LoadBalancerCreated"]
    assert bench.translator.notices("default/web") == {}
    assert bench.translator.hello["capabilities"] == {"grouping": "per-ingress", "protocols": ["http", "https"]}
