# SPDX-License-Identifier: Apache-2.0
"""The real translator between a watcher and a provider that share one load balancer, both driven by hand."""
from __future__ import annotations

import pathlib

import pytest

from lib.daemon import Daemon
from lib.engine import KINDS
from lib.line import build_folder
from lib.links import Provider, Watcher

PATIENCE_S = 90.0
BALANCER = "class/rancher"
PLACES = [*KINDS, "pod", "node"]


def ingress(name: str, host: str = "x.org", **more: object) -> dict:
    backend = {"service": "web", "port_number": 80}
    return {"kind": "ingress", "namespace": "a", "name": name, "uid": f"u-{name}", "created": 10,
            "rules": [{"host": host, "paths": [{"path": "/", "type": "prefix", "backend": backend}]}], **more}


def service(name: str, port: int, **more: object) -> dict:
    return {"kind": "service", "namespace": "a", "name": name, "uid": f"u-{name}", "created": 10, "has_selector": True,
            "type": "load-balancer", "load_balancer_class": "sluice.io/load-balancer", "finalizer": True,
            "ports": [{"port": port}], **more}


@pytest.fixture
def translator(tmp_path: pathlib.Path):
    """Starts it with more options; stopped afterwards."""
    started: list[Daemon] = []

    def start(*options: str) -> Daemon:
        daemon = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(tmp_path), *options],
                        tmp_path / "translator.log")
        started.append(daemon.start())
        return daemon

    yield start
    for daemon in started:
        if daemon.is_running():
            assert daemon.stop() == 0


def ports(provider: Provider) -> list[int]:
    body = provider.view.objects.get(("load-balancer", BALANCER), {})
    return [listener["port"] for listener in body.get("listeners", [])]


def status_of(watcher: Watcher, kind: str, name: str) -> dict | None:
    found = [status for status in watcher.view.statuses if (status["kind"], status["name"]) == (kind, name)]
    return found[-1] if found else None


def await_status(watcher: Watcher, kind: str, name: str, *ips: str) -> None:
    watcher.wait(lambda: [a.get("ip") for a in (status_of(watcher, kind, name) or {}).get("addresses", [])] == list(ips),
                 f"{kind} {name} to show {ips}", PATIENCE_S)


def test_ports_and_the_published_service_are_options(translator, tmp_path):
    daemon = translator("--http-port", "8080", "--https-port", "8443", "--publish-service", "a/edge")
    with Watcher(tmp_path) as watcher, Provider(tmp_path, grouping="merged") as provider:
        watcher.snapshot([ingress("web")])
        provider.wait(lambda: ports(provider) == [8080], "the listener", PATIENCE_S)
        daemon.wait_event("publish-service-missing", "name=edge", PATIENCE_S)
        provider.report(BALANCER, "10.0.0.1")
        edge = {"kind": "service", "namespace": "a", "name": "edge", "uid": "e", "addresses": [{"ip": "192.0.2.1"}]}
        watcher.upsert(edge)
        await_status(watcher, "ingress", "web", "192.0.2.1")
        watcher.upsert({**edge, "addresses": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.2"}]})
        await_status(watcher, "ingress", "web", "192.0.2.1", "192.0.2.2")


def pod(name: str, node: str, ready: bool = True) -> dict:
    return {"kind": "pod", "namespace": "edge", "name": name, "uid": f"u-{name}", "node": node, "host_ip": f"10.0.9.{name[-1]}", "ready": ready}


def node(name: str, **addresses: str) -> dict:
    return {"kind": "node", "name": name, "uid": f"u-{name}", **addresses}


def test_addresses_of_nodes_are_shown_while_their_replicas_are_ready(translator, tmp_path):
    daemon = translator()
    with Watcher(tmp_path, {"kinds": PLACES}) as watcher, Provider(tmp_path, grouping="merged") as provider:
        watcher.snapshot([ingress("web"), pod("p1", "n1"), pod("p2", "n2"), pod("p3", "n3", ready=False), pod("p4", "n4"),
                          node("n1", internal_ip="10.0.0.1"), node("n2", internal_ip="10.0.0.2", external_ip="192.0.2.2"),
                          node("n3", internal_ip="10.0.0.3")], PLACES)
        provider.wait(lambda: ports(provider) == [80], "the listener", PATIENCE_S)
        provider.report(BALANCER, "203.0.113.1")
        await_status(watcher, "ingress", "web", "10.0.0.1", "192.0.2.2")
        watcher.upsert(pod("p3", "n3"))
        await_status(watcher, "ingress", "web", "10.0.0.1", "10.0.0.3", "192.0.2.2")
        watcher.delete(node("n1"))
        await_status(watcher, "ingress", "web", "10.0.0.3", "192.0.2.2")
        watcher.upsert(node("n2", internal_ip="10.0.0.2"))
        await_status(watcher, "ingress", "web", "10.0.0.2", "10.0.0.3")
        watcher.delete(pod("p3", "n3"))
        await_status(watcher, "ingress", "web", "10.0.0.2")
        told = len(watcher.view.statuses)
        watcher.upsert(pod("p2", "n2", ready=False))
        daemon.wait_event("publish-pods-missing", timeout=PATIENCE_S)
        watcher.upsert(pod("p1", "n9"), node("n9", internal_ip="10.0.0.9"))
        await_status(watcher, "ingress", "web", "10.0.0.9")
        assert len(watcher.view.statuses) == told + 1, "while no replica was ready, the last addresses had to stay"


def test_without_nodes_the_addresses_of_pods_count(translator, tmp_path):
    translator()
    with Watcher(tmp_path, {"kinds": PLACES[:-1]}) as watcher, Provider(tmp_path, grouping="merged") as provider:
        watcher.snapshot([ingress("web"), pod("p1", "n1"), pod("p2", "n1")], PLACES[:-1])
        provider.wait(lambda: ports(provider) == [80], "the listener", PATIENCE_S)
        provider.report(BALANCER, "203.0.113.1")
        await_status(watcher, "ingress", "web", "10.0.9.1", "10.0.9.2")


def test_a_published_service_counts_more_than_nodes(translator, tmp_path):
    translator("--publish-service", "a/edge")
    with Watcher(tmp_path, {"kinds": PLACES[:-1]}) as watcher, Provider(tmp_path, grouping="merged") as provider:
        edge = {"kind": "service", "namespace": "a", "name": "edge", "uid": "e", "addresses": [{"ip": "192.0.2.1"}]}
        watcher.snapshot([ingress("web"), pod("p1", "n1"), edge], PLACES[:-1])
        provider.wait(lambda: ports(provider) == [80], "the listener", PATIENCE_S)
        provider.report(BALANCER, "203.0.113.1")
        await_status(watcher, "ingress", "web", "192.0.2.1")


def test_a_service_that_left_while_the_translator_was_dead_is_released(translator, tmp_path):
    daemon = translator()
    with Watcher(tmp_path) as watcher, Provider(tmp_path, grouping="merged") as provider:
        watcher.snapshot([ingress("web"), service("git", 2222)])
        provider.wait(lambda: ports(provider) == [80, 2222], "the listeners", PATIENCE_S)
        provider.report(BALANCER, "192.0.2.1")
        await_status(watcher, "service", "git", "192.0.2.1")
        kept = provider.view
    daemon.kill()
    daemon.start()
    with Watcher(tmp_path) as watcher, Provider(tmp_path, view=kept, grouping="merged") as provider:
        old = kept.objects["load-balancer", BALANCER]["rev"]
        watcher.snapshot([ingress("web"), service("git", 2222, deleting=True)])
        provider.wait(lambda: ports(provider) == [80], "the listener to go", PATIENCE_S)
        provider.report(BALANCER, "192.0.2.1", rev=old)
        provider.sync()
        watcher.sync()
        assert status_of(watcher, "service", "git") is None, "not before the provider has said that it is gone"
        provider.report(BALANCER, "192.0.2.1")
        watcher.wait(lambda: (status_of(watcher, "service", "git") or {}).get("release"), "the release", PATIENCE_S)


@pytest.mark.parametrize("grouping", ["merged", "per-ingress"])
def test_a_complaint_that_stands_is_no_news_after_a_restart(translator, tmp_path, grouping):
    """The watcher records what stands only if nobody has yet. Here the provider, which cannot do something, is the last to come back."""
    records = [ingress("web", annotations=[{"key": "scale", "value": "2"}])]

    def complaints(watcher: Watcher) -> list[bool]:
        return [event.get("standing", False) for event in watcher.view.events if event["reason"] == "NotSupported"]

    for life in range(2):
        daemon = translator()
        with Watcher(tmp_path) as watcher:
            watcher.snapshot(records)
            watcher.sync()
            assert complaints(watcher) == []  # nobody knows yet what the provider can do
            for _ in range(2):
                with Provider(tmp_path, grouping=grouping, policies=[]) as provider:
                    provider.wait_commit(timeout=PATIENCE_S)
                    watcher.wait(lambda w=watcher: complaints(w), "the complaint", PATIENCE_S)
                    watcher.sync()
                    assert complaints(watcher) == [True], f"life {life}"
                daemon.wait_event("link-down", "peer=provider", PATIENCE_S)  # until then another one is refused
            watcher.upsert(ingress("new", annotations=[{"key": "scale", "value": "2"}]))
            watcher.wait(lambda w=watcher: len(complaints(w)) == 2, "the new one's", PATIENCE_S)
            assert complaints(watcher) == [True, False]
        daemon.kill()


@pytest.mark.parametrize("options, problem", [
    (["--publish-service", "edge"], "--publish-service: NAMESPACE/NAME is expected"),
    (["--http-port", "443"], "--http-port and --https-port must differ"),
    (["--default-certificate", "a/"], "--default-certificate: NAMESPACE/NAME is expected"),
    (["--default-certificate", "a/" + 600 * "b"], "--default-certificate: NAMESPACE/NAME is expected"),
])
def test_options_that_cannot_be_are_refused(translator, options, problem):
    daemon = translator(*options)
    daemon.process.wait(timeout=PATIENCE_S)
    daemon.reader.join(timeout=PATIENCE_S)
    assert daemon.process.returncode != 0
    assert any(problem in line for line in daemon.lines), daemon.lines
