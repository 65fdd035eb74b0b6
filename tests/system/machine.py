# SPDX-License-Identifier: Apache-2.0
"""A small machine with systemd, in a container: our packages are installed in its image, it shares this machine's loopback."""
from __future__ import annotations

import os
import signal
import subprocess
import uuid

from lib.wait import wait_for

UNITS = ("sluice-watcher.service", "sluice-translator.service", "sluice-provider-rancher.service")


class Machine:
    """Use it as a context manager. The image and podman's configuration come from scripts/test-systemd."""

    def __init__(self) -> None:
        self.name = f"sluice-systemd-{uuid.uuid4().hex[:8]}"
        self.image = os.environ["SLUICE_SYSTEMD_IMAGE"]

    def __enter__(self) -> "Machine":
        podman("run", "--detach", "--name", self.name, "--network=host", "--systemd=always", "--cap-add=SYS_ADMIN", self.image)
        wait_for(lambda: self.run("systemctl", "is-system-running", check=False).strip() == "running", "systemd to run")
        # As on a machine of its own: the service manager hands credentials over by a mount that must be seen here.
        self.run("mount", "--make-rshared", "/")
        return self

    def __exit__(self, *_: object) -> None:
        podman("rm", "--force", "--time", "2", self.name)

    def run(self, *command: str, check: bool = True, text: str | None = None) -> str:
        return podman("exec", "--interactive", self.name, *command, check=check, text=text)

    def write(self, path: str, text: str) -> None:
        """A file that root alone may read."""
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

    def is_active(self, unit: str) -> bool:
        return self.show(unit, "ActiveState") == "active"

    def inode(self, path: str) -> str:
        return self.run("stat", "--format=%d:%i", path).strip()

    def journal(self, unit: str) -> str:
        return self.run("journalctl", "--no-pager", "--output=cat", "--unit", unit, check=False)


def podman(*arguments: str, check: bool = True, text: str | None = None) -> str:
    done = subprocess.run(["podman", *arguments], input=text, capture_output=True, text=True, timeout=120, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"podman {' '.join(arguments)}: {done.stderr}{done.stdout}")
    return done.stdout
