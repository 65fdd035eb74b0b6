# SPDX-License-Identifier: Apache-2.0
"""Connections from HAProxy to endpoints that nobody uses just now: kept for the next request, but not at any price."""
from __future__ import annotations

import contextlib
import pathlib
import resource
import shutil
from typing import Iterable

import pytest

from lib.backend import Backend
from lib.haproxy import HAProxy
from lib.local_proxy import host, pool
from lib.raw_http import dial, read_answer
from lib.wait import wait_for

KEPT_MS = "30000"  # HAProxy looks so often, and closes a connection that it has found idle twice
DESCRIPTORS = 400
HOSTS = 250  # with an idle connection for each there would not be enough


def servers(proxy: HAProxy) -> list[dict[str, str]]:
    """What HAProxy tells of the connections of all servers."""
    head, *rows = [line.split() for line in proxy.cli("show servers conn").splitlines() if line]
    names = [name.split("[")[0] for name in head[1:]]
    return [dict(zip(names, row)) for row in rows if row[0].startswith("s0")]


def idle_count(proxy: HAProxy) -> int:
    return sum(int(server["idle_cur"]) for server in servers(proxy))


class Client:
    """One connection to the proxy."""

    def __init__(self, proxy: HAProxy):
        self._link = dial(proxy.address, proxy.http)

    def status(self, name: str) -> int:
        self._link.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        return read_answer(self._link).status

    def close(self) -> None:
        self._link.close()


@contextlib.contextmanager
def client_of(proxy: HAProxy) -> Iterable[Client]:
    with contextlib.closing(Client(proxy)) as client:
        yield client


def ask(proxy: HAProxy, client: Client, name: str, times: int = 1) -> None:
    """So often; each time, the connections of the time before are idle."""
    for _ in range(times):
        assert client.status(name) == 200
        wait_for(lambda: all(server["used_cur"] == "0" for server in servers(proxy)), "no connection to be in use")


@pytest.mark.quick
def test_an_idle_connection_is_used_again_and_closed_with_its_endpoint():
    with HAProxy() as proxy, Backend("one") as one, Backend("two") as two:
        proxy.apply(proxy.balancer(), pool("p", one, two), host("a.test", ("/", "p")))

        with client_of(proxy) as client:
            ask(proxy, client, "a.test", 6)
        assert (one.accepted, two.accepted) == (1, 1)
        assert (one.count, two.count) == (3, 3)
        assert idle_count(proxy) == 2
        assert {server["purge_delay"] for server in servers(proxy)} == {KEPT_MS}
        proxy.apply(pool("p", one))
        wait_for(lambda: not two._connections, "the connection to the endpoint that has left to be closed")
        assert idle_count(proxy) == 1
        assert len(one._connections) == 1

        # What HAProxy reads from its files is kept as long as what it was told.
        proxy.apply(pool("p", one, two))
        workers = proxy.workers()
        proxy.kill_proxy()
        wait_for(lambda: proxy.workers() and proxy.was_reloaded_since(workers), "another HAProxy")
        proxy.wait_applied()
        proxy.wait_answers("a.test")
        wait_for(lambda: len(servers(proxy)) == 2, "both servers")
        assert {server["purge_delay"] for server in servers(proxy)} == {KEPT_MS}


def test_connections_to_endpoints_that_came_later_are_kept():
    """As those to endpoints that HAProxy has read from its files; 2.6 has other defaults for these."""
    with HAProxy() as proxy, Backend("one") as one, Backend("two") as two:
        proxy.apply(proxy.balancer())
        workers = proxy.workers()
        proxy.apply(pool("p", one), host("a.test", ("/", "p")), pool("q", two), host("b.test", ("/", "q")))
        assert not proxy.was_reloaded_since(workers)
        with client_of(proxy) as client:
            for _ in range(3):
                ask(proxy, client, "a.test")
                ask(proxy, client, "b.test")
        assert (one.count, two.count) == (3, 3)
        assert (one.accepted, two.accepted) == (1, 1)
        assert {server["idle_lim"] for server in servers(proxy)} == {"-1"}


def limited(proxy: HAProxy) -> pathlib.Path:
    """HAProxy with few descriptors."""
    program = proxy.folder / "haproxy"
    program.write_text(f"#!/bin/sh\nulimit -n {DESCRIPTORS}\nexec {shutil.which('haproxy')} \"$@\"\n")
    program.chmod(0o755)
    return program


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[1] < DESCRIPTORS, reason="this machine allows fewer open files than the test would use up")
def test_idle_connections_leave_half_of_the_descriptors():
    names = [f"h{number}.test" for number in range(HOSTS)]
    with HAProxy(start=False) as proxy, Backend("pod") as pod:
        proxy.provider.arguments += ["--haproxy", str(limited(proxy))]
        proxy.start()
        proxy.send(proxy.balancer())
        for name in names:
            proxy.send(pool(name, pod), host(name, ("/", name)))
        proxy.commit()
        proxy.wait_applied()
        info = dict(line.split(": ", 1) for line in proxy.cli("show info").splitlines() if ": " in line)
        descriptors = int(info["Maxsock"])
        assert descriptors <= DESCRIPTORS
        with client_of(proxy) as client:
            for _ in range(2):
                for name in names:
                    assert client.status(name) == 200
                    assert len(list(pathlib.Path(f"/proc/{proxy.workers()[-1]}/fd").iterdir())) <= descriptors // 2 + 10
            assert idle_count(proxy) > descriptors // 4, "more than HAProxy keeps by itself"
