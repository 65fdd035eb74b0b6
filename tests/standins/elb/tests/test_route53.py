# SPDX-License-Identifier: Apache-2.0
"""Route 53 with botocore as its client."""

from __future__ import annotations

from typing import Any

import botocore.exceptions
import pytest

from standins.elb.client import Aws

from .conftest import Caller, code


def text(name: str, value: str = '"x"', **more: Any) -> dict[str, Any]:
    return {"Name": name, "Type": "TXT", "TTL": 300, "ResourceRecords": [{"Value": value}], **more}


def alias(name: str, target: str, zone: str = "Z35SXDOTRQ7X7K", kind: str = "A") -> dict[str, Any]:
    return {"Name": name, "Type": kind, "AliasTarget": {"HostedZoneId": zone, "DNSName": target, "EvaluateTargetHealth": True}}


class Zone:
    def __init__(self, aws: Aws, caller: Caller):
        self.aws, self.dns, self.id = aws, caller.route53, aws.zone("example.com")

    def change(self, *changes: tuple[str, dict[str, Any]]) -> str:
        batch = {"Changes": [{"Action": action, "ResourceRecordSet": record} for action, record in changes]}
        return code(self.dns.change_resource_record_sets, HostedZoneId=self.id, ChangeBatch=batch)

    def names(self) -> list[tuple[str, str]]:
        return [(record["Name"], record["Type"]) for record in self.aws.records(self.id)[2:]]


@pytest.fixture
def zone(aws: Aws, caller: Caller) -> Zone:
    return Zone(aws, caller)


def test_changes_are_made_together_or_not_at_all(zone: Zone, caller: Caller) -> None:
    target = caller.balancer()["DNSName"]
    assert zone.change(("CREATE", alias("*.example.com", target.upper())), ("CREATE", text("a-*.example.com."))) == "ok"
    assert zone.names() == [("\\052.example.com.", "A"), ("a-\\052.example.com.", "TXT")]
    assert zone.aws.records(zone.id)[2]["AliasTarget"]["DNSName"] == target.lower() + "."
    assert zone.change(("CREATE", text("b.example.com")), ("CREATE", text("a-*.example.com"))) == "InvalidChangeBatch"
    assert zone.change(("DELETE", text("a-*.example.com", '"y"'))) == "InvalidChangeBatch"
    assert len(zone.names()) == 2
    assert zone.change(("DELETE", text("a-*.example.com")), ("CREATE", text("a-*.example.com", '"y"'))) == "ok"
    assert zone.change(("DELETE", alias("*.example.com", target)), ("UPSERT", text("a-*.example.com", '"z" "z"'))) == "ok"
    assert zone.names() == [("a-\\052.example.com.", "TXT")]


@pytest.mark.parametrize("record, want", [
    (text("shop.example.org"), "InvalidChangeBatch"),
    (text("a" * 64 + ".example.com"), "InvalidChangeBatch"),
    (text("x.example.com", "no quotes"), "InvalidChangeBatch"),
    (text("x.example.com", f'"{"a" * 256}"'), "InvalidChangeBatch"),
    (text("x.example.com", f'"{"a" * 255}" "b"'), "ok"),
    (text("x.example.com", SetIdentifier="one"), "InvalidInput"),
    (text("x.example.com", SetIdentifier="one", Weight=1), "ok"),
    (alias("x.example.com", "web.elsewhere.com"), "InvalidChangeBatch"),
    (alias("x.example.com", "web.us-east-1.elb.amazonaws.com", "Z0"), "InvalidChangeBatch"),
    ({**alias("x.example.com", "web-1.us-east-1.elb.amazonaws.com"), "TTL": 5}, "InvalidInput"),
    ({"Name": "example.com", "Type": "CNAME", "TTL": 5, "ResourceRecords": [{"Value": "a.b."}]}, "InvalidChangeBatch"),
])
def test_what_is_refused(zone: Zone, record: dict[str, Any], want: str) -> None:
    assert zone.change(("CREATE", record)) == want


def test_pages_begin_where_the_last_one_ended(zone: Zone, aws: Aws) -> None:
    names = [*(f"h{n:02d}.example.com." for n in range(5)), "\\052.sub.example.com.", "x.sub.example.com."]
    assert zone.change(*(("CREATE", text(name)) for name in names)) == "ok"
    assert zone.change(*(("CREATE", text("w.example.com", SetIdentifier=ident, Weight=1)) for ident in ("a b", "c/d"))) == "ok"
    aws.configure(page_max=2)
    found, place = [], {}
    while True:
        answer = zone.dns.list_resource_record_sets(HostedZoneId=zone.id, MaxItems="300", **place)
        found += answer["ResourceRecordSets"]
        if not answer["IsTruncated"]:
            break
        place = {"Start" + key.removeprefix("Next"): answer[key] for key in answer if key.startswith("Next")}
    assert [record["Name"] for record in found] == [*["example.com."] * 2, *names[:5], *names[5:], *["w.example.com."] * 2]


def test_an_unknown_zone_and_too_many_changes(zone: Zone, aws: Aws) -> None:
    assert code(zone.dns.list_resource_record_sets, HostedZoneId="Z0UNKNOWN") == "NoSuchHostedZone"
    assert zone.change(*(("UPSERT", text(f"h{n}.example.com")) for n in range(501))) == "InvalidChangeBatch"
    aws.control("rates", on=True, route53=[1, 0.1])
    assert [zone.change(("UPSERT", text("x.example.com"))) for _ in range(2)] == ["ok", "Throttling"]


def test_another_key_is_refused(aws: Aws, zone: Zone, caller: Caller) -> None:
    wrong = Caller(aws, secret="wrong")
    with pytest.raises(botocore.exceptions.ClientError, match="SignatureDoesNotMatch"):
        wrong.route53.list_resource_record_sets(HostedZoneId=zone.id)
