# SPDX-License-Identifier: Apache-2.0
"""One request on its way through the server, and the answer to it."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    """A request for objects of one resource."""

    state: State
    connection: Connection
    request: Request
    info: RequestInfo
    identity: Identity
    served: Served
    as_table: bool
    plan: Plan
    entry: Entry

    @property
    def namespace(self) -> str:
        """The namespace of the objects. A Namespace itself is in none, although its path names it."""
        return self.info.namespace if self.served.resource.namespaced else ""

    def query(self, name: str) -> str:
        """A query parameter, empty when absent."""
        return self.request.query.get(name, "")


@dataclass
class Answer:
    """A response. effect: what the request did to the stored objects."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: list[tuple[str, str]] = field(default_factory=list)
    effect: str = READ
