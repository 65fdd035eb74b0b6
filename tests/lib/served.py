# SPDX-License-Identifier: Apache-2.0
"""`sluicectl serve` as a child process: the admin server of a program, by a port of this machine."""
from __future__ import annotations

import pathlib
import re

from .daemon import Daemon
from .line import build_folder
from .wait import wait_for

SLUICECTL = build_folder() / "sluicectl/sluicectl"


class Served(Daemon):
    """`port` is known when it is started. Also a context manager, which starts and stops it."""

    def __init__(self, runtime: pathlib.Path, program: str, log: pathlib.Path, *arguments: str):
        super().__init__(SLUICECTL, ["serve", program, "--runtime-dir", str(runtime), "--listen", "127.0.0.1:0", *arguments], log)
        self.port = 0

    def __enter__(self) -> "Served":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> "Served":
        super().start()
        self.port = int(wait_for(lambda: self.told(r"\.admin at port (\d+) "), "it to listen", 60)[0])
        return self

    def told(self, pattern: str) -> list[str]:
        return re.findall(pattern, "\n".join(self.lines))
