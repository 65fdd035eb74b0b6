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
from lib.certs import self_signed
from lib.line import build_folder
from lib.local_proxy import LocalProxy, certificate, endpoint_of, host, pool, rule_of
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


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_goes_on_without_whoever_counts(name):
    """Lines wait for the next sluice-proxy, whose counts begin anew."""
    with Backend("web") as web, proxy_class(name)(arguments=["--metrics-ingresses", "3"]) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/", "web", ingress="shop/front")), proxy.balancer())
        assert proxy.reached("a.test") == "web"
        wait_requests(proxy, of("front", more="status=2xx"), 1)
        proxy.kill_supervisor()
        for _ in range(20):
            assert proxy.reached("a.test") == "web"
        wait_for(proxy.supervisors, "another sluice-proxy", PATIENCE)
        wait_requests(proxy, of("front", more="status=2xx"), 20)
        assert lost(proxy) == 0


@pytest.mark.parametrize("name", PROXIES)
def test_nothing_is_lost_of_many(name):
    """From several threads or workers, with a reload in between: each request is counted, or known to be lost."""
    with Backend("web") as web, proxy_class(name)(arguments=["--metrics-ingresses", "3"]) as proxy:
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


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("form", ["json", "text"])
def test_beside_an_access_log(form, name, tmp_path):
    """What is counted stands in no line, and what is not logged is counted."""
    log = tmp_path / "access.log"
    arguments = ["--metrics-ingresses", "3", "--access-log", form, "--access-log-to", str(log)]
    with Backend("web") as web, proxy_class(name)(arguments=arguments) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/quiet", "web", ingress="shop/quiet", unlogged=True), rule_of("/", "web", ingress="shop/front")), proxy.balancer())
        for path in ("/first", "/quiet", "/last"):
            assert proxy.reached("a.test", path) == "web"
        wait_requests(proxy, of("front", more="status=2xx"), 2)
        wait_requests(proxy, of("quiet", more="status=2xx"), 1)
        lines = wait_for(lambda: log.exists() and len(log.read_text().splitlines()) >= 2 and log.read_text().splitlines(), "the log", PATIENCE)
        assert len(lines) == 2 and {"/first", "/last"} == {path for path in ("/first", "/last") for line in lines if path in line} and not any("@" in line or "quiet" in line for line in lines)
        assert all(line.startswith("{" if form == "json" else "127.") for line in lines)


@pytest.mark.parametrize("raw", [b"\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET " + b"/x" * 40000 + b" HTTP/1.1\r\nHost: a.test\r\n\r\n",
                                 b"GET /@9%20shop/front%20200 HTTP/1.1\r\nHost: @9 shop/front 200\r\nUser-Agent: @9 shop/evil 200 1 1 1 0 - 7 3 0\r\n\r\n"],
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


def hold(proxy: LocalProxy, host_name: str, path: str) -> socket.socket:
    """A request that its backend does not answer until it is told to."""
    link = dial(proxy.address, proxy.http)
    link.sendall(f"GET {path}?hold HTTP/1.1\r\nHost: {host_name}\r\n\r\n".encode())
    return link


def test_requests_that_are_being_served(proxy):
    """Each counts until it is answered; also where nothing of it is logged, and where a policy has something to say."""
    def active() -> tuple[float, float]:
        found = counts(proxy)
        return tuple(found["sluice_ingress_active_requests", of(ingress)] for ingress in ("front", "back"))
    with Backend("held") as held:
        proxy.apply({"kind": "policy", "id": "named", "ingress": "shop/back", "request_headers": [{"name": "X-Policy", "action": "set", "value": [{"text": "yes"}]}]},
                    pool("held", held), host("b.test", rule_of("/named", "held", ingress="shop/back", policy="named"),
                                             rule_of("/quiet", "held", ingress="shop/front", unlogged=True), rule_of("/", "held", ingress="shop/front")), proxy.balancer())
        links = [hold(proxy, "b.test", path) for path in ("/", "/quiet", "/named")]
        wait_for(lambda: active() == (2, 1), "the requests to be seen", PATIENCE)
        held.release()
        for link in links:
            assert link.recv(100).startswith(b"HTTP/1.1 200 ")
            link.close()
        wait_for(lambda: active() == (0, 0), "all to be answered", PATIENCE)
        wait_requests(proxy, of("front", more="status=2xx"), 2)


def test_a_worker_that_leaves_finishes_its_requests(proxy):
    """After a reload the worker of before counts them when they end; that of nginx tells of them until then."""
    with Backend("held") as held:
        proxy.apply(pool("held", held), host("b.test", rule_of("/", "held", ingress="shop/front")), proxy.balancer())
        link = hold(proxy, "b.test", "/")
        wait_for(lambda: counts(proxy)["sluice_ingress_active_requests", of("front")] == 1, "the request to be seen", PATIENCE)
        proxy.apply(proxy.balancer(https=True))
        assert counts(proxy)["sluice_ingress_active_requests", of("front")] == (1 if proxy.name == "nginx" else 0)
        held.release()
        assert link.recv(100).startswith(b"HTTP/1.1 200 ")
        link.close()
        wait_requests(proxy, of("front", more="status=2xx"), 1)
        wait_for(lambda: counts(proxy)["sluice_ingress_active_requests", of("front")] == 0, "it to be answered", PATIENCE)


def test_a_worker_that_is_killed_takes_its_requests_with_it(proxy):
    link = hold(proxy, "a.test", "/front")
    wait_for(lambda: counts(proxy)["sluice_ingress_active_requests", of("front")] == 1, "the request to be seen", PATIENCE)
    for pid in proxy.workers():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: proxy.reached_or_none("a.test") is not None, "new workers", PATIENCE)
    wait_for(lambda: counts(proxy)["sluice_ingress_active_requests", of("front")] == 0, "the request to be forgotten", PATIENCE)
    link.close()


def endpoints_of(proxy: LocalProxy, service: str) -> dict[str, float]:
    found = re.findall(rf'^sluice_service_endpoints\{{namespace="shop",service="{service}",port="80",state="(\w+)"\}} (\d+)$', text(proxy), re.M)
    return {state: int(count) for state, count in found}


def of_service(made: dict, service: str, **more) -> dict:
    return {**made, "service": {"namespace": "shop", "name": service, "uid": "1"}, "port": 80, **more}


def test_endpoints_of_services(proxy):
    """One that a check finds dead, and one that only drains; when it is alive again, it is told."""
    with Backend("one") as one, Backend("two") as two:
        port = free_port(one.ip)
        made = pool("checked", one, (one.ip, port), endpoint_of(two, active=False))
        leading = host("checked.test", rule_of("/", "checked", ingress="shop/front"))
        check = {"service": "checked", "type": "tcp", "interval_ms": 200, "timeout_ms": 200, "rise": 1, "fall": 1}
        proxy.apply(of_service(made, "checked", health_check=check), of_service(pool("plain", one, two), "plain"),
                    leading, host("plain.test", rule_of("/", "plain", ingress="shop/front")), proxy.balancer())
        wait_for(lambda: endpoints_of(proxy, "checked") == {"ready": 1, "draining": 1, "out": 1}, "the dead one to be told", PATIENCE)
        assert endpoints_of(proxy, "plain") == {"ready": 2, "draining": 0, "out": 0}
        with contextlib.closing(socket.create_server((one.ip, port))):
            wait_for(lambda: endpoints_of(proxy, "checked") == {"ready": 2, "draining": 1, "out": 0}, "it to be alive", PATIENCE)
        proxy.apply(proxy.balancer(), gone=[("virtual-host", leading["id"]), ("pool", "checked")])
        assert endpoints_of(proxy, "checked") == {}


def test_nginx_tells_whom_it_avoids():
    """Without any check: an endpoint that has refused a connection is asked again only when it has to be, for a while."""
    with Backend("web") as web, proxy_class("nginx")(arguments=["--metrics-ingresses", "3"]) as proxy:
        dead = web.ip, free_port(web.ip)
        proxy.apply(of_service(pool("half", dead, web), "half"), host("half.test", rule_of("/", "half", ingress="shop/half")), proxy.balancer())

        def is_avoided() -> bool:
            assert proxy.reached("half.test") == "web"
            return endpoints_of(proxy, "half") == {"ready": 1, "draining": 0, "out": 1}
        wait_for(is_avoided, "the dead one to be told", PATIENCE)


def of_secret(name: str, pair, ends_s: int) -> dict:
    namespace, secret = name.split("/")
    return {**certificate(name, pair), "namespace": namespace, "name": secret, "not_after": ends_s}


def test_certificates_by_their_end(proxy):
    soon, later = self_signed("a.test", days=5), self_signed("b.test", days=90)
    proxy.apply(of_secret("shop/soon", soon, 1700000000), of_secret("shop/later", later, 1800000000), proxy.balancer(https=True))
    found = dict(re.findall(r'^sluice_certificate_expiry_timestamp_seconds\{namespace="shop",secret="(\w+)"\} (\d+)$', text(proxy), re.M))
    assert found == {"soon": "1700000000", "later": "1800000000"}
    proxy.apply(proxy.balancer(https=True), gone=[("certificate", "shop/later")])
    assert 'secret="later"' not in text(proxy) and 'secret="soon"' in text(proxy)


def test_services_and_certificates_beyond_the_limit_are_told_together(proxy):
    pairs = [self_signed(f"{name}.test") for name in "abcde"]
    proxy.apply(*(of_service(pool(f"many-{name}", ("192.0.2.1", 80)), f"many-{name}") for name in "abcdefgh"),
                *(of_secret(f"many/{number}", pair, 1700000000 + number) for number, pair in enumerate(pairs)), proxy.balancer())
    shown = text(proxy)
    assert len(re.findall(r'^sluice_service_endpoints.*state="ready"', shown, re.M)) <= 4
    assert re.search(r'^sluice_service_endpoints\{namespace="",service="\(others\)",port="",state="ready"\} [5-9]$', shown, re.M)
    assert re.findall(r'^sluice_certificate_expiry_timestamp_seconds\{namespace="",secret="\(others\)"\} (\d+)$', shown, re.M) == ["1700000003"]
