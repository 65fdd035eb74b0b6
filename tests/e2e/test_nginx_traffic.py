# SPDX-License-Identifier: Apache-2.0
"""provider-nginx: policies change without a reload, limits count for all workers, and what is left of all that when something dies."""
from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import json
from typing import Any, Iterator

import pytest

from lib import processes
from lib.answer import Answer
from lib.backend import Backend, H2Backend
from lib.local_proxy import host, pool
from lib.nginx import Nginx
from lib.provider_link import Object
from lib.raw_http import dial, read_answer
from lib.turn_watcher import TurnWatcher
from lib.wait import wait_for

SHA1 = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="  # of "password"


def rule(path: str = "/", policy: str = "p", **more: Any) -> Object:
    return {"path": path, "match": "prefix", "ingress": "default/web", **({} if more else {"pool": "one"}), **({"policy": policy} if policy else {}), **more}


def policy(name: str = "p", **settings: Any) -> Object:
    return {"kind": "policy", "id": name, "ingress": "default/web", **settings}


def users(name: str = "u", **hashes: str) -> Object:
    return {"kind": "users", "id": name, "users": [{"name": key, "hash": value} for key, value in sorted(hashes.items())]}


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


@pytest.fixture(name="pod")
def fixture_pod() -> Iterator[Backend]:
    with Backend("one") as pod:
        yield pod


@pytest.fixture(name="proxy")
def fixture_proxy(pod: Backend) -> Iterator[Nginx]:
    with Nginx() as proxy:
        proxy.send(pool("one", pod), proxy.balancer())
        proxy.apply()
        yield proxy


def turn(number: int) -> list[Object]:
    """The same, said otherwise each time."""
    headers = [{"name": "X-Turn", "value": [{"text": str(number)}]}]
    return [policy(response_headers=headers, source_access={"allow": ["127.0.0.0/8", f"10.0.{number}.0/24"]}),
            host("a.test", rule(conditions=[{"subject": "header", "name": "x-no", "value": str(number)}], pool="one"), rule(pool="one"))]


def test_policies_change_without_a_reload(proxy: Nginx) -> None:
    proxy.apply(*turn(0))
    workers = proxy.workers()
    with TurnWatcher(proxy, "X-Turn") as watcher:
        for number in range(1, 80):
            proxy.apply(*turn(number))
        wait_for(lambda: watcher.problems or "79" in watcher.seen, "the last one to be seen")
    assert not watcher.problems
    assert not proxy.was_reloaded_since(workers)
    assert len(watcher.seen) > 10


def test_what_policies_say_is_not_in_the_configuration(proxy: Nginx) -> None:
    evil = 'a"; } } load_module "x'
    before = (proxy.state_dir / "nginx.conf").read_bytes()
    proxy.apply(policy(response_headers=[{"name": "X-Evil", "value": [{"text": evil}]}], basic_auth={"realm": "r ; }", "users": evil}),
                users(evil, **{evil: SHA1}), host("a.test", rule("/r", redirect={"status": 302, "location": [{"text": evil}]}), rule(pool="one")))
    got = proxy.request("a.test", headers=basic(evil, "password"))
    assert got.status == 200 and got.headers["x-evil"] == evil
    assert proxy.request("a.test", headers=basic(evil, "else")).status == 401
    assert (proxy.state_dir / "nginx.conf").read_bytes() == before


# ---- bodies that nobody reads ----

def exchange_twice(proxy: Nginx, first: bytes) -> tuple[Answer, str]:
    """Its answer, and what a request behind it on the same connection gets: the backend that has answered, or that the connection was closed."""
    with contextlib.closing(dial(proxy.address, proxy.http)) as link:
        link.sendall(first)
        answer = read_answer(link, "POST")
        try:
            link.sendall(b"GET /second HTTP/1.1\r\nHost: plain.test\r\n\r\n")
            return answer, json.loads(read_answer(link).body)["target"]
        except OSError:
            return answer, "closed"


@pytest.mark.parametrize("path, status", [("/redirect", 302), ("/answer", 200), ("/limit", 413), ("/forbidden", 403), ("/auth", 401)])
def test_a_body_that_was_refused_is_no_request(proxy: Nginx, pod: Backend, path: str, status: int) -> None:
    proxy.apply(users(u=SHA1), policy("limit", body_max_bytes=4), policy("forbidden", source_access={"deny": ["0.0.0.0/0"]}),
                policy("auth", basic_auth={"realm": "r", "users": "u"}), host("plain.test", ("/", "one")),
                host("a.test", rule("/redirect", "", redirect={"status": 302, "location": [{"text": "/x"}]}),
                     rule("/answer", "", answer={"status": 200, "text": "x"}), rule("/limit", "limit", pool="one"),
                     rule("/forbidden", "forbidden", pool="one"), rule("/auth", "auth", pool="one")))
    body = b"GET /smuggled HTTP/1.1\r\nHost: plain.test\r\n\r\n"
    answer, behind = exchange_twice(proxy, b"POST %s HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body))
    assert answer.status == status
    assert behind in ("/second", "closed")
    assert "/smuggled" not in pod.targets


def test_a_chunked_body_is_counted(proxy: Nginx) -> None:
    proxy.apply(policy(body_max_bytes=100), host("a.test", rule(pool="one")))
    head = b"POST /%d HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    for length, status in ((100, 200), (101, 413), (3 * 1024 * 1024, 413)):
        with contextlib.closing(dial(proxy.address, proxy.http)) as link:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                link.sendall(head % length + b"%x\r\n" % length + b"x" * length + b"\r\n0\r\n\r\n")
            assert read_answer(link, "POST").status == status


# ---- limits ----

def statuses(proxy: Nginx, count: int) -> list[int]:
    """Of as many requests at once, each on a connection of its own."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool_of_threads:
        return list(pool_of_threads.map(lambda _: proxy.request("a.test").status, range(count)))


def test_a_rate_counts_for_all_workers(proxy: Nginx) -> None:
    proxy.apply(policy(rate_limits={"requests": [{"requests": 1, "interval_s": 3600, "burst": 9}], "status": 420}), host("a.test", rule(pool="one")))
    got = statuses(proxy, 40)
    # For a worker that is not let run while it counts the others wait only some milliseconds.
    assert 10 <= got.count(200) < 10 + len(proxy.workers()) and got.count(420) == 40 - got.count(200)


def test_requests_at_a_time_are_counted_also_when_a_worker_dies(proxy: Nginx, pod: Backend) -> None:
    proxy.apply(policy(rate_limits={"concurrent": 2}), host("a.test", rule(pool="one")))
    links = [dial(proxy.address, proxy.http) for _ in range(2)]
    for link in links:
        link.sendall(b"GET /?hold HTTP/1.1\r\nHost: a.test\r\n\r\n")
    wait_for(lambda: pod.count == 2, "both to be served")
    assert proxy.request("a.test").status == 429
    workers = processes.marked(proxy.folder, "nginx")
    processes.kill([each for each in workers if each.pid in proxy.workers()])
    wait_for(lambda: proxy.reached_or_none("a.test") == "one", "those of dead workers to be taken off")
    for link in links:
        link.close()
    pod.release()
    assert statuses(proxy, 1) == [200]


def test_requests_at_a_time_are_given_back(proxy: Nginx, pod: Backend) -> None:
    limits = {"concurrent": 1}
    proxy.apply(policy(rate_limits=limits), policy("closed", rate_limits=limits, source_access={"deny": ["0.0.0.0/0"]}),
                policy("gone", rate_limits=limits), pool("nobody"),
                host("a.test", rule("/closed", "closed", pool="one"), rule("/gone", "gone", pool="nobody"), rule(pool="one")))
    for path, status in (("/", 200), ("/closed", 403), ("/gone", 503)) * 3:
        wait_for(lambda path=path, status=status: proxy.request("a.test", path).status == status, f"{path} to give {status}")
    assert pod.count >= 3


def test_a_path_over_http2_is_rewritten(proxy: Nginx) -> None:
    with H2Backend("two") as other:
        proxy.apply(pool("h2", other, protocol="h2c"), policy(rewrite=[{"text": "/new"}, {"value": "path-rest"}]), host("a.test", rule("/old", pool="h2")))
        assert proxy.request("a.test", "/old/a%20b?x=%31").json["target"] == "/new/a%20b?x=%31"


# ---- deaths ----

def test_a_policy_that_comes_late_closes_until_then(proxy: Nginx) -> None:
    proxy.apply(host("a.test", rule(pool="one")))
    assert proxy.reached("a.test") == 503
    proxy.apply(policy())
    assert proxy.reached("a.test") == "one"
    proxy.apply(gone=[("policy", "p")])
    assert proxy.reached("a.test") == 503
