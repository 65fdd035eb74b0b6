#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What happens in which order: releases of Services, providers of another grouping, winners that go, and how little is sent.

usage: stories.py ENGINE_TOOL [STORY...]
"""
from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.engine import Engine  # noqa: E402  pylint: disable=wrong-import-position

STORIES: dict[str, Callable[["Line"], None]] = {}
LAYER4 = "sluice.io/load-balancer"


def story(function: Callable[["Line"], None]) -> Callable[["Line"], None]:
    STORIES[function.__name__.replace("_", "-")] = function
    return function


def ingress(name: str, host: str = "x.org", path: str = "/", created: int = 10, service: str = "web", **more: object) -> dict:
    backend = {"service": service, "port_number": 80}
    return {"kind": "ingress", "namespace": "a", "name": name, "uid": f"u-{name}", "created": created,
            "rules": [{"host": host, "paths": [{"path": path, "type": "prefix", "backend": backend}]}], **more}


def service(name: str, ports: list[int], **more: object) -> dict:
    return {"kind": "service", "namespace": "a", "name": name, "uid": f"u-{name}", "has_selector": True, "created": 10,
            "ports": [{"name": f"p{port}", "port": port} for port in ports], **more}


def balancer(name: str, ports: list[int], **more: object) -> dict:
    return service(name, ports, **{"type": "load-balancer", "load_balancer_class": LAYER4, "finalizer": True, **more})


def endpoints(name: str, port: int, ip: str) -> dict:
    return {"kind": "endpoints", "namespace": "a", "name": f"{name}-1", "uid": f"e-{name}", "service": name,
            "subsets": [{"ports": [{"name": f"p{port}", "port": port}], "addresses": [{"ip": ip, "ready": True, "serving": True}]}]}


class Line:
    """An engine whose neighbours are there and read."""

    def __init__(self, tool: str, grouping: str = "merged", options: list[str] | None = None):
        self.engine = Engine(tool, options)
        self.tool = tool
        self.engine.set_time(1_800_000_000)
        self.grouping = grouping

    def begin(self, records: list[dict], grouping: str = "merged") -> None:
        self.grouping = grouping
        self.engine.provider_up({"grouping": grouping})
        self.watcher(records)

    def watcher(self, records: list[dict]) -> None:
        self.engine.watcher_up()
        self.engine.snapshot(records)
        self.work()

    def work(self) -> None:
        self.engine.work()
        assert not self.engine.refused, self.engine.refused

    def upsert(self, *records: dict) -> list[tuple[str, str]]:
        """Returns what was written."""
        before = dict(self.engine.provider.objects)
        for record in records:
            self.engine.upsert(record)
        self.work()
        now = self.engine.provider.objects
        return sorted(key for key in {**before, **now} if before.get(key) != now.get(key))

    def delete(self, record: dict) -> None:
        self.engine.delete(record)
        self.work()

    def applied(self, name: str, ip: str = "192.0.2.1", rev: int | None = None) -> None:
        body = self.engine.provider.objects["load-balancer", name]
        self.engine.answer("lb-status", {"id": name, "rev": body["rev"] if rev is None else rev, "state": "applied",
                                         "addresses_known": True, "addresses": [{"ip": ip, "ports": [{"port": 80}]}]})
        self.work()

    def object(self, kind: str, name: str) -> dict | None:
        return self.engine.provider.objects.get((kind, name))

    def ports(self, name: str = "class/rancher") -> list[int]:
        return [listener["port"] for listener in self.object("load-balancer", name).get("listeners", [])]

    def events(self) -> list[tuple[str, str, str]]:
        return [(event["kind"], event["name"], event["reason"]) for event in self.engine.source.take_events()]

    def statuses(self) -> list[tuple]:
        return [(status["kind"], status["name"], [a.get("ip") for a in status.get("addresses", [])], status.get("release", False))
                for status in self.engine.source.take_statuses()]


@story
def a_service_goes_when_its_load_balancer_is_gone(line: Line) -> None:
    line.begin([balancer("git", [22])], "per-ingress")
    assert line.statuses() == []
    line.applied("a/service:git")
    assert line.statuses() == [("service", "git", ["192.0.2.1"], False)]
    old = line.object("load-balancer", "a/service:git")["rev"]
    line.upsert(balancer("git", [22], deleting=True))
    assert line.object("load-balancer", "a/service:git")["absent"] is True
    line.applied("a/service:git", rev=old)  # of what it was before
    assert line.statuses() == []
    line.applied("a/service:git")
    assert line.statuses() == [("service", "git", [], True)]
    assert line.object("load-balancer", "a/service:git") is None
    line.delete(balancer("git", [22]))
    assert line.engine.provider.objects == {}


@story
def a_released_service_is_released_again(line: Line) -> None:
    """The watcher may have died before it took the finalizer off; a provider that comes anew has nothing to take away."""
    gone = balancer("git", [22], deleting=True)
    line.begin([gone], "per-ingress")
    line.applied("a/service:git")
    line.statuses()
    line.engine.watcher_down()
    line.watcher([gone])
    assert line.statuses() == [("service", "git", [], True)]
    line.upsert(balancer("git", [22], uid="u-other"))
    assert line.ports("a/service:git") == [22]
    line.applied("a/service:git")
    assert line.statuses() == [("service", "git", ["192.0.2.1"], False)]
    line.upsert(balancer("git", [22], uid="u-other", type="cluster-ip"))
    assert line.statuses() == []
    line.applied("a/service:git")
    assert line.statuses() == [("service", "git", [], True)]


@story
def a_shared_load_balancer_lets_a_service_go(line: Line) -> None:
    line.begin([ingress("web"), balancer("git", [22])])
    assert line.ports() == [22, 80]
    line.applied("class/rancher")
    assert sorted(line.statuses()) == [("ingress", "web", ["192.0.2.1"], False), ("service", "git", ["192.0.2.1"], False)]
    old = line.object("load-balancer", "class/rancher")["rev"]
    line.upsert(balancer("git", [22], deleting=True))
    assert line.ports() == [80]
    line.applied("class/rancher", rev=old)
    assert line.statuses() == []
    line.engine.provider_down()
    line.work()
    assert line.statuses() == []
    line.engine.provider_up({"grouping": "merged"})
    line.work()
    assert line.statuses() == []
    line.applied("class/rancher")
    assert line.statuses() == [("service", "git", [], True)]


@story
def so_many_large_ingresses_share_a_host(line: Line) -> None:
    """Each has 300 hosts, the same as all others."""
    def large(number: int) -> dict:
        one = ingress(f"large-{number}", created=number)
        return {**one, "rules": [{**one["rules"][0], "host": f"h{i}.org",
                                  "paths": [{**one["rules"][0]["paths"][0], "path": f"/{number}"}]} for i in range(300)]}

    def paths() -> list[str]:
        return sorted(rule["path"] for rule in line.object("virtual-host", "class/rancher|h7.org")["rules"])

    line.begin([large(number) for number in range(1, 10)])
    assert paths() == [f"/{number}" for number in range(1, 9)]
    assert {name for _, name, reason in line.events() if reason == "HostOverloaded"} == {"large-9"}
    line.upsert(ingress("small", host="h7.org", path="/small", created=20))
    assert paths() == [*(f"/{number}" for number in range(1, 9)), "/small"]
    line.upsert({**large(1), "rules": large(1)["rules"][:20]})
    assert paths() == [*(f"/{number}" for number in range(1, 10)), "/small"], "the first is no large one any more"
    line.upsert(large(1))
    line.delete(large(2))
    assert paths() == ["/1", *(f"/{number}" for number in range(3, 10)), "/small"]


@story
def so_many_secrets_are_compared_with_all_hosts(line: Line) -> None:
    line.begin([ingress("web", tls=[{"secret": "s0"}, *({"secret": f"s{i}"} for i in range(17))])])
    told = [event for event in line.engine.source.take_events() if event["reason"] == "TooManyCertificates"]
    assert [event["message"].split(":")[0] for event in told] == ["spec.tls[17]"], "the seventeenth: one that stands twice counts once"


@story
def a_service_without_a_port_goes_at_once(line: Line) -> None:
    line.begin([ingress("web"), balancer("old", [22], created=1), balancer("new", [22], created=2)])
    assert line.events().count(("service", "new", "PortConflict")) == 1
    line.applied("class/rancher")
    line.statuses()
    line.upsert(balancer("new", [22], created=2, deleting=True))
    assert line.statuses() == [("service", "new", [], True)]


@story
def the_next_takes_over_when_the_winner_goes(line: Line) -> None:
    one, two = ingress("one", created=1), ingress("two", created=2, service="other")
    old, new = balancer("old", [22], created=1), balancer("new", [22], created=2)
    line.begin([one, two, old, new])
    assert ("ingress", "two", "PathConflict") in line.events()
    line.upsert(endpoints("web", 80, "10.0.0.1"))
    line.upsert(ingress("three", host="y.org"))
    assert not [event for event in line.events() if event[2].endswith("Conflict")], "it is told once"
    line.delete(one)
    line.delete(old)
    rules = line.object("virtual-host", "class/rancher|x.org")["rules"]
    assert [rule["ingress"] for rule in rules] == ["a/two"]
    listener = line.object("load-balancer", "class/rancher")["listeners"][0]
    assert listener["service"] == "a/new"
    line.events()
    line.upsert(one, old)
    events = line.events()
    assert ("ingress", "two", "PathConflict") in events and ("service", "new", "PortConflict") in events


@story
def no_endpoints_is_told_once_and_so_is_the_recovery(line: Line) -> None:
    line.begin([service("web", [80]), service("other", [80]), endpoints("other", 80, "10.0.0.9"), ingress("one"), ingress("two", "y.org"),
                ingress("far", "z.org", service="other")])
    told = [("ingress", "one", "NoEndpoints"), ("ingress", "two", "NoEndpoints")]
    assert sorted(line.events()) == told
    # A slice without a pod that is ready changes nothing of that.
    none = endpoints("web", 80, "10.0.0.1")
    none["subsets"][0]["addresses"] = []
    line.upsert(none)
    assert line.events() == []
    line.upsert(endpoints("web", 80, "10.0.0.1"))
    assert sorted(line.events()) == [("ingress", name, "BackendRecovered") for name in ("one", "two")]
    line.upsert(endpoints("web", 80, "10.0.0.2"))
    assert line.events() == []
    line.upsert(none)
    assert sorted(line.events()) == told
    # Nobody who has left is told that it is well again.
    line.delete(ingress("two", "y.org"))
    line.delete(service("web", [80]))
    assert line.events() == [("ingress", "one", "ServiceNotFound")]
    line.delete(ingress("one"))
    line.upsert(service("web", [80]), endpoints("web", 80, "10.0.0.1"))
    assert line.events() == []


@story
def the_next_namespace_takes_over_when_the_owner_goes(line: Line) -> None:
    mine, same = ingress("mine", created=1), ingress("same", created=4, path="/same")
    theirs, third = ({**ingress(name, created=created, path=f"/{name}"), "namespace": name} for name, created in (("b", 2), ("c", 3)))
    line.begin([mine, same, theirs, third])
    line.applied("class/rancher")

    def paths() -> list[str]:
        return sorted(rule["path"] for rule in line.object("virtual-host", "class/rancher|x.org")["rules"])

    def shown() -> dict[str, bool]:
        return {name: bool(ips) for _, name, ips, _ in line.statuses()}

    def heard() -> set[tuple[str, str]]:
        return {(name, reason) for _, name, reason in line.events() if reason.startswith("Host")}

    assert paths() == ["/", "/same"] and shown() == {"mine": True, "same": True, "b": False, "c": False}
    assert heard() == {("b", "HostNotOwned"), ("c", "HostNotOwned")}
    line.delete(mine)
    assert paths() == ["/b"] and shown() == {"same": False, "b": True}
    assert heard() == {("b", "HostTakenOver"), ("same", "HostNotOwned"), ("c", "HostNotOwned")}
    line.upsert({**theirs, "annotations": [{"key": "sluice.io/shared-with", "value": "c"}]})
    assert paths() == ["/b", "/c"] and shown() == {"c": True}
    line.upsert(theirs)
    assert paths() == ["/b"] and shown() == {"c": False}
    line.upsert(mine)
    assert paths() == ["/", "/same"] and shown() == {"mine": True, "same": True, "b": False}


@story
def a_change_settles_the_hosts_it_is_about(line: Line) -> None:
    """However many others there are, and below however wide a wildcard of somebody else."""
    many = [{**ingress(f"i{i}", host=f"h{i}.org", created=10), "namespace": "b"} for i in range(200)]
    wide = ingress("wide", host="*.org", created=20)
    line.begin([*many, wide])
    late = {**ingress("late", host="late.org", created=30), "namespace": "b"}
    assert line.upsert(late) == []
    assert line.events()[-1:] == [("ingress", "late", "HostNotOwned")]
    assert line.upsert({**wide, "rules": ingress("wide", host="*.net")["rules"]}) == [
        ("virtual-host", "class/rancher|*.net"), ("virtual-host", "class/rancher|*.org"), ("virtual-host", "class/rancher|late.org")]
    assert line.upsert(wide) == [
        ("virtual-host", "class/rancher|*.net"), ("virtual-host", "class/rancher|*.org"), ("virtual-host", "class/rancher|late.org")]


@story
def a_provider_of_another_grouping_gets_another_set(line: Line) -> None:
    records = [ingress("one"), ingress("two", path="/x"), balancer("git", [22])]
    line.begin(records, "per-ingress")
    per_ingress = set(line.engine.provider.objects)
    assert {name for kind, name in per_ingress if kind == "load-balancer"} == {"a/one", "a/two", "a/service:git"}
    for grouping in ("merged", "per-ingress", "merged"):
        line.engine.provider_down()
        line.work()
        line.engine.provider_up({"grouping": grouping})
        line.work()
        names = {name for kind, name in line.engine.provider.objects if kind == "load-balancer"}
        assert names == ({"class/rancher"} if grouping == "merged" else {"a/one", "a/two", "a/service:git"})
        if grouping == "per-ingress":
            assert set(line.engine.provider.objects) == per_ingress


@story
def a_change_sends_what_it_changes(line: Line) -> None:
    count = 200
    many = [ingress(f"i{i}", host=f"h{i}.org", created=i + 1, default_backend={"service": "web", "port_number": 80},
                    tls=[{"hosts": [f"h{i}.org"], "secret": "none"}]) for i in range(count)]
    line.begin([*many, service("web", [80]), endpoints("web", 80, "10.0.0.1")])
    assert line.upsert(endpoints("web", 80, "10.0.0.2")) == [("pool", "a/web:80")]
    changed = dict(many[7])
    changed["rules"] = [*changed["rules"], {"host": "new.org", "paths": changed["rules"][0]["paths"]}]
    assert line.upsert(changed) == [("virtual-host", "class/rancher|new.org")]
    assert line.upsert(many[7]) == [("virtual-host", "class/rancher|new.org")]
    assert line.upsert(ingress("port", host="h3.org", path="/p", annotations=[{"key": "http.port", "value": "8080"}])) == [
        ("load-balancer", "class/rancher"), ("virtual-host", "class/rancher|h3.org")]


def annotated(name: str, host: str = "x.org", **values: str) -> dict:
    """An Ingress with sluice.io/ annotations; `__` in a name stands for '.', and `_` for '-'."""
    pairs = {"sluice.io/" + key.replace("__", ".").replace("_", "-"): value for key, value in values.items()}
    return ingress(name, host, annotations=[{"key": key, "value": pairs[key]} for key in sorted(pairs)])


def secret(name: str, text: str) -> dict:
    return {"kind": "secret", "namespace": "a", "name": name, "uid": f"s-{name}", "entries": [{"key": "auth", "value": text.encode()}]}


@story
def a_change_of_a_policy_sends_that_policy(line: Line) -> None:
    """However many hosts and paths name it, and whoever shares them."""
    def many(**values: str) -> dict:
        one = annotated("many", **values)
        return {**one, "rules": [{**one["rules"][0], "host": f"h{i}.org"} for i in range(50)]}

    other = ingress("other", "h1.org", "/other", created=11)
    line.begin([service("web", [80]), other, many(hsts="true")])
    policy = [("policy", "a/many")]
    assert line.upsert(many(hsts="true", hsts__max_age="60")) == policy
    assert line.upsert(many(hsts="true", allow_sources="10.0.0.0/8")) == policy
    assert line.upsert(many(hsts="true", allow_sources="10.0.0.0/8", request_headers="set X-A: ${client}")) == policy
    assert line.upsert(many(hsts="true", allow_sources="10.0.0.0/8", request_headers="set X-A: ${client}")) == []
    assert line.object("policy", "a/many")["ingress"] == "a/many"


@story
def a_policy_comes_before_its_rules_and_goes_after_them(line: Line) -> None:
    """In which order, and that nothing refers to what is not there, checks the view of the provider."""
    line.begin([service("web", [80]), secret("staff", "adam:$1$x"), ingress("web")])
    host = ("virtual-host", "class/rancher|x.org")
    users, policy = ("users", "a/staff"), ("policy", "a/web")
    assert line.upsert(annotated("web", basic_auth__secret="staff")) == [policy, users, host]
    assert line.object(*host)["rules"][0]["policy"] == "a/web"
    assert line.upsert(annotated("web", hsts="true")) == [policy, users]
    assert line.object(*users) is None
    assert line.upsert(ingress("web")) == [policy, host]
    assert line.object(*policy) is None
    line.upsert(annotated("web", hsts="true"))
    line.delete(annotated("web", hsts="true"))
    assert not [key for key in line.engine.provider.objects if key[0] in ("policy", "virtual-host")]


@story
def a_new_password_sends_the_users(line: Line) -> None:
    line.begin([service("web", [80]), secret("staff", "adam:$1$x"), secret("others", "zoe:$1$z"),
                annotated("one", basic_auth__secret="staff"), annotated("two", "y.org", basic_auth__secret="staff")])
    line.events()
    assert line.object("users", "a/staff")["users"] == [{"name": "adam", "hash": "$1$x"}]
    assert line.object("users", "a/others") is None, "nobody names it"
    assert line.upsert(secret("staff", "adam:$1$y")) == [("users", "a/staff")]
    assert line.upsert(secret("others", "zoe:$1$y")) == []
    assert line.upsert(secret("staff", "adam:plain")) == [("users", "a/staff")]
    assert line.events() == [("ingress", "one", "BasicAuthUnusable"), ("ingress", "two", "BasicAuthUnusable")]
    line.delete(secret("staff", ""))
    assert "users" not in line.object("users", "a/staff")


@story
def a_guard_that_cannot_be_read_closes_the_default_backend_too(line: Line) -> None:
    fallback = {"default_backend": {"service": "web", "port_number": 80}, "rules": []}
    line.begin([service("web", [80]), {**ingress("web"), **fallback}])
    assert line.object("load-balancer", "class/rancher")["default_pool"] == "a/web:80"
    line.upsert({**annotated("web", allow_sources="10.0.0.0/8"), **fallback})
    assert "default_pool" not in line.object("load-balancer", "class/rancher")
    assert line.object("virtual-host", "class/rancher|")["rules"][0]["policy"] == "a/web"
    line.upsert({**annotated("web", allow_sources="everybody"), **fallback})
    assert line.object("load-balancer", "class/rancher")["default_pool"] == "a/:none"


@story
def a_canary_that_goes_leaves_the_rule_as_it_was(line: Line) -> None:
    host = "virtual-host", "class/rancher|x.org"
    line.begin([service("web", [80]), service("next", [80]), ingress("web")])
    before = line.object(*host)
    canary = {**annotated("canary", canary="true", canary__weight="10"), "created": 5}
    canary["rules"] = ingress("canary", service="next")["rules"]
    assert line.upsert(canary) == [("pool", "a/next:80"), host]
    assert [pool["weight"] for pool in line.object(*host)["rules"][0]["pools"]] == [90, 10]
    line.delete(canary)
    assert line.object(*host) == before


@story
def a_provider_of_version_1_hears_of_none_of_it(line: Line) -> None:
    records = [service("web", [80]), secret("staff", "adam:$1$x"), annotated("guard", basic_auth__secret="staff"),
               annotated("comfort", "y.org", hsts="true"), annotated("redirect", "z.org", redirect="/new")]
    line.engine.provider_up({"grouping": "merged"}, version=1)
    line.watcher(records)
    assert {key[0] for key in line.engine.provider.objects} == {"load-balancer", "virtual-host", "pool"}
    rules = {name: line.object("virtual-host", f"class/rancher|{name}.org")["rules"] for name in "xyz"}
    assert [rules[name][0]["pool"] for name in "xyz"] == ["a/:none", "a/web:80", "a/:none"]
    assert all(set(rule[0]) <= {"path", "match", "pool", "ingress"} for rule in rules.values())
    told = sorted(name for _, name, reason in line.events() if reason == "NotSupported")
    assert told == ["comfort", "guard", "redirect"]


@story
def ports_for_udp_are_had_apart_from_those_for_tcp(line: Line) -> None:
    def with_udp(name: str, created: int) -> dict:
        record = balancer(name, [53], created=created)
        return {**record, "ports": [{"name": "dgram", "port": 53, "protocol": "udp"}]}

    def held() -> list[tuple[int, str, str]]:
        return [(one["port"], one["protocol"], one["service"]) for one in line.object("load-balancer", "class/rancher")["listeners"] if "service" in one]
    line.engine.provider_up({"grouping": "merged", "protocols": ["http", "tcp", "udp"]})
    line.watcher([with_udp("old", 1), with_udp("new", 2), balancer("tcp", [53], created=3)])
    assert held() == [(53, "tcp", "a/tcp"), (53, "udp", "a/old")]
    assert [event for event in line.events() if event[2] == "PortConflict"] == [("service", "new", "PortConflict")]
    line.delete(with_udp("old", 1))
    assert held() == [(53, "tcp", "a/tcp"), (53, "udp", "a/new")]
    line.delete(balancer("tcp", [53]))
    assert held() == [(53, "udp", "a/new")]
    line.upsert(with_udp("old", 1))
    assert held() == [(53, "udp", "a/old")]


@story
def sessions_of_udp_end_as_the_options_say(line: Line) -> None:
    """Without options, as they did with ingress-nginx."""
    line = Line(line.tool, options=["--ingress-nginx"])
    def options(responses: str) -> dict:
        return {"kind": "config-map", "namespace": "a", "name": "o", "uid": "o",
                "entries": [{"key": "proxy-stream-timeout", "value": "30s"}, {"key": "proxy-stream-responses", "value": responses}]}

    def sessions() -> dict:
        [found] = [one for one in line.object("load-balancer", "class/rancher")["listeners"] if one["protocol"] == "udp"]
        return {key: found[key] for key in ("idle_s", "responses", "one_way") if key in found}
    udp = {"kind": "config-map", "namespace": "a", "name": "udp", "uid": "m", "entries": [{"key": "53", "value": "a/dns:53"}]}
    line.engine.provider_up({"grouping": "merged", "protocols": ["http", "tcp", "udp"]})
    line.engine.watcher_up({"udp_services": "a/udp", "ingress_nginx_options": "a/o"})
    line.engine.snapshot([udp])
    line.work()
    assert sessions() == {"idle_s": 600, "responses": 1}
    line.upsert(options("3"))
    assert sessions() == {"idle_s": 30, "responses": 3}
    line.upsert(options("0"))
    assert sessions() == {"idle_s": 30, "one_way": True}
    line.delete(options("0"))
    assert sessions() == {"idle_s": 600, "responses": 1}
    line.engine.close()


@story
def a_provider_of_version_1_hears_of_no_udp(line: Line) -> None:
    """Whatever it says of itself."""
    dns = balancer("dns", [53, 54])
    dns["ports"][0]["protocol"] = "udp"
    line.engine.provider_up({"grouping": "merged", "protocols": ["http", "tcp", "udp"]}, version=1)
    line.watcher([dns])
    listeners = line.object("load-balancer", "class/rancher")["listeners"]
    assert [one["protocol"] for one in listeners] == ["tcp", "http"]
    assert all(key[0] != "pool" or pool["protocol"] == "tcp" for key, pool in line.engine.provider.objects.items())
    assert ("service", "dns", "PortNotServed") in line.events()


@story
def what_cannot_be_read_stays(line: Line) -> None:
    web, other, git = ingress("web"), ingress("other"), balancer("git", [22])
    line.begin([web, other, git], "per-ingress")
    before = dict(line.engine.provider.objects)
    line.engine.watcher_down()
    line.engine.watcher_up()
    line.engine.snapshot([other], kept=[web, git])
    line.work()
    assert line.engine.provider.objects == before
    line.engine.watcher_down()
    line.engine.watcher_up()
    line.engine.snapshot([other])
    line.work()
    assert set(line.engine.provider.objects) == {
        ("load-balancer", "a/other"), ("virtual-host", "a/other|x.org"), ("pool", "a/web:80")}


@story
def what_could_never_be_read_is_left_alone(line: Line) -> None:
    web, other, git = ingress("web"), ingress("other"), balancer("git", [22])
    line.engine.provider_up({"grouping": "per-ingress"})
    line.engine.watcher_up()
    line.engine.snapshot([other], kept=[web, git, service("none", [80]), {"kind": "secret", "namespace": "a", "name": "t"}])
    line.work()
    for name in ("a/web", "a/service:git", "a/service:none"):
        assert line.object("load-balancer", name)["keep"] is True
        assert line.ports(name) == []
        line.applied(name)
    assert line.statuses() == []
    assert ("load-balancer", "a/web") in line.upsert(web)
    assert "keep" not in line.object("load-balancer", "a/web") and line.ports("a/web") == [80]
    line.engine.keep(web)
    line.work()
    assert line.ports("a/web") == [80]
    line.upsert(git)
    assert line.ports("a/service:git") == [22]
    line.delete(service("none", [80], uid="u-older"))
    assert line.object("load-balancer", "a/service:none") is not None
    line.delete(service("none", [80]))
    assert line.object("load-balancer", "a/service:none") is None
    line.engine.provider_down()
    line.engine.provider_up({"grouping": "merged"})
    line.engine.keep(ingress("third"))
    line.work()
    assert {name for kind, name in line.engine.provider.objects if kind == "load-balancer"} == {"class/rancher"}
    line.engine.watcher_down()
    line.engine.watcher_up()
    line.engine.snapshot([])
    line.work()
    assert line.engine.provider.objects == {}


@story
def a_name_that_no_object_can_have_is_ignored(line: Line) -> None:
    names = ['a"b', "a/b", "a;b", "a{b", "a b", "a\nb", "a\u2028b", "a%[b", "a|b", "a:b", "a+b"]
    line.begin([ingress("web"), *(ingress(name) for name in names), *(balancer(name, [22]) for name in names)])
    line.upsert(*(ingress(name, host="y.org") for name in names))
    for name in names:
        line.engine.keep(ingress(name))
        line.engine.delete(balancer(name, [22]))
    line.work()
    assert set(line.engine.provider.objects) == {
        ("load-balancer", "class/rancher"), ("virtual-host", "class/rancher|x.org"), ("pool", "a/web:80")}


@story
def published_addresses_are_cleaned_whoever_sends_them(line: Line) -> None:
    """A watcher sends them clean; what comes over the link need not be."""
    publisher = Line(line.tool, options=["--publish-service=a/edge"])
    addresses = [{"hostname": "Edge.Example.com."}, {"ip": "FD00:0:0::1"}, {"ip": "192.0.2.1"}, {"hostname": "192.0.2.1"}, {"ip": "no address"}]
    edge = balancer("edge", [80], load_balancer_class="cloud.io/x", addresses=addresses)
    publisher.begin([ingress("web"), service("web", [80]), edge])
    [status] = publisher.engine.source.take_statuses()
    assert status["addresses"] == [{"hostname": "edge.example.com"}, {"ip": "192.0.2.1"}, {"ip": "fd00::1"}], status
    publisher.engine.close()


def waits(line: Line, *records: dict) -> "Waiting":
    line.engine.provider_up({"grouping": "merged", "features": ["applied"]})
    line.watcher([service("web", [80]), *records])
    return Waiting(line)


class Waiting:
    """What a provider says that reports what it has applied."""

    def __init__(self, line: Line):
        self.line = line

    def addresses(self, *ips: str) -> None:
        """Its address is known, whatever is served."""
        self.report("applied", *ips)

    def report(self, state: str, *ips: str) -> None:
        rev = self.line.object("load-balancer", "class/rancher")["rev"]
        self.line.engine.answer("lb-status", {"id": "class/rancher", "rev": rev, "state": state, "addresses_known": True,
                                              "addresses": [{"ip": ip} for ip in ips or ["192.0.2.1"]]})
        self.line.work()

    def shown_after(self, serial: int) -> dict[str, list[str]]:
        self.line.engine.answer("applied", {"serial": serial})
        self.line.work()
        return self.shown()

    def shown(self) -> dict[str, list[str]]:
        return {name: ips for _, name, ips, _ in self.line.statuses()}


@story
def an_address_waits_until_its_routes_are_applied(line: Line) -> None:
    provider = waits(line, ingress("one"))
    provider.addresses()
    assert provider.shown() == {}
    assert provider.shown_after(1) == {"one": ["192.0.2.1"]}
    line.upsert(ingress("two", "y.org"))
    provider.addresses()
    assert provider.shown_after(1) == {}, "that is the former commit"
    provider.addresses("192.0.2.2")
    assert provider.shown() == {"one": ["192.0.2.2"]}, "what is served follows the address at once"
    assert provider.shown_after(2) == {"two": ["192.0.2.2"]}


@story
def an_address_waits_for_the_first_listeners(line: Line) -> None:
    provider = waits(line, ingress("one"))
    provider.report("pending")
    assert provider.shown_after(1) == {}, "the proxy has the routes, and listens nowhere yet"
    provider.addresses()
    assert provider.shown() == {"one": ["192.0.2.1"]}
    line.upsert(ingress("two", "y.org"))
    provider.report("pending")
    assert provider.shown_after(2) == {"two": ["192.0.2.1"]}, "listeners that come and go later hold nothing up"


@story
def an_ingress_that_changes_waits_for_the_change(line: Line) -> None:
    provider = waits(line, ingress("first", "first.org"))
    provider.addresses()
    provider.shown_after(1)
    line.upsert(ingress("one"))
    line.upsert(ingress("other", "other.org"))
    line.upsert(ingress("one", "y.org"))
    assert provider.shown_after(2) == {}
    assert provider.shown_after(3) == {"other": ["192.0.2.1"]}
    assert provider.shown_after(4) == {"one": ["192.0.2.1"]}
    line.upsert(ingress("one", "z.org"))
    line.upsert(endpoints("web", 80, "10.0.0.1"))
    assert provider.shown_after(6) == {}, "it shows its address already"


@story
def an_ingress_that_is_made_anew_waits_anew(line: Line) -> None:
    provider = waits(line, ingress("one"), ingress("two", "y.org"))
    provider.addresses()
    assert provider.shown_after(1) == {"one": ["192.0.2.1"], "two": ["192.0.2.1"]}
    line.delete(ingress("one"))
    line.upsert(ingress("one", uid="u-new"))
    line.delete(ingress("two"))
    assert provider.shown() == {}
    line.upsert(ingress("two", uid="u-newer"))
    line.delete(ingress("two", uid="u-newer"))
    serial = line.engine.provider.serial
    assert provider.shown_after(serial - 1) == {"one": ["192.0.2.1"]}
    assert provider.shown_after(serial) == {}


@story
def an_ingress_that_changes_nothing_waits_for_what_was_sent(line: Line) -> None:
    provider = waits(line, ingress("one"))
    provider.addresses()
    line.upsert(ingress("late", created=20))
    assert line.engine.provider.serial == 1 and provider.shown() == {}
    assert provider.shown_after(1) == {"one": ["192.0.2.1"], "late": ["192.0.2.1"]}
    line.upsert(ingress("later", created=30))
    assert line.engine.provider.serial == 1 and provider.shown() == {"later": ["192.0.2.1"]}


@story
def a_provider_that_returns_is_asked_again(line: Line) -> None:
    provider = waits(line, ingress("one"))
    provider.addresses()
    provider.shown_after(1)
    line.upsert(ingress("two", "y.org"))
    line.engine.provider_down()
    line.upsert(ingress("three", "z.org"))
    line.engine.provider_up({"grouping": "merged", "features": ["applied"]})
    line.work()
    provider.addresses("192.0.2.2")
    assert provider.shown() == {"one": ["192.0.2.2"]}
    assert provider.shown_after(1) == {"two": ["192.0.2.2"], "three": ["192.0.2.2"]}
    line.upsert(ingress("four", "four.org"))
    line.engine.provider_down()
    line.engine.provider_up({"grouping": "merged"})  # it has become older, and never says so
    line.work()
    provider.addresses("192.0.2.2")
    assert provider.shown()["four"] == ["192.0.2.2"]


@story
def a_watcher_that_returns_is_told_what_is_served(line: Line) -> None:
    provider = waits(line, ingress("one"))
    provider.addresses()
    provider.shown_after(1)
    line.upsert(ingress("two", "y.org"))
    line.engine.watcher_down()
    line.watcher([service("web", [80]), ingress("one"), ingress("two", "y.org")])
    assert provider.shown() == {"one": ["192.0.2.1"]}
    assert provider.shown_after(2) == {"two": ["192.0.2.1"]}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("stories", nargs="*")
    args = parser.parse_args()
    for name, tell in STORIES.items():
        if args.stories and name not in args.stories:
            continue
        line = Line(args.tool)
        tell(line)
        line.engine.close()
        print("ok", name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
