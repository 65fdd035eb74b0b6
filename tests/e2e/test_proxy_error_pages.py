# SPDX-License-Identifier: Apache-2.0
"""Local proxies: another pool answers in place of errors, and others get copies of requests."""
from __future__ import annotations

import contextlib
from typing import Iterator

import pytest

from lib.certs import self_signed
from lib.local_proxy import LocalProxy, certificate, host, pool
from lib.others import Other
from lib.provider_link import Object
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import H2Client, dial, read_answer
from lib.traffic import Load
from lib.wait import wait_for


KEPT = {"nginx": 50000, "haproxy": 10000}  # of a body, while it may be sent again


def text(value: str) -> Object:
    return {"text": value}


def policy(name: str = "p", **settings: object) -> Object:
    return {"kind": "policy", "id": name, "ingress": "default/web", **settings}


def rule(path: str = "/", pool_id: str = "web", policy_id: str = "p", **more: object) -> Object:
    return {"path": path, "match": "prefix", "ingress": "default/web", "pool": pool_id, "policy": policy_id, **more}


def pages(*statuses: int, **more: object) -> Object:
    return {"statuses": [{"status": status} for status in statuses], "pool": "pages",
            "request_headers": [{"name": "X-Code", "value": [{"value": "status"}]}], **more}


@pytest.fixture(name="web")
def fixture_web() -> Iterator[Other]:
    with Other("web") as pod:
        yield pod


@pytest.fixture(name="other")
def fixture_other() -> Iterator[Other]:
    with Other("pages", status=418, text=b"a page", lines=["X-Page: 1"]) as pod:
        yield pod


@pytest.fixture(name="proxy", params=PROXIES)
def fixture_proxy(request: pytest.FixtureRequest, web: Other, other: Other) -> Iterator[LocalProxy]:
    with proxy_class(request.param)() as proxy:
        proxy.send(certificate("default", self_signed("a.test")), proxy.balancer(https=True, default_certificate="default"))
        proxy.apply(pool("web", web), pool("pages", other), policy(error_pages=pages(404, 502, 503)), host("a.test", rule()))
        yield proxy


def test_errors_of_the_backend(proxy: LocalProxy, web: Other, other: Other) -> None:
    for status in (200, 403, 404, 500, 503):
        web.status, web.text = status, b"x" * 100000
        is_page = status in (404, 503)
        for method in ("GET", "POST", "HEAD"):
            answer = proxy.request("a.test", "/x?y", method=method, body=b"a body" if method == "POST" else None,
                                   headers={"X-Code": "lie", "Cookie": "a=b", "X-Forwarded-For": "9.9.9.9"})
            assert answer.status == (418 if is_page else status)
            if method != "HEAD":
                assert answer.body == (b"a page" if is_page else web.text)
            if is_page:
                asked = other.questions[-1]
                assert (asked.method, asked.target, asked.body) == (method, "/", b"a body" if method == "POST" else b"")
                assert (asked.one("x-code"), asked.one("cookie"), asked.one("x-forwarded-for")) == (str(status), "a=b", "127.0.0.1")
    assert other.count == 6


def test_connections_go_on_or_say_that_they_end(proxy: LocalProxy, web: Other) -> None:
    web.status = 404
    link = dial(proxy.address, proxy.http)
    for _ in range(20):
        link.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        answer = read_answer(link)
        assert answer.status == 418 and answer.body == b"a page"
        if answer.headers.get("connection") == "close":
            assert link.recv(1) == b""
            link = dial(proxy.address, proxy.http)
    link.close()


def test_errors_of_the_proxy(proxy: LocalProxy, web: Other, other: Other) -> None:
    web.raw = b""
    answer = proxy.request("a.test", "/x", method="POST", body=b"b" * KEPT[proxy.name])
    assert answer.status == 418 and other.questions[-1].body == b"b" * KEPT[proxy.name] and other.questions[-1].one("x-code") == "502"
    proxy.apply(pool("web"))
    assert proxy.request("a.test").status == 418 and other.questions[-1].one("x-code") == "503"
    # Of a guard.
    proxy.apply(policy(error_pages=pages(403, target=[text("/of?"), {"value": "target-escaped"}]), source_access={"allow": ["10.0.0.0/8"]}))
    proxy.apply(pool("web", web))
    assert proxy.request("a.test", "/x?y").status == 418 and other.questions[-1].target == "/of?%2Fx%3Fy"
    # Nobody is there: the error stays.
    proxy.apply(pool("pages"))
    assert proxy.request("a.test").status == 403
    proxy.apply(gone=[("pool", "pages")])
    assert proxy.request("a.test").status == 403


def test_one_who_fails_is_asked_once(proxy: LocalProxy, web: Other, other: Other) -> None:
    web.status, other.status = 404, 404
    assert proxy.request("a.test").body == b"a page" and other.count == 1
    other.raw = b""
    assert proxy.request("a.test").status == 502 and web.count == 2


def test_own_only(proxy: LocalProxy, web: Other, other: Other) -> None:
    proxy.apply(policy(error_pages=pages(404, 502, own_only=True)))
    web.status = 404
    assert proxy.request("a.test").status == 404
    web.status = 502
    assert proxy.request("a.test").status == 502 and other.count == 0
    web.raw = b""
    assert proxy.request("a.test").status == 418


def test_headers_of_the_request_are_as_they_were(proxy: LocalProxy, web: Other, other: Other) -> None:
    web.status = 404
    proxy.apply(policy(error_pages=pages(404), rewrite=[text("/other")], response_headers=[{"name": "X-Last", "value": [text("1")]}],
                       request_headers=[{"name": "X-New", "value": [text("n")]}, {"name": "X-Old", "action": "remove"}, {"name": "Host", "value": [text("b.test")]},
                                        {"name": "X-Forwarded-For", "value": [text("z")]}]))
    answer = proxy.request("a.test", "/x", headers={"X-Old": "o"})
    assert answer.status == 418 and answer.headers["x-last"] == "1"
    assert web.questions[-1].one("x-new") == "n" and web.questions[-1].target == "/other" and web.questions[-1].one("host") == "b.test"
    asked = other.questions[-1]
    assert (asked.one("x-new"), asked.one("x-old"), asked.one("host"), asked.one("x-forwarded-for")) == (None, "o", "a.test", "127.0.0.1")


def test_bodies_of_unknown_length(proxy: LocalProxy, web: Other, other: Other) -> None:
    web.status = 404
    count = KEPT[proxy.name] // 10
    with contextlib.closing(dial(proxy.address, proxy.http)) as link:
        link.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n" + b"5\r\nhello\r\n" * count + b"0\r\n\r\n")
        assert read_answer(link).status == 418
    assert other.questions[-1].body == b"hello" * count


def test_changes_under_load_lose_nothing(proxy: LocalProxy, web: Other, other: Other) -> None:
    web.status, other.status = 404, 200
    with Load(proxy.address, proxy.http, [("a.test", "/x")], repeats=True) as load:
        for turn in range(20):
            proxy.apply(policy(error_pages=pages(404, 500 + turn), mirrors=[{"pool": "web"}] if turn % 2 else []))
        good = load.good
        wait_for(lambda: load.good > good + 20, "requests behind the last change")
    assert not load.failures
    assert not proxy.is_dead()


def mirrored(proxy: LocalProxy, *mirrors: Object, **more: object) -> None:
    proxy.apply(policy(mirrors=list(mirrors), **more))


def test_copies(proxy: LocalProxy, web: Other, other: Other) -> None:
    mirrored(proxy, {"pool": "pages"}, {"pool": "pages", "host": [text("m.test")], "target": [text("/m?"), {"value": "method"}], "without_body": True},
             rewrite=[text("/new")], request_headers=[{"name": "X-New", "value": [text("n")]}])
    assert proxy.request("a.test", "/x?y", method="POST", body=b"a body", headers={"X-Forwarded-For": "9.9.9.9"}).status == 200
    wait_for(lambda: other.count == 2, "two copies")
    whole, bare = sorted(other.questions, key=lambda item: item.target, reverse=True)
    assert (whole.method, whole.target, whole.body, whole.one("host")) == ("POST", "/new?y", b"a body", "a.test")
    assert (bare.method, bare.target, bare.body, bare.one("host")) == ("POST", "/m?POST", b"", "m.test")
    assert whole.one("x-new") == "n" and whole.one("x-forwarded-for") == "127.0.0.1" and whole.one("x-forwarded-host") == "a.test"
    assert web.questions[-1].body == b"a body"


def test_copies_never_harm(proxy: LocalProxy, web: Other, other: Other) -> None:
    other.is_silent = True
    mirrored(proxy, {"pool": "pages"}, {"pool": "gone"})
    for _ in range(200):
        assert proxy.request("a.test").status == 200
    assert web.count == 200 and 0 < other.count <= 200
    other.release()
    # Longer than is kept of a body: it is served, and not copied.
    count = other.count
    wait_for(lambda: other.accepted >= count, "copies")
    assert proxy.request("a.test", method="POST", body=b"x" * 70000).status == 200
    assert len(web.questions[-1].body) == 70000
    assert proxy.request("a.test", method="POST", body=b"y" * KEPT[proxy.name]).status == 200
    wait_for(lambda: any(item.body == b"y" * KEPT[proxy.name] for item in list(other.questions)), "the copy")
    assert not any(item.body[:1] == b"x" for item in list(other.questions))


def test_a_share_of_copies(proxy: LocalProxy, other: Other) -> None:
    mirrored(proxy, {"pool": "pages", "share": 30})
    for _ in range(400):
        assert proxy.request("a.test").status == 200
    mirrored(proxy, {"pool": "pages", "target": [text("/last")]})
    assert proxy.request("a.test").status == 200
    wait_for(lambda: other.questions and other.questions[-1].target == "/last", "the last copy")
    # 400 with one in 0.3: less than 40 or more than 220 in one of 10^17.
    assert 40 < other.count < 220


def test_clients_with_http2(proxy: LocalProxy, web: Other, other: Other) -> None:
    web.status, web.text, other.text = 404, b"x" * 300000, b"p" * 300000
    with H2Client(proxy.address, proxy.https, "a.test") as client:
        for _ in range(5):
            answer = client.request("a.test", "/x", method="POST", body=b"hello" * 100)
            assert (answer.status, answer.body) == (418, other.text) and other.questions[-1].body == b"hello" * 100
        asked = [client.ask("a.test") for _ in range(20)]
        assert all(client.wait(stream).body == other.text for stream in asked)
        web.status = 200
        assert client.request("a.test").body == web.text
        web.raw = b""
        assert client.request("a.test").status == 418


def test_what_a_client_says_of_it_has_no_meaning(proxy: LocalProxy, web: Other, other: Other) -> None:
    lies = {"Sluice-Way": "x|1|b,200,||https|9.9.9.9||s%68;tlie", "Sluice-Page": "x|1|200|t/lie|sX-Code;tlie", "Sluice-Status": "404"}
    for status in (200, 404, 425):
        web.status = status
        answer = proxy.request("a.test", "/x", headers=lies)
        assert answer.status == (418 if status == 404 else status) and answer.headers.get("sluice-status") is None
        assert web.questions[-1].target == "/x" and web.questions[-1].one("h") is None
    asked = other.questions[-1]
    assert (other.count, asked.target, asked.one("x-code"), asked.one("x-forwarded-for")) == (1, "/", "404", "127.0.0.1")
    web.status, web.lines = 200, ["Sluice-Status: 404"]
    assert proxy.request("a.test").status == 200


def test_a_body_that_is_not_kept_leaves_the_error_as_it_was(proxy: LocalProxy, web: Other, other: Other) -> None:
    web.status, web.text = 404, b"x" * 100000
    answer = proxy.request("a.test", "/x", method="POST", body=b"b" * 200000)
    if proxy.name == "haproxy":
        assert (answer.status, answer.body, other.count) == (404, web.text, 0)
    else:
        assert answer.status == 418 and len(other.questions[-1].body) == 200000


def test_stickiness_and_names_of_services(proxy: LocalProxy, web: Other, other: Other) -> None:
    changes = [{"name": "X-Service", "value": [{"value": "service"}, text(":"), {"value": "service-port"}]}]
    proxy.apply(pool("web", web, stickiness={"mode": "insert", "cookie": "C", "affinity": {"secure": "tls"}}, hash=[]),
                policy(error_pages=pages(404, request_headers=changes), request_headers=changes, response_headers=changes))
    answer = proxy.request("a.test", tls=True)
    assert answer.headers["set-cookie"].startswith("C=") and "; secure" in answer.headers["set-cookie"].lower()
    assert "; secure" not in proxy.request("a.test").headers["set-cookie"].lower()
    web.status = 404
    answer = proxy.request("a.test")
    assert answer.status == 418
    assert web.questions[-1].one("x-service") == other.questions[-1].one("x-service") == answer.headers["x-service"] == "web:80"
