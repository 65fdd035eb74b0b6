# SPDX-License-Identifier: Apache-2.0
"""Certificates of clients on each local proxy."""
from __future__ import annotations

import contextlib
import json
import ssl
from typing import Any, Iterator
from urllib.parse import unquote

import pytest

from lib.answer import Answer
from lib.backend import Backend
from lib.certs import Authority, Pair, self_signed
from lib.local_proxy import LocalProxy, certificate, host, pool
from lib.provider_link import Object
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import client_context, dial, read_answer
from lib.wait import wait_for

GOOD, OTHER = Authority("good"), Authority("other")
CLIENT, STRANGER = GOOD.sign("client"), OTHER.sign("stranger")
REQUEST = b"GET /x HTTP/1.1\r\nHost: %b\r\nssl-client-verify: SUCCESS\r\nSSL-Client-Subject-DN: CN=root\r\nssl-client-cert: x\r\nssl_client_verify: y\r\n\r\n"


@pytest.fixture(name="proxy", params=PROXIES)
def fixture_proxy(request: pytest.FixtureRequest) -> Iterator[LocalProxy]:
    with proxy_class(request.param)() as proxy, Backend("web") as web:
        proxy.send(proxy.balancer(https=True, default_certificate="default"))
        proxy.apply(certificate("default", self_signed("a.test")), pool("web", web), host("a.test", ("/", "web")), host("free.test", ("/", "web")))
        yield proxy


def want(proxy: LocalProxy, **settings: Any) -> None:
    proxy.apply(host("a.test", ("/", "web"), client_tls={"ca": GOOD.pem, **settings}))


def context_of(pair: Pair | None, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    context = client_context()
    if pair is not None:
        pair.load_into(context)
    if version is not None:
        context.maximum_version = version
    return context


@contextlib.contextmanager
def connection(proxy: LocalProxy, context: ssl.SSLContext, sni: str | None, session: ssl.SSLSession | None = None) -> Iterator[ssl.SSLSocket]:
    with contextlib.closing(dial(proxy.address, proxy.https)) as plain, context.wrap_socket(plain, server_hostname=sni, session=session) as link:
        yield link


def ask_on(link: ssl.SSLSocket, name: str = "a.test") -> Answer:
    link.sendall(REQUEST % name.encode())
    return read_answer(link)


def ask(proxy: LocalProxy, pair: Pair | None, name: str = "a.test", sni: str | None = "a.test") -> Answer:
    with connection(proxy, context_of(pair), sni) as link:
        return ask_on(link, name)


def said(answer: Answer) -> dict[str, str]:
    """What the backend was told of the certificate."""
    assert answer.status == 200, (answer.status, answer.body)
    found = [(name.lower(), value) for name, value in json.loads(answer.body)["headers"] if name.lower().startswith("ssl")]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_who_is_let_in(proxy: LocalProxy) -> None:
    assert said(ask(proxy, CLIENT))["ssl-client-verify"] == "SUCCESS"  # nothing is wanted yet: the client's own words pass
    want(proxy)
    assert said(ask(proxy, CLIENT)) == {"ssl-client-verify": "SUCCESS", "ssl-client-subject-dn": "CN=client", "ssl-client-issuer-dn": "CN=good"}
    for pair in (None, STRANGER, self_signed("client"), GOOD.sign("old", days=-1)):
        assert ask(proxy, pair).status == 400
    want(proxy, verify="optional")
    assert said(ask(proxy, None)) == {"ssl-client-verify": "NONE"}
    assert ask(proxy, STRANGER).status == 400
    want(proxy, verify="asked", passed=True)
    told = said(ask(proxy, STRANGER))
    assert told["ssl-client-verify"].startswith("FAILED:") and told["ssl-client-subject-dn"] == "CN=stranger"
    assert unquote(told["ssl-client-cert"]).encode() == STRANGER.pem
    want(proxy, error_location=[{"text": "https://login.test/?"}, {"value": "path"}])
    answer = ask(proxy, None)
    assert (answer.status, answer.headers["location"]) == (302, "https://login.test/?/x")
    proxy.apply(host("a.test", ("/", "web"), client_tls={}))
    assert ask(proxy, CLIENT).status == 403


def is_asked(proxy: LocalProxy, sni: str | None) -> bool:
    """Whether a client is asked for a certificate."""
    context = context_of(None, ssl.TLSVersion.TLSv1_2)
    seen: list[int] = []
    context._msg_callback = lambda _link, way, _version, _content, kind, _data: seen.append(kind) if way == "read" else None  # type: ignore[attr-defined]
    with connection(proxy, context, sni):
        return any(int(kind) == 13 for kind in seen)  # CertificateRequest


def test_nobody_is_asked_and_backends_hear_so(proxy: LocalProxy) -> None:
    nothing = {"ssl-client-verify": "NONE"}
    want(proxy)
    assert is_asked(proxy, "a.test")
    with connection(proxy, context_of(CLIENT), "a.test") as link:
        assert ask_on(link).status == 200
        want(proxy, verify="asked", unasked=True)
        assert said(ask_on(link)) == nothing  # the connection has shown a good one
    wait_for(lambda: not is_asked(proxy, "a.test"), "nobody to be asked any more")
    assert said(ask(proxy, CLIENT)) == said(ask(proxy, None)) == said(ask(proxy, CLIENT, sni="free.test")) == nothing
    assert said(proxy.request("a.test", headers={"ssl-client-verify": "SUCCESS"})) == {}
    want(proxy, verify="asked", unasked=True, subject="CN=client")
    assert ask(proxy, CLIENT).status == 403
    proxy.apply(host("a.test", ("/", "web"), client_tls={"verify": "asked", "unasked": True}))
    assert ask(proxy, CLIENT).status == 403  # what authorities there would be nobody knows
    want(proxy)
    assert ask(proxy, None).status == 400 and said(ask(proxy, CLIENT))["ssl-client-verify"] == "SUCCESS"


def test_only_hosts_that_want_one_ask(proxy: LocalProxy) -> None:
    proxy.apply(host("*.w.test", ("/", "web"), client_tls={"ca": GOOD.pem}), host("plain.w.test", ("/", "web")))
    want(proxy)
    assert [is_asked(proxy, name) for name in ("a.test", "x.w.test", "free.test", "plain.w.test", "nobody.test", None)] == [
        True, True, False, proxy.name == "haproxy", False, False]  # HAProxy asks below a wildcard that asks, and wants nothing there
    assert ask(proxy, CLIENT, "x.w.test", "x.w.test").status == 200
    assert ask(proxy, None, "plain.w.test", "plain.w.test").status == 200


def test_subjects(proxy: LocalProxy) -> None:
    want(proxy, subject="CN=cl.*t$")
    assert ask(proxy, CLIENT).status == 200
    assert ask(proxy, GOOD.sign("else")).status == 403
    assert ask(proxy, STRANGER).status == 400
    assert proxy.request("a.test").status == 403
    want(proxy)
    assert said(proxy.request("a.test", headers={"ssl-client-verify": "SUCCESS"})) == {}


def test_connections_for_another_name(proxy: LocalProxy) -> None:
    want(proxy)
    for sni in ("free.test", None, "nobody.test"):
        assert ask(proxy, CLIENT, "a.test", sni).status == 421
    with connection(proxy, context_of(CLIENT), "a.test") as link:
        assert ask_on(link).status == 200 and ask_on(link, "free.test").status == 200 and ask_on(link, "A.TEST.").status == 200
        # What is wanted has changed since then.
        proxy.apply(host("a.test", ("/", "web"), client_tls={"ca": OTHER.pem}))
        assert ask_on(link).status == (421 if proxy.name == "nginx" else 400)
    assert ask(proxy, CLIENT).status == 400 and ask(proxy, STRANGER).status == 200


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_that_are_taken_up_again(proxy: LocalProxy, version: ssl.TLSVersion) -> None:
    proxy.apply(host("b.test", ("/", "web"), client_tls={"ca": OTHER.pem}))
    want(proxy)
    context = context_of(CLIENT, version)

    def session_for(name: str) -> ssl.SSLSession:
        with connection(proxy, context, name) as link:
            ask_on(link, name)
            return link.session

    kept = session_for("a.test")
    with connection(proxy, context, "a.test", kept) as link:
        assert link.session_reused
        assert said(ask_on(link))["ssl-client-verify"] == "SUCCESS"
    # Neither for a host that wants others, nor from one that wants none.
    # HAProxy takes it up there, too, and compares the certificate with what is wanted.
    is_nginx = proxy.name == "nginx"
    with connection(proxy, context, "b.test", kept) as link:
        assert link.session_reused is not is_nginx and ask_on(link, "b.test").status in (400, 421)
    free = session_for("free.test")
    with connection(proxy, context, "a.test", free) as link:
        assert link.session_reused is not is_nginx and ask_on(link).status in ([200] if is_nginx else [400, 421])
    with connection(proxy, context, "free.test", free) as link:
        assert link.session_reused
    # Nor once the certificate has been revoked.
    want(proxy, crl=GOOD.revoke(CLIENT))
    with connection(proxy, context, "a.test", kept) as link:
        assert link.session_reused is not is_nginx and ask_on(link).status == 400


def test_who_was_there_before_is_asked(proxy: LocalProxy) -> None:
    """A session of before is not taken up again once the host wants certificates."""
    context = context_of(CLIENT, ssl.TLSVersion.TLSv1_2)
    with connection(proxy, context, "a.test") as link:
        assert ask_on(link).status == 200
        session = link.session
    want(proxy)
    with connection(proxy, context, "a.test", session) as link:
        assert not link.session_reused and ask_on(link).status == 200


def test_authorities_change_without_a_reload(proxy: LocalProxy) -> None:
    want(proxy)
    workers = proxy.workers()
    for authority in (OTHER, GOOD, OTHER):
        want(proxy, ca=authority.pem)
        assert (ask(proxy, CLIENT).status, ask(proxy, STRANGER).status) == ((200, 400) if authority is GOOD else (400, 200))
    proxy.apply(host("a.test", ("/", "web")))
    assert ask(proxy, None).status == 200
    assert not proxy.was_reloaded_since(workers)


def test_nobody_is_refused_when_sluice_proxy_dies(proxy: LocalProxy) -> None:
    want(proxy)
    for number in range(3):
        proxy.kill_supervisor()
        assert ask(proxy, GOOD.sign(f"client{number}")).status == 200
        assert ask(proxy, STRANGER).status == 400
        wait_for(proxy.supervisors, "the next sluice-proxy")
        proxy.wait_applied()


def test_certificates_of_hosts_that_ask(proxy: LocalProxy) -> None:
    """Each is shown the certificate that it would be without: its own, that of a wildcard, or the default one; also when that is renewed, comes and goes."""
    own, wild = self_signed("own.test"), self_signed("*.wild.test")
    names = ("a.test", "own.test", "x.wild.test")

    def shown() -> list[bytes | None]:
        found = []
        for name in names:
            with connection(proxy, context_of(CLIENT), name) as link:
                found.append(link.getpeercert(binary_form=True))
                assert ask_on(link, name).status == 200
        return found

    proxy.apply(certificate("own", own, "own.test", "else.test"), certificate("wild", wild, "*.wild.test"),
                *(host(name, ("/", "web"), client_tls={"ca": GOOD.pem}) for name in names))
    default = shown()[0]
    assert shown() == [default, own.der, wild.der]
    own, wild = self_signed("own.test"), self_signed("*.wild.test")
    proxy.apply(certificate("own", own, "own.test", "else.test"), certificate("wild", wild, "*.wild.test"))
    assert shown() == [default, own.der, wild.der]
    proxy.apply(gone=[("certificate", "own"), ("certificate", "wild")])
    assert shown() == [default, default, default]
    proxy.apply(certificate("own", own, "own.test"), certificate("wild", wild, "*.wild.test"))
    proxy.kill_proxy()
    wait_for(lambda: proxy.reached_or_none("free.test") == "web", "it to be started again")
    assert shown() == [default, own.der, wild.der]
    workers = proxy.workers()
    proxy.restart()
    proxy.wait_applied()
    assert shown() == [default, own.der, wild.der] and not proxy.was_reloaded_since(workers)
    proxy.apply(*(host(name, ("/", "web")) for name in names))
    assert shown() == [default, own.der, wild.der]


def test_revoked_ones(proxy: LocalProxy) -> None:
    bad = GOOD.sign("bad")
    want(proxy, crl=GOOD.revoke(bad))
    assert ask(proxy, CLIENT).status == 200 and ask(proxy, bad).status == 400
    want(proxy, crl=OTHER.revoke(bad))  # nobody knows whether it is: as with nginx's own ssl_crl
    assert ask(proxy, CLIENT).status == 400


def test_depth(proxy: LocalProxy) -> None:
    middle = Authority("middle", GOOD)
    low = Authority("low", middle)
    near, far = middle.sign("near"), low.sign("far")
    near.pem += middle.pem
    far.pem += low.pem + middle.pem
    for depth, wanted in ((1, (200, 400, 400)), (2, (200, 200, 400)), (3, (200, 200, 200))):
        want(proxy, depth=depth)
        assert tuple(ask(proxy, pair).status for pair in (CLIENT, near, far)) == wanted


def test_what_cannot_be_checked_is_closed(proxy: LocalProxy) -> None:
    want(proxy, ca=b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    with contextlib.suppress(OSError):
        assert ask(proxy, CLIENT).status not in range(200, 300)
    want(proxy)
    assert ask(proxy, CLIENT).status == 200
