# SPDX-License-Identifier: Apache-2.0
"""Ports for UDP: of a ConfigMap as ingress-nginx had them, and of Services of type LoadBalancer. nginx serves them, HAProxy cannot and says so."""
from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
from typing import Any

import pytest

from lib.datagrams import DatagramClient, DatagramPod, reached
from lib.line import DAEMONS
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

MAP = "default/udp"
PATIENCE = 60.0


def config_map(data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "udp", "namespace": "default"}, "data": data}


def service(line: ProxyLine, name: str, **spec: Any) -> dict[str, Any]:
    made = line.cluster.service(name)
    made["spec"]["ports"] = [{"name": "dgram", "port": 53, "targetPort": 8080, "protocol": "UDP"}]
    made["spec"].update(spec)
    return made


def slice_of(line: ProxyLine, name: str, ips: list[str]) -> dict[str, Any]:
    made = line.cluster.slice(name, ips)
    made["ports"] = [{"name": "dgram", "port": 8080, "protocol": "UDP"}]
    return made


def leads(line: ProxyLine, port: int, name: str) -> None:
    wait_for(lambda: reached(line.proxy.address, port) == name, f"UDP port {port} to lead to {name or 'nobody'}", PATIENCE)


def connects(line: ProxyLine, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((line.proxy.address, port), timeout=5):
        return True
    return False


@contextlib.contextmanager
def nginx_line():
    with ProxyLine("nginx", watcher=["--udp-services-configmap", MAP]) as line:
        yield line


def ports(line: ProxyLine, count: int) -> list[int]:
    taken = [line.proxy.http, line.proxy.https]
    for _ in range(count):
        taken.append(line.proxy.other_port(*taken))
    return taken[2:]


@pytest.fixture
def echoes():
    with contextlib.ExitStack() as stack:
        yield lambda name, **how: stack.enter_context(DatagramPod(name, **how))


@pytest.mark.quick
def test_ports_are_opened_and_closed(echoes):
    with nginx_line() as line:
        first, second = ports(line, 2)
        for name in ("one", "two"):
            line.cluster.apply(service(line, name), slice_of(line, name, [echoes(name).ip]))
        line.cluster.apply(config_map({str(first): "default/one:53", "x": "default/one:53", str(second): "default/two:dgram:PROXY"}))
        leads(line, first, "one")
        leads(line, second, "two")
        line.cluster.wait_event("udp", "PortNotServed", "data[\"x\"]", PATIENCE)
        line.cluster.wait_event("udp", "NotSupported", "the PROXY protocol is for TCP", PATIENCE)
        line.cluster.apply(config_map({str(first): "default/two:53"}))
        leads(line, first, "two")
        leads(line, second, "")
        line.cluster.delete("configmap", "udp")
        leads(line, first, "")


def test_endpoints_come_and_go(echoes):
    with nginx_line() as line:
        [port] = ports(line, 1)
        old, new = echoes("old"), echoes("new")
        line.cluster.apply(service(line, "one"), slice_of(line, "one", []), config_map({str(port): "default/one:53"}))
        line.cluster.wait_event("udp", "NoEndpoints", "Service one has no endpoint", PATIENCE)
        assert reached(line.proxy.address, port) == ""
        line.cluster.apply(slice_of(line, "one", [old.ip]))
        leads(line, port, "old")
        line.cluster.apply(slice_of(line, "one", [new.ip]))
        leads(line, port, "new")
        line.cluster.apply(slice_of(line, "one", [old.ip, new.ip]))
        leads(line, port, "old")
        # Of one that nobody answers at, the kernel tells; new sessions go to the other one then.
        old.stop()
        leads(line, port, "new")


def test_sessions_of_the_original_end_with_the_answer(echoes):
    """So each datagram of a client goes to the next endpoint."""
    with nginx_line() as line:
        [port] = ports(line, 1)
        one, two = echoes("one"), echoes("two")
        line.cluster.apply(service(line, "both"), slice_of(line, "both", [one.ip, two.ip]), config_map({str(port): "default/both:53"}))
        wait_for(lambda: reached(line.proxy.address, port) != "", f"UDP port {port} to be served", PATIENCE)
        with DatagramClient(line.proxy.address, port) as client:
            answers = [client.asks(str(turn).encode(), 5) for turn in range(4)]
            assert sorted(answer.split(b" ")[0] for answer in answers) == [b"one", b"one", b"two", b"two"]
            assert [answer.split(b" ")[1] for answer in answers] == [b"0", b"1", b"2", b"3"]


def test_a_service_of_type_load_balancer(echoes):
    """The same number may be one of TCP, of somebody else. Of UDP it belongs to the older one. Sessions stay where they began, however many answers come."""
    with nginx_line() as line:
        [port] = ports(line, 1)
        one, two = echoes("one", answers=3), echoes("two", answers=3)
        front = {"type": "LoadBalancer", "loadBalancerClass": "sluice.io/load-balancer",
                 "ports": [{"name": "dgram", "port": port, "targetPort": 8080, "protocol": "UDP"}]}
        line.cluster.apply(service(line, "games", **front), slice_of(line, "games", [one.ip, two.ip]))
        wait_for(lambda: reached(line.proxy.address, port) != "", f"UDP port {port} to be served", PATIENCE)
        with DatagramClient(line.proxy.address, port) as client:
            name = client.asks(b"0", 5).split(b" ")[0]
            answers = [client.receive(5) for _ in range(2)]
            for turn in (b"1", b"2", b"3"):
                client.send(turn)
                answers += [client.receive(5) for _ in range(3)]
            assert {answer.split(b" ")[0] for answer in answers} == {name}
            assert len(answers) == 11 and answers[-1] == name + b" 3"
        late = dict(front, ports=[*front["ports"], {"name": "tcp", "port": port, "targetPort": 8080}])
        line.cluster.apply(service(line, "late", **late), slice_of(line, "late", [two.ip]))
        line.cluster.wait_event("late", "PortConflict", f"UDP port {port} is not opened for UDP", PATIENCE)
        wait_for(lambda: connects(line, port), f"TCP port {port} of the other Service to be open", PATIENCE)


def test_who_may_not_ask_gets_nothing(echoes):
    with nginx_line() as line:
        closed, opened = ports(line, 2)
        pod = echoes("one")
        for name, port, ranges in (("closed", closed, ["203.0.113.0/24"]), ("opened", opened, ["127.0.0.0/8"])):
            line.cluster.apply(service(line, name, type="LoadBalancer", loadBalancerClass="sluice.io/load-balancer", loadBalancerSourceRanges=ranges,
                                       ports=[{"name": "dgram", "port": port, "targetPort": 8080, "protocol": "UDP"}]),
                               slice_of(line, name, [pod.ip]))
        leads(line, opened, "one")
        assert reached(line.proxy.address, closed) == ""


@pytest.mark.parametrize("victim", DAEMONS)
def test_whoever_is_killed_meanwhile(echoes, victim):
    with nginx_line() as line:
        [port] = ports(line, 1)
        for name in ("one", "two"):
            line.cluster.apply(service(line, name), slice_of(line, name, [echoes(name).ip]))
        line.cluster.apply(config_map({str(port): "default/one:53"}))
        leads(line, port, "one")
        line.daemon(victim).kill()
        assert reached(line.proxy.address, port, 5) == "one", "what served has to go on"
        line.cluster.apply(config_map({str(port): "default/two:53"}))
        line.daemon(victim).start()
        leads(line, port, "two")


def front(line: ProxyLine, name: str, port: int) -> dict[str, Any]:
    return service(line, name, type="LoadBalancer", loadBalancerClass="sluice.io/load-balancer",
                   ports=[{"name": "dgram", "port": port, "targetPort": 8080, "protocol": "UDP"}])


def test_sessions_are_bounded(echoes, pods):
    """Who makes up clients has what is for that port, and what a worker that is killed had is free again."""
    with ProxyLine("nginx", provider=["--workers", "1"]) as line:
        flooded, other = ports(line, 2)
        silent, well, web = echoes("silent", answers=0), echoes("well"), pods("web")
        line.cluster.apply(front(line, "silent", flooded), slice_of(line, "silent", [silent.ip]),
                           front(line, "well", other), slice_of(line, "well", [well.ip]),
                           line.cluster.service("web"), line.cluster.slice("web", [web.ip]),
                           line.cluster.ingress("web", [{"host": "a.test", "paths": [("/", "Prefix", "web", 80)]}]))
        line.wait_serves("a.test", "/", "web")
        leads(line, other, "well")
        wait_for(lambda: reached(line.proxy.address, flooded) or silent.clients, f"UDP port {flooded} to be served", PATIENCE)
        [most] = {int(number) for number in re.findall(r"limit_conn sluice_udp (\d+);", (line.proxy.state_dir / "nginx.conf").read_text())}

        def sessions() -> int:
            return len(set(silent.clients))
        while (had := sessions()) < most:
            for _ in range(min(50, most - had)):
                with DatagramClient(line.proxy.address, flooded) as client:
                    client.send(b"x")
            wait_for(lambda had=had: sessions() > had, "sessions to begin", PATIENCE)
        for _ in range(50):
            assert reached(line.proxy.address, flooded, 0.01) == ""
        assert reached(line.proxy.address, other, 5) == "well" and line.proxy.reached("a.test", "/") == "web"
        assert sessions() == most
        silent.answers = 1
        os.kill(line.proxy.workers()[0], signal.SIGKILL)
        leads(line, flooded, "silent")


@pytest.mark.parametrize("victim", ["master", "worker"])
def test_a_process_of_nginx_is_killed(echoes, victim):
    with nginx_line() as line:
        [port] = ports(line, 1)
        line.cluster.apply(service(line, "one"), slice_of(line, "one", [echoes("one").ip]), config_map({str(port): "default/one:53"}))
        leads(line, port, "one")
        os.kill(line.proxy.masters()[0] if victim == "master" else line.proxy.workers()[0], signal.SIGKILL)
        leads(line, port, "one")


def answered(client: DatagramClient, datagram: bytes) -> bool:
    """Within a second of silence; answers to earlier ones may still come."""
    client.send(datagram)
    return any(answer == b"one " + datagram for answer in iter(lambda: client.receive(1), b""))


def test_who_asks_again_is_answered_through_reloads(echoes):
    """An answer that an old worker waits for is lost with its session; what is sent again begins another one."""
    with nginx_line() as line:
        [port, *more] = ports(line, 6)
        line.cluster.apply(service(line, "one"), slice_of(line, "one", [echoes("one").ip]))
        wanted = {str(port): "default/one:53"}
        line.cluster.apply(config_map(wanted))
        leads(line, port, "one")
        with DatagramClient(line.proxy.address, port) as client:
            for other in more:
                workers = line.proxy.workers()
                wanted[str(other)] = "default/one:53"
                line.cluster.apply(config_map(wanted))
                asked = 0
                while not line.proxy.was_reloaded_since(workers) or reached(line.proxy.address, other) != "one":
                    asked += 1
                    datagram = b"%d %d" % (other, asked)
                    assert answered(client, datagram) or answered(client, datagram), datagram


def test_a_port_that_is_taken(echoes):
    """Somebody else's socket is left alone, even one that would let others in, and the port is had as soon as it is free."""
    with nginx_line() as line, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind((line.proxy.address, 0))
        port = squatter.getsockname()[1]
        line.cluster.apply(service(line, "one"), slice_of(line, "one", [echoes("one").ip]))
        line.cluster.apply(config_map({str(port): "default/one:53"}))
        line.cluster.wait_event("udp", "PortUnavailable", f"UDP port {port} of ", PATIENCE)
        assert reached(line.proxy.address, port) == ""
        squatter.close()
        leads(line, port, "one")


def test_haproxy_says_that_it_cannot(echoes):
    with ProxyLine("haproxy", watcher=["--udp-services-configmap", MAP]) as line:
        [port] = ports(line, 1)
        line.cluster.apply(service(line, "one"), slice_of(line, "one", [echoes("one").ip]), config_map({str(port): "default/one:53"}))
        line.cluster.wait_event("udp", "PortNotServed", f"UDP port {port} is not served: this kind of load balancer cannot serve UDP", PATIENCE)
        assert reached(line.proxy.address, port) == ""
