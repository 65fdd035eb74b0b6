#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random clusters under random changes, with neighbours that come, go and read slowly: what the provider has in the end is what an
engine that saw only the end makes of it, and so are the Events that stand. On the way every batch keeps the rules of PROTOCOL.md.

usage: random_changes.py ENGINE_TOOL [--seed N] [--runs N] [--steps N]
"""
from __future__ import annotations

import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.engine import POLICIES, PROTOCOLS, Engine  # noqa: E402  pylint: disable=wrong-import-position
from translate.cluster import Certificates, RandomCluster  # noqa: E402  pylint: disable=wrong-import-position

OPTIONS = ["--default-certificate=a/t0", "--certificate-warning-days=0"]
SHARED = "--shared-hosts"
NOW = 1_800_000_000


def event_key(event: dict) -> tuple:
    return tuple(event.get(key, "") for key in ("namespace", "name", "uid", "type", "reason", "message"))


def status_key(status: dict) -> tuple:
    return (status["kind"], status["namespace"], status["name"], status["uid"], str(status.get("addresses")),
            status.get("release", False))


def statuses_of(engine: Engine) -> list[tuple]:
    """A repeated release of an Ingress depends on what there was before."""
    return sorted({status_key(s) for s in engine.source.statuses if s["kind"] == "service" or not s.get("release")})


def answer_all(engine: Engine) -> None:
    """What serves Services is applied, so that those that are leaving can go; everything else fails."""
    for (kind, name), body in list(engine.provider.objects.items()):
        if kind == "load-balancer":
            works = name.startswith("class/") or "/service:" in name
            engine.answer("lb-status", {"id": name, "rev": body["rev"], "state": "applied" if works else "failed",
                                        "message": "" if works else f"of {name}", "addresses_known": True,
                                        "addresses": [{"ip": "198.51.100.7"}]})
    if engine.provider.serial:
        engine.answer("applied", {"serial": engine.provider.serial})
    engine.work()


def from_scratch(tool: str, options: list[str], records: list[dict], settings: dict, capabilities: dict) -> tuple:
    with Engine(tool, options) as engine:
        engine.set_time(NOW)
        engine.provider_up(capabilities)
        engine.watcher_up(settings)
        engine.snapshot(records)
        engine.work()
        answer_all(engine)
        answer_all(engine)
        assert not engine.refused, engine.refused
        return engine.provider.objects, sorted(event_key(e) for e in engine.source.events), statuses_of(engine)


def draw_capabilities(draw: random.Random) -> dict:
    capabilities = {"grouping": draw.choice(["per-ingress", "merged"])}
    if draw.random() < 0.3:
        capabilities["policies"] = draw.sample(POLICIES, draw.randrange(6))
    if draw.random() < 0.3:
        capabilities["protocols"] = draw.sample([*PROTOCOLS, "udp"], draw.randrange(1, 6))
    if draw.random() < 0.5:
        capabilities["features"] = ["source-ranges"]
    if draw.random() < 0.5:
        capabilities["features"] = [*capabilities.get("features", []), "applied"]
    return capabilities


class Run:
    def __init__(self, tool: str, seed: int, certificates: Certificates):
        self.tool = tool
        self.draw = random.Random(seed)
        self.cluster = RandomCluster(seed, certificates)
        self.capabilities = draw_capabilities(self.draw)
        self.settings = {"without_load_balancer_class": self.draw.random() < 0.5}
        self.options = [*OPTIONS, SHARED] if self.draw.random() < 0.2 else OPTIONS
        self.engine = Engine(tool, self.options)
        self.watcher = False
        self.provider = False

    def connect_watcher(self) -> None:
        self.engine.watcher_up(self.settings)
        kinds = ["ingress", "ingress-class", "service", "endpoints", "secret", "config-map"]
        self.draw.shuffle(kinds)
        records = list(self.cluster.records.values())
        self.draw.shuffle(records)
        kept = self.draw.sample(records, self.draw.randrange(len(records) + 1)) if self.draw.random() < 0.3 else []
        self.engine.snapshot([record for record in records if record not in kept],
                             kinds[:self.draw.randrange(6)] if self.draw.random() < 0.2 else kinds, kept)
        self.watcher = True

    def disconnect_watcher(self) -> None:
        self.engine.watcher_down()
        self.watcher = False

    def connect_provider(self) -> None:
        if self.draw.random() < 0.1:
            self.capabilities = draw_capabilities(self.draw)
        self.engine.provider_up(self.capabilities)
        self.provider = True

    def report(self) -> None:
        balancers = sorted(name for kind, name in self.engine.provider.objects if kind == "load-balancer")
        if not balancers:
            return
        name = self.draw.choice(balancers)
        state = self.draw.choice(["applied", "applied", "failed", "pending"])
        known = self.draw.random() < 0.7
        rev = self.engine.provider.objects["load-balancer", name]["rev"] if self.draw.random() < 0.7 else 1
        answer = {"id": name, "rev": rev, "state": state, "addresses_known": known, "message": self.draw.choice(["", "no", "so"])}
        if known:
            answer["addresses"] = [{"ip": f"192.0.2.{self.draw.randrange(3)}"} for _ in range(self.draw.randrange(3))]
        self.engine.answer("lb-status", answer)
        if self.draw.random() < 0.5:
            self.engine.answer("applied", {"serial": self.draw.randrange(self.engine.provider.serial + 1)})

    def step(self) -> None:
        choice = self.draw.random()
        if choice < 0.02:
            self.disconnect_watcher() if self.watcher else self.connect_watcher()
        elif choice < 0.05:
            if self.provider:
                self.engine.provider_down()
                self.provider = False
            else:
                self.connect_provider()
        elif choice < 0.12 and self.provider:
            self.report()
        elif choice < 0.15:
            if self.watcher:
                kind, namespace, name = self.draw.choice([*self.cluster.records, ("ingress", "a", "i9"), ("service", "a", "s9")])
                self.engine.keep({"kind": kind, "namespace": namespace, "name": name})
        else:
            kind, record = self.cluster.step()
            if self.watcher:
                self.engine.upsert(record) if kind == "upsert" else self.engine.delete(record)
        if self.draw.random() < 0.5:
            slow = self.draw.random() < 0.6
            self.engine.work(provider=self.draw.randrange(6) if slow else None,
                             source=self.draw.randrange(3) if slow else None)

    def settle(self) -> None:
        """Both neighbours anew, everything through."""
        if self.watcher:
            self.disconnect_watcher()
        if not self.provider:
            self.connect_provider()
        self.engine.watcher_up(self.settings)
        self.engine.snapshot(list(self.cluster.records.values()))
        self.engine.work()
        assert not self.engine.missing, self.engine.missing
        answer_all(self.engine)
        answer_all(self.engine)
        # Whoever comes now hears all that stands.
        self.engine.source.take_events()
        self.engine.source.take_statuses()
        self.engine.watcher_down()
        self.engine.watcher_up(self.settings)
        writes = self.engine.provider.writes
        self.engine.snapshot(list(self.cluster.records.values()))
        self.engine.work()
        assert self.engine.provider.writes == writes, "written though nothing changed"
        events = sorted(event_key(e) for e in self.engine.source.events)
        assert all(e.get("standing") for e in self.engine.source.events)
        got = self.engine.provider.objects, events, statuses_of(self.engine)
        want = from_scratch(self.tool, self.options, list(self.cluster.records.values()), self.settings, self.capabilities)
        for name, a, b in zip(("objects", "events", "statuses"), got, want):
            assert a == b, difference(name, a, b)

    def empty(self) -> None:
        """Everything goes, one by one: nothing is left."""
        keys = sorted(self.cluster.records)
        self.draw.shuffle(keys)
        for key in keys:
            self.engine.delete(self.cluster.records[key])
            self.engine.work()
        assert self.engine.provider.objects == {}, self.engine.provider.objects


def difference(name: str, a: object, b: object) -> str:
    if isinstance(a, dict):
        keys = [key for key in {**a, **b} if a.get(key) != b.get(key)]
        return f"{name}:\n" + "\n".join(f"  {key}:\n    changed {a.get(key)}\n    scratch {b.get(key)}" for key in keys)
    return f"{name}:\n  only changed {[x for x in a if x not in b]}\n  only scratch {[x for x in b if x not in a]}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    certificates = Certificates()
    for seed in range(args.seed, args.seed + args.runs):
        run = Run(args.tool, seed, certificates)
        run.engine.set_time(NOW)
        try:
            for _ in range(args.steps):
                run.step()
            run.settle()
            run.empty()
            run.engine.close()
        except (AssertionError, BrokenPipeError):
            print(f"failed with --seed {seed} --runs 1 --steps {args.steps}", file=sys.stderr)
            raise
    print(f"{args.runs} runs of {args.steps} steps agree")


if __name__ == "__main__":
    main()
