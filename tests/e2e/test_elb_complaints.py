# SPDX-License-Identifier: Apache-2.0
"""What users complain of with the controller that AWS offers, and what happens here: provider-elb/COMPLAINTS.md lists all of it with its tests."""
from __future__ import annotations

from typing import Any, Iterator

import pytest

from lib.elb_bench import ElbBench
from lib.provider_link import load_balancer, pool, virtual_host
from lib.wait import wait_for

pytestmark = pytest.mark.plain

WEB = "default/web"
HOST = "foo.bar.com"


@pytest.fixture
def bench() -> Iterator[ElbBench]:
    with ElbBench() as running:
        yield running


def ingress(name: str = "web", *rules: tuple, host: str = HOST, service: str = "web") -> list[Any]:
    return [load_balancer(name), virtual_host(f"default/{name}", host, *(rules or [("/", f"default/{service}", "prefix")]))]


def served_by_rule(bench: ElbBench, host: str, path: str) -> bool:
    """Whether a rule sends this request to a target, of which none is there, rather than that it is answered with 404."""
    answer = bench.aws.request(bench.balancer()["dns_name"], 80, host, path)
    assert answer.status in (404, 502, 503, 504)
    return answer.status != 404


def own_security_groups(bench: ElbBench) -> list[str]:
    return [g["id"] for g in bench.aws.security_groups() if g["tags"].get("sluice.io/cluster")]


def is_empty(bench: ElbBench) -> bool:
    return not bench.aws.balancers() and not bench.aws.groups() and not own_security_groups(bench)


# Throttling


@pytest.mark.plain
def test_a_change_does_not_wait_for_what_a_restart_reads():
    """Of more load balancers than can be read in one burst."""
    names = [f"web{number:02}" for number in range(33)]
    with ElbBench() as bench:
        for name in names:
            bench.translator.put(*ingress(name, host=f"{name}.bar.com", service=name), pool(name, endpoints=["172.31.0.10"]), commit=False)
        bench.translator.commit()
        for name in names:
            bench.remembered(f"default/{name}")
        bench.aws.forget()
        bench.provider.arguments += ["--read-rate", "2"]
        bench.restart()
        wait_for(lambda: bench.aws.calls("DescribeTargetHealth"), "the first read of targets")
        bench.translator.put(pool(names[-1], endpoints=["172.31.0.11"]))
        wait_for(lambda: bench.aws.calls("RegisterTargets"), "the change")
        assert len(bench.aws.calls("DescribeTargetHealth")) < len(names)
        wait_for(lambda: len(bench.aws.calls("DescribeTargetHealth")) >= len(names), "the reads that were still to come")


# Rollouts


def test_new_endpoints_are_registered_before_old_ones_go(bench):
    bench.translator.put(*ingress(), pool("web", endpoints=["172.31.0.10", "172.31.0.11"]))
    bench.remembered()
    bench.aws.forget()
    for first in range(12, 16, 2):
        bench.translator.put(pool("web", endpoints=[f"172.31.0.{first}", f"172.31.0.{first + 1}"]))
        wait_for(lambda: bench.targets() == [f"172.31.0.{first}:8080", f"172.31.0.{first + 1}:8080"], "the endpoints")  # noqa: B023
    bench.settle()
    assert bench.writes() == ["RegisterTargets", "DeregisterTargets"] * 2


# Rules


def test_a_prefix_is_of_path_elements(bench):
    bench.translator.put(*ingress("web", ("/a", WEB, "prefix"), ("/b/", WEB, "prefix")), pool("web", endpoints=["172.31.0.10"]))
    bench.settle()
    paths = ["/a", "/a/", "/a/b", "/a?c", "/ab", "/A", "/b", "/b/", "/b/c", "/bc", "/"]
    assert [path for path in paths if served_by_rule(bench, HOST, path)] == ["/a", "/a/", "/a/b", "/a?c", "/b", "/b/", "/b/c"]


def test_a_wildcard_host_is_one_label(bench):
    bench.translator.put(*ingress(host="*.bar.com"), pool("web", endpoints=["172.31.0.10"]))
    bench.settle()
    hosts = ["a.bar.com", "A.BAR.COM", "a.b.bar.com", "bar.com", "a.bar.com.org", "abar.com"]
    assert [host for host in hosts if served_by_rule(bench, host, "/")] == ["a.bar.com", "A.BAR.COM"]


def test_the_order_of_rules_is_kept_when_others_come_and_go(bench):
    first = [("/a/b/c", WEB), ("/a/b", WEB), ("/a", WEB)]
    bench.translator.put(*ingress("web", *first), pool("web", endpoints=["172.31.0.10"]))
    bench.remembered()
    numbers = {rule["arn"]: rule["priority"] for rule in bench.rules()}
    bench.translator.put(virtual_host(WEB, HOST, ("/a/b/c/d", WEB), *first[:2], ("/a/a", WEB), first[2]), virtual_host(WEB, "other.bar.com", ("/", WEB)))
    wait_for(lambda: len(bench.rules()) == 6, "six rules")
    bench.restart()
    bench.settle()
    order = [condition["PathPatternConfig"]["Values"][0] for rule in bench.rules() for condition in rule["conditions"]
             if condition["Field"] == "path-pattern" and len(rule["conditions"]) == 2]
    assert order[:5] == ["/a/b/c/d", "/a/b/c", "/a/b", "/a/a", "/a"]
    assert numbers.items() < {rule["arn"]: rule["priority"] for rule in bench.rules()}.items()


# What is deleted


def test_a_security_group_that_others_name_hinders_nothing(bench):
    """It stays, is tried again, also after a restart, and goes once nobody names it; the others go on meanwhile."""
    bench.translator.put(*ingress(), pool("web", endpoints=["172.31.0.10"]))
    bench.remembered()
    mine, = own_security_groups(bench)
    nodes = bench.aws.call("ec2", "CreateSecurityGroup", GroupName="nodes", Description="nodes", VpcId=bench.aws.vpc)["GroupId"]
    permission = [{"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535, "UserIdGroupPairs": [{"GroupId": mine}]}]
    bench.aws.call("ec2", "AuthorizeSecurityGroupIngress", GroupId=nodes, IpPermissions=permission)
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: bench.aws.control("calls", outcome="DependencyViolation"), "the group to be refused")
    assert not bench.aws.balancers() and not bench.aws.groups() and own_security_groups(bench) == [mine]
    bench.translator.put(*ingress("two", host="two.bar.com"))
    bench.settle("default/two")
    bench.restart()
    bench.settle("default/two")
    bench.aws.call("ec2", "RevokeSecurityGroupIngress", GroupId=nodes, IpPermissions=permission)
    wait_for(lambda: mine not in own_security_groups(bench), "the group to be gone")
    assert bench.balancer("default/two")


def test_an_ingress_goes_although_its_service_went_first(bench):
    bench.translator.put(*ingress(), pool("web", endpoints=["172.31.0.10"]))
    bench.remembered()
    bench.translator.remove(("pool", WEB))
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: is_empty(bench), "nothing to be left")


@pytest.mark.parametrize("is_lifted", [False, True])
def test_a_quota_that_is_hit_halfway_leaves_nothing_behind(bench, is_lifted):
    """What was made before is used when there is room, or goes with its Ingress."""
    bench.aws.configure(quotas={"application-load-balancers": 0})
    bench.translator.put(*ingress(), pool("web", endpoints=["172.31.0.10"]))
    bench.translator.wait_status(WEB, "failed", "TooManyLoadBalancers")
    wait_for(lambda: bench.aws.groups() and own_security_groups(bench), "what needs no load balancer to be made")
    made = [group["arn"] for group in bench.aws.groups()]
    if is_lifted:
        bench.aws.configure(quotas={"application-load-balancers": 1})
        bench.translator.put(virtual_host(WEB, HOST, ("/bar", WEB)))
        bench.settle()
        assert [group["arn"] for group in bench.aws.groups()] == made and len(own_security_groups(bench)) == 1
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: is_empty(bench), "nothing to be left")


def test_what_an_option_made_goes_with_the_option(bench):
    """Given other security groups, those that were made before are removed."""
    bench.translator.put(*ingress(), pool("web", endpoints=["172.31.0.10"]))
    bench.remembered()
    theirs = bench.aws.call("ec2", "CreateSecurityGroup", GroupName="theirs", Description="theirs", VpcId=bench.aws.vpc)["GroupId"]
    bench.provider.arguments += ["--security-groups", theirs]
    bench.restart()
    wait_for(lambda: bench.balancer()["security_groups"] == [theirs] and not own_security_groups(bench), "our own group to be gone")


# Groups


def test_what_one_member_asks_for_stops_nobody_else(bench):
    bench.aws.fault("error", action="CreateRule", skip=1, count=1, status=400, code="InvalidConfigurationRequest", message="no such thing")
    bench.translator.put(*ingress("web", ("/a", WEB), ("/b", WEB), ("/c", WEB)), pool("web", endpoints=["172.31.0.10"]))
    bench.translator.wait_status(WEB, "failed", "no such thing")
    wait_for(lambda: bench.translator.addresses(WEB) and len(bench.rules()) == 2, "the other rules, and the address")
    bench.translator.put(pool("web", endpoints=["172.31.0.11"]))
    wait_for(lambda: bench.targets() == ["172.31.0.11:8080"], "the other endpoint")
