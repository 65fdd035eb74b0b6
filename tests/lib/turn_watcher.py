# SPDX-License-Identifier: Apache-2.0
"""A client that asks while a test changes policies."""
from __future__ import annotations

import contextlib
import http.client
import threading

from .local_proxy import LocalProxy


class TurnWatcher:
    """Asks again and again on a connection that it keeps: each answer has to come from the backend, with the header by which turns are told apart."""

    def __init__(self, proxy: LocalProxy, header: str):
        self._proxy, self._header = proxy, header
        self.seen: set[str] = set()
        self.problems: list[str] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        connection = http.client.HTTPConnection(self._proxy.address, self._proxy.http, timeout=60)
        with contextlib.closing(connection):
            while not self._end.is_set() and not self.problems:
                try:
                    connection.request("GET", "/", headers={"Host": "a.test"})
                    answer = connection.getresponse()
                    answer.read()
                except (OSError, http.client.HTTPException) as problem:
                    self.problems.append(repr(problem))
                    return
                if answer.status != 200 or answer.headers[self._header] is None:
                    self.problems.append(f"{answer.status} {answer.headers}")
                else:
                    self.seen.add(answer.headers[self._header])

    def __enter__(self) -> "TurnWatcher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(90)
