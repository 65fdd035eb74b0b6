# SPDX-License-Identifier: Apache-2.0
"""Last good state: whoever dies and whatever the disk does, routes that were there stay, and all comes right by itself."""
from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

from lib import processes
from lib.backend import Backend
from lib.certs import self_signed
from lib.daemon import Daemon
from lib.haproxy import HAProxy
from lib.line import build_folder
from lib.local_proxy import certificate, host, passthrough, pool
from lib.own_disk import can_mount, on_own_disk
from lib.traffic import Traffic
from lib.wait import stays, wait_for



def serve(proxy: HAProxy, pod: Backend) -> None:
    """One host, in plain HTTP and with a certificate of its own."""
    proxy.send(certificate("default", self_signed("default.test")), certificate("web", self_signed("web.test"), "web.test"),
               pool("web", pod), host("web.test", ("/", "web")), proxy.balancer(https=True, default_certificate="default"))
    proxy.commit()
    proxy.wait_applied()


def test_the_provider_dies_and_comes_back():
    """Traffic goes on, HAProxy is the same process, and only what differs is changed."""
    with Backend("pod") as pod, Backend("new") as new, HAProxy() as proxy:
        serve(proxy, pod)
        before, reloads = proxy.masters(), len(proxy.provider.events("reload"))
        with Traffic(proxy.address, proxy.http, "web.test") as traffic:
            proxy.kill_provider()
            proxy.send(pool("new", new), host("new.test", ("/", "new")))
            proxy.commit()
            proxy.start()
            proxy.translator.wait_connection(2)
            proxy.apply()
            assert proxy.reached("new.test") == "new"
            assert proxy.reached("web.test", tls=True) == "pod"
        assert traffic.good and not traffic.failures
        assert proxy.masters() == before
        assert len(proxy.provider.events("reload")) == reloads
        proxy.provider.wait_event("proxy-up", "how=found")


def test_what_was_removed_meanwhile_is_removed():
    with Backend("pod") as pod, HAProxy() as proxy:
        serve(proxy, pod)
        proxy.apply(host("old.test", ("/", "web")), pool("idle", pod))
        proxy.kill_provider()
        proxy.translator.remove(("virtual-host", "sluice/old.test"), ("pool", "idle"))
        proxy.start()
        proxy.translator.wait_connection(2)
        proxy.apply()
        assert proxy.reached("old.test") == 404
        assert proxy.reached("web.test") == "pod"
        wait_for(lambda: proxy.cli("show servers state").count(f" {pod.ip} ") == 1, "the removed pool's server to go", 60)


@pytest.mark.parametrize("victim", ["worker", "master", "both"])
def test_haproxy_dies_while_nobody_else_is_up(victim):
    """It is started again from its files, with the translator gone."""
    with Backend("pod") as pod, HAProxy() as proxy:
        serve(proxy, pod)
        proxy.translator.stop()
        before = proxy.proxies()
        if victim == "both":
            proxy.kill_proxy()
        else:
            # Not one that a reload has left behind: nobody would miss it.
            proxy.provider.wait_event("proxy-connected")
            worker = int(re.search(r"pid=(\d+)", proxy.provider.events("proxy-connected")[-1])[1])
            os.kill(worker if victim == "worker" else proxy.masters()[0], signal.SIGKILL)
        wait_for(lambda: not {p.pid for p in proxy.proxies()} & {p.pid for p in before}, "HAProxy to end", 60)
        proxy.wait_answers("web.test")
        assert proxy.reached("web.test", tls=True) == "pod"
        assert proxy.provider.events("proxy-down")


def test_the_pid_file_is_lost():
    """The HAProxy that runs is found by its socket: there are never two."""
    with Backend("pod") as pod, HAProxy() as proxy:
        serve(proxy, pod)
        before = proxy.masters()
        proxy.kill_provider()
        (proxy.proxy_dir / "proxy.pid").unlink()
        proxy.start()
        proxy.translator.wait_connection(2)
        proxy.apply()
        assert proxy.masters() == before
        proxy.kill_proxy()
        proxy.wait_answers("web.test")


def test_the_socket_of_haproxy_is_removed():
    """Who is connected needs no file. Who comes back and finds that HAProxy runs but cannot be spoken to starts it anew, which the files allow."""
    with Backend("pod") as pod, HAProxy() as proxy:
        serve(proxy, pod)
        with Traffic(proxy.address, proxy.http, "web.test") as traffic:
            proxy.socket().unlink()
            proxy.apply(pool("new", pod), host("new.test", ("/", "new")))
            assert proxy.reached("new.test") == "pod"
        assert traffic.good and not traffic.failures
        before = proxy.masters()
        proxy.restart()
        proxy.translator.wait_connection(2)
        assert proxy.reached("new.test") == "pod"
        proxy.apply(host("last.test", ("/", "new")))
        assert proxy.reached("last.test") == "pod" and proxy.reached("web.test", tls=True) == "pod"
        assert proxy.provider.events("proxy-deaf") and proxy.masters() != before and len(proxy.masters()) == 1


def test_changes_while_haproxy_is_dead():
    """They are in force when it is back."""
    with Backend("pod") as pod, Backend("new") as new, HAProxy() as proxy:
        serve(proxy, pod)
        for i in range(5):
            proxy.kill_proxy()
            proxy.apply(pool(f"new{i}", new), host(f"new{i}.test", ("/", f"new{i}")))
            assert proxy.reached(f"new{i}.test") == "new"
            assert proxy.reached("web.test") == "pod"


def test_a_death_is_forgotten():
    """After it no later change is first called failed because of it."""
    with Backend("pod") as pod, Backend("new") as new, HAProxy() as proxy:
        serve(proxy, pod)
        proxy.kill_proxy()
        proxy.wait_answers("web.test")
        proxy.wait_applied()
        since = len(proxy.translator.status_log)
        for name in ("old", "new"):
            proxy.apply(pool("web", pod if name == "old" else new))
        states = [(status["state"], status.get("message", "")) for status in proxy.translator.status_log[since:]]
        assert states and not [state for state in states if state[0] == "failed"], states


def test_a_check_that_is_killed():
    """As by the kernel, when memory is out: it says nothing of the configuration, is told as what it is, and tried again."""
    with Backend("pod") as pod, HAProxy(start=False) as proxy:
        program, trouble = proxy.folder / "haproxy", proxy.folder / "trouble"
        program.write_text(f"""#!/bin/sh
[ "$1" = -c ] && [ -e {trouble} ] && kill -9 $$
exec {shutil.which("haproxy")} "$@"
""")
        program.chmod(0o755)
        proxy.provider.arguments += ["--haproxy", str(program)]
        proxy.start()
        serve(proxy, pod)
        trouble.touch()
        proxy.send(proxy.balancer(https=True, default_certificate="default", listeners=[{"port": proxy.other_port(proxy.http, proxy.https), "protocol": "http"}]))
        proxy.commit()
        assert "killed by signal 9" in proxy.translator.wait_status("sluice", "failed", timeout=60)["message"]
        assert "refuses" not in proxy.translator.status("sluice")["message"]
        trouble.unlink()
        proxy.wait_applied()


def test_haproxy_starts_from_disk_alone():
    """After a restart of the machine, with no translator and before any provider: `haproxy -f` on the folder serves all routes."""
    with Backend("pod") as pod, Backend("tls", tls=self_signed("pass.test")) as tls, HAProxy() as proxy:
        serve(proxy, pod)
        proxy.apply(pool("pass", tls, protocol="tcp"), passthrough("pass.test", "pass"))
        assert proxy.reached("pass.test", tls=True) == "tls"
        proxy.kill_provider()
        proxy.translator.stop()
        proxy.kill_proxy()
        alone = Daemon(shutil.which("haproxy"), ["-W", "-f", str(proxy.state_dir / "haproxy.d")], proxy.folder / "alone.log",
                       {processes.MARK: str(proxy.folder)})
        alone.start()
        try:
            proxy.wait_answers("web.test")
            assert proxy.reached("web.test", tls=True) == "pod"
            assert proxy.reached("pass.test", tls=True) == "tls"
        finally:
            alone.kill()
            processes.kill(proxy.proxies())
        # And so does the provider, while there is still no translator.
        proxy.start()
        proxy.wait_answers("web.test")
        assert proxy.reached("pass.test", tls=True) == "tls"


def test_files_that_are_not_ours():
    """Rubbish in the state folder is no obstacle, and what the files say is corrected."""
    with Backend("pod") as pod, HAProxy() as proxy:
        serve(proxy, pod)
        proxy.kill_provider()
        proxy.kill_proxy()
        (proxy.state_dir / "haproxy.d/00-main.cfg").write_text("this is no configuration\n")
        (proxy.state_dir / "maps/hosts.map").write_bytes(b"\x00\xff torn")
        (proxy.state_dir / "certs/list.txt").write_text("/nowhere.pem\n")
        (proxy.proxy_dir / "proxy.pid").write_text("1 1\n")
        proxy.start()
        proxy.translator.wait_connection(2)
        proxy.wait_answers("web.test")
        assert proxy.reached("web.test", tls=True) == "pod"


# A disk of its own


@pytest.mark.skipif(not can_mount("haproxy"), reason="no mount namespaces here")
def test_the_disk_is_full():
    """Old routes stay, endpoints are followed, nothing new is served that a restart would lose, and all comes when there is room."""
    with Backend("pod") as pod, Backend("new") as new, on_own_disk(HAProxy) as proxy:
        serve(proxy, pod)
        proxy.disk.fill()
        many = [host(f"new{i}.test", ("/" + "x" * 3000, "web"), ("/", "web")) for i in range(20)]
        proxy.send(pool("web", new), *many, {**proxy.balancer(https=True, default_certificate="default"), "labels": [{"key": "a", "value": "b"}]})
        proxy.commit()
        status = proxy.translator.wait_status("sluice", "failed", timeout=90)
        assert "the disk is full" in status["message"]
        wait_for(lambda: proxy.reached("web.test") == "new", "the endpoint to be followed", 60)
        stays(lambda: proxy.reached("new19.test") == 404, "a route that is not stored", 0.5)
        proxy.disk.empty()
        proxy.wait_applied()
        assert proxy.reached("new19.test") == "new"
        assert proxy.provider.events("disk-again")


# Somebody else's HAProxy


def test_an_haproxy_that_somebody_else_starts():
    """With --socket it is waited for, driven, and reloaded by a signal to its master; its death is survived."""
    with Backend("pod") as pod, HAProxy(start=False) as proxy:
        socket = proxy.folder / "admin.sock"
        proxy.provider.arguments += ["--socket", str(socket)]
        proxy.start()
        proxy.send(pool("web", pod), host("web.test", ("/", "web")), proxy.balancer())
        proxy.commit()
        folder = proxy.state_dir / "haproxy.d"
        wait_for(lambda: (folder / "00-main.cfg").exists(), "the configuration", 60)
        assert proxy.provider.events("proxy-lost")
        foreign = Daemon(shutil.which("haproxy"), ["-W", "-f", str(folder)], proxy.folder / "foreign.log", {processes.MARK: str(proxy.folder)})
        foreign.start()
        try:
            proxy.wait_applied()
            assert proxy.reached("web.test") == "pod"
            extra = proxy.other_port(proxy.http)
            proxy.apply(proxy.balancer(listeners=[{"port": extra, "protocol": "http"}]))
            proxy.http = extra
            assert proxy.reached("web.test") == "pod"
            processes.kill(proxy.proxies())
            foreign.reap()
            foreign.start()
            proxy.wait_answers("web.test")
            proxy.apply(host("more.test", ("/", "web")))
            assert proxy.reached("more.test") == "pod"
        finally:
            foreign.kill()
            processes.kill(proxy.proxies())


def without_folder(*others: str | os.PathLike) -> None:
    """The sandbox of a provider (Landlock, kernel 5.13): of what is not below these folders nothing can be read. For the child before it starts the program."""
    libc = ctypes.CDLL(None, use_errno=True)
    rights = (1 << 2) | (1 << 3)  # READ_FILE, READ_DIR

    def call(number: int, *arguments: object) -> int:
        result = libc.syscall(number, *arguments)
        assert result >= 0, os.strerror(ctypes.get_errno())
        return result
    handled = ctypes.c_uint64(rights)
    ruleset = call(444, ctypes.byref(handled), 8, 0)
    for folder in ("/usr", "/lib", "/lib64", "/etc", "/proc", "/dev", "/sys", *others):
        if os.path.exists(folder):
            opened = os.open(folder, os.O_PATH)
            call(445, ruleset, 1, struct.pack("=Qi", rights, opened), 0)
            os.close(opened)
    call(446, ruleset, 0)
    os.close(ruleset)


@pytest.mark.parametrize("is_covered", [True, False])
def test_sluice_proxy_starts_before_its_state_is_there(is_covered, tmp_path):
    """It waits; but where the sandbox that it has inherited does not cover the folder, which was made anew, nothing that it starts could read it: then it ends."""
    state, own = tmp_path / "state", tmp_path / "proxy"
    own.mkdir()
    covered = [own, build_folder(), *([tmp_path] if is_covered else [])]
    log = tmp_path / "proxy.log"
    with open(log, "wb") as output:
        program = subprocess.Popen([build_folder() / "provider-supervisor/sluice-proxy", "--proxy", "haproxy", "--state-dir", state, "--proxy-dir", own,
                                    "--admin-dir", own], stderr=output, preexec_fn=lambda: without_folder(*covered))
    try:
        wait_for(lambda: "event=started" in log.read_text(), "sluice-proxy")
        state.mkdir()
        if is_covered:
            stays(lambda: program.poll() is None, "sluice-proxy", 2.5)
        else:
            assert program.wait(20) != 0
            assert "event=folder-replaced" in log.read_text()
    finally:
        program.kill()
        program.wait()
