# SPDX-License-Identifier: Apache-2.0
"""Programs under callgrind, and what they have executed since they were last asked about it."""
from __future__ import annotations

import pathlib
import re
import subprocess


class Callgrind:
    """Counts in one process; what it writes begins with the name in the folder.

    So do the pipes by which it is asked. By default valgrind creates them in its TMPDIR and vgdb looks into its own, but our programs are started
    without one. callgrind_control would ask, too, but exits with 0 when it finds nobody.
    """

    def __init__(self, folder: pathlib.Path, name: str = "callgrind"):
        self.out = folder / name
        self.pipes = f"--vgdb-prefix={self.out}-vgdb"

    def options(self, *more: str) -> list[str]:
        """Of valgrind: what stands before the program and its arguments. The program's own sandbox would take from valgrind what it needs."""
        return ["--tool=callgrind", "--quiet", self.pipes, f"--callgrind-out-file={self.out}", *more]

    def ask(self, pid: int, *words: str) -> None:
        """When this returns, it is done, also in a process that waits for something."""
        done = subprocess.run(["vgdb", self.pipes, f"--pid={pid}", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=120)
        assert done.returncode == 0 and not done.stdout, f"vgdb {words}: {done.stdout}{done.stderr}"

    def dump(self, pid: int) -> str:
        """The profile since the last dump."""
        self.ask(pid, "dump")
        [profile] = self.out.parent.glob(f"{self.out.name}.*")
        text = profile.read_text()
        profile.unlink()
        return text

    def instructions(self, pid: int) -> int:
        """Since the last dump."""
        profile = self.dump(pid)
        found = re.search(r"^(?:totals|summary): (\d+)", profile, re.M)
        assert found, profile[:1000]
        return int(found[1])
