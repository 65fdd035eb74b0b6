# SPDX-License-Identifier: Apache-2.0
"""SIGTERM: each program says good-bye and ends with 0; traffic goes on, and statuses, load balancers and proxies stay as they are."""
from __future__ import annotations

import pytest

from lib.backend import Backend
from lib.line import DAEMONS
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.traffic import Traffic
from lib.wait import stays, wait_for
from lib.web import HOST, change, serve

ORDERS = [(name,) for name in DAEMONS] + [DAEMONS, DAEMONS[::-1]]


def stop(line, name: str) -> None:
    daemon = line.daemon(name)
    since = len(daemon.lines)
    admin = line.runtime / f"{daemon.program.name.removeprefix('sluice-')}.admin"
    assert admin.exists()
    assert daemon.stop() == 0
    assert not admin.exists(), "who looks in is not to find one that has ended"
    assert any("event=stopped" in text for text in daemon.lines[since:]), daemon.lines[since:]


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_rancher_and_kubernetes_are_left_alone(order, line, served):
    entry = line.entries("web", served.namespace)[0]
    before = {kind: sorted((row["name"], row["uuid"], row["state"]) for row in line.rancher.rows(kind)) for kind in ("loadBalancerService", "certificate")}
    addresses = served.addresses("web")
    mark = line.kube.mark()
    line.rancher.control("forget-requests")
    with Traffic(*entry, HOST, "/foo") as traffic:
        for name in order:
            stop(line, name)
        # What is written too late would come from those that still run.
        stays(lambda: served.addresses("web") == addresses, "the addresses", 1)
        for name in order:
            line.daemon(name).start()
        change(line, served)
    assert traffic.failures == [] and traffic.good > 0
    writes = [(r["method"], r["name"]) for r in line.rancher.writes()]
    assert writes == [("PUT", f"{served.namespace}-rancherlb-web")], "but for the change after the start"
    assert {kind: sorted((row["name"], row["uuid"], row["state"]) for row in line.rancher.rows(kind)) for kind in before} == before
    assert [entry for entry in line.kube.writes(mark) if entry["resource"] != "events"] == []
    assert served.addresses("web") == addresses


@pytest.fixture(scope="module", params=PROXIES)
def proxied(request):
    backend = Backend("web")
    with ProxyLine(request.param) as line:
        cluster = line.cluster
        cluster.apply(cluster.service("web"), cluster.slice("web", [backend.ip], backend.port),
                      cluster.ingress("web", [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}]))
        line.wait_serves(HOST, "/", "web")
        cluster.wait_addresses("web", 1)
        yield line
    backend.stop()


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_the_proxy_goes_on_serving(order, proxied):
    line = proxied
    masters, workers = line.proxy.masters(), set(line.proxy.workers())
    addresses = line.cluster.addresses("web")
    mark = line.kube.mark()
    with Traffic(line.proxy.address, line.proxy.http, HOST) as traffic:
        for name in order:
            stop(line, name)
        served = traffic.good
        wait_for(lambda: traffic.good > served + 10, "requests to be served without them", PATIENCE)
        since = {name: len(line.daemon(name).lines) for name in order}
        for name in order:
            line.daemon(name).start()
        for name in order:
            line.daemon(name).wait_event("ready", since=since[name], timeout=PATIENCE)
        line.wait_serves(HOST, "/", "web")
    assert traffic.failures == []
    assert line.proxy.masters() == masters and set(line.proxy.workers()) <= workers
    assert line.cluster.addresses("web") == addresses
    assert [entry for entry in line.kube.writes(mark) if entry["resource"] != "events"] == []
