# SPDX-License-Identifier: Apache-2.0
"""One provider takes the other's place on the same machine, by starting it with --take-over: nobody's request fails, in either direction."""
from __future__ import annotations

import contextlib
import os
import signal

import pytest

from lib import processes
from lib.backend import Backend
from lib.datagrams import DatagramPod, reached
from lib.local_proxy import PATIENCE, LocalProxy, host, pool
from lib.proxies import proxy_class
from lib.proxy_line import ProxyLine
from lib.traffic import Load, Traffic
from lib.wait import wait_for

OTHER = {"haproxy": "nginx", "nginx": "haproxy"}


def replaced(arguments: list[str], option: str, value: str) -> list[str]:
    at = arguments.index(option)
    return [*arguments[:at + 1], value, *arguments[at + 2:]]


def same_place(line: ProxyLine, name: str) -> LocalProxy:
    """A provider of the same line for the same address, with folders of its own; it does not run yet."""
    other = proxy_class(name)(start=False)
    other.translator.stop()
    arguments = replaced(other.provider.arguments, "--runtime-dir", str(line.runtime))
    other.provider.arguments = replaced(arguments, "--bind-address", line.proxy.address)
    other.address, other.http, other.https = line.proxy.address, line.proxy.http, line.proxy.https
    return other


def deploy(line: ProxyLine, pod: Backend, name: str) -> None:
    cluster = line.cluster
    cluster.apply(cluster.service(name), cluster.slice(name, [pod.ip]),
                  cluster.ingress(name, [{"host": f"{name}.test", "paths": [("/", "Prefix", name, 80)]}]))


def begin(former: LocalProxy, proxy: LocalProxy) -> None:
    """The one step."""
    proxy.provider.arguments = [*proxy.provider.arguments, "--take-over", str(former.proxy_dir)]
    proxy.start()


def swap(former: LocalProxy, proxy: LocalProxy) -> None:
    """The step, and what has to come of it."""
    before, taken = [*former.supervisors(), *former.proxies()], len(former.provider.events("proxy-taken"))
    begin(former, proxy)
    wait_for(lambda: not former.provider.is_running(), "the former provider to end", PATIENCE)
    assert former.provider.reap() == 0
    assert len(former.provider.events("proxy-taken")) == taken + 1
    wait_for(lambda: not [process for process in before if process.lives()], "the former proxy to end", PATIENCE)
    proxy.provider.wait_event("ready", timeout=PATIENCE)


@contextlib.contextmanager
def under_load(line: ProxyLine, name: str):
    """Clients that come anew for each request, and clients that stay. nginx closes idle connections when it drains, without a word before, which those
    that stay have to take as every client does."""
    target = f"{name}.test"
    where = (line.proxy.address, line.proxy.http)
    with Traffic(*where, target) as first, Traffic(*where, target) as second, Load(*where, [(target, "/")], clients=3, repeats=True) as kept:
        clients = (first, second, kept)
        wait_for(lambda: all(one.good > 20 for one in clients), "the load", PATIENCE)
        yield kept
        before = [one.good for one in clients]
        wait_for(lambda: all(one.good > was + 20 for one, was in zip(clients, before)), "the load to go on", PATIENCE)
    assert [one.failures for one in clients] == [[], [], []]


def swap_politely(former: LocalProxy, proxy: LocalProxy, kept: Load) -> None:
    """HAProxy says so before it closes a connection."""
    before = kept.repeated
    swap(former, proxy)
    assert former.name == "nginx" or kept.repeated == before


def wait_supervisor(proxy: LocalProxy, event: str) -> None:
    """Its sluice-proxy, which the provider has started, has said so."""
    log = proxy.proxy_dir / "supervisor.log"
    wait_for(lambda: log.exists() and f"event={event} " in log.read_text(), f"sluice-proxy to say {event}", PATIENCE)


@contextlib.contextmanager
def two(name: str, pods):
    """A line that serves web.test with the first of two, and the second, which does not run yet."""
    with ProxyLine(name) as line, same_place(line, OTHER[name]) as second:
        deploy(line, pods("web"), "web")
        line.wait_serves("web.test", "/", "web")
        yield line, line.proxy, second


def test_ports_for_udp_are_there_with_nginx(pods):
    """HAProxy cannot have them, and says so; nobody has to ask again for nginx to open them."""
    with two("haproxy", pods) as (line, first, second), DatagramPod("echo") as echo:
        port = line.proxy.other_port(line.proxy.http, line.proxy.https)
        made, found = line.cluster.service("dns"), line.cluster.slice("dns", [echo.ip])
        made["spec"] |= {"type": "LoadBalancer", "loadBalancerClass": "sluice.io/load-balancer",
                         "ports": [{"port": port, "targetPort": 8080, "protocol": "UDP"}]}
        found["ports"][0]["protocol"] = "UDP"
        line.cluster.apply(made, found)
        line.cluster.wait_event("dns", "PortNotServed", f"UDP port {port} is not served", PATIENCE)
        for former, proxy, name in ((first, second, "echo"), (second, first, "")):
            swap(former, proxy)
            wait_for(lambda name=name: reached(line.proxy.address, port) == name, f"UDP port {port} to lead to {name or 'nobody'}", PATIENCE)


@pytest.mark.parametrize("name", OTHER)
def test_there_and_back(name, pods):
    with two(name, pods) as (line, first, second):
        with under_load(line, "web") as kept:
            swap_politely(first, second, kept)
            deploy(line, pods("there"), "there")
            wait_for(lambda: second.reached_or_none("there.test") == "there", "the new host", PATIENCE)
            assert {second.reached("there.test") for _ in range(50)} == {"there"}
            # Its folder has a state in which that host is missing.
            swap_politely(second, first, kept)
            assert {first.reached("there.test") for _ in range(50)} == {"there"}
            deploy(line, pods("back"), "back")
            wait_for(lambda: first.reached_or_none("back.test") == "back", "the new host", PATIENCE)
            assert {first.reached("back.test") for _ in range(50)} == {"back"}


@pytest.mark.parametrize("name", OTHER)
def test_where_nobody_is_it_starts_as_always(name, pods):
    with two(name, pods) as (line, first, second):
        first.provider.stop()
        before = [*first.supervisors(), *first.proxies()]
        processes.kill(before)
        begin(first, second)
        wait_supervisor(second, "take-over-none")
        line.wait_serves("web.test", "/", "web")


@pytest.mark.parametrize("name", OTHER)
def test_the_former_one_dies_before_the_next_one_serves(name, pods):
    with two(name, pods) as (line, first, second):
        before = [*first.supervisors(), *first.proxies()]
        line.translator.pause()
        begin(first, second)
        wait_supervisor(second, "take-over")
        first.kill_provider()
        processes.kill(before)
        line.translator.resume()
        wait_for(lambda: second.reached_or_none("web.test") == "web", "it to be served", PATIENCE)
        assert {process.name for process in second.proxies()} == {second.name}


@pytest.mark.parametrize("name", OTHER)
def test_a_former_supervisor_that_hangs_costs_nobody_a_request(name, pods):
    """It cannot hand over what it has: that is said, and the former proxy serves on."""
    with two(name, pods) as (line, first, second):
        supervisors = first.supervisors()
        with under_load(line, "web"):
            processes.hold(supervisors)
            begin(first, second)
            wait_supervisor(second, "take-over-failed")
            assert first.provider.is_running() and second.proxies() == []
        for process in supervisors:
            os.kill(process.pid, signal.SIGCONT)


@pytest.mark.parametrize("name", OTHER)
def test_one_at_another_address_is_left_alone(name, pods):
    """Of another line: there is nothing to take over, and both serve."""
    pod = pods("web")
    with proxy_class(name)() as first, proxy_class(OTHER[name])(start=False) as second:
        for proxy in (first, second):
            proxy.send(pool("web", pod), host("web.test", ("/", "web")), proxy.balancer())
            proxy.commit()
        first.wait_applied()
        begin(first, second)
        second.wait_applied()
        wait_supervisor(second, "take-over-apart")
        first.translator.wait_connection(2)
        first.apply()
        assert first.reached("web.test") == second.reached("web.test") == "web"
        assert not first.provider.events("proxy-taken")
