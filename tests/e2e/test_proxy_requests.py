# SPDX-License-Identifier: Apache-2.0
"""What of a request reaches a backend: the table tests/cases/requests.json, which doc/requests.md shows, on both proxies."""
from __future__ import annotations

import contextlib
import json
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from lib.backend import Backend
from lib.local_proxy import LocalProxy, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import dial

ROWS = json.loads((pathlib.Path(__file__).resolve().parents[1] / "cases/requests.json").read_text())["rows"]
# What the proxies say of the client is tested elsewhere; how a body is sent on is each one's own affair.
LEFT_OUT = {"content-length", "transfer-encoding", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-port", "x-real-ip", "forwarded", "connection", "host"}

END = "/end-of-the-row"
LAST = f"GET {END} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n".encode()


class Recorder(Backend):
    """Keeps what it was asked."""

    def __init__(self, name: str):
        super().__init__(name)
        self.seen: list[dict[str, Any]] = []

    def answer(self, connection: Any, method: str, target: str, version: str, headers: list, known: dict, body: bytes, peer: str) -> None:
        self.seen.append({"line": f"{method} {target} {version}", "host": known.get("host", ""), "backend": self.name,
                          "headers": {name: ", ".join(value for other, value in headers if other.lower() == name)
                                      for name in sorted({name.lower() for name, _ in headers} - LEFT_OUT)},
                          **({"body": body.decode("latin-1")} if body else {})})
        super().answer(connection, method, target, version, headers, known, body, peer)


@dataclass
class World:
    proxy: LocalProxy
    backends: list[Recorder] = field(default_factory=list)

    def seen(self) -> list[dict[str, Any]]:
        return [item for backend in self.backends for item in backend.seen if END not in item["line"]]

    def forget(self) -> None:
        for backend in self.backends:
            backend.seen.clear()


@contextlib.contextmanager
def served(name: str) -> Iterator[World]:
    """The proxy of that name before a backend for a.test, one for b.test, and one for all other hosts."""
    with contextlib.ExitStack() as stack:
        backends = [stack.enter_context(Recorder(one)) for one in ("a", "b", "others")]
        proxy = stack.enter_context(proxy_class(name)())
        proxy.apply(*(pool(one.name, one) for one in backends), host("a.test", ("/", "a")), host("b.test", ("/", "b")), host("", ("/", "others")),
                    proxy.balancer())
        yield World(proxy, backends)


def expand(text: str) -> str:
    """`{x*3}` is xxx."""
    return re.sub(r"\{(.)\*(\d+)\}", lambda found: found[1] * int(found[2]), text)


def statuses(data: bytes) -> list[int]:
    """Of all answers, without interim ones."""
    return [int(found) for found in re.findall(rb"(?:\A|\n|\}|>|\r\n\r\n)HTTP/1\.[01] ([2-5]\d\d) ", data)]


def observed(world: World, raw: str) -> dict[str, Any]:
    """The status of the (first) answer, 0: none of HTTP/1, and what reached a backend. The request that follows on the same connection,
    if that goes on, shows that all of the first has been dealt with."""
    world.forget()
    with contextlib.closing(dial(world.proxy.address, world.proxy.http)) as link, contextlib.suppress(ConnectionError):
        data = b""
        link.sendall(expand(raw).encode("latin-1") + LAST)
        while piece := link.recv(65536):
            data += piece
    return {"status": (statuses(data) or [0])[0], **({"backends": seen} if (seen := world.seen()) else {})}


def title(row: dict[str, Any]) -> str:
    return re.sub(r"[^!-~]+", "-", f"{row['section']}-{row['about']}")


@pytest.fixture(scope="module", params=PROXIES)
def world(request):
    with served(request.param) as one:
        yield one


@pytest.mark.parametrize("row", ROWS, ids=title)
def test_what_reaches_a_backend(world, row):
    assert observed(world, row["raw"]) == (row[world.proxy.name] if "why" in row else row["both"])


def test_there_are_a_hundred_rows_and_few_differences():
    assert len(ROWS) >= 100
    assert len([row for row in ROWS if "why" in row]) <= 25
    assert all(row["haproxy"] != row["nginx"] and row["why"] for row in ROWS if "both" not in row)
