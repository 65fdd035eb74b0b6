# SPDX-License-Identifier: Apache-2.0
"""Sends the rows of tests/cases/traffic.json to a proxy that has their objects, and compares what came with what is wanted."""
from __future__ import annotations

import collections
import contextlib
import json
import socket
from typing import Any, Callable

from .answer import Answer
from .backend import Backend
from .certs import self_signed
from .local_proxy import certificate
from .proxies import proxy_class
from .raw_http import exchange
from .wait import wait_for
from . import traffic_table as table

CLIENT = "127.0.0.9"
LOOPBACK_6 = "::1"


class Port6:
    """A port of ::1 that no other test takes: below those that the kernel gives out, and guarded by a name while it is ours."""

    FIRST, COUNT = 20000, 12000

    def __init__(self, start: int):
        self._guard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        for step in range(self.COUNT):
            self.number = self.FIRST + (start + step) % self.COUNT
            with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((LOOPBACK_6, self.number))
                self._guard.bind(f"\0sluice-test-[::1]:{self.number}")
                return
        raise AssertionError("no free port")

    def release(self) -> None:
        self._guard.close()


class World:
    """A proxy that has the objects of a world, as far as its provider claims the words for them, with a backend for each pool."""

    def __init__(self, name: str, world: str, claimed: set[str]):
        self.pods = {item: Backend(item) for item in sorted(table.pools_of(world))}
        self.proxy = proxy_class(name)(start=False)
        self.port6 = Port6(self.proxy.http)
        balancer = self.proxy.balancer(https=True, default_certificate="default", default_pool=table.default_pool(world), **table.forwarding(world),
                                       listeners=[{"port": self.port6.number, "protocol": "http", "address": LOOPBACK_6}])
        self.proxy.send(certificate("default", self_signed("default.test")), *table.objects(world, claimed, [*self.pods.values()]), balancer)
        self.proxy.commit()
        try:
            self.proxy.start()
            self.proxy.wait_applied()
        except AssertionError:
            self.stop()
            raise

    def stop(self) -> list[str]:
        complaints = self.proxy.stop()
        self.port6.release()
        for pod in self.pods.values():
            pod.stop()
        return complaints

    def ends_of(self, request: dict[str, Any]) -> tuple[str, int]:
        """Where the row's client connects to."""
        if ":" in request.get("from", CLIENT):
            return LOOPBACK_6, self.port6.number
        return self.proxy.address, self.proxy.https if request.get("tls") else self.proxy.http


def bytes_of(request: dict[str, Any], words: dict[str, str]) -> bytes:
    """One character is one byte."""
    body = request.get("body", "")
    lines = [f"{request.get('method', 'GET')} {request['target']} HTTP/1.1", f"Host: {request['host']}"]
    lines += [f"{name}: {value}" for name, value in request.get("headers", [])]
    if request.get("chunked"):
        lines.append("Transfer-Encoding: chunked")
        body = f"{len(body):x}\r\n{body}\r\n0\r\n\r\n" if body else "0\r\n\r\n"
    elif body:
        lines.append(f"Content-Length: {len(body)}")
    return meant("\r\n".join([*lines, "", body]), words).encode("latin-1")


def meant(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def joined(headers: list[list[str]]) -> dict[str, str]:
    found: dict[str, list[str]] = collections.defaultdict(list)
    for key, value in headers:
        found[key.lower()].append(value)
    return {key: ", ".join(values) for key, values in found.items()}


def check_headers(what: str, wanted: dict[str, str | None], got: dict[str, str], words: dict[str, str]) -> None:
    for key, value in wanted.items():
        expected = None if value is None else meant(value, words)
        assert got.get(key) == expected, f"{what}: {key} is {got.get(key)!r}, not {expected!r}; all: {got}"


def check_seen(wanted: dict[str, Any], seen: dict[str, Any], words: dict[str, str]) -> None:
    """What the backend saw is what it should see."""
    for key in ("target", "host", "method"):
        if key in wanted:
            assert seen[key] == meant(wanted[key], words), f"the backend saw {key} {seen[key]!r}"
    check_headers("request at the backend", wanted.get("sees", {}), joined(seen["headers"]), words)


def check_answer(wanted: dict[str, Any], answer: Answer, seen_by: Callable[[str], dict[str, Any]], words: dict[str, str]) -> None:
    """`seen_by`: what the backend of a pool has seen last."""
    statuses = wanted.get("status", 200)
    assert answer.status in (statuses if isinstance(statuses, list) else [statuses]), f"{answer.status} {answer.headers} {answer.body[:300]!r}"
    assert answer.headers.get("x-backend") == wanted.get("pool"), "another one has answered"
    check_headers("answer", wanted.get("answer", {}), answer.headers, words)
    if "body" in wanted:
        assert answer.body == meant(wanted["body"], words).encode("latin-1")
    if "pool" in wanted:
        check_seen(wanted, seen_by(wanted["pool"]), words)
    for pool, question in wanted.get("asks", {}).items():
        check_seen(question, seen_by(pool), words)


def check_counts(wanted: dict[str, Any], answers: list[Answer]) -> None:
    """`counts`: by the pool that has answered, or the status of the proxy's own answer, the least and the greatest number of answers."""
    got = collections.Counter(answer.headers.get("x-backend", str(answer.status)) for answer in answers)
    assert set(got) <= set(wanted["counts"]), got
    for key, (least, most) in wanted["counts"].items():
        assert least <= got[key] <= most, got


def wanted_of(row: dict[str, Any], name: str) -> dict[str, Any]:
    """With what differs at that proxy."""
    return {**row["wanted"], **{key: value for key, value in row.get(name, {}).items() if key != "why"}}


def attempt(address: str, port: int, request: dict[str, Any], words: dict[str, str], may_close: bool) -> Answer:
    """One request; `may_close`: a connection that is closed instead is an answer of status 0."""
    source = request.get("from", CLIENT)
    try:
        return exchange(address, port, bytes_of(request, words), tls=request.get("tls", False), sni=request.get("sni"),
                        source=None if ":" in source else source)
    except OSError:
        if may_close:
            return Answer(0, {}, b"")
        raise


def run(row: dict[str, Any], name: str, world: World) -> None:
    request = row["request"]
    address, port = world.ends_of(request)
    words = {"{client}": request.get("from", CLIENT), "{port}": str(port), "{https}": str(world.proxy.https)}
    wanted = wanted_of(row, name)
    statuses = wanted.get("status", 200)
    may_close = isinstance(statuses, list) and 0 in statuses
    before = {pool: world.pods[pool].count for pool in world.pods}
    answers = [attempt(address, port, request, words, may_close) for _ in range(row.get("n", 1))]
    for pool in wanted.get("asks", {}):
        wait_for(lambda: world.pods[pool].count > before[pool], f"{pool} to be asked")  # noqa: B023
    for pool in wanted.get("unasked", []):
        assert world.pods[pool].count == before[pool], f"{pool} was asked"
    if "counts" in wanted:
        check_counts(wanted, answers)
        return
    for answer in answers:
        check_answer(wanted, answer, lambda pool: json.loads(world.pods[pool].last_answer), words)
