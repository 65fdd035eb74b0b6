# SPDX-License-Identifier: Apache-2.0
"""The translator's end of the provider link, for tests of a provider alone: tells what is wanted, keeps what comes back."""
from __future__ import annotations

import datetime
import hashlib
import json
import pathlib
import socket
from typing import Any

from cryptography import x509

from .translator_end import TranslatorEnd
from .wait import wait_for

Object = dict[str, Any]


def load_balancer(name: str, namespace: str = "default", http: int | None = 80, https: int | None = None,
                  certificates: list[str] | None = None, group: bool = False, **more: Any) -> Object:
    """An Ingress's load balancer; its id is "namespace/name"."""
    listeners = []
    if http:
        listeners.append({"port": http, "protocol": "http"})
    if https:
        ids = certificates or []
        listeners.append({"port": https, "protocol": "https", "certificates": ids, "default_certificate": ids[0] if ids else ""})
    owners = [{"namespace": namespace, "name": name, "uid": f"ingress-{namespace}-{name}"[:64]}]
    return {"kind": "load-balancer", "id": f"{namespace}/{name}", "namespace": namespace, "name": name,
            **({"group": True} if group else {}), "owners": owners, "listeners": listeners, **more}


def virtual_host(lb: str, host: str, *rules: tuple[str, str] | tuple[str, str, str]) -> Object:
    """`rules` are (path, pool) or (path, pool, match), in order of precedence."""
    match = "any" if not host else "wildcard" if host.startswith("*") else "exact"
    return {"kind": "virtual-host", "id": f"{lb}/{host or '*'}", "load_balancer": lb, "host": host, "match": match,
            "rules": [{"path": r[0], "pool": r[1], "match": r[2] if len(r) > 2 else "implementation-specific", "ingress": lb}
                      for r in rules]}


def pool(name: str, namespace: str = "default", uid: str | None = None, target_port: int = 8080, endpoints: list[str] | None = None,
         **more: Any) -> Object:
    """A Service's port; its id is "namespace/name". The uid is "uid-<name>" unless another is given, "" means there is none."""
    service = {"namespace": namespace, "name": name, "uid": f"uid-{name}" if uid is None else uid}
    return {"kind": "pool", "id": f"{namespace}/{name}", "service": service, "port": 80, "target_port": target_port,
            "has_selector": True,
            "endpoints": [{"ip": ip, "port": target_port, "active": True, "ready": True} for ip in endpoints or []], **more}


def certificate(secret: str, pair: Any, namespace: str = "default") -> Object:
    """`pair` as from lib.certs."""
    not_after = x509.load_der_x509_certificate(pair.der).not_valid_after.replace(tzinfo=datetime.timezone.utc)
    return {"kind": "certificate", "id": f"{namespace}/{secret}", "namespace": namespace, "name": secret, "chain": pair.pem,
            "private_key": pair.key, "not_after": int(not_after.timestamp())}


def simple(name: str, host: str | None = None, path: str = "/foo", service: str = "web", **lb: Any) -> list[Object]:
    """One Ingress with one rule, and its pool."""
    return [load_balancer(name, **lb), virtual_host(f"default/{name}", host or f"{name}.example.com", (path, f"default/{service}")), pool(service)]


class Translator(TranslatorEnd):
    """Listens on provider.sock of a folder. Objects are kept by kind and id; commit() tells what has changed."""

    def __init__(self, runtime: pathlib.Path):
        super().__init__(runtime / "provider.sock")
        self.objects: dict[tuple[str, str], Object] = {}
        self.statuses: dict[str, Object] = {}
        self.status_log: list[Object] = []
        self.events: list[Object] = []
        self.applied = 0  # serial of the newest commit that is in force
        self.hello: Object | None = None
        self.connections = 0
        self._serial = 0
        self._held = False
        self.listen()

    # Wishes

    def put(self, *objects: Object, commit: bool = True) -> None:
        with self._lock:
            for item in objects:
                item = {k: v for k, v in item.items() if v not in ("", [], None)}
                body = json.dumps(item, sort_keys=True, default=lambda v: v.decode("latin-1"))
                item["rev"] = int.from_bytes(hashlib.sha256(body.encode()).digest()[:8], "big")
                self.objects[item["kind"], item["id"]] = item
                self._tell("upsert", item)
            if commit:
                self.commit()

    def remove(self, *ids: tuple[str, str], commit: bool = True) -> None:
        with self._lock:
            for kind, name in ids:
                self.objects.pop((kind, name), None)
                self._tell("remove", {"kind": kind, "id": name})
            if commit:
                self.commit()

    def remove_ingress(self, owner: str) -> None:
        """Its load balancer and virtual hosts; pools stay."""
        hosts = [(k, i) for (k, i), o in self.objects.items() if k == "virtual-host" and o["load_balancer"] == owner]
        self.remove(*hosts, ("load-balancer", owner))

    def commit(self) -> None:
        with self._lock:
            self._serial += 1
            self._tell("commit", {"serial": self._serial})

    def is_applied(self) -> bool:
        """Whether the newest commit is in force; of providers that report it."""
        with self._lock:
            return self.applied == self._serial

    # Connection

    def hold_snapshot(self, held: bool = True) -> None:
        """Says hello only: what is wanted is not yet known."""
        with self._lock:
            self._held = held
            if not held and self._peer is not None:
                self._snapshot()

    def wait_connection(self, number: int) -> None:
        """Waits until the provider has connected so many times in all, and for its hello."""
        wait_for(lambda: self.connections >= number and self._peer is not None and self.hello, f"connection {number}")

    @property
    def is_connected(self) -> bool:
        return self._peer is not None

    # Answers

    def status(self, owner: str) -> Object | None:
        """The newest status of a load balancer that speaks of what is wanted now."""
        with self._lock:
            status = self.statuses.get(owner)
            wanted = self.objects.get(("load-balancer", owner))
            return status if status and wanted and status["rev"] == wanted["rev"] else None

    def wait_status(self, owner: str, state: str = "applied", text: str = "", timeout: float = 20.0) -> Object:
        return wait_for(lambda: (s := self.status(owner)) and s["state"] == state and text in s.get("message", "") and s,
                        f"status of {owner} to be {state} {text}", timeout)

    def addresses(self, owner: str) -> list[str] | None:
        """What the Ingress would show; None while the provider does not know."""
        status = self.status(owner)
        if not status or not status.get("addresses_known"):
            return None
        return [a.get("ip") or a["hostname"] for a in status.get("addresses", [])]

    def notices(self, owner: str) -> dict[str, str]:
        return {n["reason"]: n["message"] for n in (self.status(owner) or {}).get("notices", [])}

    def event_reasons(self, owner: str) -> list[str]:
        with self._lock:
            return [e["reason"] for e in self.events if e["id"] == owner]

    # Inside

    def greet(self, peer: socket.socket) -> None:
        """What was said over the connection before is not known of this one."""
        self.applied = 0
        with self._lock:
            self.statuses.clear()
        self.connections += 1
        super().greet(peer)
        if not self._held:
            self._snapshot()

    def _snapshot(self) -> None:
        self._tell("sync-begin", {})
        for item in self.objects.values():
            self._tell("upsert", item)
        self._serial = 1
        self._tell("commit", {"serial": 1})

    def _tell(self, kind: str, body: Object) -> None:
        if not self._held:
            self.answer(kind, body)

    def take(self, kind: str, body: Object) -> None:
        with self._lock:
            if kind == "hello":
                self.hello = body
            elif kind == "ping":
                self.answer("pong", body)
            elif kind == "lb-status":
                self.statuses[body["id"]] = body
                self.status_log.append(body)
            elif kind == "applied":
                self.applied = body["serial"]
            elif kind == "lb-event":
                self.events.append(body)
