# SPDX-License-Identifier: Apache-2.0
"""Who is asking, and whether that is allowed.

Two identities matter to tests: `admin` (the fixtures, kubectl) may do everything; `controller` (the
program under test) may do everything until rules are set for it.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from .request_info import RequestInfo
from .statuses import ApiError, details, forbidden, unauthorized
from .wire import Connection, Request

ADMIN, CONTROLLER, ANONYMOUS = "admin", "controller", "anonymous"
ALWAYS_OPEN = ("/healthz", "/livez", "/readyz", "/version", "/version/")
DISCOVERY = ("/api", "/apis", "/openapi")  # these and what is below: open to all who have credentials


@dataclass(frozen=True)
class Identity:
    """A caller. `alias` is how tests, faults and the log name it."""

    alias: str
    user: str
    groups: tuple[str, ...] = ()


@dataclass
class Token:
    """A bearer token; `expires` on the monotonic clock."""

    identity: Identity
    expires: float | None = None

    @property
    def valid(self) -> bool:
        """Whether it is still accepted for new requests."""
        return self.expires is None or time.monotonic() < self.expires


@dataclass
class Authenticator:
    """Tokens and certificate subjects."""

    admin: Identity
    controller: Identity
    anonymous_is_admin: bool = False
    tokens: dict[str, Token] = field(default_factory=dict)

    def issue(self, identity: Identity, expires_in_s: float | None = None, text: str | None = None) -> str:
        """Adds a token."""
        text = text or secrets.token_urlsafe(48)
        self.tokens[text] = Token(identity, None if expires_in_s is None else time.monotonic() + expires_in_s)
        return text

    def expire(self, identity: Identity, in_s: float = 0) -> None:
        """Ends the tokens of an identity, now or later."""
        deadline = time.monotonic() + in_s
        for token in self.tokens.values():
            if token.identity == identity and (token.expires is None or token.expires > deadline):
                token.expires = deadline

    def by_alias(self, alias: str) -> Identity:
        """The identity of that name; other names make users of their own."""
        known = {ADMIN: self.admin, CONTROLLER: self.controller}
        return known.get(alias) or Identity(alias, alias, ("system:authenticated",))

    def identify(self, connection: Connection, request: Request) -> Identity:
        """The caller. Raises 401 for a bad or expired token."""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":  # of other schemes the server knows nothing
            token = self.tokens.get(text.strip())
            if token is None or not token.valid:
                raise unauthorized()
            return token.identity
        certificate = connection.peer_certificate
        if certificate:
            return self._subject(certificate)
        if self.anonymous_is_admin:
            return self.admin
        return Identity(ANONYMOUS, "system:anonymous", ("system:unauthenticated",))

    def _subject(self, certificate: dict[str, Any]) -> Identity:
        pairs = [pair for entry in certificate["subject"] for pair in entry]
        user = next((value for key, value in pairs if key == "commonName"), "")
        for known in (self.admin, self.controller):
            if user == known.user:
                return known
        return Identity(user, user, tuple(value for key, value in pairs if key == "organizationName"))


# The cluster role system:basic-user, which a server binds to everybody who has shown who he is.
BASIC_USER = {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]}


@dataclass
class Authorizer:
    """Role rules by identity. An identity without an entry may do everything, except anonymous."""

    rules: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def allows(self, identity: Identity, info: RequestInfo) -> bool:
        """Whether the rules let the request pass."""
        if identity.alias == ANONYMOUS:
            return info.path in ALWAYS_OPEN
        rules = self.rules.get(identity.alias)
        if rules is None:
            return True
        if not info.is_resource:
            return info.path in ALWAYS_OPEN or any(info.path == at or info.path.startswith(f"{at}/") for at in DISCOVERY)
        return any(_covers(rule, info) for rule in [BASIC_USER, *rules])

    def check(self, identity: Identity, info: RequestInfo) -> None:
        """Raises 403 unless allowed."""
        if not self.allows(identity, info):
            raise denied(identity, info)


def _covers(rule: dict[str, Any], info: RequestInfo) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource

    def among(key: str, value: str) -> bool:
        listed = rule.get(key) or ()
        return "*" in listed or value in listed

    if not (among("verbs", info.verb) and among("apiGroups", info.group) and among("resources", resource)):
        return False
    if rule.get("namespaces") and info.namespace not in rule["namespaces"]:
        return False
    return not rule.get("resourceNames") or info.name in rule["resourceNames"]


def denied(identity: Identity, info: RequestInfo) -> ApiError:
    """The 403 of the authorizer."""
    if not info.is_resource:
        return forbidden(f'forbidden: User "{identity.user}" cannot {info.verb} path "{info.path}"', {})
    qualified = f"{info.resource}.{info.group}" if info.group else info.resource
    target = f'{qualified} "{info.name}"' if info.name else qualified
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    where = f'in the namespace "{info.namespace}"' if info.namespace else "at the cluster scope"
    return forbidden(
        f'{target} is forbidden: User "{identity.user}" cannot {info.verb} resource "{resource}" '
        f'in API group "{info.group}" {where}',
        details(info.name, info.group, info.resource),
    )
