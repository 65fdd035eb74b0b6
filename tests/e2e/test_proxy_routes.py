# SPDX-License-Identifier: Apache-2.0
"""The table of cases (tests/cases/routes.json): what each proxy does with each request, sent as bytes on a connection of its own."""
from __future__ import annotations

import json

import pytest

from lib.answer import Answer
from lib.backend import Backend
from lib.certs import self_signed
from lib.local_proxy import certificate, host, pool, rule_of
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import exchange
from lib.route_table import CASES, bytes_of, expand, title

CLIENT = "127.0.0.9"


class Table:
    """A proxy that serves one of the table's balancers, with a backend for each pool."""

    def __init__(self, name: str, balancer: str):
        wanted = CASES["balancers"][balancer]
        rules = {name: [rule_of(expand(rule[0]), rule[2], rule[1], **(rule[3] if len(rule) > 3 else {})) for rule in listed]
                 for name, listed in wanted["hosts"].items()}
        pools = {rule["pool"] for listed in rules.values() for rule in listed} | {wanted.get("default_pool", "EMPTY")}
        self.pods = [Backend(item) for item in sorted(pools - {"EMPTY", "MISSING"})]
        self.proxy = proxy_class(name)(start=False)
        self.proxy.send(certificate("default", self_signed("default.test")), pool("EMPTY"), *(pool(pod.name, pod) for pod in self.pods),
                        *(host(expand(name), *listed) for name, listed in rules.items()),
                        self.proxy.balancer(https=True, default_certificate="default", default_pool=wanted.get("default_pool", "")))
        self.proxy.commit()
        try:
            self.proxy.start()
            self.proxy.wait_applied()
        except AssertionError:
            self.stop()
            raise

    def stop(self) -> list[str]:
        complaints = self.proxy.stop()
        for pod in self.pods:
            pod.stop()
        return complaints


@pytest.fixture(scope="module")
def tables():
    """Proxies by name and balancer, started when first asked for; one that does not start is not tried again."""
    running: dict[tuple[str, str], Table] = {}
    dead: dict[tuple[str, str], Exception] = {}

    def table(name: str, balancer: str) -> Table:
        if (name, balancer) in dead:
            raise AssertionError("it did not start") from dead[name, balancer]
        if (name, balancer) not in running:
            try:
                running[name, balancer] = Table(name, balancer)
            except Exception as problem:
                dead[name, balancer] = problem
                raise
        return running[name, balancer]

    yield table
    complaints = [complaint for item in running.values() for complaint in item.stop()]
    assert not complaints, "\n".join(complaints)


def check_answer(row: dict, name: str, answer: Answer) -> None:
    allowed = row.get(name, row.get("status", 200))
    assert answer.status in (allowed if isinstance(allowed, list) else [allowed]), f"{answer.status} {answer.body[:300]!r}"
    if "reaches" in row and answer.status == 200:
        assert answer.headers.get("x-backend") == row["reaches"]


def check_seen(row: dict, seen: dict, port: int) -> None:
    """What the backend saw is what it should see."""
    headers: dict[str, str] = {}
    for key, value in seen["headers"]:
        headers[key.lower()] = f"{headers[key.lower()]}, {value}" if key.lower() in headers else value
    words = {"{client}": CLIENT, "{port}": str(port)}

    def meant(text: str) -> str:
        for word, value in words.items():
            text = text.replace(word, value)
        return expand(text)

    for key, value in row.get("sees", {}).items():
        assert headers.get(key) == meant(value), f"{key} of {headers}"
    for key, value in row.get("holds", {}).items():
        assert meant(value) in headers.get(key, ""), f"{key} of {headers}"
    for item in row.get("lacks", []):
        key, _, word = item.partition(":")
        found = headers.get(key)
        assert found is None or (word and word not in found.lower()), f"{key} of {headers}"
    if "told" in row:
        assert seen["host"] == row["told"][seen["name"]]
    if "never" in row:
        assert row["never"] not in json.dumps(seen)
    if "body" in row:
        assert seen["body"] == row["body"]
    if "target" in row:
        assert seen["target"] == expand(row["target"]), "the backend got another path than the one that was matched"


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("row", CASES["rows"], ids=title)
def test_case(row, name, tables):
    proxy = tables(name, row["balancer"]).proxy
    port = proxy.https if row.get("tls") else proxy.http
    answer = exchange(proxy.address, port, bytes_of(row), tls=row.get("tls", False), sni=row.get("sni"), source=CLIENT)
    check_answer(row, name, answer)
    if answer.headers.get("x-backend") and answer.body:
        check_seen(row, answer.json, port)
    assert not proxy.is_dead()


@pytest.mark.parametrize("name", PROXIES)
def test_nothing_was_smuggled_and_the_proxy_lives(name, tables):
    """After all rows: only what rows ask for has reached a backend, and no process of the proxy had to be started anew."""
    table = tables(name, "plain")
    assert not [pod.name for pod in table.pods if any("/smuggled" in target for target in pod.targets)]
    assert len(table.proxy.masters()) == 1
    assert table.proxy.reached("a.test", "/foo") == "a-exact-foo"
