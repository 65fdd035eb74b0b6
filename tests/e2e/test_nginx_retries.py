# SPDX-License-Identifier: Apache-2.0
"""provider-nginx: when another endpoint is asked, and when not: endpoints that refuse, break off, answer with errors or are silent."""
from __future__ import annotations

import contextlib
import socket
from typing import Any, Iterator

import pytest

from lib.backend import Backend, H2Backend
from lib.local_proxy import host, pool
from lib.nginx import Nginx
from lib.provider_link import Object
from lib.raw_http import dial, read_answer
from lib.wait import wait_for

ALL = {"on_error": True, "on_timeout": True}


class Bad(Backend):
    """An endpoint that answers with a status, or does worse once it has read a request; it counts what comes."""

    def __init__(self, name: str, how: str):
        self.how = how
        super().__init__(name)

    def answer(self, connection: socket.socket, method: str, target: str, *rest: Any) -> None:
        self.counted()
        self.targets.append(target)
        if self.how == "silent":
            self.gate.wait(120)
        elif self.how == "junk":
            connection.sendall(b"HTTP/1.1 200 OK\r\n\0: x\r\n\r\n")
        elif self.how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        elif self.how != "close":
            connection.sendall(f"HTTP/1.1 {self.how} Bad\r\nX-Backend: {self.name}\r\nContent-Length: 3\r\n\r\nbad".encode())
            return
        raise ConnectionError("closed on purpose")


def policy(name: str = "p", **settings: Any) -> Object:
    return {"kind": "policy", "id": name, "ingress": "default/web", **settings}


def rule(path: str = "/", pool_id: str = "all", policy_id: str = "p") -> Object:
    return {"path": path, "match": "prefix", "ingress": "default/web", "pool": pool_id, "policy": policy_id}


def codes(*statuses: int) -> list[Object]:
    return [{"status": status} for status in statuses]


@pytest.fixture(name="good")
def fixture_good() -> Iterator[Backend]:
    with Backend("good") as pod:
        yield pod


@pytest.fixture(name="proxy")
def fixture_proxy() -> Iterator[Nginx]:
    with Nginx() as proxy:
        proxy.send(proxy.balancer())
        proxy.apply()
        yield proxy


def outcomes(proxy: Nginx, count: int = 2, method: str = "GET", **more: Any) -> set[str | int]:
    """Who has answered, or the status, of so many requests: with two endpoints each is asked first once."""
    got = set()
    for _ in range(count):
        answer = proxy.request("a.test", method=method, **more)
        got.add(answer.headers.get("x-backend") if answer.status == 200 else answer.status)
    return got


def serve(proxy: Nginx, pods: list[Any], retries: Object | None, **more: Any) -> None:
    proxy.apply(pool("all", *pods), policy(**({"retries": retries} if retries is not None else {}), **more), host("a.test", rule()))


class Refusing:
    """An address where nobody listens."""

    def __init__(self) -> None:
        with Backend("gone") as pod:
            self.ip, self.port = pod.ip, pod.port


def test_endpoints_that_refuse_are_passed_over(proxy: Nginx, good: Backend) -> None:
    gone = [Refusing() for _ in range(2)]
    for method, body in (("GET", None), ("POST", b"x")):
        serve(proxy, [good, *gone], None)
        assert outcomes(proxy, 3, method, body=body) == {"good"}
        serve(proxy, [good, *gone], ALL)
        assert outcomes(proxy, 3, method, body=body) == {"good"}


def test_any_number_of_endpoints(proxy: Nginx, good: Backend) -> None:
    serve(proxy, [good, *(Refusing() for _ in range(7))], {"on_error": True})
    assert outcomes(proxy, 8) == {"good"}


@pytest.mark.parametrize("retries", [{}, {"on_error": True, "tries": 1}, {"on_timeout": True}, {"statuses": codes(503)}, {"on_invalid": True}])
def test_an_endpoint_that_refuses_is_an_error_unless_that_is_a_cause(proxy: Nginx, good: Backend, retries: Object) -> None:
    serve(proxy, [good, Refusing()], retries)
    # More than there are workers: one of them asks each endpoint.
    assert {proxy.request("a.test").status for _ in range(8)} == {200, 502}
