# SPDX-License-Identifier: Apache-2.0
"""Actions of listeners and rules: what the API takes, and how it answers them."""

from __future__ import annotations

from typing import Any

from .account import Account, Balancer, groups_named
from .errors import ApiError, invalid
from .groups import ALB_PROTOCOLS, Groups

_MEMBERS = {"forward": {"TargetGroupArn", "ForwardConfig"}, "redirect": {"RedirectConfig"}, "fixed-response": {"FixedResponseConfig"}}
_CONTENT_TYPES = ("text/plain", "text/css", "text/html", "application/javascript", "application/json")
_REDIRECT = {"Protocol": "#{protocol}", "Port": "#{port}", "Host": "#{host}", "Path": "/#{path}", "Query": "#{query}"}
_NLB_GROUPS = {"TCP": ("TCP", "TCP_UDP"), "TLS": ("TCP", "TLS"), "UDP": ("UDP", "TCP_UDP"), "TCP_UDP": ("TCP_UDP",)}
WEIGHT_MAX = 999


class Actions:
    def __init__(self, account: Account, groups: Groups):
        self.account, self.groups = account, groups

    def checked(self, balancer: Balancer, protocol: str, given: list[dict[str, Any]], replaced: str | None) -> list[dict[str, Any]]:
        """As they are stored: all defaults filled in. `replaced`: the rule whose actions they will be. Raises ApiError."""
        if not given:
            raise invalid("An action must be specified")
        if len(given) > 1:
            raise ApiError("TooManyActions", "A rule can only have one action here; those that authenticate are not simulated")
        action = given[0]
        kind = action["Type"]
        if kind not in _MEMBERS:
            raise ApiError("InvalidLoadBalancerAction", f"Actions of type {kind} are not simulated")
        if action.keys() - {"Type", "Order"} - _MEMBERS[kind]:
            raise ApiError("InvalidLoadBalancerAction", f"An action of type {kind} has members of another")
        if not balancer.is_alb and kind != "forward":
            raise ApiError("InvalidLoadBalancerAction", f"Actions of type {kind} are not supported by network load balancers")
        make = {"forward": self._forward, "redirect": self._redirect, "fixed-response": self._fixed}[kind]
        stored = {"Type": kind, "Order": action.get("Order", 1), **make(balancer, protocol, action)}
        self._check_groups(balancer, protocol, groups_named([stored]), replaced)
        return [stored]

    def _forward(self, balancer: Balancer, _protocol: str, action: dict[str, Any]) -> dict[str, Any]:
        config, single = action.get("ForwardConfig", {}), action.get("TargetGroupArn")
        entries = config.get("TargetGroups", [])
        if single is not None and entries and [entry.get("TargetGroupArn") for entry in entries] != [single]:
            raise ApiError("InvalidLoadBalancerAction", "You cannot specify both a target group and a list of others")
        entries = entries or ([{"TargetGroupArn": single}] if single is not None else [])
        if not entries:
            raise ApiError("InvalidLoadBalancerAction", "A target group must be specified for an action of type forward")
        limit = self.account.settings.quotas[f"target-groups-per-action-on-{balancer.type}-load-balancer"]
        arns = [entry.get("TargetGroupArn") for entry in entries]
        if len(entries) > limit or len(set(arns)) != len(arns) or None in arns:
            raise ApiError("InvalidLoadBalancerAction", f"An action can name up to {limit} different target groups")
        weights = [entry.get("Weight", 1) for entry in entries]
        if not all(0 <= weight <= WEIGHT_MAX for weight in weights):
            raise invalid(f"Weights must be between 0 and {WEIGHT_MAX}")
        stickiness = {"Enabled": False, **config.get("TargetGroupStickinessConfig", {})}
        if stickiness["Enabled"] and not 1 <= stickiness.get("DurationSeconds", 0) <= 604800:
            raise invalid("Stickiness must have a duration between 1 and 604800 seconds")
        return {"ForwardConfig": {"TargetGroups": [{"TargetGroupArn": a, "Weight": w} for a, w in zip(arns, weights)],
                                  "TargetGroupStickinessConfig": stickiness}}

    def _check_groups(self, balancer: Balancer, protocol: str, arns: set[str], replaced: str | None) -> None:
        for arn in sorted(arns):
            group = self.account.find("group", arn)
            if group is None:
                raise ApiError("TargetGroupNotFound", f"Target groups '{arn}' not found")
            if group.settings["Protocol"] not in (ALB_PROTOCOLS if balancer.is_alb else _NLB_GROUPS[protocol]):
                raise ApiError("IncompatibleProtocols", f"The protocol of the target group '{arn}' does not fit the listener's")
            if self.account.balancer_of_group(arn) not in (None, balancer.arn):
                raise ApiError("TargetGroupAssociationLimit", f"The target group '{arn}' is already associated with another load balancer")
            if group.settings["IpAddressType"] == "ipv6" and balancer.ip_type == "ipv4":
                raise ApiError("InvalidConfigurationRequest", f"The target group '{arn}' needs a load balancer with dualstack")
        after = self.account.groups_of(balancer.arn, [replaced] if replaced else []) | arns
        if balancer.is_alb and len(after) > self.account.settings.quotas["target-groups-per-application-load-balancer"]:
            raise ApiError("TooManyUniqueTargetGroupsPerLoadBalancer", f"The maximum number of target groups of '{balancer.arn}' has been reached")
        self.groups.check_targets_of_balancer(balancer.arn, 0, arns)

    def _redirect(self, _balancer: Balancer, protocol: str, action: dict[str, Any]) -> dict[str, Any]:
        config = {**_REDIRECT, **action.get("RedirectConfig", {})}
        if "StatusCode" not in config:
            raise invalid("A redirect must have a status code")
        if config["Protocol"] not in ("HTTP", "HTTPS", "#{protocol}"):
            raise invalid(f"Redirect protocol '{config['Protocol']}' is not valid")
        if protocol == "HTTPS" and config["Protocol"] == "HTTP":
            raise invalid("A redirect from HTTPS to HTTP is not supported")
        if config["Port"] != "#{port}" and not (config["Port"].isdigit() and 1 <= int(config["Port"]) <= 65535):
            raise invalid(f"Redirect port '{config['Port']}' is not valid")
        if not config["Path"].startswith("/"):
            raise invalid("Redirect path must begin with /")
        if all(config[key] == _REDIRECT[key] for key in ("Protocol", "Port", "Host", "Path")):
            raise ApiError("InvalidLoadBalancerAction", "The redirect configuration is not valid because it creates a loop")
        return {"RedirectConfig": config}

    def _fixed(self, _balancer: Balancer, _protocol: str, action: dict[str, Any]) -> dict[str, Any]:
        config = action.get("FixedResponseConfig")
        if config is None:
            raise invalid("A fixed response must have a configuration")
        if config.get("ContentType", "text/plain") not in _CONTENT_TYPES:
            raise invalid(f"Content type '{config['ContentType']}' must be one of '[{', '.join(_CONTENT_TYPES)}]'")
        return {"FixedResponseConfig": config}

    def answered(self, action: dict[str, Any]) -> dict[str, Any]:
        entries = action.get("ForwardConfig", {}).get("TargetGroups", [])
        if len(entries) == 1 and self.account.settings.answer_both_forms:
            return {"TargetGroupArn": entries[0]["TargetGroupArn"], **action}
        return action
