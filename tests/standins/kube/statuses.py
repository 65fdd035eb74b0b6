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
    content_type: str = "text/plain; charset=utf-8"

    def status(self) -> dict[str, Any]:
        out = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure", "message": self.message}
        out |= {"reason": self.reason} if self.reason else {}
        out |= {"details": self.details} if self.details is not None else {}
        return out | {"code": self.code}


def success(details: dict[str, Any]) -> dict[str, Any]:
    """The Status object that answers a deletion."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def details(name: str, group: str, kind: str, **more: Any) -> dict[str, Any]:
    """The details of a Status in the order of its Go struct, empty members left out."""
    out = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in out.items() if value}


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(message: str, info: dict[str, Any]) -> ApiError:
    return ApiError(403, "Forbidden", message, info, headers={"X-Content-Type-Options": "nosniff"})


def about(served: Served, name: str) -> dict[str, Any]:
    """The details of an error about one object."""
    return details(name, served.group, served.resource.plural)


def not_found(served: Served, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{served.qualified} "{name}" not found', about(served, name))


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
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def conflict(served: Served, name: str, why: str) -> ApiError:
    text = f'Operation cannot be fulfilled on {served.qualified} "{name}": {why}'
    return ApiError(409, "Conflict", text, about(served, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def already_exists(served: Served, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{served.qualified} "{name}" already exists', about(served, name))


def expired(message: str, metadata: dict[str, Any] | None = None) -> ApiError:
    return ApiError(410, "Expired", message, metadata=metadata or {})


def too_large_revision(asked: int, current: int) -> ApiError:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiError(504, "Timeout", text, {"causes": causes, "retryAfterSeconds": 1}, headers={"Retry-After": "1"})


def internal(message: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


@dataclass(frozen=True)
class FieldError:
    reason: str
    path: str
    body: str

    @property
    def cause(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.body, "field": self.path}


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", path, f"Invalid value: {json.dumps(value, ensure_ascii=False)}: {detail}")


def forbids(path: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", path, f"Forbidden: {detail}")


def unprocessable(group: str, kind: str, name: str, errors: list[FieldError]) -> ApiError:
    texts = list(dict.fromkeys(f"{error.path}: {error.body}" for error in errors))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    label = f"{kind}.{group}" if group else kind
    causes = [error.cause for error in errors]
    return ApiError(422, "Invalid", f'{label} "{name}" is invalid: {joined}', details(name, group, kind, causes=causes))
