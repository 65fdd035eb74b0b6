# SPDX-License-Identifier: Apache-2.0
"""Local proxies: another server says whether a request may pass; and a pool that stands in for one without endpoints."""
from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
from typing import Any, Iterator

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.local_proxy import PATIENCE, LocalProxy, certificate, host, pool
from lib.others import Other
from lib.provider_link import Object
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import H2Client, dial, read_answer
from lib.traffic import Flood, Load
from lib.traffic import request as send
from lib.traffic_table import claimed_words
from lib.wait import wait_for


def text(value: str) -> Object:
    return {"text": value}


def policy(name: str = "p", **settings: Any) -> Object:
    return {"kind": "policy", "id": name, "ingress": "default/web", **settings}


def rule(path: str = "/", pool_id: str = "web", policy_id: str = "p", **more: Any) -> Object:
    return {"path": path, "match": "prefix", "ingress": "default/web", "pool": pool_id, "policy": policy_id, **more}


def auth(**settings: Any) -> Object:
    return {"pool": "auth", "target": [text("/check?of="), {"value": "target-escaped"}], **settings}


@pytest.fixture(name="web")
def fixture_web() -> Iterator[Backend]:
    with Backend("web") as pod:
        yield pod


@pytest.fixture(name="other")
def fixture_other() -> Iterator[Other]:
    with Other("auth") as pod:
        yield pod


@pytest.fixture(name="proxy", params=PROXIES)
def fixture_proxy(request: pytest.FixtureRequest, web: Backend, other: Other) -> Iterator[LocalProxy]:
    with proxy_class(request.param)() as proxy:
        proxy.send(certificate("default", self_signed("a.test")), proxy.balancer(https=True, default_certificate="default"))
        proxy.apply(pool("web", web), pool("auth", other), host("a.test", rule()))
        yield proxy


def serve(proxy: LocalProxy, settings: Object, **more: Any) -> None:
    proxy.apply(policy(external_auth=settings, **more))


def seen(answer: Any) -> dict[str, list[str]]:
    """Headers that the backend got."""
    found: dict[str, list[str]] = {}
    for name, value in json.loads(answer.body)["headers"]:
        found.setdefault(name.lower(), []).append(value)
    return found


def test_what_is_asked(proxy: LocalProxy, other: Other) -> None:
    serve(proxy, auth(request_headers=[{"name": "X-Original-Method", "value": [{"value": "method"}]}]))
    answer = proxy.request("a.test", "/x y?a=1".replace(" ", "%20"), method="POST", body=b"secret body", headers={
        "Authorization": "Bearer t", "X-Forwarded-For": "1.2.3.4", "X-Forwarded-Evil": "1", "Upgrade": "h2c", "Connection": "Upgrade, X-Hop", "X-Original-Method": "LIE",
        "Sluice-Pool": "x", "Sluice-Target": "/y", "Content-Type": "text/plain", "TE": "trailers"})
    assert answer.status == 200 and answer.json["body"] == "secret body"
    asked, = other.questions
    assert (asked.method, asked.target, asked.body) == ("GET", "/check?of=%2Fx%2520y%3Fa%3D1", b"")
    assert asked.one("authorization") == "Bearer t" and asked.one("host") == "a.test" and asked.one("x-original-method") == "POST"
    assert asked.one("x-forwarded-for") == "127.0.0.1" and asked.one("x-forwarded-host") == "a.test" and asked.one("x-forwarded-proto") == "http"
    for name in ("content-length", "transfer-encoding", "upgrade", "te", "sluice-pool", "sluice-target", "x-forwarded-evil", "expect"):
        assert asked.one(name) is None, name


@pytest.mark.parametrize("tls", [False, True])
def test_what_the_other_says(proxy: LocalProxy, web: Backend, other: Other, tls: bool) -> None:
    other.lines = ["WWW-Authenticate: Other realm=x", "Set-Cookie: c=1", "Set-Cookie: d=2"]
    serve(proxy, auth())
    for status, wanted in ((200, 200), (204, 200), (401, 401), (403, 403), (302, 500), (404, 500), (500, 500)):
        other.status = status
        answer = proxy.request("a.test", "/", tls=tls)
        assert answer.status == wanted, status
        assert answer.headers.get("www-authenticate") == ("Other realm=x" if wanted == 401 else None)
        assert answer.headers.get("set-cookie") == ("c=1, d=2" if wanted == 200 else None)
    assert web.count == 2
    other.status = 401
    serve(proxy, auth(sign_in=[text("https://login.test/?rd="), {"value": "target-escaped"}], cookies_always=True))
    answer = proxy.request("a.test", "/x?y", tls=tls)
    assert (answer.status, answer.headers["location"], answer.headers["set-cookie"]) == (302, "https://login.test/?rd=%2Fx%3Fy", "c=1, d=2")


def test_headers_of_the_answer_are_copied_and_never_the_clients(proxy: LocalProxy, other: Other) -> None:
    serve(proxy, auth(copied=["X-User", "X-Group"]))
    other.lines = ["X-User: alice", "x-group: a", "X-Group: b", "X-Else: 1"]
    lies = {"x-user": "root", "X-GROUP": "root", "X_User": "root", "X_Group": "root"}
    got = seen(proxy.request("a.test", headers=lies))
    assert (got["x-user"], got["x-group"]) == (["alice"], ["a, b"]) and "x-else" not in got and not {"x_user", "x_group"} & set(got)
    other.lines = []
    got = seen(proxy.request("a.test", headers=lies))
    assert not {"x-user", "x-group", "x_user", "x_group"} & set(got)
    # Nor where something else has let the client in.
    serve(proxy, auth(copied=["X-User", "X-Group"]), source_access={"allow": ["127.0.0.0/8"]}, satisfy_any=True)
    count = other.count
    got = seen(proxy.request("a.test", headers=lies))
    assert not {"x-user", "x-group", "x_user", "x_group"} & set(got) and other.count == count


def test_any_one_of_the_three_is_enough(proxy: LocalProxy, other: Other) -> None:
    if "basic-auth" not in claimed_words(proxy.name):
        pytest.skip(f"{proxy.name} does not claim basic-auth")
    proxy.apply({"kind": "users", "id": "u", "users": [{"name": "a", "hash": "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="}]})
    serve(proxy, auth(), source_access={"allow": ["10.0.0.0/8"]}, basic_auth={"realm": "r", "users": "u"}, satisfy_any=True)
    assert proxy.request("a.test").status == 200
    other.status = 403
    assert proxy.request("a.test").status == 401
    serve(proxy, auth(), source_access={"allow": ["10.0.0.0/8"]}, basic_auth={"realm": "r", "users": "u"})
    count = other.count
    assert proxy.request("a.test").status == 403 and other.count == count


def test_another_that_does_not_answer_properly(proxy: LocalProxy, web: Backend, other: Other) -> None:
    serve(proxy, auth())
    for raw in (b"", b"junk\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + bytes(70000), b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000 + b"\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"):
        other.raw = raw
        assert proxy.request("a.test").status == 500, raw[:60]
    assert web.count == 0
    other.raw = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + bytes(60000)
    assert proxy.request("a.test").status == 200
    proxy.apply(pool("auth"))
    assert proxy.request("a.test").status == 500
    proxy.apply(gone=[("pool", "auth")])
    assert proxy.request("a.test").status == 500


def test_a_slow_one_harms_its_own_requests_only(proxy: LocalProxy, other: Other) -> None:
    proxy.apply(policy(external_auth=auth()), host("a.test", rule("/free", policy_id="q"), rule("/")), policy("q", hsts={"max_age_s": 1}))
    other.is_silent = True
    assert proxy.request("a.test", "/free").status == 200
    assert proxy.request("a.test").status == 500


def test_the_pool_of_the_rule_that_takes_the_target(proxy: LocalProxy, other: Other) -> None:
    own = auth()
    del own["pool"]
    proxy.apply(policy(external_auth=own), host("a.test", rule("/check", "auth", policy_id="q"), rule("/")), policy("q", hsts={"max_age_s": 1}))
    assert proxy.request("a.test", "/x").status == 200
    assert other.questions[-1].target == "/check?of=%2Fx"
    serve(proxy, {"target": [text("/check/plain")]})
    proxy.apply(host("a.test", rule("/web"), {"path": "/check", "match": "prefix", "ingress": "default/web", "pool": "auth"}))
    assert proxy.request("a.test", "/web").status == 200
    assert other.questions[-1].target == "/check/plain"
    serve(proxy, {"target": [text("/nobody")]})
    assert proxy.request("a.test", "/web").status == 500


def test_answers_are_remembered_by_their_key(proxy: LocalProxy, other: Other) -> None:
    other.lines = ["X-User: alice", "Set-Cookie: c=1"]
    serve(proxy, auth(copied=["X-User"], cache_key=[{"value": "header", "text": "authorization"}]))
    for _ in range(5):
        answer = proxy.request("a.test", headers={"Authorization": "one"})
        assert seen(answer)["x-user"] == ["alice"] and answer.headers["set-cookie"] == "c=1"
    assert other.count == 1
    other.status = 403
    assert proxy.request("a.test", headers={"Authorization": "two"}).status == 403
    assert proxy.request("a.test", headers={"Authorization": "two"}).status == 403
    assert other.count == 3
    # Another policy under the same name has nothing of what was remembered.
    serve(proxy, auth(copied=["X-User"], cache_key=[{"value": "header", "text": "authorization"}], cache_times=[{"status": 403, "seconds": 60}]))
    for _ in range(3):
        assert proxy.request("a.test", headers={"Authorization": "one"}).status == 403
    assert other.count == 4


def test_clients_with_http2(proxy: LocalProxy, other: Other) -> None:
    serve(proxy, auth(copied=["X-User"]))
    other.lines = ["X-User: alice"]
    with H2Client(proxy.address, proxy.https, "a.test") as client:
        for _ in range(5):
            answer = client.request("a.test", "/x", method="POST", body=b"hello", headers={"x-user": "root", "x_user": "root"})
            assert answer.status == 200 and answer.json["body"] == "hello" and seen(answer)["x-user"] == ["alice"]
        other.status = 403
        assert client.request("a.test").status == 403


QUESTIONS_MAX = {"haproxy": 256, "nginx": 2 * 256}  # of a policy, under way at a time; nginx counts for each worker


def test_too_many_questions_are_answered_at_once(proxy: LocalProxy, other: Other) -> None:
    most = QUESTIONS_MAX[proxy.name]
    serve(proxy, auth())
    other.is_silent = True
    with contextlib.ExitStack() as stack:
        links = [stack.enter_context(contextlib.closing(dial(proxy.address, proxy.http))) for _ in range(most + 40)]
        for link in links:
            link.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")

        poll = select.poll()
        for link in links:
            poll.register(link, select.POLLIN)

        def answered() -> list[socket.socket]:
            ready = {fd for fd, _ in poll.poll(0)}
            return [link for link in links if link.fileno() in ready]
        wait_for(lambda: other.count + len(answered()) == len(links), "each to be asked about or answered", PATIENCE)
        refused = answered()
        assert refused and other.count <= most
        for link in refused:
            assert read_answer(link).status == 500
        other.release()
        for link in set(links) - set(refused):
            assert read_answer(link).status == 200
    assert proxy.request("a.test").status == 200


def test_changes_under_load_lose_nothing(proxy: LocalProxy, other: Other) -> None:
    serve(proxy, auth())
    with Load(proxy.address, proxy.http, [("a.test", "/x")]) as load:
        for turn in range(20):
            serve(proxy, auth(copied=["X-User"] if turn % 2 else []), **({"hsts": {"max_age_s": 1}} if turn % 3 else {}))
        good = load.good
        wait_for(lambda: load.good > good + 20, "requests behind the last change")
    assert not load.failures
    assert other.count > 0


def test_a_pool_that_stands_in(proxy: LocalProxy, web: Backend, other: Other) -> None:
    proxy.apply(pool("web"), policy(fallback_pool="auth", rewrite=[text("/other")],
                                    fallback_headers=[{"name": "X-Service", "value": [{"value": "service"}, text(":"), {"value": "service-port"}]}]))
    answer = proxy.request("a.test", "/x?y")
    assert answer.headers["x-backend"] == "auth" and other.questions[-1].target == "/x?y"
    assert other.questions[-1].one("x-service") is not None
    proxy.apply(pool("web", web))
    answer = proxy.request("a.test", "/x?y")
    assert answer.headers["x-backend"] == "web" and answer.json["target"] == "/other?y" and "x-service" not in seen(answer)
    proxy.apply(pool("web"), pool("auth"))
    assert proxy.request("a.test", "/x").status == 503


class Knockers(Flood):
    """Clients that come again whoever dies; what they are answered is counted."""

    def _run(self, number: int) -> None:
        while not self._end.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                answer = send(*self._where, self._host, "/x")
                with self._lock:
                    self.answers[answer.status, b""] += 1


def test_nobody_gets_in_while_processes_die(proxy: LocalProxy, web: Backend, other: Other) -> None:
    other.status = 403
    serve(proxy, auth(), error_pages={"statuses": [{"status": 502}], "pool": "auth"}, mirrors=[{"pool": "auth"}])
    with Knockers(proxy.address, proxy.http, "a.test", clients=3) as clients:
        for kill in (proxy.kill_provider, proxy.kill_proxy) * 2:
            before = clients.answers[403, b""]
            wait_for(lambda: clients.answers[403, b""] > before + 20, "refusals")  # noqa: B023
            kill()
            if kill == proxy.kill_provider:
                proxy.start()
        before = clients.answers[403, b""]
        wait_for(lambda: clients.answers[403, b""] > before + 20, "refusals")
    assert {status for status, _ in clients.answers} == {403}
    assert web.count == 0
    other.status = 200
    assert proxy.request("a.test").status == 200
