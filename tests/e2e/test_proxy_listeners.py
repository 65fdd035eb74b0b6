# SPDX-License-Identifier: Apache-2.0
"""What a local proxy cannot listen on is told in every way there is, costs nothing else, and comes back by itself."""
from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess

import pytest

from lib.certs import self_signed
from lib.line import build_folder, is_sanitized
from lib.local_proxy import LB, PATIENCE, certificate, host, pool
from lib.network import ip, own_network
from lib.proxies import PROXIES, proxy_class
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

OPEN = ["--sandbox", "off"]  # confined, the provider may not see whose the sockets of others are
LISTENER = """if 1:
    import socket, sys
    s = socket.create_server((sys.argv[1], int(sys.argv[2])))
    print(flush=True)
    sys.stdin.read()"""


@contextlib.contextmanager
def other_program(address: str, port: int):
    """Somebody else who listens there."""
    process = subprocess.Popen(["/usr/bin/python3", "-c", LISTENER, address, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def missing(proxy) -> str:
    """What the provider says that it lacks; "": it is ready."""
    lines = [line for line in proxy.provider.lines if "event=not-ready" in line or "event=ready" in line]
    return lines[-1] if lines and "event=not-ready" in lines[-1] else ""


@pytest.mark.parametrize("name", PROXIES)
def test_a_program_that_has_the_port(pods, name):
    one = pods("one")
    with proxy_class(name)(start=False, arguments=OPEN) as proxy, other_program(proxy.address, proxy.https) as pid:
        proxy.send(pool("one", one), host("web.test", ("/", "one")), certificate("web", self_signed("web.test"), "web.test"),
                   proxy.balancer(https=True, default_certificate="web"))
        proxy.commit()
        proxy.start()
        status = proxy.translator.wait_status(LB, "failed", timeout=PATIENCE)
        words = f"port {proxy.https} of {proxy.address} is not served: python3 (process {pid}) listens on it"
        assert status["message"] == words
        assert proxy.translator.notices(LB) == {"PortUnavailable": words}
        proxy.wait_answers("web.test")
        wait_for(lambda: words in missing(proxy), "the provider not to be ready", PATIENCE)
        line = proxy.provider.wait_event("listener-unserved")
        assert str(pid) in line and f"address={proxy.address}" in line and f"port={proxy.https}" in line
        # A provider that starts anew finds the same, and believes no file.
        lines = len(proxy.provider.lines)
        proxy.restart()
        proxy.provider.wait_event("listener-unserved", str(pid), PATIENCE, since=lines)
        os.kill(pid, signal.SIGKILL)
        proxy.wait_applied()
        wait_for(lambda: missing(proxy) == "" and not proxy.translator.notices(LB), "all to be well", PATIENCE)
        proxy.wait_answers("web.test", tls=True)
        proxy.provider.wait_event("listener-back")


@pytest.mark.skipif(is_sanitized(), reason="an instrumented provider has no sandbox, and sees it")
@pytest.mark.parametrize("name", PROXIES)
def test_a_program_that_cannot_be_seen(pods, name):
    one = pods("one")
    with proxy_class(name)(start=False, arguments=["--sandbox", "require"]) as proxy, other_program(proxy.address, proxy.https):
        proxy.send(pool("one", one), host("web.test", ("/", "one")), proxy.balancer(https=True))
        proxy.commit()
        proxy.start()
        proxy.translator.wait_status(LB, "failed", f"another program, of user {os.getuid()}, listens on it", timeout=PATIENCE)
        proxy.wait_answers("web.test")


@pytest.mark.parametrize("name", PROXIES)
def test_another_proxy_of_ours(pods, name):
    """Two providers that want one port: the second says so, and takes no part in it."""
    one, two = pods("one"), pods("two")
    with proxy_class(name)() as first, proxy_class(name)(start=False, arguments=[*OPEN, "--bind-address", first.address]) as second:
        first.apply(pool("one", one), host("web.test", ("/", "one")), first.balancer())
        second.http = first.http
        second.send(pool("two", two), host("web.test", ("/", "two")), second.balancer())
        second.commit()
        second.start()
        second.translator.wait_status(LB, "failed", f"of {first.address} is not served: {name} (process", timeout=PATIENCE)
        # Its other address is served.
        second.wait_answers("web.test")
        for _ in range(50):
            assert first.reached("web.test") == "one" and second.reached("web.test") == "two"


@pytest.mark.parametrize("name", PROXIES)
def test_an_address_that_comes_and_goes(pods, name):
    with own_network(), proxy_class(name)(start=False, arguments=["--bind-address", "192.0.2.7"]) as proxy:
        one = pods("one")

        def shown() -> list[str]:
            return [item["ip"] for item in (proxy.translator.status(LB) or {}).get("addresses", [])]

        proxy.send(pool("one", one), host("web.test", ("/", "one")), proxy.balancer())
        proxy.commit()
        proxy.start()
        for _ in range(2):
            proxy.translator.wait_status(LB, "failed", "of 192.0.2.7 is not served: it is no address of this machine", timeout=PATIENCE)
            proxy.wait_answers("web.test")
            wait_for(lambda: "192.0.2.7" in missing(proxy), "the provider not to be ready", PATIENCE)
            assert shown() == [proxy.address]
            ip("address", "add", "192.0.2.7/32", "dev", "lo")
            proxy.wait_applied()
            wait_for(lambda: shown() == [proxy.address, "192.0.2.7"] and missing(proxy) == "", "both addresses to be shown", PATIENCE)
            with socket.create_connection(("192.0.2.7", proxy.http), timeout=30):
                pass
            ip("address", "del", "192.0.2.7/32", "dev", "lo")
        proxy.wait_answers("web.test")


@pytest.mark.parametrize("name", PROXIES)
def test_the_address_to_show_follows_the_way_out(pods, name):
    """It is the one that packets to other networks have, which changes without a word from anybody."""
    with own_network(), proxy_class(name)(start=False) as proxy:
        one = pods("one")
        arguments = proxy.provider.arguments
        arguments[arguments.index("--bind-address") + 1] = "0.0.0.0"

        def leave_by(address: str) -> None:
            ip("route", "replace", "default", "dev", "lo", "src", address)

        def shown() -> list[str]:
            return [item["ip"] for item in (proxy.translator.status(LB) or {}).get("addresses", [])]

        for address in ("192.0.2.7", "192.0.2.8"):
            ip("address", "add", f"{address}/32", "dev", "lo")
        leave_by("192.0.2.7")
        proxy.send(pool("one", one), host("web.test", ("/", "one")), proxy.balancer())
        proxy.commit()
        proxy.start()
        proxy.wait_answers("web.test")
        wait_for(lambda: shown() == ["192.0.2.7"], "the address to be shown", PATIENCE)
        # By itself, and while endpoints change.
        leave_by("192.0.2.8")
        wait_for(lambda: shown() == ["192.0.2.8"], "the other address to be shown", PATIENCE)
        leave_by("192.0.2.7")
        turns = itertools.count()

        def is_shown_meanwhile() -> bool:
            proxy.translator.put(pool("one", one, (one.ip, 1 + next(turns) % 2)))
            return shown() == ["192.0.2.7"]
        wait_for(is_shown_meanwhile, "the first address to be shown again", PATIENCE)


@pytest.mark.parametrize("name", PROXIES)
def test_the_whole_line_tells_it(pods, name):
    one = pods("one")
    with ProxyLine(name, provider=OPEN) as line, other_program(line.proxy.address, line.proxy.http) as pid:
        cluster = line.cluster
        cluster.apply({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "public"},
                       "spec": {"controller": "sluice.io/ingress-controller"}})
        cluster.apply(cluster.service("one"), cluster.slice("one", [one.ip]),
                      cluster.ingress("web", [{"host": "web.test", "paths": [("/", "Prefix", "one", 80)]}], ingressClassName="public"))
        for owner in ("web", "public"):
            event = cluster.wait_event(owner, "PortUnavailable", f"python3 (process {pid}) listens on it", PATIENCE)
            assert event["type"] == "Warning"
        assert cluster.addresses("web") == []

        def told(*words: str) -> subprocess.CompletedProcess:
            program = build_folder() / "sluicectl/sluicectl"
            return subprocess.run([program, words[0], "-r", line.runtime, *words[1:]], capture_output=True, text=True, check=False, timeout=60)

        explained = told("explain", "default/web")
        assert explained.returncode == 1 and "PortUnavailable" in explained.stdout
        status = told("status")
        assert status.returncode != 0 and f"process {pid}" in status.stdout
        os.kill(pid, signal.SIGKILL)
        line.wait_serves("web.test", "/", "one")
        assert cluster.wait_addresses("web", 1, PATIENCE) == [line.proxy.address]
        wait_for(lambda: told("explain", "default/web").returncode == 0 and told("status").returncode == 0, "all to be well", PATIENCE)
