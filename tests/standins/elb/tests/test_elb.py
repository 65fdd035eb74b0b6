# SPDX-License-Identifier: Apache-2.0
"""ELBv2 as botocore sees it: every action, and the cases in which emulators differ from AWS."""

from __future__ import annotations

import time
from typing import Any

import botocore.auth
import botocore.awsrequest
import botocore.httpsession
import pytest

from standins.elb.client import Aws

from .conftest import Caller, code, fixed, forward, host, path


def test_balancer_life(aws: Aws, caller: Caller) -> None:
    aws.configure(provisioning_polls=2)
    made = caller.balancer(Tags=[{"Key": "sluice.io/cluster", "Value": "demo"}])
    arn = made["LoadBalancerArn"]
    assert made["State"]["Code"] == "provisioning" and "loadbalancer/app/web/" in arn
    assert made["DNSName"].startswith("web-") and made["DNSName"].endswith(".us-east-1.elb.amazonaws.com")
    states = [caller.elb.describe_load_balancers(LoadBalancerArns=[arn])["LoadBalancers"][0]["State"]["Code"] for _ in range(3)]
    assert states == ["provisioning", "provisioning", "active"]
    assert len(caller.elb.describe_load_balancers(Names=["web"])["LoadBalancers"]) == 1
    assert code(caller.elb.describe_load_balancers, Names=["web", "none"]) == "LoadBalancerNotFound"
    assert caller.elb.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"] == [{"Key": "sluice.io/cluster", "Value": "demo"}]
    changed = caller.elb.modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=[{"Key": "idle_timeout.timeout_seconds", "Value": "120"}])
    assert {"Key": "idle_timeout.timeout_seconds", "Value": "120"} in changed["Attributes"]
    assert code(caller.elb.modify_load_balancer_attributes, LoadBalancerArn=arn, Attributes=[{"Key": "no.such", "Value": "1"}]) == "ValidationError"
    assert caller.elb.set_subnets(LoadBalancerArn=arn, Subnets=aws.subnets)["AvailabilityZones"][2]["SubnetId"] == aws.subnets[2]
    assert caller.elb.set_ip_address_type(LoadBalancerArn=arn, IpAddressType="dualstack")["IpAddressType"] == "dualstack"
    group = caller.ec2.create_security_group(GroupName="front", Description="front", VpcId=aws.vpc)["GroupId"]
    assert caller.elb.set_security_groups(LoadBalancerArn=arn, SecurityGroups=[group])["SecurityGroupIds"] == [group]
    assert caller.elb.describe_load_balancer_attributes(LoadBalancerArn=arn)["Attributes"]
    caller.elb.modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=[{"Key": "deletion_protection.enabled", "Value": "true"}])
    assert code(caller.elb.delete_load_balancer, LoadBalancerArn=arn) == "OperationNotPermitted"
    caller.elb.modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=[{"Key": "deletion_protection.enabled", "Value": "false"}])
    for _ in range(2):
        caller.elb.delete_load_balancer(LoadBalancerArn=arn)
    assert code(caller.elb.describe_load_balancers, LoadBalancerArns=[arn]) == "LoadBalancerNotFound"


def test_creates_repeat(aws: Aws, caller: Caller) -> None:
    tags = [{"Key": "a", "Value": "b"}]
    first = caller.balancer(Tags=tags)
    arn = first["LoadBalancerArn"]
    assert caller.balancer(Tags=tags)["LoadBalancerArn"] == arn
    assert code(caller.balancer, Scheme="internal", Tags=tags) == "DuplicateLoadBalancerName"
    assert code(caller.balancer, Tags=[]) == "DuplicateLoadBalancerName"
    group = caller.group()
    assert caller.group() == group
    assert code(caller.group, Port=1) == "DuplicateTargetGroupName"
    listener = caller.listener(arn)
    assert caller.listener(arn) == listener
    assert code(caller.listener, balancer=arn, DefaultActions=[fixed(503)]) == "DuplicateListener"
    caller.rule(listener, 1, [path("/a")], [fixed(200)])
    assert code(caller.rule, listener=listener, priority=1, conditions=[path("/a")], actions=[fixed(200)]) == "PriorityInUse"
    aws.configure(tags_are_settings=False)
    assert caller.balancer()["LoadBalancerArn"] == arn


@pytest.mark.parametrize("more, wanted", [
    ({"Name": "x" * 33}, "ValidationError"), ({"Name": "-x"}, "ValidationError"), ({"Name": "internal-x"}, "ValidationError"),
    ({"Subnets": ["subnet-none"]}, "SubnetNotFound"), ({"Subnets": []}, "ValidationError"), ({"SecurityGroups": ["sg-none"]}, "InvalidSecurityGroup"),
    ({"Scheme": "public"}, "ValidationError"), ({"Nonsense": "1"}, "MalformedQueryString"),
    ({"Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}, "DuplicateTagKeys"),
    ({"Tags": [{"Key": f"k{n}", "Value": ""} for n in range(51)]}, "TooManyTags"), ({"Tags": [{"Key": "a,b", "Value": ""}]}, "ValidationError"),
])
def test_balancer_refused(shared: Caller, more: dict[str, Any], wanted: str) -> None:
    if "Nonsense" in more:
        assert raw(shared, "Action=CreateLoadBalancer&Name=web&Nonsense=1&Version=2015-12-01") == wanted
    else:
        assert code(shared.balancer, **more) == wanted


def raw(caller: Caller, body: str) -> str:
    """The code that a form, signed by botocore, is answered with."""
    keys = caller.elb._request_signer._credentials
    request = botocore.awsrequest.AWSRequest("POST", caller.aws.url + "/", {"Content-Type": "application/x-www-form-urlencoded"}, body)
    botocore.auth.SigV4Auth(keys, "elasticloadbalancing", caller.aws.region).add_auth(request)
    text = botocore.httpsession.URLLib3Session().send(request.prepare()).text
    return text.partition("<Code>")[2].partition("<")[0] or "ok"


def test_forms_are_read_strictly(shared: Caller) -> None:
    for body, wanted in (
        ("Action=DescribeLoadBalancers&Version=2015-12-01", "ok"), ("Action=DescribeLoadBalancers", "MissingParameter"),
        ("Action=DescribeLoadBalancers&Version=2012-06-01", "InvalidAction"), ("Action=Nothing&Version=2015-12-01", "InvalidAction"),
        ("Action=DescribeLoadBalancers&PageSize=x&Version=2015-12-01", "MalformedQueryString"),
        ("Action=DescribeLoadBalancers&PageSize=401&Version=2015-12-01", "ValidationError"),
        ("Action=DescribeLoadBalancers&Names.member.2=a&Version=2015-12-01", "MalformedQueryString"),
        ("Action=DescribeLoadBalancers&Names.1=a&Version=2015-12-01", "MalformedQueryString"),
        ("Action=DeleteRule&Version=2015-12-01", "ValidationError"), ("Action=DescribeTags&ResourceArns.member.1=x&Version=2015-12-01", "ValidationError"),
    ):
        assert raw(shared, body) == wanted, body


def test_network_balancer(aws: Aws, caller: Caller) -> None:
    group = caller.ec2.create_security_group(GroupName="front", Description="front", VpcId=aws.vpc)["GroupId"]
    balancer = caller.balancer("net", Type="network", Subnets=aws.subnets[:1], SecurityGroups=[group])
    arn = balancer["LoadBalancerArn"]
    assert "loadbalancer/net/net/" in arn and balancer["DNSName"].endswith(".elb.us-east-1.amazonaws.com")
    assert code(caller.listener, balancer=arn, protocol="TCP") == "InvalidLoadBalancerAction"
    assert code(caller.listener, balancer=arn) == "UnsupportedProtocol"
    http, tcp = caller.group("http"), caller.group("tcp", Protocol="TCP")
    assert code(caller.listener, balancer=arn, protocol="TCP", DefaultActions=[forward((http, 1))]) == "IncompatibleProtocols"
    listener = caller.listener(arn, 443, "TCP", DefaultActions=[forward((tcp, 1))])
    caller.elb.modify_listener_attributes(ListenerArn=listener, Attributes=[{"Key": "tcp.idle_timeout.seconds", "Value": "600"}])
    assert caller.elb.describe_listener_attributes(ListenerArn=listener)["Attributes"] == [{"Key": "tcp.idle_timeout.seconds", "Value": "600"}]
    assert code(caller.rule, listener=listener, priority=1, conditions=[path("/")], actions=[forward((tcp, 1))]) == "ValidationError"
    bare = caller.balancer("bare", Type="network")["LoadBalancerArn"]
    assert code(caller.elb.set_security_groups, LoadBalancerArn=bare, SecurityGroups=[group]) == "InvalidConfigurationRequest"


def test_listeners(aws: Aws, caller: Caller, certificate: str) -> None:
    arn = caller.balancer()["LoadBalancerArn"]
    redirect = {"Type": "redirect", "RedirectConfig": {"Protocol": "HTTPS", "Port": "443", "StatusCode": "HTTP_301"}}
    listener = caller.listener(arn, DefaultActions=[redirect])
    shown = caller.elb.describe_listeners(ListenerArns=[listener])["Listeners"][0]
    assert shown["DefaultActions"][0]["RedirectConfig"] == {
        "Protocol": "HTTPS", "Port": "443", "Host": "#{host}", "Path": "/#{path}", "Query": "#{query}", "StatusCode": "HTTP_301"}
    assert "SslPolicy" not in shown
    assert code(caller.listener, balancer=arn, port=443, protocol="HTTPS") == "ValidationError"
    assert code(caller.listener, balancer=arn, port=443, protocol="HTTPS", Certificates=[{"CertificateArn": certificate + "0"}]) == "CertificateNotFound"
    secure = caller.listener(arn, 443, "HTTPS", Certificates=[{"CertificateArn": certificate}], SslPolicy="ELBSecurityPolicy-TLS13-1-2-2021-06")
    for _ in range(2):
        caller.elb.add_listener_certificates(ListenerArn=secure, Certificates=[{"CertificateArn": certificate}])
    listed = caller.elb.describe_listener_certificates(ListenerArn=secure)["Certificates"]
    assert [(c["CertificateArn"], c["IsDefault"]) for c in listed] == [(certificate, True), (certificate, False)]
    caller.elb.remove_listener_certificates(ListenerArn=secure, Certificates=[{"CertificateArn": certificate}])
    assert code(caller.elb.remove_listener_certificates, ListenerArn=secure, Certificates=[{"CertificateArn": certificate}]) == "OperationNotPermitted"
    assert code(caller.acm.delete_certificate, CertificateArn=certificate) == "ResourceInUseException"
    assert caller.acm.describe_certificate(CertificateArn=certificate)["Certificate"]["InUseBy"] == [arn]
    assert code(caller.elb.modify_listener, ListenerArn=secure, Port=80) == "DuplicateListener"
    assert caller.elb.modify_listener(ListenerArn=listener, Port=8080)["Listeners"][0]["Port"] == 8080
    assert "Certificates" not in caller.elb.modify_listener(ListenerArn=secure, Protocol="HTTP")["Listeners"][0]
    assert code(caller.elb.modify_listener, ListenerArn=secure, Protocol="HTTPS") == "ValidationError"
    assert len(caller.elb.describe_listeners(LoadBalancerArn=arn)["Listeners"]) == 2
    caller.elb.delete_listener(ListenerArn=secure)
    assert code(caller.elb.delete_listener, ListenerArn=secure) == "ListenerNotFound"
    caller.acm.delete_certificate(CertificateArn=certificate)
    assert caller.elb.describe_ssl_policies()["SslPolicies"]
    assert {"Name": "rules-per-application-load-balancer", "Max": "100"} in caller.elb.describe_account_limits()["Limits"]


@pytest.mark.parametrize("conditions, wanted", [
    ([host("a.example.com"), path("/a", "/a/*")], "ok"), ([host("^[^.]+\\.example\\.com$", kind="RegexValues")], "ok"),
    ([host("^(?=a)b$", kind="RegexValues")], "ValidationError"), ([host("^(a", kind="RegexValues")], "ValidationError"),
    ([host("localhost")], "ValidationError"), ([host("a.example.com:80")], "ValidationError"), ([host("a_b.example.com")], "ValidationError"),
    ([host("a.b1")], "ValidationError"), ([host("a.a", "b.b", "c.c", "d.d")], "ValidationError"),
    ([host("a.a", "b.b", "c.c"), path("/a", "/b")], "ok"), ([host("a.a", "b.b", "c.c"), path("/a", "/b", "/c")], "ValidationError"),
    ([path("/******")], "ValidationError"), ([path("/a b")], "ValidationError"), ([path("/\u00e9")], "ValidationError"), ([path("/%20")], "ValidationError"),
    ([path("/" + "a" * 128)], "ValidationError"), ([path("/a"), path("/b")], "ValidationError"), ([], "ValidationError"),
    ([{"Field": "path-pattern", "Values": ["/a"]}], "ok"), ([{"Field": "http-header", "HttpHeaderConfig": {"HttpHeaderName": "Host", "Values": ["a"]}}],
                                                           "ValidationError"),
    ([{"Field": "source-ip", "SourceIpConfig": {"Values": [f"10.0.{n}.0/24" for n in range(5)]}}], "ok"),
    ([{"Field": "query-string", "QueryStringConfig": {"Values": [{"Key": "a", "Value": "b"}]}}], "ok"),
    ([{"Field": "http-request-method", "HttpRequestMethodConfig": {"Values": ["GET"]}}], "ok"),
])
def test_conditions(shared: Caller, shared_listener: str, conditions: list[Any], wanted: str) -> None:
    params = {"listener": shared_listener, "priority": 7, "conditions": conditions, "actions": [fixed(200)]}
    if wanted == "ok":
        shared.elb.delete_rule(RuleArn=shared.rule(**params))
    else:
        assert code(shared.rule, **params) == wanted


def test_rules(aws: Aws, caller: Caller) -> None:
    listener = caller.listener(caller.balancer()["LoadBalancerArn"])
    rules = [caller.rule(listener, n, [path(f"/{n}")], [fixed(200)]) for n in (10, 20, 30)]
    for priority in (0, 50001):
        assert code(caller.rule, listener=listener, priority=priority, conditions=[path("/x")], actions=[fixed(200)]) == "ValidationError"
    swapped = [{"RuleArn": rules[0], "Priority": 20}, {"RuleArn": rules[1], "Priority": 10}]
    assert len(caller.elb.set_rule_priorities(RulePriorities=swapped)["Rules"]) == 2
    assert code(caller.elb.set_rule_priorities, RulePriorities=[{"RuleArn": rules[0], "Priority": 30}]) == "PriorityInUse"
    shown = caller.elb.describe_rules(ListenerArn=listener)["Rules"]
    assert [r["Priority"] for r in shown] == ["10", "20", "30", "default"] and [r["RuleArn"] for r in shown[:2]] == [rules[1], rules[0]]
    assert shown[0]["Conditions"] == [{"Field": "path-pattern", "Values": ["/20"], "PathPatternConfig": {"Values": ["/20"]}}]
    aws.configure(answer_both_forms=False)
    assert "Values" not in caller.elb.describe_rules(RuleArns=[rules[0]])["Rules"][0]["Conditions"][0]
    default = shown[3]["RuleArn"]
    assert code(caller.elb.delete_rule, RuleArn=default) == "OperationNotPermitted"
    assert code(caller.elb.set_rule_priorities, RulePriorities=[{"RuleArn": default, "Priority": 5}]) == "OperationNotPermitted"
    rewrite = [{"Type": "url-rewrite", "UrlRewriteConfig": {"Rewrites": [{"Regex": "^/a", "Replace": "/b"}]}}]
    assert caller.elb.modify_rule(RuleArn=rules[0], Transforms=rewrite)["Rules"][0]["Transforms"] == rewrite
    assert caller.elb.modify_rule(RuleArn=rules[0], Conditions=[path("/new")])["Rules"][0]["Transforms"] == rewrite
    assert "Transforms" not in caller.elb.modify_rule(RuleArn=rules[0], ResetTransforms=True)["Rules"][0]
    caller.elb.delete_rule(RuleArn=rules[0])
    assert code(caller.elb.delete_rule, RuleArn=rules[0]) == "RuleNotFound"
    aws.configure(quotas={"rules-per-application-load-balancer": 3})
    other = caller.listener(aws.balancers()[0]["arn"], 81)
    caller.rule(other, 1, [path("/x")], [fixed(200)])
    assert code(caller.rule, listener=other, priority=2, conditions=[path("/x")], actions=[fixed(200)]) == "TooManyRules"
    assert len(aws.rules(listener)) == 2


def test_groups(aws: Aws, caller: Caller) -> None:
    arn = caller.balancer()["LoadBalancerArn"]
    listener, group, spare = caller.listener(arn), caller.group(), caller.group("spare")
    for more, wanted in (({"Name": "a--b"}, "ValidationError"), ({"TargetType": "instance"}, "ValidationError"), ({"VpcId": "vpc-none"}, "ValidationError"),
                         ({"Matcher": {"HttpCode": "100"}}, "ValidationError"), ({"HealthCheckIntervalSeconds": 4}, "ValidationError"),
                         ({"HealthCheckIntervalSeconds": 5, "HealthCheckTimeoutSeconds": 5}, "ValidationError")):
        assert code(caller.group, **{"name": "other", **({k.lower() if k == "Name" else k: v for k, v in more.items()})}) == wanted, more
    rule = caller.rule(listener, 1, [path("/a")], [forward((group, 1), (spare, 0))])
    assert caller.elb.describe_target_groups(TargetGroupArns=[group])["TargetGroups"][0]["LoadBalancerArns"] == [arn]
    assert len(caller.elb.describe_target_groups(LoadBalancerArn=arn)["TargetGroups"]) == 2
    assert code(caller.elb.delete_target_group, TargetGroupArn=group) == "ResourceInUse"
    other = caller.listener(caller.balancer("other")["LoadBalancerArn"])
    assert code(caller.rule, listener=other, priority=1, conditions=[path("/")], actions=[forward((group, 1))]) == "TargetGroupAssociationLimit"
    assert caller.elb.modify_rule(RuleArn=rule, Actions=[forward((spare, 1))])["Rules"][0]["Actions"][0]["TargetGroupArn"] == spare
    assert code(caller.elb.modify_rule, RuleArn=rule, Actions=[forward((spare, 1000))]) == "ValidationError"
    after = caller.elb.modify_target_group_attributes(TargetGroupArn=group, Attributes=[{"Key": "deregistration_delay.timeout_seconds", "Value": "30"}])
    assert len(after["Attributes"]) > 5 and len(caller.elb.describe_target_group_attributes(TargetGroupArn=group)["Attributes"]) > 5
    assert code(caller.elb.modify_target_group_attributes, TargetGroupArn=group, Attributes=[{"Key": "slow", "Value": "1"}]) == "ValidationError"
    assert caller.elb.modify_target_group(TargetGroupArn=group, HealthCheckPath="/live")["TargetGroups"][0]["HealthCheckPath"] == "/live"
    aws.configure(group_release_s=60)
    caller.elb.modify_rule(RuleArn=rule, Actions=[forward((group, 1))])
    assert code(caller.elb.delete_target_group, TargetGroupArn=spare) == "ResourceInUse"
    aws.control("advance", seconds=61)
    for _ in range(2):
        caller.elb.delete_target_group(TargetGroupArn=spare)
    assert code(caller.elb.describe_target_groups, Names=["spare"]) == "TargetGroupNotFound"


def test_targets(aws: Aws, caller: Caller) -> None:
    listener, group = caller.listener(caller.balancer()["LoadBalancerArn"]), caller.group()
    targets = [{"Id": "172.31.0.9", "Port": 80}, {"Id": "172.31.0.9", "Port": 81}, {"Id": "10.0.0.1", "AvailabilityZone": "all"}]
    for target, wanted in (({"Id": "8.8.8.8", "AvailabilityZone": "all"}, "InvalidTarget"), ({"Id": "10.0.0.1"}, "ValidationError"),
                           ({"Id": "172.31.0.9", "AvailabilityZone": "all"}, "ValidationError"), ({"Id": "fd00::1"}, "InvalidTarget")):
        assert code(caller.elb.register_targets, TargetGroupArn=group, Targets=[target]) == wanted
    for _ in range(2):
        caller.elb.register_targets(TargetGroupArn=group, Targets=targets)

    def states() -> list[tuple[str, int, str]]:
        shown = caller.elb.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
        return [(d["Target"]["Id"], d["Target"]["Port"], d["TargetHealth"]["State"]) for d in shown]

    assert {state for *_, state in states()} == {"unused"} and len(states()) == 3
    aws.configure(initial_polls=4, draining_s=0.3)
    caller.rule(listener, 1, [path("/a")], [forward((group, 1))])
    assert {state for *_, state in states()} == {"initial"}
    assert {state for *_, state in states()} == {"initial"} or {state for *_, state in states()} == {"healthy"}
    aws.configure(initial_polls=0)
    caller.elb.deregister_targets(TargetGroupArn=group, Targets=[targets[0], {"Id": "10.9.9.9", "Port": 1}])
    assert sorted(states())[1] == ("172.31.0.9", 80, "draining")
    time.sleep(0.4)
    assert sorted(states()) == [("10.0.0.1", 8080, "healthy"), ("172.31.0.9", 81, "healthy")]
    aws.control("set-health", group="pool", state="unhealthy")
    assert {state for *_, state in states()} == {"unhealthy"}
    unknown = caller.elb.describe_target_health(TargetGroupArn=group, Targets=[{"Id": "172.31.0.77", "Port": 1}])
    assert unknown["TargetHealthDescriptions"][0]["TargetHealth"]["Reason"] == "Target.NotRegistered"
    aws.configure(quotas={"targets-per-target-group": 2})
    assert code(caller.elb.register_targets, TargetGroupArn=group, Targets=targets) == "TooManyTargets"


def test_tags_and_pages(aws: Aws, caller: Caller) -> None:
    arns = [caller.group(f"g{n}") for n in range(21)]
    assert code(caller.elb.describe_tags, ResourceArns=arns) == "ValidationError"
    caller.elb.add_tags(ResourceArns=arns[:20], Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
    caller.elb.remove_tags(ResourceArns=arns[:1], TagKeys=["b"])
    shown = caller.elb.describe_tags(ResourceArns=arns[:2])["TagDescriptions"]
    assert [len(item["Tags"]) for item in shown] == [1, 2]
    assert code(caller.elb.describe_tags, ResourceArns=[arns[0], arns[0] + "0"]) == "TargetGroupNotFound"
    sizes, marker = [], {}
    aws.configure(page_max=8)
    while True:
        page = caller.elb.describe_target_groups(PageSize=400, **marker)
        sizes.append(len(page["TargetGroups"]))
        if "NextMarker" not in page:
            break
        marker = {"Marker": page["NextMarker"]}
    assert sizes == [8, 8, 5]
    assert code(caller.elb.describe_target_groups, Names=["g1"], PageSize=5) == "ValidationError"
