# SPDX-License-Identifier: Apache-2.0
"""provider-elb against moto, an emulator of AWS that nobody of this project has written. scripts/test-real --aws fetches it and runs this.

It is a second opinion about names, forms and what a create needs; the stand-in (tests/standins/elb) is the proof. moto is wrong about what follows, so that
nothing here looks at it, or the provider is started so that it does not meet it:

- It knows no regular expressions in conditions: `--wildcard-hosts glob`.
- SetRulePriorities refuses numbers that are in use before the call, so rules cannot change places.
- Of one address only one port can be registered in a group.
- A load balancer is active, and a target healthy, as soon as it is asked for; there is no draining.
- A create is never repeated: a load balancer or a listener comes twice, a target group is refused even with the same settings. So no answers are lost here.
- What is in use can be deleted (certificates, security groups), and one target group belong to two load balancers.
- The tagging API does not tell of certificates when it is asked for them by type.
- Network load balancers have the ARN and the name of application ones.
- Nothing is refused for its length, characters or number; there are no quotas, no throttling, no wrong credentials, and signatures are not compared.
- IPv6 is refused.
"""
from __future__ import annotations

from typing import Any, Iterator

import pytest

from lib.certs import self_signed
from lib.provider_link import certificate, load_balancer, pool, virtual_host
from lib.wait import stays, wait_for

from .moto import Moto, MotoBench, folder

pytestmark = pytest.mark.skipif(folder() is None, reason="there is no moto: scripts/test-real --aws --prepare fetches it")
WEB = "default/web"
TAG = "AddTags"


@pytest.fixture(scope="module")
def server() -> Iterator[Moto]:
    running = Moto(folder())
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def bench(server) -> Iterator[MotoBench]:
    server.reset()
    with MotoBench(server, ["--wildcard-hosts", "glob", "--list-interval", "2"]) as running:
        yield running


def web(*ips: str, path: str = "/foo", **more: Any) -> list:
    return [load_balancer("web", **more), virtual_host(WEB, "foo.bar.com", (path, WEB)), pool("web", endpoints=list(ips or ["172.31.0.10"]))]


def conditions(rule: dict) -> dict[str, list[str]]:
    return {row["Field"]: (row.get("HostHeaderConfig") or row["PathPatternConfig"])["Values"] for row in rule["Conditions"]}


def paths(bench: MotoBench, port: int = 80) -> list[str]:
    return [conditions(rule).get("path-pattern", ["/"])[0] for rule in bench.moto.rules(bench.balancer(), port)]


def served(bench: MotoBench) -> None:
    bench.remembered()
    bench.quiet()
    bench.moto.forget()


def test_an_ingress_becomes_a_load_balancer(bench):
    bench.translator.put(*web("172.31.0.10", "172.31.0.11"))
    bench.remembered()
    balancer, = bench.moto.balancers()
    assert (balancer["Type"], balancer["Scheme"], balancer["VpcId"]) == ("application", "internet-facing", bench.moto.vpc)
    assert sorted(zone["SubnetId"] for zone in balancer["AvailabilityZones"]) == sorted(bench.moto.subnets)
    assert bench.translator.addresses(WEB) == [balancer["DNSName"].lower()]
    rule, = bench.moto.rules(balancer)
    assert conditions(rule) == {"host-header": ["foo.bar.com"], "path-pattern": ["/foo", "/foo/*"]}
    group, = bench.moto.groups()
    assert rule["Actions"][0]["ForwardConfig"]["TargetGroups"][0]["TargetGroupArn"] == group["TargetGroupArn"]
    assert (group["TargetType"], group["Protocol"], group["Matcher"]["HttpCode"]) == ("ip", "HTTP", "200-499")
    assert bench.moto.targets(group) == ["172.31.0.10:8080", "172.31.0.11:8080"]
    mine, = bench.moto.security_groups()
    assert balancer["SecurityGroups"] == [mine["GroupId"]]
    assert [(row["FromPort"], row["ToPort"], row["IpRanges"][0]["CidrIp"]) for row in mine["IpPermissions"]] == [(80, 80, "0.0.0.0/0")]
    assert bench.translator.notices(WEB) == {}


def test_hosts_and_paths_in_the_order_of_an_ingress(bench):
    bench.translator.put(load_balancer("web"), pool("web", endpoints=["172.31.0.10"]),
                         virtual_host(WEB, "", ("/", WEB, "prefix")), virtual_host(WEB, "*.bar.com", ("/", WEB, "prefix")),
                         virtual_host(WEB, "foo.bar.com", ("/exact", WEB, "exact"), ("/a/", WEB, "prefix"), ("/", WEB, "prefix")))
    bench.remembered()
    forwards = [conditions(rule) for rule in bench.moto.rules(bench.balancer()) if rule["Actions"][0]["Type"] == "forward"]
    assert forwards == [{"host-header": ["foo.bar.com"], "path-pattern": ["/exact"]}, {"host-header": ["foo.bar.com"], "path-pattern": ["/a", "/a/*"]},
                        {"host-header": ["foo.bar.com"]}, {"host-header": ["*.bar.com"]}, {"path-pattern": ["/*"]}]


def test_a_changed_path_costs_two_rules(bench):
    bench.translator.put(*web())
    served(bench)
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/bar", WEB)))
    wait_for(lambda: paths(bench) == ["/bar"], "the new path")
    served_by = bench.moto.writes
    bench.remembered()
    wait_for(lambda: served_by() == [TAG, "CreateRule", "DeleteRule", TAG], "four writes")


def test_a_rule_in_the_middle_leaves_the_others_their_numbers(bench):
    bench.translator.put(*web(), virtual_host(WEB, "foo.bar.com", ("/a", WEB), ("/b", WEB)))
    served(bench)
    before = {rule["RuleArn"]: rule["Priority"] for rule in bench.moto.rules(bench.balancer())}
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/a", WEB), ("/aa", WEB), ("/b", WEB)))
    wait_for(lambda: paths(bench) == ["/a", "/aa", "/b"], "the new path")
    assert before.items() < {rule["RuleArn"]: rule["Priority"] for rule in bench.moto.rules(bench.balancer())}.items()


def test_another_service_costs_its_group_and_a_changed_rule(bench):
    bench.translator.put(*web())
    served(bench)
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/foo", "default/two")), pool("two", endpoints=["172.31.0.20"]))
    bench.translator.remove(("pool", WEB))
    bench.remembered()
    wait_for(lambda: [bench.moto.targets(group) for group in bench.moto.groups()] == [["172.31.0.20:8080"]], "the new group alone")
    rule, = bench.moto.rules(bench.balancer())
    assert rule["Actions"][0]["ForwardConfig"]["TargetGroups"][0]["TargetGroupArn"] == bench.moto.groups()[0]["TargetGroupArn"]


def test_endpoints_come_and_go(bench):
    bench.translator.put(*web("172.31.0.10", "172.31.0.11"))
    served(bench)
    bench.translator.put(pool("web", endpoints=["172.31.0.10", "172.31.0.12"]))
    group, = bench.moto.groups()
    wait_for(lambda: bench.moto.targets(group) == ["172.31.0.10:8080", "172.31.0.12:8080"], "the new endpoint")
    assert bench.moto.writes() == ["RegisterTargets", "DeregisterTargets"]
    bench.translator.put(pool("web", endpoints=[]))
    wait_for(lambda: bench.moto.targets(group) == [], "no endpoints")
    bench.translator.put(pool("web", endpoints=["172.31.0.13"]))
    wait_for(lambda: bench.moto.targets(group) == ["172.31.0.13:8080"], "an endpoint again")


def serial(bench: MotoBench, row: dict) -> str:
    return bench.moto.acm.describe_certificate(CertificateArn=row["CertificateArn"])["Certificate"]["Serial"]


def test_a_certificate_is_imported_renewed_in_place_and_removed(bench):
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    bench.remembered()
    stored, = bench.moto.certificates()
    before = serial(bench, stored)
    listener = bench.moto.listeners(bench.balancer())[443]
    assert [row["CertificateArn"] for row in listener["Certificates"]] == [stored["CertificateArn"]]
    assert paths(bench, 443) == ["/foo"]
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")))
    renewed, = wait_for(lambda: (found := bench.moto.certificates()) and serial(bench, found[0]) != before and found, "the renewed one")
    assert renewed["CertificateArn"] == stored["CertificateArn"]
    bench.translator.put(load_balancer("web"))
    wait_for(lambda: not bench.moto.certificates() and set(bench.moto.listeners(bench.balancer())) == {80}, "neither certificate nor listener to be left")


def test_certificates_beyond_the_first(bench):
    names = [f"host{number}.bar.com" for number in range(3)]
    bench.translator.put(*(certificate(f"cert{number}", self_signed(name)) for number, name in enumerate(names)),
                         *web(https=443, certificates=[f"default/cert{number}" for number in range(3)]))
    bench.remembered()
    listener = bench.moto.listeners(bench.balancer())[443]["ListenerArn"]
    rows = bench.moto.elb.describe_listener_certificates(ListenerArn=listener)["Certificates"]
    assert {row["CertificateArn"] for row in rows} == {row["CertificateArn"] for row in bench.moto.certificates()} and len(rows) == 3
    bench.translator.put(*web(https=443, certificates=["default/cert0"]))
    bench.translator.remove(("certificate", "default/cert1"), ("certificate", "default/cert2"))
    wait_for(lambda: [row["DomainName"] for row in bench.moto.certificates()] == ["host0.bar.com"], "only the first to be left")


def test_a_service_of_type_load_balancer(bench):
    service = load_balancer("db", http=None, is_service=True)
    service["listeners"] = [{"port": 5432, "protocol": "tcp", "pool": "default/db"}]
    service["owners"][0]["is_service"] = True
    bench.translator.put(service, pool("db", endpoints=["172.31.0.10"], protocol="tcp"))
    bench.translator.wait_status("default/db")
    balancer, = bench.moto.balancers()
    assert balancer["Type"] == "network"
    assert bench.moto.listeners(balancer)[5432]["Protocol"] == "TCP"
    assert [bench.moto.targets(group) for group in bench.moto.groups()] == [["172.31.0.10:8080"]]


def test_a_restart_reads_lists_and_writes_nothing(bench):
    bench.translator.put(*web(), load_balancer("two"), virtual_host("default/two", "two.bar.com", ("/", WEB)))
    bench.remembered("default/two")
    served(bench)
    before = bench.moto.everything()
    bench.restart()
    for owner in (WEB, "default/two"):
        bench.translator.wait_status(owner)
    bench.quiet()
    assert bench.moto.writes() == []
    assert bench.moto.everything() == before
    assert not {"DescribeRules", "DescribeListeners", "DescribeTags"} & set(bench.moto.calls())


def test_a_restart_finds_its_certificate(bench):
    """By ACM's list, for the tagging API does not tell of it here."""
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    served(bench)
    before = bench.moto.everything()
    bench.restart()
    bench.translator.wait_status(WEB)
    bench.quiet()
    assert bench.moto.writes() == []
    assert bench.moto.everything() == before


def test_what_changed_while_it_was_away_is_found(bench):
    bench.translator.put(*web("172.31.0.10"))
    served(bench)
    bench.provider.kill()
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/bar", WEB)), pool("web", endpoints=["172.31.0.11"]))
    bench.provider.start()
    wait_for(lambda: paths(bench) == ["/bar"] and bench.moto.targets(bench.moto.groups()[0]) == ["172.31.0.11:8080"], "the new path and endpoint")


def test_it_may_be_killed_while_it_creates(bench):
    for writes in (1, 3, 5, 7, 9):
        bench.translator.put(*web())
        wait_for(lambda: len(bench.moto.writes()) >= writes, f"{writes} writes")
        bench.provider.restart()
        bench.remembered()
        assert len(bench.moto.balancers()) == len(bench.moto.groups()) == len(bench.moto.security_groups()) == len(bench.moto.rules(bench.balancer())) == 1
        remove(bench)
        bench.moto.forget()


def remove(bench: MotoBench) -> None:
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: not bench.moto.balancers() and not bench.moto.groups() and not bench.moto.security_groups(), "nothing to be left")


def test_an_ingress_that_goes_leaves_nothing(bench):
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    served(bench)
    theirs = bench.moto.elb.create_target_group(Name="theirs", Protocol="HTTP", Port=80, VpcId=bench.moto.vpc, TargetType="ip")["TargetGroups"][0]
    bench.translator.remove(("certificate", "default/cert"))
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: not bench.moto.balancers() and not bench.moto.security_groups() and not bench.moto.certificates(), "nothing of ours to be left")
    wait_for(lambda: [group["TargetGroupArn"] for group in bench.moto.groups()] == [theirs["TargetGroupArn"]], "theirs to be left alone")
    stays(lambda: len(bench.moto.groups()) == 1, "theirs", 1)


def test_a_rule_that_somebody_removes_comes_back(server):
    server.reset()
    with MotoBench(server, ["--sweep-interval", "0.5"]) as bench:
        bench.translator.put(*web())
        bench.remembered()
        rule, = bench.moto.rules(bench.balancer())
        bench.moto.elb.delete_rule(RuleArn=rule["RuleArn"])
        wait_for(lambda: paths(bench) == ["/foo"], "the rule to be back")
