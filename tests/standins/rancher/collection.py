# SPDX-License-Identifier: Apache-2.0
"""Lists: filters, order, pages, and the envelope around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Iterable
from urllib.parse import urlencode

from . import schema
from .jsontext import dumps
from .resources import Urls
from .store import Row

Query = list[tuple[str, str]]
DEFAULT_LIMIT, MAX_LIMIT = 100, 3000


@dataclass(frozen=True)
class Filter:
    field: str
    modifier: str
    value: str


@dataclass
class Page:
    rows: list[Row]
    filters: dict[str, Filter] = field(default_factory=dict)
    limit: int = 100
    next_marker: str | None = None


def parse_filters(type_: str, query: Query) -> dict[str, Filter]:
    """The filters among the parameters, as far as anybody uses them here. What names no filterable field is ignored
    without a word."""
    fields = schema.TYPES[type_].fields
    found: dict[str, Filter] = {}
    for name, value in query:
        target, modifier = name, "eq"
        if target not in fields and "_" in name:
            target, _, modifier = name.rpartition("_")
        spec = fields.get(target)
        if spec is not None and spec.filterable and modifier in ("eq", "null"):
            found[target] = Filter(target, modifier, value)
    return found


def matches(row: Row, spec: schema.Field, condition: Filter) -> bool:
    actual = row.id if condition.field == "id" else row[condition.field]
    if condition.modifier == "null":
        return actual is None
    if spec.type == "boolean":
        return actual == (condition.value.lower() == "true")
    # The usual collation of the server's database does not know upper and lower case.
    return actual is not None and str(actual).lower() == condition.value.lower()


def select(type_: str, rows: Iterable[Row], query: Query, drift: int = 0) -> Page:
    """One page. `drift` moves the place at which a marker resumes, as if the list had changed in between."""
    filters = {} if type_ == "setting" else parse_filters(type_, query)
    fields = schema.TYPES[type_].fields
    # The database has numbers where clients see ids: nothing equals one of these.
    kept = [] if "id" in filters and filters["id"].modifier == "eq" else list(rows)
    for condition in filters.values():
        kept = [r for r in kept if matches(r, fields[condition.field], condition)]
    page = Page(kept, filters, _limit(query))
    marker = _last(query, "marker")
    offset = int(marker[1:]) if marker and re.fullmatch(r"m\d+", marker) else 0
    start = max(0, offset + drift) if offset else 0
    page.rows = kept[start:start + page.limit]
    if start + page.limit < len(kept):
        page.next_marker = f"m{offset + page.limit}"
    return page


def _last(query: Query, name: str) -> str | None:
    return next((v for k, v in reversed(query) if k == name), None)


def _limit(query: Query) -> int:
    text = _last(query, "limit")
    if text is None or not re.fullmatch(r"-?\d+", text):
        return DEFAULT_LIMIT
    limit = int(text)
    return MAX_LIMIT if limit <= 0 else min(limit, MAX_LIMIT)


def envelope(type_: str, page: Page, texts: list[str], urls: Urls, query: Query) -> str:
    own = urls.collection(type_)
    fields = schema.TYPES[type_].fields
    next_url = None
    if page.next_marker:
        rest = [(k, v) for k, v in query if k != "marker"] + [("marker", page.next_marker)]
        next_url = f"{own}?{urlencode(rest)}"
    sortable = sorted(name for name, spec in fields.items() if spec.filterable)
    shown: dict[str, Any] = {name: None for name in sortable} if type_ != "setting" else {}
    for name, condition in page.filters.items():
        shown[name] = [{"value": condition.value, "modifier": condition.modifier}]
    body = {
        "type": "collection",
        "resourceType": type_,
        "links": {"self": own}, "createTypes": {}, "actions": {}, "data": [],
        "sortLinks": {name: f"{own}?sort={name}" for name in sortable},
        "pagination": None if type_ == "project" else {"first": None, "previous": None, "next": next_url, "limit": page.limit, "total": None,
                       "partial": next_url is not None},
        "sort": None,
        "filters": shown, "createDefaults": {},
    }
    return dumps(body).replace('"data":[]', '"data":[' + ",".join(texts) + "]", 1)
