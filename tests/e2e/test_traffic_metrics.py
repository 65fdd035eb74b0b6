# SPDX-License-Identifier: Apache-2.0
"""Metrics of the traffic of each Ingress: what is counted, under which names, and that it stays bounded."""
from __future__ import annotations

import collections
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator

import pytest

from lib.addresses import free_port
from lib.admin import look, wait_ready
from lib.backend import Backend
from lib.line import build_folder
from lib.local_proxy import LocalProxy, host, pool, rule_of
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import dial
from lib.wait import wait_for

PATIENCE = 30.0
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
SERIES = re.compile(r'^(sluice_ingress_[a-z_]+)\{(.*)\} ([0-9.]+)$')


def text(proxy: LocalProxy, accept: str = "") -> str:
    return look(proxy.runtime / f"provider-{proxy.name}.admin", "/metrics/ingresses", **({"Accept": accept} if accept else {})).text


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


@pytest.fixture(name="proxy", params=PROXIES)
def fixture_proxy(request) -> Iterator[LocalProxy]:
    with Backend("web") as web, proxy_class(request.param)(arguments=["--metrics-ingresses", "3"]) as proxy:
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


def test_counts_outlive_the_proxy_and_the_provider(proxy):
    for _ in range(10):
        assert proxy.reached("a.test", "/front") == "web"
    wait_requests(proxy, of("front", more="status=2xx"), 10)
    for pid in proxy.workers():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: proxy.reached_or_none("a.test") is not None, "new workers", PATIENCE)
    assert requests(proxy, of("front", more="status=2xx")) == 10
    proxy.kill_provider()
    assert proxy.reached("a.test", "/front") == "web"
    proxy.start()
    wait_ready(proxy.runtime / f"provider-{proxy.name}.admin")
    wait_requests(proxy, of("front", more="status=2xx"), 11)


def lost(proxy: LocalProxy) -> int:
    return int(re.search(r"^sluice_ingress_uncounted_requests_total (\d+)$", text(proxy), re.M)[1])


def test_haproxy_goes_on_without_whoever_counts():
    """Lines wait for the next sluice-proxy, whose counts begin anew."""
    with Backend("web") as web, proxy_class("haproxy")(arguments=["--metrics-ingresses", "3"]) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/", "web", ingress="shop/front")), proxy.balancer())
        assert proxy.reached("a.test") == "web"
        wait_requests(proxy, of("front", more="status=2xx"), 1)
        proxy.kill_supervisor()
        for _ in range(20):
            assert proxy.reached("a.test") == "web"
        wait_for(proxy.supervisors, "another sluice-proxy", PATIENCE)
        wait_requests(proxy, of("front", more="status=2xx"), 20)
        assert lost(proxy) == 0


def test_nothing_is_lost_of_many():
    """From several threads, with a reload in between: each request is counted, or known to be lost."""
    with Backend("web") as web, proxy_class("haproxy")(arguments=["--metrics-ingresses", "3"]) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/", "web", ingress="shop/front")), proxy.balancer())
        for number in range(4):
            connection = http.client.HTTPConnection(proxy.address, proxy.http)
            with contextlib.closing(connection):
                for _ in range(250):
                    connection.request("GET", "/", headers={"Host": "a.test"})
                    assert connection.getresponse().read() is not None
            if number == 1:
                proxy.apply(proxy.balancer(https=True))
        wait_for(lambda: requests(proxy, of("front", more="status=2xx")) + lost(proxy) >= 1000, "all of them", PATIENCE)
        assert requests(proxy, of("front", more="status=2xx")) + lost(proxy) == 1000


@pytest.mark.parametrize("form", ["json", "text"])
def test_beside_an_access_log(form, tmp_path):
    """What is counted stands in no line, and what is not logged is counted."""
    log = tmp_path / "access.log"
    arguments = ["--metrics-ingresses", "3", "--access-log", form, "--access-log-to", str(log)]
    with Backend("web") as web, proxy_class("haproxy")(arguments=arguments) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/quiet", "web", ingress="shop/quiet", unlogged=True), rule_of("/", "web", ingress="shop/front")), proxy.balancer())
        for path in ("/first", "/quiet", "/last"):
            assert proxy.reached("a.test", path) == "web"
        wait_requests(proxy, of("front", more="status=2xx"), 2)
        wait_requests(proxy, of("quiet", more="status=2xx"), 1)
        lines = wait_for(lambda: log.exists() and len(log.read_text().splitlines()) >= 2 and log.read_text().splitlines(), "the log", PATIENCE)
        assert len(lines) == 2 and "/first" in lines[0] and "/last" in lines[1] and not any("@" in line or "quiet" in line for line in lines)
        assert all(line.startswith("{" if form == "json" else "127.") for line in lines)


@pytest.mark.parametrize("raw", [b"\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET " + b"/x" * 40000 + b" HTTP/1.1\r\nHost: a.test\r\n\r\n",
                                 b"GET /@9%20shop/front%20200 HTTP/1.1\r\nHost: @9 shop/front 200\r\nUser-Agent: @9 shop/evil 200 1 1 1 0 - 3 0\r\n\r\n"],
                         ids=["garbage", "no-host", "64-kb", "a-line"])
def test_what_is_no_request_is_nobodys(proxy, raw):
    with contextlib.closing(dial(proxy.address, proxy.http)) as link, contextlib.suppress(OSError):  # it may have been closed by then
        link.sendall(raw)
        link.shutdown(socket.SHUT_WR)
        assert link.recv(65536) is not None
    assert proxy.reached("a.test", "/front") == "web"
    wait_requests(proxy, of("front", more="status=2xx"), 1)
    assert "evil" not in text(proxy)


def test_a_syslog_server_cannot_count():
    """HAProxy has one form of lines, and what is counted has no place in those of others."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        done = subprocess.run([build_folder() / "provider-haproxy" / "sluice-provider-haproxy", "--metrics-ingresses", "3", "--access-log", "json", "--access-log-to",
                               "syslog:127.0.0.1", "--state-dir", folder, "--admin-address", "off", "--admin-dir", folder],
                              capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2 and "--metrics-ingresses counts from lines of the access log" in done.stderr


@pytest.mark.parametrize("name", PROXIES)
def test_nothing_is_there_unless_it_is_asked_for(name):
    with Backend("web") as web, proxy_class(name)() as proxy:
        proxy.apply(pool("web", web), host("a.test", ("/", "web")), proxy.balancer())
        assert proxy.reached("a.test") == "web"
        assert look(proxy.runtime / f"provider-{name}.admin", "/metrics/ingresses").status == 404
