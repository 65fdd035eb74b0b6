# SPDX-License-Identifier: Apache-2.0
"""Ports for TCP as ingress-nginx had them: a ConfigMap of the administrator, on both proxies, by real connections."""
from __future__ import annotations

import contextlib
from typing import Any

import pytest

from lib.line import DAEMONS
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.raw_http import exchange
from lib.wait import wait_for

MAP = "default/tcp"
REQUEST = b"GET / HTTP/1.1\r\nHost: any.test\r\nConnection: close\r\n\r\n"  # by which backends tell their names
PATIENCE = 60.0


def config_map(data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tcp", "namespace": "default"}, "data": data}


@pytest.fixture(params=PROXIES)
def line(request):
    with ProxyLine(request.param, watcher=["--tcp-services-configmap", MAP]) as running:
        yield running


def deploy(line: ProxyLine, pods, *names: str) -> None:
    for name in names:
        line.cluster.apply(line.cluster.service(name), line.cluster.slice(name, [pods(name).ip]))


def reached(line: ProxyLine, port: int) -> str:
    """The backend; empty: nobody listens, or says anything."""
    with contextlib.suppress(OSError):
        return exchange(line.proxy.address, port, REQUEST).json["name"]
    return ""


def leads(line: ProxyLine, port: int, name: str) -> None:
    wait_for(lambda: reached(line, port) == name, f"port {port} to lead to {name or 'nobody'}", PATIENCE)


@pytest.mark.quick
def test_ports_are_opened_and_closed(line, pods):
    deploy(line, pods, "one", "two")
    first = line.proxy.other_port(line.proxy.http, line.proxy.https)
    second = line.proxy.other_port(line.proxy.http, line.proxy.https, first)
    line.cluster.apply(config_map({str(first): "default/one:80", "x": "default/one:80", str(second): "default/two:80:PROXY"}))
    leads(line, first, "one")
    line.cluster.wait_event("tcp", "PortNotServed", "data[\"x\"]", PATIENCE)
    line.cluster.wait_event("tcp", "PortNotServed", "PROXY", PATIENCE)
    assert reached(line, second) == ""
    line.cluster.apply(config_map({str(first): "default/two:80", str(second): "default/one:80"}))
    leads(line, first, "two")
    leads(line, second, "one")
    line.cluster.patch("configmap", "tcp", {"data": {str(second): None}})
    leads(line, second, "")
    assert reached(line, first) == "two"
    line.cluster.delete("configmap", "tcp")
    leads(line, first, "")


@pytest.mark.parametrize("victim", DAEMONS)
def test_whoever_is_killed_meanwhile(pods, victim):
    with ProxyLine("haproxy", watcher=["--tcp-services-configmap", MAP]) as line:
        deploy(line, pods, "one", "two")
        port = line.proxy.other_port(line.proxy.http, line.proxy.https)
        line.cluster.apply(config_map({str(port): "default/one:80"}))
        leads(line, port, "one")
        line.daemon(victim).kill()
        assert reached(line, port) == "one", "what served has to go on"
        line.cluster.apply(config_map({str(port): "default/two:80"}))
        line.daemon(victim).start()
        leads(line, port, "two")
