# SPDX-License-Identifier: Apache-2.0
"""What examples/monitoring has, and a Prometheus that runs with it."""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from typing import Any, Iterable

import yaml

from .daemon import Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
MONITORING = ROOT / "examples/monitoring"
METRIC = re.compile(r'^(?:TRAFFIC_)?METRIC\(\w+, (COUNTER|GAUGE|HISTOGRAM), "(\w+)"', re.M)
NAME = re.compile(r"\b(?:sluice|process)_\w+")
SUFFIXES = {"COUNTER": ["_total"], "GAUGE": [""], "HISTOGRAM": ["_bucket", "_sum", "_count"]}


def samples(catalogues: Iterable[pathlib.Path]) -> set[str]:
    """Every name that a series of these can have."""
    return {name + suffix for path in catalogues for kind, name in METRIC.findall(path.read_text(encoding="utf-8")) for suffix in SUFFIXES[kind]}


def expressions(dashboard: str) -> list[str]:
    panels = json.loads((MONITORING / dashboard).read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def rules(alerts: str) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load((MONITORING / alerts).read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def check_examples(dashboard: str, alerts: str, known: set[str]) -> None:
    """Both use figures that are known, and each alert says what to do."""
    assert len(expressions(dashboard)) > 20
    for rule in rules(alerts):
        assert rule["annotations"]["summary"] and rule["annotations"]["remedy"] and rule["labels"]["severity"] in ("warning", "critical")
    texts = [*expressions(dashboard), *(rule["expr"] for rule in rules(alerts))]
    assert {name for text in texts for name in NAME.findall(text)} - known == set()


def check_alerts(alerts: str, cases: str) -> None:
    """promtool shows each alert firing for what it is meant for."""
    shown = yaml.safe_load((MONITORING / cases).read_text(encoding="utf-8"))
    assert {case["alertname"] for test in shown["tests"] for case in test["alert_rule_test"]} == {rule["alert"] for rule in rules(alerts)}
    for command in (["check", "rules", alerts], ["test", "rules", cases], ["check", "config", "--syntax-only", "prometheus.yml"]):
        done = subprocess.run(["promtool", *command], cwd=MONITORING, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def check_older_format(text: str) -> None:
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def port_of(daemon: Daemon) -> int:
    """Of its admin server, which was told to take any."""
    return int(re.search(r" port=(\d+)", daemon.wait_event("admin-listening", "port="))[1])


class Prometheus:
    """One job of the example's configuration, with the ports that the programs have in this run."""

    def __init__(self, folder: pathlib.Path, job_name: str, ports: dict[str, int], alerts: str) -> None:
        config = yaml.safe_load((MONITORING / "prometheus.yml").read_text(encoding="utf-8"))
        job = next(job for job in config["scrape_configs"] if job["job_name"] == job_name)
        for target in job["static_configs"]:
            target["targets"] = [f"127.0.0.1:{ports[target['labels']['program']]}"]
        job["scrape_interval"] = "1s"
        config |= {"scrape_configs": [job], "global": {"evaluation_interval": "1s"}, "rule_files": [str(MONITORING / alerts)]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.daemon = Daemon(shutil.which("prometheus"), [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                                                          f"--web.listen-address=127.0.0.1:{self.port}"], folder / "prometheus.log")

    def __enter__(self) -> Prometheus:
        self.daemon.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.daemon.stop()

    def ask(self, path: str, **query: str) -> dict[str, Any]:
        """Empty as long as it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=60) as answer:
                return json.load(answer)["data"]
        except OSError:
            return {}

    def up(self) -> dict[str, str]:
        """"1" or "0" by program."""
        return {row["metric"]["program"]: row["value"][1] for row in self.ask("query", query="up").get("result", [])}

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self.ask("rules").get("groups", []) for rule in group["rules"]]

    def check_targets(self) -> None:
        for target in self.ask("targets")["activeTargets"]:
            assert target["health"] == "up" and target["lastError"] == "", target
