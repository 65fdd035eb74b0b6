# SPDX-License-Identifier: Apache-2.0
"""Faults, rates, delays, and what somebody else does."""

from __future__ import annotations

import contextlib
import functools
import threading
import time

import botocore.exceptions
import botocore.parsers
import pytest

from lib.certs import self_signed
from lib.elb_bench import policy
from standins.elb.client import Aws
from standins.process import ControlFailure

from .conftest import Caller, code, fixed, path


def test_faults(aws: Aws, caller: Caller) -> None:
    arn = caller.group()
    aws.fault("error", action="DescribeTags", code="AccessDenied", status=403, count=1)
    assert [code(caller.elb.describe_tags, ResourceArns=[arn]) for _ in range(2)] == ["AccessDenied", "ok"]
    aws.fault("throttle", action="Describe*", skip=1, count=1)
    assert [code(caller.elb.describe_load_balancers) for _ in range(3)] == ["ok", "Throttling", "ok"]
    aws.fault("throttle", count=2)
    assert (code(caller.ec2.describe_vpcs), code(caller.acm.list_certificates)) == ("RequestLimitExceeded", "ThrottlingException")
    aws.clear()
    for when, there in (("before", 0), ("after", 1)):
        number = aws.fault("close", action="CreateTargetGroup", when=when)
        with pytest.raises(botocore.exceptions.HTTPClientError):
            caller.group(f"lost-{when}")
        assert sum(g["name"] == f"lost-{when}" for g in aws.groups()) == there
        aws.clear(number)
    aws.fault("truncate", action="DescribeTargetGroups", count=1)
    with pytest.raises((botocore.exceptions.HTTPClientError, botocore.parsers.ResponseParserError)):
        caller.elb.describe_target_groups()
    aws.fault("page", action="DescribeTargetGroups", count=1, status=503)
    assert code(caller.elb.describe_target_groups) == "503"
    with pytest.raises(ControlFailure):
        aws.fault("nonsense")


def test_held_calls(aws: Aws, caller: Caller) -> None:
    aws.fault("hold", action="CreateTargetGroup", when="after")
    thread = threading.Thread(target=caller.group)
    thread.start()
    deadline = time.monotonic() + 10
    while not aws.groups() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert aws.calls("CreateTargetGroup")[0]["applied"] and aws.calls("CreateTargetGroup")[0]["ended"] is None
    aws.clear()
    thread.join(10)
    assert aws.calls("CreateTargetGroup")[0]["ended"] is not None


def test_rates(aws: Aws, caller: Caller) -> None:
    aws.control("rates", on=True, read=[3, 0.001])
    assert [code(caller.elb.describe_load_balancers) for _ in range(4)] == ["ok"] * 3 + ["Throttling"]
    assert code(caller.group) == "ok"
    aws.control("rates", on=False)
    assert code(caller.elb.describe_load_balancers) == "ok"


def test_hidden_reads(aws: Aws, caller: Caller) -> None:
    aws.configure(hidden_reads={"listener": 2, "certificate": 1, "balancer": 1})
    balancer = caller.balancer()["LoadBalancerArn"]
    assert code(caller.elb.describe_load_balancers, LoadBalancerArns=[balancer]) == "LoadBalancerNotFound"
    listener = caller.listener(balancer)
    answers = [code(caller.rule, listener=listener, priority=1, conditions=[path("/")], actions=[fixed(200)]) for _ in range(3)]
    assert answers == ["ListenerNotFound", "ListenerNotFound", "ok"]


def test_states_when_told(aws: Aws, caller: Caller) -> None:
    aws.configure(provisioning_told=True)
    caller.balancer()
    shown = [caller.elb.describe_load_balancers()["LoadBalancers"][0]["State"]["Code"] for _ in range(3)]
    assert shown == ["provisioning"] * 3
    aws.control("set-state", name="web", state="failed", reason="no capacity")
    assert caller.elb.describe_load_balancers()["LoadBalancers"][0]["State"] == {"Code": "failed", "Reason": "no capacity"}


def test_journal(aws: Aws, caller: Caller) -> None:
    arn = caller.group()
    aws.call("elasticloadbalancing", "AddTags", ResourceArns=[arn], Tags=[{"Key": "by", "Value": "hand"}])
    caller.elb.describe_tags(ResourceArns=[arn])
    code(caller.elb.delete_rule, RuleArn="x")
    assert aws.counts() == {"CreateTargetGroup": 1, "DescribeTags": 1, "DeleteRule": 1}
    assert [(e["action"], e["outcome"]) for e in aws.writes()] == [("CreateTargetGroup", "ok"), ("DeleteRule", "RuleNotFound")]
    assert aws.calls("CreateTargetGroup")[0]["params"]["Name"] == "pool" and aws.groups()[0]["tags"] == {"by": "hand"}
    aws.forget()
    assert aws.calls() == []
    with pytest.raises(ControlFailure, match="TargetGroupNotFound"):
        aws.call("elasticloadbalancing", "DescribeTargetGroups", Names=["none"])


def test_api_down(aws: Aws, caller: Caller) -> None:
    aws.control("api", state="down")
    with pytest.raises(botocore.exceptions.BotoCoreError):
        caller.elb.describe_load_balancers()
    aws.control("api", state="up")
    assert code(caller.elb.describe_load_balancers) == "ok"


def test_end_with_calls_held() -> None:
    aws = Aws()
    aws.fault("hang", action="CreateTargetGroup")
    caller = Caller(aws)

    def call() -> None:
        with contextlib.suppress(botocore.exceptions.HTTPClientError):
            caller.group()

    thread = threading.Thread(target=call)
    thread.start()
    deadline = time.monotonic() + 10
    while not aws.calls() and time.monotonic() < deadline:
        time.sleep(0.02)
    begin = time.monotonic()
    aws.stop()
    thread.join(10)
    assert time.monotonic() - begin < 10


OURS = [{"Key": "sluice.io/cluster", "Value": "demo"}]
THEIRS = [{"Key": "sluice.io/cluster", "Value": "other"}]


def test_a_policy_asks_for_tags(aws: Aws, caller: Caller) -> None:
    """Those of what is created, and of what is changed; tags of a new thing are a right of their own."""
    ours, theirs = caller.group("ours", Tags=OURS), caller.group("theirs", Tags=THEIRS)
    balancer = caller.balancer("ours", Tags=OURS)["LoadBalancerArn"]
    aws.configure(policy=policy())
    calls = [caller.ec2.create_security_group, caller.elb.delete_target_group, caller.elb.add_tags]
    create, delete, tag = (functools.partial(code, call) for call in calls)
    applied, cluster = {"Key": "sluice.io/applied", "Value": "1"}, {"Key": "sluice.io/cluster", "Value": "demo"}
    group = {"Description": "x", "VpcId": aws.vpc}
    assert code(caller.group, name="bare") == "AccessDenied" == code(caller.group, name="bare", Tags=THEIRS)
    assert code(caller.group, name="tagged", Tags=OURS) == "ok"
    assert create(GroupName="bare", **group) == "UnauthorizedOperation"
    assert create(GroupName="tagged", **group, TagSpecifications=[{"ResourceType": "security-group", "Tags": OURS}]) == "ok"
    assert tag(ResourceArns=[ours], Tags=[applied]) == "ok"
    assert {tag(ResourceArns=[ours, theirs], Tags=[applied]), tag(ResourceArns=[theirs], Tags=OURS), tag(ResourceArns=[ours], Tags=[cluster])} == {"AccessDenied"}
    assert code(caller.listener, balancer=balancer, Tags=THEIRS) == "AccessDenied"
    listener = caller.listener(balancer, Tags=OURS)
    assert code(caller.elb.modify_listener, ListenerArn=listener, Port=81) == "ok"
    assert code(caller.elb.modify_load_balancer_attributes, LoadBalancerArn=balancer,
                Attributes=[{"Key": "idle_timeout.timeout_seconds", "Value": "30"}]) == "AccessDenied"
    assert delete(TargetGroupArn=theirs) == "AccessDenied"
    assert [delete(TargetGroupArn=ours) for _ in range(2)] == ["ok", "ok"]
    aws.configure(denies_unknown=True)
    assert delete(TargetGroupArn=ours) == "AccessDenied"
    pair = self_signed("a.example.com")
    content = {"Certificate": pair.pem, "PrivateKey": pair.key}
    assert code(caller.acm.import_certificate, **content) == "AccessDeniedException"
    arn = caller.acm.import_certificate(**content, Tags=OURS)["CertificateArn"]
    assert code(caller.acm.import_certificate, CertificateArn=arn, **content) == "ok"
    assert ["ImportCertificate", "acm:AddTagsToCertificate"] in aws.control("rights")
