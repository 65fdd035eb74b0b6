# SPDX-License-Identifier: Apache-2.0
"""provider-nginx: whoever dies or is taken away, routes stay, the words are clear, and it comes right by itself."""
from __future__ import annotations

import os
import pathlib
import re
import resource
import shutil
import signal
import socket

import pytest

from lib import processes
from lib.backend import Backend, TcpBackend
from lib.certs import self_signed
from lib.daemon import Daemon
from lib.local_proxy import LB, certificate, host, pool
from lib.nginx import Nginx
from lib.wait import wait_for

PATIENCE = 120.0


@pytest.fixture
def proxy():
    with Nginx() as one:
        yield one


@pytest.fixture
def pods():
    running = [Backend(name) for name in ("one", "two")]
    yield running
    for pod in running:
        pod.stop()


def fill(proxy: Nginx, pods: list[Backend]):
    pair = self_signed("a.test")
    proxy.apply(certificate("cert", pair, "a.test"), *(pool(pod.name, pod) for pod in pods), host("a.test", ("/two", "two"), ("/", "one")),
                *(host(f"h{number}.test", ("/", "two")) for number in range(20)), proxy.balancer(https=True))
    return pair


def restart(proxy: Nginx) -> None:
    """The provider dies and comes back, and has seen what is wanted."""
    def ready() -> int:
        return sum("event=ready" in line for line in proxy.provider.lines)

    before = ready()
    proxy.restart()
    wait_for(lambda: ready() > before, "the provider to be ready", PATIENCE)


def test_provider_comes_back_and_changes_only_what_differs(proxy, pods):
    fill(proxy, pods)
    workers = proxy.workers()
    before = (proxy.state_dir / "state").read_bytes()
    restart(proxy)
    assert proxy.workers() == workers
    assert (proxy.state_dir / "state").read_bytes() == before, "nothing differed, so nothing is written"
    proxy.kill_provider()
    assert proxy.answers("a.test")
    proxy.send(host("a.test", ("/", "two")))
    proxy.remove(("virtual-host", f"{LB}/h3.test"))
    proxy.start()
    wait_for(lambda: proxy.reached("a.test") == "two" and proxy.reached("h3.test") == 404, "the changes", PATIENCE)
    assert proxy.workers() == workers and proxy.answers("h4.test")


def test_nginx_is_killed(proxy, pods):
    pair = fill(proxy, pods)
    proxy.apply(host("later.test", ("/", "one")))
    proxy.kill_proxy()
    wait_for(lambda: proxy.answers("later.test") and proxy.answers("a.test", tls=True), "nginx to serve again", PATIENCE)
    assert proxy.request("a.test", tls=True).certificate == pair.der
    proxy.apply(host("afterwards.test", ("/", "one")))
    assert proxy.answers("afterwards.test")


def test_nginx_is_killed_while_nobody_else_is_there(proxy, pods):
    """The last good state comes from the disk."""
    pair = fill(proxy, pods)
    proxy.translator.stop()
    proxy.kill_provider()
    proxy.kill_proxy()
    proxy.start()
    wait_for(lambda: proxy.answers("a.test") and proxy.answers("h7.test"), "nginx to serve from disk", PATIENCE)
    assert proxy.request("a.test", tls=True).certificate == pair.der
    assert proxy.reached("a.test", "/two") == "two"
    proxy.translator.listen()
    proxy.wait_applied()


def test_a_reload_is_asked_for_before_nginx_can(proxy, pods):
    """It has been started and knows no signal yet: the reload comes when it does, and nothing is killed."""
    fill(proxy, pods)
    proxy.kill_provider()
    proxy.kill_supervisor()
    proxy.kill_proxy()
    (folder := proxy.folder / "slow").mkdir(0o755)
    program, leave = folder / "nginx", proxy.state_dir / "leave"
    program.write_text(f"""#!/bin/bash
case " $* " in
*" -t "*) ;;
*) while [ ! -e {leave} ]; do sleep 0.02; done ;;
esac
exec {shutil.which("nginx")} "$@"
""")
    program.chmod(0o755)
    proxy.provider.arguments += ["--nginx", str(program)]
    since = len(proxy.provider.lines)
    proxy.send(proxy.balancer(https=True, listeners=[{"port": proxy.other_port(proxy.http, proxy.https), "protocol": "http"}]))
    proxy.commit()
    proxy.start()

    def is_asked() -> bool:
        """SIGHUP waits for the master."""
        assert not proxy.provider.events("nginx-down"), "nginx was killed"
        pids = proxy.masters()
        status = (pathlib.Path(f"/proc/{pids[0]}/status").read_text() if pids else "")
        return any(int(mask, 16) & 1 << signal.SIGHUP - 1 for mask in re.findall(r"^(?:Sig|Shd)Pnd:\s+(\w+)$", status, re.M))
    wait_for(is_asked, "the reload to be asked for", PATIENCE)
    leave.touch()
    proxy.wait_applied()
    assert proxy.answers("a.test") and not [line for line in proxy.provider.lines[since:] if "event=nginx-down" in line]


def test_nginx_starts_from_disk_alone(proxy, pods):
    """After a restart of the machine, before any process of ours: `nginx -c` on the state folder serves all routes, and is then taken over."""
    pair = fill(proxy, pods)
    proxy.translator.stop()
    proxy.kill_provider()
    # It would notice that one of its sockets has gone, remove the others and make way.
    proxy.kill_supervisor()
    proxy.kill_proxy()
    for path in proxy.proxy_dir.rglob("*.sock"):
        path.unlink()
    alone = Daemon(shutil.which("nginx"), ["-e", "stderr", "-c", str(proxy.state_dir / "nginx.conf"), "-g", "daemon off;"], proxy.folder / "alone.log",
                   {processes.MARK: str(proxy.folder)}, leaves_children=True)
    alone.start()
    try:
        wait_for(lambda: proxy.answers("a.test") and proxy.answers("h7.test"), "nginx to serve from disk", PATIENCE)
        assert proxy.request("a.test", tls=True).certificate == pair.der
        assert proxy.reached("a.test", "/two") == "two"
    finally:
        # Not the master first: nobody would know whose its workers were.
        processes.kill(proxy.proxies())
        alone.kill()


@pytest.mark.parametrize("victim", ["master", "worker"])
def test_one_process_of_nginx_is_killed(proxy, pods, victim):
    """Without a master the workers would serve old routes for ever; without a worker its master makes another."""
    fill(proxy, pods)
    before = proxy.masters() + proxy.workers()
    os.kill(proxy.masters()[0] if victim == "master" else proxy.workers()[0], signal.SIGKILL)
    wait_for(lambda: not set(before) <= {process.pid for process in proxy.proxies()}, "its end", PATIENCE)
    proxy.apply(host("later.test", ("/", "one")))
    for _ in range(10):
        assert proxy.reached("later.test") == "one" and proxy.reached("h7.test") == "two"
    assert len(proxy.masters()) == 1


def test_state_file_is_cut_and_spoilt(proxy, pods):
    """What a crash leaves of the file is used as far as it is good; the rest comes with the snapshot."""
    fill(proxy, pods)
    proxy.kill_provider()
    proxy.kill_proxy()
    path = proxy.state_dir / "state"
    content = path.read_bytes()
    path.write_bytes(content[:len(content) // 2] + b"\0" * 100)
    proxy.start()
    wait_for(lambda: proxy.answers("a.test") and proxy.answers("h19.test"), "everything to be there again", PATIENCE)
    proxy.wait_applied()


def test_nginx_has_another_state(proxy, pods):
    """An nginx that was started from an old file gets the whole state, and forgets what is not wanted any more."""
    fill(proxy, pods)
    old = (proxy.state_dir / "state").read_bytes()
    proxy.apply(host("a.test", ("/", "two")), gone=[("virtual-host", f"{LB}/h1.test")])
    proxy.kill_provider()
    proxy.kill_proxy()
    (proxy.state_dir / "state").write_bytes(old)
    proxy.start()
    wait_for(lambda: proxy.answers("a.test") and proxy.reached("a.test") == "two" and proxy.reached("h1.test") == 404, "the new state", PATIENCE)


def test_what_changes_while_the_whole_state_is_sent_is_in_the_file(proxy, pods):
    """It was written to the file before; an nginx that is killed later starts with what was wanted in the end."""
    names = [f"h{number}.test" for number in range(8000)]
    state = proxy.state_dir / "state"
    proxy.apply(*(pool(pod.name, pod) for pod in pods), proxy.balancer())
    old = state.read_bytes()
    proxy.apply(*(host(name, ("/", "one")) for name in names))
    state.write_bytes(old)
    proxy.kill_proxy()
    wait_for(lambda: proxy.provider.events("state-sent-whole"), "nginx to be started from the old file", PATIENCE, 0.0005)
    stopped = proxy.proxies()
    processes.hold(stopped)
    try:
        proxy.send(*(host(name, ("/", "two")) for name in names), proxy.balancer(labels=[{"key": "change", "value": "seen"}]))
        proxy.commit()
        wait_for(lambda: proxy.translator.status(LB), "the provider to have the change", PATIENCE)
    finally:
        for process in stopped:
            os.kill(process.pid, signal.SIGCONT)
    proxy.apply()
    proxy.kill_proxy()
    wait_for(lambda: proxy.reached_or_none(names[0]) not in (None, 404), "nginx to be back", PATIENCE)
    assert [name for name in names[::20] if proxy.reached(name) != "two"] == []


def limit_files(proxy: Nginx, size: int) -> None:
    """No file of the provider may grow beyond the size: writing fails as on a full disk."""
    resource.prlimit(proxy.provider.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_disk_is_full(proxy, pods):
    """Changes reach nginx all the same; the words are clear; afterwards the file has everything."""
    fill(proxy, pods)
    limit_files(proxy, 1)
    proxy.send(host("full.test", ("/", "one")), {**proxy.translator.objects["load-balancer", LB], "labels": [{"key": "a", "value": "b"}]})
    proxy.commit()
    proxy.wait_answers("full.test", timeout=PATIENCE)
    assert proxy.answers("a.test")
    wait_for(lambda: any("event=state-unstored" in line for line in proxy.provider.lines), "a word about the disk", PATIENCE)
    proxy.translator.wait_status(LB, "pending", timeout=PATIENCE)
    limit_files(proxy, resource.RLIM_INFINITY)
    proxy.translator.wait_status(LB, "applied", timeout=PATIENCE)
    proxy.translator.stop()
    proxy.kill_provider()
    proxy.kill_proxy()
    proxy.start()
    proxy.wait_answers("full.test", timeout=PATIENCE)


def test_full_disk_and_a_new_listener(proxy, pods):
    """A configuration that cannot be stored is not installed; the old one serves."""
    fill(proxy, pods)
    other = proxy.other_port(proxy.http, proxy.https)
    limit_files(proxy, 1)
    proxy.send(proxy.balancer(https=True, listeners=[{"port": other, "protocol": "http"}]))
    proxy.commit()
    proxy.translator.wait_status(LB, "failed", timeout=PATIENCE)
    assert proxy.answers("a.test") and proxy.answers("a.test", tls=True)
    limit_files(proxy, resource.RLIM_INFINITY)
    proxy.translator.wait_status(LB, "applied", timeout=PATIENCE)
    with socket.create_connection((proxy.address, other), timeout=60):
        pass


def test_control_socket_is_removed(proxy, pods):
    """nginx gets another one by a reload."""
    fill(proxy, pods)
    os.unlink(proxy.proxy_dir / "control/control-a.sock")
    # An open connection needs no socket file; a new nginx answers on the file only.
    for pid in proxy.workers():
        os.kill(pid, signal.SIGKILL)
    proxy.send(host("later.test", ("/", "one")))
    proxy.commit()
    proxy.wait_answers("later.test", timeout=PATIENCE)
    proxy.wait_applied(PATIENCE)
    assert proxy.answers("a.test")
    restart(proxy)
    proxy.apply(host("last.test", ("/", "one")))
    assert proxy.answers("last.test")


def test_port_is_taken(proxy, pods):
    """Somebody else's port is left out and its owner told; once it is free it is served."""
    with socket.create_server((proxy.address, 0)) as other, TcpBackend("db") as db:
        port = other.getsockname()[1]
        proxy.apply(*(pool(pod.name, pod) for pod in pods), pool("db", db, protocol="tcp"), host("a.test", ("/", "one")),
                    proxy.balancer(listeners=[{"port": port, "protocol": "tcp", "pool": "db", "service": "default/db"}]))
        assert proxy.answers("a.test")
        notices = proxy.translator.status(LB)["notices"]
        assert [(item["service"], item["reason"]) for item in notices] == [("default/db", "PortUnavailable")]
        other.close()

        def is_served() -> bool:
            try:
                with socket.create_connection((proxy.address, port), timeout=60) as link:
                    return link.recv(10) == b"db\n"
            except OSError:
                return False

        wait_for(is_served, "the port to be served", PATIENCE)
        wait_for(lambda: not proxy.translator.status(LB).get("notices"), "the notice to go", PATIENCE)


def test_dictionary_is_full(pods):
    """The memory that nginx keeps routes in grows by a reload."""
    with Nginx(arguments=["--dictionary-mb", "1"]) as proxy:
        fill(proxy, pods)
        paths = [(f"/{number}-{'x' * 200}", "two") for number in range(4000)]
        proxy.apply(host("big.test", *paths, ("/", "one")))
        assert proxy.reached("big.test", paths[-1][0]) == "two" and proxy.reached("big.test", paths[0][0]) == "two"
        assert proxy.answers("a.test")
        restart(proxy)
        assert proxy.reached("big.test", paths[7][0]) == "two"
