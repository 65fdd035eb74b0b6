# SPDX-License-Identifier: Apache-2.0
"""Metrics of the traffic of each Ingress: what is counted, under which names, and that it stays bounded."""
from __future__ import annotations

import collections
import os
import re
import signal
from collections.abc import Iterator

import pytest

from lib.addresses import free_port
from lib.admin import look, wait_ready
from lib.backend import Backend
from lib.local_proxy import LocalProxy, host, pool, rule_of
from lib.nginx import Nginx
from lib.wait import wait_for

PATIENCE = 30.0
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
SERIES = re.compile(r'^(sluice_ingress_[a-z_]+)\{(.*)\} ([0-9.]+)$')


def text(proxy: LocalProxy, accept: str = "") -> str:
    return look(proxy.runtime / "provider-nginx.admin", "/metrics/ingresses", **({"Accept": accept} if accept else {})).text


def counts(proxy: LocalProxy) -> dict[tuple[str, str], float]:
    """By the name of the metric and its labels."""
    found = (SERIES.match(line) for line in text(proxy).splitlines() if not line.startswith("#"))
    return collections.defaultdict(float, {(one[1], one[2].replace('"', "")): float(one[3]) for one in found if one})


def of(ingress: str, namespace: str = "shop", more: str = "") -> str:
    return f"namespace={namespace},ingress={ingress}{',' if more else ''}{more}"


def requests(proxy: LocalProxy, labels: str) -> float:
    return counts(proxy)["sluice_ingress_requests_total", labels]


def wait_requests(proxy: LocalProxy, labels: str, count: float) -> None:
    wait_for(lambda: requests(proxy, labels) >= count, f"{count} of {labels}", PATIENCE)
    assert requests(proxy, labels) == count


@pytest.fixture(name="proxy")
def fixture_proxy() -> Iterator[Nginx]:
    with Backend("web") as web, Nginx(arguments=["--metrics-ingresses", "3"]) as proxy:
        rules = [rule_of("/front", "web", ingress="shop/front"), rule_of("/back", "web", ingress="shop/back"),
                 rule_of("/inside", "web", ingress="shop/back", policy="inside"), rule_of("/unlogged", "web", ingress="shop/front", unlogged=True)]
        proxy.apply(pool("web", web), pool("refusing", (web.ip, free_port(web.ip)), web), host("a.test", *sorted(rules, key=lambda rule: -len(rule["path"]))),
                    {"kind": "policy", "id": "inside", "ingress": "shop/back", "source_access": {"allow": ["192.0.2.0/24"]}},
                    host("retried.test", rule_of("/", "refusing", ingress="shop/back")), proxy.balancer())
        yield proxy


def test_what_is_counted(proxy):
    for number in range(20):
        assert proxy.reached("a.test", f"/front/{number}") == "web"
    assert proxy.reached("a.test", "/unlogged") == "web"
    for status in (404, 503):
        assert proxy.request("a.test", f"/front?status={status}").status == status
    for _ in range(3):
        assert proxy.request("a.test", "/inside").status == 403
    assert proxy.request("unknown.test").status == 404
    wait_requests(proxy, of("front", more="status=2xx"), 21)
    wait_requests(proxy, of("front", more="status=4xx"), 1)
    wait_requests(proxy, of("front", more="status=5xx"), 1)
    wait_requests(proxy, of("back", more="status=4xx"), 3)
    wait_requests(proxy, of("(none)", "", more="status=4xx"), 1)
    found = counts(proxy)
    assert found["sluice_ingress_denied_requests_total", of("back", more="guard=source-access")] == 3
    duration = "sluice_ingress_request_duration_seconds"
    assert found[f"{duration}_count", of("front")] == 23 == found[f"{duration}_bucket", of("front", more="le=+Inf")]
    assert 0 <= found[f"{duration}_sum", of("front")] < 60
    assert found["sluice_ingress_sent_bytes_total", of("front")] > 23 * 100 and found["sluice_ingress_received_bytes_total", of("front")] > 23 * 30


def test_retries(proxy):
    """One of two endpoints refuses connections."""
    for _ in range(10):
        assert proxy.reached("retried.test") == "web"
    wait_requests(proxy, of("back", more="status=2xx"), 10)
    assert 1 <= counts(proxy)["sluice_ingress_retries_total", of("back")] <= 10


def test_both_formats(proxy):
    assert proxy.reached("a.test", "/front") == "web"
    wait_requests(proxy, of("front", more="status=2xx"), 1)
    new = text(proxy, OPENMETRICS)
    assert new.endswith("# EOF\n") and "# TYPE sluice_ingress_requests counter\n" in new
    assert "# TYPE sluice_ingress_requests_total counter\n" in text(proxy)


def test_their_number_is_bounded(proxy):
    """Beyond the limit of three, counted together; nothing that a client says is a name."""
    proxy.apply(*(host(f"{name}.test", rule_of("/", "web", ingress=f"many/{name}")) for name in "abcdefgh"), proxy.balancer())
    for name in "abcdefgh":
        assert proxy.reached(f"{name}.test", f"/{name}") == "web"
    wait_for(lambda: sum(count for (name, labels), count in counts(proxy).items() if name == "sluice_ingress_requests_total") == 8, "all to be counted", PATIENCE)
    owners = {re.sub(",status=.*", "", labels) for name, labels in counts(proxy) if name == "sluice_ingress_requests_total"}
    assert of("(others)", "") in owners and len(owners) == 4
    assert "/a" not in text(proxy)


def test_counts_outlive_workers_and_the_provider(proxy):
    for _ in range(10):
        assert proxy.reached("a.test", "/front") == "web"
    wait_requests(proxy, of("front", more="status=2xx"), 10)
    for pid in proxy.workers():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(proxy.workers()) == 2 and proxy.reached_or_none("a.test") is not None, "new workers", PATIENCE)
    assert requests(proxy, of("front", more="status=2xx")) == 10
    proxy.kill_provider()
    assert proxy.reached("a.test", "/front") == "web"
    proxy.start()
    wait_ready(proxy.runtime / "provider-nginx.admin")
    wait_requests(proxy, of("front", more="status=2xx"), 11)


def test_nothing_is_there_unless_it_is_asked_for():
    with Backend("web") as web, Nginx() as proxy:
        proxy.apply(pool("web", web), host("a.test", ("/", "web")), proxy.balancer())
        assert proxy.reached("a.test") == "web"
        assert look(proxy.runtime / "provider-nginx.admin", "/metrics/ingresses").status == 404
