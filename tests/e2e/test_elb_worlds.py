# SPDX-License-Identifier: Apache-2.0
"""Random worlds through provider-elb: hosts, paths and pools change step by step, and the provider is killed at any time.

After each step every request is answered as an Ingress says. While it goes on every state of the rules that AWS was in is looked at: a request that
is answered alike before and after it was never answered in another way.
"""
from __future__ import annotations

import json
import random
import threading
import time
from typing import Any

import pytest

from lib.elb_traffic import WEB, TrafficBench
from lib.provider_link import load_balancer, virtual_host
from standins.elb import conditions

pytestmark = pytest.mark.plain

HOSTS = ["a.test", "b.test", "x.w.test", "y.w.test", "_u.w.test", "*.w.test", "*.test", "", "10.1.2.3", "local", "a-b.c.test"]
OTHER_HOSTS = ["deep.x.w.test", "w.test", "unknown.org", "A.TEST", "X.w.test", "wxtest", "q.test"]
STEMS = ["", "/a", "/a/b", "/a/b/c", "/ab", "/b", "/A", "/x.y", "/%2e%2e", "/a%2Fb", "/p*", "/*", "/a*b", "/(a|b)", "/[a]", "/a+", "/^a$", "/a{2}", "/c\\d", "/~u", "/k=v;w",
         "/a,b!", "/\"q\"", "/e'f", "/$1", "/{host}"]
POOLS = ["one", "two", "three", "four", "five", "none", "unknown"]
WRITES = ["CreateRule", "DeleteRule", "ModifyRule", "SetRulePriorities", "ModifyListener", "CreateListener"]


class World:
    """What is wanted: hosts with their rules (path, match, pool) in order of precedence."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self.hosts: dict[str, list[tuple[str, str, str]]] = {}
        for name in chance.sample(HOSTS, 4):
            self.hosts[name] = self.rules(chance.randrange(1, 6))

    def rule(self) -> tuple[str, str, str]:
        stem = self.chance.choice(STEMS)
        match = self.chance.choice(["exact", "prefix", "prefix", "implementation-specific"])
        return stem + self.chance.choice(["/", ""]) or "/", match, self.chance.choice(POOLS)

    def rules(self, count: int) -> list[tuple[str, str, str]]:
        return self.ordered([self.rule() for _ in range(count)])

    def ordered(self, rules: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
        """The longest path first, as an Ingress has them; each once."""
        once = {(rule[0].rstrip("/") if rule[1] != "exact" else rule[0], rule[1] == "exact"): rule for rule in rules}
        return sorted(once.values(), key=lambda rule: (-len(rule[0].rstrip("/")), rule[1] != "exact"))

    def change(self) -> None:
        chance = self.chance
        name = chance.choice(sorted(self.hosts) or [""])
        listed = self.hosts.get(name, [])
        what = chance.choice(["host", "no-host", "rule", "rule", "no-rule", "no-rule", "pool", "pool", "swap", "order", "anew"])
        if what == "host" or not listed:
            self.hosts[chance.choice(HOSTS)] = self.rules(chance.randrange(1, 6))
        elif what == "no-host" and len(self.hosts) > 1:
            del self.hosts[name]
        elif what == "rule":
            self.hosts[name] = self.ordered([*listed, self.rule()])
        elif what == "no-rule" and len(listed) > 1:
            listed.remove(chance.choice(listed))
        elif what == "pool":
            at = chance.randrange(len(listed))
            listed[at] = (*listed[at][:2], chance.choice(POOLS))
        elif what == "swap":
            first, second = chance.randrange(len(listed)), chance.randrange(len(listed))
            pools = listed[first][2], listed[second][2]
            listed[first], listed[second] = (*listed[first][:2], pools[1]), (*listed[second][:2], pools[0])
        elif what == "order":
            chance.shuffle(listed)
        else:
            self.hosts[name] = self.rules(chance.randrange(1, 6))

    def objects(self) -> list[dict[str, Any]]:
        return [virtual_host(WEB, name, *((path, f"default/{pool}", match) for path, match, pool in listed)) for name, listed in self.hosts.items()]


def host_of(world: dict[str, list], name: str) -> str | None:
    name = name.lower()
    wildcard = "*." + name.partition(".")[2]
    if name in world and name:
        return name
    if wildcard in world and name.partition(".")[0]:
        return wildcard
    return "" if "" in world else None


def takes(rule: tuple[str, str, str], path: str) -> bool:
    stem, match, _ = rule
    if match == "exact":
        return path == stem
    stem = stem.removesuffix("/")
    return path == stem or path.startswith(stem + "/")


def meant(world: dict[str, list], host: str, path: str) -> str | int:
    """What an Ingress says: the pool, or the status."""
    found = host_of(world, host)
    pool = next((rule[2] for rule in world[found] if takes(rule, path)), None) if found is not None else None
    if pool is None:
        return 404
    return 503 if pool in ("none", "unknown") else f"default/{pool}"


class Watcher:
    """Keeps every state of the rules that is seen."""

    def __init__(self, bench: TrafficBench):
        self.bench = bench
        self.states: list[tuple[str, list]] = []
        self.pools: dict[str, str] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.is_set():
            rules = self.bench.rules()
            text = json.dumps(rules)
            if not self.states or self.states[-1][0] != text:
                self.states.append((text, rules))
            for group in self.bench.aws.groups():
                self.pools[group["arn"]] = group["tags"]["sluice.io/resource"].partition("/pool/")[2]
            self._end.wait(0.005)

    def stop(self) -> None:
        self._end.set()
        self._thread.join(30)

    def answer(self, rules: list, host: str, path: str) -> set[str | int]:
        """All that these rules may answer."""
        request = conditions.Request("GET", host, path, [("Host", host)], "127.0.0.1")
        rule = next((r for r in rules if r["priority"] != "default" and conditions.met(r["conditions"], request, True)), None)
        if rule is None:
            return {404}
        action = rule["actions"][0]
        if action["Type"] == "fixed-response":
            return {int(action["FixedResponseConfig"]["StatusCode"])}
        pools = {self.pools.get(g["TargetGroupArn"], "?") for g in action["ForwardConfig"]["TargetGroups"] if g.get("Weight", 1) > 0}
        return {503 if pool == "default/none" else pool for pool in pools}


def requests(chance: random.Random) -> list[tuple[str, str]]:
    hosts = [name.replace("*", "any") or "some.org" for name in HOSTS] + OTHER_HOSTS
    paths = ["/"] + [stem + end for stem in STEMS for end in ("", "/", "/x", "x") if (stem + end).startswith("/")]
    return [(host, path) for host in hosts for path in paths]


def story(seed: int, steps: int, kills: bool) -> None:
    chance = random.Random(seed)
    world = World(chance)
    asked = requests(chance)
    with TrafficBench() as bench:
        bench.translator.put(load_balancer("web"), *(bench.pool(name, *([None] if name == "none" else [])) for name in POOLS if name != "unknown"),
                             *world.objects(), commit=False)
        bench.serve()
        bench.aws.fault("slow", action=WRITES, delay=0.03)
        for step in range(steps):
            before = json.loads(json.dumps(world.hosts))
            for _ in range(chance.randrange(1, 4)):
                world.change()
            watcher = Watcher(bench)
            try:
                put(bench, world, before, chance if kills else None)
            finally:
                watcher.stop()
            check(bench, watcher, asked, before, world.hosts, f"seed {seed} step {step}", chance)
        assert not bench.aws.control("failures")


def put(bench: TrafficBench, world: World, before: dict[str, list], chance: random.Random | None) -> None:
    gone = [("virtual-host", f"{WEB}/{name or '*'}") for name in before if name not in world.hosts]
    bench.translator.put(*world.objects(), commit=False)
    bench.translator.remove(*gone, commit=False)
    bench.translator.commit()
    if chance is not None and chance.random() < 0.5:
        time.sleep(chance.random() * 0.3)
        bench.restart()
    bench.serve()


def check(bench: TrafficBench, watcher: Watcher, asked: list, before: dict, after: dict, where: str, chance: random.Random) -> None:
    last = bench.rules()
    for host, path in asked:
        wanted = meant(after, host, path)
        assert watcher.answer(last, host, path) == {wanted}, f"{where}: {host}{path} at the end\n{before}\n{after}"
        if wanted != meant(before, host, path):
            continue
        for number, (_, rules) in enumerate(watcher.states):
            found = watcher.answer(rules, host, path)
            assert found == {wanted}, (f"{where}: {host}{path} was answered by {found} in place of {wanted}, in state {number} of {len(watcher.states)}\n"
                                       f"{before}\n{after}\n{bench.writes()[-12:]}")
    for host, path in chance.sample(asked, 40):
        assert bench.reached(host, path) == meant(after, host, path), f"{where}: {host}{path}"


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_a_random_world(seed):
    story(seed, 20, kills=False)


@pytest.mark.parametrize("seed", [101, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(102, 106))])
def test_a_random_world_where_the_provider_is_killed(seed):
    story(seed, 20, kills=True)
