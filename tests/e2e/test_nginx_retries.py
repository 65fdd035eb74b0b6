# SPDX-License-Identifier: Apache-2.0
"""provider-nginx: when another endpoint is asked, and when not: endpoints that refuse, break off, answer with errors or are silent."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

import pytest

from lib.bad_backend import BadBackend, codes
from lib.backend import Backend, H2Backend
from lib.certs import self_signed
from lib.local_proxy import host, pool
from lib.nginx import Nginx
from lib.others import Other
from lib.provider_link import Object
from lib.traffic import Load
from lib.wait import wait_for

REQUESTS = 8  # more than twice as many as there are workers: one of them asks each of two endpoints
ALL = {"on_error": True, "on_timeout": True}


def policy(name: str = "p", **settings: Any) -> Object:
    return {"kind": "policy", "id": name, "ingress": "default/web", **settings}


def rule(path: str = "/", pool_id: str = "all", policy_id: str = "p") -> Object:
    return {"path": path, "match": "prefix", "ingress": "default/web", "pool": pool_id, "policy": policy_id}


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


def serve(proxy: Nginx, pods: list[Any], retries: Object | None = None, **more: Any) -> None:
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


def test_questions_pass_over_endpoints_that_refuse(proxy: Nginx, good: Backend) -> None:
    with Other("auth") as other:
        asking = {"pool": "auth", "target": [{"text": "/check"}]}
        proxy.apply(pool("auth", other, Refusing()), pool("all", good), policy(external_auth=asking), host("a.test", rule()))
        assert outcomes(proxy, REQUESTS) == {"good"}
        assert [asked.target for asked in other.questions] == ["/check"] * REQUESTS


def test_any_number_of_endpoints(proxy: Nginx, good: Backend) -> None:
    serve(proxy, [good, *(Refusing() for _ in range(7))], {"on_error": True})
    assert outcomes(proxy, 8) == {"good"}


@pytest.mark.parametrize("retries", [{}, {"on_error": True, "tries": 1}, {"on_timeout": True}, {"statuses": codes(503)}, {"on_invalid": True}])
def test_an_endpoint_that_refuses_is_an_error_unless_that_is_a_cause(proxy: Nginx, good: Backend, retries: Object) -> None:
    serve(proxy, [good, Refusing()], retries)
    assert {proxy.request("a.test").status for _ in range(REQUESTS)} == {200, 502}


# ---- endpoints that answer, or do not ----

AFTER_SENT = [("reset", {"on_error": True}, 502), ("close", {"on_error": True}, 502), ("close", {"on_invalid": True}, 502), ("junk", {"on_invalid": True}, 502),
              ("silent", {"on_timeout": True}, 504), ("503", {"statuses": codes(503)}, 503), ("404", {"statuses": codes(404, 429)}, 404),
              ("429", {"statuses": codes(404, 429)}, 429)]


def see(proxy: Nginx, good: Backend, how: str, method: str, **settings: Any) -> set[str | int]:
    """What clients get with a bad endpoint beside the good one; it is a new one, so that no worker knows it to fail, and some worker asks it."""
    with BadBackend("bad", how) as bad:
        serve(proxy, [good, bad], **settings)
        got = outcomes(proxy, REQUESTS, method)
        assert bad.count > 0
        return got


@pytest.mark.parametrize("how, retries, status", AFTER_SENT)
def test_what_failed_is_asked_again_if_it_may_be(proxy: Nginx, good: Backend, how: str, retries: Object, status: int) -> None:
    """GET may be sent twice, POST may not, unless that is `unsafe`."""
    timeouts = {"read_ms": 300}
    assert see(proxy, good, how, "GET", retries=retries, timeouts=timeouts) == {"good"}
    assert see(proxy, good, how, "DELETE", retries=retries, timeouts=timeouts) == {"good"}
    for method in ("POST", "PROPFIND"):
        assert see(proxy, good, how, method, retries=retries, timeouts=timeouts) == {"good", status}
        assert see(proxy, good, how, method, retries={**retries, "unsafe": True}, timeouts=timeouts) == {"good"}


@pytest.mark.parametrize("how, retries, status", [
    ("reset", {"on_timeout": True, "statuses": codes(503)}, 502), ("junk", {"on_error": True, "statuses": codes(503)}, 502),
    ("silent", {"on_error": True, "on_invalid": True, "statuses": codes(503)}, 504), ("500", {"on_error": True, "statuses": codes(502, 503)}, 500),
    ("503", {"on_error": True, "on_timeout": True, "on_invalid": True}, 503), ("418", {"statuses": codes(418, 503)}, 418)])
def test_other_failures_are_the_answer(proxy: Nginx, good: Backend, how: str, retries: Object, status: int) -> None:
    assert see(proxy, good, how, "GET", retries=retries, timeouts={"read_ms": 300}) == {"good", status}


def test_statuses_that_nginx_does_not_know_are_told(proxy: Nginx, good: Backend) -> None:
    serve(proxy, [good], {"statuses": codes(418)})
    assert "other statuses are left out" in proxy.translator.notices("sluice")["TrafficPolicyRefused"]


def test_without_a_policy_for_it_only_what_was_not_sent_twice_is_asked_again(proxy: Nginx, good: Backend) -> None:
    assert see(proxy, good, "reset", "GET") == {"good"}
    assert see(proxy, good, "reset", "POST") == {"good", 502}
    assert see(proxy, good, "503", "GET") == {"good", 503}


def test_the_last_answer_counts_as_it_was(proxy: Nginx) -> None:
    with BadBackend("one", "503") as one, BadBackend("two", "503") as two:
        serve(proxy, [one, two], {"statuses": codes(503)})
        answer = proxy.request("a.test")
        assert (answer.status, answer.body) == (503, b"bad")
        assert answer.headers["x-backend"] in ("one", "two")
        assert one.count == two.count == 1


def test_so_many_tries_and_no_more(proxy: Nginx) -> None:
    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(BadBackend(str(number), "503")) for number in range(4)]
        for tries in (1, 3):
            before = sum(pod.count for pod in pods)
            serve(proxy, pods, {"statuses": codes(503), "tries": tries})
            assert proxy.request("a.test").status == 503
            assert sum(pod.count for pod in pods) - before == tries


def test_after_a_time_nobody_is_asked_any_more(proxy: Nginx) -> None:
    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(BadBackend(str(number), "silent")) for number in range(4)]
        serve(proxy, pods, {"on_timeout": True, "timeout_ms": 500}, timeouts={"read_ms": 300})
        assert proxy.request("a.test").status == 504
        assert sum(pod.count for pod in pods) == 2


def test_a_body_is_sent_again_only_as_a_whole(proxy: Nginx, good: Backend) -> None:
    """Of one that was passed on as it came something is gone."""
    body = b"x" * 500000
    retries = {"statuses": codes(503), "unsafe": True}

    def sent(**settings: Any) -> set[int]:
        with BadBackend("bad", "503") as bad:
            serve(proxy, [good, bad], retries, **settings)
            answers = [proxy.request("a.test", method="POST", body=body) for _ in range(REQUESTS)]
            assert all(answer.json["body"] == body.decode() for answer in answers if answer.status == 200)
            assert bad.count > 0
            return {answer.status for answer in answers}

    assert sent() == {200, 503}
    assert sent(buffering={"request": True}) == {200}


def test_also_over_tls_and_http2(proxy: Nginx) -> None:
    pair = self_signed("pod.test")
    with Backend("good", tls=pair) as good, H2Backend("good") as other:
        for pods, more in (([good, Refusing()], {"protocol": "https"}), ([good, Refusing()], {"protocol": "https", "tls": {"verify": "off", "server_name": "pod.test"}}),
                           ([other, Refusing()], {"protocol": "h2c"})):
            proxy.apply(pool("all", *pods, **more), policy(retries={"on_error": True, "on_invalid": True, "statuses": codes(503)}, buffering={"response": True}),
                        host("a.test", rule()))
            assert {proxy.request("a.test").json["name"] for _ in range(REQUESTS)} == {"good"}


# ---- changes ----

def test_policies_of_retries_change_under_load(proxy: Nginx, good: Backend) -> None:
    """Without a reload, but for a combination that nobody has wanted before; and no request is lost."""
    combinations = [{"statuses": codes(503), "tries": 2}, {"statuses": codes(503), "on_error": True, "timeout_ms": 60000}, {"statuses": codes(503), "on_timeout": True},
                    {"statuses": codes(503), "unsafe": True, "tries": 5}]
    with BadBackend("bad", "503") as bad:
        serve(proxy, [good, bad], combinations[0])
        workers = proxy.workers()
        with Load(proxy.address, proxy.http, [("a.test", "/")], clients=4, repeats=True) as load:
            for number in range(60):
                proxy.apply(policy(retries=combinations[number % len(combinations)]))
            assert not proxy.was_reloaded_since(workers)
            proxy.apply(policy(retries={"statuses": codes(502, 503)}))
            assert proxy.was_reloaded_since(workers)
            wait_for(lambda: load.good > 500 or load.failures, "requests to be answered")
        assert not load.failures
        assert bad.count > 0


def test_ways_outlive_everybody(proxy: Nginx, good: Backend) -> None:
    """nginx begins with them from its files; a provider that is started again leaves them alone."""
    with BadBackend("bad", "503") as bad:
        serve(proxy, [good, bad], {"statuses": codes(503)})

        def is_asked_again() -> bool:
            return all(proxy.reached_or_none("a.test") == "good" for _ in range(REQUESTS))

        assert is_asked_again()
        proxy.kill_proxy()
        wait_for(is_asked_again, "nginx to be started again")
        workers = proxy.workers()
        proxy.restart()
        proxy.wait_applied()
        assert is_asked_again() and not proxy.was_reloaded_since(workers)
