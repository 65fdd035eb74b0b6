# SPDX-License-Identifier: Apache-2.0
"""What provider-elb makes, read by AWS's own command line: names and forms are judged by somebody else's program."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest

from lib.certs import self_signed
from lib.elb_bench import CLUSTER, ElbBench
from lib.provider_link import certificate, load_balancer, pool, virtual_host

WEB = "default/web"


def aws(bench: ElbBench, *words: str) -> Any:
    environment = {"PATH": os.environ["PATH"], "HOME": str(bench.folder), "LANG": "C.UTF-8", "AWS_PAGER": "", **bench.aws.environment()}
    command = ["aws", "--endpoint-url", bench.aws.url, "--output", "json", *words]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.plain
@pytest.mark.skipif(shutil.which("aws") is None, reason="there is no awscli")
def test_the_command_line_of_aws_reads_what_was_made():
    with ElbBench() as bench:
        bench.translator.put(certificate("cert", self_signed("foo.bar.com")), load_balancer("web", https=443, certificates=["default/cert"]),
                             virtual_host(WEB, "foo.bar.com", ("/foo", WEB, "prefix")), virtual_host(WEB, "*.bar.com", ("/", WEB, "prefix")),
                             pool("web", endpoints=["172.31.0.10", "172.31.0.11"]))
        bench.remembered()
        balancer, = aws(bench, "elbv2", "describe-load-balancers")["LoadBalancers"]
        assert bench.translator.addresses(WEB) == [balancer["DNSName"].lower()]
        assert (balancer["Type"], balancer["Scheme"], balancer["State"]["Code"]) == ("application", "internet-facing", "active")
        listeners = {row["Port"]: row for row in aws(bench, "elbv2", "describe-listeners", "--load-balancer-arn", balancer["LoadBalancerArn"])["Listeners"]}
        summary, = aws(bench, "acm", "list-certificates", "--includes", "keyTypes=EC_prime256v1")["CertificateSummaryList"]
        assert summary["DomainName"] == "foo.bar.com"
        assert listeners[443]["Certificates"][0]["CertificateArn"] == summary["CertificateArn"]
        group, = aws(bench, "elbv2", "describe-target-groups")["TargetGroups"]
        for listener in listeners.values():
            rules = aws(bench, "elbv2", "describe-rules", "--listener-arn", listener["ListenerArn"])["Rules"]
            assert [[c["Field"] for c in rule["Conditions"]] for rule in rules] == [["host-header", "path-pattern"], ["host-header"], ["host-header"], []]
            assert [rule["Actions"][0]["Type"] for rule in rules] == ["forward", "fixed-response", "forward", "fixed-response"]
            assert rules[0]["Conditions"][1]["PathPatternConfig"] == {"Values": ["/foo", "/foo/*"]}
            assert {rule["Actions"][0].get("TargetGroupArn") for rule in rules} == {group["TargetGroupArn"], None}
            assert [rule["IsDefault"] for rule in rules] == [False, False, False, True]
        health = aws(bench, "elbv2", "describe-target-health", "--target-group-arn", group["TargetGroupArn"])["TargetHealthDescriptions"]
        assert sorted((row["Target"]["Id"], row["Target"]["Port"]) for row in health) == [("172.31.0.10", 8080), ("172.31.0.11", 8080)]
        tagged = aws(bench, "resourcegroupstaggingapi", "get-resources", "--tag-filters", f"Key=sluice.io/cluster,Values={CLUSTER}")["ResourceTagMappingList"]
        assert {balancer["LoadBalancerArn"], group["TargetGroupArn"], summary["CertificateArn"]} < {row["ResourceARN"] for row in tagged}
        assert not bench.aws.control("failures")
