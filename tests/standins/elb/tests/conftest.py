# SPDX-License-Identifier: Apache-2.0
"""botocore as the client of the stand-in."""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator

import botocore.config
import botocore.exceptions
import botocore.session
import pytest

from lib.certs import self_signed
from standins.elb.client import Aws
from standins.elb.wire import MODELS


class Caller:
    """Clients of all services with one set of keys."""

    def __init__(self, aws: Aws, access: str | None = None, secret: str | None = None, token: str | None = None):
        self.aws = aws
        self._session = botocore.session.Session()
        self._session.set_config_variable("data_path", str(MODELS))
        self._session.set_credentials(access or aws.info["access_key"], secret or aws.info["secret_key"], token)

    def _client(self, name: str) -> Any:
        config = botocore.config.Config(retries={"total_max_attempts": 1}, parameter_validation=False, read_timeout=20)
        return self._session.create_client(name, region_name=self.aws.region, endpoint_url=self.aws.url, config=config)

    # Models are large: only those that a test needs are read.

    @functools.cached_property
    def elb(self) -> Any:
        return self._client("elbv2")

    @functools.cached_property
    def ec2(self) -> Any:
        return self._client("ec2")

    @functools.cached_property
    def acm(self) -> Any:
        return self._client("acm")

    @functools.cached_property
    def sts(self) -> Any:
        return self._client("sts")

    @functools.cached_property
    def tagging(self) -> Any:
        return self._client("resourcegroupstaggingapi")

    @functools.cached_property
    def route53(self) -> Any:
        return self._client("route53")

    def balancer(self, name: str = "web", **more: Any) -> dict[str, Any]:
        return self.elb.create_load_balancer(**{"Name": name, "Subnets": self.aws.subnets[:2], **more})["LoadBalancers"][0]

    def group(self, name: str = "pool", **more: Any) -> str:
        wanted = {"Name": name, "Protocol": "HTTP", "Port": 8080, "VpcId": self.aws.vpc, "TargetType": "ip", **more}
        return self.elb.create_target_group(**wanted)["TargetGroups"][0]["TargetGroupArn"]

    def listener(self, balancer: str, port: int = 80, protocol: str = "HTTP", **more: Any) -> str:
        wanted = {"LoadBalancerArn": balancer, "Protocol": protocol, "Port": port, "DefaultActions": [fixed(404)], **more}
        return self.elb.create_listener(**wanted)["Listeners"][0]["ListenerArn"]

    def rule(self, listener: str, priority: int, conditions: list[Any], actions: list[Any], **more: Any) -> str:
        made = self.elb.create_rule(ListenerArn=listener, Priority=priority, Conditions=conditions, Actions=actions, **more)
        return made["Rules"][0]["RuleArn"]


def fixed(status: int) -> dict[str, Any]:
    return {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": str(status), "ContentType": "text/plain"}}


def forward(*groups: tuple[str, int]) -> dict[str, Any]:
    return {"Type": "forward", "ForwardConfig": {"TargetGroups": [{"TargetGroupArn": arn, "Weight": weight} for arn, weight in groups]}}


def host(*values: str, kind: str = "Values") -> dict[str, Any]:
    return {"Field": "host-header", "HostHeaderConfig": {kind: list(values)}}


def path(*values: str, kind: str = "Values") -> dict[str, Any]:
    return {"Field": "path-pattern", "PathPatternConfig": {kind: list(values)}}


def code(call: Callable[..., Any], **params: Any) -> str:
    """What a call is refused with."""
    try:
        call(**params)
    except botocore.exceptions.ClientError as problem:
        return problem.response["Error"]["Code"]
    return "ok"


@pytest.fixture
def aws() -> Iterator[Aws]:
    with Aws() as aws:
        yield aws
        assert aws.control("failures") == []


@pytest.fixture
def caller(aws: Aws) -> Caller:
    return Caller(aws)


@pytest.fixture(scope="module")
def shared_aws() -> Iterator[Aws]:
    with Aws() as aws:
        yield aws
        assert aws.control("failures") == []


@pytest.fixture(scope="module")
def shared(shared_aws: Aws) -> Caller:
    """For tests that leave nothing behind."""
    return Caller(shared_aws)


@pytest.fixture(scope="module")
def shared_listener(shared: Caller) -> str:
    return shared.listener(shared.balancer("shared")["LoadBalancerArn"])


@pytest.fixture
def certificate(caller: Caller) -> str:
    pair = self_signed("shop.example.com")
    return caller.acm.import_certificate(Certificate=pair.pem, PrivateKey=pair.key)["CertificateArn"]
