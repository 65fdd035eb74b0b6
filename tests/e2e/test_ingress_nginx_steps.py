# SPDX-License-Identifier: Apache-2.0
"""Cases of ingress-nginx in which something changes, or a client takes its time: what the tables of tests/cases/ingress-nginx cannot say."""
from __future__ import annotations

import contextlib
import time
from typing import Any, Iterator

import pytest

from lib.ctl import Ctl
from lib.ingress_cases import PREFIX
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.raw_http import WebSocket, dial, read_answer
from lib.traffic_table import claimed_words
from lib.wait import wait_for

CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}
HASHES = {"test": "ann:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n", "secret": "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"}
SECRETS = 120


@pytest.fixture(scope="module", params=PROXIES, name="line")
def fixture_line(request) -> Iterator[ProxyLine]:
    with ProxyLine(request.param, translator=["--ingress-nginx"]) as line:
        line.name = request.param
        line.cluster.apply(CLASS)
        yield line


@pytest.fixture(name="web")
def fixture_web(line, pods) -> Any:
    web = pods("web")
    line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [web.ip]))
    return web


def need(line: ProxyLine, word: str) -> None:
    if word not in claimed_words(line.name):
        pytest.skip(f"{line.name} does not claim {word}")


def ingress(line: ProxyLine, name: str, annotations: dict[str, str], path: str = "/", kind: str = "Prefix", service: str = "web",
            host: str = "") -> dict[str, Any]:
    return line.cluster.ingress(name, [{"host": host or f"{name}.test", "paths": [(path, kind, service, 80)]}],
                                {PREFIX + key: value for key, value in annotations.items()}, ingressClassName="nginx")


def password(name: str, word: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, "stringData": {"auth": HASHES[word]}}


def status(line: ProxyLine, host: str, path: str = "/", **how: Any) -> int | None:
    try:
        return line.proxy.request(host, path, **how).status
    except OSError:
        return None


def wait_status(line: ProxyLine, wanted: int, host: str, path: str = "/", **how: Any) -> None:
    wait_for(lambda: status(line, host, path, **how) == wanted, f"{host}{path} to be answered with {wanted}", PATIENCE)


def test_regular_expressions_go(line, web) -> None:
    """RX-22"""
    line.cluster.apply(ingress(line, "usual", {}, "/foo", host="rx.test"),
                       ingress(line, "regex", {"use-regex": "true"}, "/r.*", "ImplementationSpecific", host="rx.test"))
    wait_status(line, 200, "rx.test", "/FOObar")
    line.cluster.delete("ingress", "regex")
    wait_status(line, 404, "rx.test", "/FOObar")
    assert status(line, "rx.test", "/foo") == 200


def test_a_secret_counts_as_it_is(line, web) -> None:
    """BA-12, BA-13"""
    need(line, "basic-auth")
    line.cluster.apply(password("users", "test"), ingress(line, "users", {"auth-type": "basic", "auth-secret": "users"}))
    old, new = ({"Authorization": f"Basic {text}"} for text in ("YW5uOnRlc3Q=", "YW5uOnNlY3JldA=="))
    wait_status(line, 200, "users.test", headers=old)
    line.cluster.apply(password("users", "secret"))
    wait_status(line, 200, "users.test", headers=new)
    assert status(line, "users.test", headers=old) == 401
    line.cluster.delete("secret", "users")
    wait_status(line, 503, "users.test", headers=new)


def test_a_rate_lets_in_again(line, web) -> None:
    """RL-03"""
    line.cluster.apply(ingress(line, "rate", {"limit-rps": "1", "limit-burst-multiplier": "1"}))
    wait_status(line, 200, "rate.test")
    wait_status(line, 503, "rate.test")
    wait_status(line, 200, "rate.test")


def test_idle_connections_do_not_count(line, web) -> None:
    """RL-15"""
    line.cluster.apply(ingress(line, "idle", {"limit-connections": "1"}))
    wait_status(line, 200, "idle.test")
    with contextlib.ExitStack() as stack:
        links = [stack.enter_context(contextlib.closing(dial(line.proxy.address, line.proxy.http))) for _ in range(2)]
        def status(link) -> int:
            link.sendall(b"GET / HTTP/1.1\r\nHost: idle.test\r\n\r\n")
            return read_answer(link).status

        # A request ends for the proxy a moment after its client has the answer; an idle connection would never stop counting.
        for link in [*links, *links]:
            wait_for(lambda link=link: status(link) == 200, "the request before it to have ended", PATIENCE)


@pytest.mark.parametrize("word", ["on", "", "off"])
def test_a_body_is_waited_for_or_not(line, web, word) -> None:
    """BS-08, BS-09"""
    is_kept = word != "off"
    if is_kept and line.name == "haproxy":
        pytest.skip("HAProxy passes bodies on as they come")
    name = f"body-{word or 'usual'}"
    line.cluster.apply(ingress(line, name, {"proxy-request-buffering": word} if word else {}))
    wait_status(line, 200, f"{name}.test")
    with contextlib.closing(dial(line.proxy.address, line.proxy.http)) as link:
        link.sendall(f"POST /slow-{name} HTTP/1.1\r\nHost: {name}.test\r\nContent-Length: 20000\r\n\r\n".encode() + b"x" * 10000)
        if not is_kept:
            wait_for(lambda: f"/slow-{name}" in web.begun, "the backend to have got the beginning", PATIENCE)
        else:
            wait_status(line, 200, f"{name}.test", f"/later-{name}")
            assert f"/slow-{name}" not in web.begun and f"/later-{name}" in web.begun
        link.sendall(b"x" * 10000)
        assert read_answer(link, "POST").status == 200


def test_a_websocket_that_says_nothing_is_cut(line, web) -> None:
    """TO-04, TO-05"""
    line.cluster.apply(ingress(line, "cut", {"proxy-read-timeout": "1", "proxy-send-timeout": "1"}), ingress(line, "open", {}))
    for name in ("cut", "open"):
        wait_status(line, 200, f"{name}.test")
    with WebSocket(line.proxy.address, line.proxy.http, "cut.test") as cut, WebSocket(line.proxy.address, line.proxy.http, "open.test") as kept:
        begun = time.monotonic()
        assert cut.reader.read(1) == b"" and time.monotonic() - begun > 0.5
        assert kept.echo(b"x") == b"x"


def test_canaries_come_and_go(line, web, pods) -> None:
    """CA-34, CA-35"""
    line.cluster.apply(line.cluster.service("next"), line.cluster.slice("next", [pods("next").ip]), ingress(line, "main", {}, host="ca.test"),
                       ingress(line, "next", {"canary": "true", "canary-weight": "100"}, service="next", host="ca.test"))
    line.wait_serves("ca.test", "/", "next")
    line.cluster.delete("ingress", "next")
    line.wait_serves("ca.test", "/", "web")
    line.cluster.apply(ingress(line, "next", {"canary": "true", "canary-weight": "100"}, service="next", host="ca.test"))
    line.wait_serves("ca.test", "/", "next")
    line.cluster.delete("ingress", "main")
    wait_status(line, 404, "ca.test")


def test_a_canary_of_all_requests_is_no_conflict(line, web, pods) -> None:
    line.cluster.apply(line.cluster.service("all"), line.cluster.slice("all", [pods("all").ip]), ingress(line, "whole", {}),
                       ingress(line, "whole-next", {"canary": "true", "canary-weight": "100"}, service="all", host="whole.test"))
    line.wait_serves("whole.test", "/", "all")
    assert "PathConflict" not in Ctl(line).reasons("whole")


def test_many_secrets_by_name_keep_nobody_waiting(line, web) -> None:
    """Each is watched by itself: that must not use up the connections that all else needs."""
    need(line, "basic-auth")
    names = [f"many-{number}" for number in range(SECRETS)]
    line.cluster.apply(*(password(name, "test") for name in names), *(ingress(line, name, {"auth-type": "basic", "auth-secret": name}) for name in names))
    for name in names:
        wait_status(line, 200, f"{name}.test", headers={"Authorization": "Basic YW5uOnRlc3Q="})
    line.cluster.apply(ingress(line, "after-many", {}))
    line.cluster.wait_addresses("after-many")
