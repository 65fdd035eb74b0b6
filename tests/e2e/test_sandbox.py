# SPDX-License-Identifier: Apache-2.0
"""Each program has really given up what tests/unit/confine shows that it then cannot do."""
from __future__ import annotations

import fcntl
import os
import pathlib
import re
import subprocess
import sys
import termios
from typing import IO

import pytest

from lib.daemon import Daemon
from lib.elb_bench import ElbBench
from lib.haproxy import HAProxy
from lib.line import Line, build_folder, is_sanitized
from lib.local_proxy import PATIENCE
from lib.nginx import Nginx
from lib.wait import wait_for


def filters(pid: int | str) -> int:
    """How many filters of system calls are upon a process; some may be there from outside, in a container."""
    return int(re.search(r"^Seccomp_filters:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def is_confined(daemon: Daemon) -> bool:
    """As the kernel has it, and as the log says it."""
    told = daemon.wait_event("sandbox")
    confined = filters(daemon.pid) > filters("self")
    assert confined == ("calls=confined" in told), told
    return confined


def test_every_program_is_confined_once_it_runs():
    with Line() as line, ElbBench() as elb, HAProxy() as haproxy, Nginx() as nginx:
        for daemon in [*line.daemons(), elb.provider, haproxy.provider, nginx.provider]:
            daemon.wait_event("started")
            # A sanitizer wants what the sandbox takes; its builds say that they do without.
            assert is_confined(daemon) != is_sanitized(), daemon.program.name
        if is_sanitized():
            assert "off: instrumented" in line.translator.wait_event("sandbox")


def network_sockets(pid: int) -> set[str]:
    """Those of TCP, UDP and raw IP that a process has, as rows of the kernel's tables."""
    own = {link[8:-1] for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir() if (link := os.readlink(entry)).startswith("socket:[")}
    return {f"{table} {row.split()[1]}" for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6") if (path := pathlib.Path("/proc/net", table)).exists()
            for row in path.read_text(encoding="utf-8").splitlines()[1:] if row.split()[9] in own}


def test_the_translator_has_no_socket_of_the_network():
    """While the line works, and everybody else has some."""
    with Line() as line:
        line.cluster.apply(line.cluster.service("web"), line.cluster.ingress("first", [{"host": "a.test", "paths": [("/", "Prefix", "web", 80)]}]))
        line.wait_balancer("first")
        assert network_sockets(line.watcher.pid) and network_sockets(line.provider.pid)
        assert not network_sockets(line.translator.pid)


def unread(pipe: IO[bytes]) -> int:
    """How many bytes nobody has taken out of it yet."""
    count = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


@pytest.mark.parametrize("name, arguments", [
    ("watcher", ["--manifests", "-", "--places", "places"]),
    ("translator", ["--once", "--hello", "hello"]),
    ("provider-haproxy", ["--render", "out/of/this"]),
    ("provider-nginx", ["--render", "out", "--reports", "reports"]),
    ("provider-rancher", ["--render", "-"]),
    ("provider-elb", ["--render", "-"]),
])
def test_filters_are_confined_before_they_read(name, arguments, tmp_path):
    build = build_folder()
    hello = subprocess.run([build / "provider-haproxy/sluice-provider-haproxy", "--hello"], capture_output=True, timeout=60, check=True)
    (tmp_path / "hello").write_bytes(hello.stdout)
    for mode in ("auto", "off"):
        with subprocess.Popen([build / name / f"sluice-{name}", *arguments, "--sandbox", mode], cwd=tmp_path, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            os.write(process.stdin.fileno(), b"\0")
            wait_for(lambda pipe=process.stdin: unread(pipe) == 0, f"{name} to read", PATIENCE)
            assert (filters(process.pid) > filters("self")) == (mode == "auto" and not is_sanitized()), mode
            _, told = process.communicate(timeout=60)
            assert process.returncode == 1 and b"sluice-" in told, told
        assert not (tmp_path / "out").exists(), "a folder in which nothing is written does not stay"


def test_it_can_be_left_out(tmp_path):
    daemon = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(tmp_path), "--sandbox", "off"],
                    tmp_path / "log").start()
    try:
        assert not is_confined(daemon)
        assert "calls=off" in daemon.wait_event("sandbox")
    finally:
        assert daemon.stop() == 0
