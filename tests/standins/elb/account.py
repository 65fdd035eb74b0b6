# SPDX-License-Identifier: Apache-2.0
"""What an account holds in one region: the things themselves, their tags, and what each of them is used by. No rules of the API are here."""

from __future__ import annotations

import datetime
import ipaddress
import secrets
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Iterable

from .settings import Settings


class Clock:
    """Seconds since the epoch; tests may advance it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def date(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.now(), datetime.timezone.utc)


@dataclass
class Thing:
    """Whatever has an ARN. `hidden`: so many reads do not find it yet."""

    arn: str
    created: datetime.datetime
    hidden: int = field(default=0, kw_only=True)


@dataclass
class Balancer(Thing):
    name: str
    type: str
    scheme: str
    ip_type: str
    dns_name: str
    vpc: str
    subnets: list[str]
    security_groups: list[str]
    mappings: dict[str, dict[str, str]]  # by subnet: AllocationId, PrivateIPv4Address, ...
    first_tags: dict[str, str]
    attributes: dict[str, str]
    had_security_groups: bool
    state: str = "provisioning"
    reason: str | None = None
    polls: int = 0

    @property
    def is_alb(self) -> bool:
        return self.type == "application"

    @property
    def path(self) -> str:
        """As in ARNs: app/NAME/ID."""
        return self.arn.partition(":loadbalancer/")[2]


@dataclass
class Rule(Thing):
    listener: str
    priority: int | None  # None: the default rule
    conditions: list[dict[str, Any]]
    actions: list[dict[str, Any]]
    transforms: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Listener(Thing):
    balancer: str
    protocol: str
    port: int
    ssl_policy: str | None
    certificate: str | None
    alpn: list[str]
    first_tags: dict[str, str]
    attributes: dict[str, str]
    default_rule: str
    certificates: list[str] = field(default_factory=list)


@dataclass
class Target:
    id: str
    port: int
    zone: str | None
    since: float
    polls: int = 0
    draining_since: float | None = None
    forced: dict[str, str] | None = None  # TargetHealth, as set by a test


@dataclass
class Group(Thing):
    name: str
    settings: dict[str, Any]  # as answered: Protocol, Port, VpcId, HealthCheck..., Matcher
    first_tags: dict[str, str]
    attributes: dict[str, str]
    targets: dict[tuple[str, int], Target] = field(default_factory=dict)


@dataclass
class Subnet(Thing):
    id: str
    vpc: str
    zone: str
    zone_id: str
    cidr: str
    ipv6_cidr: str | None
    free: int = 4091
    public: bool = True


@dataclass
class SecurityGroup(Thing):
    id: str
    name: str
    description: str
    vpc: str
    rules: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)


@dataclass
class Certificate(Thing):
    details: dict[str, Any]  # as DescribeCertificate answers, without InUseBy
    usages: tuple[Any, ...]
    pem: bytes


class Account:
    def __init__(self, settings: Settings, region: str, vpc_cidrs: list[str], zones: int, tags: dict[str, str]):
        self.settings, self.region, self.id = settings, region, "123456789012"
        self.clock = Clock()
        self.vpc, self.vpc_cidrs = "vpc-0a34ca", vpc_cidrs
        self.balancers: dict[str, Balancer] = {}
        self.listeners: dict[str, Listener] = {}
        self.rules: dict[str, Rule] = {}
        self.groups: dict[str, Group] = {}
        self.subnets: dict[str, Subnet] = {}
        self.security_groups: dict[str, SecurityGroup] = {}
        self.certificates: dict[str, Certificate] = {}
        self._tags: dict[str, dict[str, str]] = {}
        self._history: dict[str, list[tuple[float, dict[str, str] | None]]] = {}
        self._released: dict[str, float] = {}  # when the last use of a thing has ended
        self._kinds = {"balancer": self.balancers, "listener": self.listeners, "rule": self.rules, "group": self.groups,
                       "security-group": self.security_groups, "certificate": self.certificates}
        self._uses: Counter[str] = Counter()
        self._rules_of: dict[str, dict[str, Rule]] = {}  # by listener
        self._balancer_of_group: dict[str, str] = {}
        for number in range(zones):
            self.add_subnet(number, tags)
        self.default_security_group = self.add_security_group("default", "default VPC security group").id

    # Names

    def arn(self, service: str, path: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.id}:{path}"

    def ec2_arn(self, ident: str) -> str:
        kind = {"sg": "security-group", "subnet": "subnet", "vpc": "vpc"}.get(ident.split("-")[0], "other")
        return self.arn("ec2", f"{kind}/{ident}")

    @staticmethod
    def new_id(digits: int = 16) -> str:
        return secrets.token_hex(digits // 2)

    # The network

    def add_subnet(self, number: int, tags: dict[str, str]) -> Subnet:
        network = ipaddress.ip_network(self.vpc_cidrs[0])
        cidr = next(net for n, net in enumerate(network.subnets(new_prefix=20)) if n == number)
        ident = f"subnet-{number:04x}{self.new_id(4)}"
        subnet = Subnet(self.ec2_arn(ident), self.clock.date(), ident, self.vpc, f"{self.region}{'abcdef'[number % 6]}",
                        f"use1-az{number % 6 + 1}", str(cidr), f"2600:1f18:0:{number:x}::/64")
        self.subnets[ident] = subnet
        self.tag(subnet.arn, tags)
        return subnet

    def add_security_group(self, name: str, description: str) -> SecurityGroup:
        ident = f"sg-{self.new_id(8)}"
        group = SecurityGroup(self.ec2_arn(ident), self.clock.date(), ident, name, description, self.vpc)
        self.security_groups[ident] = group
        self.tag(group.arn, {})
        return group

    def in_vpc(self, address: str) -> bool:
        parsed = ipaddress.ip_address(address)
        networks = [ipaddress.ip_network(c) for c in self.vpc_cidrs] + [ipaddress.ip_network(s.ipv6_cidr) for s in self.subnets.values() if s.ipv6_cidr]
        return any(parsed in network for network in networks if network.version == parsed.version)

    # Reading, as calls do

    def created(self, kind: str, thing: Thing) -> None:
        thing.hidden = self.settings.hidden_reads.get(kind, 0)

    def find(self, kind: str, key: str) -> Any:
        """None: it is not there, or not seen yet."""
        thing = self._kinds[kind].get(key)
        return thing if thing is not None and self._is_seen(thing) else None

    def seen(self, kind: str) -> list[Any]:
        return [thing for thing in self._kinds[kind].values() if self._is_seen(thing)]

    @staticmethod
    def _is_seen(thing: Thing) -> bool:
        if thing.hidden > 0:
            thing.hidden -= 1
            return False
        return True

    # Relations

    def listeners_of(self, balancer: str) -> list[Listener]:
        return [listener for listener in self.listeners.values() if listener.balancer == balancer]

    def rules_of(self, listener: str) -> list[Rule]:
        """In the order of their evaluation, the default one last."""
        return sorted(self._rules_of.get(listener, {}).values(), key=lambda r: r.priority or 1 << 20)

    def rules_of_balancer(self, balancer: str) -> list[Rule]:
        return [rule for listener in self.listeners_of(balancer) for rule in self._rules_of[listener.arn].values()]

    def groups_of(self, balancer: str, without: Iterable[str] = ()) -> set[str]:
        """ARNs of the groups that its rules name; `without`: rules that do not count."""
        left_out = set(without)
        return {arn for rule in self.rules_of_balancer(balancer) if rule.arn not in left_out for arn in groups_named(rule.actions)}

    def balancer_of_group(self, group: str) -> str | None:
        return self._balancer_of_group.get(group)

    def users_of_certificate(self, arn: str) -> list[str]:
        return sorted({l.balancer for l in self.listeners.values() if l.certificate == arn or arn in l.certificates})

    def users_of_security_group(self, ident: str) -> list[str]:
        named = [g.id for g in self.security_groups.values() if g.id != ident and any(r.get("GroupId") == ident for r in g.rules.values())]
        return [b.arn for b in self.balancers.values() if ident in b.security_groups] + named

    # Uses that have ended, which still count for a while

    def note_uses(self) -> None:
        """After every change: who uses what, and when the last use of a thing has ended."""
        uses: Counter[str] = Counter()
        self._balancer_of_group = {}
        for rule in self.rules.values():
            named = groups_named(rule.actions)
            uses.update(named)
            self._balancer_of_group.update(dict.fromkeys(named, self.listeners[rule.listener].balancer))
        for listener in self.listeners.values():
            uses.update([*listener.certificates, *([listener.certificate] if listener.certificate else [])])
        for balancer in self.balancers.values():
            uses.update(balancer.security_groups)
        for name in self._uses.keys() - uses.keys():
            self._released[name] = self.clock.now()
        self._uses = uses

    def lingers(self, name: str, seconds: float) -> bool:
        return self.clock.now() - self._released.get(name, 0.0) < seconds

    # Tags

    def tags(self, arn: str) -> dict[str, str]:
        return dict(self._tags.get(arn, {}))

    def is_known(self, arn: str) -> bool:
        return arn in self._tags or arn == self.ec2_arn(self.vpc)

    def tag(self, arn: str, tags: dict[str, str], remove: Iterable[str] = ()) -> None:
        left = {**self._tags.get(arn, {}), **tags}
        for key in remove:
            left.pop(key, None)
        self._tags[arn] = left
        self._remember(arn, dict(left))

    def untag(self, arn: str) -> None:
        """The thing is gone."""
        if self._tags.pop(arn, None) is not None:
            self._remember(arn, None)

    def _remember(self, arn: str, tags: dict[str, str] | None) -> None:
        history = self._history.setdefault(arn, [])
        history.append((self.clock.now(), tags))
        del history[:-64]

    def tags_as_lagging(self) -> dict[str, dict[str, str]]:
        """What the tagging API knows of: tags as they were some seconds ago."""
        until = self.clock.now() - self.settings.tagging_lag_s
        latest = {arn: next((tags for when, tags in reversed(history) if when <= until), None) for arn, history in self._history.items()}
        return {arn: tags for arn, tags in latest.items() if tags}

    # Rules and what goes with them

    def add_rule(self, rule: Rule, tags: dict[str, str]) -> None:
        self.rules[rule.arn] = self._rules_of.setdefault(rule.listener, {})[rule.arn] = rule
        self.tag(rule.arn, tags)

    def remove_rule(self, rule: Rule) -> None:
        del self.rules[rule.arn], self._rules_of[rule.listener][rule.arn]
        self.untag(rule.arn)

    def remove_listener(self, listener: Listener) -> None:
        for rule in self.rules_of(listener.arn):
            self.remove_rule(rule)
        del self.listeners[listener.arn]
        self.untag(listener.arn)

    def remove_balancer(self, balancer: Balancer) -> None:
        for listener in self.listeners_of(balancer.arn):
            self.remove_listener(listener)
        del self.balancers[balancer.arn]
        self.untag(balancer.arn)


def groups_named(actions: list[dict[str, Any]]) -> set[str]:
    return {entry["TargetGroupArn"] for action in actions for entry in action.get("ForwardConfig", {}).get("TargetGroups", [])}
