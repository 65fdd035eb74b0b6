# SPDX-License-Identifier: Apache-2.0
"""ELBv2: listeners, their certificates, and their rules."""

from __future__ import annotations

from typing import Any

from . import attributes, conditions
from .account import Account, Balancer, Listener, Rule
from .actions import Actions
from .attributes import tags_of
from .balancers import SSL_POLICIES
from .errors import ApiError, invalid
from .paging import page

_PROTOCOLS = {"application": ("HTTP", "HTTPS"), "network": ("TCP", "TLS", "UDP", "TCP_UDP")}
_WITH_CERTIFICATE = ("HTTPS", "TLS")
DEFAULT_POLICY = "ELBSecurityPolicy-2016-08"


class Listeners:
    def __init__(self, account: Account, actions: Actions):
        self.account, self.actions = account, actions

    # Listeners

    def _balancer(self, arn: str) -> Balancer:
        balancer = self.account.find("balancer", arn)
        if balancer is None:
            raise ApiError("LoadBalancerNotFound", f"Load balancers '[{arn}]' not found")
        return balancer

    def _listener(self, arn: str) -> Listener:
        listener = self.account.find("listener", arn)
        if listener is None:
            raise ApiError("ListenerNotFound", f"One or more listeners not found: '{arn}'")
        return listener

    def _answer(self, listener: Listener) -> dict[str, Any]:
        default = self.account.rules[listener.default_rule]
        certificates = [{"CertificateArn": listener.certificate}] if listener.certificate else []
        return {"ListenerArn": listener.arn, "LoadBalancerArn": listener.balancer, "Port": listener.port, "Protocol": listener.protocol,
                "Certificates": certificates or None, "SslPolicy": listener.ssl_policy, "AlpnPolicy": listener.alpn or None,
                "DefaultActions": [self.actions.answered(action) for action in default.actions]}

    def describe_listeners(self, p: dict[str, Any]) -> dict[str, Any]:
        if ("LoadBalancerArn" in p) == ("ListenerArns" in p):
            raise invalid("You must specify either listener ARNs or a load balancer ARN")
        if "ListenerArns" in p:
            if "PageSize" in p or "Marker" in p:
                raise invalid("Listener ARNs and a page cannot be specified at the same time")
            return {"Listeners": [self._answer(self._listener(arn)) for arn in p["ListenerArns"]]}
        balancer = self._balancer(p["LoadBalancerArn"])
        found = [listener for listener in self.account.seen("listener") if listener.balancer == balancer.arn]
        shown, following = page(sorted(found, key=lambda l: l.arn), p.get("Marker"), self._size(p), invalid)
        return {"Listeners": [self._answer(listener) for listener in shown], "NextMarker": following}

    def _size(self, p: dict[str, Any]) -> int:
        return min(p.get("PageSize", 400), self.account.settings.page_max)

    def create_listener(self, p: dict[str, Any]) -> dict[str, Any]:
        balancer = self._balancer(p["LoadBalancerArn"])
        for key in ("Protocol", "Port"):
            if key not in p:
                raise invalid(f"A {key.lower()} must be specified")
        tags = tags_of(p.get("Tags"))
        policy, certificate, alpn = self._security(balancer, p["Protocol"], p, None)
        old = next((l for l in self.account.listeners_of(balancer.arn) if l.port == p["Port"]), None)
        default = old.default_rule if old else None
        actions = self.actions.checked(balancer, p["Protocol"], p["DefaultActions"], default)
        if old is not None:
            same = (old.protocol, old.ssl_policy, old.certificate, old.alpn, self.account.rules[old.default_rule].actions) == (
                p["Protocol"], policy, certificate, alpn, actions)
            if not same or (self.account.settings.tags_are_settings and tags != old.first_tags):
                raise ApiError("DuplicateListener", f"A listener already exists on this port for this load balancer '{balancer.arn}'")
            return {"Listeners": [self._answer(old)]}
        if len(self.account.listeners_of(balancer.arn)) >= self.account.settings.quotas[f"listeners-per-{balancer.type}-load-balancer"]:
            raise ApiError("TooManyListeners", f"The maximum number of listeners has been reached on the load balancer '{balancer.arn}'")
        arn = self.account.arn("elasticloadbalancing", f"listener/{balancer.path}/{self.account.new_id()}")
        rule = Rule(arn.replace(":listener/", ":listener-rule/") + f"/{self.account.new_id()}", self.account.clock.date(), arn, None, [], actions)
        listener = Listener(arn, self.account.clock.date(), balancer.arn, p["Protocol"], p["Port"], policy, certificate, alpn, tags,
                            attributes.defaults(attributes.LISTENER[balancer.type]), rule.arn)
        self.account.listeners[arn] = listener
        self.account.add_rule(rule, {})
        self.account.created("listener", listener)
        self.account.tag(arn, tags)
        return {"Listeners": [self._answer(listener)]}

    def _security(self, balancer: Balancer, protocol: str, p: dict[str, Any], old: Listener | None) -> tuple[str | None, str | None, list[str]]:
        """Policy, default certificate and ALPN policy of a listener."""
        if protocol not in _PROTOCOLS[balancer.type]:
            raise ApiError("UnsupportedProtocol", f"Listener protocol '{protocol}' must be one of '{', '.join(_PROTOCOLS[balancer.type])}'")
        given = p.get("Certificates")
        if protocol not in _WITH_CERTIFICATE:
            if given or "SslPolicy" in p or "AlpnPolicy" in p:
                raise invalid(f"Certificates and policies cannot be specified for {protocol} listeners")
            return None, None, []
        certificate = old.certificate if old else None
        if given is not None:
            if len(given) != 1 or "IsDefault" in given[0] or "CertificateArn" not in given[0]:
                raise invalid("Exactly one certificate must be specified, without IsDefault")
            certificate = given[0]["CertificateArn"]
            self._check_certificate(certificate)
        if certificate is None:
            raise invalid(f"A certificate must be specified for {protocol} listeners")
        policy = p.get("SslPolicy") or (old.ssl_policy if old else None) or DEFAULT_POLICY
        if policy not in SSL_POLICIES:
            raise ApiError("SSLPolicyNotFound", f"SSL policy '{policy}' not found")
        alpn = p.get("AlpnPolicy", old.alpn if old else [])
        if alpn and protocol != "TLS":
            raise invalid("ALPN policies are for TLS listeners")
        return policy, certificate, alpn

    def _check_certificate(self, arn: str) -> None:
        if self.account.find("certificate", arn) is None:
            raise ApiError("CertificateNotFound", f"Certificate '{arn}' not found")

    def modify_listener(self, p: dict[str, Any]) -> dict[str, Any]:
        listener = self._listener(p["ListenerArn"])
        balancer, default = self.account.balancers[listener.balancer], self.account.rules[listener.default_rule]
        protocol, port = p.get("Protocol", listener.protocol), p.get("Port", listener.port)
        security = self._security(balancer, protocol, p, listener)
        if protocol in _WITH_CERTIFICATE and listener.protocol not in _WITH_CERTIFICATE and "SslPolicy" not in p:
            raise invalid(f"A policy must be specified for the change to {protocol}")
        actions = default.actions
        if "DefaultActions" in p:
            actions = self.actions.checked(balancer, protocol, p["DefaultActions"], default.arn)
        if any(other.port == port for other in self.account.listeners_of(balancer.arn) if other is not listener):
            raise ApiError("DuplicateListener", f"A listener already exists on this port for this load balancer '{balancer.arn}'")
        listener.protocol, listener.port, default.actions = protocol, port, actions
        listener.ssl_policy, listener.certificate, listener.alpn = security
        if protocol not in _WITH_CERTIFICATE:
            listener.certificates = []
        return {"Listeners": [self._answer(listener)]}

    def delete_listener(self, p: dict[str, Any]) -> dict[str, Any]:
        self.account.remove_listener(self._listener(p["ListenerArn"]))
        return {}

    def describe_listener_attributes(self, p: dict[str, Any]) -> dict[str, Any]:
        return attributes.listed(self._listener(p["ListenerArn"]).attributes)

    def modify_listener_attributes(self, p: dict[str, Any]) -> dict[str, Any]:
        listener = self._listener(p["ListenerArn"])
        table = attributes.LISTENER[self.account.balancers[listener.balancer].type]
        listener.attributes = attributes.changed(table, listener.attributes, p["Attributes"])
        return attributes.listed(listener.attributes)

    # Certificates

    def _one_certificate(self, p: dict[str, Any]) -> tuple[Listener, str]:
        listener = self._listener(p["ListenerArn"])
        if len(p["Certificates"]) != 1 or "IsDefault" in p["Certificates"][0] or "CertificateArn" not in p["Certificates"][0]:
            raise invalid("Exactly one certificate must be specified, without IsDefault")
        if listener.protocol not in _WITH_CERTIFICATE:
            raise ApiError("InvalidConfigurationRequest", f"A listener with the protocol {listener.protocol} has no certificates")
        return listener, p["Certificates"][0]["CertificateArn"]

    def add_listener_certificates(self, p: dict[str, Any]) -> dict[str, Any]:
        listener, arn = self._one_certificate(p)
        self._check_certificate(arn)
        if arn not in listener.certificates:
            balancer = self.account.balancers[listener.balancer]
            used = {name for other in self.account.listeners_of(balancer.arn) for name in other.certificates}
            if len(used | {arn}) > self.account.settings.quotas[f"certificates-per-{balancer.type}-load-balancer"]:
                raise ApiError("TooManyCertificates", f"The maximum number of certificates has been reached on the load balancer '{balancer.arn}'")
            listener.certificates.append(arn)
        return {"Certificates": [{"CertificateArn": arn, "IsDefault": False}]}

    def remove_listener_certificates(self, p: dict[str, Any]) -> dict[str, Any]:
        listener, arn = self._one_certificate(p)
        if arn in listener.certificates:
            listener.certificates.remove(arn)
        elif arn == listener.certificate:
            raise ApiError("OperationNotPermitted", "The default certificate of a listener cannot be removed")
        return {}

    def describe_listener_certificates(self, p: dict[str, Any]) -> dict[str, Any]:
        listener = self._listener(p["ListenerArn"])
        found = [{"CertificateArn": listener.certificate, "IsDefault": True}] if listener.certificate else []
        found += [{"CertificateArn": arn, "IsDefault": False} for arn in listener.certificates]
        shown, following = page(found, p.get("Marker"), self._size(p), invalid)
        return {"Certificates": shown, "NextMarker": following}

    # Rules

    def _rule(self, arn: str) -> Rule:
        rule = self.account.find("rule", arn)
        if rule is None:
            raise ApiError("RuleNotFound", f"One or more rules not found: '{arn}'")
        return rule

    def _answer_rule(self, rule: Rule) -> dict[str, Any]:
        both = self.account.settings.answer_both_forms
        return {"RuleArn": rule.arn, "Priority": "default" if rule.priority is None else str(rule.priority),
                "Conditions": [conditions.answered(c, both) for c in rule.conditions], "Actions": [self.actions.answered(a) for a in rule.actions],
                "IsDefault": rule.priority is None, "Transforms": rule.transforms or None}

    def describe_rules(self, p: dict[str, Any]) -> dict[str, Any]:
        if ("ListenerArn" in p) == ("RuleArns" in p):
            raise invalid("You must specify either listener rule ARNs or a listener ARN")
        if "RuleArns" in p:
            return {"Rules": [self._answer_rule(self._rule(arn)) for arn in p["RuleArns"]]}
        listener, seen = self._listener(p["ListenerArn"]), {rule.arn for rule in self.account.seen("rule")}
        found = [rule for rule in self.account.rules_of(listener.arn) if rule.arn in seen]
        shown, following = page(found, p.get("Marker"), self._size(p), invalid)
        return {"Rules": [self._answer_rule(rule) for rule in shown], "NextMarker": following}

    def create_rule(self, p: dict[str, Any]) -> dict[str, Any]:
        listener = self._listener(p["ListenerArn"])
        balancer = self.account.balancers[listener.balancer]
        if not balancer.is_alb:
            raise invalid("Rules are for application load balancers")
        wanted = conditions.checked(p["Conditions"], self.account.settings.quotas)
        transforms = conditions.checked_transforms(p.get("Transforms", []))
        tags = tags_of(p.get("Tags"))
        if any(rule.priority == p["Priority"] for rule in self.account.rules_of(listener.arn)):
            raise ApiError("PriorityInUse", f"Priority '{p['Priority']}' is currently in use")
        number = sum(rule.priority is not None for rule in self.account.rules_of_balancer(balancer.arn))
        if number >= self.account.settings.quotas["rules-per-application-load-balancer"]:
            raise ApiError("TooManyRules", f"The maximum number of rules has been reached on the load balancer '{balancer.arn}'")
        actions = self.actions.checked(balancer, listener.protocol, p["Actions"], None)
        arn = listener.arn.replace(":listener/", ":listener-rule/") + f"/{self.account.new_id()}"
        rule = Rule(arn, self.account.clock.date(), listener.arn, p["Priority"], wanted, actions, transforms)
        self.account.add_rule(rule, tags)
        self.account.created("rule", rule)
        return {"Rules": [self._answer_rule(rule)]}

    def modify_rule(self, p: dict[str, Any]) -> dict[str, Any]:
        rule = self._rule(p["RuleArn"])
        if rule.priority is None:
            raise ApiError("OperationNotPermitted", f"Default rule '{rule.arn}' cannot be modified")
        listener = self.account.listeners[rule.listener]
        if p.get("Transforms") and p.get("ResetTransforms"):
            raise invalid("Transforms cannot be given and reset at the same time")
        wanted, actions, transforms = rule.conditions, rule.actions, [] if p.get("ResetTransforms") else rule.transforms
        if "Conditions" in p:
            wanted = conditions.checked(p["Conditions"], self.account.settings.quotas)
        if p.get("Transforms"):
            transforms = conditions.checked_transforms(p["Transforms"])
        if "Actions" in p:
            actions = self.actions.checked(self.account.balancers[listener.balancer], listener.protocol, p["Actions"], rule.arn)
        rule.conditions, rule.actions, rule.transforms = wanted, actions, transforms
        return {"Rules": [self._answer_rule(rule)]}

    def delete_rule(self, p: dict[str, Any]) -> dict[str, Any]:
        rule = self._rule(p["RuleArn"])
        if rule.priority is None:
            raise ApiError("OperationNotPermitted", f"Default rule '{rule.arn}' cannot be deleted")
        self.account.remove_rule(rule)
        return {}

    def set_rule_priorities(self, p: dict[str, Any]) -> dict[str, Any]:
        """Judged on the result: a swap is one call."""
        if not p["RulePriorities"] or any(pair.keys() != {"RuleArn", "Priority"} for pair in p["RulePriorities"]):
            raise invalid("Pairs of a rule and a priority must be specified")
        wanted = {pair["RuleArn"]: pair["Priority"] for pair in p["RulePriorities"]}
        if len(wanted) != len(p["RulePriorities"]):
            raise invalid("A rule was specified more than once")
        named = [self._rule(arn) for arn in wanted]
        if any(rule.priority is None for rule in named):
            raise ApiError("OperationNotPermitted", "The priority of a default rule cannot be set")
        for listener in {rule.listener for rule in named}:
            after = [wanted.get(rule.arn, rule.priority) for rule in self.account.rules_of(listener) if rule.priority is not None]
            twice = [str(number) for number in sorted(set(after)) if after.count(number) > 1]
            if twice:
                raise ApiError("PriorityInUse", f"Priority '{', '.join(twice)}' is currently in use")
        for rule in named:
            rule.priority = wanted[rule.arn]
        return {"Rules": [self._answer_rule(rule) for rule in named]}
