# SPDX-License-Identifier: Apache-2.0
"""One of our programs as a child process: start, kill, stop, pause; its log lines are collected."""
from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref
from typing import Self

from .wait import wait_for

LINES_MAX = 60  # of a log at the end of what has failed
COLUMNS_MAX = 400
SIGNS = ("ERROR: AddressSanitizer", "runtime error:", "ERROR: LeakSanitizer", "event=broken-invariant")

living: weakref.WeakSet[Daemon] = weakref.WeakSet()  # all that somebody still holds, for log_ends()


class Daemon:
    def __init__(self, program: str | pathlib.Path, arguments: list[str], log_file: pathlib.Path,
                 environment: dict[str, str] | None = None, stdin: bytes | None = None, leaves_children: bool = False):
        self.program = pathlib.Path(program)
        self.arguments = arguments
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SLUICE_ADMIN_ADDRESS": "off", **sanitizer_options(), **(environment or {})}
        self.stdin = stdin
        self.log_file = log_file
        self.leaves_children = leaves_children  # that may hold its standard error open
        self.lines: list[str] = []
        self.process: subprocess.Popen | None = None
        self.reader: threading.Thread | None = None
        self.starts = 0
        self.exit_code: int | None = None  # of the last life
        living.add(self)

    def start(self) -> "Daemon":
        assert self.process is None, f"{self.program.name} runs already"
        self.process = subprocess.Popen([str(self.program), *self.arguments], env=self.environment,
                                        stdin=subprocess.PIPE if self.stdin is not None else subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=False)
        if self.stdin is not None:
            self.process.stdin.write(self.stdin)
            self.process.stdin.close()
        self.starts += 1
        self.reader = threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True)
        self.reader.start()
        return self

    def _read(self, stream) -> None:
        with open(self.log_file, "ab") as copy:
            for line in stream:
                copy.write(line)
                copy.flush()
                self.lines.append(line.decode(errors="replace").rstrip("\n"))

    def reap(self) -> int:
        """The exit code of one that ends by itself; it may be started again."""
        code = self.process.wait(timeout=60)
        self.reader.join(timeout=0.5 if self.leaves_children else 30)
        self.process = None
        self.exit_code = code
        return code

    def kill(self) -> None:
        """SIGKILL, as the kernel does when memory is out."""
        if self.process is not None:
            self.process.kill()
            self.reap()
            self.exit_code = None

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.process is None:
            return 0
        self.process.terminate()
        return self.reap()

    def complaints(self) -> list[str]:
        """What a sanitizer or a broken invariant has said."""
        return [f"{self.program.name}: {line}" for line in self.lines if any(sign in line for sign in SIGNS)]

    def end(self) -> list[str]:
        """Stops it; returns complaints."""
        was_running = self.process is not None
        code = self.stop()
        found = self.complaints()
        if was_running and code != 0:
            found.append(f"{self.program.name} ended with {code}: " + "\n".join(self.lines[-30:]))
        return found

    def restart(self) -> None:
        self.kill()
        self.start()

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    @property
    def pid(self) -> int:
        return self.process.pid

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def is_sanitized(self) -> bool:
        """Whether the address sanitizer is in it: freed memory is kept for a while then."""
        return b"__asan_init" in self.program.read_bytes()

    def events(self, name: str) -> list[str]:
        """Log lines of that event, of all lives."""
        return [line for line in list(self.lines) if is_of_event(line, name)]

    def wait_event(self, name: str, text: str = "", timeout: float = 20.0, since: int = 0) -> str:
        """The first line of that event which contains `text`, from line number `since` on."""
        found = wait_for(lambda: [line for line in self.lines[since:] if is_of_event(line, name) and text in line],
                         f"{self.program.name} to log {name} {text}", timeout)
        return found[0]


class Room:
    """Programs of ours with what they need, in a folder; as a context manager all of it ends with the block, and a complaint is a failure."""

    def __init__(self, name: str):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"sluice-{name}-"))
        self.runtime = self.folder / "run"
        self.runtime.mkdir()

    def stop(self) -> list[str]:
        raise NotImplementedError

    def leave(self, complaints: list[str]) -> list[str]:
        """For the end of stop(): the folder goes, unless somebody will look into it."""
        if not complaints and not os.environ.get("SLUICE_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)
        return complaints

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        complaints = self.stop()
        if kind is None:
            assert not complaints, "\n".join(complaints)


def log_ends(begun: dict[int, int] | None = None) -> list[tuple[str, str]]:
    """The name of each daemon that has logged something, and its last lines; those that `begun` counts for its id() were there before."""
    ends = []
    for each in list(living):
        lines = each.lines[(begun or {}).get(id(each), 0):]
        if lines:
            left_out = [f"({len(lines) - LINES_MAX} lines before)"] if len(lines) > LINES_MAX else []
            ends.append((each.program.name, "\n".join(left_out + [line[:COLUMNS_MAX] for line in lines[-LINES_MAX:]])))
    return ends


def is_of_event(line: str, name: str) -> bool:
    """Whether a log line tells of that event, or of one whose name begins so; a state machine has a field `event` of its own behind it."""
    return line.partition(" event=")[2].startswith(name)


def sanitizer_options() -> dict[str, str]:
    """What a sanitizer finds ends the process with a code of its own, which the tests look for."""
    return {"ASAN_OPTIONS": "detect_leaks=1:exitcode=77:abort_on_error=0",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=77"}
