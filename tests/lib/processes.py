# SPDX-License-Identifier: Apache-2.0
"""Processes that a program of ours has started and that outlive it: found by a mark in their environment or command line."""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
from dataclasses import dataclass

from .wait import wait_for

MARK = "SLUICE_TEST_FOLDER"
WITH_US = ("setpriv", "--pdeathsig", "KILL")  # before a command: a run that is killed does not leave it behind


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    name: str  # as the kernel knows it, such as "haproxy"

    def lives(self) -> bool:
        return _state(self.pid) not in ("", "Z", "X")


def marked(folder: str | os.PathLike, name: str) -> list[Process]:
    """Processes of that name whose environment or command line names the folder, and their children of that name."""
    all_of_name = [p for p in _all() if p.name == name]
    ours = {p.pid for p in all_of_name if _names(p.pid, str(folder).encode())}
    return sorted((p for p in all_of_name if p.pid in ours or p.parent in ours), key=lambda p: p.pid)


def word_behind(pid: int, option: str) -> str | None:
    """The word behind an option in its command line."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        return words[words.index(option) + 1]
    return None


def children(pid: int) -> list[Process]:
    """Those that live, of any name."""
    return [p for p in _all() if p.parent == pid]


def descendants(pid: int) -> list[Process]:
    found = children(pid)
    return found + [one for child in found for one in descendants(child.pid)]


def kill(processes: list[Process]) -> None:
    """SIGKILL, and waits until they are gone."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not [p for p in processes if p.lives()], f"the end of {processes}", 60)


def hold(processes: list[Process]) -> None:
    """SIGSTOP: nobody of them makes another one from now on."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)
    wait_for(lambda: not [p for p in processes if _state(p.pid) not in ("", "T", "Z", "X")], f"{processes} to stand still", 60)


def end(folder: str | os.PathLike, name: str) -> None:
    """SIGKILL to all that are marked, also to those that they are just making: a master that forks while it is being killed leaves a worker behind."""
    held: list[Process] = []
    while found := [process for process in marked(folder, name) if process not in held]:
        hold(found)
        held += found
    kill(held)


def _all() -> list[Process]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := _stat(int(entry))) and stat[1] not in "ZX":
            found.append(Process(int(entry), int(stat[2]), stat[0]))
    return found


def _stat(pid: int) -> tuple[str, str, str] | None:
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
    return name, rest[0], rest[1]


def _state(pid: int) -> str:
    stat = _stat(pid)
    return stat[1] if stat else ""


def _names(pid: int, word: bytes) -> bool:
    """A worker of nginx writes its title over its environment, and has lost its master where that was killed: but its log is open."""
    for file in ("cmdline", "environ"):
        with contextlib.suppress(OSError):
            if word in pathlib.Path(f"/proc/{pid}/{file}").read_bytes():
                return True
    with contextlib.suppress(OSError):
        return word in os.readlink(f"/proc/{pid}/fd/1".encode())
    return False
