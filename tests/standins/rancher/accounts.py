# SPDX-License-Identifier: Apache-2.0
"""API keys and projects: who may ask, and about what."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from dataclasses import dataclass
from typing import Mapping

from .errors import forbidden, unauthorized
from .operations import Caller
from .store import Store

_AGENT_ACCOUNT = "1a1000"


@dataclass
class Key:
    access: str
    secret: str
    # Or projectadmin; or agent, what the label of role environmentAdmin makes of a container outside a system stack: it may do next to nothing.
    role: str = "environment"
    project: str | None = None   # None: an account key, which needs the project in the path
    agent: bool = True           # belongs to a container's agent account: dies with an inactive project


class Accounts:
    def __init__(self, store: Store, default_project: str):
        self.store = store
        self.default_project = default_project
        self.keys: dict[str, Key] = {}

    def add(self, key: Key) -> Key:
        self.keys[key.access] = key
        return key

    def new(self, role: str, project: str | None, agent: bool = True) -> Key:
        return self.add(Key(secrets.token_hex(10).upper(), secrets.token_urlsafe(30), role, project, agent))

    def rotate(self, access: str) -> Key:
        """Replace a key by a new one of the same rights; the old is refused from now on."""
        old = self.keys.pop(access)
        return self.new(old.role, old.project, old.agent)

    def authenticate(self, headers: Mapping[str, str]) -> Key:
        """The key of a request. Raises 401."""
        upgrade = headers.get("Connection", "").lower() == "upgrade"
        challenge = headers.get("X-API-No-Challenge", "").lower() != "true" and not upgrade
        key = self._key(headers.get("Authorization", ""))
        if key is None or (key.agent and not self._project_works(key)):
            raise unauthorized(challenge)
        return key

    def caller(self, key: Key, wanted_project: str | None) -> Caller:
        """The project and role a request acts with; raises 403 for a foreign or unknown project."""
        if wanted_project is not None and self.store.get("project", wanted_project) is None:
            raise forbidden()
        if key.role == "agent":
            if wanted_project is not None:
                raise forbidden()
            return Caller("agent", _AGENT_ACCOUNT)
        own = key.project or self.default_project
        if wanted_project not in (None, own):
            raise forbidden()
        return Caller(key.role, own)

    def _key(self, header: str) -> Key | None:
        scheme, _, encoded = header.partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            access, _, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        key = self.keys.get(access)
        if key is None or not hmac.compare_digest(key.secret.encode(), secret.encode()):
            return None
        return key

    def _project_works(self, key: Key) -> bool:
        project = self.store.get("project", key.project or self.default_project)
        return project is not None and project.state in ("active", "upgrading")
