# SPDX-License-Identifier: Apache-2.0
"""One request on its way through the server, and the answer to it."""

from __future__ import annotations

from dataclasses import dataclass

from .auth import Identity
from .faults import Plan
from .journal import Entry
from .request_info import RequestInfo
from .resources import Served
from .state import State
from .wire import Connection, Request

READ, CHANGED, NOOP, REFUSED, DROPPED = "read", "changed", "noop", "refused", "dropped"


@dataclass
class Call:
    """A request. What is behind `headers` is known when it has been found to be about objects of a resource."""

    state: State
    connection: Connection
    request: Request
    info: RequestInfo
    identity: Identity
    plan: Plan
    entry: Entry
    headers: list[tuple[str, str]]
    served: Served = None  # type: ignore[assignment]
    as_table: bool = False

    @property
    def namespace(self) -> str:
        """The namespace of the objects. A Namespace itself is in none, although its path names it."""
        return self.info.namespace if self.served.resource.namespaced else ""

    def query(self, name: str) -> str:
        return self.request.query.get(name, "")


@dataclass
class Answer:
    """A response. effect: what the request did to the stored objects."""

    status: int
    body: bytes
    content_type: str = "application/json"
    effect: str = READ
