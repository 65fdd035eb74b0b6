# SPDX-License-Identifier: Apache-2.0
"""The commands of the control socket. README.md lists them; each method here is one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..commands import Commands
from .account import Balancer, Group
from .errors import ApiError
from .groups import REASONS
from .server import Standin
from .wire import SERVICES, plain


class Control(Commands):
    def __init__(self, standin: Standin):
        self.standin = standin
        self.account = standin.account

    # Reading

    def do_info(self) -> dict[str, Any]:
        identity = self.standin.identity
        return {"url": self.standin.url, "region": self.account.region, "access_key": identity.static.access, "secret_key": identity.static.secret,
                "vpc": self.account.vpc, "subnets": list(self.account.subnets), "account": self.account.id, "role": identity.role,
                "web_identity_token": identity.web_token, "container_token": identity.container_token}

    def do_balancers(self) -> list[dict[str, Any]]:
        """Without counting as a read, as everything here."""
        return [{"arn": b.arn, "name": b.name, "type": b.type, "scheme": b.scheme, "ip_type": b.ip_type, "state": b.state, "dns_name": b.dns_name,
                 "subnets": b.subnets, "security_groups": b.security_groups, "attributes": b.attributes, "tags": self.account.tags(b.arn),
                 "listeners": [self._listener(listener) for listener in sorted(self.account.listeners_of(b.arn), key=lambda l: l.port)]}
                for b in self.account.balancers.values()]

    def _listener(self, listener: Any) -> dict[str, Any]:
        default = self.account.rules[listener.default_rule]
        return {"arn": listener.arn, "port": listener.port, "protocol": listener.protocol, "ssl_policy": listener.ssl_policy,
                "certificate": listener.certificate, "certificates": listener.certificates, "default": default.actions,
                "attributes": listener.attributes, "tags": self.account.tags(listener.arn), "rules": self.do_rules(listener.arn)}

    def do_rules(self, listener: str) -> list[dict[str, Any]]:
        """Without the default one, in their order."""
        return [{"arn": r.arn, "priority": r.priority, "conditions": r.conditions, "actions": r.actions, "transforms": r.transforms,
                 "tags": self.account.tags(r.arn)} for r in self.account.rules_of(listener) if r.priority is not None]

    def do_groups(self) -> list[dict[str, Any]]:
        return [{"arn": g.arn, "name": g.name, "settings": g.settings, "attributes": g.attributes, "tags": self.account.tags(g.arn),
                 "balancer": self.account.balancer_of_group(g.arn), "targets": self.do_targets(g.name)} for g in self.account.groups.values()]

    def do_targets(self, group: str) -> list[dict[str, Any]]:
        found = self._group(group)
        return [{"id": t.id, "port": t.port, "zone": t.zone, **self.standin.groups.health(found, t)} for t in found.targets.values()]

    def do_certificates(self) -> list[dict[str, Any]]:
        return [{"arn": c.arn, "domain": c.details["DomainName"], "names": c.details["SubjectAlternativeNames"], "serial": c.details["Serial"],
                 "key": c.details["KeyAlgorithm"], "tags": self.account.tags(c.arn), "users": self.account.users_of_certificate(c.arn)}
                for c in self.account.certificates.values()]

    def do_security_groups(self) -> list[dict[str, Any]]:
        return [{"id": g.id, "name": g.name, "tags": self.account.tags(g.arn), "users": self.account.users_of_security_group(g.id),
                 "rules": [list(key) for key in g.rules]} for g in self.account.security_groups.values()]

    def do_zone(self, name: str) -> str:
        """A new hosted zone; its id."""
        return self.standin.route53.add_zone(name)

    def do_records(self, zone: str) -> list[dict[str, Any]]:
        return self.standin.route53.listed(zone)

    def do_calls(self, since: int = 0, **wanted: Any) -> list[dict[str, Any]]:
        """The journal: entries with this action, service, outcome, ..."""
        return self.standin.journal.find(since, **wanted)

    def do_writes(self) -> list[dict[str, Any]]:
        return self.standin.journal.writes()

    def do_counts(self) -> dict[str, int]:
        return self.standin.journal.counts()

    def do_clear_calls(self) -> None:
        self.standin.journal.clear()

    def do_rights(self) -> list[list[str]]:
        """Statements of the policy, and the actions that they have allowed."""
        return [list(pair) for pair in sorted(self.standin.policy.used)]

    def do_failures(self) -> list[str]:
        """Of the stand-in itself; there should be none."""
        return self.standin.failures

    # Behaviour and trouble

    def do_configure(self, **changes: Any) -> dict[str, Any]:
        self.standin.settings.configure(changes)
        return self.standin.settings.told()

    def do_fault(self, **spec: Any) -> int:
        return self.standin.faults.add(spec).number

    def do_clear_faults(self, number: int | None = None) -> None:
        self.standin.faults.clear(number)

    def do_rates(self, on: bool, **rates: list[float]) -> None:
        """Rates of an account; a rate is [tokens, tokens a second]."""
        self.standin.rates.set(on, rates)

    async def do_api(self, state: str) -> None:
        """`down`: connections are refused; `up`."""
        await (self.standin.down() if state == "down" else self.standin.up())

    def do_advance(self, seconds: float) -> None:
        """The clock of states, delays and credentials goes ahead; that of signatures does not (setting `skew_s`)."""
        self.account.clock.ahead += seconds

    # Who may call

    def do_expire(self) -> int:
        """All temporary credentials end now."""
        return self.standin.identity.expire()

    def do_rotate_key(self) -> dict[str, str]:
        key = self.standin.identity.rotate()
        return {"access_key": key.access, "secret_key": key.secret}

    def do_issue(self, seconds: float | None = None) -> dict[str, Any]:
        """Temporary credentials."""
        return asdict(self.standin.identity.issue(seconds))

    def do_web_identity(self, token: str | None = None, expired: bool = False, role: str | None = None) -> None:
        identity = self.standin.identity
        identity.web_token, identity.web_token_expired, identity.role = token or identity.web_token, expired, role or identity.role

    def do_metadata(self, role: str | None = "sluice-role", fails: int | None = None, container_token: str | None = None) -> None:
        """The instance's role (None: it has none), the status that all answers have, another token of containers."""
        identity = self.standin.identity
        identity.instance_role, identity.metadata_fails = role, fails
        identity.container_token = container_token or identity.container_token

    # States

    async def do_set_state(self, name: str, state: str, reason: str | None = None) -> None:
        """Of a balancer: active, failed, ..."""
        balancer = self._balancer(name)
        balancer.state, balancer.reason = state, reason
        await self.standin.changed()

    def do_set_health(self, group: str, state: str | None, reason: str | None = None, ids: list[str] | None = None) -> int:
        """Of the targets of a group, or of those with these addresses; None: as it comes. How many there are."""
        if state not in (None, "healthy", "unhealthy", "initial", "unavailable"):
            raise ValueError(f"targets have no state {state}")
        chosen = [t for t in self._group(group).targets.values() if ids is None or t.id in ids]
        for target in chosen:
            target.forced = None
            if state is not None:
                default = REASONS.get(state, ("", ""))
                told = {"State": state, "Reason": reason or default[0], "Description": default[1]}
                target.forced = {key: value for key, value in told.items() if value}
        return len(chosen)

    # What somebody else does

    async def do_call(self, service: str, action: str, **params: Any) -> Any:
        """Any call, as somebody with the same account would make it: no journal, no faults, no rates; texts for blobs."""
        shape = SERVICES[service].operation(action).input_shape
        given = {k: v.encode() if shape.members[k].type_name == "blob" else v for k, v in params.items()}
        try:
            result = self.standin.apply(service, action, given)
        except ApiError as problem:
            raise ValueError(f"{problem.code}: {problem.message}") from None
        await self.standin.changed()
        return _text_times(plain(result))

    def do_tag(self, arn: str, tags: dict[str, str], remove: list[str]) -> None:
        self.account.tag(arn, tags, remove)

    def do_subnet(self, id: str, free: int | None = None, ipv6: bool | None = None, public: bool | None = None) -> None:
        subnet = self.account.subnets[id]
        subnet.free = subnet.free if free is None else free
        subnet.public = subnet.public if public is None else public
        if ipv6 is False:
            subnet.ipv6_cidr = None

    # Traffic

    async def do_port(self, dns_name: str, port: int) -> int | None:
        """Where a balancer's port really is; None: nobody listens."""
        await self.standin.changed()
        served = self.standin.router.ports.get((dns_name, port))
        return served.number if served else None

    def do_reach(self, places: dict[str, str]) -> None:
        """Where targets really are: {"10.0.1.10:8080": "127.0.0.1:34567"}."""
        self.standin.router.reach.update(places)

    def do_traffic(self) -> dict[str, int]:
        """Requests and connections by the rule that took them."""
        return self.standin.router.requests

    def do_under_way(self, place: str) -> int:
        """Requests that a target, "IP:port", has not answered yet."""
        return self.standin.router.under_way[place]

    # Inside

    def _balancer(self, name: str) -> Balancer:
        found = next((b for b in self.account.balancers.values() if name in (b.name, b.arn, b.dns_name)), None)
        if found is None:
            raise ValueError(f"there is no balancer {name}")
        return found

    def _group(self, name: str) -> Group:
        found = next((g for g in self.account.groups.values() if name in (g.name, g.arn)), None)
        if found is None:
            raise ValueError(f"there is no target group {name}")
        return found


def _text_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _text_times(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_text_times(v) for v in value]
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
