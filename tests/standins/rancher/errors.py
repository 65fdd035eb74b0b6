# SPDX-License-Identifier: Apache-2.0
"""Answers that are errors: one exception type, and a constructor for each row of the error table of the
API."""

from __future__ import annotations

import uuid
from typing import Any


class ApiError(Exception):
    """An answer with an error body. Raised anywhere below the HTTP layer, rendered by it."""

    def __init__(self, status: int, code: str, message: str | None = None, field: str | None = None,
                 headers: dict[str, str] | None = None):
        super().__init__(f"{status} {code} {field or ''} {message or ''}".strip())
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "id": str(uuid.uuid4()), "type": "error", "baseType": "error", "links": {}, "actions": {},
            "status": self.status, "code": self.code, "message": self.message, "detail": None,
        }
        if self.field is not None:
            body["fieldName"] = self.field
        return body


def invalid(code: str, field: str | None, message: str | None = None) -> ApiError:
    """A validation error: 422 whose code names the rule and whose fieldName names the field."""
    return ApiError(422, code, message, field)


def bad_body() -> ApiError:
    return ApiError(400, "InvalidBodyContent", "InvalidBodyContent")


def not_found() -> ApiError:
    return ApiError(404, "Not Found", "Not Found")


def not_allowed() -> ApiError:
    return ApiError(405, "Method not allowed", "Method not allowed")


def conflict() -> ApiError:
    return ApiError(409, "Conflict", "Conflict")


def server_error() -> ApiError:
    return ApiError(500, "Internal Server Error", "Internal Server Error")


def forbidden() -> ApiError:
    return ApiError(403, "Forbidden", "Forbidden")


def unauthorized(challenge: bool) -> ApiError:
    realm = 'Basic realm="Enter API access key and secret key as username and password"'
    return ApiError(401, "Unauthorized", "Unauthorized",
                    headers={"WWW-Authenticate": realm} if challenge else {})
