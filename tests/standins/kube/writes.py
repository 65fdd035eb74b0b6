# SPDX-License-Identifier: Apache-2.0
"""create, update, patch: from a request body to a stored object.

All of them end in `_store`: defaults, validation, generation, managedFields, and the discovery that
nothing has changed, which keeps the revision and tells no watcher.
"""

from __future__ import annotations

import copy
import json
import uuid
from typing import Any

from . import admission, convert, managed, negotiate, patch, statuses
from .call import CHANGED, NOOP, Answer, Call
from .defaults import apply_defaults, canonical
from .deletes import remove
from .encoding import MalformedDocument, from_json, to_json
from .managed import Writer
from .request_info import RequestInfo
from .resources import ACCESS_REVIEWS, NAMESPACES, SERVICES
from .statuses import ApiError, FieldError
from .store import Record
from .validate import validate

SYSTEM_FIELDS = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
PLAIN_TYPES = ("", "application/json")
PATCHES = {
    "application/json-patch+json": lambda plural, current, document: patch.added(current, document),
    "application/merge-patch+json": lambda plural, current, document: patch.merge(current, document),
    "application/strategic-merge-patch+json": patch.strategic,
}


# Request bodies

def _media(call: Call) -> str:
    return call.request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _document(call: Call, types: Any) -> Any:
    """The body as a document. Raises 415 and 400."""
    if _media(call) not in types:
        raise ApiError(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
    try:
        return from_json(call.request.body)
    except MalformedDocument as error:
        raise statuses.bad_request(f"couldn't get version/kind; json parse error: {error}") from None


def _to_stored(call: Call, document: Any) -> dict[str, Any]:
    """An object of the request's version in stored form."""
    served, kind = call.served, call.served.resource.kind
    if not isinstance(document, dict) or not isinstance(document.get("metadata", {}), dict):
        raise statuses.bad_request("couldn't get version/kind; json parse error: not an object")
    if document.get("kind") not in (None, "", kind):
        raise statuses.bad_request(f"the object provided is unrecognized (must be of type {kind})")
    return convert.to_hub(served, canonical(served.resource, {"metadata": {}} | document))


# Verbs

async def create(call: Call) -> Answer:
    obj = _to_stored(call, _document(call, PLAIN_TYPES))
    if call.served.resource is ACCESS_REVIEWS:
        return _review(call, obj)
    if obj["metadata"].get("resourceVersion"):
        raise ApiError(500, "InternalError", "resourceVersion should not be set on objects to be created")
    _same_namespace(call, obj["metadata"])
    return _answer(call, *_create(call, obj), 201)


def _create(call: Call, obj: dict[str, Any]) -> tuple[Record, str]:
    meta = obj["metadata"]
    admission.namespace_exists(call)
    name = meta.get("name", "")
    if name and call.state.store.get(call.served.resource, call.namespace, name):
        raise statuses.already_exists(call.served, name)
    for key in (*SYSTEM_FIELDS, "resourceVersion"):
        meta.pop(key, None)
    if call.served.resource.status:
        obj.pop("status", None)
    obj["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": admission.now()}
    if call.served.resource.generation:
        obj["metadata"]["generation"] = 1
    return _store(call, obj, None)


async def update(call: Call) -> Answer:
    """PUT of a whole object, or of its status."""
    obj = _to_stored(call, _document(call, PLAIN_TYPES))
    meta = obj["metadata"]
    _same_name(call, meta)
    _same_namespace(call, meta)
    old = _current(call)
    if old is None:
        if not call.served.resource.create_on_update or call.info.subresource:
            raise statuses.not_found(call.served, call.info.name)
        return _answer(call, *_create(call, obj), 201)
    if not meta.get("resourceVersion") and not call.served.resource.unconditional_update:
        complaint = statuses.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise _invalid(call, call.info.name, [complaint])
    _same_revision(call, meta, old)
    return _answer(call, *_replace(call, obj, old), 200)


async def patch_(call: Call) -> Answer:
    document = _document(call, PATCHES)
    old = _current(call)
    if old is None:
        raise statuses.not_found(call.served, call.info.name)
    patched = PATCHES[_media(call)](call.served.resource.plural, json.loads(old.full(call.served)), document)
    obj = _to_stored(call, patched)
    meta = obj["metadata"]
    _same_name(call, meta)
    _same_namespace(call, meta)
    _same_revision(call, meta, old)
    if meta.get("uid", old.uid) != old.uid:
        complaint = statuses.invalid("metadata.uid", meta["uid"], "field is immutable")
        raise _invalid(call, call.info.name, [complaint])
    return _answer(call, *_replace(call, obj, old), 200)


def _same_name(call: Call, meta: dict[str, Any]) -> None:
    if meta.get("name") != call.info.name:
        text = f"the name of the object ({meta.get('name', '')}) does not match the name on the URL ({call.info.name})"
        raise statuses.bad_request(text)


def _same_namespace(call: Call, meta: dict[str, Any]) -> None:
    if not call.served.resource.namespaced:
        meta.pop("namespace", None)
        return
    if meta.get("namespace", call.namespace) != call.namespace:
        raise statuses.bad_request("the namespace of the provided object does not match the namespace sent on the request")
    meta["namespace"] = call.namespace


def _same_revision(call: Call, meta: dict[str, Any], old: Record) -> None:
    if meta.get("resourceVersion", "") not in ("", str(old.rev)):
        raise statuses.conflict(call.served, call.info.name, statuses.MODIFIED)


# Into the store

def _replace(call: Call, obj: dict[str, Any], old: Record) -> tuple[Record, str]:
    """Puts `obj` in the place of `old`, as far as the subresource lets it."""
    before = old.obj()
    resource = call.served.resource
    if call.info.subresource == "status":
        obj = before | {"metadata": obj["metadata"], "status": obj.get("status")}
    elif resource.status:
        obj = obj | {"status": before.get("status")}
    meta, kept = obj["metadata"], before["metadata"]
    for key in SYSTEM_FIELDS:
        if key in kept:
            meta[key] = kept[key]
        else:
            meta.pop(key, None)
    meta["managedFields"] = kept.get("managedFields")
    return _store(call, obj, old)


def _content(plural: str, obj: dict[str, Any]) -> Any:
    """The part whose changes move metadata.generation."""
    if plural == "endpointslices":
        return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
    return obj.get("spec")


def _store(call: Call, obj: dict[str, Any], old: Record | None) -> tuple[Record, str]:
    """Completes, validates and stores. Returns the record and the effect."""
    state, resource = call.state, call.served.resource
    before = old.obj() if old else None
    obj = canonical(resource, obj)
    apply_defaults(resource, obj, state.profile)
    given = obj
    if resource is SERVICES and not call.info.subresource:
        # What the server allots is not the writer's.
        given = copy.deepcopy(obj)
        state.allocator.fill(obj, before)
    moves = before is not None and resource.generation
    if moves and _content(resource.plural, obj) != _content(resource.plural, before):
        obj["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
    errors = validate(resource, obj, before, call.info.subresource, state.profile)
    if errors:
        raise _invalid(call, obj["metadata"].get("name", ""), errors)
    if state.profile.managed_fields:
        entries = managed.record_update(before, given, _writer(call))
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)
    obj["metadata"]["resourceVersion"] = str(old.rev) if old else "0"
    obj = canonical(resource, obj)
    if old is not None and _same(before, obj):
        return old, NOOP
    record = state.store.put(resource, obj)
    meta = obj["metadata"]
    if resource is not NAMESPACES and meta.get("deletionTimestamp") and not meta.get("finalizers"):
        remove(state, record)
    return record, CHANGED


def _same(before: dict[str, Any], obj: dict[str, Any]) -> bool:
    """Whether nothing but times in managedFields would change."""

    def bare(document: dict[str, Any]) -> str:
        meta = dict(document["metadata"])
        entries = meta.pop("managedFields", None) or ()
        timeless = [{key: value for key, value in entry.items() if key != "time"} for entry in entries]
        return json.dumps([document | {"metadata": meta}, timeless], sort_keys=True)

    return bare(before) == bare(obj)


def _current(call: Call) -> Record | None:
    """The stored object, after a rival write when the test wants a race."""
    store = call.state.store
    record = store.get(call.served.resource, call.namespace, call.info.name)
    if record is not None and call.plan.race:
        obj = record.obj()
        obj["metadata"].setdefault("annotations", {})["standin.test/race"] = str(store.rev)
        return store.put(call.served.resource, obj)
    return record


def _writer(call: Call) -> Writer:
    manager = call.query("fieldManager") or call.request.headers.get("user-agent", "unknown").partition("/")[0]
    return Writer(manager, call.served.api_version, call.info.subresource, admission.now())


def _invalid(call: Call, name: str, errors: list[FieldError]) -> ApiError:
    return statuses.unprocessable(call.served.group, call.served.resource.kind, name, errors)


def _answer(call: Call, record: Record, effect: str, status: int) -> Answer:
    call.entry.name = record.name
    return Answer(status, negotiate.one(call.served, record, call.as_table), effect=effect)


def _review(call: Call, obj: dict[str, Any]) -> Answer:
    """SelfSubjectAccessReview, about resources."""
    info = RequestInfo(path="", **{"verb": "", **obj["spec"]["resourceAttributes"]})
    obj["status"] = {"allowed": call.state.authorizer.allows(call.identity, info)}
    shown = {"kind": call.served.resource.kind, "apiVersion": call.served.api_version} | obj
    return Answer(201, to_json(shown) + b"\n")
