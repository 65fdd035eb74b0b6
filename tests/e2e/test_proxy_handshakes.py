# SPDX-License-Identifier: Apache-2.0
"""Ciphers of a host, and paths that answer clients without a certificate: what nginx alone can do."""
from __future__ import annotations

import contextlib
import json
import ssl
from typing import Any, Iterator

import pytest

from lib.backend import Backend
from lib.certs import Authority, self_signed
from lib.local_proxy import LB, LocalProxy, certificate, host, pool, rule_of
from lib.nginx import Nginx
from lib.raw_http import client_context, dial, read_answer
from lib.wait import wait_for

STRONG, WEAK = "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"
GOOD = Authority("good")
CLIENT = GOOD.sign("client")


@pytest.fixture(name="proxy")
def fixture_proxy() -> Iterator[LocalProxy]:
    with Nginx() as proxy, Backend("web") as web, Backend("why") as why:
        proxy.send(proxy.balancer(https=True, default_certificate="default"))
        proxy.apply(certificate("default", self_signed("a.test")), pool("web", web), pool("why", why), host("a.test", ("/", "web")),
                    host("free.test", ("/", "web")))
        yield proxy


def cipher(proxy: LocalProxy, offered: str, name: str | None = "a.test", version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> str | None:
    """The cipher of a connection; None: there is none that both have."""
    context = client_context()
    context.maximum_version = version
    context.set_ciphers(offered)
    with contextlib.closing(dial(proxy.address, proxy.https)) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=name) as link:
                return link.cipher()[0]  # type: ignore[index]
        except (ssl.SSLError, ConnectionError):
            return None


def want(proxy: LocalProxy, name: str = "a.test", **settings: Any) -> None:
    proxy.apply(host(name, ("/", "web"), handshake=settings))


def test_ciphers_of_a_host(proxy: LocalProxy) -> None:
    workers = proxy.workers()
    want(proxy, ciphers=[STRONG])
    assert cipher(proxy, f"{WEAK}:{STRONG}") == STRONG and cipher(proxy, WEAK) is None
    assert cipher(proxy, WEAK, "free.test") == WEAK and cipher(proxy, WEAK, None) == WEAK
    assert str(cipher(proxy, WEAK, version=ssl.TLSVersion.TLSv1_3)).startswith("TLS_")  # chosen among others
    want(proxy, ciphers=[WEAK])
    assert cipher(proxy, STRONG) is None and cipher(proxy, f"{STRONG}:{WEAK}") == WEAK
    proxy.apply(host("a.test", ("/", "web")))
    assert cipher(proxy, STRONG) == STRONG
    assert not proxy.was_reloaded_since(workers)


def test_whose_order_counts(proxy: LocalProxy) -> None:
    def chosen() -> list[str | None]:
        return [cipher(proxy, f"{STRONG}:{WEAK}"), cipher(proxy, f"{WEAK}:{STRONG}")]

    want(proxy, ciphers=[WEAK, STRONG])
    assert chosen() == [WEAK, WEAK]
    want(proxy, ciphers=[WEAK, STRONG], order="client")
    assert chosen() == [STRONG, WEAK]
    want(proxy, order="server")
    assert len(set(chosen())) == 1
    want(proxy, order="client")
    assert chosen() == [STRONG, WEAK]


def test_hosts_below_a_wildcard(proxy: LocalProxy) -> None:
    want(proxy, "*.w.test", ciphers=[STRONG])
    assert cipher(proxy, WEAK, "x.w.test") is None and cipher(proxy, STRONG, "X.w.test.") == STRONG
    proxy.apply(host("x.w.test", ("/", "web")))
    assert cipher(proxy, WEAK, "x.w.test") == WEAK


def test_names_that_are_none_are_told_and_left_out(proxy: LocalProxy) -> None:
    for text in ("NO-SUCH-CIPHER", "ALL", "AES128-SHA:!AES256-SHA", "-AES128-SHA", "@SECLEVEL=0", "x\ny", ""):
        want(proxy, ciphers=[STRONG, text])
        assert 'ciphers of its own for host "a.test"' in proxy.translator.notices(LB)["TrafficPolicyRefused"]
        assert cipher(proxy, WEAK) == WEAK


def test_they_outlive_the_proxy(proxy: LocalProxy) -> None:
    want(proxy, ciphers=[STRONG])
    for _ in range(3):
        proxy.kill_supervisor()
        assert cipher(proxy, WEAK) is None
        wait_for(proxy.supervisors, "the next sluice-proxy")
        proxy.wait_applied()
        assert cipher(proxy, WEAK) is None and cipher(proxy, STRONG) == STRONG


# ---- paths in place of an error ----


def ask(proxy: LocalProxy, method: str = "GET", target: str = "/x?a=b", pair: Any = None) -> tuple[int, dict[str, Any]]:
    context = client_context()
    if pair is not None:
        pair.load_into(context)
    with contextlib.closing(dial(proxy.address, proxy.https)) as plain, context.wrap_socket(plain, server_hostname="a.test") as link:
        link.sendall(f"{method} {target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n".encode())
        answer = read_answer(link, method)
    return answer.status, json.loads(answer.body) if answer.status == 200 and method != "HEAD" else {}


def test_a_path_answers_who_has_no_certificate(proxy: LocalProxy) -> None:
    rules = [("/why", "why"), ("/", "web")]
    proxy.apply(host("a.test", *rules, client_tls={"ca": GOOD.pem, "error_path": "/why/not"}))
    status, seen = ask(proxy, "POST")
    headers = {name.lower(): value for name, value in seen["headers"]}
    assert (status, seen["method"], seen["target"], seen["name"]) == (200, "GET", "/why/not", "why") and headers["ssl-client-verify"] == "NONE"
    assert ask(proxy, "HEAD")[0] == 200
    assert [ask(proxy, pair=CLIENT)[1][key] for key in ("target", "name")] == ["/x?a=b", "web"]
    proxy.apply(host("a.test", *rules, client_tls={"ca": GOOD.pem, "error_path": "/why", "subject": "CN=client"}))
    assert ask(proxy)[0] == 403 and ask(proxy, pair=CLIENT)[0] == 200
    proxy.apply(host("a.test", ("/x", "web"), client_tls={"ca": GOOD.pem, "error_path": "/why"}))
    assert ask(proxy)[0] == 404


def test_rules_of_that_path_count(proxy: LocalProxy) -> None:
    proxy.apply({"kind": "policy", "id": "kept", "source_access": {"allow": ["192.0.2.0/24"]}}, {"kind": "policy", "id": "moved", "rewrite": [{"text": "/there"}]})
    rules = [rule_of("/why", "why", policy="kept"), rule_of("/moved", "why", policy="moved"), rule_of("/", "web")]
    proxy.apply(host("a.test", *rules, client_tls={"ca": GOOD.pem, "error_path": "/why"}))
    assert ask(proxy)[0] == 403
    proxy.apply(host("a.test", *rules, client_tls={"ca": GOOD.pem, "error_path": "/moved"}))
    assert [ask(proxy)[1][key] for key in ("target", "name")] == ["/there", "why"]
