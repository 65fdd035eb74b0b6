# SPDX-License-Identifier: Apache-2.0
"""Metrics of traffic with Prometheus: it reads what both providers tell, dashboard and alerts use nothing else, and an alert begins when an Ingress fails."""
from __future__ import annotations

import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest
import yaml

from lib.admin import look
from lib.backend import Backend
from lib.daemon import Daemon
from lib.local_proxy import LocalProxy, host, pool, rule_of
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
MONITORING = ROOT / "examples/monitoring"
METRIC = re.compile(r'^(?:TRAFFIC_)?METRIC\(\w+, (COUNTER|GAUGE|HISTOGRAM), "(\w+)"', re.M)
NAME = re.compile(r"\b(?:sluice|process)_\w+")
SUFFIXES = {"COUNTER": ["_total"], "GAUGE": [""], "HISTOGRAM": ["_bucket", "_sum", "_count"]}
PATIENCE = 60.0


def samples() -> set[str]:
    """Every name that a series can have."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in [*ROOT.glob("*/metrics.def"), ROOT / "provider-proxy/traffic.def"])
    return {name + suffix for kind, name in METRIC.findall(text) for suffix in SUFFIXES[kind]}


def expressions() -> list[str]:
    dashboard = json.loads((MONITORING / "dashboard-traffic.json").read_text(encoding="utf-8"))
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


def rules() -> list[dict]:
    return yaml.safe_load((MONITORING / "alerts-traffic.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]


def test_dashboard_and_alerts_use_figures_that_exist():
    assert len(expressions()) > 20
    for rule in rules():
        assert rule["annotations"]["summary"] and rule["annotations"]["remedy"] and rule["labels"]["severity"] in ("warning", "critical")
    used = {name for text in [*expressions(), *(rule["expr"] for rule in rules())] for name in NAME.findall(text)}
    assert used - samples() == set()
    named = set(re.findall(r"`(sluice_\w+)`", (ROOT / "doc/traffic-metrics.md").read_text(encoding="utf-8")))
    assert {name for name in named if name not in samples() and f"{name}_bucket" not in samples()} == set()


def test_each_alert_fires_for_what_it_is_meant_for():
    shown = yaml.safe_load((MONITORING / "alerts-traffic-test.yml").read_text(encoding="utf-8"))
    assert {case["alertname"] for test in shown["tests"] for case in test["alert_rule_test"]} == {rule["alert"] for rule in rules()}
    for command in (["check", "rules", "alerts-traffic.yml"], ["test", "rules", "alerts-traffic-test.yml"], ["check", "config", "--syntax-only", "prometheus.yml"]):
        done = subprocess.run(["promtool", *command], cwd=MONITORING, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def counting(name: str, web: Backend):
    with proxy_class(name)(arguments=["--metrics-ingresses", "100"], environment={"SLUICE_ADMIN_ADDRESS": "127.0.0.1:0"}) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/failing", "web", ingress=f"shop/failing-{name}"), rule_of("/", "web", ingress=f"shop/good-{name}")), proxy.balancer())
        yield proxy


def port_of(proxy: LocalProxy) -> int:
    return int(re.search(r" port=(\d+)", proxy.provider.wait_event("admin-listening", "port="))[1])


@pytest.mark.parametrize("name", PROXIES)
def test_the_older_format_is_well_formed(name):
    with Backend("web") as web, counting(name, web) as proxy:
        for path in ("/", "/failing?status=503"):
            proxy.request("a.test", path)
        wait_for(lambda: "failing" in look(port_of(proxy), "/metrics/ingresses").text, "the counts", PATIENCE)
        view = look(port_of(proxy), "/metrics/ingresses")
        assert view.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        done = subprocess.run(["promtool", "check", "metrics"], input=view.text, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_prometheus_sees_which_ingress_fails(tmp_path):
    """The example's configuration with the ports of this run. Real traffic, and the alert begins for the two that fail, and for no other."""
    with Backend("web") as web, counting("haproxy", web) as haproxy, counting("nginx", web) as nginx:
        proxies = {"provider-haproxy": haproxy, "provider-nginx": nginx}
        config = yaml.safe_load((MONITORING / "prometheus.yml").read_text(encoding="utf-8"))
        job = next(job for job in config["scrape_configs"] if job["job_name"] == "sluice-traffic")
        for target in job["static_configs"]:
            target["targets"] = [f"127.0.0.1:{port_of(proxies[target['labels']['program']])}"]
        job["scrape_interval"] = "1s"
        config |= {"scrape_configs": [job], "global": {"evaluation_interval": "1s"}, "rule_files": [str(MONITORING / "alerts-traffic.yml")]}
        (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        prometheus = Daemon(shutil.which("prometheus"), [f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}",
                                                         f"--web.listen-address=127.0.0.1:{port}"], tmp_path / "prometheus.log").start()

        def ask(path: str, **query: str) -> dict:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=60) as answer:
                    return json.load(answer)["data"]
            except OSError:
                return {}

        def alerting() -> set[str]:
            return {alert["labels"]["ingress"] for alert in ask("alerts").get("alerts", []) if alert["labels"]["alertname"] == "SluiceIngressErrors"}

        def send_and_look() -> bool:
            for proxy in proxies.values():
                for path in ("/failing?status=503", "/failing?status=500", "/good"):
                    proxy.request("a.test", path)
            return alerting() == {"failing-haproxy", "failing-nginx"}
        try:
            wait_for(lambda: {row["value"][1] for row in ask("query", query="up").get("result", [])} == {"1"}, "the providers to be scraped", PATIENCE)
            wait_for(send_and_look, "the alert", PATIENCE)
            for target in ask("targets")["activeTargets"]:
                assert target["health"] == "up" and target["lastError"] == "", target
            # Whatever the dashboard asks for is understood.
            for expression in expressions():
                plain = expression.replace("$namespace", ".*").replace("$ingress", ".*")
                assert "result" in ask("query", query=plain), plain
            assert {rule["health"] for group in ask("rules")["groups"] for rule in group["rules"]} == {"ok"}
        finally:
            prometheus.stop()
