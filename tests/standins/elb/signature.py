# SPDX-License-Identifier: Apache-2.0
"""Signatures of version 4 are made again from the request as it came, and compared."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import re
import urllib.parse
from dataclasses import dataclass
from typing import Protocol

from .errors import ApiError

SKEW_S_MAX = 300
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/, ]+)/(\d{8})/([^/, ]*)/([^/, ]*)/aws4_request, ?SignedHeaders=([^, ]+), ?Signature=([0-9a-f]{64})")


class Headers(Protocol):
    def getall(self, name: str, default: list[str]) -> list[str]: ...


@dataclass
class Scope:
    """What the header Authorization says."""

    access_key: str
    date: str
    region: str
    service: str
    signed: list[str]
    signature: str


def scope_of(headers: Headers) -> Scope | None:
    """None: the request is not signed. Raises ApiError."""
    values = headers.getall("Authorization", [])
    if not values:
        return None
    match = _AUTHORIZATION.fullmatch(values[0])
    if len(values) != 1 or not match:
        raise ApiError("IncompleteSignature", "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters")
    key, date, region, service, signed, signature = match.groups()
    return Scope(key, date, region, service, signed.split(";"), signature)


def verify(scope: Scope, secret: str, method: str, target: str, headers: Headers, body: bytes, now: float) -> None:
    """Raises ApiError "SignatureDoesNotMatch" or "RequestExpired"."""
    stamps = headers.getall("X-Amz-Date", [])
    if len(stamps) != 1 or not re.fullmatch(r"\d{8}T\d{6}Z", stamps[0]) or not stamps[0].startswith(scope.date):
        raise ApiError("SignatureDoesNotMatch", "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP")
    sent = datetime.datetime.strptime(stamps[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc).timestamp()
    if abs(sent - now) > SKEW_S_MAX:
        present = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        raise ApiError("RequestExpired", f"Signature expired: {stamps[0]} is not within 5 min of {present}")
    _check_signed(scope, headers)
    canonical = _canonical(scope, method, target, headers, body)
    area = f"{scope.date}/{scope.region}/{scope.service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamps[0]}\n{area}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = b"AWS4" + secret.encode()
    for part in area.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    if not hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), scope.signature):
        raise ApiError("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")


def _check_signed(scope: Scope, headers: Headers) -> None:
    if scope.signed != sorted(set(scope.signed)) or not {"host", "x-amz-date"} <= set(scope.signed):
        raise ApiError("SignatureDoesNotMatch", "SignedHeaders must be sorted and hold host and x-amz-date")
    for name in headers:  # type: ignore[attr-defined]
        if name.lower().startswith("x-amz-") and name.lower() not in scope.signed:
            raise ApiError("SignatureDoesNotMatch", f"There were headers present in the request which were not signed: {name}")


def _canonical(scope: Scope, method: str, target: str, headers: Headers, body: bytes) -> str:
    path, _, query = target.partition("?")
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    quoted = sorted((urllib.parse.quote(k, safe="-_.~"), urllib.parse.quote(v, safe="-_.~")) for k, v in pairs)
    lines = [method, urllib.parse.quote(path, safe="/-_.~"), "&".join(f"{k}={v}" for k, v in quoted)]
    for name in scope.signed:
        values = headers.getall(name, [])
        if not values:
            raise ApiError("SignatureDoesNotMatch", f"the header {name} is signed, but not sent")
        lines.append(name + ":" + ",".join(" ".join(value.split()) for value in values))
    return "\n".join([*lines, "", ";".join(scope.signed), hashlib.sha256(body).hexdigest()])
