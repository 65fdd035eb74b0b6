# SPDX-License-Identifier: Apache-2.0
"""What the server serves: /version, /api, /apis and below, and as much of /openapi as kubectl reads."""

from __future__ import annotations

from typing import Any

from . import statuses
from .call import Answer
from .encoding import to_json
from .resources import STATUS_VERBS, Served
from .state import State
from .wire import Request

# Earlier groups win when a short name could mean several; the order is that of the API server.
GROUP_ORDER = (
    "", "extensions", "apps", "authorization.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "coordination.k8s.io",
    "discovery.k8s.io",
)
# A document of nothing but its version, in protobuf, in which kubectl finds no types and so leaves it to the server to know them.
OPENAPI_V2 = b"\x0a\x032.0"
OPENAPI_V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def answer(state: State, request: Request) -> Answer | None:
    """The answer for a discovery path; None when the path is none. Raises 404 for what is not served."""
    parts = [part for part in request.path.split("/") if part]
    if parts == ["version"]:
        return _json(state.profile.version())
    if parts == ["api"]:
        address = {"clientCIDR": "0.0.0.0/0", "serverAddress": request.headers.get("host", "")}
        return _json({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]})
    if parts == ["apis"]:
        groups = [_group(state, name) for name in GROUP_ORDER if name and name in state.groups]
        return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    if parts[:1] == ["openapi"]:
        return _openapi(state, parts[1:])
    if len(parts) == 2 and parts[0] == "api":
        return _version(state, "", parts[1])
    if len(parts) == 3 and parts[0] == "apis":
        if parts[1] not in state.groups:
            raise statuses.no_such_path()
        return _version(state, parts[1], parts[2])
    return None


def _json(document: dict[str, Any]) -> Answer:
    return Answer(200, to_json(document) + b"\n")


def _group(state: State, group: str) -> dict[str, Any]:
    """Preferred first: stable before beta."""
    names = sorted((version for name, version in state.index if name == group), key=lambda text: ("beta" in text, text))
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in names]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _version(state: State, group: str, version: str) -> Answer:
    served = state.index.get((group, version))
    if served is None:
        raise statuses.no_such_resource()
    resources = [entry for plural in sorted(served) for entry in _entries(state, served[plural])]
    name = f"{group}/{version}" if group else version
    return _json({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources})


def _entries(state: State, served: Served) -> list[dict[str, Any]]:
    resource = served.resource
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short:
        entry["shortNames"] = list(resource.short)
    status = entry | {"name": f"{resource.plural}/status", "singularName": "", "verbs": list(STATUS_VERBS)}
    status = {key: status[key] for key in ("name", "singularName", "namespaced", "kind", "verbs")}
    return [entry, status] if resource.status else [entry]


def _openapi(state: State, parts: list[str]) -> Answer:
    """Only that PATCH takes fieldValidation: then kubectl has the server look for fields that no type has."""
    if parts == ["v2"]:
        return Answer(200, OPENAPI_V2, OPENAPI_V2_TYPE)
    roots = {f"apis/{group}/{version}" if group else f"api/{version}": (group, version) for group, version in state.index}
    root = "/".join(parts[1:])
    if parts[:1] != ["v3"] or not state.profile.openapi_v3 or (root and root not in roots):
        raise statuses.no_such_path()
    if not root:
        return _json({"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}"} for name in sorted(roots)}})
    group, version = roots[root]
    query = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
    paths = {}
    for plural, served in state.index[group, version].items():
        kind = {"group": group, "kind": served.resource.kind, "version": version}
        patch = {"parameters": [query], "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind}
        paths[f"/{root}/{plural}/{{name}}"] = {"patch": patch}
    return _json({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": f"v1.{state.profile.minor}.0"}, "paths": paths})
