# SPDX-License-Identifier: Apache-2.0
"""One running HAProxy: started in master-worker mode, changed without losing a connection, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import re
import shutil
import signal
from typing import Callable, NamedTuple

from .deployment import StartFailed

log = logging.getLogger(__name__)

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
    """The directory holds haproxy.cfg, a directory of certificates per version, two sockets and the log."""

    def __init__(self, directory: str):
        self.directory = directory
        self.config_path = os.path.join(directory, "haproxy.cfg")
        self.stats_socket = os.path.join(directory, "stats.sock")
        self.master_socket = os.path.join(directory, "master.sock")
        self.reloads = 0
        self.rejected: str | None = None    # what HAProxy said to the last text it did not accept
        self.on_exit: Callable[[], None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task | None = None
        self._version = 0
        self._stopping = False

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def certificate_directory(self) -> str:
        """The directory for the certificates of the next configuration."""
        return os.path.join(self.directory, f"certs{self._version + 1}")

    async def check(self, text: str, certificates: dict[str, str]) -> str | None:
        """Write the next version beside the current and let HAProxy judge it. Returns its complaint, if
        any."""
        directory = self.certificate_directory()
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory, mode=0o700)
        for name, pem in certificates.items():
            self._write(os.path.join(directory, name), pem)
        self._write(self.config_path + ".next", text)
        process = await asyncio.create_subprocess_exec(
            "haproxy", "-c", "-f", self.config_path + ".next", stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
        output, _ = await process.communicate()
        self.rejected = None if process.returncode == 0 else output.decode(errors="replace")[-4000:]
        return self.rejected

    async def start(self) -> None:
        """Start with what was checked last. Raises StartFailed, for example when an address is in use."""
        self._adopt_next()
        self._stopping = False
        with open(os.path.join(self.directory, "log"), "ab") as output:
            start = output.tell()
            self._process = await asyncio.create_subprocess_exec(
                "haproxy", "-W", "-S", self.master_socket + ",mode,600", "-f", self.config_path,
                stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=_die_with_parent,
                start_new_session=True)
        try:
            await asyncio.wait_for(self._until_worker_changes(Status(None, 0)), _READY_S)
        except (asyncio.TimeoutError, StartFailed):
            await self.stop(graceful=False)
            raise StartFailed(self._complaint(start)) from None
        self._watch = asyncio.get_running_loop().create_task(self._watch_exit(self._process))

    async def reload(self) -> None:
        """Go over to what was checked last. Connections in use are finished by the old worker. Raises
        StartFailed when the new one does not come up, for example because an address is in use: the old one
        goes on."""
        before = await self._status()
        self._adopt_next()
        self._signal(signal.SIGUSR2)
        await asyncio.wait_for(self._until_worker_changes(before), _READY_S)
        self.reloads += 1
        self._drop_old_certificates()

    async def stop(self, graceful: bool = True) -> None:
        """End it: after its connections (two seconds at most), or at once."""
        self._stopping = True
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

    @staticmethod
    def _write(path: str, text: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)

    def _adopt_next(self) -> None:
        if os.path.exists(self.config_path + ".next"):
            os.replace(self.config_path + ".next", self.config_path)
            self._version += 1

    def _drop_old_certificates(self) -> None:
        current = f"certs{self._version}"
        for name in os.listdir(self.directory):
            if name.startswith("certs") and name != current:
                shutil.rmtree(os.path.join(self.directory, name), ignore_errors=True)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _status(self) -> Status | None:
        """What the master tells of itself; None while it cannot be reached."""
        try:
            reader, writer = await asyncio.open_unix_connection(self.master_socket)
        except OSError:
            return None
        try:
            writer.write(b"show proc\n")
            await writer.drain()
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

    def _complaint(self, start: int) -> str:
        with open(os.path.join(self.directory, "log"), "rb") as file:
            file.seek(start)
            text = file.read().decode(errors="replace")
        alerts = [line for line in text.splitlines() if "ALERT" in line]
        return (alerts or text.splitlines() or ["haproxy did not start"])[0]

    async def _watch_exit(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        if not self._stopping and self.on_exit is not None:
            log.warning("haproxy %d ended by itself: %s", process.pid, process.returncode)
            self.on_exit()
