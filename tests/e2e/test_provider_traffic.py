# SPDX-License-Identifier: Apache-2.0
"""provider-rancher and real traffic: the rules it writes, carried out by HAProxies as Rancher's image would."""
from __future__ import annotations

import pytest

from lib.backend import Backend
from lib.provider_bench import Bench
from lib.provider_link import load_balancer, pool, simple, virtual_host
from lib.traffic import Traffic, request
from lib.wait import wait_for

WEB = "default-rancherlb-web"
NAMES = ("root", "api", "deep", "wild", "any", "last")


@pytest.fixture(scope="module")
def pods():
    started = {name: Backend(name) for name in NAMES}
    yield started
    for pod in started.values():
        pod.stop()


@pytest.fixture
def bench(pods):
    with Bench(dataplane=True) as running:
        for name, pod in pods.items():
            running.services(name)
            running.rancher.control("set-pods", uid=f"uid-{name}", pods=[pod.ip])
        running.translator.put(*[pool(name) for name in NAMES])
        yield running


def entry(bench, port=80):
    return wait_for(lambda: bench.lb(WEB) and [e for e in bench.rancher.traffic_addresses(WEB) if e[1] == port], f"port {port}")[0]


def reached(bench, host, path):
    """The name of the backend that answers, or the status."""
    try:
        got = request(*entry(bench), host, path)
    except OSError:
        return None
    return got.json["name"] if got.status == 200 else got.status


def wait_reached(bench, host, path, name):
    wait_for(lambda: reached(bench, host, path) == name, f"{host}{path} to reach {name}")


def test_defect_41_precedence_is_that_of_kubernetes_as_far_as_rancher_can(bench):
    # Shuffled, and each of them would match more than its own.
    bench.translator.put(
        load_balancer("web", default_pool="default/last"),
        virtual_host("default/web", "", ("/any", "default/any")),
        virtual_host("default/web", "*.example.com", ("/", "default/wild")),
        virtual_host("default/web", "foo.example.com", ("/", "default/root"), ("/api/deep", "default/deep"), ("/api", "default/api")))
    bench.translator.wait_status("default/web")
    wait_reached(bench, "foo.example.com", "/", "root")
    assert [reached(bench, host, path) for host, path in [
        ("foo.example.com", "/x"), ("foo.example.com", "/api"), ("foo.example.com", "/api/x"), ("foo.example.com", "/api/deep/x"),
        ("bar.example.com", "/api"), ("a.b.example.com", "/"), ("other", "/any/x"), ("other", "/x")]] == \
        ["root", "api", "api", "deep", "wild", "wild", "any", "last"]
    assert "*.example.com" in bench.translator.notices("default/web")["HostMatchWidened"]


def test_a_default_backend_alone(bench):
    bench.translator.put(load_balancer("web", default_pool="default/last"))
    bench.translator.wait_status("default/web")
    wait_reached(bench, "whatever", "/x", "last")


def test_names_that_rancher_would_mix_up_stay_apart(bench):
    bench.translator.put(load_balancer("web"), virtual_host("default/web", "a-b.com", ("/x", "default/root")),
                         virtual_host("default/web", "a.b.com", ("/x", "default/api")))
    bench.translator.wait_status("default/web")
    wait_reached(bench, "a-b.com", "/x", "root")
    wait_reached(bench, "a.b.com", "/x", "api")
    assert [bool(r.get("backendName")) for r in bench.rules(WEB)] == [False, True]


def test_a_service_without_endpoints_keeps_its_rule(bench):
    bench.translator.put(load_balancer("web"), virtual_host("default/web", "h", ("/", "default/root"), ("/api", "default/api")))
    wait_reached(bench, "h", "/api", "api")
    bench.rancher.control("set-pods", uid="uid-api", pods=[])
    bench.translator.put(pool("api", endpoints=[]), pool("api", target_port=0))
    wait_reached(bench, "h", "/api", 503)
    assert [r["path"] for r in bench.rules(WEB)] == ["/api", "/"]


def test_ports_and_paths_change_and_no_request_is_lost(bench):
    bench.translator.put(load_balancer("web"), virtual_host("default/web", "h", ("/", "default/root")))
    wait_reached(bench, "h", "/", "root")
    with Traffic(*entry(bench), "h", "/") as traffic:
        bench.translator.put(virtual_host("default/web", "h", ("/", "default/root"), ("/api", "default/api")))
        wait_reached(bench, "h", "/api", "api")
        bench.translator.put(load_balancer("web", scale=2))
        wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 2, "two addresses")
        bench.provider.kill()
        bench.start()
        bench.translator.wait_status("default/web")
        bench.translator.put(load_balancer("web", scale=2, stickiness={"cookie": "sid"}))
        wait_for(lambda: bench.lb(WEB)["lbConfig"].get("stickinessPolicy"), "stickiness")
        bench.translator.wait_status("default/web")
    assert traffic.failures == [] and traffic.good > 0


def test_adoption_moves_no_traffic(pods):
    with Bench(dataplane=True, start=False) as bench:
        bench.services("root")
        bench.rancher.control("set-pods", uid="uid-root", pods=[pods["root"].ip])
        bench.rancher.control("seed-balancers", items=[{
            "namespace": "default", "name": "web", "hostname": "h", "path": "/foo", "uid": "uid-root"}])
        wait_reached(bench, "h", "/foo", "root")
        with Traffic(*entry(bench), "h", "/foo") as traffic:
            bench.translator.put(load_balancer("web"), virtual_host("default/web", "h", ("/foo", "default/root")), pool("root"))
            bench.start()
            bench.translator.wait_status("default/web")
            bench.rancher.settle()
        assert traffic.failures == [] and traffic.good > 0


def proxy_text(bench):
    return bench.rancher.control("configuration", lb=WEB)


def test_health_checks_reach_every_backend_of_their_service(bench):
    checks = [{"service": "root", "type": "http", "path": "/healthz", "interval_ms": 500, "timeout_ms": 1000, "rise": 1, "fall": 2}]
    bench.translator.put(load_balancer("web", health_checks=checks),
                         virtual_host("default/web", "h", ("/", "default/root"), ("/two", "default/root"), ("/api", "default/api")))
    wait_reached(bench, "h", "/two", "root")
    text = wait_for(lambda: "option httpchk" in proxy_text(bench) and proxy_text(bench), "the checks")
    assert text.count("option httpchk") == 2
    assert text.count("check inter 500 rise 1 fall 2") == 2
    assert reached(bench, "h", "/api") == "api"


def test_custom_config_only_with_permission(bench):
    snippet = "defaults\n  timeout client 12345\n"
    bench.translator.put(load_balancer("web", custom_config=snippet), virtual_host("default/web", "h", ("/", "default/root")))
    wait_reached(bench, "h", "/", "root")
    assert "12345" not in proxy_text(bench)
    assert "--allow-custom-config" in bench.translator.notices("default/web")["CustomConfigRefused"]
    bench.provider.stop()
    bench.provider.arguments.append("--allow-custom-config")
    bench.start()
    wait_for(lambda: "12345" in proxy_text(bench), "the snippet")
    bench.translator.wait_connection(2)
    wait_for(lambda: bench.translator.notices("default/web") == {}, "no notice")
    # And back.
    bench.translator.put(load_balancer("web"))
    wait_for(lambda: "12345" not in proxy_text(bench), "no snippet")


def test_a_group_has_a_name_of_its_own(bench):
    bench.translator.put({**load_balancer("web", group=True), "id": "group/default/web"},
                         virtual_host("group/default/web", "h", ("/", "default/root")), *simple("web", http=8080, service="api"))
    lbs = wait_for(lambda: len(rows := bench.rancher.rows("loadBalancerService")) == 2 and rows, "both")
    assert {lb["name"] for lb in lbs} == {WEB, "default-rancherlbgroup-web"}
    assert {lb["description"] for lb in lbs} == {"managed by sluice: ingress=default/web", "managed by sluice: group=default/web"}
