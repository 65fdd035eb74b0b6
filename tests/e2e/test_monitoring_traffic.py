# SPDX-License-Identifier: Apache-2.0
"""Metrics of traffic with Prometheus: it reads what both providers tell, dashboard and alerts use nothing else, and an alert begins when an Ingress fails."""
from __future__ import annotations

import contextlib
import re

import pytest

from lib.admin import look
from lib.backend import Backend
from lib.local_proxy import host, pool, rule_of
from lib.monitoring import ROOT, Prometheus, check_alerts, check_examples, check_older_format, expressions, port_of, samples
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

PATIENCE = 60.0


def test_dashboard_and_alerts_use_figures_that_exist():
    known = samples([*ROOT.glob("*/metrics.def"), ROOT / "provider-proxy/traffic.def"])
    check_examples("dashboard-traffic.json", "alerts-traffic.yml", known)
    named = set(re.findall(r"`(sluice_\w+)`", (ROOT / "doc/traffic-metrics.md").read_text(encoding="utf-8")))
    assert {name for name in named if name not in known and f"{name}_bucket" not in known} == set()


def test_each_alert_fires_for_what_it_is_meant_for():
    check_alerts("alerts-traffic.yml", "alerts-traffic-test.yml")


@contextlib.contextmanager
def counting(name: str, web: Backend):
    with proxy_class(name)(arguments=["--metrics-ingresses", "100"], environment={"SLUICE_ADMIN_ADDRESS": "127.0.0.1:0"}) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/failing", "web", ingress=f"shop/failing-{name}"), rule_of("/", "web", ingress=f"shop/good-{name}")), proxy.balancer())
        yield proxy


@pytest.mark.parametrize("name", PROXIES)
def test_the_older_format_is_well_formed(name):
    with Backend("web") as web, counting(name, web) as proxy:
        for path in ("/", "/failing?status=503"):
            proxy.request("a.test", path)
        wait_for(lambda: "failing" in look(port_of(proxy.provider), "/metrics/ingresses").text, "the counts", PATIENCE)
        view = look(port_of(proxy.provider), "/metrics/ingresses")
        assert view.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        check_older_format(view.text)


def test_prometheus_sees_which_ingress_fails(tmp_path):
    """Real traffic, and the alert begins for the two that fail, and for no other."""
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(Backend("web"))
        proxies = {f"provider-{name}": stack.enter_context(counting(name, web)) for name in PROXIES}
        ports = {program: port_of(proxy.provider) for program, proxy in proxies.items()}
        prometheus = stack.enter_context(Prometheus(tmp_path, "sluice-traffic", ports, "alerts-traffic.yml"))

        def alerting() -> set[str]:
            return {alert["labels"]["ingress"] for alert in prometheus.ask("alerts").get("alerts", []) if alert["labels"]["alertname"] == "SluiceIngressErrors"}

        def send_and_look() -> bool:
            for proxy in proxies.values():
                for path in ("/failing?status=503", "/failing?status=500", "/good"):
                    proxy.request("a.test", path)
            return alerting() == {f"failing-{name}" for name in PROXIES}

        wait_for(lambda: prometheus.up() == {program: "1" for program in proxies}, "the providers to be scraped", PATIENCE)
        wait_for(send_and_look, "the alert", PATIENCE)
        prometheus.check_targets()
        # Whatever the dashboard asks for is understood.
        for expression in expressions("dashboard-traffic.json"):
            plain = expression.replace("$namespace", ".*").replace("$ingress", ".*")
            assert "result" in prometheus.ask("query", query=plain), plain
        assert {rule["health"] for rule in prometheus.rules()} == {"ok"}
