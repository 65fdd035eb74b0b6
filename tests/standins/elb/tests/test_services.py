# SPDX-License-Identifier: Apache-2.0
"""EC2, ACM, tagging, STS and metadata; signatures."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import urllib.parse
from pathlib import Path
from typing import Any

import botocore
import botocore.config
import botocore.session
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from lib.answer import Answer, read
from lib.certs import Authority, self_signed
from standins.elb.client import Aws

from .conftest import Caller, code


def test_network(aws: Aws, caller: Caller) -> None:
    subnets = caller.ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [aws.vpc]}, {"Name": "tag:kubernetes.io/role/elb", "Values": ["1", ""]}])
    assert [s["SubnetId"] for s in subnets["Subnets"]] == aws.subnets and subnets["Subnets"][0]["Tags"]
    assert code(caller.ec2.describe_subnets, SubnetIds=["subnet-none"]) == "InvalidSubnetID.NotFound"
    assert code(caller.ec2.describe_subnets, Filters=[{"Name": "nonsense", "Values": ["1"]}]) == "InvalidParameterValue"
    vpc = caller.ec2.describe_vpcs(VpcIds=[aws.vpc])["Vpcs"][0]
    assert [c["CidrBlock"] for c in vpc["CidrBlockAssociationSet"]] == ["172.31.0.0/16", "127.0.0.0/8"]
    assert caller.ec2.describe_availability_zones(ZoneNames=["us-east-1a"])["AvailabilityZones"][0]["ZoneType"] == "availability-zone"
    tables = caller.ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [aws.vpc]}])["RouteTables"]
    assert tables[1]["Routes"][-1]["GatewayId"].startswith("igw-")
    caller.ec2.create_tags(Resources=aws.subnets[:1], Tags=[{"Key": "Name", "Value": "x"}])
    assert len(caller.ec2.describe_subnets(Filters=[{"Name": "tag-key", "Values": ["Name"]}])["Subnets"]) == 1
    caller.ec2.delete_tags(Resources=aws.subnets[:1], Tags=[{"Key": "Name"}])
    assert not caller.ec2.describe_subnets(Filters=[{"Name": "tag:Name", "Values": ["*"]}])["Subnets"]
    aws.configure(page_max=2)
    first = caller.ec2.describe_subnets(MaxResults=5)
    assert [s["SubnetId"] for s in caller.ec2.describe_subnets(MaxResults=5, NextToken=first["NextToken"])["Subnets"]] == aws.subnets[2:]


def test_security_groups(aws: Aws, caller: Caller) -> None:
    spec = [{"ResourceType": "security-group", "Tags": [{"Key": "sluice.io/cluster", "Value": "demo"}]}]
    wanted = {"GroupName": "front", "Description": "sluice front end", "VpcId": aws.vpc, "TagSpecifications": spec}
    group = caller.ec2.create_security_group(**wanted)["GroupId"]
    assert code(caller.ec2.create_security_group, **wanted) == "InvalidGroup.Duplicate"
    assert code(caller.ec2.create_security_group, **{**wanted, "GroupName": "x", "Description": "a'b"}) == "InvalidParameterValue"

    def rule(port: int, **source: Any) -> dict[str, Any]:
        return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **(source or {"IpRanges": [{"CidrIp": "0.0.0.0/0", "Description": "sluice"}]})}

    made = caller.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[rule(80), rule(80, Ipv6Ranges=[{"CidrIpv6": "::/0"}])])
    assert made["Return"] and len(made["SecurityGroupRules"]) == 2
    assert code(caller.ec2.authorize_security_group_ingress, GroupId=group, IpPermissions=[rule(443), rule(80)]) == "InvalidPermission.Duplicate"
    shown = caller.ec2.describe_security_groups(Filters=[{"Name": "tag:sluice.io/cluster", "Values": ["demo"]}])["SecurityGroups"][0]
    assert [(p["FromPort"], p["IpRanges"], p["Ipv6Ranges"]) for p in shown["IpPermissions"]] == [
        (80, [{"CidrIp": "0.0.0.0/0", "Description": "sluice"}], [{"CidrIpv6": "::/0"}])]
    assert code(caller.ec2.revoke_security_group_ingress, GroupId=group, IpPermissions=[rule(80), rule(443)]) == "InvalidPermission.NotFound"
    assert caller.ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=[rule(80)])["Return"]
    aws.configure(quotas={"rules-per-security-group": 1}, security_group_release_s=30)
    assert code(caller.ec2.authorize_security_group_ingress, GroupId=group, IpPermissions=[rule(80)]) == "RulesPerSecurityGroupLimitExceeded"
    balancer = caller.balancer(SecurityGroups=[group])["LoadBalancerArn"]
    assert code(caller.ec2.delete_security_group, GroupId=group) == "DependencyViolation"
    caller.elb.delete_load_balancer(LoadBalancerArn=balancer)
    assert code(caller.ec2.delete_security_group, GroupId=group) == "DependencyViolation"
    aws.control("advance", seconds=31)
    caller.ec2.delete_security_group(GroupId=group)
    assert code(caller.ec2.delete_security_group, GroupId=group) == "InvalidGroup.NotFound"


def test_certificates(aws: Aws, caller: Caller) -> None:
    authority = Authority("Example CA")
    pair, other, plain = authority.sign("shop.example.com"), authority.sign("other.example.com"), self_signed("self.example.com")
    wanted = {"Certificate": pair.pem, "PrivateKey": pair.key, "CertificateChain": authority.pem}
    for more in ({"PrivateKey": other.key}, {"Certificate": b"nonsense"}, {"Certificate": pair.pem + authority.pem}, {"CertificateChain": plain.pem},
                 {"Certificate": self_signed("old", days=-1).pem}, {"PrivateKey": b""}):
        assert code(caller.acm.import_certificate, **{**wanted, **more}) == "ValidationException", more
    arn = caller.acm.import_certificate(**wanted, Tags=[{"Key": "sluice.io/cluster", "Value": "demo"}])["CertificateArn"]
    shown = caller.acm.describe_certificate(CertificateArn=arn)["Certificate"]
    assert (shown["DomainName"], shown["KeyAlgorithm"], shown["Type"]) == ("shop.example.com", "EC_prime256v1", "IMPORTED")
    assert code(caller.acm.import_certificate, **wanted, CertificateArn=arn, Tags=[{"Key": "a", "Value": "b"}]) == "ValidationException"
    renewed = authority.sign("shop.example.com")
    again = {**wanted, "Certificate": renewed.pem, "PrivateKey": renewed.key, "CertificateArn": arn}
    assert caller.acm.import_certificate(**again)["CertificateArn"] == arn
    assert caller.acm.describe_certificate(CertificateArn=arn)["Certificate"]["Serial"] != shown["Serial"]
    changed = self_signed("shop.example.com", key=rsa.generate_private_key(65537, 2048))
    assert code(caller.acm.import_certificate, Certificate=changed.pem, PrivateKey=changed.key, CertificateArn=arn) == "ValidationException"
    assert code(caller.acm.import_certificate, Certificate=other.pem, PrivateKey=other.key, CertificateArn=arn) == "ValidationException"
    assert caller.acm.list_certificates()["CertificateSummaryList"] == []
    assert len(caller.acm.list_certificates(Includes={"keyTypes": ["RSA_2048", "EC_prime256v1"]})["CertificateSummaryList"]) == 1
    caller.acm.add_tags_to_certificate(CertificateArn=arn, Tags=[{"Key": "digest", "Value": "1"}])
    caller.acm.remove_tags_from_certificate(CertificateArn=arn, Tags=[{"Key": "sluice.io/cluster"}])
    assert caller.acm.list_tags_for_certificate(CertificateArn=arn)["Tags"] == [{"Key": "digest", "Value": "1"}]
    assert b"PRIVATE" not in json.dumps(aws.calls("ImportCertificate")).encode()
    caller.acm.delete_certificate(CertificateArn=arn)
    assert code(caller.acm.describe_certificate, CertificateArn=arn) == "ResourceNotFoundException"


def test_tagging(aws: Aws, caller: Caller) -> None:
    tags = [{"Key": "sluice.io/cluster", "Value": "demo"}]
    group, _ = caller.group(Tags=tags), caller.group("other", Tags=[{"Key": "sluice.io/cluster", "Value": "another"}])
    balancer = caller.balancer(Tags=tags)["LoadBalancerArn"]
    filters = [{"Key": "sluice.io/cluster", "Values": ["demo"]}]

    def found(**more: Any) -> list[str]:
        return [m["ResourceARN"] for m in caller.tagging.get_resources(TagFilters=filters, **more)["ResourceTagMappingList"]]

    assert sorted(found()) == sorted([group, balancer])
    assert found(ResourceTypeFilters=["elasticloadbalancing:targetgroup"]) == [group]
    page = caller.tagging.get_resources(TagFilters=filters, ResourcesPerPage=1)
    rest = caller.tagging.get_resources(TagFilters=filters, ResourcesPerPage=1, PaginationToken=page["PaginationToken"])
    assert page["ResourceTagMappingList"] != rest["ResourceTagMappingList"] and rest["PaginationToken"] == ""
    assert code(caller.tagging.get_resources, PaginationToken="nonsense") == "PaginationTokenExpiredException"
    aws.configure(tagging_lag_s=30)
    aws.control("advance", seconds=31)
    caller.elb.delete_load_balancer(LoadBalancerArn=balancer)
    new = caller.group("new", Tags=tags)
    assert sorted(found()) == sorted([group, balancer])
    aws.control("advance", seconds=31)
    assert sorted(found()) == sorted([group, new])


def get(aws: Aws, path: str, method: str = "GET", **headers: str) -> Answer:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(aws.url).netloc, timeout=10)
    with contextlib.closing(connection):
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        return read(connection.getresponse())


def test_metadata(aws: Aws) -> None:
    folder = "/latest/meta-data/iam/security-credentials/"
    assert get(aws, folder).status == 401
    assert get(aws, "/latest/api/token", "PUT").status == 400
    token = get(aws, "/latest/api/token", "PUT", X_aws_ec2_metadata_token_ttl_seconds="21600").text
    role = get(aws, folder, X_aws_ec2_metadata_token=token).text
    key = get(aws, folder + role, X_aws_ec2_metadata_token=token).json
    assert key["Code"] == "Success"
    caller = Caller(aws, key["AccessKeyId"], key["SecretAccessKey"], key["Token"])
    assert caller.elb.describe_load_balancers()["LoadBalancers"] == []
    assert get(aws, "/latest/meta-data/placement/region", X_aws_ec2_metadata_token=token).text == aws.region
    assert get(aws, "/v1/credentials", Authorization="wrong").status == 401
    assert get(aws, "/v1/credentials", Authorization=aws.info["container_token"]).json["AccountId"] == "123456789012"
    aws.control("metadata", fails=503)
    assert get(aws, folder).status == 503


def test_web_identity(aws: Aws, caller: Caller) -> None:
    params = {"RoleArn": aws.info["role"], "RoleSessionName": "sluice-elb", "WebIdentityToken": aws.info["web_identity_token"]}
    sts = botocore.session.Session().create_client(
        "sts", region_name=aws.region, endpoint_url=aws.url, config=botocore.config.Config(signature_version=botocore.UNSIGNED, retries={"total_max_attempts": 1}))
    given = sts.assume_role_with_web_identity(**params)["Credentials"]
    assert code(sts.assume_role_with_web_identity, **{**params, "WebIdentityToken": "a.b.c"}) == "InvalidIdentityToken"
    assert code(sts.assume_role_with_web_identity, **{**params, "RoleArn": params["RoleArn"] + "x"}) == "AccessDenied"
    session = Caller(aws, given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    assert session.sts.get_caller_identity()["Account"] == "123456789012"
    without = Caller(aws, given["AccessKeyId"], given["SecretAccessKey"])
    assert code(without.elb.describe_load_balancers) == "InvalidClientTokenId"
    aws.control("expire")
    assert code(session.elb.describe_load_balancers) == "ExpiredToken"
    assert code(session.acm.list_certificates) == "ExpiredTokenException"
    assert code(session.ec2.describe_vpcs) == "RequestExpired"


@pytest.mark.parametrize("service, action, wanted", [
    ("elb", "describe_load_balancers", ("SignatureDoesNotMatch", "InvalidClientTokenId")), ("acm", "list_certificates",
                                                                                           ("InvalidSignatureException", "UnrecognizedClientException")),
    ("ec2", "describe_vpcs", ("AuthFailure", "AuthFailure")), ("tagging", "get_resources", ("InvalidSignatureException", "UnrecognizedClientException")),
])
def test_signatures(shared_aws: Aws, service: str, action: str, wanted: tuple[str, str]) -> None:
    wrong_secret, wrong_key = Caller(shared_aws, secret="nonsense"), Caller(shared_aws, access="AKIANOBODY")
    assert code(getattr(getattr(wrong_secret, service), action)) == wanted[0]
    assert code(getattr(getattr(wrong_key, service), action)) == wanted[1]


def test_curl_signs(aws: Aws, tmp_path: Path) -> None:
    """libcurl, which the provider signs with."""
    environment = aws.environment("session")
    form = ["--data", "Action=DescribeLoadBalancers&PageSize=400&Version=2015-12-01"]
    acm = ["-H", "Content-Type: application/x-amz-json-1.1", "-H", "X-Amz-Target: CertificateManager.ListCertificates", "--data", "{}"]
    ec2 = ["--data", "Action=DescribeVpcs&Filter.1.Name=vpc-id&Filter.1.Value.1=%2A&Version=2016-11-15"]
    for service, more, wanted in (("elasticloadbalancing", form, "200"), ("ec2", ec2, "200"), ("acm", acm, "200"), ("acm", form, "400"), ("s3", form, "403")):
        (tmp_path / "options").write_text(f'user = "{environment["AWS_ACCESS_KEY_ID"]}:{environment["AWS_SECRET_ACCESS_KEY"]}"\n')
        command = ["curl", "-s", "-o", tmp_path / "answer", "-w", "%{http_code}", "-K", tmp_path / "options", "--aws-sigv4", f"aws:amz:{aws.region}:{service}",
                   "-H", f"X-Amz-Security-Token: {environment['AWS_SESSION_TOKEN']}", *more, aws.url + "/"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        assert done.stdout == wanted, (service, (tmp_path / "answer").read_text())


def test_clock(aws: Aws, caller: Caller) -> None:
    aws.configure(skew_s=301)
    assert code(caller.elb.describe_load_balancers) == "SignatureDoesNotMatch"
    aws.configure(skew_s=250)
    assert code(caller.elb.describe_load_balancers) == "ok"


def test_sources_of_credentials(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore finds its credentials by what a program is told."""
    for source in ("environment", "session", "web-identity", "container", "instance"):
        with monkeypatch.context() as patch:
            for name, value in {**aws.environment(source), "AWS_CONTAINER_AUTHORIZATION_TOKEN": aws.info["container_token"],
                                "HOME": "/nonexistent"}.items():
                patch.setenv(name, value)
            session = botocore_session(aws)
            client = session.create_client("elbv2", region_name=aws.region, endpoint_url=aws.url)
            assert client.describe_load_balancers()["LoadBalancers"] == [], source


def botocore_session(aws: Aws) -> Any:
    """With its own STS sent here, which this version of botocore cannot be told of."""
    session = botocore.session.Session()
    make = session.create_client

    def create(name: str, **more: Any) -> Any:
        return make(name, **{**more, **({"endpoint_url": aws.url, "region_name": aws.region} if name == "sts" else {})})

    session.create_client = create
    return session
