# SPDX-License-Identifier: Apache-2.0
"""docker/compose/compose.yaml as it is, run by podman-compose, with an .env made from .env.example."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import uuid

from .pod import ROOT, Pod

FOLDER = ROOT / "docker/compose"
# podman-compose 1.0.3 also attaches each container to a network of the project, whatever its network mode, and podman refuses that. And podman
# gives a container with a read-only root some writable folders, which Docker does not.
PODMAN = """#!/bin/bash
words=()
while [ $# -gt 0 ]; do
    case $1 in
    network) exit 0 ;;
    --net | --network-alias) shift ;;
    --read-only) words+=(--read-only --read-only-tmpfs=false) ;;
    *) words+=("$1") ;;
    esac
    shift
done
exec podman "${words[@]}"
"""


class Compose(Pod):
    """The containers of the project, used like those of the pod. `settings` are lines of .env; `kubernetes` are the files that the watcher
    finds in its folder."""

    def __init__(self, settings: dict[str, str], kubernetes: dict[str, str]) -> None:
        # pylint: disable=super-init-not-called
        self.name = f"sluice-{uuid.uuid4().hex[:8]}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-compose-"))
        self._write_credentials("watcher", kubernetes)
        settings = {"KUBERNETES_CREDENTIALS": str(self.folder / "watcher"), "SLUICE_IMAGES": "localhost/sluice",
                    "SLUICE_TAG": os.environ["SLUICE_IMAGE_TAG"], **settings}
        shutil.copy(FOLDER / "compose.yaml", self.folder)
        (self.folder / "podman").write_text(PODMAN, encoding="utf-8")
        (self.folder / "podman").chmod(0o700)
        (self.folder / ".env").write_text(filled(settings), encoding="utf-8")

    def __enter__(self) -> "Compose":
        done = self.compose("up", "--detach")
        # podman-compose exits with 0 even if a container did not start.
        if "exit code: 125" in done.stdout + done.stderr:
            self.__exit__()
            raise AssertionError(f"podman-compose up: {done.stdout}{done.stderr}")
        return self

    def down(self) -> None:
        if self.folder.exists():
            self.compose("down", "--volumes")

    def compose(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["podman-compose", "--podman-path", "./podman", "--project-name", self.name, "--file", "compose.yaml", *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=180, check=False)

    def name_of(self, container: str) -> str:
        return f"{self.name}_{container}_1"

    @property
    def volume(self) -> str:
        return f"{self.name}_sockets"


def names(text: str) -> list[str]:
    """The names that an .env file sets."""
    return re.findall(r"^([A-Z_]+)=", text, flags=re.MULTILINE)


def filled(settings: dict[str, str]) -> str:
    """The text of .env.example with these values instead of its own. Fails on names that it does not have."""
    text = (FOLDER / ".env.example").read_text(encoding="utf-8")
    unknown = settings.keys() - set(names(text))
    assert not unknown, unknown
    for name, value in settings.items():
        text = re.sub(f"^{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
    return text
