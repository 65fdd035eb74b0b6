# SPDX-License-Identifier: Apache-2.0
"""One running HAProxy: started in master-worker mode, changed without losing a connection, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hashlib
import json
import os
import re
import signal
from pathlib import Path
from typing import NamedTuple

from .deployment import StartFailed

_PR_SET_PDEATHSIG = 1
_READY_S = 10.0
_POLL_S = 0.02
_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    """In the child: a stand-in that is killed must not leave proxies behind that hold its addresses."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Status(NamedTuple):
    """The present worker's process id, and how many reloads have failed one after the other."""

    worker: str | None
    failed: int


class HaproxyProcess:
    """The directory holds haproxy.cfg, a directory for each set of certificates, two sockets and the log."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.config = directory / "haproxy.cfg"
        self.stats_socket = directory / "stats.sock"
        self.text = ""      # the configuration that it runs with
        self.refused = ""   # the last one that it did not accept
        self._next = directory / "haproxy.cfg.next"
        self._master = directory / "master.sock"
        self._process: asyncio.subprocess.Process | None = None
        directory.mkdir(mode=0o700, exist_ok=True)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def certificates(self, files: dict[str, str]) -> Path:
        folder = self.directory / ("certs-" + hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16])
        if not folder.exists():
            folder.mkdir(mode=0o700)
            for name, pem in files.items():
                (folder / name).write_text(pem)
        return folder

    async def accepts(self, text: str) -> bool:
        """Whether HAProxy takes this configuration; if so, it is the next one."""
        self._next.write_text(text)
        process = await asyncio.create_subprocess_exec(
            "haproxy", "-c", "-f", str(self._next), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
        accepted = await process.wait() == 0
        if not accepted:
            self.refused = text
        return accepted

    async def start(self) -> None:
        """Start with what was accepted last. Raises StartFailed, for example when an address is in use."""
        self._adopt_next()
        with open(self.directory / "log", "ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                "haproxy", "-W", "-S", f"{self._master},mode,600", "-f", str(self.config),
                stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=_die_with_parent,
                start_new_session=True)
        try:
            await asyncio.wait_for(self._until_worker_changes(Status(None, 0)), _READY_S)
        except (asyncio.TimeoutError, StartFailed):
            await self.stop(graceful=False)
            raise StartFailed("haproxy did not start") from None

    async def reload(self) -> None:
        """Go over to what was accepted last. Connections in use are finished by the old worker. Raises
        StartFailed when the new one does not come up, for example because an address is in use: the old one
        goes on."""
        before = await self._status()
        self._adopt_next()
        self._signal(signal.SIGUSR2)
        await asyncio.wait_for(self._until_worker_changes(before), _READY_S)

    async def stop(self, graceful: bool = True) -> None:
        """End it: after its connections (two seconds at most), or at once."""
        if not self.running or self._process is None:
            return
        if graceful:
            self._signal(signal.SIGUSR1)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), 2.0)
        if self.running:
            # The workers are in the master's process group of their own session.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    # Inside

    def _adopt_next(self) -> None:
        self.text = self._next.read_text()
        os.replace(self._next, self.config)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _status(self) -> Status | None:
        """What the master tells of itself; None while it cannot be reached."""
        try:
            reader, writer = await asyncio.open_unix_connection(self._master)
        except OSError:
            return None
        try:
            writer.write(b"show proc\n")
            writer.write_eof()
            answer = (await asyncio.wait_for(reader.read(), 2.0)).decode()
        except (OSError, asyncio.TimeoutError):
            return None
        finally:
            writer.close()
        failed = re.search(r"\[failed: (\d+)\]", answer)
        current = answer.partition("# workers")[2].partition("# old workers")[0]
        pids = re.findall(r"^(\d+)\s", current, re.MULTILINE)
        return Status(pids[0] if pids else None, int(failed.group(1)) if failed else 0)

    async def _until_worker_changes(self, before: Status | None) -> None:
        known = before or Status(None, 0)
        while True:
            if not self.running:
                raise StartFailed("haproxy ended")
            status = await self._status()
            if status is not None and status.failed > known.failed:
                raise StartFailed("haproxy could not start a worker with the new configuration")
            if status is not None and status.worker not in (None, known.worker):
                return
            await asyncio.sleep(_POLL_S)
