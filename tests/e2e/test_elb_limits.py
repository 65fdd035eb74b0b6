# SPDX-License-Identifier: Apache-2.0
"""provider-elb where AWS sets limits (rules, endpoints, certificates), and network load balancers under load: what has room is served."""
from __future__ import annotations

import socket
from typing import Any

import pytest

from lib.backend import TcpBackend
from lib.certs import self_signed
from lib.elb_traffic import WEB, TrafficBench
from lib.provider_link import certificate, load_balancer, virtual_host
from lib.traffic import Clients
from lib.wait import wait_for

pytestmark = pytest.mark.plain

HOST = "shop.example.com"
DB = "default/db"


@pytest.fixture
def bench():
    with TrafficBench() as running:
        yield running


# Network load balancers


class Callers(Clients):
    """Each connection has to hear the name of a pod, and its own words again. `names` are those that connections heard which began after forget()."""

    def __init__(self, port: int, count: int = 3):
        super().__init__(count)
        self.port, self.good = port, 0
        self.names: set[str] = set()

    def forget(self) -> None:
        self.names = set()

    def _run(self, number: int) -> None:
        while not self._end.is_set():
            names = self.names
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=30) as link, link.makefile("rb") as lines:
                    name = lines.readline()
                    link.sendall(b"hello\n")
                    if lines.readline() != b"hello\n":
                        raise ConnectionError("the words were lost")
                    names.add(name.decode().strip())
                    self.good += 1
            except OSError as failure:
                self.failures.append(repr(failure))
            self._end.wait(0.005)


def database() -> dict[str, Any]:
    service = load_balancer("db", http=None, is_service=True)
    service["listeners"] = [{"port": 5432, "protocol": "tcp", "pool": DB}]
    service["owners"][0]["is_service"] = True
    return service


def test_endpoints_of_a_network_load_balancer_are_replaced_under_load(bench):
    pods = [bench.pod(f"pod-{n}", 5432, TcpBackend) for n in range(6)]
    bench.translator.put(database(), bench.pool("db", *pods[:2], protocol="tcp"))
    bench.settle(DB)
    port = bench.port(5432, DB, "network")
    with socket.create_connection(("127.0.0.1", port)) as long, Callers(port) as callers:
        assert long.recv(100) in (b"pod-0\n", b"pod-1\n")
        for first in (1, 2, 4):
            bench.serve(bench.pool("db", *pods[first:first + 2], protocol="tcp"), owner=DB)
            wait_for(lambda: bench.targets(DB) == sorted(f"{p.inside}:5432" for p in pods[first:first + 2]), "the endpoints")  # noqa: B023
            callers.forget()
            wait_for(lambda: len(callers.names) == 2, "both endpoints to be asked")
            assert callers.names == {p.name for p in pods[first:first + 2]}
        long.sendall(b"still here")
        assert long.recv(100) == b"still here"
    assert not callers.failures


# Rules


def paths(*names: str) -> dict[str, Any]:
    return virtual_host(WEB, HOST, *((f"/{name}", WEB, "prefix") for name in names))


def test_more_rules_than_the_quota():
    with TrafficBench(settings={"quotas": {"rules-per-application-load-balancer": 5}}) as bench:
        bench.translator.put(load_balancer("web"), paths(*"abcdefg"), bench.pool("web"))
        bench.settle()
        assert [bench.reached(HOST, f"/{name}/1") for name in "abcdefg"] == [WEB] * 5 + [404] * 2
        notice = bench.translator.notices(WEB)["RuleQuota"]
        assert f"{HOST}/f" in notice and f"{HOST}/g" in notice and f"{HOST}/e" not in notice
        with bench.load(*((HOST, f"/{name}") for name in "acde")) as load:
            bench.serve(paths(*"acdefg"))
            assert [bench.reached(HOST, f"/{name}") for name in "abcdefg"] == [WEB, 404, WEB, WEB, WEB, WEB, 404]
            bench.serve(paths(*"acde"))
            assert "RuleQuota" not in bench.translator.notices(WEB)
        assert not load.failures


def test_rules_that_find_no_room_because_of_others():
    """Somebody else's rules count, too: what AWS refuses is given up from the end, and told."""
    with TrafficBench(settings={"quotas": {"rules-per-application-load-balancer": 5}}) as bench:
        bench.translator.put(load_balancer("web"), paths("a"), bench.pool("web"))
        bench.settle()
        listener = bench.balancer()["listeners"][0]["arn"]
        theirs = bench.aws.call("elasticloadbalancing", "CreateRule", ListenerArn=listener, Priority=7,
                                Conditions=[{"Field": "path-pattern", "PathPatternConfig": {"Values": ["/theirs"]}}],
                                Actions=[{"Type": "forward", "TargetGroupArn": bench.group()["arn"]}])
        bench.translator.put(paths(*"abcde"))
        wait_for(lambda: [bench.reached(HOST, f"/{name}") for name in "abcde"] == [WEB] * 4 + [404], "the rules that have room")
        wait_for(lambda: f"{HOST}/e" in bench.translator.notices(WEB).get("RuleQuota", ""), "to be told which has none")
        assert bench.reached(HOST, "/theirs") == WEB and theirs


# Endpoints


def test_more_endpoints_than_the_quota():
    with TrafficBench(settings={"quotas": {"targets-per-application-load-balancer": 3}}) as bench:
        pods = [bench.pod("default/web") for _ in range(6)]
        bench.translator.put(load_balancer("web"), paths("a"), bench.pool("web", *pods[:5]))
        bench.settle()
        first = bench.targets()
        assert len(first) == 3
        assert "2" in str(bench.translator.status(WEB)) and bench.reached(HOST, "/a") == WEB
        with bench.load((HOST, "/a")) as load:
            # Those that are registered stay.
            bench.serve(bench.pool("web", *pods))
            assert bench.targets() == first
            gone = [pod for pod in pods if f"{pod.inside}:8080" == first[0]]
            bench.serve(bench.pool("web", *(pod for pod in pods if pod not in gone)))
            wait_for(lambda: len(bench.targets()) == 3 and first[0] not in bench.targets(), "another one in its place")
        assert not load.failures


# Certificates


def https(*names: str, default: str | None = None) -> dict[str, Any]:
    lb = load_balancer("web", https=443, certificates=[f"default/{name}" for name in names])
    lb["listeners"][1]["default_certificate"] = f"default/{default or names[0]}"
    return lb


def shown(bench: TrafficBench) -> tuple[str, list[str]]:
    """Names of the default certificate and of the further ones."""
    names = {c["arn"]: c["names"][0] for c in bench.aws.certificates()}
    listener = next(each for each in bench.balancer()["listeners"] if each["port"] == 443)
    return names[listener["certificate"]], sorted(names[arn] for arn in listener["certificates"] if arn != listener["certificate"])


def test_certificates_by_server_name(bench):
    names = ["a", "b", "c"]
    bench.translator.put(*(certificate(name, self_signed(f"{name}.test")) for name in names), paths("x"), bench.pool("web"), https(*names))
    bench.settle()
    assert shown(bench) == ("a.test", ["b.test", "c.test"])
    with bench.load((HOST, "/x"), port=443) as load:
        bench.serve(https(*names, default="c"))
        assert shown(bench) == ("c.test", ["a.test", "b.test"])
        bench.serve(https("c", "b"))
        assert shown(bench) == ("c.test", ["b.test"])
        bench.serve(https("b"))
        assert shown(bench) == ("b.test", [])
    assert not load.failures


def test_more_certificates_than_a_load_balancer_takes(bench):
    names = [f"c{n:02}" for n in range(28)]
    bench.translator.put(*(certificate(name, self_signed(f"{name}.test")) for name in names), paths("x"), bench.pool("web"), https(*names))
    bench.settle()
    default, further = shown(bench)
    assert default == "c00.test" and 24 <= len(further) <= 25
    left_out = [name for name in names if f"{name}.test" not in (default, *further)]
    notices = " ".join(bench.translator.notices(WEB).values())
    assert left_out and any(name in notices for name in left_out), notices
    assert bench.reached(HOST, "/x", port=443) == WEB


def test_an_expired_certificate_is_renewed(bench):
    bench.translator.put(certificate("old", self_signed("old.test", days=-1)), certificate("good", self_signed("good.test")), paths("x"), bench.pool("web"),
                         https("good", "old"))
    bench.settle()
    assert shown(bench)[0] == "good.test" and bench.reached(HOST, "/x", port=443) == WEB
    bench.serve(certificate("old", self_signed("old.test")))
    wait_for(lambda: shown(bench) == ("good.test", ["old.test"]), "the renewed one")
