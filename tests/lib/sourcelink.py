# SPDX-License-Identifier: Apache-2.0
"""The translator's side of the source link, for tests of the watcher: it keeps the records it is told of and remembers every message.

Written from proto/PROTOCOL.md. What it is told is checked against the order that page demands.
"""
from __future__ import annotations

import pathlib
import select
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable

from .frames import key_of
from .translator_end import TranslatorEnd
from .wait import wait_for

PING_AFTER_S = 4.0
SEND_S_MAX = 60.0


@dataclass
class Connection:
    """One connection of the watcher, from hello to its end."""

    settings: dict[str, Any] | None = None
    begun: str | None = None
    ended: list[str] = field(default_factory=list)
    messages: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    said_bye: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every kind of the settings has had its sync-end."""
        return self.settings is not None and set(self.ended) >= set(self.settings["kinds"])


class SourceLink(TranslatorEnd):
    """Listens on source.sock of a folder. Records of an earlier life stay, as those of the translator do."""

    def __init__(self, runtime: pathlib.Path):
        super().__init__(runtime / "source.sock")
        self.records: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.kept: dict[tuple[str, str, str], dict[str, Any]] = {}  # objects that cannot be read now
        self.connections: list[Connection] = []
        self._serving: Connection | None = None  # None until its hello
        self._pinged_at = 0.0
        self._reading = threading.Event()
        self._reading.set()

    def stop(self) -> None:
        self._reading.set()
        super().stop()

    def pause(self) -> None:
        self._reading.clear()

    def resume(self) -> None:
        self._reading.set()

    # Sending

    def status(self, record: dict[str, Any], *addresses: str | dict[str, Any], release: bool = False) -> None:
        """Asks for a status of an object that was told of; addresses are IP addresses, host names or whole entries."""
        entries = [address if isinstance(address, dict) else address_of(address) for address in addresses]
        body = key_of(record) | ({"addresses": entries} if entries else {}) | ({"release": True} if release else {})
        self.send("status", body)

    def event(self, record: dict[str, Any], reason: str, message: str, warning: bool = False, standing: bool = False) -> None:
        body = key_of(record) | {"type": "warning" if warning else "normal", "reason": reason, "message": message}
        self.send("event", body | ({"standing": True} if standing else {}))

    # Looking

    @property
    def connection(self) -> Connection | None:
        return self.connections[-1] if self.connections else None

    def record(self, kind: str, name: str, namespace: str = "default") -> dict[str, Any] | None:
        with self._lock:
            return self.records.get((kind, namespace, name))

    def names(self, kind: str) -> set[str]:
        """namespace/name of all objects of a kind; the name alone of those without a namespace."""
        with self._lock:
            return {f"{namespace}/{name}" if namespace else name for k, namespace, name in self.records if k == kind}

    def messages(self, kind: str | None = None, since: int = 0) -> list[tuple[str, dict[str, Any]]]:
        """Messages of the latest connection from number `since` on, of one type or all."""
        with self._lock:
            found = list(self.connection.messages[since:]) if self.connection else []
        return [message for message in found if kind in (None, message[0])]

    def count(self) -> int:
        """How many messages the latest connection has brought, for `since`."""
        with self._lock:
            return len(self.connection.messages) if self.connection else 0

    def wait_whole(self, connections: int = 1, timeout: float = 20.0) -> Connection:
        """Waits until that many connections have come, and the last has brought a whole snapshot."""
        def whole() -> Connection | None:
            latest = self.connection
            return latest if latest and len(self.connections) >= connections and latest.is_whole else None
        return wait_for(whole, f"a whole snapshot in connection {connections}", timeout, 0.01)

    def wait_record(self, kind: str, name: str, namespace: str = "default",
                    like: Callable[[dict[str, Any]], Any] = lambda record: True, timeout: float = 10.0) -> dict[str, Any]:
        """Waits for an object of which `like` is true."""
        def found() -> dict[str, Any] | None:
            record = self.record(kind, name, namespace)
            return record if record is not None and like(record) else None
        return wait_for(found, f"{kind} {namespace}/{name}", timeout, 0.005)

    def wait_gone(self, kind: str, name: str, namespace: str = "default", timeout: float = 10.0) -> None:
        wait_for(lambda: self.record(kind, name, namespace) is None, f"{kind} {namespace}/{name} to go", timeout, 0.005)

    # The other side

    def greet(self, peer: socket.socket) -> None:
        peer.settimeout(SEND_S_MAX)  # a watcher that is starved of its processor may be slow to read
        self._serving = None
        self._pinged_at = time.monotonic()
        super().greet(peer)

    def wait_readable(self, peer: socket.socket) -> None:
        while True:
            self._reading.wait()
            if time.monotonic() - self._pinged_at > PING_AFTER_S:
                self._pinged_at = time.monotonic()
                self.answer("ping", {"seq": 1})
            if select.select([peer], [], [], 0.05)[0]:
                return

    def take(self, kind: str, body: dict[str, Any]) -> None:
        if self._serving is None:
            assert kind == "hello" and body["role"] == "watcher", (kind, body)
            self._serving = Connection()
            self.connections.append(self._serving)
        elif kind == "ping":
            self.answer("pong", body)
        elif kind != "pong":
            with self._lock:
                self._serving.messages.append((kind, body))
                getattr(self, "_take_" + kind.replace("-", "_"))(self._serving, body)

    def _take_bye(self, connection: Connection, body: dict[str, Any]) -> None:
        connection.said_bye = body["reason"]

    def _take_settings(self, connection: Connection, body: dict[str, Any]) -> None:
        self._check(connection.settings is None and len(connection.messages) == 1, "settings come first, and once")
        connection.settings = body

    def _take_sync_begin(self, connection: Connection, body: dict[str, Any]) -> None:
        self._check(connection.settings is not None and connection.begun is None and body["kind"] not in connection.ended,
                    f"sync-begin {body} while {connection.begun} is under way")
        connection.begun = body["kind"]
        self._stale = {key for key in (*self.records, *self.kept) if key[0] == body["kind"]}

    def _take_sync_end(self, connection: Connection, body: dict[str, Any]) -> None:
        self._check(connection.begun == body["kind"], f"sync-end {body} without its begin")
        for key in self._stale:
            self.records.pop(key, None)
            self.kept.pop(key, None)
        self._stale = set()
        connection.begun = None
        connection.ended.append(body["kind"])

    def _take_upsert(self, connection: Connection, body: dict[str, Any]) -> None:
        self._take_object(connection, body, self.records, self.kept)

    def _take_keep(self, connection: Connection, body: dict[str, Any]) -> None:
        self._take_object(connection, body, self.kept, {})

    def _take_object(self, connection: Connection, body: dict[str, Any], into: dict, out_of: dict) -> None:
        self._check(connection.begun == body["kind"] or connection.is_whole, f"{body['kind']} out of order")
        key = (body["kind"], body.get("namespace", ""), body["name"])
        into[key] = body
        out_of.pop(key, None)
        if not connection.is_whole:
            self._stale.discard(key)

    def _take_delete(self, connection: Connection, body: dict[str, Any]) -> None:
        key = (body["kind"], body.get("namespace", ""), body["name"])
        old = self.kept.get(key) or self.records.get(key)
        self._check(old is not None and old.get("uid") == body.get("uid"), f"delete of what is not there: {body}")
        self.records.pop(key, None)
        self.kept.pop(key, None)

    def _check(self, good: bool, problem: str) -> None:
        if not good:
            self.problems.append(problem)


def address_of(text: str) -> dict[str, Any]:
    is_ip = text.replace(".", "").isdigit() or ":" in text
    return {"ip" if is_ip else "hostname": text}
