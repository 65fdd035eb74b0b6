# SPDX-License-Identifier: Apache-2.0
"""Each program has really given up what tests/unit/confine shows that it then cannot do."""
from __future__ import annotations

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


def test_it_can_be_left_out(tmp_path):
    daemon = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(tmp_path), "--window", "off", "--sandbox", "off"],
                    tmp_path / "log").start()
    try:
        assert not is_confined(daemon)
        assert "calls=off" in daemon.wait_event("sandbox")
    finally:
        assert daemon.stop() == 0
