# SPDX-License-Identifier: Apache-2.0
"""create, update, patch: from a request body to a stored object.

All of them end in `_store`: defaults, validation, generation, managedFields, and the discovery that
nothing has changed, which keeps the revision and tells no watcher.
"""

from __future__ import annotations

import copy
import json
import random
import string
import uuid
from typing import Any

from . import admission, documents, managed, negotiate, patch, statuses
from .call import CHANGED, NOOP, Answer, Call
from .defaults import apply_defaults, drop_service_fields
from .deletes import remove
from .encoding import to_json
from .managed import Writer
from .names import LOOPBACK
from .resources import ACCESS_REVIEWS, INGRESSES, NAMESPACES, SERVICES
from .request_info import RequestInfo
from .schema import decode
from .statuses import ApiError, FieldError
from .store import Record
from .validate import validate, validate_status

OBJECT_MAX = 1536 * 1024
MANAGER_MAX = 128
SYSTEM_FIELDS = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)

Headers = list[tuple[str, str]]


async def create(call: Call) -> Answer:
    """POST to a collection."""
    headers: Headers = []
    obj = documents.to_stored(call, documents.parse(call, documents.PLAIN_TYPES), headers)
    if call.served.resource is ACCESS_REVIEWS:
        return _review(call, obj)
    meta = obj["metadata"]
    if meta.get("resourceVersion"):
        raise ApiError(500, "InternalError", "resourceVersion should not be set on objects to be created")
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"] + "".join(
            random.choices(string.ascii_lowercase[:6] + "2456789", k=5)
        )
    _same_namespace(call, meta)
    return _answer(call, *_create(call, obj, _writer(call, "Update")), headers, 201)


def _create(call: Call, obj: dict[str, Any], writer: Writer) -> tuple[Record, str]:
    meta = obj["metadata"]
    admission.namespace_exists(call)
    if call.served.resource is INGRESSES:
        admission.default_ingress_class(call, obj)
    name = meta.get("name", "")
    if name and call.state.store.get(call.served.resource, call.namespace, name):
        raise statuses.already_exists(call.served, name)
    for key in (*SYSTEM_FIELDS, "resourceVersion"):
        meta.pop(key, None)
    if call.served.resource.status:
        obj.pop("status", None)
    obj = decode(call.served.resource.hub.shape, obj)
    obj["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": admission.now()}
    if call.served.resource.generation:
        obj["metadata"]["generation"] = 1
    return _store(call, obj, None, writer)


async def update(call: Call) -> Answer:
    """PUT of a whole object, or of its status."""
    headers: Headers = []
    obj = documents.to_stored(call, documents.parse(call, documents.PLAIN_TYPES), headers)
    meta = obj["metadata"]
    if meta.get("name") != call.info.name:
        raise statuses.bad_request(
            f"the name of the object ({meta.get('name', '')}) does not match the name on the URL "
            f"({call.info.name})"
        )
    _same_namespace(call, meta)
    old = _current(call)
    if old is None:
        if not call.served.resource.create_on_update or call.info.subresource:
            raise statuses.not_found(call.served, call.info.name)
        return _answer(call, *_create(call, obj, _writer(call, "Update")), headers, 201)
    _preconditions(call, meta, old)
    return _answer(call, *_replace(call, obj, old, _writer(call, "Update")), headers, 200)


def _preconditions(call: Call, meta: dict[str, Any], old: Record) -> None:
    """uid and revision that a PUT carries."""
    name = call.info.name
    uid, revision = meta.get("uid", ""), meta.get("resourceVersion", "")
    if uid and uid != old.uid:
        key = f"/registry/{call.served.resource.plural}/{old.key}"
        raise statuses.conflict(
            call.served,
            name,
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old.uid}",
        )
    if not revision and not call.served.resource.unconditional_update:
        raise _invalid(
            call, name, [statuses.invalid("metadata.resourceVersion", 0, "must be specified for an update")]
        )
    _same_revision(call, revision, old)


def _same_revision(call: Call, revision: str, old: Record) -> None:
    if revision and revision != str(old.rev):
        raise statuses.conflict(call.served, call.info.name, statuses.MODIFIED)


async def patch_(call: Call) -> Answer:
    """PATCH in any of its four formats."""
    headers: Headers = []
    document = documents.parse(call, documents.PATCH_TYPES)
    if documents.content_type(call) == documents.APPLY_TYPE:
        return _apply(call, document, headers)
    if call.query("force"):
        raise statuses.unprocessable(
            "meta.k8s.io",
            "PatchOptions",
            "",
            [statuses.forbids("force", "may not be specified for non-apply patch")],
        )
    old = _current(call)
    if old is None:
        raise statuses.not_found(call.served, call.info.name)
    current = json.loads(old.full(call.served))
    obj = _patched_object(call, _patched(call, current, document), headers)
    meta = obj["metadata"]
    if meta.get("name") != call.info.name:
        raise statuses.bad_request(
            f"the name of the object ({meta.get('name', '')}) does not match the name on the URL "
            f"({call.info.name})"
        )
    _same_namespace(call, meta)
    _same_revision(call, meta.get("resourceVersion", ""), old)
    if meta.get("uid", old.uid) != old.uid:
        complaint = statuses.invalid("metadata.uid", meta["uid"], "field is immutable")
        raise _invalid(call, call.info.name, call.state.profile.metadata_checks * [complaint])
    return _answer(call, *_replace(call, obj, old, _writer(call, "Update")), headers, 200)


def _patched_object(call: Call, patched: Any, headers: Headers) -> dict[str, Any]:
    """What has come of a patch must still be an object of its type."""
    try:
        return documents.to_stored(call, patched, headers)
    except ApiError as error:
        if call.query("fieldValidation") == "Strict":
            raise
        raise statuses.unprocessable("", "", "", [statuses.invalid("patch", to_json(patched).decode(), error.message)]) from None


def _patched(call: Call, current: dict[str, Any], document: Any) -> Any:
    media = documents.content_type(call)
    try:
        if media == "application/json-patch+json":
            return patch.json_patch(current, document)
        if not isinstance(document, dict):
            raise patch.PatchError("the patch must be an object")
        if media == "application/merge-patch+json":
            return patch.merge(current, document)
        return patch.strategic(call.served.shape, current, document)
    except patch.PatchError as error:
        if error.invalid:
            raise ApiError(
                422, "Invalid", "the server rejected our request due to an error in our request", {}
            ) from None
        raise statuses.bad_request(str(error)) from None


def _apply(call: Call, document: Any, headers: Headers) -> Answer:
    """Server-side apply."""
    if not call.query("fieldManager"):
        raise statuses.unprocessable(
            "meta.k8s.io",
            "PatchOptions",
            "",
            [statuses.required("fieldManager", "is required for apply patch")],
        )
    config = documents.to_stored(call, document, headers, sparse=True)
    meta = config["metadata"]
    if meta.get("managedFields"):
        raise statuses.bad_request("metadata.managedFields must be nil")
    meta.setdefault("name", call.info.name)
    if meta["name"] != call.info.name:
        raise statuses.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL "
            f"({call.info.name})"
        )
    _same_namespace(call, meta)
    old = _current(call)
    if old is None and call.info.subresource:
        raise statuses.not_found(call.served, call.info.name)
    if old is not None:
        _same_revision(call, meta.get("resourceVersion", ""), old)
    writer = _writer(call, "Apply")
    shape = call.served.resource.hub.shape
    new, clashes = managed.apply(
        shape, old.obj() if old else None, config, writer, call.query("force") in ("true", "1")
    )
    if clashes:
        raise _clash_error(clashes)
    if old is None:
        return _answer(call, *_create(call, new, writer), headers, 201)
    return _answer(call, *_replace(call, new, old, writer), headers, 200)


def _clash_error(clashes: list[managed.Clash]) -> ApiError:
    """409 that names the other owners."""
    causes: list[dict[str, str]] = []
    by_owner: dict[str, list[str]] = {}
    for clash in clashes:
        entry = clash.entry
        who = f'"{entry.get("manager", "")}"'
        if entry.get("subresource"):
            who += f' with subresource "{entry["subresource"]}"'
        who += f' using {entry.get("apiVersion", "")}'
        if entry.get("time"):
            who += f' at {entry["time"]}'
        field = managed.display(clash.path)
        causes.append({"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": field})
        by_owner.setdefault(who, []).append(field)
    texts = [
        f"conflict with {who}: {fields[0]}"
        if len(fields) == 1
        else f"conflicts with {who}:\n" + "\n".join(f"- {field}" for field in fields)
        for who, fields in by_owner.items()
    ]
    count = f"{len(clashes)} conflict" + ("s" if len(clashes) > 1 else "")
    return ApiError(409, "Conflict", f"Apply failed with {count}: " + "\n".join(texts), {"causes": causes})


def _replace(call: Call, obj: dict[str, Any], old: Record, writer: Writer) -> tuple[Record, str]:
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
    if writer.operation != "Apply":
        meta["managedFields"] = kept.get("managedFields")
    return _store(call, decode(resource.hub.shape, obj), old, writer)


def _content(plural: str, obj: dict[str, Any]) -> Any:
    """The part whose changes move metadata.generation."""
    if plural == "endpointslices":
        return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
    return obj.get("spec")


def _store(call: Call, obj: dict[str, Any], old: Record | None, writer: Writer) -> tuple[Record, str]:
    """Completes, validates and stores. Returns the record and the effect."""
    state, resource = call.state, call.served.resource
    before = old.obj() if old else None
    apply_defaults(resource, obj, state.profile)
    given = obj
    if resource is SERVICES and not call.info.subresource:
        # What the server allots or drops from here on is not the writer's.
        given = copy.deepcopy(obj)
        drop_service_fields(obj, before, state.profile)
        state.allocator.fill(obj, before, state.profile)
    if (
        before is not None
        and resource.generation
        and _content(resource.plural, obj) != _content(resource.plural, before)
    ):
        obj["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
    if call.info.subresource == "status" and before is not None:
        errors = validate_status(resource, obj, before, state.profile)
    else:
        errors = validate(resource, obj, before, state.profile)
    if state.settings.loopback_pods:
        errors = [error for error in errors if not error.body.endswith(LOOPBACK)]
    if errors:
        raise _invalid(call, obj["metadata"].get("name", ""), errors)
    if not state.profile.managed_fields:
        obj["metadata"].pop("managedFields", None)
    elif writer.operation == "Update":
        obj["metadata"]["managedFields"] = managed.record_update(resource.hub.shape, before, given, writer)
    # The store overwrites the revision in its place; the order of members is settled here.
    obj["metadata"]["resourceVersion"] = str(old.rev) if old else "0"
    obj = decode(resource.hub.shape, obj)
    for key in ("kind", "apiVersion"):
        obj.pop(key, None)
    if old is not None and before is not None and _same(before, obj):
        return old, NOOP
    if len(to_json(obj)) > OBJECT_MAX:
        raise statuses.internal("etcdserver: request is too large")
    return _commit(call, obj), CHANGED


def _same(before: dict[str, Any], obj: dict[str, Any]) -> bool:
    """Whether nothing but times in managedFields would change."""
    if not managed.same_but_time(
        before["metadata"].get("managedFields"), obj["metadata"].get("managedFields")
    ):
        return False
    ours, theirs = dict(obj["metadata"]), dict(before["metadata"])
    ours.pop("managedFields", None)
    theirs.pop("managedFields", None)
    return to_json(obj | {"metadata": ours}) == to_json(before | {"metadata": theirs})


def _commit(call: Call, obj: dict[str, Any]) -> Record:
    resource, meta = call.served.resource, obj["metadata"]
    if call.query("dryRun") == "All":
        return Record(resource, obj)
    record = call.state.store.put(resource, obj)
    if resource is not NAMESPACES and meta.get("deletionTimestamp") and not meta.get("finalizers"):
        remove(call.state, record)
    return record


def _current(call: Call) -> Record | None:
    """The stored object, after a rival write when the test wants a race."""
    store = call.state.store
    record = store.get(call.served.resource, call.namespace, call.info.name)
    if record is not None and call.plan.race:
        obj = record.obj()
        meta = obj["metadata"]
        meta["annotations"] = dict(
            sorted(((meta.get("annotations") or {}) | {"standin.test/race": str(store.rev)}).items())
        )
        return store.put(call.served.resource, decode(call.served.resource.hub.shape, obj))
    return record


def _same_namespace(call: Call, meta: dict[str, Any]) -> None:
    if not call.served.resource.namespaced:
        meta.pop("namespace", None)
        return
    if meta.get("namespace", call.namespace) != call.namespace:
        raise statuses.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = call.namespace


def _writer(call: Call, operation: str) -> Writer:
    manager = call.query("fieldManager") or call.request.user_agent.partition("/")[0][:MANAGER_MAX]
    if len(manager) > MANAGER_MAX or not manager.isprintable():
        raise statuses.unprocessable(
            "meta.k8s.io", "PatchOptions", "", [statuses.too_long("fieldManager", MANAGER_MAX)]
        )
    return Writer(
        manager or "unknown", operation, call.served.api_version, call.info.subresource, admission.now()
    )


def _invalid(call: Call, name: str, errors: list[FieldError]) -> ApiError:
    return statuses.unprocessable(call.served.group, call.served.resource.kind, name, errors)


def _answer(call: Call, record: Record, effect: str, headers: Headers, status: int) -> Answer:
    call.entry.name = record.name
    body = negotiate.one(call.served, record, call.form)
    return Answer(status, body, call.form.content_type, headers, effect)


def _review(call: Call, obj: dict[str, Any]) -> Answer:
    """SelfSubjectAccessReview: what `kubectl auth can-i` asks."""
    wanted = obj["spec"].get("resourceAttributes")
    if wanted:
        info = RequestInfo(
            wanted.get("verb", ""),
            "",
            wanted.get("group", ""),
            wanted.get("version", ""),
            wanted.get("resource", ""),
            wanted.get("subresource", ""),
            wanted.get("namespace", ""),
            wanted.get("name", ""),
        )
    else:
        outside = obj["spec"].get("nonResourceAttributes") or {}
        info = RequestInfo(outside.get("verb", ""), outside.get("path", ""))
    obj["status"] = {"allowed": call.state.authorizer.allows(call.identity, info)}
    shown = {"kind": call.served.resource.kind, "apiVersion": call.served.api_version} | obj
    return Answer(201, call.form.encode(shown), call.form.content_type)
