# SPDX-License-Identifier: Apache-2.0
"""How a call is refused."""

from __future__ import annotations


class ApiError(Exception):
    """An answer that is an error, by its code on the wire."""

    def __init__(self, code: str, message: str, status: int = 400):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status


def invalid(message: str) -> ApiError:
    return ApiError("ValidationError", message)
