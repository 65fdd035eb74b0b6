#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random Ingresses of several namespaces that want each other's hosts: after every change, each host and certificate is whose the rules of
doc/security.md say, which stand here once more, as plainly as can be; and nobody shows an address for what is not served.

usage: random_owners.py ENGINE_TOOL [--seed N] [--runs N] [--steps N]
"""
from __future__ import annotations

import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.certs import self_signed  # noqa: E402  pylint: disable=wrong-import-position
from lib.engine import Engine  # noqa: E402  pylint: disable=wrong-import-position
from lib.frames import Body  # noqa: E402  pylint: disable=wrong-import-position

NAMESPACES = ["a", "b", "c"]
HOSTS = ["x.org", "y.org", "www.y.org", "*.org", "*.y.org", "org", ""]
SHARED_WITH = [("", []), ("", []), ("a", ["a"]), ("b, c", ["b", "c"]), ("b,B", []), ("*", [])]
BALANCER = "class/rancher"
ADDRESS = "192.0.2.1"
PAIR = self_signed("x.org")


def make_ingress(draw: random.Random) -> Body:
    namespace, name = draw.choice(NAMESPACES), f"i{draw.randrange(4)}"
    hosts = draw.sample(HOSTS, draw.randrange(4))
    value, listed = draw.choice(SHARED_WITH)
    passes = draw.random() < 0.2
    backend = {"service": "web", "port_number": 80}
    path = "/" if passes else f"/{namespace}-{name}"  # nobody else's
    annotations = [{"key": "sluice.io/shared-with", "value": value}] if value else []
    annotations += [{"key": "sluice.io/tls-passthrough", "value": "true"}] if passes else []
    return {"kind": "ingress", "namespace": namespace, "name": name, "uid": f"{namespace}-{name}", "created": draw.randrange(1, 6),
            "annotations": annotations, "rules": [{"host": host, "paths": [{"path": path, "type": "prefix", "backend": backend}]} for host in hosts],
            "tls": [] if passes else [{"secret": "cert", "hosts": [host]} for host in draw.sample(HOSTS[:-1], draw.randrange(3))],
            "hosts": [host for host in hosts if host or not passes], "listed": listed, "passes": passes}


def age(ingress: Body) -> tuple:
    return ingress["created"], ingress["namespace"], ingress["name"]


def name_of(ingress: Body) -> str:
    return f"{ingress['namespace']}/{ingress['name']}"


class Model:
    def __init__(self, ingresses: list[Body], is_shared: bool):
        self.ingresses = sorted(ingresses, key=age)
        self.is_shared = is_shared

    def oldest(self, host: str) -> Body | None:
        return next((ingress for ingress in self.ingresses if host in ingress["hosts"]), None)

    def owner(self, host: str) -> Body | None:
        own = self.oldest(host)
        if "." not in host or host.startswith("*."):
            return own
        above = self.oldest("*." + host.split(".", 1)[1])
        if above is None or (own is not None and (own["namespace"] == above["namespace"] or age(own) < age(above))):
            return own
        return above

    def may_have(self, ingress: Body, host: str) -> bool:
        owner = self.owner(host)
        return self.is_shared or owner is None or ingress["namespace"] in [owner["namespace"], *owner["listed"]]

    def hosts(self) -> dict[tuple[str, bool], set[str]]:
        """By host and whether TLS is passed through: who has rules."""
        found: dict[tuple[str, bool], set[str]] = {}
        for ingress in self.ingresses:
            for host in ingress["hosts"]:
                users = found.setdefault((host, ingress["passes"]), set())
                if self.may_have(ingress, host) and not (ingress["passes"] and users):  # there is only one path
                    users.add(name_of(ingress))
        return {key: users for key, users in found.items() if users}

    def certificates(self) -> dict[str, str]:
        """By server name: the Secret."""
        found: dict[str, str] = {}
        for ingress in self.ingresses:
            for entry in ingress["tls"]:
                if self.may_have(ingress, entry["hosts"][0]):
                    found.setdefault(entry["hosts"][0], f"{ingress['namespace']}/cert")
        return found

    def is_served(self, ingress: Body) -> bool:
        return not ingress["hosts"] or any(self.may_have(ingress, host) for host in ingress["hosts"])

    def refused(self) -> set[str]:
        """Those that hear of it."""
        return {name_of(ingress) for ingress in self.ingresses
                for host in [*ingress["hosts"], *(entry["hosts"][0] for entry in ingress["tls"])] if not self.may_have(ingress, host)}


class Run:
    def __init__(self, tool: str, seed: int):
        self.draw = random.Random(seed)
        self.is_shared = self.draw.random() < 0.15
        self.engine = Engine(tool, ["--shared-hosts"] if self.is_shared else [])
        self.engine.set_time(1_800_000_000)
        self.ingresses: dict[str, Body] = {}
        self.shown: dict[str, list] = {}
        self.engine.provider_up({"grouping": "merged"})
        self.secrets = [{"kind": "secret", "namespace": namespace, "name": "cert", "uid": namespace, "certificate": PAIR.pem,
                         "private_key": PAIR.key} for namespace in NAMESPACES]
        self.connect()

    def connect(self) -> None:
        self.engine.watcher_up()
        self.engine.snapshot([*self.secrets, *(self.record(ingress) for ingress in self.ingresses.values())])

    @staticmethod
    def record(ingress: Body) -> Body:
        return {key: value for key, value in ingress.items() if key not in ("hosts", "listed", "passes")}

    def step(self) -> None:
        for _ in range(self.draw.randrange(1, 4)):
            if self.ingresses and self.draw.random() < 0.35:
                self.engine.delete(self.record(self.ingresses.pop(self.draw.choice(sorted(self.ingresses)))))
            else:
                ingress = make_ingress(self.draw)
                self.ingresses[name_of(ingress)] = ingress
                self.engine.upsert(self.record(ingress))
            if self.draw.random() < 0.3:
                self.engine.work(provider=self.draw.randrange(6), source=self.draw.randrange(3))
        self.engine.work()
        assert not self.engine.refused, self.engine.refused

    def check(self) -> None:
        model = Model(list(self.ingresses.values()), self.is_shared)
        hosts = {}
        certificates = {}
        for (kind, name), body in self.engine.provider.objects.items():
            if kind == "virtual-host":
                hosts[body.get("host", ""), body.get("passthrough", False)] = {rule["ingress"] for rule in body.get("rules", [])}
            if kind == "certificate":
                certificates.update({host: name for host in body.get("hosts", [])})
        assert hosts == model.hosts(), f"hosts:\n  got  {hosts}\n  want {model.hosts()}"
        assert certificates == model.certificates(), f"certificates:\n  got  {certificates}\n  want {model.certificates()}"
        self.check_statuses(model)

    def check_statuses(self, model: Model) -> None:
        key = ("load-balancer", BALANCER)
        if key in self.engine.provider.objects:
            rev = self.engine.provider.objects[key]["rev"]
            self.engine.answer("lb-status", {"id": BALANCER, "rev": rev, "state": "applied", "addresses_known": True,
                                             "addresses": [{"ip": ADDRESS}]})
        self.engine.work()
        for status in self.engine.source.take_statuses():
            self.shown[f"{status['namespace']}/{status['name']}"] = [address["ip"] for address in status.get("addresses", [])]
        for name, ingress in self.ingresses.items():
            want = [ADDRESS] if model.is_served(ingress) else []
            assert self.shown[name] == want, f"{name} shows {self.shown[name]}, not {want}"

    def hear_again(self) -> None:
        """Whoever comes now hears all that stands."""
        self.engine.source.take_events()
        self.engine.watcher_down()
        self.connect()
        self.engine.work()
        heard = {name_of(event) for event in self.engine.source.take_events() if event["reason"] == "HostNotOwned"}
        want = Model(list(self.ingresses.values()), self.is_shared).refused()
        assert heard == want, f"heard {heard}, not {want}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    refused = 0
    for seed in range(args.seed, args.seed + args.runs):
        run = Run(args.tool, seed)
        try:
            for _ in range(args.steps):
                run.step()
                run.check()
                refused += len(Model(list(run.ingresses.values()), run.is_shared).refused())
            run.hear_again()
            run.engine.close()
        except (AssertionError, BrokenPipeError, KeyError):
            print(f"failed with --seed {seed} --runs 1 --steps {args.steps}", file=sys.stderr)
            raise
    assert refused > args.runs, "hardly anybody was refused: it proves nothing"
    print(f"{args.runs} runs of {args.steps} steps agree, {refused} refusals")


if __name__ == "__main__":
    main()
