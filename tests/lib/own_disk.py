# SPDX-License-Identifier: Apache-2.0
"""A provider in a mount namespace of its own, such as with a state folder that is a small disk."""
from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any

from .local_proxy import LocalProxy

IS_ROOT = os.geteuid() == 0
UNSHARE = ["unshare", "-m"] if IS_ROOT else ["unshare", "-rm"]
ENTER = ["-m"] if IS_ROOT else ["-m", "-U", "--preserve-credentials"]


def can_mount(name: str) -> bool:
    """Whether the proxy of that name can have a mount namespace. In one without root nginx could not choose its workers' user."""
    if not IS_ROOT and name == "nginx":
        return False
    return subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False).returncode == 0


class MountNamespace:
    """Only the provider and its proxy are in it, and see what these shell commands have mounted."""

    def __init__(self, proxy: LocalProxy, *mounts: str):
        script = " && ".join([*mounts, "echo", "read line"])
        self._holder = subprocess.Popen([*UNSHARE, "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._holder.stdout.readline()
        self._enter = ["nsenter", "-t", str(self._holder.pid), *ENTER]
        program = proxy.folder / "in-namespace"
        program.write_text(f'#!/bin/sh\nexec {" ".join(self._enter)} -- {proxy.provider.program} "$@"\n')
        program.chmod(0o700)
        proxy.provider.program = program

    def path(self, path: str | pathlib.Path) -> pathlib.Path:
        return pathlib.Path(f"/proc/{self._holder.pid}/root{path}")

    def run(self, *command: Any) -> None:
        subprocess.run([*self._enter, *map(str, command)], check=True)

    def release(self) -> None:
        self._holder.kill()
        self._holder.wait()
        self._holder.stdin.close()
        self._holder.stdout.close()


class Disk(MountNamespace):
    """The disk of one proxy, mounted on its state folder."""

    def __init__(self, proxy: LocalProxy):
        self._state_dir = proxy.state_dir
        self._state_dir.mkdir()
        super().__init__(proxy, f"mount -t tmpfs -o size=2m,mode=711 tmpfs {self._state_dir}")

    def inside(self) -> pathlib.Path:
        return self.path(self._state_dir)

    def fill(self) -> None:
        with open(self.inside() / "filler", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                pass

    def empty(self) -> None:
        (self.inside() / "filler").unlink()

    def make_read_only(self) -> None:
        self.run("mount", "--bind", self._state_dir, self._state_dir)
        self.run("mount", "-o", "remount,bind,ro", self._state_dir)

    def make_writable(self) -> None:
        self.run("umount", "-l", self._state_dir)


def on_own_disk(cls: type[LocalProxy]) -> LocalProxy:
    """A proxy with a disk as its `disk`, started. For use as a context manager."""

    class OnOwnDisk(cls):
        def __init__(self) -> None:
            super().__init__(start=False)
            self.disk = Disk(self)
            self.start()

        def stop(self) -> list[str]:
            try:
                return super().stop()
            finally:
                self.disk.release()

    return OnOwnDisk()
