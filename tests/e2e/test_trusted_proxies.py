# SPDX-License-Identifier: Apache-2.0
"""Proxies in front of ours: who the client is according to those that are trusted, and to nobody else."""
from __future__ import annotations

import contextlib
from typing import Iterator

import pytest

from lib.answer import Answer
from lib.backend import Backend
from lib.certs import self_signed
from lib.local_proxy import LocalProxy, certificate, host, pool, rule_of
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import dial, read_answer

FRONT, STRANGER = "127.0.0.77", "127.0.0.78"  # a proxy in front, and somebody else
TRUSTED = ["--trusted-proxies", "127.0.0.77", "--trusted-proxies", "10.0.0.0/8", "--trusted-proxies", "fd00::/8"]
POLICY = {"kind": "policy", "id": "few", "rev": 1, "source_access": {"allow": ["203.0.113.0/24", "2001:db8::/32"]}}

CASES = [
    ("one address", ["203.0.113.7"], "203.0.113.7"),
    ("the first from the right that is nobody's", ["198.51.100.1, 203.0.113.7, 10.1.2.3, fd00::7"], "203.0.113.7"),
    ("what a client has written itself does not count", ["192.0.2.66, 203.0.113.7"], "203.0.113.7"),
    ("headers are one list", ["192.0.2.66", "203.0.113.7", "10.1.2.3"], "203.0.113.7"),
    ("of trusted ones alone the farthest", ["10.0.0.9, 10.0.0.8"], "10.0.0.9"),
    ("an address of IPv6", ["2001:db8::1"], "2001:db8::1"),
    ("nobody behind what is no address is believed", ["192.0.2.66, unknown"], FRONT),
    ("nor farther away", ["192.0.2.66, unknown, 10.1.2.3"], "10.1.2.3"),
    ("no header", [], FRONT),
    ("eight proxies", ["203.0.113.7" + ", 10.0.0.1" * 7], "203.0.113.7"),
]


@contextlib.contextmanager
def served(name: str, *arguments: str) -> Iterator[LocalProxy]:
    pair = self_signed("open.test")
    with Backend("app") as app, proxy_class(name)(arguments=list(arguments)) as proxy:
        proxy.apply(pool("app", app), POLICY, certificate("c", pair, "open.test"), host("open.test", ("/", "app")),
                    host("few.test", rule_of("/", "app", policy="few")), proxy.balancer(https=True))
        yield proxy


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request):
    with served(request.param, *TRUSTED) as running:
        yield running


def lines(name: str, chain: list[str], header: str = "X-Forwarded-For") -> bytes:
    return f"GET / HTTP/1.1\r\nHost: {name}\r\n{''.join(f'{header}: {value}' + chr(13) + chr(10) for value in chain)}\r\n".encode()


def ask(proxy: LocalProxy, name: str, chain: list[str], source: str = FRONT, tls: bool = False, header: str = "X-Forwarded-For") -> Answer:
    with contextlib.closing(dial(proxy.address, proxy.https if tls else proxy.http, name if tls else None, tls, source=source)) as link:
        link.sendall(lines(name, chain, header))
        return read_answer(link)


def seen(answer: Answer) -> dict[str, str]:
    """What the backend saw."""
    assert answer.status == 200, answer
    return {name.lower(): value for name, value in answer.json["headers"]}


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("about, chain, client", CASES, ids=[case[0] for case in CASES])
def test_who_the_client_is(proxy, about, chain, client, tls):
    got = seen(ask(proxy, "open.test", chain, tls=tls))
    told = f'"[{client}]"' if ":" in client else client
    assert (got["x-forwarded-for"], got["x-real-ip"]) == (client, client)
    assert got["forwarded"].startswith(f"for={told};")


@pytest.mark.parametrize("about, chain, client", CASES, ids=[case[0] for case in CASES])
def test_nobody_else_is_believed(proxy, about, chain, client):
    got = seen(ask(proxy, "open.test", chain, STRANGER))
    assert (got["x-forwarded-for"], got["x-real-ip"]) == (STRANGER, STRANGER)


def test_lists_of_networks_are_about_the_client(proxy):
    assert ask(proxy, "few.test", ["203.0.113.7"]).status == 200
    assert ask(proxy, "few.test", ["2001:db8::7"]).status == 200
    assert ask(proxy, "few.test", ["198.51.100.7"]).status == 403
    assert ask(proxy, "few.test", ["203.0.113.7, 198.51.100.7"]).status == 403
    assert ask(proxy, "few.test", ["203.0.113.7"], STRANGER).status == 403
    assert ask(proxy, "few.test", []).status == 403


def test_each_request_of_a_connection_has_its_client(proxy):
    with contextlib.closing(dial(proxy.address, proxy.http, source=FRONT)) as link:
        for name, chain, status in [("open.test", ["192.0.2.1"], 200), ("few.test", ["203.0.113.7"], 200), ("few.test", [], 403),
                                    ("few.test", ["198.51.100.7"], 403), ("few.test", ["203.0.113.8"], 200)]:
            link.sendall(lines(name, chain))
            answer = read_answer(link)
            assert answer.status == status
            if status == 200:
                assert seen(answer)["x-forwarded-for"] == chain[0]


@pytest.mark.parametrize("name", PROXIES)
def test_without_the_option_nobody_is_believed(name):
    with served(name) as proxy:
        assert seen(ask(proxy, "open.test", ["203.0.113.7"]))["x-forwarded-for"] == FRONT
        assert ask(proxy, "few.test", ["203.0.113.7"]).status == 403


@pytest.mark.parametrize("name", PROXIES)
def test_another_header_in_its_place(name):
    with served(name, *TRUSTED, "--client-address-header", "CF-Connecting-IP") as proxy:
        assert seen(ask(proxy, "open.test", ["203.0.113.7"], header="CF-Connecting-IP"))["x-forwarded-for"] == "203.0.113.7"
        assert seen(ask(proxy, "open.test", ["203.0.113.7"]))["x-forwarded-for"] == FRONT
        assert seen(ask(proxy, "open.test", ["203.0.113.7"], STRANGER, header="CF-Connecting-IP"))["x-forwarded-for"] == STRANGER


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("given", [["--trusted-proxies", "0.0.0.0/0"], ["--trusted-proxies", "::/0"], ["--trusted-proxies", "front.example"],
                                   ["--trusted-proxies", "10.0.0.0/33"], ["--client-address-header", "X Y"], ["--client-address-header", ""]])
def test_what_makes_no_sense_is_refused_at_the_start(name, given):
    with proxy_class(name)(start=False, arguments=given) as proxy:
        assert proxy.provider.start().reap() == 2
