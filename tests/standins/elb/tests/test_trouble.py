# SPDX-License-Identifier: Apache-2.0
"""Faults, rates, delays, and what somebody else does."""

from __future__ import annotations

import contextlib
import threading
import time

import botocore.exceptions
import botocore.parsers
import pytest

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
