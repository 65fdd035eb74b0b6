# SPDX-License-Identifier: Apache-2.0
"""The provider under test as a child process, and the translator's end of its link."""
from __future__ import annotations

import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from typing import Any, Callable

import msgpack

from lib import processes
from lib.addresses import Address, free_port
from lib.backend import Backend

from .message import Invalid, printable, read_message
from .tables import Tables
from .wishes import Object, Wishes, pack_body

FRAME_MAX = 4 * 1024 * 1024
HELLO = {"version_min": 1, "version_max": 1, "role": "translator", "name": "check-provider", "software": "check-provider 1"}
MESSAGES_MAX = 200000  # that one connection may send: no check asks for a tenth of it
LAST_WORDS_MAX = 4096  # bytes of the program's output that are looked at


class Failed(Exception):
    """A check does not hold; the text says what was seen."""


class CannotStart(Exception):
    """The program that is to be checked cannot be run at all."""


def frame(kind: str, body: Object, *more: Any) -> bytes:
    payload = msgpack.Packer().pack_array_header(2 + len(more)) + msgpack.packb(kind) + pack_body(body) + \
        b"".join(msgpack.packb(item) for item in more)
    return struct.pack(">I", len(payload)) + payload


class Connection:
    """One connection of the provider. What comes is checked against the tables: whoever waits for something fails at once with the first fault, as the
    translator would close the link, and `bench.invalid` collects them all."""

    def __init__(self, bench: "Bench", link: socket.socket):
        self.bench = bench
        self.link = link
        self.buffer = b""
        self.hello: Object | None = None
        self.first: str | None = None  # type of the first message
        self.bye: str | None = None
        self.statuses: list[Object] = []
        self.events: list[Object] = []
        self.pings = 0
        self.pongs: list[int] = []
        self.problem: str | None = None  # the first thing that it may not send
        self.message_count = 0
        self.is_closed = False
        self.answers_pings = True
        self.serial = 0
        self.seq = 1000

    # Down

    def send_bytes(self, data: bytes) -> None:
        """Also reads while the provider does not."""
        view = memoryview(data)
        self.link.setblocking(False)
        deadline = time.monotonic() + self.bench.timeout
        while view and not self.is_closed:
            if time.monotonic() > deadline:
                self.bench.require_running()
                raise Failed(f"it has not read what was sent within {self.bench.timeout:g} s")
            try:
                view = view[self.link.send(view):]
            except BlockingIOError:
                select.select([self.link], [self.link], [], 1)
                self._read(0)
            except OSError:
                self._read(0)  # what it said before it closed
                self.is_closed = True

    def send(self, kind: str, body: Object, *more: Any) -> None:
        self.send_bytes(frame(kind, body, *more))

    def say_hello(self) -> None:
        self.send("hello", HELLO)

    def upsert(self, *objects: Object) -> None:
        for item in objects:
            self.send("upsert", item)

    def commit(self) -> None:
        self.serial += 1
        self.send("commit", {"serial": self.serial})

    def snapshot(self, objects: list[Object]) -> None:
        self.send("sync-begin", {})
        self.upsert(*objects)
        self.commit()

    # Up

    def wait(self, condition: Callable[[], Any], what: str, timeout: float | None = None) -> Any:
        """The first true value of the condition. Failed when the time is over, the link is lost, or the provider has ended."""
        deadline = time.monotonic() + (timeout or self.bench.timeout)
        while not (value := condition()):
            self.require_valid()
            if self.is_closed:
                self.bench.require_running(grace=1.0)
                raise Failed(f"it closed the link instead of {what}" + (f": {printable(self.bye)}" if self.bye else ""))
            if time.monotonic() > deadline:
                raise Failed(f"waited {timeout or self.bench.timeout:g} s in vain for {what}")
            self._read(0.2)
            self.bench.require_running()
        return value

    def wait_closed(self, why: str) -> None:
        """Until the provider has closed the link."""
        deadline = time.monotonic() + self.bench.timeout
        while not self.is_closed:
            if time.monotonic() > deadline:
                raise Failed(f"it keeps the link open after {why}")
            self._read(0.2)
            self.bench.require_running()

    def require_valid(self) -> None:
        if self.problem:
            raise Failed(f"what it sent is invalid: {self.problem}")

    def roundtrip(self) -> None:
        """What was sent before has been read, and what it led to at once has been heard."""
        self.seq += 1
        self.send("ping", {"seq": self.seq})
        self.wait(lambda: self.seq in self.pongs, "a pong")

    def linger(self, seconds: float) -> None:
        """Listens for so long, whatever comes."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not self.is_closed:
            self._read(min(left, 0.2))

    def wait_state(self, lb: Object, state: str = "applied") -> Object:
        """The first status of that very revision and state that has come on this connection."""
        def found() -> Object | None:
            return next((s for s in self.statuses if s.get("id") == lb["id"] and s.get("rev") == lb["rev"] and s.get("state") == state), None)
        try:
            return self.wait(found, f"lb-status {state} of {lb['id']}")
        except Failed as failed:
            last = printable(repr(self.statuses[-1])) if self.statuses else None
            raise Failed(f"{failed}; the last status: {last}") from None

    def _read(self, timeout: float) -> None:
        if self.is_closed or not select.select([self.link], [], [], timeout)[0]:
            return
        try:
            data = self.link.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.is_closed = True
        self.buffer += data
        at = 0
        while len(self.buffer) - at >= 4:
            length = struct.unpack_from(">I", self.buffer, at)[0]
            if not 0 < length <= FRAME_MAX:
                self._refuse(f"a frame of {length} bytes")
                self.is_closed = True
                return
            if len(self.buffer) - at < 4 + length:
                break
            self._take_payload(self.buffer[at + 4:at + 4 + length])
            at += 4 + length
        self.buffer = self.buffer[at:]

    def _refuse(self, problem: str) -> None:
        problem = printable(problem)
        self.problem = self.problem or problem
        if len(self.bench.invalid) < MESSAGES_MAX:
            self.bench.invalid.append(problem)

    def _take_payload(self, payload: bytes) -> None:
        self.message_count += 1
        if self.message_count > MESSAGES_MAX:
            raise Failed(f"it has sent more than {MESSAGES_MAX} messages on one connection")
        try:
            kind, body = read_message(payload, self.bench.tables)
        except Invalid as invalid:
            self._refuse(str(invalid))
            return
        self.first = self.first or kind
        self._take(kind, body)

    def _take(self, kind: str, body: Object) -> None:
        if kind == "hello":
            self.hello = self.hello or body
        elif kind == "ping":
            self.pings += 1
            if self.answers_pings:
                self.send("pong", body)
        elif kind == "pong":
            self.pongs.append(body["seq"])
        elif kind == "bye":
            self.bye = body["reason"]
        elif kind == "lb-status":
            if self.serial == 0:
                self._refuse("lb-status before the first commit")
            self.statuses.append(body)
        elif kind == "lb-event":
            self.events.append(body)

    def close(self) -> None:
        self.is_closed = True
        self.link.close()


def how_ended(process: subprocess.Popen | None) -> str:
    """Of one that has ended."""
    if process is None:
        return "before it began"
    if process.returncode >= 0:
        return f"with {process.returncode}"
    return f"by signal {-process.returncode} ({signal.strsignal(-process.returncode)})"


class Bench:
    """A folder, a socket and the program. `command` may hold {runtime}, {folder} and {address}."""

    def __init__(self, command: list[str], timeout: float, uid: str, quiet: bool = True):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-check-"))
        self.folder.chmod(0o711)  # for children that serve as another user
        self.runtime = self.folder / "run"
        self.runtime.mkdir()
        self.path = self.runtime / "provider.sock"
        self.timeout = timeout
        self.uid = uid
        self.tables = Tables()
        self.invalid: list[str] = []
        self._address = Address("127.83")
        self.ports = [free_port(self._address.ip), free_port(self._address.ip)]
        words = {"{runtime}": str(self.runtime), "{folder}": str(self.folder), "{address}": self._address.ip}
        self.command = [self._fill(word, words) for word in command]
        self.filter_command = list(self.command)
        self.filter_folders = 0
        if not any("{runtime}" in word for word in command):
            self.command += ["--runtime-dir", str(self.runtime)]
        self.log = None if not quiet else open(self.folder / "provider.log", "ab")  # pylint: disable=consider-using-with
        self.process: subprocess.Popen | None = None
        self.listener: socket.socket | None = None
        self.connection: Connection | None = None
        self.grouping = "per-ingress"
        self.backends: dict[str, Backend] = {}  # by name

    @staticmethod
    def _fill(word: str, words: dict[str, str]) -> str:
        for name, value in words.items():
            word = word.replace(name, value)
        return word

    def wishes(self) -> Wishes:
        return Wishes(self.grouping, self.ports[0], self.ports[1], self.uid)

    def backend(self, name: str) -> Backend:
        """One that runs, on an address of its own."""
        if name not in self.backends:
            self.backends[name] = Backend(name)
        return self.backends[name]

    # The socket

    def listen(self) -> None:
        self.unlisten()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.path))
        self.listener.listen(8)

    def unlisten(self) -> None:
        if self.listener is not None:
            self.listener.close()
            self.listener = None
        self.path.unlink(missing_ok=True)

    def accept(self) -> Connection:
        """The provider's next connection; nothing was said on it yet."""
        deadline = time.monotonic() + self.timeout
        while not select.select([self.listener], [], [], 0.2)[0]:
            self.require_running()
            if time.monotonic() > deadline:
                raise Failed(f"waited {self.timeout:g} s in vain for its connection")
        self.connection = Connection(self, self.listener.accept()[0])
        return self.connection

    def greet(self, version: int = 1) -> Connection:
        """A connection on which both hellos are through; `version`: the greatest that we speak."""
        connection = self.accept()
        connection.send("hello", {**HELLO, "version_max": version})
        connection.wait(lambda: connection.hello, "its hello")
        self.grouping = (connection.hello.get("capabilities") or {}).get("grouping", self.grouping)
        return connection

    def fresh(self, version: int = 1) -> Connection:
        """A new connection with both hellos, to a provider that runs, whatever was before."""
        if self.connection is not None:
            self.connection.close()
        if self.process is None or self.process.poll() is not None:
            self.kill()
            self.start()
        self.listen()
        return self.greet(version)

    # The program

    def start(self) -> None:
        environment = {"SLUICE_ADMIN_ADDRESS": "off", **os.environ, "SLUICE_RUNTIME_DIR": str(self.runtime), processes.MARK: str(self.folder)}
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=environment)
        except (OSError, ValueError) as problem:
            raise CannotStart(str(problem)) from None

    def run_filter(self, arguments: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
        """The program as a filter: it connects to nobody, and ends."""
        environment = {"SLUICE_ADMIN_ADDRESS": "off", **os.environ, "SLUICE_RUNTIME_DIR": str(self.runtime), processes.MARK: str(self.folder)}
        try:
            return subprocess.run([*self.filter_command, *arguments], input=given, capture_output=True, timeout=self.timeout, check=False, env=environment)
        except subprocess.TimeoutExpired:
            raise Failed(f"with {arguments[0]} it has not ended within {self.timeout:g} s") from None
        except (OSError, ValueError) as problem:
            raise CannotStart(str(problem)) from None

    def filter_folder(self) -> pathlib.Path:
        """The name of one that is not there yet."""
        self.filter_folders += 1
        return self.folder / f"rendered-{self.filter_folders}"

    def is_filter(self) -> bool:
        """Whether it honours --hello: it ends well, and has written something that begins like a frame."""
        try:
            done = self.run_filter(["--hello"], b"")
        except Failed:
            return False
        return done.returncode == 0 and done.stdout[:1] == b"\0"

    def require_running(self, grace: float = 0.0) -> None:
        """Failed when the program has ended, or does within `grace` seconds."""
        deadline = time.monotonic() + grace
        while self.process is not None and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.process is None or self.process.poll() is not None:
            raise Failed(f"the program has ended {how_ended(self.process)}{self.last_words()}")

    def last_words(self) -> str:
        if self.log is None:
            return ""
        with open(self.folder / "provider.log", "rb") as file:
            file.seek(-min(LAST_WORDS_MAX, file.seek(0, os.SEEK_END)), os.SEEK_END)
            lines = file.read().decode(errors="replace").splitlines()[-3:]
        return ": " + printable(" | ".join(lines)) if lines else ""

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """Ends the program and whatever it has left behind."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                pass
        self.kill()
        for name in ("sluice-proxy", "haproxy", "nginx"):
            processes.end(self.folder, name)
        self.unlisten()
        for backend in self.backends.values():
            backend.stop()
        self._address.release()
        if self.log is not None:
            self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
