# SPDX-License-Identifier: Apache-2.0
"""Requests as a client sends them, once or without end."""
from __future__ import annotations

import collections
import contextlib
import http.client
import socket
import threading
import time
from typing import Any, Self

from .answer import Answer, read
from .raw_http import client_context, dial, read_answer


def request(address: str, port: int, host: str, path: str = "/", tls: bool = False, sni: str | None = None,
            method: str = "GET", headers: dict[str, str] | None = None, timeout: float = 20.0, body: bytes | None = None) -> Answer:
    """One request on a connection of its own. With `tls` any certificate is taken, and handed out in DER."""
    connection = http.client.HTTPConnection(address, port, timeout=timeout)
    with contextlib.closing(connection):
        connection.connect()
        certificate = None
        if tls:
            connection.sock = client_context().wrap_socket(connection.sock, server_hostname=sni or host)
            certificate = connection.sock.getpeercert(binary_form=True)
        connection.request(method, path, body=body, headers={"Host": host, **(headers or {})})
        answer = read(connection.getresponse())
        answer.certificate = certificate
        return answer


def answers(address: str, port: int, host: str, path: str = "/", status: int = 200, **how: Any) -> bool:
    """Whether a request is answered so; False also when nobody listens."""
    try:
        return request(address, port, host, path, **how).status == status
    except (OSError, http.client.HTTPException):
        return False


def trial(*target: Any) -> str:
    """A request as request() takes it; what was wrong, with the time of day, or nothing if the answer was 200."""
    try:
        status = request(*target).status
        problem = "" if status == 200 else f"status {status}"
    except (OSError, http.client.HTTPException) as failure:
        problem = f"{type(failure).__name__}: {failure}"
    return problem and f"{time.strftime('%H:%M:%S')} {problem}"


class Clients:
    """Threads that ask for something from the beginning of a `with` block to its end; `failures` says in words what went wrong."""

    def __init__(self, count: int):
        self.failures: list[str] = []
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(count)]

    def _run(self, number: int) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(timeout=90)


class Traffic(Clients):
    """Requests in a loop until it is stopped; every answer but 200 and every failure counts."""

    def __init__(self, address: str, port: int, host: str, path: str = "/", pause: float = 0.005):
        super().__init__(1)
        self.target = (address, port, host, path)
        self.pause = pause
        self.good = 0

    def _run(self, _: int) -> None:
        while not self._end.is_set():
            if problem := trial(*self.target):
                self.failures.append(problem)
            else:
                self.good += 1
            self._end.wait(self.pause)


class Load(Clients):
    """Clients that keep their connections, each asking for one of `targets` (host, path) after another; every answer but 200 counts as
    failed, and so does every connection that ends without having been announced. With `sni` over TLS. With `repeats`, which goes
    without TLS, they do as RFC 9112 (9.3.1) has it: a request without any answer on a connection that has served before is sent once more,
    on a new one."""

    def __init__(self, address: str, port: int, targets: list[tuple[str, str]], clients: int = 2, sni: str | None = None, repeats: bool = False):
        super().__init__(clients)
        self.repeats = repeats
        self.repeated = 0
        self.where = (address, port, sni)
        self.targets = targets
        self.good = 0
        self._lock = threading.Lock()

    def _run(self, number: int) -> None:
        link = None
        turn = number
        while not self._end.is_set():
            host, path = self.targets[turn % len(self.targets)]
            turn += 1
            is_used, is_answered = link is not None, False
            try:
                link = link or dial(*self.where)
                link.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                is_answered = not self.repeats or link.recv(1, socket.MSG_PEEK) != b""
                answer = read_answer(link)
                problem = None if answer.status == 200 else f"status {answer.status}"
                if answer.headers.get("connection", "").lower() == "close":
                    link.close()
                    link = None
            except OSError as failure:
                problem = f"{type(failure).__name__}: {failure}"
                link = None
                if self.repeats and is_used and not is_answered and isinstance(failure, ConnectionError):
                    self.repeated += 1
                    turn -= 1
                    continue
            with self._lock:
                self.good += problem is None
                if problem is not None:
                    self.failures.append(f"{time.strftime('%H:%M:%S')} {host}{path} {problem}")
            self._end.wait(0.002)
        if link is not None:
            link.close()


class Flood(Clients):
    """Many requests at once on each of some connections, for one host: as many as the proxy can take when it answers by itself. Answers are
    counted by status and body."""

    def __init__(self, address: str, port: int, host: str, clients: int = 4, burst: int = 50):
        super().__init__(clients)
        self.answers: collections.Counter[tuple[int, bytes]] = collections.Counter()
        self.bursts = [0] * clients  # answered, of each
        self._where, self._host, self._burst = (address, port), host, burst
        self._lock = threading.Lock()

    def _run(self, number: int) -> None:
        requests = f"GET /x HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode() * self._burst
        try:
            with dial(*self._where) as link, link.makefile("rb") as file:
                while not self._end.is_set():
                    link.sendall(requests)
                    got = collections.Counter(self._read(file) for _ in range(self._burst))
                    with self._lock:
                        self.answers += got
                        self.bursts[number] += 1
        except (OSError, LookupError, ValueError) as problem:
            self.failures.append(repr(problem))

    def has_renewed(self, since: list[int]) -> bool:
        """All requests that were under way when `bursts` was so have been answered."""
        return all(now >= before + 2 for now, before in zip(self.bursts, since))

    @staticmethod
    def _read(file: Any) -> tuple[int, bytes]:
        status = int(file.readline().split(b" ")[1])
        head = dict(line.lower().split(b": ", 1) for line in iter(lambda: file.readline().strip(), b""))
        return status, file.read(int(head[b"content-length"]))
