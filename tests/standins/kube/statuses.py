# SPDX-License-Identifier: Apache-2.0
"""Errors as the API reports them: a Status object with code, reason, message and details.

Texts and codes follow apimachinery's pkg/api/errors and apiserver's response writers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .resources import Served


@dataclass
class ApiError(Exception):
    """A failed request. A plain text body goes out when `text` is set, a Status object otherwise."""

    code: int
    reason: str
    message: str
    details: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = None
    content_type: str = ""

    def status(self) -> dict[str, Any]:
        """The Status object."""
        return failure(self.code, self.reason, self.message, self.details, self.metadata)


def failure(
    code: int, reason: str, message: str, details: dict | None = None, metadata: dict | None = None
) -> dict:
    """A Status object that reports a failure."""
    out: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata or {},
        "status": "Failure",
        "message": message,
    }
    if reason:
        out["reason"] = reason
    if details is not None:
        out["details"] = details
    out["code"] = code
    return out


def success(details: dict[str, Any]) -> dict[str, Any]:
    """The Status object that answers a deletion."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def details(name: str, group: str, kind: str, **more: Any) -> dict[str, Any]:
    """The details of a Status in the order of its Go struct, empty members left out."""
    out = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in out.items() if value}


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    """401."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(message: str, info: dict[str, Any]) -> ApiError:
    """403."""
    return ApiError(403, "Forbidden", message, info, headers={"X-Content-Type-Options": "nosniff"})


def not_found(served: Served, name: str) -> ApiError:
    """404 for an object."""
    return ApiError(
        404,
        "NotFound",
        f'{served.qualified} "{name}" not found',
        details(name, served.group, served.resource.plural),
    )


def no_such_resource() -> ApiError:
    """404 for a version or resource that a served group does not have."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def no_such_path() -> ApiError:
    """404 for a path outside all groups: plain text."""
    return plain(404, "404 page not found")


def plain(code: int, text: str, **headers: str) -> ApiError:
    """An error that Go's http package, or a filter, writes as plain text."""
    return ApiError(code, "", text, text=text + "\n", headers={"X-Content-Type-Options": "nosniff"} | headers)


def method_not_allowed() -> ApiError:
    """405: the path has no such method."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def conflict(served: Served, name: str, why: str) -> ApiError:
    """409 for a stale write."""
    return ApiError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {served.qualified} "{name}": {why}',
        details(name, served.group, served.resource.plural),
    )


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def already_exists(served: Served, name: str) -> ApiError:
    """409 for a creation."""
    return ApiError(
        409,
        "AlreadyExists",
        f'{served.qualified} "{name}" already exists',
        details(name, served.group, served.resource.plural),
    )


def expired(message: str, metadata: dict[str, Any] | None = None) -> ApiError:
    """410."""
    return ApiError(410, "Expired", message, metadata=metadata or {})


def too_large_revision(asked: int, current: int) -> ApiError:
    """504: the server has not seen that revision yet."""
    info = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        info,
        headers={"Retry-After": "1"},
    )


def internal(message: str) -> ApiError:
    """500."""
    return ApiError(
        500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]}
    )


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class FieldError:
    """One complaint about one field."""

    reason: str
    path: str
    body: str

    @property
    def cause(self) -> dict[str, str]:
        """The entry of details.causes."""
        return {"reason": self.reason, "message": self.body, "field": self.path}


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """The value is wrong."""
    return FieldError("FieldValueInvalid", path, f"Invalid value: {_quoted(value)}: {detail}")


def forbids(path: str, detail: str) -> FieldError:
    """The field must not be set."""
    return FieldError("FieldValueForbidden", path, f"Forbidden: {detail}")


def unsupported(path: str, value: Any, allowed: list[str]) -> FieldError:
    """The value is not one of the allowed ones."""
    choice = ", ".join(f'"{word}"' for word in sorted(allowed, key=lambda word: (not word, word)))
    return FieldError(
        "FieldValueNotSupported", path, f"Unsupported value: {_quoted(value)}: supported values: {choice}"
    )


def unprocessable(group: str, kind: str, name: str, errors: list[FieldError]) -> ApiError:
    """422 with all complaints."""
    texts = list(dict.fromkeys(f"{error.path}: {error.body}" for error in errors))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    label = f"{kind}.{group}" if group else kind
    return ApiError(
        422,
        "Invalid",
        f'{label} "{name}" is invalid: {joined}',
        details(name, group, kind, causes=[error.cause for error in errors]),
    )
