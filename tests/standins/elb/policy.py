# SPDX-License-Identifier: Apache-2.0
"""What a caller may do: the statements of one IAM policy, asked as AWS's Service Authorization Reference says for each action."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from typing import Any, Iterator

from .account import Account
from .errors import ApiError
from .journal import READS

_NAMED = ("RuleArn", "ListenerArn", "TargetGroupArn", "LoadBalancerArn", "CertificateArn")  # the narrowest first
_PREFIXES = {"tagging": "tag"}


@dataclass(frozen=True)
class Question:
    """Whether an action may be done to a resource; `context`: values of the condition keys that are there."""

    action: str
    arn: str
    context: dict[str, list[str]] = field(default_factory=dict)


class Policy:
    """`used`: statements and actions that have allowed something."""

    def __init__(self, account: Account):
        self.account = account
        self.used: set[tuple[str, str]] = set()

    def check(self, service: str, action: str, params: dict[str, Any]) -> None:
        """Raises AccessDenied. Without a policy everything is allowed."""
        statements = self.account.settings.policy
        if statements is None or service == "sts":
            return
        used = set()
        for question in self._questions(service, action, params):
            found = [s["Sid"] for s in statements if _allows(s, question)]
            if not found:
                raise ApiError("AccessDenied", f"User: arn:aws:sts::{self.account.id}:assumed-role/sluice is not authorized to perform: "
                                               f"{question.action} on resource: {question.arn}", 403)
            used |= {(sid, question.action) for sid in found}
        self.used |= used

    def _questions(self, service: str, action: str, params: dict[str, Any]) -> Iterator[Question]:
        prefix = _PREFIXES.get(service, service)
        name = f"{prefix}:{action}"
        if action.startswith(READS):
            yield Question(name, "*")
            return
        if service == "route53":
            records = [(change["Action"], change["ResourceRecordSet"]["Type"]) for change in params["ChangeBatch"]["Changes"]]
            yield Question(name, f"arn:aws:route53:::hostedzone/{params['HostedZoneId']}", {
                "route53:ChangeResourceRecordSetsActions": [a for a, _ in records], "route53:ChangeResourceRecordSetsRecordTypes": [t for _, t in records]})
            return
        tags = _tags(params)
        asked = {f"aws:RequestTag/{key}": [value] for key, value in tags.items()} | ({"aws:TagKeys": list(tags)} if tags else {})
        new = f"arn:aws:{service}:{self.account.region}:{self.account.id}:{'security-group/' if service == 'ec2' else ''}new"
        present = self._present(service, params)
        for arn in filter(self._is_judged, present):
            yield Question(name, arn, asked | {f"aws:ResourceTag/{key}": [value] for key, value in self.account.tags(arn).items()})
        is_create = action.startswith("Create") or (action == "ImportCertificate" and not present)
        if action == "CreateSecurityGroup" or not present:
            yield Question(name, new, asked)
        if is_create and tags:
            adding = {"ec2": "ec2:CreateTags", "acm": "acm:AddTagsToCertificate"}.get(service, "elasticloadbalancing:AddTags")
            yield Question(adding, new, asked | {f"{prefix}:CreateAction": [action]})

    def _is_judged(self, arn: str) -> bool:
        """What is not there has no tags. Whether it is refused or not found is left open by the documents."""
        return self.account.settings.denies_unknown or self.account.is_known(arn)

    def _present(self, service: str, params: dict[str, Any]) -> list[str]:
        """ARNs of what a write is about and is there already."""
        if "ResourceArns" in params:
            return list(params["ResourceArns"])
        if "RulePriorities" in params:
            return [pair["RuleArn"] for pair in params["RulePriorities"]]
        if service == "ec2":
            return [self.account.ec2_arn(params.get("GroupId") or params["VpcId"])]
        return [params[key] for key in _NAMED if key in params][:1]


def _tags(params: dict[str, Any]) -> dict[str, str]:
    given = params.get("Tags", []) + [tag for spec in params.get("TagSpecifications", []) for tag in spec.get("Tags", [])]
    return {tag["Key"]: tag.get("Value", "") for tag in given}


def _allows(statement: dict[str, Any], question: Question) -> bool:
    actions, resources = statement["Action"], statement["Resource"]
    return (statement["Effect"] == "Allow" and question.action in ([actions] if isinstance(actions, str) else actions)
            and (question.arn == "*" or fnmatch.fnmatchcase(question.arn, resources)) and all(
                _holds(operator, key, expected, question.context.get(key)) for operator, clause in statement.get("Condition", {}).items()
                for key, expected in clause.items()))


def _holds(operator: str, key: str, expected: str | list[str], present: list[str] | None) -> bool:
    """A condition; a key that is absent meets only those of all values, of which there are none."""
    values = [expected] if isinstance(expected, str) else expected
    if operator == "ForAllValues:StringEquals":
        return all(value in values for value in present or [])
    if operator == "StringEquals":
        return present is not None and present[0] in values
    raise ApiError("MalformedPolicyDocument", f"{operator} of {key} is not simulated")
