# SPDX-License-Identifier: Apache-2.0
"""The engine of the translator (tests/translate/engine_tool.c) and what its neighbours see of it, held to PROTOCOL.md."""
from __future__ import annotations

import struct
import subprocess
from typing import Iterable, Literal

from lib.definitions import table
from lib.frames import Body, hello, key_of, pack, unpack, with_length

KINDS = ["ingress", "ingress-class", "service", "endpoints", "secret", "config-map"]
SETTINGS = {"kinds": KINDS, "ingress_class": "rancher", "controller_name": "sluice.io/ingress-controller",
            "without_class": True, "load_balancer_class": "sluice.io/load-balancer"}
PROTOCOLS = ["http", "https", "tcp", "tls-passthrough"]
POLICIES = [word for _, _, word, _ in table("translator/annotations.def", "POLICY")]
ORDER = {"users": 0, "policy": 1, "certificate": 2, "pool": 3, "load-balancer": 4, "virtual-host": 5}


def provider_hello(capabilities: Body | None = None) -> Body:
    return hello("provider", version_max=2, capabilities={"grouping": "per-ingress", "protocols": PROTOCOLS, "policies": POLICIES, **(capabilities or {})})


class ProviderView:
    """What a provider knows; fails when the translator breaks a rule of section 5.1."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Body] = {}
        self.connect()

    def connect(self) -> None:
        self.staged: dict[tuple[str, str], Body | None] = {}
        self.in_snapshot = False
        self.heard = False
        self.serial = 0
        self.removing = -1
        self.writes = 0
        self.commits = 0

    def take(self, kind: str, body: Body) -> None:
        if kind == "sync-begin":
            assert not self.heard and body == {}, "sync-begin comes first, once, without a kind"
            self.in_snapshot = self.heard = True
        elif kind == "upsert":
            self.upsert(body)
        elif kind == "remove":
            self.remove(body)
        elif kind == "commit":
            self.commit(body)
        else:
            raise AssertionError(f"{kind} to a provider")

    def now(self, key: tuple[str, str]) -> Body | None:
        return self.staged[key] if key in self.staged else (None if self.in_snapshot else self.objects.get(key))

    def upsert(self, body: Body) -> None:
        key = body["kind"], body["id"]
        assert self.heard and self.removing < 0, "upserts come before removes"
        assert key not in self.staged, f"{key} twice in a batch"
        old = None if self.in_snapshot else self.objects.get(key)
        assert old is None or old["rev"] != body["rev"], f"{key} was sent though nothing differs"
        for need in references(body):
            assert self.now(need) is not None, f"{key} is sent before {need}"
        self.staged[key] = body
        self.writes += 1

    def remove(self, body: Body) -> None:
        key = body["kind"], body["id"]
        assert self.now(key) is not None, f"{key} is removed and not there"
        assert key not in self.staged, f"{key} is set and removed in one batch"
        place = len(ORDER) - 1 - ORDER[key[0]]
        assert place >= self.removing, "removes come in the opposite order"
        self.removing = place
        self.staged[key] = None
        self.writes += 1

    def commit(self, body: Body) -> None:
        self.serial += 1
        assert body["serial"] == self.serial
        assert self.staged or self.in_snapshot, "an empty commit"
        objects = {} if self.in_snapshot else dict(self.objects)
        objects.update(self.staged)
        self.objects = {key: value for key, value in objects.items() if value is not None}
        for key, value in self.objects.items():
            for need in references(value):
                assert need in self.objects, f"{key} refers to {need}, which is not there"
        self.staged = {}
        self.in_snapshot = False
        self.removing = -1
        self.commits += 1


def references(body: Body) -> Iterable[tuple[str, str]]:
    if body["kind"] == "virtual-host":
        yield "load-balancer", body["load_balancer"]
        for rule in body.get("rules", []):
            if "redirect" not in rule and "answer" not in rule and "pools" not in rule:
                yield "pool", rule["pool"]
            for pool in rule.get("pools", []):
                yield "pool", pool["pool"]
            if "policy" in rule:
                yield "policy", rule["policy"]
    if body["kind"] == "policy" and "basic_auth" in body:
        yield "users", body["basic_auth"]["users"]
    if body["kind"] == "load-balancer":
        if body.get("default_pool"):
            yield "pool", body["default_pool"]
        for listener in body["listeners"] if "listeners" in body else []:
            for name in [*listener.get("certificates", []), listener.get("default_certificate")]:
                if name:
                    yield "certificate", name
            if listener.get("pool"):
                yield "pool", listener["pool"]


class SourceView:
    """What a watcher was told."""

    def __init__(self) -> None:
        self.events: list[Body] = []
        self.statuses: list[Body] = []

    def take(self, kind: str, body: Body) -> None:
        assert kind in ("event", "status"), kind
        (self.events if kind == "event" else self.statuses).append(body)

    def take_events(self) -> list[Body]:
        events, self.events = self.events, []
        return events

    def take_statuses(self) -> list[Body]:
        statuses, self.statuses = self.statuses, []
        return statuses


class Telling:
    """The words of a watcher; subclasses say() them."""

    def say(self, kind: str, body: Body) -> None:
        raise NotImplementedError

    def upsert(self, *records: Body) -> None:
        for record in records:
            self.say("upsert", record)

    def delete(self, record: Body) -> None:
        self.say("delete", key_of(record))

    def keep(self, record: Body) -> None:
        self.say("keep", key_of(record))

    def snapshot(self, records: list[Body], kinds: list[str] | None = None, kept: Iterable[Body] = ()) -> None:
        for kind in kinds or KINDS:
            self.say("sync-begin", {"kind": kind})
            self.upsert(*(record for record in records if record["kind"] == kind))
            for record in kept:
                if record["kind"] == kind:
                    self.keep(record)
            self.say("sync-end", {"kind": kind})


class Engine(Telling):
    def __init__(self, tool: str, options: list[str] | None = None, under: Iterable[str] = ()):
        """`options`: of sluice-translator; `under`: a program that runs it, with its arguments."""
        self.process = subprocess.Popen([*under, tool, *(options or [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.provider = ProviderView()
        self.source = SourceView()
        self.missing = ""
        self.refused: list[str] = []

    def close(self) -> None:
        self.process.stdin.close()
        assert self.process.stdout.read() == b""
        assert self.process.wait() == 0

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.process.kill()
            self.process.wait()

    def command(self, letter: str, payload: bytes = b"") -> None:
        self.process.stdin.write(letter.encode() + with_length(payload))

    # The neighbours

    def set_time(self, seconds: int) -> None:
        self.command("T", str(seconds).encode())

    def watcher_up(self, settings: Body | None | Literal[False] = None) -> None:
        self.command("U")
        if settings is not False:
            self.say("settings", {**SETTINGS, **(settings or {})})

    def watcher_down(self) -> None:
        self.command("u")

    def say(self, kind: str, body: Body) -> None:
        self.command("S", pack(kind, body))

    def provider_up(self, capabilities: Body | None = None, version: int = 2) -> None:
        self.provider.connect()
        self.command("V", pack("hello", {**provider_hello(capabilities), "version_max": version}))

    def provider_down(self) -> None:
        self.command("v")

    def answer(self, kind: str, body: Body) -> None:
        self.command("P", pack(kind, body))

    def work(self, source: int | None = None, provider: int | None = None) -> None:
        """Lets it work; the limits say how many frames each neighbour takes."""
        limits = [f"source {source}"] * (source is not None) + [f"provider {provider}"] * (provider is not None)
        self.command("W", "\n".join(limits).encode())
        self.process.stdin.flush()
        self.refused = []
        while True:
            head = self.process.stdout.read(5)
            assert len(head) == 5, "the engine died"
            payload = self.process.stdout.read(struct.unpack(">I", head[1:])[0])
            letter = head[:1].decode()
            if letter == "w":
                self.missing = payload.decode()
                return
            if letter == "e":
                self.refused.append(payload.decode())
            else:
                (self.provider if letter == "p" else self.source).take(*unpack(payload))
