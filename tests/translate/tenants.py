#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One tenant has tens of thousands of everything: what others' changes cost does not grow, and what his own cost grows no faster.

usage: tenants.py ENGINE_TOOL

Instructions are counted by callgrind, so the figures are the same on every machine.
"""
from __future__ import annotations

import argparse
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.callgrind import Callgrind  # noqa: E402  pylint: disable=wrong-import-position
from lib.certs import Pair, self_signed  # noqa: E402  pylint: disable=wrong-import-position
from lib.engine import Engine  # noqa: E402  pylint: disable=wrong-import-position
from lib.frames import Body  # noqa: E402  pylint: disable=wrong-import-position

SKIPPED = 77
SMALL = 1_000  # Ingresses of others
MOST = 20_000  # of each kind, of the one
OTHERS_MAX = 1.2  # how much more an event of others may cost beside him
OWN_MAX = 1.25  # how much more an event of his own may cost, for each of what he has, when he has four times as much
SHARED = 6  # Ingresses that have all their hosts in common
NOW = 1_800_000_000
FIRST = "a0"  # comes before all others where names are sorted: what a limit leaves out are the last
CERTIFICATE = self_signed("*.big.org")
RENEWED = self_signed("*.big.org")


def ingress(namespace: str, name: str, rules: list[Body], **more: object) -> Body:
    return {"kind": "ingress", "namespace": namespace, "name": name, "uid": f"u-{namespace}-{name}", "created": 10, "rules": rules, **more}


def rule(host: str, *paths: str, service: str = "web") -> Body:
    backend = {"service": service, "port_number": 80}
    return {"host": host, "paths": [{"path": path, "type": "prefix", "backend": backend} for path in paths or ["/"]]}


def service(namespace: str, name: str) -> Body:
    return {"kind": "service", "namespace": namespace, "name": name, "uid": f"s-{namespace}-{name}", "has_selector": True, "created": 10,
            "ports": [{"name": "p", "port": 80}]}


def endpoints(namespace: str, owner: str, part: int, count: int) -> Body:
    addresses = [{"ip": f"10.{part // 200}.{part % 200}.{i}", "ready": True, "serving": True} for i in range(count)]
    return {"kind": "endpoints", "namespace": namespace, "name": f"{owner}-{part}", "uid": f"e-{namespace}-{owner}-{part}", "service": owner,
            "subsets": [{"ports": [{"name": "p", "port": 8080}], "addresses": addresses}]}


def secret(name: str, pair: Pair = CERTIFICATE) -> Body:
    return {"kind": "secret", "namespace": "big", "name": name, "uid": f"t-{name}", "certificate": pair.pem, "private_key": pair.key}


def small_ingress(i: int, path: str = "/") -> Body:
    return ingress(f"n{i}", "web", [rule(f"n{i}.org", path)], tls=[{"secret": "none", "hosts": [f"n{i}.org"]}])


def small() -> list[Body]:
    records = []
    for i in range(SMALL):
        records += [small_ingress(i), service(f"n{i}", "web"), endpoints(f"n{i}", "web", 0, 2)]
    return records


def large_tls(count: int, first: str = "t0") -> Body:
    """Every second entry has a Secret that is there; each of the others wants one of its own, which is not."""
    hosts = [first, *(f"t{i}" for i in range(1, count))]
    return ingress("big", "tls", [rule("tls.big.org")], tls=[
        {"secret": f"none-{i}" if i % 2 else "good", "hosts": [f"{host}.big.org"]} for i, host in enumerate(hosts)])


def large_rules(count: int, first: str = "r0") -> Body:
    hosts = [first, *(f"r{i}" for i in range(1, count))]
    return ingress("big", "rules", [rule(f"{host}.big.org", service=f"of-{i}") for i, host in enumerate(hosts)], tls=[{"secret": "open"}] * 100)


def large_paths(count: int, first: str = "0") -> Body:
    return ingress("big", "paths", [rule("paths.big.org", f"/{first}", *(f"/{i}" for i in range(1, count)), service="many")])


def large_shared(count: int, number: int, first: str = "h0") -> Body:
    hosts = [first, *(f"h{i}" for i in range(1, count // SHARED))]
    return ingress("big", f"shared-{number}", [rule(f"{host}.big.org", f"/{number}") for host in hosts], created=10 + number,
                   tls=[{"secret": "good", "hosts": [f"{host}.big.org" for host in hosts]}])


def large(count: int) -> list[Body]:
    return [secret("good"), secret("open"), service("big", "many"), large_tls(count), large_rules(count), large_paths(count),
            *(endpoints("big", "many", i, 100) for i in range(count // 100)),
            *(ingress("big", f"one-{i}", [rule(f"i{i}.big.org")]) for i in range(count)),
            *(large_shared(count, number) for number in range(SHARED))]


OWN = {
    "TLS entry": lambda count: large_tls(count, FIRST),
    "rule": lambda count: large_rules(count, FIRST),
    "path": lambda count: large_paths(count, "the-longest"),
    "endpoint": lambda count: endpoints("big", "many", 0, 99),
    "Ingress": lambda count: ingress("big", "one-0", [rule("other.big.org")]),
    "one of those with the same hosts": lambda count: large_shared(count, 0, FIRST),
    "Secret": lambda count: secret("good", RENEWED),
}


class Counted:
    """An engine that has a state, whose instructions from then on are counted."""

    def __init__(self, tool: str, folder: pathlib.Path, records: list[Body]):
        self.callgrind = Callgrind(folder)
        self.engine = Engine(tool, under=["valgrind", *self.callgrind.options("--instr-atstart=no")])
        self.engine.set_time(NOW)
        self.engine.provider_up({"grouping": "merged"})
        self.engine.watcher_up()
        self.engine.snapshot(records)
        self.work()
        self.ask("instrumentation", "on")

    def ask(self, *words: str) -> None:
        self.callgrind.ask(self.engine.process.pid, *words)

    def work(self) -> None:
        self.engine.work()
        assert not self.engine.refused, self.engine.refused

    def cost(self, *records: Body) -> int:
        """Instructions to take them, one after the other."""
        writes = self.engine.provider.writes
        self.ask("zero")
        for record in records:
            self.engine.upsert(record)
            self.work()
        spent = self.callgrind.instructions(self.engine.process.pid)
        assert self.engine.provider.writes > writes, "nothing came of it"
        return spent


def cost_of_others(counted: Counted) -> dict[str, float]:
    """After a first one, which finds memory that is not there again."""
    counted.cost(small_ingress(0, "/first"), endpoints("n0", "web", 0, 1))
    picked = range(1, SMALL, SMALL // 20)
    return {"path": counted.cost(*(small_ingress(i, "/other") for i in picked)) / len(picked),
            "endpoint": counted.cost(*(endpoints(f"n{i}", "web", 0, 3) for i in picked)) / len(picked)}


def measure(tool: str, records: list[Body], count: int) -> tuple[dict[str, float], dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        counted = Counted(tool, pathlib.Path(folder), records)
        with counted.engine:
            others = cost_of_others(counted)
            own = {name: counted.cost(change(count)) for name, change in OWN.items()} if count else {}
            reasons = {event["reason"] for event in counted.engine.source.take_events()}
            print(f"{count} of each: reasons {sorted(reasons)}")
    return others, own


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    tool = parser.parse_args().tool
    if shutil.which("valgrind") is None:
        print("skipped: there is no valgrind to count instructions with")
        return SKIPPED
    failed = False
    alone, _ = measure(tool, small(), 0)
    _, own = measure(tool, small() + large(MOST // 4), MOST // 4)
    beside, own_most = measure(tool, small() + large(MOST), MOST)
    for name, cost in beside.items():
        ratio = cost / alone[name]
        failed |= ratio > OTHERS_MAX
        print(f"{name} of others: {alone[name]:,.0f} alone, {cost:,.0f} beside the large one: {ratio:.2f} (at most {OTHERS_MAX})")
    for name, cost in own_most.items():
        ratio = cost / own[name] / 4
        failed |= ratio > OWN_MAX
        print(f"{name} of his own: {own[name]:,} of {MOST // 4}, {cost:,} of {MOST}: {ratio:.2f} for each (at most {OWN_MAX})")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
