# SPDX-License-Identifier: Apache-2.0
"""ELBv2: load balancers, their attributes, limits of the account, policies."""

from __future__ import annotations

import re
import secrets
from typing import Any

from . import attributes
from .account import Account, Balancer, Subnet
from .attributes import tag_list, tags_of
from .errors import ApiError, invalid
from .paging import page
from .settings import NOT_TOLD

SSL_POLICIES = ("ELBSecurityPolicy-2016-08", "ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-TLS13-1-2-Res-2021-06",
                "ELBSecurityPolicy-TLS13-1-3-2021-06", "ELBSecurityPolicy-FS-1-2-Res-2020-10", "ELBSecurityPolicy-TLS-1-2-2017-01")
ALB_FREE_ADDRESSES_MIN = 8
# Of alias records, by type, in us-east-1.
HOSTED_ZONES = {"application": "Z35SXDOTRQ7X7K", "network": "Z26RNL4JYFTOTI"}


def name_problem(name: str) -> str | None:
    if not 1 <= len(name) <= 32:
        return f"name '{name}' cannot be longer than '32' characters"
    if not re.fullmatch(r"[A-Za-z0-9-]+", name):
        return f"name '{name}' can only contain characters that are alphanumeric characters and hyphens(-)"
    if name.startswith("-") or name.endswith("-"):
        return f"name '{name}' cannot begin or end with a hyphen(-)"
    return None


class Balancers:
    def __init__(self, account: Account):
        self.account = account

    # Finding

    def _find(self, arn: str) -> Balancer:
        balancer = self.account.find("balancer", arn)
        if balancer is None:
            raise ApiError("LoadBalancerNotFound", f"Load balancers '[{arn}]' not found")
        return balancer

    def describe_load_balancers(self, p: dict[str, Any]) -> dict[str, Any]:
        arns, names = p.get("LoadBalancerArns"), p.get("Names")
        if arns is not None and names is not None:
            raise invalid("Load balancer names and ARNs cannot be specified at the same time")
        if (arns is not None or names is not None) and ("PageSize" in p or "Marker" in p):
            raise invalid("Names or ARNs and a page size or marker cannot be specified at the same time")
        if len(arns or []) > 20:
            raise invalid("Up to 20 load balancers can be described at once")
        seen = self.account.seen("balancer")
        following = None
        if arns is None and names is None:
            size = min(p.get("PageSize", 400), self.account.settings.page_max)
            seen, following = page(sorted(seen, key=lambda b: b.arn), p.get("Marker"), size, invalid)
        else:
            known = {b.arn if arns is not None else b.name: b for b in seen}
            missing = [key for key in arns or names or [] if key not in known]
            if missing:
                raise ApiError("LoadBalancerNotFound", f"Load balancers '[{', '.join(missing)}]' not found")
            seen = [known[key] for key in arns or names or []]
        answer = {"LoadBalancers": [self._answer(b) for b in seen], "NextMarker": following}
        for balancer in seen:
            balancer.polls += 1
            self.advance(balancer)
        return answer

    def advance(self, balancer: Balancer) -> None:
        """Makes it active when its time has come."""
        settings = self.account.settings
        age = self.account.clock.now() - balancer.created.timestamp()
        if (balancer.state == "provisioning" and not settings.provisioning_told and balancer.polls >= settings.provisioning_polls
                and age >= settings.provisioning_s):
            balancer.state = "active"

    def _answer(self, b: Balancer) -> dict[str, Any]:
        zones = []
        for ident in b.subnets:
            mapping = b.mappings.get(ident, {})
            addresses = [mapping] if mapping else []
            zones.append({"ZoneName": self.account.subnets[ident].zone, "SubnetId": ident, "LoadBalancerAddresses": addresses})
        return {"LoadBalancerArn": b.arn, "DNSName": b.dns_name, "CanonicalHostedZoneId": HOSTED_ZONES[b.type], "CreatedTime": b.created,
                "LoadBalancerName": b.name, "Scheme": b.scheme, "VpcId": b.vpc, "State": {"Code": b.state, "Reason": b.reason}, "Type": b.type,
                "AvailabilityZones": zones, "SecurityGroups": b.security_groups, "IpAddressType": b.ip_type}

    # Creating

    def create_load_balancer(self, p: dict[str, Any]) -> dict[str, Any]:
        name, kind = p["Name"], p.get("Type", "application")
        problem = name_problem(name) or ("name cannot begin with internal-" if name.startswith("internal-") else None)
        if problem:
            raise invalid(f"Load balancer {problem}")
        if kind not in ("application", "network"):
            raise invalid(f"Load balancers of type {kind} are not simulated")
        scheme, ip_type = p.get("Scheme", "internet-facing"), p.get("IpAddressType", "ipv4")
        tags = tags_of(p.get("Tags"))
        subnets, mappings = self._subnets(p, kind, ip_type, scheme)
        groups = self._security_groups(p["SecurityGroups"]) if "SecurityGroups" in p else []
        if kind == "application" and not groups:
            groups = [self.account.default_security_group]
        old = next((b for b in self.account.balancers.values() if b.name == name), None)
        if old is not None:
            same = (old.type, old.scheme, old.ip_type, sorted(old.subnets), sorted(old.security_groups), old.mappings) == (
                kind, scheme, ip_type, sorted(subnets), sorted(groups), mappings)
            if not same or (self.account.settings.tags_are_settings and tags != old.first_tags):
                raise ApiError("DuplicateLoadBalancerName", f"A load balancer with the same name '{name}' exists, but with different settings")
            return {"LoadBalancers": [self._answer(old)]}
        if sum(b.type == kind for b in self.account.balancers.values()) >= self.account.settings.quotas[f"{kind}-load-balancers"]:
            raise ApiError("TooManyLoadBalancers", f"The maximum number of load balancers has been reached on account '{self.account.id}'")
        new = self._new(name, kind, scheme, ip_type, subnets, groups, mappings, tags)
        return {"LoadBalancers": [self._answer(new)]}

    def _new(self, name: str, kind: str, scheme: str, ip_type: str, subnets: list[str], groups: list[str],
             mappings: dict[str, dict[str, str]], tags: dict[str, str]) -> Balancer:
        account, ident = self.account, self.account.new_id()
        arn = account.arn("elasticloadbalancing", f"loadbalancer/{'app' if kind == 'application' else 'net'}/{name}/{ident}")
        shown = ("internal-" if scheme == "internal" else "") + name
        dns = (f"{shown}-{secrets.randbelow(9 * 10**9) + 10**9}.{account.region}.elb.amazonaws.com" if kind == "application"
               else f"{name}-{ident}.elb.{account.region}.amazonaws.com")
        balancer = Balancer(arn, account.clock.date(), name, kind, scheme, ip_type, dns, account.vpc, subnets, groups, mappings, tags,
                            attributes.defaults(attributes.BALANCER[kind]), bool(groups))
        account.balancers[arn] = balancer
        account.created("balancer", balancer)
        account.tag(arn, tags)
        return balancer

    def _subnets(self, p: dict[str, Any], kind: str, ip_type: str, scheme: str) -> tuple[list[str], dict[str, dict[str, str]]]:
        if ("Subnets" in p) == ("SubnetMappings" in p):
            raise invalid("You must specify subnets or subnet mappings, and not both")
        mappings: dict[str, dict[str, str]] = {}
        for item in p.get("SubnetMappings", []):
            rest = {k: v for k, v in item.items() if k != "SubnetId"}
            if rest and kind == "application":
                raise invalid("Addresses cannot be specified for application load balancers")
            if rest:
                mappings[item.get("SubnetId", "")] = rest
        idents = p.get("Subnets") or [item.get("SubnetId", "") for item in p["SubnetMappings"]]
        missing = [ident for ident in idents if ident not in self.account.subnets]
        if missing:
            raise ApiError("SubnetNotFound", f"The subnet ID '{missing[0]}' does not exist")
        subnets: list[Subnet] = [self.account.subnets[ident] for ident in idents]
        zones = {subnet.zone for subnet in subnets}
        if len(zones) != len(subnets):
            raise ApiError("InvalidConfigurationRequest", "A load balancer cannot be attached to multiple subnets in the same Availability Zone")
        if kind == "application" and len(zones) < 2:
            raise invalid("At least two subnets in two different Availability Zones must be specified")
        if any(subnet.free < ALB_FREE_ADDRESSES_MIN for subnet in subnets):
            raise ApiError("InvalidSubnet", "Not enough IP space available in a subnet")
        if ip_type != "ipv4" and not all(subnet.ipv6_cidr for subnet in subnets):
            raise invalid("You must specify subnets with an associated IPv6 CIDR block")
        if scheme == "internet-facing" and not all(subnet.public for subnet in subnets):
            raise ApiError("InvalidSubnet", f"VPC {self.account.vpc} has no internet gateway for a subnet")
        return idents, mappings

    def _security_groups(self, idents: list[str]) -> list[str]:
        for ident in idents:
            if self.account.find("security-group", ident) is None:
                raise ApiError("InvalidSecurityGroup", f"Security group '{ident}' is not valid")
        if len(set(idents)) != len(idents):
            raise invalid("A security group was specified more than once")
        return list(idents)

    # Changing

    def set_subnets(self, p: dict[str, Any]) -> dict[str, Any]:
        balancer = self._find(p["LoadBalancerArn"])
        ip_type = p.get("IpAddressType", balancer.ip_type)
        balancer.subnets, balancer.mappings = self._subnets(p, balancer.type, ip_type, balancer.scheme)
        balancer.ip_type = ip_type
        return {"AvailabilityZones": self._answer(balancer)["AvailabilityZones"], "IpAddressType": ip_type}

    def set_security_groups(self, p: dict[str, Any]) -> dict[str, Any]:
        balancer = self._find(p["LoadBalancerArn"])
        if not balancer.is_alb and not balancer.had_security_groups:
            raise ApiError("InvalidConfigurationRequest", f"Security groups cannot be set: '{balancer.arn}' was created without one")
        balancer.security_groups = self._security_groups(p["SecurityGroups"])
        return {"SecurityGroupIds": balancer.security_groups}

    def set_ip_address_type(self, p: dict[str, Any]) -> dict[str, Any]:
        balancer = self._find(p["LoadBalancerArn"])
        self._subnets({"Subnets": balancer.subnets}, balancer.type, p["IpAddressType"], balancer.scheme)
        balancer.ip_type = p["IpAddressType"]
        return {"IpAddressType": balancer.ip_type}

    def describe_load_balancer_attributes(self, p: dict[str, Any]) -> dict[str, Any]:
        return attributes.listed(self._find(p["LoadBalancerArn"]).attributes)

    def modify_load_balancer_attributes(self, p: dict[str, Any]) -> dict[str, Any]:
        balancer = self._find(p["LoadBalancerArn"])
        balancer.attributes = attributes.changed(attributes.BALANCER[balancer.type], balancer.attributes, p["Attributes"])
        return attributes.listed(balancer.attributes)

    def delete_load_balancer(self, p: dict[str, Any]) -> dict[str, Any]:
        arn = p["LoadBalancerArn"]
        if not re.fullmatch(r"arn:[^:]+:elasticloadbalancing:[^:]+:[0-9]+:loadbalancer/(app|net)/[^/]+/[0-9a-f]+", arn):
            raise invalid(f"'{arn}' is not a valid load balancer ARN")
        balancer = self.account.balancers.get(arn)
        if balancer is not None and balancer.attributes["deletion_protection.enabled"] == "true":
            raise ApiError("OperationNotPermitted", f"Load balancer '{arn}' cannot be deleted because deletion protection is enabled")
        if balancer is not None:
            self.account.remove_balancer(balancer)
        return {}

    # The account

    def describe_account_limits(self, p: dict[str, Any]) -> dict[str, Any]:
        limits = [{"Name": name, "Max": str(number)} for name, number in self.account.settings.quotas.items() if name not in NOT_TOLD]
        size = min(p.get("PageSize", 400), self.account.settings.page_max)
        shown, following = page(limits, p.get("Marker"), size, invalid)
        return {"Limits": shown, "NextMarker": following}

    def describe_ssl_policies(self, p: dict[str, Any]) -> dict[str, Any]:
        missing = [name for name in p.get("Names", []) if name not in SSL_POLICIES]
        if missing:
            raise ApiError("SSLPolicyNotFound", f"SSL policy '{missing[0]}' not found")
        names = p.get("Names") or list(SSL_POLICIES)
        shown, following = page(names, p.get("Marker"), min(p.get("PageSize", 400), self.account.settings.page_max), invalid)
        return {"SslPolicies": [{"Name": name, "SslProtocols": ["TLSv1.2"]} for name in shown], "NextMarker": following}

    # Tags of all kinds

    def _resource(self, arn: str) -> str:
        kind = re.sub(r"^arn:[^:]+:elasticloadbalancing:[^:]+:[0-9]+:([a-z-]+)/.*$", r"\1", arn)
        known = {"loadbalancer": ("balancer", "LoadBalancerNotFound"), "targetgroup": ("group", "TargetGroupNotFound"),
                 "listener": ("listener", "ListenerNotFound"), "listener-rule": ("rule", "RuleNotFound")}
        if kind not in known:
            raise invalid(f"'{arn}' is not a valid ARN")
        if self.account.find(known[kind][0], arn) is None:
            raise ApiError(known[kind][1], f"'{arn}' not found")
        return arn

    def _resources(self, arns: list[str]) -> list[str]:
        if not 1 <= len(arns) <= 20 or len(set(arns)) != len(arns):
            raise invalid("Between 1 and 20 different resources can be named in a call")
        return [self._resource(arn) for arn in arns]

    def describe_tags(self, p: dict[str, Any]) -> dict[str, Any]:
        arns = self._resources(p["ResourceArns"])
        return {"TagDescriptions": [{"ResourceArn": arn, "Tags": tag_list(self.account.tags(arn))} for arn in arns]}

    def add_tags(self, p: dict[str, Any]) -> dict[str, Any]:
        arns = self._resources(p["ResourceArns"])
        for arn in arns:
            tags_of(p["Tags"], self.account.tags(arn))
        for arn in arns:
            self.account.tag(arn, tags_of(p["Tags"]))
        return {}

    def remove_tags(self, p: dict[str, Any]) -> dict[str, Any]:
        for arn in self._resources(p["ResourceArns"]):
            self.account.tag(arn, {}, p["TagKeys"])
        return {}
