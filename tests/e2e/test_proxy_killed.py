# SPDX-License-Identifier: Apache-2.0
"""Each process of a proxy is killed alone: the newest state is served soon, and nothing that is left over answers."""
from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from typing import Callable, Iterator

import pytest

from lib.backend import Backend
from lib.handed_over import handed_over, listening
from lib.line import build_folder
from lib.local_proxy import LocalProxy, host, pool, remove_folder
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

# What the design promises, and what a machine with other things to do may add.
SOON_S = 2.0
SLOW_S = 28.0
ASKED = 40


def kill(pids: list[int]) -> None:
    """One may have ended since it was listed: a master that is started while orphans of the last one hold the port ends by itself."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


VICTIMS: dict[str, Callable[[LocalProxy], list[int]]] = {
    "master": lambda proxy: proxy.masters()[:1],
    "worker": lambda proxy: proxy.workers()[:1],
    "workers": lambda proxy: proxy.workers(),
    "supervisor": lambda proxy: [one.pid for one in proxy.supervisors()],
    "supervisor-and-master": lambda proxy: [*(one.pid for one in proxy.supervisors()), *proxy.masters()],
}


@pytest.fixture(params=PROXIES)
def proxy(request) -> Iterator[LocalProxy]:
    with Backend("old") as old, Backend("new") as new, proxy_class(request.param)() as one:
        one.pods = {"old": old, "new": new}
        one.send(pool("web", old), host("web.test", ("/", "web")), pool("gone", old), host("gone.test", ("/", "gone")), one.balancer())
        one.commit()
        one.wait_applied()
        yield one


def change(proxy: LocalProxy) -> None:
    """The pool has another endpoint, and a host is gone."""
    proxy.send(pool("web", proxy.pods["new"]))
    proxy.remove(("virtual-host", "sluice/gone.test"), ("pool", "gone"))
    proxy.commit()


def serves_newest(proxy: LocalProxy) -> bool:
    """Every one of many new connections; an orphan on the port would get its share of them."""
    return all(proxy.reached_or_none("web.test") == "new" and proxy.reached_or_none("gone.test") == 404 for _ in range(ASKED))


@pytest.mark.parametrize("restarts", [False, True], ids=["", "provider-restarts"])
@pytest.mark.parametrize("victim", VICTIMS)
def test_the_newest_state_is_served(proxy, victim, restarts):
    begun = time.monotonic()
    kill(VICTIMS[victim](proxy))
    if restarts:
        proxy.restart()
    change(proxy)
    wait_for(lambda: serves_newest(proxy), "the newest state to be served by all that answers", SOON_S + SLOW_S)
    print(f"{proxy.name} {victim}: {time.monotonic() - begun:.2f} s")
    wait_for(lambda: len(proxy.masters()) == 1 and len(proxy.supervisors()) == 1, "one master and one supervisor", SLOW_S)
    proxy.wait_applied()


def test_an_orphan_that_hangs_is_ended(proxy):
    """Its workers are stopped when the master is killed: none of them hears that it is to go."""
    orphans = proxy.workers()
    for pid in orphans:
        os.kill(pid, signal.SIGSTOP)
    kill(proxy.masters())
    change(proxy)
    wait_for(lambda: serves_newest(proxy), "the newest state to be served by all that answers", SOON_S + SLOW_S)
    assert not {one.pid for one in proxy.proxies()} & set(orphans)


def test_the_newest_state_is_served_after_kills_in_a_row(proxy):
    for _ in range(3):
        kill(proxy.masters())
        wait_for(lambda: proxy.reached_or_none("web.test") == "old", "the proxy to be back", SLOW_S)
    change(proxy)
    wait_for(lambda: serves_newest(proxy), "the newest state to be served by all that answers", SOON_S + SLOW_S)


@pytest.mark.parametrize("restarts", [False, True], ids=["", "provider-restarts"])
def test_nobody_is_left_over_when_the_folder_is_removed(proxy, restarts):
    """Nobody can reach the proxy's sockets any more, so another one takes its place; two that serve side by side would be the worse for clients. The sandbox
    knows a folder by more than its name: where it keeps the provider from making another one, that ends with a failure, and who starts it again, as a
    service manager does, has a line that works in every respect."""
    with open(proxy.proxy_dir / "supervisor.log") as log:
        remove_folder(proxy.proxy_dir)
        if restarts:
            proxy.restart()
        wait_for(lambda: log.seek(0) == 0 and "event=stopped" in log.read(), "the supervisor to end, and not to die", SLOW_S)
        assert log.seek(0) == 0 and "event=socket-gone" in log.read()
    if not restarts:
        wait_for(lambda: proxy.is_dead() or proxy.proxy_dir.exists(), "the folder to be made again, or the end", SLOW_S)
        if proxy.is_dead():
            assert proxy.provider.reap() == 1 and proxy.provider.events("folder-lost")
            proxy.start()
    change(proxy)
    wait_for(lambda: serves_newest(proxy), "the newest state to be served by all that answers", SOON_S + SLOW_S)
    wait_for(lambda: len(proxy.masters()) == 1 and len(proxy.supervisors()) == 1, "one master and one supervisor", SLOW_S)
    proxy.wait_applied(timeout=60)
    assert serves_newest(proxy)


SOCKETS = {"haproxy": ["supervisor.sock", "traffic.sock", "checks.sock"], "nginx": ["supervisor.sock", "traffic.sock"]}


@pytest.mark.parametrize("proxy, socket", [(name, socket) for name, sockets in SOCKETS.items() for socket in sockets], indirect=["proxy"])
def test_a_supervisor_whose_socket_is_removed_makes_way(proxy, socket):
    """It says so, and the next one takes charge of the same master: no request is lost."""
    masters, (before,) = proxy.masters(), proxy.supervisors()
    with open(proxy.proxy_dir / "supervisor.log") as log:
        (proxy.proxy_dir / socket).unlink()
        wait_for(lambda: log.seek(0) == 0 and "event=stopped" in log.read(), "the supervisor to end, and not to die", SLOW_S)
        assert log.seek(0) == 0 and f"event=socket-gone socket={proxy.proxy_dir / socket}" in log.read()
    wait_for(lambda: [one.pid for one in proxy.supervisors()] not in ([], [before.pid]) and (proxy.proxy_dir / socket).exists(), "the next supervisor, with that socket", SLOW_S)
    assert "event=socket-gone" in (proxy.proxy_dir / "supervisor.log.before").read_text(), "what it wrote is kept for who asks why it has ended"
    change(proxy)
    wait_for(lambda: serves_newest(proxy), "the newest state to be served by all that answers", SOON_S + SLOW_S)
    assert proxy.masters() == masters


def test_a_supervisor_leaves_a_socket_to_the_service_manager(tmp_path):
    """It says that the file is gone and goes on with whoever is connected: a restart would get the same socket. Nor does it remove one when it ends."""
    path = tmp_path / "supervisor.sock"
    command = (build_folder() / "provider-supervisor/sluice-proxy", "--proxy", "haproxy", "--state-dir", tmp_path, "--proxy-dir", tmp_path)
    with listening(path) as listener, handed_over("supervisor.sock", [listener], *command) as process, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SLOW_S)
        client.connect(str(path))
        answers = client.makefile()
        assert answers.readline().startswith("sluice-proxy\t")
        path.unlink()
        said = next(line for line in process.stderr if "event=socket-gone" in line)
        assert f"socket={path}" in said
        client.send(b"workers\n")
        assert any(line.startswith("workers\t") for line in answers) and process.poll() is None
        path.write_text("made anew by the service manager")
        process.terminate()
        assert "event=stopped" in process.stderr.read() and process.wait(SLOW_S) == 0
    assert path.exists()
