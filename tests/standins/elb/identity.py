# SPDX-License-Identifier: Apache-2.0
"""Who may call: access keys, STS for web identities, and the two metadata services that hand out keys (instances, containers)."""

from __future__ import annotations

import datetime
import re
import secrets
from dataclasses import dataclass
from typing import Any

from .account import Account
from .errors import ApiError


@dataclass
class Key:
    access: str
    secret: str
    token: str | None = None
    expires: float | None = None


@dataclass
class Plain:
    """An answer of a metadata service."""

    status: int
    body: Any = ""


class Identity:
    def __init__(self, account: Account):
        self.account = account
        self.static = Key("AKIA" + secrets.token_hex(8).upper(), secrets.token_urlsafe(30))
        self.keys: dict[str, Key] = {self.static.access: self.static}
        self.web_token = "web." + secrets.token_urlsafe(200)  # what the file of a service account holds
        self.web_token_expired = False
        self.role = "arn:aws:iam::123456789012:role/sluice"
        self.container_token = secrets.token_urlsafe(40)
        self.instance_role: str | None = "sluice-role"  # None: the instance has none
        self.metadata_fails: int | None = None  # the status of all its answers
        self._instance_tokens: dict[str, float] = {}

    # Keys

    def issue(self, seconds: float | None = None) -> Key:
        life = self.account.settings.session_s if seconds is None else seconds
        key = Key("ASIA" + secrets.token_hex(8).upper(), secrets.token_urlsafe(30), "FQoG" + secrets.token_urlsafe(600) + "/+==",
                  self.account.clock.now() + life)
        self.keys[key.access] = key
        return key

    def expire(self) -> int:
        """All temporary keys end now. How many there were."""
        ended = [k for k in self.keys.values() if k.expires is not None and k.expires > self.account.clock.now()]
        for key in ended:
            key.expires = self.account.clock.now()
        return len(ended)

    def rotate(self) -> Key:
        """The static key is replaced; the old one is unknown from now on."""
        del self.keys[self.static.access]
        self.static = Key("AKIA" + secrets.token_hex(8).upper(), secrets.token_urlsafe(30))
        self.keys[self.static.access] = self.static
        return self.static

    def key(self, access: str, token: str | None) -> Key:
        """Raises ApiError, with the codes of ELB."""
        key = self.keys.get(access)
        if key is None or (key.token or None) != (token or None):
            raise ApiError("InvalidClientTokenId", "The security token included in the request is invalid.", 403)
        if key.expires is not None and key.expires <= self.account.clock.now():
            raise ApiError("ExpiredToken", "The security token included in the request is expired", 403)
        return key

    @staticmethod
    def _time(key: Key) -> str:
        return datetime.datetime.fromtimestamp(key.expires or 0.0, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    # STS

    def assume_role_with_web_identity(self, p: dict[str, Any]) -> dict[str, Any]:
        if p["WebIdentityToken"] != self.web_token:
            raise ApiError("InvalidIdentityToken", "No OpenIDConnect provider found in your account for the token")
        if self.web_token_expired:
            raise ApiError("ExpiredTokenException", "Token expired: current date/time must be before the expiration date/time")
        if p["RoleArn"] != self.role:
            raise ApiError("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", 403)
        key = self.issue(p.get("DurationSeconds"))
        assumed = f"arn:aws:sts::{self.account.id}:assumed-role/{self.role.rpartition('/')[2]}/{p['RoleSessionName']}"
        expires = datetime.datetime.fromtimestamp(key.expires or 0.0, datetime.timezone.utc)
        return {"SubjectFromWebIdentityToken": "system:serviceaccount:sluice:provider-elb", "Audience": "sts.amazonaws.com",
                "AssumedRoleUser": {"Arn": assumed, "AssumedRoleId": f"AROA0STANDIN:{p['RoleSessionName']}"},
                "Credentials": {"AccessKeyId": key.access, "SecretAccessKey": key.secret, "SessionToken": key.token, "Expiration": expires}}

    def get_caller_identity(self, _p: dict[str, Any]) -> dict[str, Any]:
        return {"UserId": "AIDA0STANDIN", "Account": self.account.id, "Arn": f"arn:aws:iam::{self.account.id}:user/sluice"}

    # Metadata

    def metadata(self, method: str, path: str, headers: Any) -> Plain:
        """IMDSv2 below /latest, containers at /v1/credentials."""
        if self.metadata_fails is not None:
            return Plain(self.metadata_fails)
        if path == "/v1/credentials":
            return self._container(method, headers)
        if path == "/latest/api/token":
            return self._instance_token(method, headers)
        if self._instance_tokens.get(headers.get("X-aws-ec2-metadata-token", ""), 0.0) <= self.account.clock.now():
            return Plain(401)
        return self._instance(method, path)

    def _container(self, method: str, headers: Any) -> Plain:
        if method != "GET" or headers.get("Authorization") != self.container_token:
            return Plain(401, {"code": "InvalidToken", "message": "the token is not valid"})
        key = self.issue()
        return Plain(200, {"AccessKeyId": key.access, "SecretAccessKey": key.secret, "Token": key.token, "AccountId": self.account.id,
                           "Expiration": self._time(key)})

    def _instance_token(self, method: str, headers: Any) -> Plain:
        seconds = headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        if method != "PUT":
            return Plain(405)
        if not re.fullmatch(r"[1-9]\d{0,4}", seconds) or int(seconds) > 21600 or "X-Forwarded-For" in headers:
            return Plain(400)
        token = secrets.token_urlsafe(40) + "=="
        self._instance_tokens[token] = self.account.clock.now() + int(seconds)
        return Plain(200, token)

    def _instance(self, method: str, path: str) -> Plain:
        folder, mac = "/latest/meta-data/iam/security-credentials/", "0e:49:61:0f:c3:11"
        interfaces = "/latest/meta-data/network/interfaces/macs/"
        texts = {"/latest/meta-data/placement/region": self.account.region, interfaces: f"{mac}/", f"{interfaces}{mac}/vpc-id": self.account.vpc}
        if method == "GET" and path in texts:
            return Plain(200, texts[path])
        if method != "GET" or self.instance_role is None:
            return Plain(404)
        if path == folder:
            return Plain(200, self.instance_role)
        if path != folder + self.instance_role:
            return Plain(404)
        key = self.issue()
        return Plain(200, {"Code": "Success", "LastUpdated": self.account.clock.date().strftime("%Y-%m-%dT%H:%M:%SZ"), "Type": "AWS-HMAC",
                           "AccessKeyId": key.access, "SecretAccessKey": key.secret, "Token": key.token, "Expiration": self._time(key)})
