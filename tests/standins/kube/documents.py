# SPDX-License-Identifier: Apache-2.0
"""Request bodies: from bytes to an object in stored form, or to a patch, and the complaints about both."""

from __future__ import annotations

from typing import Any

from . import convert, protobuf, statuses
from .call import Call
from .encoding import MalformedDocument, from_json, from_yaml
from .schema import DecodeError, Reader, decode
from .statuses import ApiError

PLAIN_TYPES = {"application/json": from_json, "application/yaml": from_yaml, "": from_json}
PATCH_TYPES = {
    "application/json-patch+json": from_json,
    "application/merge-patch+json": from_json,
    "application/strategic-merge-patch+json": from_json,
    "application/apply-patch+yaml": from_yaml,
}
APPLY_TYPE = "application/apply-patch+yaml"


def content_type(call: Call) -> str:
    """The media type of the body, without parameters."""
    return call.request.headers.get("content-type", "").partition(";")[0].strip().lower()


def parse(call: Call, readers: dict[str, Any]) -> Any:
    """The body as a document. Raises 415 and 400."""
    media = content_type(call)
    if media == protobuf.CONTENT_TYPE and readers is PLAIN_TYPES:
        return _from_protobuf(call)
    if media not in readers:
        listed = ", ".join(sorted(key for key in readers if key) + [protobuf.CONTENT_TYPE] * (readers is PLAIN_TYPES))
        raise ApiError(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: " + listed,
        )
    try:
        return readers[media](call.request.body)
    except MalformedDocument as error:
        raise statuses.bad_request(
            f"the object provided is unrecognized: couldn't get version/kind; json parse error: {error}"
        ) from None


def _from_protobuf(call: Call) -> dict[str, Any]:
    try:
        return protobuf.read(call.request.body, call.served.shape)
    except protobuf.Unreadable as error:
        raise statuses.bad_request(f"the object provided is unrecognized: {error}") from None


def to_stored(
    call: Call, document: Any, headers: list[tuple[str, str]], sparse: bool = False
) -> dict[str, Any]:
    """An object of the request's version in stored form. Unknown fields are dropped, warned of or refused."""
    served = call.served
    kind = served.resource.kind
    if not isinstance(document, dict):
        raise statuses.bad_request(
            "the object provided is unrecognized: couldn't get version/kind; json parse error: not an object"
        )
    if document.get("kind") not in (None, "", kind):
        raise statuses.bad_request(
            f'{document.get("kind")} in version "{served.version}" cannot be handled as a {kind}: '
            f"the object provided is unrecognized (must be of type {kind})"
        )
    if document.get("apiVersion") not in (None, "", served.api_version):
        raise statuses.bad_request(
            f"the API version in the data ({document.get('apiVersion')}) does not match the expected API "
            f"version ({served.api_version})"
        )
    reader = Reader(sparse)
    try:
        obj = decode(served.shape, document, reader)
    except DecodeError as error:
        raise statuses.bad_request(
            f'{kind} in version "{served.version}" cannot be handled as a {kind}: {error}'
        ) from None
    obj.setdefault("metadata", {})
    _complain(call, reader.issues, headers)
    return convert.to_hub(served, obj, Reader(sparse))


def _complain(call: Call, issues: list[str], headers: list[tuple[str, str]]) -> None:
    if not issues or not call.state.profile.field_validation:
        return
    level = call.query("fieldValidation") or "Warn"
    if level == "Strict":
        kind = call.served.resource.kind
        raise statuses.bad_request(
            f'{kind} in version "{call.served.version}" cannot be handled as a {kind}: '
            "strict decoding error: " + ", ".join(issues)
        )
    if level == "Warn":
        headers += [("Warning", '299 - "%s"' % issue.replace('"', '\\"')) for issue in issues]
