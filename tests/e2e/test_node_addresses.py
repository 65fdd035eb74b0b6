# SPDX-License-Identifier: Apache-2.0
"""A proxy on every node, with nothing in front: Ingresses show the addresses of the nodes whose replica is ready, and of no others."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

import pytest

from lib.line import DAEMONS
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

NAMESPACE = "sluice-system"
LABELS = {"app.kubernetes.io/name": "sluice"}
OPTION = ["--publish-pods", f"{NAMESPACE}/app.kubernetes.io/name=sluice"]
SECONDS_MAX = 10.0  # from what Kubernetes knows of a node to the status


class Nodes:
    """The nodes of the cluster, with a replica on each."""

    def __init__(self, line: ProxyLine):
        self.line = line
        self.cluster = line.cluster.within(NAMESPACE)

    def join(self, name: str, *addresses: tuple[str, str]) -> None:
        """`addresses`: the type of each, and the address."""
        self.cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        self._status("node", name, {"addresses": [{"type": kind, "address": address} for kind, address in addresses]})

    def run(self, node: str, ready: bool = True, labels: dict[str, str] | None = None) -> None:
        """A pod on it."""
        container = {"name": "proxy", "image": "sluice-proxy-nginx"}
        self.cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"on-{node}", "namespace": NAMESPACE, "labels": labels or LABELS},
                            "spec": {"nodeName": node, "containers": [container]}})
        self.tell(node, ready)

    def tell(self, node: str, ready: bool) -> None:
        """What the kubelet says of its pod, or in its place the one who has noticed that the node is silent."""
        self._status("pod", f"on-{node}", {"hostIP": "198.51.100.1", "conditions": [{"type": "Ready", "status": str(ready)}]})

    def lose(self, node: str) -> None:
        self.cluster.kubectl("delete", "node", node, "--wait=false")

    def _status(self, kind: str, name: str, status: dict[str, Any]) -> None:
        self.line.kube.api.patch(f"{kind}s", name, {"status": status}, NAMESPACE, "status")


@contextlib.contextmanager
def started(proxy: str, *watcher: str) -> Iterator[ProxyLine]:
    with ProxyLine(proxy, watcher=[*OPTION, *watcher]) as line:
        line.kube.api.ensure_namespace(NAMESPACE)
        yield line


@pytest.fixture(params=PROXIES)
def line(request):
    with started(request.param) as running:
        yield running


def serve(line: ProxyLine, pods) -> Nodes:
    """Three nodes, of which one has an address outside; and an Ingress."""
    nodes = Nodes(line)
    for number in (1, 2):
        nodes.join(f"n{number}", ("Hostname", f"n{number}"), ("InternalIP", f"10.0.0.{number}"))
    nodes.join("n3", ("InternalIP", "10.0.0.3"), ("ExternalIP", "192.0.2.3"))
    for number in (1, 2, 3):
        nodes.run(f"n{number}")
    pod = pods("web")
    line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [pod.ip]),
                       line.cluster.ingress("web", [{"host": "web.test", "paths": [("/", "Prefix", "web", 80)]}]))
    shows(line, "10.0.0.1", "10.0.0.2", "192.0.2.3", seconds=60)
    return nodes


def shows(line: ProxyLine, *addresses: str, seconds: float = SECONDS_MAX) -> None:
    wait_for(lambda: line.cluster.addresses("web") == list(addresses), f"the Ingress to show {addresses}", seconds)


@pytest.mark.quick
def test_a_node_that_goes_leaves_the_status(line, pods):
    nodes = serve(line, pods)
    line.wait_serves("web.test", "/", "web")
    nodes.tell("n2", False)
    shows(line, "10.0.0.1", "192.0.2.3")
    nodes.lose("n1")
    shows(line, "192.0.2.3")
    nodes.tell("n2", True)
    shows(line, "10.0.0.2", "192.0.2.3")
    nodes.join("n3", ("InternalIP", "10.0.0.3"))
    shows(line, "10.0.0.2", "10.0.0.3")
    nodes.cluster.kubectl("delete", "pod", "on-n3", "--force")
    shows(line, "10.0.0.2")
    nodes.join("n4", ("InternalIP", "10.0.0.4"))
    nodes.run("n4", labels={"app.kubernetes.io/name": "other"})
    nodes.tell("n2", False)
    line.translator.wait_event("publish-pods-missing")
    assert line.cluster.addresses("web") == ["10.0.0.2"], "while nobody is ready, the last addresses stay"
    nodes.join("n5", ("InternalIP", "fd00::5"))
    nodes.run("n5")
    shows(line, "fd00::5")


@pytest.mark.parametrize("victim", DAEMONS)
def test_whoever_is_killed_meanwhile(pods, victim):
    with started("nginx") as line:
        nodes = serve(line, pods)
        line.daemon(victim).kill()
        nodes.tell("n2", False)
        line.daemon(victim).start()
        shows(line, "10.0.0.1", "192.0.2.3", seconds=60)
        line.daemon(victim).kill()
        nodes.lose("n3")
        line.daemon(victim).start()
        shows(line, "10.0.0.1", seconds=60)
        line.wait_serves("web.test", "/", "web")


def test_without_nodes_the_addresses_are_those_that_pods_have(pods):
    with started("nginx", "--report-node-internal-ip-address") as line:
        nodes = Nodes(line)
        nodes.run("n1")
        pod = pods("web")
        line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [pod.ip]),
                           line.cluster.ingress("web", [{"host": "web.test", "paths": [("/", "Prefix", "web", 80)]}]))
        shows(line, "198.51.100.1", seconds=60)
