# SPDX-License-Identifier: Apache-2.0
"""Descriptors, memory or disk run out: a clear error, an end with failure, and what a supervisor starts again rebuilds its state. Traffic goes on."""
from __future__ import annotations

import resource
import subprocess

import pytest

from lib.line import DAEMONS, build_folder
from lib.provider_link import Translator
from lib.traffic import Traffic
from lib.wait import wait_for
from lib.web import HOST, change

# Enough for what is open already, which no limit takes away, and for nothing else.
FEW = 3


def ended(daemon) -> int:
    """Waits until it has ended by itself; its exit code."""
    wait_for(lambda: not daemon.is_running(), f"{daemon.program.name} to end")
    return daemon.reap()


def new_connections(line, victim):
    """Makes a daemon need a descriptor."""
    if victim == "watcher":
        line.kube.network("gone", drop="rst")
    elif victim == "translator":
        line.watcher.restart()
    else:
        line.rancher.control("websocket", cut=True)


@pytest.mark.parametrize("victim", DAEMONS)
def test_no_descriptors_are_left(line, served, victim):
    daemon = line.daemon(victim)
    since = len(daemon.lines)
    balancer = line.balancer("web", served.namespace)["id"]
    with Traffic(*line.entries("web", served.namespace)[0], HOST, "/foo", pause=0.02) as traffic:
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (FEW, FEW))
        new_connections(line, victim)
        assert ended(daemon) == 1
        if victim == "watcher":
            line.kube.network("up")
        assert any("event=out-of-descriptors" in text for text in daemon.lines[since:])
        daemon.start()
        change(line, served)
    assert traffic.failures == []
    assert line.balancer("web", served.namespace)["id"] == balancer
    assert len(served.wait_addresses("web")) == 1


@pytest.mark.parametrize("victim", DAEMONS)
def test_no_memory_is_left(line, served, victim):
    daemon = line.daemon(victim)
    if daemon.is_sanitized():
        pytest.skip("AddressSanitizer needs its address space")
    since = len(daemon.lines)
    balancer = line.balancer("web", served.namespace)["id"]
    with Traffic(*line.entries("web", served.namespace)[0], HOST, "/foo", pause=0.02) as traffic:
        resource.prlimit(daemon.pid, resource.RLIMIT_AS, (4096, 4096))
        # More than fits into memory that is already allocated.
        names = [f"many{number}" for number in range(40)]
        path = "/" + "x" * 900
        served.apply(*[served.ingress(name, [{"host": f"{name}.example.com", "paths": [(f"{path}{n}", "Prefix", "web", 80) for n in range(40)]}],
                                      {"sluice.io/group": "many"}) for name in names])
        assert ended(daemon) == 1
        assert any("event=out-of-memory" in text for text in daemon.lines[since:]), daemon.lines[since:]
        daemon.start()
        change(line, served)
    assert traffic.failures == []
    assert line.balancer("web", served.namespace)["id"] == balancer


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path):
    """Standard error on a full disk: lines are lost, work is not."""
    (tmp_path / "run").mkdir()
    link = Translator(tmp_path / "run")
    with open("/dev/full", "wb") as full:
        process = subprocess.Popen([str(build_folder() / "provider-rancher/sluice-provider-rancher"), "--runtime-dir", str(tmp_path / "run"),
                                    "--cattle-url", "http://127.0.0.1:9"], stdin=subprocess.DEVNULL, stderr=full,
                                   env={"CATTLE_ACCESS_KEY": "a", "CATTLE_SECRET_KEY": "b"})
        try:
            link.wait_connection(1)
            link.hang_up()
            link.wait_connection(2)
        finally:
            process.terminate()
            assert process.wait(60) == 0
            link.stop()


def test_a_disk_without_room_for_the_sockets_is_told(tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "tmpfs", str(full)], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("nothing may be mounted here")
    try:
        ended_ = subprocess.run([str(build_folder() / "translator/sluice-translator"), "--runtime-dir", str(full)], capture_output=True,
                                text=True, timeout=60, check=False)
    finally:
        subprocess.run(["umount", str(full)], check=True)
    assert ended_.returncode == 1
    assert "event=start-failed" in ended_.stderr and "No space left on device" in ended_.stderr
