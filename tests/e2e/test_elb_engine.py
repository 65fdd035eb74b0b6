# SPDX-License-Identifier: Apache-2.0
"""provider-elb's engine where several things happen at once: changes while a call is under way, refusals, what AWS lists late, another replica."""
from __future__ import annotations

import pytest

from lib.elb_bench import ElbBench
from lib.provider_link import load_balancer, pool, virtual_host
from lib.wait import stays, wait_for

WEB = "default/web"


@pytest.fixture
def bench():
    with ElbBench() as running:
        yield running


def web(*ips: str, path: str = "/foo", **more) -> list:
    return [load_balancer("web", **more), virtual_host(WEB, "foo.bar.com", (path, WEB)), pool("web", endpoints=list(ips or ["172.31.0.10"]))]


def paths(bench: ElbBench) -> list[str]:
    found = []
    for rule in bench.rules():
        for condition in rule["conditions"]:
            found += condition.get("PathPatternConfig", {}).get("Values", [])
    return sorted(found)


def counted(bench: ElbBench, action: str) -> int:
    return len(bench.aws.calls(action))


def test_a_change_comes_while_a_call_is_under_way(bench):
    hold = bench.aws.fault("hold", action="CreateRule", count=1)
    bench.translator.put(*web())
    wait_for(lambda: counted(bench, "CreateRule") == 1, "the first rule to be on its way")
    bench.translator.put(*web(path="/a-much-longer-path-than-the-one-before"))
    stays(lambda: counted(bench, "CreateRule") == 1, "one call at a time", 0.5)
    bench.aws.clear(hold)
    bench.settle()
    assert paths(bench) == ["/a-much-longer-path-than-the-one-before", "/a-much-longer-path-than-the-one-before/*"]
    assert not bench.aws.control("failures")


def test_what_was_applied_is_not_told_of_what_comes_after_it(bench):
    bench.translator.put(*web())
    bench.remembered()
    hold = bench.aws.fault("hold", action="AddTags", count=1)
    bench.translator.put(*web(path="/bar"))
    bench.translator.wait_status(WEB, "pending")
    stays(lambda: bench.translator.status(WEB)["state"] == "pending", "it is not applied", 0.5)
    bench.aws.clear(hold)
    bench.settle()
    assert paths(bench) == ["/bar", "/bar/*"]


def test_what_must_not_exist_is_removed(bench):
    bench.translator.put(*web())
    bench.remembered()
    bench.translator.put(load_balancer("web", http=None, absent=True))
    wait_for(lambda: not bench.aws.balancers() and not bench.aws.groups(), "all of it to be removed")
    bench.settle()


def test_an_endpoint_that_aws_refuses_does_not_hinder_the_others(bench):
    bench.translator.put(*web("172.31.0.10", "172.31.0.11"))
    bench.settle()
    bench.aws.fault("error", action="RegisterTargets", code="InvalidTarget", status=400, count=2)
    bench.translator.put(*web("172.31.0.10", "172.31.0.11", "172.31.0.12", "172.31.0.13"))
    wait_for(lambda: len(bench.targets()) == 3, "the other one to be registered")
    bench.translator.wait_status(WEB, "failed", "InvalidTarget")


def test_endpoints_that_change_do_not_repeat_what_was_refused(bench):
    bench.aws.fault("error", action="CreateRule", code="InvalidConfigurationRequest", status=400)
    bench.translator.put(*web())
    bench.translator.wait_status(WEB, "failed", "InvalidConfigurationRequest")
    before = counted(bench, "CreateRule")
    for last in range(20, 25):
        bench.translator.put(pool("web", endpoints=[f"172.31.0.{last}"]))
        wait_for(lambda: bench.targets() == [f"172.31.0.{last}:8080"], "the new endpoint to be registered")
    assert counted(bench, "CreateRule") == before


def test_nothing_is_lost_while_the_successor_is_refused():
    with ElbBench() as bench:
        bench.translator.put(*web())
        bench.remembered()
        before = bench.balancer()
        bench.aws.fault("error", action="CreateLoadBalancer", code="InvalidConfigurationRequest", status=400)
        bench.provider.arguments += ["--scheme", "internal"]
        bench.restart()
        bench.translator.wait_status(WEB, "failed", "InvalidConfigurationRequest")
        stays(lambda: bench.balancer() is not None, "the one that serves stays", 3)
        assert bench.balancer()["dns_name"] == before["dns_name"]


def lead(bench: ElbBench, acts: bool) -> None:
    bench.translator.answer("lead", {"until_ms": 2**62} if acts else {})


def follow(bench: ElbBench) -> None:
    lead(bench, False)
    bench.provider.wait_event("follows")


def test_a_standby_writes_nothing_and_takes_over_without_a_needless_write(bench):
    bench.translator.put(*web())
    bench.remembered()
    follow(bench)
    bench.aws.forget()
    # Another replica does meanwhile what the translator tells both.
    bench.translator.put(*web("172.31.0.11"))
    bench.translator.put(virtual_host("default/web", "new.bar.com", ("/", WEB)))
    bench.quiet(1.5)
    assert not bench.writes()
    group = bench.group()
    bench.aws.call("elasticloadbalancing", "RegisterTargets", TargetGroupArn=group["arn"], Targets=[{"Id": "172.31.0.11", "Port": 8080}])
    bench.aws.call("elasticloadbalancing", "DeregisterTargets", TargetGroupArn=group["arn"], Targets=[{"Id": "172.31.0.10", "Port": 8080}])
    lead(bench, True)
    wait_for(lambda: "CreateRule" in bench.writes(), "the new host to be served")
    bench.remembered()
    bench.quiet()
    assert "RegisterTargets" not in bench.writes() and "DeregisterTargets" not in bench.writes()


def test_a_digest_from_before_another_replica_acted_does_not_count(bench):
    bench.translator.put(*web())
    bench.remembered()
    listener, = bench.balancer()["listeners"]
    rule, = listener["rules"]
    follow(bench)
    # The other one was ended in the middle of a change that was taken back since.
    bench.aws.call("elasticloadbalancing", "AddTags", ResourceArns=[bench.balancer()["arn"]],
                   Tags=[{"Key": "sluice.io/applied", "Value": "changing"}])
    bench.aws.call("elasticloadbalancing", "DeleteRule", RuleArn=rule["arn"])
    lead(bench, True)
    wait_for(lambda: len(bench.rules()) == 1, "the rule to be made again")
    bench.remembered()
