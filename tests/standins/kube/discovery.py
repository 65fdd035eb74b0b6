# SPDX-License-Identifier: Apache-2.0
"""What the server serves: /api, /apis and below, in the classic and in the aggregated form."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from . import negotiate, statuses
from .call import Answer
from .encoding import to_json
from .resources import STATUS_VERBS, Served
from .state import State
from .wire import Request

# Earlier groups win when a short name could mean several; the order is that of the API server.
GROUP_ORDER = (
    "",
    "extensions",
    "apps",
    "events.k8s.io",
    "authorization.k8s.io",
    "networking.k8s.io",
    "rbac.authorization.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
)
SINGULAR_SINCE = 27


def answer(state: State, request: Request) -> Answer | None:
    """The answer for a discovery path; None when the path is none. Raises 404 for what is not served."""
    parts = [part for part in request.path.split("/") if part]
    if parts == ["version"]:
        return _json(request, state.profile.version())
    if parts in (["api"], ["apis"]):
        return _aggregated(state, request, core=parts == ["api"]) or _json(
            request, _roots(state, parts[0], request)
        )
    if len(parts) == 2 and parts[0] == "api":
        return _version(state, request, "", parts[1])
    if len(parts) == 2 and parts[0] == "apis":
        if parts[1] not in state.groups or not parts[1]:
            raise statuses.no_such_path()
        return _json(request, {"kind": "APIGroup", "apiVersion": "v1"} | _group(state, parts[1]))
    if len(parts) == 3 and parts[0] == "apis":
        if parts[1] not in state.groups:
            raise statuses.no_such_path()
        return _version(state, request, parts[1], parts[2])
    return None


def _json(request: Request, document: dict[str, Any]) -> Answer:
    form = negotiate.form_of(request)
    return Answer(200, form.encode(document), form.content_type)


def _groups(state: State) -> list[str]:
    return [group for group in GROUP_ORDER if group in state.groups]


def _versions(state: State, group: str) -> list[str]:
    """Preferred first: stable before beta."""
    return sorted(
        (version for name, version in state.index if name == group), key=lambda text: ("beta" in text, text)
    )


def _group(state: State, group: str) -> dict[str, Any]:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version} for version in _versions(state, group)
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _roots(state: State, root: str, request: Request) -> dict[str, Any]:
    if root == "api":
        address = request.headers.get("host", "")
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(state, name) for name in _groups(state) if name],
    }


def _version(state: State, request: Request, group: str, version: str) -> Answer:
    served = state.index.get((group, version))
    if served is None:
        raise statuses.no_such_resource()
    resources: list[dict[str, Any]] = []
    for plural in sorted(served):
        resources += _entries(state, served[plural])
    name = f"{group}/{version}" if group else version
    return _json(
        request, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}
    )


def _singular(state: State, served: Served) -> str:
    return served.resource.singular if state.profile.minor >= SINGULAR_SINCE else ""


def _entries(state: State, served: Served) -> list[dict[str, Any]]:
    resource = served.resource
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": _singular(state, served),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short:
        entry["shortNames"] = list(resource.short)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "get" in resource.verbs:
        entry["storageVersionHash"] = _storage_hash(resource.hub)
    status = {
        "name": f"{resource.plural}/status",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(STATUS_VERBS),
    }
    return [entry, status] if resource.status else [entry]


def _storage_hash(hub: Served) -> str:
    text = f"{hub.group}/{hub.version}/{hub.resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _aggregated(state: State, request: Request, core: bool) -> Answer | None:
    """The aggregated document, if the release has it and the client prefers it."""
    for media, parameters in negotiate.clauses(request.headers.get("accept", "")):
        if media != "application/json":
            continue
        if parameters.get("as") != "APIGroupDiscoveryList" or parameters.get("g") != "apidiscovery.k8s.io":
            return None
        version = parameters.get("v", "")
        if version in state.profile.aggregated_discovery:
            return _aggregated_answer(state, version, core)
    return None


def _aggregated_answer(state: State, version: str, core: bool) -> Answer:
    groups = [""] if core else [name for name in _groups(state) if name]
    items = []
    for group in groups:
        versions = [
            {"version": name, "resources": _aggregated_resources(state, group, name), "freshness": "Current"}
            for name in _versions(state, group)
        ]
        meta = {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None}
        items.append({"metadata": meta, "versions": versions})
    body = (
        to_json(
            {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": f"apidiscovery.k8s.io/{version}",
                "metadata": {},
                "items": items,
            }
        )
        + b"\n"
    )
    tag = hashlib.sha256(body).hexdigest().upper()
    return Answer(
        200,
        body,
        f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList",
        [("ETag", f'"{tag}"'), ("Vary", "Accept")],
    )


def _aggregated_resources(state: State, group: str, version: str) -> list[dict[str, Any]]:
    out = []
    for served in (entry for _, entry in sorted(state.index[group, version].items())):
        resource = served.resource
        kind = {"group": group, "version": version, "kind": resource.kind}
        entry: dict[str, Any] = {
            "resource": resource.plural,
            "responseKind": kind,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "singularResource": resource.singular,
            "verbs": list(resource.verbs),
        }
        if resource.short:
            entry["shortNames"] = list(resource.short)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        if resource.status:
            entry["subresources"] = [
                {"subresource": "status", "responseKind": kind, "verbs": list(STATUS_VERBS)}
            ]
        out.append(entry)
    return out
