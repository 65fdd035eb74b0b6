# SPDX-License-Identifier: Apache-2.0
"""Ports for TCP as ingress-nginx had them: a ConfigMap of the administrator, on both proxies, by real connections."""
from __future__ import annotations

import contextlib
import socket
from typing import Any

import pytest

from lib.backend import Pod
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
    line.cluster.apply(config_map({str(first): "default/one:80", "x": "default/one:80", str(second): "default/two:80:proxy"}))
    leads(line, first, "one")
    line.cluster.wait_event("tcp", "PortNotServed", "data[\"x\"]", PATIENCE)
    line.cluster.wait_event("tcp", "PortNotServed", "PROXY:PROXY is expected", PATIENCE)
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


# ---- the PROXY protocol ----

def ask(line: ProxyLine, port: int, first: bytes) -> bytes:
    """What comes back on a connection that begins so; empty: nothing."""
    with contextlib.suppress(OSError), socket.create_connection((line.proxy.address, port), timeout=10) as link:
        link.sendall(first + REQUEST)
        return b"".join(iter(lambda: link.recv(65536), b""))
    return b""


class Listener(Pod):
    """Answers with the first line that it gets."""

    def serve(self, connection: socket.socket, peer: str) -> None:
        with connection.makefile("rb") as reader:
            connection.sendall(reader.readline(200))


def test_the_proxy_protocol_is_read_and_sent(line, pods):
    """As ingress-nginx had it: the first PROXY is for clients, the second for endpoints."""
    said = b"PROXY TCP4 203.0.113.7 192.0.2.1 4000 9000\r\n"
    taken = [line.proxy.http, line.proxy.https]
    for _ in range(4):
        taken.append(line.proxy.other_port(*taken))
    plain, read, sent, both = taken[2:]
    with Listener("first-line") as pod:
        line.cluster.apply(line.cluster.service("lines"), line.cluster.slice("lines", [pod.ip]),
                           config_map({str(plain): "default/lines:80", str(read): "default/lines:80:PROXY", str(sent): "default/lines:80::PROXY",
                                       str(both): "default/lines:80:PROXY:PROXY"}))

        def gives(port: int, first: bytes, want: bytes) -> None:
            wait_for(lambda: ask(line, port, first).startswith(want), f"port {port} to give {want!r}", PATIENCE)
        gives(plain, b"", b"GET / ")
        gives(plain, said, said)
        gives(read, said, b"GET / ")
        gives(sent, b"", b"PROXY TCP4 127.0.0.1 ")
        gives(both, said, b"PROXY TCP4 203.0.113.7 ")
        for victim in DAEMONS:
            line.daemon(victim).kill()
            assert ask(line, both, said).startswith(b"PROXY TCP4 203.0.113.7 ")
            line.daemon(victim).start()
        line.cluster.apply(config_map({str(read): "default/lines:80:PROXY:PROXY", str(both): "default/lines:80"}))
        gives(read, said, b"PROXY TCP4 203.0.113.7 ")
        gives(both, b"", b"GET / ")
