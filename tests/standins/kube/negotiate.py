# SPDX-License-Identifier: Apache-2.0
"""In which form an answer goes out: the object itself, a Table for kubectl, or its metadata alone; JSON or
YAML."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterable

from . import tables
from .encoding import to_json, to_yaml
from .resources import Served
from .statuses import ApiError
from .store import Record
from .wire import Request

INDENTED_AGENTS = ("curl", "Wget", "Mozilla/5.0")


@dataclass(frozen=True)
class Form:
    """kind: object, table or partial; media: json or yaml."""

    kind: str = "object"
    meta_version: str = "v1"
    media: str = "json"
    pretty: bool = False
    include: str = "Metadata"

    @property
    def content_type(self) -> str:
        """The Content-Type of the answer."""
        return f"application/{self.media}"

    def encode(self, document: dict[str, Any]) -> bytes:
        """A whole document as the body of an answer."""
        if self.media == "yaml":
            return to_yaml(document)
        return to_json(document, indent=self.pretty) + b"\n"

    def body(self, json_text: bytes) -> bytes:
        """A document that is encoded already, as the body of an answer."""
        if self.media == "yaml" or self.pretty:
            return self.encode(json.loads(json_text))
        return json_text + b"\n"


def clauses(accept: str) -> Iterable[tuple[str, dict[str, str]]]:
    """Media types of an Accept header with their parameters, best first."""
    found = []
    for order, clause in enumerate(accept.split(",")):
        media, *rest = [part.strip() for part in clause.split(";")]
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        try:
            quality = float(parameters.get("q", "1"))
        except ValueError:
            quality = 1.0
        found.append((-quality, order, media, parameters))
    return [(media, parameters) for _, _, media, parameters in sorted(found, key=lambda entry: entry[:2])]


def form_of(request: Request, watch: bool = False) -> Form:
    """The best form that the client accepts. Raises 406."""
    pretty = not watch and (
        request.user_agent.startswith(INDENTED_AGENTS)
        if "pretty" not in request.query
        else request.query["pretty"] not in ("0", "false")
    )
    include = request.query.get("includeObject", "") or "Metadata"
    for media, parameters in clauses(request.headers.get("accept", "") or "*/*"):
        if media in ("*/*", "application/*", "application/json"):
            kind = "json"
        elif media == "application/yaml" and not watch:
            kind = "yaml"
        else:
            continue
        wanted = parameters.get("as", "")
        version = parameters.get("v", "v1")
        if not wanted:
            return Form(media=kind, pretty=pretty)
        if parameters.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1"):
            if wanted == "Table":
                return Form("table", version, kind, pretty, include)
            if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
                return Form("partial", version, kind, pretty)
    raise ApiError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml",
    )


def partial(record: Record, form: Form) -> dict[str, Any]:
    """Metadata alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{form.meta_version}",
        "metadata": record.obj()["metadata"],
    }


def table(
    served: Served, records: Iterable[Record], form: Form, meta: dict[str, Any], headers: bool = True
) -> dict[str, Any]:
    """A Table of objects."""
    out: dict[str, Any] = {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{form.meta_version}",
        "metadata": meta,
    }
    resource = served.resource
    out["columnDefinitions"] = (
        [column.definition() for column in tables.columns(resource)] if headers else None
    )
    out["rows"] = []
    for record in records:
        entry: dict[str, Any] = {"cells": tables.row(resource, record.obj())}
        if form.include == "Object":
            entry["object"] = json.loads(record.full(served))
        elif form.include != "None":
            entry["object"] = partial(record, form)
        out["rows"].append(entry)
    return out


def one(served: Served, record: Record, form: Form) -> bytes:
    """The body that shows one object."""
    if form.kind == "table":
        return form.encode(table(served, [record], form, {"resourceVersion": str(record.rev)}))
    if form.kind == "partial":
        return form.encode(partial(record, form))
    return form.body(record.full(served))


def many(
    served: Served, records: list[Record], form: Form, meta: dict[str, Any], null_items: bool = False
) -> bytes:
    """The body that shows a list."""
    if form.kind == "table":
        return form.encode(table(served, records, form, meta))
    if form.kind == "partial":
        items = [partial(record, form) for record in records]
        return form.encode(
            {
                "kind": "PartialObjectMetadataList",
                "apiVersion": f"meta.k8s.io/{form.meta_version}",
                "metadata": meta,
                "items": items,
            }
        )
    head = {"kind": served.resource.kind + "List", "apiVersion": served.api_version, "metadata": meta}
    inner = b"null" if null_items else b"[" + b",".join(record.item(served) for record in records) + b"]"
    return form.body(to_json(head)[:-1] + b',"items":' + inner + b"}")
