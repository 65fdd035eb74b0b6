# SPDX-License-Identifier: Apache-2.0
"""provider-elb against the stand-in of AWS, told what is wanted by a translator of the tests."""
from __future__ import annotations

import re

import pytest

from lib.admin import look
from lib.certs import self_signed
from lib.elb_bench import ElbBench
from lib.provider_link import certificate, load_balancer, pool, virtual_host
from lib.wait import stays, wait_for

WEB = "default/web"
CREATION = ["CreateTargetGroup", "ModifyTargetGroupAttributes", "CreateSecurityGroup", "AuthorizeSecurityGroupIngress",
            "CreateLoadBalancer", "CreateListener", "RegisterTargets", "CreateRule", "AddTags"]
TAG = "AddTags"  # of a load balancer that is about to be changed, and again when it is as wanted


@pytest.fixture
def bench():
    with ElbBench() as running:
        yield running


def web(*ips: str, path: str = "/foo", **more) -> list:
    return [load_balancer("web", **more), virtual_host(WEB, "foo.bar.com", (path, WEB)), pool("web", endpoints=list(ips or ["172.31.0.10"]))]


def conditions(rule: dict) -> dict[str, list[str]]:
    """Field of a condition to its values; "re:" stands before those that are regular expressions."""
    found = {}
    for condition in rule["conditions"]:
        config = condition.get("HostHeaderConfig") or condition.get("PathPatternConfig")
        found[condition["Field"]] = config.get("Values") or ["re:" + value for value in config["RegexValues"]]
    return found


def served(bench: ElbBench) -> None:
    bench.remembered()
    bench.quiet()
    bench.aws.forget()


# One Ingress


def test_an_ingress_becomes_a_load_balancer(bench):
    bench.translator.put(*web("172.31.0.10", "172.31.0.11"))
    bench.settle()
    balancer = bench.balancer()
    assert balancer["tags"]["sluice.io/cluster"] == "demo" and balancer["tags"]["sluice.io/owner"] == WEB
    assert bench.translator.addresses(WEB) == [balancer["dns_name"].lower()]
    rule, = bench.rules()
    assert conditions(rule) == {"host-header": ["foo.bar.com"], "path-pattern": ["/foo", "/foo/*"]}
    assert bench.targets() == ["172.31.0.10:8080", "172.31.0.11:8080"]
    bench.remembered()
    assert sorted(bench.writes()) == sorted(CREATION)
    assert bench.writes().index("RegisterTargets") < bench.writes().index("CreateRule")
    assert bench.translator.event_reasons(WEB) == ["LoadBalancerCreated"]
    assert bench.translator.notices(WEB) == {}
    assert not bench.aws.control("failures")


def counted(bench: ElbBench, metric: str) -> dict[str, int]:
    """By action, without those that are 0."""
    text = look(bench.runtime / "provider-elb.admin", "/metrics").text
    return {action: int(value) for action, value in re.findall(rf'^{metric}_total{{action="(\w+)"}} (\d+)$', text, re.MULTILINE) if value != "0"}


def test_calls_are_counted_by_action_as_aws_sees_them(bench):
    bench.aws.fault("throttle", action="CreateRule", count=1)
    bench.aws.fault("error", action="CreateListener", count=1)
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    bench.remembered()
    bench.translator.put(*web("172.31.0.11", path="/bar"))
    bench.remembered()
    bench.translator.remove_ingress(WEB)
    bench.translator.remove(("pool", WEB), ("certificate", "default/cert"))
    wait_for(lambda: not bench.aws.balancers() and not bench.aws.groups() and not bench.aws.certificates(), "nothing to be left")
    wait_for(lambda: counted(bench, "sluice_elb_calls_by_action") == bench.aws.counts(), "the counts to agree")
    assert counted(bench, "sluice_elb_throttled_by_action") == {"CreateRule": 1}
    assert counted(bench, "sluice_elb_failed_by_action")["CreateListener"] == 1


def test_no_address_is_shown_before_the_load_balancer_is_active(bench):
    bench.aws.configure(provisioning_told=True)
    bench.translator.put(*web())
    wait_for(bench.rules, "a rule")
    assert bench.translator.status(WEB)["state"] == "pending"
    assert not bench.translator.addresses(WEB)
    bench.aws.control("set-state", name=bench.balancer()["name"], state="active")
    bench.settle()
    assert bench.translator.addresses(WEB)


def test_a_changed_path_costs_two_rules(bench):
    bench.translator.put(*web())
    served(bench)
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/bar", WEB)))
    wait_for(lambda: [conditions(rule)["path-pattern"][0] for rule in bench.rules()] == ["/bar"], "the new path")
    bench.remembered()
    assert bench.writes() == [TAG, "CreateRule", "DeleteRule", TAG]


def test_an_added_path_costs_one_rule(bench):
    bench.translator.put(*web())
    served(bench)
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/foo/bar", WEB), ("/foo", WEB)))
    wait_for(lambda: [conditions(rule)["path-pattern"][0] for rule in bench.rules()] == ["/foo/bar", "/foo"], "the new path")
    bench.remembered()
    assert bench.writes() == [TAG, "CreateRule", TAG]


def test_rules_that_change_places_cost_one_call(bench):
    bench.translator.put(*web(), virtual_host(WEB, "foo.bar.com", ("/a", WEB), ("/b", WEB), ("/c", WEB)))
    served(bench)
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/c", WEB), ("/a", WEB), ("/b", WEB)))
    wait_for(lambda: [conditions(rule)["path-pattern"][0] for rule in bench.rules()] == ["/c", "/a", "/b"], "the new order")
    bench.remembered()
    assert bench.writes() == [TAG, "SetRulePriorities", TAG]


def test_an_endpoint_that_comes_costs_one_call_and_one_that_goes_another(bench):
    """So it is while one stays that was seen to get requests; the first one of a new group is looked at."""
    bench.translator.put(*web("172.31.0.10", "172.31.0.11"))
    served(bench)
    for new, reads in ((12, 1), (13, 0)):
        bench.translator.put(pool("web", endpoints=["172.31.0.10", f"172.31.0.{new}"]))
        wait_for(lambda: bench.targets() == ["172.31.0.10:8080", f"172.31.0.{new}:8080"], "the new endpoint")  # noqa: B023
        bench.settle()
        assert bench.writes() == ["RegisterTargets", "DeregisterTargets"]
        assert bench.aws.counts().get("DescribeTargetHealth", 0) <= reads
        bench.aws.forget()


def test_in_a_rollout_what_goes_does_not_wait_for_all_that_comes(bench):
    before = [f"172.31.0.{n}" for n in range(1, 5)]
    bench.translator.put(*web(*before, "172.31.0.10"))
    served(bench)
    bench.translator.put(pool("web", endpoints=before))
    wait_for(lambda: bench.targets() == [f"{ip}:8080" for ip in before], "that those which stay get requests")
    bench.settle()
    bench.aws.forget()
    bench.aws.fault("hold", action="RegisterTargets", count=1)
    bench.translator.put(pool("web", endpoints=["172.31.0.11", *before[1:]]))
    wait_for(lambda: bench.writes() == ["RegisterTargets"], "the first registration")
    bench.translator.put(pool("web", endpoints=["172.31.0.11", "172.31.0.12", *before[2:]]))
    bench.aws.clear()
    wait_for(lambda: bench.targets() == ["172.31.0.11:8080", "172.31.0.12:8080", "172.31.0.3:8080", "172.31.0.4:8080"], "the new endpoints")
    assert bench.writes() == ["RegisterTargets", "DeregisterTargets", "RegisterTargets"]
    # Never without a target that stays.
    bench.settle()
    bench.aws.forget()
    number = bench.aws.fault("hold", action="RegisterTargets", count=1)
    bench.translator.put(pool("web", endpoints=["172.31.0.21"]))
    wait_for(lambda: bench.writes() == ["RegisterTargets"], "a registration")
    bench.translator.put(pool("web", endpoints=["172.31.0.31"]))
    bench.aws.clear(number)
    wait_for(lambda: bench.targets() == ["172.31.0.31:8080"], "the last endpoint")
    assert bench.writes() == ["RegisterTargets", "RegisterTargets", "DeregisterTargets"]


def test_an_ingress_that_goes_leaves_nothing(bench):
    pair = self_signed("foo.bar.com")
    bench.translator.put(certificate("cert", pair), *web(https=443, certificates=["default/cert"]))
    served(bench)
    bench.translator.remove_ingress(WEB)
    bench.translator.remove(("pool", WEB), ("certificate", "default/cert"))
    wait_for(lambda: not bench.aws.balancers() and not bench.aws.groups() and not bench.aws.certificates()
             and not [g for g in bench.aws.security_groups() if g["tags"].get("sluice.io/cluster")], "nothing to be left", 40)
    writes = [action for action in bench.writes() if action.startswith("Delete")]
    assert writes.index("DeleteLoadBalancer") < writes.index("DeleteTargetGroup") < writes.index("DeleteSecurityGroup")
    assert "DeleteCertificate" in writes


# Restarts


def test_a_restart_without_changes_writes_nothing(bench):
    names = [f"web{n}" for n in range(5)]
    for name in names:
        bench.translator.put(load_balancer(name), virtual_host(f"default/{name}", f"{name}.bar.com", ("/", f"default/{name}")),
                             pool(name, endpoints=["172.31.0.10"]))
    for name in names:
        bench.remembered(f"default/{name}")
    bench.provider.kill()
    bench.aws.forget()
    bench.provider.start()
    bench.translator.wait_connection(2)
    for name in names:
        bench.settle(f"default/{name}")
    bench.quiet()
    assert bench.writes() == []
    counts = bench.aws.counts()
    assert not {"DescribeListeners", "DescribeRules", "DescribeTags"} & counts.keys()
    assert counts["DescribeLoadBalancers"] == 1 and counts["GetResources"] == 1


def test_killed_before_a_groups_attributes_were_set(bench):
    bench.aws.fault("hang", action="ModifyTargetGroupAttributes", count=1)
    bench.translator.put(*web())
    wait_for(lambda: "ModifyTargetGroupAttributes" in bench.writes(), "the attributes to be sent")
    bench.restart()
    bench.remembered()
    assert bench.group()["attributes"]["deregistration_delay.timeout_seconds"] == "30"
    assert bench.writes().count("CreateTargetGroup") == 1 and bench.writes().count("AddTags") == 1


def test_what_changed_while_it_was_away_is_found(bench):
    bench.translator.put(*web("172.31.0.10"))
    served(bench)
    bench.provider.kill()
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/bar", WEB)), pool("web", endpoints=["172.31.0.11"]))
    bench.provider.start()
    bench.translator.wait_connection(2)
    wait_for(lambda: [conditions(rule)["path-pattern"][0] for rule in bench.rules()] == ["/bar"], "the new path")
    wait_for(lambda: bench.targets() == ["172.31.0.11:8080"], "the new endpoint")
    bench.settle()


@pytest.mark.parametrize("skip", range(len(CREATION)))
def test_it_may_be_killed_after_any_call(skip):
    """The call is carried out, its answer is lost with the process."""
    with ElbBench(start=False) as bench:
        bench.aws.fault("hold", action=["Create*", "Modify*", "Authorize*", "Register*", "AddTags"], skip=skip, count=1, when="after")
        bench.translator.put(*web("172.31.0.10", "172.31.0.11"))
        bench.start()
        wait_for(lambda: len(bench.aws.writes()) > skip, f"write {skip}", 30)
        bench.provider.kill()
        bench.aws.clear()
        bench.provider.start()
        bench.translator.wait_connection(2)
        bench.remembered()
        assert len(bench.aws.balancers()) == 1 and len(bench.aws.groups()) == 1 and len(bench.rules()) == 1
        assert len([g for g in bench.aws.security_groups() if g["tags"].get("sluice.io/cluster")]) == 1
        assert bench.targets() == ["172.31.0.10:8080", "172.31.0.11:8080"]


@pytest.mark.parametrize("skip", range(len(CREATION)))
def test_an_answer_may_be_lost(skip):
    with ElbBench(start=False) as bench:
        bench.aws.fault("close", action=["Create*", "Modify*", "Authorize*", "Register*", "AddTags"], skip=skip, count=1, when="after")
        bench.translator.put(*web("172.31.0.10", "172.31.0.11"))
        bench.start()
        bench.settle(timeout=60)
        assert len(bench.aws.balancers()) == 1 and len(bench.aws.groups()) == 1 and len(bench.rules()) == 1
        assert bench.targets() == ["172.31.0.10:8080", "172.31.0.11:8080"]


def test_what_belongs_to_nobody_goes_after_the_grace(bench):
    bench.translator.put(*web())
    served(bench)
    bench.provider.kill()
    bench.translator.remove_ingress(WEB)
    bench.translator.hold_snapshot()
    bench.provider.start()
    bench.translator.wait_connection(2)
    stays(lambda: bench.balancer() is not None, "the load balancer, before it is known what is wanted", 2)
    bench.translator.hold_snapshot(False)
    wait_for(lambda: not bench.aws.balancers() and not bench.aws.groups(), "the orphan to be gone", 30)


# Others


def test_what_is_not_ours_is_left_alone(bench):
    vpc_groups = len(bench.aws.security_groups())
    bench.translator.put(*web())
    served(bench)
    foreign = bench.aws.call("elasticloadbalancing", "CreateTargetGroup", Name="theirs", Protocol="HTTP", Port=80, VpcId=bench.aws.vpc, TargetType="ip")
    arn = foreign["TargetGroups"][0]["TargetGroupArn"]
    listener = bench.balancer()["listeners"][0]["arn"]
    bench.aws.call("elasticloadbalancing", "CreateRule", ListenerArn=listener, Priority=7,
                   Conditions=[{"Field": "path-pattern", "PathPatternConfig": {"Values": ["/theirs"]}}],
                   Actions=[{"Type": "forward", "TargetGroupArn": arn}])
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/bar", WEB), ("/foo", WEB)))
    wait_for(lambda: len(bench.rules()) == 3, "the new rule beside theirs")
    bench.settle()
    bench.restart()
    bench.settle()
    assert [rule["priority"] for rule in bench.rules()][0] == 7
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: not bench.aws.balancers(), "ours to be gone", 30)
    wait_for(lambda: [g["name"] for g in bench.aws.groups()] == ["theirs"], "theirs to be left", 30)
    wait_for(lambda: len(bench.aws.security_groups()) == vpc_groups, "our security group to be gone", 30)


def test_a_sweep_that_finds_nothing_is_not_told():
    with ElbBench(arguments=["--sweep-interval", "0.5"]) as bench:
        bench.translator.put(*web())
        bench.remembered()
        before = len(bench.translator.status_log)
        bench.aws.forget()
        wait_for(lambda: bench.aws.counts().get("DescribeRules", 0) >= 2, "two sweeps")
        assert {status["state"] for status in bench.translator.status_log[before:]} <= {"applied"}
        assert bench.writes() == []


def test_a_rule_that_somebody_removes_comes_back_with_the_sweep():
    with ElbBench(arguments=["--sweep-interval", "0.5"]) as bench:
        bench.translator.put(*web())
        bench.settle()
        bench.aws.call("elasticloadbalancing", "DeleteRule", RuleArn=bench.rules()[0]["arn"])
        wait_for(lambda: len(bench.rules()) == 1, "the rule to be back", 30)


def test_a_load_balancer_that_somebody_removes_comes_back():
    with ElbBench(arguments=["--list-interval", "1"]) as bench:
        bench.translator.put(*web())
        bench.settle()
        first = bench.balancer()["arn"]
        bench.aws.call("elasticloadbalancing", "DeleteLoadBalancer", LoadBalancerArn=first)
        wait_for(lambda: (found := bench.balancer()) and found["arn"] != first and bench.rules(), "another load balancer", 40)
        wait_for(lambda: bench.translator.addresses(WEB) == [bench.balancer()["dns_name"].lower()], "its address", 20)


def test_deletion_protection_is_respected_and_told(bench):
    bench.translator.put(*web())
    served(bench)
    bench.aws.call("elasticloadbalancing", "ModifyLoadBalancerAttributes", LoadBalancerArn=bench.balancer()["arn"],
                   Attributes=[{"Key": "deletion_protection.enabled", "Value": "true"}])
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: bench.provider.events("balancer-failed"), "a line in the log", 20)
    assert bench.balancer() is not None and bench.group() is not None
    bench.aws.call("elasticloadbalancing", "ModifyLoadBalancerAttributes", LoadBalancerArn=bench.balancer()["arn"],
                   Attributes=[{"Key": "deletion_protection.enabled", "Value": "false"}])
    bench.restart()
    wait_for(lambda: not bench.aws.balancers() and not bench.aws.groups(), "all to be gone", 30)


# Trouble


def test_one_that_is_refused_does_not_hold_up_another(bench):
    bench.aws.configure(quotas={"application-load-balancers": 1})
    bench.translator.put(*web())
    bench.settle()
    bench.translator.put(load_balancer("second"), virtual_host("default/second", "second.bar.com", ("/", WEB)))
    status = bench.translator.wait_status("default/second", "failed", "TooManyLoadBalancers")
    assert "CreateLoadBalancer" in status["message"]
    bench.translator.put(virtual_host(WEB, "foo.bar.com", ("/bar", WEB)))
    wait_for(lambda: [conditions(rule)["path-pattern"][0] for rule in bench.rules()] == ["/bar"], "the new path of the first")
    bench.settle()


def test_throttling_slows_it_down_and_stops_nothing(bench):
    bench.aws.control("rates", on=True, write=[3, 3], read=[3, 3], targets=[2, 2], ec2=[3, 3], tagging=[3, 3])
    bench.translator.put(*web("172.31.0.10"))
    bench.settle(timeout=90)
    bench.aws.fault("throttle", action="Describe*")
    bench.translator.put(pool("web", endpoints=["172.31.0.11"]))
    wait_for(lambda: bench.targets() == ["172.31.0.11:8080"], "the new endpoint, although all reads are throttled", 40)


def test_credentials_that_end_are_renewed():
    with ElbBench(source="container") as bench:
        bench.translator.put(*web())
        bench.settle()
        bench.aws.control("expire")
        bench.translator.put(pool("web", endpoints=["172.31.0.12"]))
        wait_for(lambda: bench.targets() == ["172.31.0.12:8080"], "the new endpoint")
        bench.settle()


@pytest.mark.parametrize("source", ["environment", "session", "web-identity", "container", "instance"])
def test_where_credentials_come_from(source):
    with ElbBench(source=source) as bench:
        bench.translator.put(*web())
        bench.settle()
        assert not bench.aws.control("failures")


def test_an_outage_ends_by_itself(bench):
    bench.translator.put(*web("172.31.0.10"))
    served(bench)
    bench.aws.control("api", state="down")
    bench.translator.put(pool("web", endpoints=["172.31.0.11"]))
    wait_for(lambda: bench.provider.events("aws-outage"), "the outage to be seen", 30)
    bench.aws.control("api", state="up")
    wait_for(lambda: bench.targets() == ["172.31.0.11:8080"], "the new endpoint", 60)
    bench.settle()


def test_what_was_just_made_may_be_hidden_for_a_while():
    with ElbBench(settings={"hidden_reads": {"listener": 2, "group": 2, "balancer": 2}, "tagging_lag_s": 5.0, "group_release_s": 2.0,
                            "security_group_release_s": 3.0}) as bench:
        bench.translator.put(*web())
        bench.settle(timeout=60)
        bench.restart()
        bench.settle(timeout=60)
        assert len(bench.aws.balancers()) == 1 and len(bench.aws.groups()) == 1
        bench.translator.remove_ingress(WEB)
        wait_for(lambda: not bench.aws.balancers() and not bench.aws.groups(), "all to be gone", 60)


# More than one rule


def test_hosts_and_paths_in_the_order_of_an_ingress(bench):
    bench.translator.put(load_balancer("web"), pool("web", endpoints=["172.31.0.10"]),
                         virtual_host(WEB, "", ("/", WEB, "prefix")), virtual_host(WEB, "*.bar.com", ("/", WEB, "prefix")),
                         virtual_host(WEB, "foo.bar.com", ("/exact", WEB, "exact"), ("/a/", WEB, "prefix"), ("/", WEB, "prefix")))
    bench.settle()
    assert [conditions(rule) for rule in bench.rules()] == [
        {"host-header": ["foo.bar.com"], "path-pattern": ["/exact"]},
        {"host-header": ["foo.bar.com"], "path-pattern": ["/a", "/a/*"]},
        {"host-header": ["foo.bar.com"]},
        {"host-header": ["re:^[^.]+\\.bar\\.com$"]},
        {"path-pattern": ["/*"]}]
    bands = [rule["priority"] // 1000 for rule in bench.rules()]
    assert all(1 <= band < 30 for band in bands[:3]) and 30 <= bands[3] < 45 <= bands[4] < 50


def test_what_an_alb_cannot_have_is_told_by_host_and_path(bench):
    long = "/" + "x" * 200
    bench.translator.put(load_balancer("web"), pool("web", endpoints=["172.31.0.10"]), virtual_host(WEB, "foo.bar.com", ("/fine", WEB), (long, WEB)))
    bench.settle()
    assert len(bench.rules()) == 1
    notice, = bench.translator.notices(WEB).values()
    assert "foo.bar.com" in notice and "xxx" in notice


def test_a_service_of_type_load_balancer_gets_a_network_load_balancer(bench):
    service = load_balancer("db", http=None, is_service=True)
    service["listeners"] = [{"port": 5432, "protocol": "tcp", "pool": "default/db"}]
    service["owners"][0]["is_service"] = True
    bench.translator.put(service, pool("db", endpoints=["172.31.0.10"], protocol="tcp"))
    bench.settle("default/db")
    balancer = bench.balancer("default/db", "network")
    listener, = balancer["listeners"]
    assert (listener["port"], listener["protocol"]) == (5432, "TCP")
    assert bench.targets("default/db") == ["172.31.0.10:8080"]
    assert bench.translator.addresses("default/db") == [balancer["dns_name"].lower()]


# Certificates


def test_a_certificate_is_imported_renewed_in_place_and_removed():
    with ElbBench(arguments=["--list-interval", "2"]) as bench:
        certificate_story(bench)


def certificate_story(bench: ElbBench) -> None:
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    bench.settle()
    stored, = bench.aws.certificates()
    assert stored["users"] and stored["names"] == ["foo.bar.com"]
    listener, = [x for x in bench.balancer()["listeners"] if x["port"] == 443]
    assert listener["certificate"] == stored["arn"]
    bench.remembered()
    bench.quiet()
    bench.aws.forget()
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")))
    wait_for(lambda: bench.aws.certificates()[0]["serial"] != stored["serial"], "the renewed one")
    wait_for(lambda: "AddTagsToCertificate" in bench.writes(), "its tag")
    bench.quiet()
    assert [c["arn"] for c in bench.aws.certificates()] == [stored["arn"]]
    assert bench.writes() == ["ImportCertificate", "AddTagsToCertificate"]
    bench.translator.put(load_balancer("web"))
    wait_for(lambda: not bench.aws.certificates(), "the certificate to be removed", 30)
    bench.settle()


def test_a_restart_does_not_import_again(bench):
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    served(bench)
    bench.aws.forget()
    bench.restart()
    bench.settle()
    bench.quiet()
    assert bench.writes() == []
