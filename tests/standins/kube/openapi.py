# SPDX-License-Identifier: Apache-2.0
"""/openapi/v2 and /openapi/v3, made from the shapes: what kubectl needs to validate, to patch and to
explain."""

from __future__ import annotations

import hashlib
from typing import Any

from . import negotiate, openapi_protobuf, statuses
from .call import Answer
from .encoding import to_json
from .resources import Served
from .schema import ListOf, MapOf, Scalar, Struct
from .state import State
from .wire import Request

# Clients ask with an @, which is no valid media type and therefore not what they get back.
PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "int": {"type": "integer", "format": "int32"},
    "bool": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "micro-time": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "any": {"type": "object"},
    "int-or-string": {"type": "string", "format": "int-or-string"},
}
PATCH_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")


def answer(state: State, request: Request) -> Answer | None:
    """The answer for a path below /openapi; None when it is none. Raises 404 where the release lacks it."""
    parts = [part for part in request.path.split("/") if part]
    if parts[:1] != ["openapi"]:
        return None
    if parts == ["openapi", "v2"]:
        return _v2(state, request)
    if parts[:2] != ["openapi", "v3"] or not state.profile.openapi_v3:
        raise statuses.no_such_path()
    if len(parts) == 2:
        return Answer(
            200,
            to_json({"paths": {_root(*key): _v3_link(state, key) for key in sorted(state.index)}}) + b"\n",
        )
    middle = parts[2:] if parts[2] == "apis" else ["apis", "", *parts[3:]]
    key = (middle[1], middle[2]) if len(middle) == 3 else ("", "")
    if key not in state.index:
        raise statuses.no_such_path()
    return Answer(200, to_json(_v3_document(state, key)) + b"\n", headers=[("Vary", "Accept")])


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _v3_link(state: State, key: tuple[str, str]) -> dict[str, str]:
    digest = hashlib.sha256(to_json(_v3_document(state, key))).hexdigest().upper()
    return {"serverRelativeURL": f"/openapi/v3/{_root(*key)}?hash={digest}"}


def _v3_document(state: State, key: tuple[str, str]) -> dict[str, Any]:
    served = state.index[key].values()
    schemas = {_name(entry): _definition(entry) for entry in served}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": f"v1.{state.profile.minor}.0"},
        "paths": {_path(entry): {"patch": _operation(entry, v3=True, state=state)} for entry in served},
        "components": {"schemas": schemas},
    }


def _v2(state: State, request: Request) -> Answer:
    document = _v2_document(state)
    for media, _ in negotiate.clauses(request.headers.get("accept", "") or "*/*"):
        if media.replace("@", ".") == PROTOBUF_V2:
            return Answer(200, openapi_protobuf.document(document), PROTOBUF_V2, [("Vary", "Accept")])
        if media in ("*/*", "application/*", "application/json"):
            return Answer(200, to_json(document) + b"\n", headers=[("Vary", "Accept")])
    raise statuses.ApiError(
        406, "NotAcceptable", f"only the following media types are accepted: application/json, {PROTOBUF_V2}"
    )


def _v2_document(state: State) -> dict[str, Any]:
    served = state.profile.served()
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": f"v1.{state.profile.minor}.0"},
        "paths": {_path(entry): {"patch": _operation(entry, v3=False, state=state)} for entry in served},
        "definitions": {_name(entry): _definition(entry) for entry in served},
    }


def _name(served: Served) -> str:
    group = served.group.partition(".")[0] or "core"
    return f"io.k8s.api.{group}.{served.version}.{served.resource.kind}"


def _path(served: Served) -> str:
    middle = "namespaces/{namespace}/" if served.resource.namespaced else ""
    return f"/{_root(served.group, served.version)}/{middle}{served.resource.plural}/{{name}}"


def _kind(served: Served) -> dict[str, str]:
    return {"group": served.group, "kind": served.resource.kind, "version": served.version}


def _operation(served: Served, v3: bool, state: State) -> dict[str, Any]:
    names = [name for name in PATCH_PARAMETERS if name != "fieldValidation" or state.profile.field_validation]
    kind: dict[str, Any] = {"schema": {"type": "string"}} if v3 else {"type": "string"}
    parameters = [{"name": name, "in": "query", **kind} for name in names]
    return {
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": _kind(served),
    }


def _definition(served: Served) -> dict[str, Any]:
    return _schema(served.shape) | {"x-kubernetes-group-version-kind": [_kind(served)]}


def _schema(shape: Any) -> dict[str, Any]:
    if isinstance(shape, Scalar):
        return dict(SCALARS[shape.kind])
    if isinstance(shape, MapOf):
        return {"type": "object", "additionalProperties": _schema(shape.value)}
    if isinstance(shape, ListOf):
        return {"type": "array", "items": _schema(shape.item)} | _list_extensions(shape)
    assert isinstance(shape, Struct)
    out: dict[str, Any] = {"type": "object", "description": shape.name}
    if shape.fields:
        out["properties"] = {key: _schema(member.type) for key, member in shape.fields.items()}
    if shape.open:
        out["x-kubernetes-preserve-unknown-fields"] = True
    return out


def _list_extensions(shape: ListOf) -> dict[str, Any]:
    out: dict[str, Any] = {"x-kubernetes-list-type": shape.kind}
    if shape.keys:
        out["x-kubernetes-list-map-keys"] = list(shape.keys)
    if shape.merge_key:
        out["x-kubernetes-patch-merge-key"] = shape.merge_key
    if shape.strategy:
        out["x-kubernetes-patch-strategy"] = shape.strategy
    return out
