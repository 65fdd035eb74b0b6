# SPDX-License-Identifier: Apache-2.0
"""What a request asks for, read off its method and path, as the API server's RequestInfo does."""

from __future__ import annotations

from dataclasses import dataclass

from .wire import Request

NAMESPACE_SUBRESOURCES = ("status", "finalize")
VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class RequestInfo:
    """Attributes of a request. Outside resources only verb and path are set."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    selected: str = ""  # the only name that a list or watch is about, for rights

    @property
    def qualified(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def is_resource(self) -> bool:
        """Whether it is about objects rather than about discovery, health or versions."""
        return bool(self.resource)


def is_true(text: str) -> bool:
    """A boolean query parameter as the server reads it: anything but these is true."""
    return text.lower() not in ("0", "false", "")


def of_request(request: Request) -> RequestInfo:
    verb = VERBS.get(request.method, request.method.lower())
    parts = [part for part in request.path.split("/") if part]
    outside = RequestInfo(verb, request.path)
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return outside
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
    if len(rest) > 3:
        return outside
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if not name:
        verb = _collection_verb(verb, request)
    return RequestInfo(verb, request.path, group, version, rest[0], subresource, namespace, name,
                       _selected_name(request) if verb in ("list", "watch") else "")


def _selected_name(request: Request) -> str:
    """A list or watch that selects one name asks for that object as far as rights go."""
    for term in request.query.get("fieldSelector", "").split(","):
        key, _, value = term.partition("=")
        if key == "metadata.name":
            return value.removeprefix("=")
    return ""


def _collection_verb(verb: str, request: Request) -> str:
    if verb == "get":
        return "watch" if is_true(request.query.get("watch", "")) else "list"
    return "deletecollection" if verb == "delete" else verb
