# SPDX-License-Identifier: Apache-2.0
"""The neighbours misbehave while an Ingress is made and changed; the end state is the same, traffic never stops, and nothing needless is written."""
from __future__ import annotations

import contextlib

import pytest

from lib.traffic import Traffic, request
from lib.wait import wait_for

HOST = "foo.bar.com"


def kube_cut(line):
    line.kube.network("gone", drop="rst")


def kube_streams_cut(line):
    line.kube.end_streams("cut")


def kube_silent(line):
    line.kube.end_streams("garbage")


def kube_gone_window(line):
    line.kube.forget()
    line.kube.end_streams("error", with_="expired")


def kube_answers(name: str):
    def fault(line):
        line.kube.fault("respond", {"identity": "controller"}, with_=name, count=6)
        line.kube.end_streams("clean")
    return fault


def rancher_cut(line):
    line.rancher.control("api", state="down")


def rancher_fault(effect: str, **scope):
    def fault(line):
        line.rancher.fault(effect, **scope)
    return fault


def rancher_websocket_cut(line):
    line.rancher.control("websocket", cut=True)


FAULTS = {
    "kube-cut": kube_cut,
    "kube-streams-cut-in-a-frame": kube_streams_cut,
    "kube-streams-garbage": kube_silent,
    "kube-410-in-the-stream": kube_gone_window,
    "kube-500": kube_answers("internal"),
    "kube-429": kube_answers("throttled"),
    "kube-410": kube_answers("expired"),
    "kube-garbage": kube_answers("garbage"),
    "rancher-cut": rancher_cut,
    "rancher-500": rancher_fault("error", status=500, count=6),
    "rancher-409": rancher_fault("error", method=["PUT", "POST"], status=409, code="Conflict", count=3),
    "rancher-reset": rancher_fault("reset", count=6),
    "rancher-slow": rancher_fault("slow", delay=1.0, count=6),
    "rancher-garbage": rancher_fault("garbage", count=6),
    "rancher-truncated": rancher_fault("truncate", count=6),
    "rancher-websocket-cut": rancher_websocket_cut,
}


@contextlib.contextmanager
def trouble(line, fault):
    """The fault acts while the block runs, and is gone afterwards."""
    fault(line)
    try:
        yield
    finally:
        line.kube.network("up")
        line.kube.clear()
        line.rancher.control("api", state="up")
        line.rancher.clear()


def deploy(namespace, backends, service: str) -> None:
    pod = backends(service)
    namespace.apply(namespace.service(service), namespace.slice(service, [pod.ip]))


def serves(line, namespace, ingress: str, path: str, service: str) -> None:
    def arrives():
        with contextlib.suppress(OSError, ValueError, IndexError):
            got = request(*line.entries(ingress, namespace.namespace)[0], HOST, path)
            return got.status == 200 and got.json["name"] == service
    wait_for(arrives, f"{path} to reach {service}", 60)


@pytest.mark.parametrize("name", FAULTS)
def test_a_change_survives(line, standin, namespace, backends, name):
    deploy(namespace, backends, "web")
    deploy(namespace, backends, "second")
    namespace.apply(namespace.ingress("web", [{"host": HOST, "paths": [("/foo", "Prefix", "web", 80)]}]))
    serves(line, namespace, "web", "/foo", "web")
    namespace.wait_addresses("web", 1)
    changed = namespace.ingress("web", [{"host": HOST, "paths": [
        ("/foo", "Prefix", "web", 80), ("/second", "Prefix", "second", 80)]}])
    with Traffic(*line.entries("web", namespace.namespace)[0], HOST, "/foo") as traffic:
        with trouble(line, FAULTS[name]):
            if name == "kube-cut":
                # Nobody can change anything now; long enough for every watch to have failed and been tried again.
                wait_for(lambda: len(line.watcher.events("watch-lost")) >= 4, "the watches to be lost")
            else:
                namespace.apply(changed)
        namespace.apply(changed)
        serves(line, namespace, "web", "/second", "second")
        good = traffic.good
        wait_for(lambda: traffic.good > good + 20, "traffic to go on")
    assert traffic.failures == []
    assert len(namespace.wait_addresses("web", 1)) == 1


def test_one_refused_balancer_does_not_hold_up_another(line, namespace, backends):
    deploy(namespace, backends, "web")
    refused = f"{namespace.namespace}-rancherlb-bad"
    with trouble(line, rancher_fault("error", method="POST", name=refused, status=422, code="InvalidOption",
                                     fieldName="labels")):
        for name in ("bad", "good"):
            namespace.apply(namespace.ingress(name, [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}]))
        serves(line, namespace, "good", "/", "web")
        assert line.balancer("bad", namespace.namespace) is None
        namespace.wait_event("bad", "LoadBalancerFailed", "InvalidOption")
    line.wait_balancer("bad", namespace.namespace)


def test_the_steady_state_is_quiet_and_restarts_write_nothing(line, standin, namespace, backends):
    deploy(namespace, backends, "web")
    namespace.apply(namespace.ingress("web", [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}]))
    serves(line, namespace, "web", "/", "web")
    namespace.wait_addresses("web", 1)
    line.rancher.settle()
    mark = standin.mark()
    line.rancher.control("reset-counters")
    for daemon in line.daemons():
        lines = len(daemon.lines)
        daemon.restart()
        daemon.wait_event("link-up", since=lines)
    # The proof that all three have gone through everything again: a further change arrives.
    namespace.annotate("ingress", "web", **{"http.port": "8080"})
    wait_for(lambda: [e for e in line.entries("web", namespace.namespace) if e[1] == 8080], "port 8080 to open", 30)
    ours = [e for e in standin.writes(mark) if e.get("resource") == "ingresses" and e.get("effect") == "changed"]
    assert len(ours) <= 1, ours
    writes = [e for e in line.rancher.requests() if e["method"] != "GET"]
    assert len(writes) == 1, writes
