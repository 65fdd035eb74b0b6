# SPDX-License-Identifier: Apache-2.0
"""That examples/aws/iam-policy.json allows what provider-elb calls, and nothing else. All other tests before the stand-in run with that policy, too."""
from __future__ import annotations

import pytest

from lib.certs import self_signed
from lib.elb_bench import ElbBench, policy
from lib.provider_link import certificate, load_balancer, pool, virtual_host
from lib.wait import wait_for

WEB = "default/web"
# What AWS does itself for a caller who needs the right to it.
IMPLIED = {"ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeInternetGateways", "iam:CreateServiceLinkedRole"}


def restart_with(bench: ElbBench, *arguments: str) -> None:
    bench.provider.arguments = [*bench.provider.arguments, *arguments]
    bench.restart()


def hosts(*rules: tuple) -> dict:
    return virtual_host(WEB, "foo.bar.com", *rules)


def balancer(*certificates: str, **more) -> dict:
    return load_balancer("web", https=443 if certificates else None, certificates=[f"default/{name}" for name in certificates], **more)


def create(bench: ElbBench) -> None:
    """The answer to the first import is lost, and tags are told late, so that it is looked for."""
    bench.aws.configure(tagging_lag_s=10)
    bench.aws.fault("close", action="ImportCertificate", count=1, when="after")
    bench.translator.put(*(certificate(name, self_signed(f"{name}.bar.com")) for name in ("one", "two", "three")), balancer("one", "two"),
                         hosts(("/a", WEB), ("/b", WEB), ("/c", WEB)), pool("web", endpoints=["172.31.0.10"]), pool("other", endpoints=["172.31.0.20"]))
    wait_for(lambda: [bool(c["users"]) for c in bench.aws.certificates()] == [True, True], "both certificates to be served")
    bench.aws.configure(tagging_lag_s=0)
    bench.remembered()


def change(bench: ElbBench) -> None:
    bench.translator.put(hosts(("/c", WEB), ("/a", WEB), ("/b", WEB)), pool("web", endpoints=["172.31.0.11"]), certificate("one", self_signed("one.bar.com")))
    wait_for(lambda: bench.targets() == ["172.31.0.11:8080"], "the other endpoint")
    bench.remembered()
    bench.translator.put(hosts(("/c", "default/other"), ("/b", WEB)), balancer("one", "three"))
    bench.remembered()
    wait_for(lambda: len(bench.aws.certificates()) == 2, "the second certificate to be removed")


def meddle(bench: ElbBench) -> None:
    """Somebody replaces a certificate, and removes a rule: both are found by reading."""
    stored = bench.aws.certificates()[0]
    other = self_signed(*stored["names"], days=20)
    bench.aws.call("acm", "ImportCertificate", CertificateArn=stored["arn"], Certificate=other.pem.decode(), PrivateKey=other.key.decode())
    bench.aws.call("elasticloadbalancing", "DeleteRule", RuleArn=bench.rules()[0]["arn"])
    serial = next(c["serial"] for c in bench.aws.certificates() if c["arn"] == stored["arn"])
    wait_for(lambda: len(bench.rules()) == 2 and all(c["serial"] != serial for c in bench.aws.certificates()), "both to be mended")
    bench.remembered()


def change_options(bench: ElbBench) -> None:
    policy_of_tls = "ELBSecurityPolicy-TLS13-1-3-2021-06"
    restart_with(bench, "--ssl-policy", policy_of_tls, "--health-check-interval", "20", "--inbound-cidrs", "10.0.0.0/8")
    wait_for(lambda: {x["ssl_policy"] for x in bench.balancer()["listeners"] if x["port"] == 443} == {policy_of_tls}, "the policy of TLS")
    wait_for(lambda: "ModifyTargetGroup" in bench.writes() and "RevokeSecurityGroupIngress" in bench.writes(), "the interval and the network")
    bench.translator.put(balancer())
    wait_for(lambda: [x["port"] for x in bench.balancer()["listeners"]] == [80], "one listener")
    mine = bench.aws.call("ec2", "CreateSecurityGroup", GroupName="theirs", Description="theirs", VpcId=bench.aws.vpc)["GroupId"]
    restart_with(bench, "--security-groups", mine)
    wait_for(lambda: bench.balancer()["security_groups"] == [mine], "the other security group")


def remove(bench: ElbBench) -> None:
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: not bench.aws.balancers() and not bench.aws.groups() and not bench.aws.certificates()
             and not [g for g in bench.aws.security_groups() if g["tags"].get("sluice.io/cluster")], "nothing to be left")


@pytest.mark.plain
def test_each_right_is_needed_and_suffices():
    with ElbBench(arguments=["--list-interval", "1", "--sweep-interval", "0.5"]) as bench:
        zone = bench.aws.zone("bar.com")
        restart_with(bench, "--route53-zone", zone)
        create(bench)
        wait_for(lambda: ("foo.bar.com.", "A") in [(record["Name"], record["Type"]) for record in bench.aws.records(zone)], "the record")
        change(bench)
        meddle(bench)
        change_options(bench)
        remove(bench)
        used = {tuple(pair) for pair in bench.aws.control("rights")}
        refused = [call for call in bench.aws.calls() if call["status"] in (401, 403) or "AccessDenied" in (call["outcome"] or "")]
        assert not refused
    given = {(s["Sid"], action) for s in policy() for action in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])}
    assert used == {pair for pair in given if pair[1] not in IMPLIED}


def test_without_a_right_the_call_is_named():
    statements = [{**s, "Action": [a for a in s["Action"] if a != "elasticloadbalancing:CreateRule"]} if s["Sid"] == "ChangeOurs" else s for s in policy()]
    with ElbBench(settings={"policy": statements}) as bench:
        bench.translator.put(balancer(), hosts(("/a", WEB)), pool("web", endpoints=["172.31.0.10"]))
        message = bench.translator.wait_status(WEB, "failed")["message"]
        assert "CreateRule" in message and "not authorized" in message
        bench.aws.configure(policy=policy())
        bench.translator.put(hosts(("/b", WEB)))
        bench.settle()


def remove_rule(bench: ElbBench) -> None:
    bench.aws.call("elasticloadbalancing", "DeleteRule", RuleArn=bench.rules()[0]["arn"])


def remove_listener(bench: ElbBench) -> None:
    bench.aws.call("elasticloadbalancing", "DeleteListener", ListenerArn=bench.balancer()["listeners"][0]["arn"])


def remove_balancer(bench: ElbBench) -> None:
    bench.aws.call("elasticloadbalancing", "DeleteLoadBalancer", LoadBalancerArn=bench.balancer()["arn"])


@pytest.mark.parametrize("somebody_removes", [remove_rule, pytest.param(remove_listener, marks=pytest.mark.long), remove_balancer])
def test_what_is_gone_may_be_denied_rather_than_not_found(somebody_removes):
    """What is not there has no tags, on which the right to change it depends. Nothing but the denied call says that it is gone."""
    with ElbBench(settings={"denies_unknown": True}) as bench:
        bench.translator.put(balancer(), hosts(("/a", WEB), ("/b", WEB)), pool("web", endpoints=["172.31.0.10"]))
        bench.remembered()
        somebody_removes(bench)
        bench.translator.put(hosts(("/b", WEB)))
        wait_for(lambda: bench.aws.control("calls", outcome="AccessDenied"), "a call to be denied")
        wait_for(lambda: len(bench.rules()) == 1, "the rule that is left")
        bench.remembered()
        assert len(bench.aws.control("calls", outcome="AccessDenied")) == 1
