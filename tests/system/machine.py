# SPDX-License-Identifier: Apache-2.0
"""A small machine with systemd, in a container whose image has our packages. It shares this machine's loopback."""
from __future__ import annotations

import os
import signal
import subprocess
import uuid
from typing import Iterable

from lib.wait import wait_for

from . import attack

ATTACKER = "/usr/local/libexec/attacker"
UNITS = ("sluice-watcher.service", "sluice-translator.service", "sluice-provider-rancher.service")


class Machine:
    """Use it as a context manager. The image and podman's configuration come from scripts/test-systemd."""

    def __init__(self) -> None:
        self.name = f"sluice-systemd-{uuid.uuid4().hex[:8]}"
        self._init = ""  # its first process, as seen from here
        self.image = os.environ["SLUICE_SYSTEMD_IMAGE"]

    def __enter__(self) -> "Machine":
        # With SYS_PTRACE podman's seccomp filter allows pidfd_getfd(2), which a real machine does not filter.
        podman("run", "--detach", "--name", self.name, "--network=host", "--systemd=always", "--cap-add=SYS_ADMIN", "--cap-add=SYS_PTRACE", self.image)
        self._init = podman("container", "inspect", "--format", "{{.State.Pid}}", self.name).strip()
        wait_for(lambda: self.run("systemctl", "is-system-running", check=False).strip() == "running", "systemd to run")
        # As on a real machine: the service manager passes credentials by mounts, which nsenter must see.
        self.run("mount", "--make-rshared", "/")
        return self

    def __exit__(self, *_: object) -> None:
        podman("rm", "--force", "--time", "2", self.name)

    def run(self, *command: str, check: bool = True, text: str | None = None) -> str:
        done = self.start(*command, text=text)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
        return done.stdout

    def start(self, *command: str, text: str | None = None) -> subprocess.CompletedProcess:
        # Not `podman exec`: it costs more processor time than everything else in these tests.
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
        return subprocess.run(["nsenter", "--target", self._init, "--all", *command], input=text or "", env=environment, capture_output=True,
                              text=True, timeout=120, check=False)

    def write(self, path: str, text: str) -> None:
        """Writes a file that only root may read."""
        self.run("sh", "-c", f"umask 077; cat > {path}", text=text)

    def systemctl(self, *arguments: str, check: bool = True) -> str:
        return self.run("systemctl", *arguments, check=check)

    def show(self, unit: str, name: str) -> str:
        return self.systemctl("show", "--value", "--property", name, unit).strip()

    def pid(self, unit: str) -> int:
        return int(self.show(unit, "MainPID"))

    def pids(self) -> dict[str, int]:
        return {unit: self.pid(unit) for unit in UNITS}

    def restarts(self, unit: str) -> int:
        return int(self.show(unit, "NRestarts"))

    def signal(self, unit: str, number: signal.Signals) -> None:
        self.systemctl("kill", "--kill-who=main", f"--signal={number.name}", unit)

    def change(self, unit: str, *lines: str) -> None:
        """Adds lines to the section [Service] of a unit, until unchange(). They hold from its next start."""
        folder = f"/run/systemd/system/{unit}.d"
        self.run("mkdir", "-p", folder)
        self.write(f"{folder}/99-test.conf", "\n".join(("[Service]", *lines, "")))
        self.systemctl("daemon-reload")

    def unchange(self, unit: str) -> None:
        self.run("rm", "-f", f"/run/systemd/system/{unit}.d/99-test.conf")
        self.systemctl("daemon-reload")

    def attack(self, unit: str, attempts: Iterable[str]) -> str:
        """What the attacker says when the unit starts it instead of its program, with the same rights and restrictions."""
        was_active = self.is_active(unit)
        self.change(unit, "Type=exec", "WatchdogSec=0", f"ExecPaths={ATTACKER}", "ExecStart=", f"ExecStart={ATTACKER} {' '.join(attempts)}")
        try:
            self.systemctl("restart", unit)
            invocation = self.show(unit, "InvocationID")
            return wait_for(lambda: self._said(invocation), f"the attacker in {unit} to be done\n{self.journal(unit)[-1000:]}")
        finally:
            self.unchange(unit)
            self.systemctl("restart" if was_active else "stop", unit)

    def _said(self, invocation: str) -> str:
        said = self.run("journalctl", "--no-pager", "--output=cat", f"_SYSTEMD_INVOCATION_ID={invocation}")
        return said if attack.is_over(said) else ""

    def is_active(self, unit: str) -> bool:
        return self.show(unit, "ActiveState") == "active"

    def inode(self, path: str) -> str:
        return self.run("stat", "--format=%d:%i", path).strip()

    def journal(self, unit: str) -> str:
        return self.run("journalctl", "--no-pager", "--output=cat", "--unit", unit, check=False)


def own_folder() -> str:
    """The working directory for podman: its container monitor writes a file `oom` there when a container has run out of memory."""
    return os.path.dirname(os.environ["CONTAINERS_CONF"])


def podman(*arguments: str, check: bool = True, text: str | None = None) -> str:
    done = subprocess.run(["podman", *arguments], input=text, capture_output=True, text=True, timeout=120, check=False, cwd=own_folder())
    if check and done.returncode != 0:
        raise AssertionError(f"podman {' '.join(arguments)}: {done.stderr}{done.stdout}")
    return done.stdout
