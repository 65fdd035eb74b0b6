# SPDX-License-Identifier: Apache-2.0
"""Why a request was not let in, as the access logs say it: guards that need somebody else (a server that is asked, a list of users, a certificate), and time."""
from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from lib.backend import Backend
from lib.certs import Authority, self_signed
from lib.local_proxy import LocalProxy, certificate, host, pool, rule_of
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import client_context, dial, read_answer
from lib.wait import wait_for

PATIENCE = 30.0
HASH = "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/"  # of "password"
SLOW = "$6$rounds=100000$saltsalt$UgLb3wKOUAS158mDXK8yYZkcNO.Fnxn6xkUpjHsa3vfraGVjDjPKLeIzvB5Z6p537Qx6H/jinbCH3j67JnTgf."  # likewise, in more rounds


def policy(name: str, **settings: Any) -> dict[str, Any]:
    return {"kind": "policy", "id": name, "ingress": "shop/front", **settings}


def asking(status: int) -> dict[str, Any]:
    return {"pool": "auth", "target": [{"text": f"/check?status={status}"}]}


class World:
    def __init__(self, proxy: LocalProxy, web: Backend, log: pathlib.Path):
        self.proxy, self.web, self.log = proxy, web, log

    def entries(self) -> list[dict[str, Any]]:
        lines = self.log.read_text("ascii").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def told(self, path: str) -> tuple[int, str, str]:
        found = wait_for(lambda: [one for one in self.entries() if one["path"] == path], f"a line of {path}", PATIENCE)
        assert len(found) == 1
        return found[0]["status"], found[0]["reason"], found[0]["ingress"]


@contextlib.contextmanager
def served(name: str, tmp: pathlib.Path) -> Iterator[World]:
    log = tmp / "access.log"
    with Backend("web") as web, Backend("auth") as auth, proxy_class(name)(arguments=["--access-log", "json", "--access-log-to", str(log)]) as proxy:
        proxy.send(certificate("default", self_signed("a.test")), proxy.balancer(https=True, default_certificate="default"))
        rules = {"asked": "asked", "forbidden": "forbidden", "broken": "broken", "late": "late"}
        proxy.apply(pool("web", web), pool("auth", auth), policy("asked", external_auth=asking(401)), policy("forbidden", external_auth=asking(403)),
                    policy("broken", external_auth=asking(500)), policy("late", timeouts={"read_ms": 300}),
                    host("a.test", *(rule_of(f"/{path}", "web", ingress="shop/front", policy=of) for path, of in sorted(rules.items(), key=lambda one: -len(one[0])))))
        yield World(proxy, web, log)


@pytest.fixture(scope="module", params=PROXIES, name="world")
def fixture_world(request, tmp_path_factory) -> Iterator[World]:
    with served(request.param, tmp_path_factory.mktemp("log")) as one:
        yield one


@pytest.fixture(scope="module", name="nginx")
def fixture_nginx(tmp_path_factory) -> Iterator[World]:
    """For what HAProxy does not do."""
    with served("nginx", tmp_path_factory.mktemp("log")) as one:
        yield one


@pytest.mark.parametrize("path, status", [("/asked", 401), ("/forbidden", 403), ("/broken", 500)])
def test_a_server_that_is_asked(world, path, status):
    assert world.proxy.request("a.test", path).status == status
    assert world.told(path) == (status, "external-auth", "front")


def test_an_endpoint_that_takes_too_long(world):
    try:
        assert world.proxy.request("a.test", "/late?hold", method="POST", body=b"x").status == 504
    finally:
        world.web.release()
    assert world.told("/late?hold") == (504, "timeout", "front")


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def test_a_password(nginx):
    nginx.proxy.apply({"kind": "users", "id": "u", "users": [{"name": "alice", "hash": HASH}]},
                      policy("inside", basic_auth={"realm": "r", "users": "u"}), host("b.test", rule_of("/", "web", ingress="shop/back", policy="inside")))
    assert nginx.proxy.request("b.test", "/without").status == 401
    assert nginx.proxy.request("b.test", "/wrong", headers=basic("alice", "wr0ng")).status == 401
    assert nginx.proxy.request("b.test", "/right", headers=basic("alice", "password")).status == 200
    assert nginx.told("/without") == nginx.told("/wrong") == (401, "basic-auth", "back")
    assert nginx.told("/right") == (200, "", "back")
    assert not [one for one in nginx.entries() if "wr0ng" in json.dumps(one)]


def test_too_many_passwords_at_a_time(nginx):
    nginx.proxy.apply({"kind": "users", "id": "s", "users": [{"name": "alice", "hash": SLOW}]}, policy("slow", basic_auth={"realm": "r", "users": "s"}),
                      host("c.test", rule_of("/", "web", ingress="shop/busy", policy="slow")))

    def attempt(number: int) -> int:
        return nginx.proxy.request("c.test", f"/busy-{number}", headers=basic("alice", f"guess-{number}")).status
    with concurrent.futures.ThreadPoolExecutor(160) as clients:
        statuses = list(clients.map(attempt, range(160)))
    assert set(statuses) == {401, 503}
    for number in (statuses.index(401), statuses.index(503)):
        assert nginx.told(f"/busy-{number}") == ((401, "basic-auth", "busy") if statuses[number] == 401 else (503, "busy", "busy"))


def test_a_certificate(nginx):
    authority = Authority("good")
    nginx.proxy.apply(host("a.test", rule_of("/", "web", ingress="shop/front"), client_tls={"ca": authority.pem}))
    for pair, path, told in ((None, "/stranger", (400, "client-tls", "front")), (authority.sign("client"), "/friend", (200, "", "front"))):
        context = client_context()
        if pair:
            pair.load_into(context)
        with contextlib.closing(dial(nginx.proxy.address, nginx.proxy.https)) as plain, context.wrap_socket(plain, server_hostname="a.test") as link:
            link.sendall(b"GET %b HTTP/1.1\r\nHost: a.test\r\n\r\n" % path.encode())
            assert read_answer(link).status == told[0]
        assert nginx.told(path) == told
