# SPDX-License-Identifier: Apache-2.0
"""provider-haproxy: when another endpoint is asked, and when not."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

import pytest

from lib.bad_backend import BadBackend, codes
from lib.backend import Backend
from lib.haproxy import HAProxy
from lib.local_proxy import host, pool
from lib.provider_link import Object


@pytest.fixture(name="good")
def fixture_good() -> Iterator[Backend]:
    with Backend("good") as pod:
        yield pod


@pytest.fixture(name="proxy")
def fixture_proxy() -> Iterator[HAProxy]:
    with HAProxy() as proxy:
        proxy.send(proxy.balancer())
        proxy.apply()
        yield proxy


def serve(proxy: HAProxy, pods: list[Any], retries: Object | None, **more: Any) -> None:
    policy = {"kind": "policy", "id": "p", "ingress": "default/web", **({"retries": retries} if retries is not None else {}), **more}
    proxy.apply(pool("all", *pods), policy, host("a.test", {"path": "/", "match": "prefix", "ingress": "default/web", "pool": "all", "policy": "p"}))


def see(proxy: HAProxy, good: Backend, how: str, method: str, retries: Object | None, **more: Any) -> set[str | int]:
    """What clients get with a bad endpoint beside the good one."""
    with BadBackend("bad", how) as bad:
        serve(proxy, [good, bad], retries, timeouts={"read_ms": 300}, **more)
        answers = [proxy.request("a.test", "/x", method=method, body=b"a body" if method in ("POST", "PUT") else None) for _ in range(8)]
        assert bad.count > 0
        return {answer.headers["x-backend"] if answer.status == 200 else answer.status for answer in answers}


@pytest.mark.parametrize("how, retries, status", [
    ("close", {"on_invalid": True}, 502), ("junk", {"on_invalid": True}, 502), ("silent", {"on_timeout": True}, 504), ("503", {"statuses": codes(503)}, 503),
    ("404", {"statuses": codes(404, 429)}, 404), ("418", {"statuses": codes(418)}, 418)])
def test_what_failed_is_asked_again_if_it_may_be(proxy: HAProxy, good: Backend, how: str, retries: Object, status: int) -> None:
    assert see(proxy, good, how, "GET", retries) == {"good"}
    assert see(proxy, good, how, "PUT", retries) == {"good"}
    assert see(proxy, good, how, "POST", retries) == {"good", status}
    assert see(proxy, good, how, "POST", {**retries, "unsafe": True}) == {"good"}
    assert see(proxy, good, how, "GET", {**retries, "tries": 1}) == {"good", status}


@pytest.mark.parametrize("how, retries, status", [
    ("junk", {"on_timeout": True}, 502), ("silent", {"on_error": True, "on_invalid": True}, 504), ("500", {"statuses": codes(502, 503)}, 500),
    ("503", {"on_error": True, "on_timeout": True, "on_invalid": True}, 503), ("close", {}, 502)])
def test_other_failures_are_the_answer(proxy: HAProxy, good: Backend, how: str, retries: Object, status: int) -> None:
    assert see(proxy, good, how, "GET", retries) == {"good", status}


def test_the_last_answer_counts_as_it_was(proxy: HAProxy) -> None:
    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(BadBackend(str(number), "503")) for number in range(4)]
        for tries in (1, 3):
            before = sum(pod.count for pod in pods)
            serve(proxy, pods, {"statuses": codes(503), "tries": tries})
            answer = proxy.request("a.test")
            assert (answer.status, answer.body) == (503, b"bad") and "sluice-status" not in answer.headers
            assert sum(pod.count for pod in pods) - before == tries


def test_after_a_time_nobody_is_asked_any_more(proxy: HAProxy) -> None:
    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(BadBackend(str(number), "silent")) for number in range(4)]
        serve(proxy, pods, {"on_timeout": True, "timeout_ms": 500}, timeouts={"read_ms": 300})
        assert proxy.request("a.test").status == 504
        assert sum(pod.count for pod in pods) == 2


def test_then_a_page_answers(proxy: HAProxy, good: Backend) -> None:
    with BadBackend("one", "503") as one, BadBackend("two", "503") as two:
        proxy.apply(pool("pages", good))
        serve(proxy, [one, two], {"statuses": codes(503), "tries": 2}, error_pages={"statuses": codes(503), "pool": "pages"}, rewrite=[{"text": "/new"}])
        answer = proxy.request("a.test", "/x")
        assert answer.json["name"] == "good" and answer.json["target"] == "/"
        assert one.count == two.count == 1 and list(one.targets) == ["/new"]
