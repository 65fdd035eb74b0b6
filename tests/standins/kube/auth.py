# SPDX-License-Identifier: Apache-2.0
"""Who is asking, and whether that is allowed.

Two identities matter to tests: `admin` (the fixtures, kubectl) may do everything; `controller` (the
program under test) may do everything until rules are set for it.
"""

from __future__ import annotations

import math
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from .request_info import RequestInfo
from .statuses import ApiError, details, forbidden, unauthorized
from .wire import Connection, Request

ADMIN, CONTROLLER, ANONYMOUS = "admin", "controller", "anonymous"
ALWAYS_OPEN = ("/version", "/version/")
DISCOVERY = ("/api", "/apis", "/openapi")  # these and what is below: open to all who have credentials


@dataclass(frozen=True)
class Identity:
    """A caller. `alias` is how tests, faults and the log name it."""

    alias: str
    user: str


@dataclass
class Authenticator:
    """Tokens, with the instant of the monotonic clock at which they expire, and certificate subjects."""

    admin: Identity
    controller: Identity
    anonymous_is_admin: bool = False
    tokens: dict[str, tuple[Identity, float]] = field(default_factory=dict)

    def issue(self, identity: Identity, text: str = "") -> str:
        text = text or secrets.token_urlsafe(48)
        self.tokens[text] = identity, math.inf
        return text

    def expire(self, identity: Identity, in_s: float = 0) -> None:
        deadline = time.monotonic() + in_s
        for text, (whose, expires) in self.tokens.items():
            if whose == identity:
                self.tokens[text] = whose, min(expires, deadline)

    def identify(self, connection: Connection, request: Request) -> Identity:
        """The caller. Raises 401 for a bad or expired token."""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":  # of other schemes the server knows nothing
            identity, expires = self.tokens.get(text.strip(), (None, 0))
            if identity is None or time.monotonic() >= expires:
                raise unauthorized()
            return identity
        if self.anonymous_is_admin or connection.peer_certificate:  # it has signed one for nobody else
            return self.admin
        return Identity(ANONYMOUS, "system:anonymous")


# The cluster role system:basic-user, which a server binds to everybody who has shown who he is.
BASIC_USER = {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]}


@dataclass
class Authorizer:
    """Role rules of the controller, which may do everything as long as there are none. Anonymous may do next to nothing."""

    rules: list[dict[str, Any]] | None = None

    def allows(self, identity: Identity, info: RequestInfo) -> bool:
        if identity.alias == ANONYMOUS:
            return info.path in ALWAYS_OPEN
        if self.rules is None or identity.alias != CONTROLLER:
            return True
        if not info.is_resource:
            return info.path in ALWAYS_OPEN or any(info.path == at or info.path.startswith(f"{at}/") for at in DISCOVERY)
        return any(_covers(rule, info) for rule in [BASIC_USER, *self.rules])

    def check(self, identity: Identity, info: RequestInfo) -> None:
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
    return not rule.get("resourceNames") or (info.name or info.selected) in rule["resourceNames"]


def denied(identity: Identity, info: RequestInfo) -> ApiError:
    if not info.is_resource:
        return forbidden(f'forbidden: User "{identity.user}" cannot {info.verb} path "{info.path}"', {})
    target = f'{info.qualified} "{info.name}"' if info.name else info.qualified
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    where = f'in the namespace "{info.namespace}"' if info.namespace else "at the cluster scope"
    return forbidden(
        f'{target} is forbidden: User "{identity.user}" cannot {info.verb} resource "{resource}" '
        f'in API group "{info.group}" {where}',
        details(info.name, info.group, info.resource),
    )
