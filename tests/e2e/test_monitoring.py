# SPDX-License-Identifier: Apache-2.0
"""Metrics: every program shows what its catalogues declare, a Prometheus scrapes them, and dashboard and alerts use nothing else."""
from __future__ import annotations

import contextlib
import re

import pytest
import yaml

from lib.admin import look, wait_ready
from lib.daemon import Daemon
from lib.line import Line, build_folder
from lib.monitoring import MONITORING, ROOT, Prometheus, check_alerts, check_examples, check_older_format, port_of, samples
from lib.proxy_line import ProxyLine
from lib.served import Served
from lib.wait import wait_for
from standins.elb.client import Aws

COMMON = ("common", "proto")
CATALOGUES = {
    "watcher": (*COMMON, "watcher"),
    "translator": (*COMMON, "translator"),
    "provider-rancher": (*COMMON, "provider-common", "provider-rancher"),
    "provider-elb": (*COMMON, "provider-common", "provider-elb"),
    "provider-haproxy": (*COMMON, "provider-common", "provider-proxy"),
    "provider-nginx": (*COMMON, "provider-common", "provider-proxy"),
}
METRIC = re.compile(r'^METRIC\(\w+, (COUNTER|GAUGE|HISTOGRAM), "(\w+)", "(\w*)",\s', re.M)


def catalogue(folder: str) -> dict[str, tuple[str, str]]:
    """Name: (type, unit)."""
    text = (ROOT / folder / "metrics.def").read_text(encoding="utf-8")
    found = {name: (kind.lower(), unit) for kind, name, unit in METRIC.findall(text)}
    assert len(found) == len(re.findall(r"^METRIC\(", text, re.M)), folder
    return found


def declared(program: str) -> dict[str, tuple[str, str]]:
    return {name: what for folder in CATALOGUES[program] for name, what in catalogue(folder).items()}


def families(text: str) -> dict[str, str]:
    """Type by name, of an OpenMetrics text."""
    return dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE "))


@contextlib.contextmanager
def aws_line(line: Line):
    """provider-elb with a watcher and a translator of its own; its port."""
    folder = line.folder / "aws"
    folder.mkdir()
    with Aws() as aws, contextlib.ExitStack() as started:
        for program, arguments, environment in (
                ("translator", [], {}),
                ("watcher", ["--kubeconfig", str(line.kube.controller_kubeconfig), "--ingress-class", "aws"], {}),
                ("provider-elb", ["--cluster-name", "test", "--vpc-id", aws.vpc], aws.environment() | {"SLUICE_ADMIN_ADDRESS": "127.0.0.1:0"})):
            daemon = Daemon(build_folder() / program / f"sluice-{program}", ["--runtime-dir", str(folder), *arguments], folder / f"{program}.log", environment)
            started.callback(daemon.start().stop)
            daemon.wait_event("started")
        yield port_of(daemon)


@pytest.fixture(scope="module")
def places():
    """The ports of all programs, each in a line that runs; the translator's is shown by sluicectl."""
    ports: dict[str, int] = {}

    with contextlib.ExitStack() as shown, Line(start=False) as line, ProxyLine("haproxy") as haproxy, ProxyLine("nginx") as nginx:
        daemons = {"watcher": line.watcher, "translator": line.translator, "provider-rancher": line.provider,
                   "provider-haproxy": haproxy.provider, "provider-nginx": nginx.provider}
        for daemon in daemons.values():
            daemon.environment["SLUICE_ADMIN_ADDRESS"] = "127.0.0.1:0"
        line.start()
        for proxy in (haproxy.provider, nginx.provider):
            proxy.stop()
            proxy.start()
        for program, daemon in daemons.items():
            if program != "translator":
                ports[program] = port_of(daemon)
        ports["translator"] = shown.enter_context(Served(line.runtime, "translator", line.runtime / "serve.log")).port
        line.cluster.apply(line.cluster.service("web"), line.cluster.ingress(
            "first", [{"host": "foo.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
        line.wait_balancer("first")
        ports["provider-elb"] = shown.enter_context(aws_line(line))
        for port in ports.values():
            wait_ready(port)
        yield ports


@pytest.mark.parametrize("program", CATALOGUES)
def test_every_program_shows_what_its_catalogues_declare(places, program):
    view = look(places[program], "/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert view.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert view.text.endswith("\n# EOF\n")
    assert families(view.text) == {name: kind for name, (kind, _) in declared(program).items()}
    units = dict(line.split()[2:4] for line in view.text.splitlines() if line.startswith("# UNIT "))
    assert units == {name: unit for name, (_, unit) in declared(program).items() if unit}
    assert all(name.endswith(f"_{unit}") for name, unit in units.items())


@pytest.mark.parametrize("program", CATALOGUES)
def test_the_older_format_is_well_formed(places, program):
    view = look(places[program], "/metrics")
    assert view.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    check_older_format(view.text)


def test_figures_are_true(places):
    def figure(program: str, name: str) -> float:
        for row in look(places[program], "/metrics").text.splitlines():
            if row.rpartition(" ")[0] == name:
                return float(row.rpartition(" ")[2])
        raise AssertionError(f"{program} does not show {name}")

    assert figure("watcher", 'sluice_watcher_objects{kind="ingress"}') == 1
    assert figure("watcher", 'sluice_watcher_synced{kind="ingress"}') == 1
    assert figure("watcher", 'sluice_link_up{peer="translator"}') == 1
    assert figure("translator", 'sluice_link_up{peer="provider"}') == 1
    assert figure("translator", 'sluice_translator_records{kind="ingress"}') == 1
    assert figure("translator", 'sluice_translator_objects{kind="load-balancer"}') == 1
    assert figure("provider-rancher", 'sluice_provider_objects{kind="load-balancer"}') == 1
    wait_for(lambda: figure("provider-rancher", 'sluice_provider_load_balancers{state="applied"}') == 1, "the load balancer to be applied")
    assert figure("provider-rancher", "sluice_provider_apply_seconds_count") >= 1
    assert figure("provider-rancher", 'sluice_rancher_requests_total{outcome="ok"}') > 1
    assert figure("provider-rancher", "sluice_json_duplicate_names_total") >= 1  # of the setting with the image
    wait_for(lambda: figure("watcher", 'sluice_watcher_status_writes_total{kind="ingress",outcome="written"}') == 1, "the status to be written")
    assert figure("provider-haproxy", "sluice_proxy_up") == figure("provider-nginx", "sluice_proxy_up") == 1
    # Both ends of a link count the same; what one has sent meanwhile the other hears a moment later.
    for here, there in (("watcher", "translator"), ("translator", "watcher")):
        for what in ("frames", "bytes"):
            wait_for(lambda here=here, there=there, what=what:
                     figure(here, f'sluice_link_{what}_total{{peer="{there}",direction="sent"}}')
                     == figure(there, f'sluice_link_{what}_total{{peer="{here}",direction="received"}}'), f"{here} and {there} to agree on {what}")
    for program in places:
        assert figure(program, "process_open_fds") > 5
        assert figure(program, "process_resident_memory_bytes") > 1024 * 1024
        assert figure(program, "sluice_ready") == 1


def test_dashboard_and_alerts_use_figures_that_exist():
    folders = {folder for program in CATALOGUES for folder in CATALOGUES[program]}
    check_examples("dashboard.json", "alerts.yml", samples(ROOT / folder / "metrics.def" for folder in folders))


def test_each_alert_fires_for_what_it_is_meant_for():
    check_alerts("alerts.yml", "alerts-test.yml")


def test_the_pods_ports_have_the_names_that_are_scraped():
    jobs = yaml.safe_load((MONITORING / "prometheus-pods.yml").read_text(encoding="utf-8"))["scrape_configs"]
    keep = next(rule for rule in jobs[0]["relabel_configs"] if rule.get("action") == "keep")
    manifests = [path.read_text(encoding="utf-8") for path in (ROOT / "docker/kubernetes").rglob("*.yaml")]
    named = {name for text in manifests for name in re.findall(r"\{name: (\w+), containerPort: \d+\}", text)}
    assert jobs[0]["job_name"] == "sluice" and set(keep["regex"].split("|")) == named


def test_prometheus_scrapes_the_line(places, tmp_path):
    """Every target is up, and every rule can be evaluated."""
    with Prometheus(tmp_path, "sluice", places, "alerts.yml") as prometheus:
        wait_for(lambda: prometheus.up() == {program: "1" for program in CATALOGUES}, "all programs to be scraped", 60)
        wait_for(lambda: (rules := prometheus.rules()) and all(rule["health"] == "ok" for rule in rules), "all rules to be evaluated", 60)
        assert [rule["name"] for rule in prometheus.rules() if rule["state"] != "inactive"] == []
        prometheus.check_targets()
        assert prometheus.ask("query", query="sum(sluice_ready)")["result"][0]["value"][1] == str(len(CATALOGUES))
