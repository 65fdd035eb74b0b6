# SPDX-License-Identifier: Apache-2.0
"""ELBv2: target groups, their targets, and the targets' health."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from . import attributes
from .account import Account, Group, Target
from .attributes import tags_of
from .balancers import name_problem
from .errors import ApiError, invalid
from .paging import page

ALB_PROTOCOLS, NLB_PROTOCOLS = ("HTTP", "HTTPS"), ("TCP", "TLS", "UDP", "TCP_UDP")
_HEALTH_KEYS = ("HealthCheckProtocol", "HealthCheckPort", "HealthCheckPath", "HealthCheckEnabled", "HealthCheckIntervalSeconds",
                "HealthCheckTimeoutSeconds", "HealthyThresholdCount", "UnhealthyThresholdCount", "Matcher")
_OUTSIDE = [ipaddress.ip_network(net) for net in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")]
REASONS = {
    "initial": ("Elb.InitialHealthChecking", "Initial health checks in progress"),
    "draining": ("Target.DeregistrationInProgress", "Target deregistration is in progress"),
    "unused": ("Target.NotInUse", "Target group is not configured to receive traffic from the load balancer"),
    "unhealthy": ("Target.Timeout", "Request timed out"),
}


class Groups:
    def __init__(self, account: Account):
        self.account = account

    def _find(self, arn: str) -> Group:
        group = self.account.find("group", arn)
        if group is None:
            raise ApiError("TargetGroupNotFound", f"Target groups '{arn}' not found")
        return group

    def _answer(self, group: Group) -> dict[str, Any]:
        user = self.account.balancer_of_group(group.arn)
        return {"TargetGroupArn": group.arn, "TargetGroupName": group.name, **group.settings, "LoadBalancerArns": [user] if user else []}

    def describe_target_groups(self, p: dict[str, Any]) -> dict[str, Any]:
        filters = [key for key in ("LoadBalancerArn", "TargetGroupArns", "Names") if key in p]
        if len(filters) > 1 or (filters and ("PageSize" in p or "Marker" in p)):
            raise invalid("Only one of load balancer, target group ARNs, names, or a page can be specified")
        seen, following = self.account.seen("group"), None
        if "LoadBalancerArn" in p:
            if self.account.find("balancer", p["LoadBalancerArn"]) is None:
                raise ApiError("LoadBalancerNotFound", f"Load balancers '[{p['LoadBalancerArn']}]' not found")
            named = self.account.groups_of(p["LoadBalancerArn"])
            seen = [group for group in seen if group.arn in named]
        elif filters:
            known = {g.arn if filters[0] == "TargetGroupArns" else g.name: g for g in seen}
            missing = [key for key in p[filters[0]] if key not in known]
            if missing:
                raise ApiError("TargetGroupNotFound", f"Target groups '[{', '.join(missing)}]' not found")
            seen = [known[key] for key in p[filters[0]]]
        else:
            size = min(p.get("PageSize", 400), self.account.settings.page_max)
            seen, following = page(sorted(seen, key=lambda g: g.arn), p.get("Marker"), size, invalid)
        return {"TargetGroups": [self._answer(group) for group in seen], "NextMarker": following}

    # Creating and changing

    def create_target_group(self, p: dict[str, Any]) -> dict[str, Any]:
        name = p["Name"]
        problem = name_problem(name) or ("name cannot contain two hyphens in a row" if "--" in name else None)
        if problem:
            raise invalid(f"Target group {problem}")
        tags = tags_of(p.get("Tags"))
        settings = self._settings(p)
        old = next((g for g in self.account.groups.values() if g.name == name), None)
        if old is not None:
            if settings != old.settings or (self.account.settings.tags_are_settings and tags != old.first_tags):
                raise ApiError("DuplicateTargetGroupName", f"A target group with the same name '{name}' exists, but with different settings")
            return {"TargetGroups": [self._answer(old)]}
        if len(self.account.groups) >= self.account.settings.quotas["target-groups"]:
            raise ApiError("TooManyTargetGroups", f"The maximum number of target groups has been reached on account '{self.account.id}'")
        arn = self.account.arn("elasticloadbalancing", f"targetgroup/{name}/{self.account.new_id()}")
        kind = "application" if settings["Protocol"] in ALB_PROTOCOLS else "network"
        group = Group(arn, self.account.clock.date(), name, settings, tags, attributes.defaults(attributes.GROUP[kind]))
        self.account.groups[arn] = group
        self.account.created("group", group)
        self.account.tag(arn, tags)
        return {"TargetGroups": [self._answer(group)]}

    def _settings(self, p: dict[str, Any]) -> dict[str, Any]:
        for key in ("Protocol", "Port", "VpcId"):
            if key not in p:
                raise invalid(f"A {key} must be specified")
        if p["Protocol"] not in ALB_PROTOCOLS + NLB_PROTOCOLS:
            raise invalid(f"Target groups with the protocol {p['Protocol']} are not simulated")
        if p.get("TargetType", "instance") != "ip":
            raise invalid("Target groups are simulated with the target type ip only")
        if p["VpcId"] != self.account.vpc:
            raise invalid(f"The VPC ID '{p['VpcId']}' is not found")
        is_http = p["Protocol"] in ALB_PROTOCOLS
        if "ProtocolVersion" in p and (not is_http or p["ProtocolVersion"] not in ("HTTP1", "HTTP2", "GRPC")):
            raise invalid("The protocol version is not supported for the protocol")
        settings = {"Protocol": p["Protocol"], "Port": p["Port"], "VpcId": p["VpcId"], "TargetType": "ip", "IpAddressType": p.get("IpAddressType", "ipv4"),
                    "HealthCheckEnabled": True, "HealthCheckPort": "traffic-port", "HealthCheckProtocol": "HTTP" if is_http else "TCP",
                    "HealthCheckIntervalSeconds": 30, "HealthyThresholdCount": 5, "UnhealthyThresholdCount": 2}
        if settings["IpAddressType"] not in ("ipv4", "ipv6"):
            raise invalid("The IP address type of a target group is ipv4 or ipv6")
        if is_http:
            settings["ProtocolVersion"] = p.get("ProtocolVersion", "HTTP1")
        return self._with_health(settings, p)

    @staticmethod
    def _with_health(present: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
        settings = present | {key: p[key] for key in _HEALTH_KEYS if key in p}
        is_http, is_grpc = settings["Protocol"] in ALB_PROTOCOLS, settings.get("ProtocolVersion") == "GRPC"
        checks_http = settings["HealthCheckProtocol"] in ALB_PROTOCOLS
        if settings["HealthCheckProtocol"] not in (ALB_PROTOCOLS if is_http else (*ALB_PROTOCOLS, "TCP")):
            raise invalid(f"Health check protocol '{settings['HealthCheckProtocol']}' must be one of those of the load balancer")
        settings.setdefault("HealthCheckTimeoutSeconds", 5 if is_http else 6 if checks_http else 10)
        if settings["HealthCheckTimeoutSeconds"] >= settings["HealthCheckIntervalSeconds"]:
            raise invalid("Health check interval must be greater than the timeout")
        if not re.fullmatch(r"traffic-port|[1-9]\d{0,4}", settings["HealthCheckPort"]):
            raise invalid("Health check port is not valid")
        if not checks_http:
            if "HealthCheckPath" in p or "Matcher" in p:
                raise invalid("Health check path and matcher cannot be specified for the health check protocol TCP")
            return {k: v for k, v in settings.items() if k not in ("HealthCheckPath", "Matcher")}
        settings.setdefault("HealthCheckPath", "/AWS.ALB/healthcheck" if is_grpc else "/")
        settings.setdefault("Matcher", {"GrpcCode": "12"} if is_grpc else {"HttpCode": "200" if is_http else "200-399"})
        if not settings["HealthCheckPath"].startswith("/"):
            raise invalid("Health check path must begin with /")
        key, low, high = ("GrpcCode", 0, 99) if is_grpc else ("HttpCode", 200, 499 if is_http else 599)
        codes = settings["Matcher"].get(key, "")
        ends = [int(n) for n in re.findall(r"\d{1,3}", codes)]
        if len(settings["Matcher"]) != 1 or not re.fullmatch(r"\d{1,3}(-\d{1,3})?(,\d{1,3}(-\d{1,3})?)*", codes) or not all(low <= n <= high for n in ends):
            raise invalid(f"Health check matcher {key} '{codes}' must be within the range {low}-{high}")
        return settings

    def modify_target_group(self, p: dict[str, Any]) -> dict[str, Any]:
        group = self._find(p["TargetGroupArn"])
        group.settings = self._with_health(group.settings, p)
        return {"TargetGroups": [self._answer(group)]}

    def describe_target_group_attributes(self, p: dict[str, Any]) -> dict[str, Any]:
        return attributes.listed(self._find(p["TargetGroupArn"]).attributes)

    def modify_target_group_attributes(self, p: dict[str, Any]) -> dict[str, Any]:
        group = self._find(p["TargetGroupArn"])
        kind = "application" if group.settings["Protocol"] in ALB_PROTOCOLS else "network"
        after = attributes.changed(attributes.GROUP[kind], group.attributes, p["Attributes"])
        if after["stickiness.enabled"] == "true" and group.settings["Protocol"] == "TLS":
            raise invalid("Stickiness is not supported for TLS target groups")
        group.attributes = after
        return attributes.listed(after)

    def delete_target_group(self, p: dict[str, Any]) -> dict[str, Any]:
        arn = p["TargetGroupArn"]
        group = self.account.groups.get(arn)
        if group is None:
            if self.account.settings.unknown_group_deletes:
                return {}
            raise ApiError("TargetGroupNotFound", f"Target groups '{arn}' not found")
        if self.account.balancer_of_group(arn) or self.account.lingers(arn, self.account.settings.group_release_s):
            raise ApiError("ResourceInUse", f"Target group '{arn}' is currently in use by a listener or a rule")
        del self.account.groups[arn]
        self.account.untag(arn)
        return {}

    # Targets

    def _targets(self, group: Group, given: list[dict[str, Any]]) -> list[tuple[str, int, str | None]]:
        if not given:
            raise invalid("At least one target must be specified")
        return [(item["Id"], item.get("Port", group.settings["Port"]), item.get("AvailabilityZone")) for item in given]

    def _check_address(self, group: Group, ident: str, zone: str | None) -> None:
        try:
            address = ipaddress.ip_address(ident)
        except ValueError:
            raise ApiError("InvalidTarget", f"The IP address '{ident}' is not valid") from None
        if address.version != (6 if group.settings["IpAddressType"] == "ipv6" else 4):
            raise ApiError("InvalidTarget", f"The IP address '{ident}' is not of the family of the target group")
        inside = self.account.in_vpc(ident)
        if not inside and not any(address in network for network in _OUTSIDE if network.version == address.version):
            raise ApiError("InvalidTarget", f"The IP address '{ident}' is not within a supported range")
        if not inside and zone != "all":
            raise invalid(f"You must specify an Availability Zone 'all' for the IP address '{ident}', which is outside the VPC")
        if inside and zone == "all":
            raise invalid(f"The Availability Zone 'all' cannot be specified for the IP address '{ident}', which is inside the VPC")

    def register_targets(self, p: dict[str, Any]) -> dict[str, Any]:
        group = self._find(p["TargetGroupArn"])
        targets = self._targets(group, p["Targets"])
        for ident, _, zone in targets:
            self._check_address(group, ident, zone)
        self._drop_drained(group)
        kept = {key for key, target in group.targets.items() if target.draining_since is None}
        new = {(ident, port) for ident, port, _ in targets} - kept
        quotas = self.account.settings.quotas
        if len(kept) + len(new) > quotas["targets-per-target-group"]:
            raise ApiError("TooManyTargets", f"The maximum number of targets has been reached for the target group '{group.arn}'")
        self.check_targets_of_balancer(self.account.balancer_of_group(group.arn), len(new))
        for ident, port, zone in targets:
            if (ident, port) in new:
                group.targets[ident, port] = Target(ident, port, zone, self.account.clock.now())
        return {}

    def check_targets_of_balancer(self, balancer: str | None, new: int, groups: set[str] | None = None) -> None:
        """Raises ApiError when the balancer, with these further groups, would have too many targets."""
        if balancer is None:
            return
        counted = self.account.groups_of(balancer) | (groups or set())
        number = sum(t.draining_since is None for arn in counted for t in self.account.groups[arn].targets.values())
        found, quotas = self.account.balancers[balancer], self.account.settings.quotas
        limit = quotas[f"targets-per-{found.type}-load-balancer"]
        if not found.is_alb and found.attributes["load_balancing.cross_zone.enabled"] == "true":
            limit = min(limit, quotas["targets-per-availability-zone-per-network-load-balancer"])
        if number + new > limit:
            raise ApiError("TooManyTargets", f"The maximum number of targets has been reached for the load balancer '{balancer}'")

    def deregister_targets(self, p: dict[str, Any]) -> dict[str, Any]:
        group = self._find(p["TargetGroupArn"])
        in_use = self.account.balancer_of_group(group.arn) is not None
        for ident, port, _ in self._targets(group, p["Targets"]):
            target = group.targets.get((ident, port))
            if target is None:
                continue
            if not in_use:
                del group.targets[ident, port]
            elif target.draining_since is None:
                target.draining_since = self.account.clock.now()
        self._drop_drained(group)
        return {}

    def _drop_drained(self, group: Group) -> None:
        delay = self.account.settings.draining_s
        if delay is None:
            delay = float(group.attributes["deregistration_delay.timeout_seconds"])
        until = self.account.clock.now() - delay
        group.targets = {k: t for k, t in group.targets.items() if t.draining_since is None or t.draining_since > until}

    def describe_target_health(self, p: dict[str, Any]) -> dict[str, Any]:
        group = self._find(p["TargetGroupArn"])
        self._drop_drained(group)
        found = []
        asked = {(ident, port) for ident, port, _ in self._targets(group, p["Targets"])} if "Targets" in p else None
        for key, target in group.targets.items():
            if asked is None or key in asked:
                found.append((target, self.health(group, target)))
                target.polls += 1
        for ident, port in sorted((asked or set()) - group.targets.keys()):
            told = {"State": "unused", "Reason": "Target.NotRegistered", "Description": "Target is not registered to the target group"}
            found.append((Target(ident, port, None, 0.0), told))
        return {"TargetHealthDescriptions": [
            {"Target": {"Id": t.id, "Port": t.port, "AvailabilityZone": t.zone}, "HealthCheckPort": self._check_port(group, t), "TargetHealth": health}
            for t, health in found]}

    @staticmethod
    def _check_port(group: Group, target: Target) -> str:
        port = group.settings["HealthCheckPort"]
        return str(target.port) if port == "traffic-port" else port

    def health(self, group: Group, target: Target) -> dict[str, str]:
        """Without counting as a read."""
        state, settings = "healthy", self.account.settings
        if target.draining_since is not None:
            state = "draining"
        elif self.account.balancer_of_group(group.arn) is None:
            state = "unused"
        elif target.forced is not None:
            return target.forced
        elif target.polls < settings.initial_polls or self.account.clock.now() - target.since < settings.initial_s:
            state = "initial"
        if state == "healthy":
            return {"State": state}
        return {"State": state, "Reason": REASONS[state][0], "Description": REASONS[state][1]}
