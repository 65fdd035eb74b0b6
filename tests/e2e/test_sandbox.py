# SPDX-License-Identifier: Apache-2.0
"""Each program has really given up what tests/unit/confine shows that it then cannot do."""
from __future__ import annotations

import os
import pathlib
import re

from lib.daemon import Daemon
from lib.haproxy import HAProxy
from lib.line import Line, build_folder, is_sanitized
from lib.nginx import Nginx


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
    with Line() as line, HAProxy() as haproxy, Nginx() as nginx:
        for daemon in [*line.daemons(), haproxy.provider, nginx.provider]:
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


def test_it_can_be_left_out(tmp_path):
    daemon = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(tmp_path), "--sandbox", "off"],
                    tmp_path / "log").start()
    try:
        assert not is_confined(daemon)
        assert "calls=off" in daemon.wait_event("sandbox")
    finally:
        assert daemon.stop() == 0
