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
    values: tuple[str, ...]


@dataclass
class Page:
    rows: list[Row]
    filters: dict[str, Filter] = field(default_factory=dict)
    sort: tuple[str, str] | None = None
    limit: int = 100
    next_marker: str | None = None


def parse_filters(type_: str, query: Query) -> dict[str, Filter]:
    """The filters among the parameters. What names no filterable field is ignored without a word."""
    fields = schema.TYPES[type_].fields
    found: dict[str, Filter] = {}
    for name, value in query:
        target, modifier = name, "eq"
        if target not in fields and "_" in name:
            target, _, modifier = name.rpartition("_")
        spec = fields.get(target)
        if spec is None or not spec.filterable or modifier not in schema.modifiers(spec):
            continue
        earlier = found.get(target)
        if earlier is not None and earlier.modifier == modifier:
            found[target] = Filter(target, modifier, earlier.values + (value,))
        else:
            found[target] = Filter(target, modifier, (value,))
    return found


def _comparable(spec: schema.Field, text: str) -> Any:
    if spec.type == "boolean":
        return text.lower() == "true"
    if spec.type in ("int", "date"):
        return int(text) if re.fullmatch(r"-?\d+", text) else None
    # The usual collation of the server's database does not know upper and lower case.
    return text.lower()


def _actual(row: Row, spec: schema.Field, name: str) -> Any:
    value = row.id if name == "id" else row[name]
    return value.lower() if isinstance(value, str) else value


def _like(pattern: str) -> str:
    return "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)


def matches(row: Row, spec: schema.Field, condition: Filter) -> bool:
    actual = _actual(row, spec, condition.field)
    if condition.modifier == "null":
        return actual is None
    if condition.modifier == "notnull":
        return actual is not None
    return all(_one(actual, condition.modifier, _comparable(spec, text)) for text in condition.values)


def _one(actual: Any, modifier: str, wanted: Any) -> bool:
    if modifier == "eq":
        return actual == wanted
    if actual is None or wanted is None:
        return False
    if modifier == "ne":
        return actual != wanted
    if modifier == "prefix":
        return actual.startswith(wanted)
    if modifier in ("like", "notlike"):
        return bool(re.fullmatch(_like(wanted), actual)) == (modifier == "like")
    return {"lt": actual < wanted, "lte": actual <= wanted, "gt": actual > wanted,
            "gte": actual >= wanted}[modifier]


def select(type_: str, rows: Iterable[Row], query: Query, drift: int = 0) -> Page:
    """One page. `drift` moves the place at which a marker resumes, as if the list had changed in between."""
    filters = {} if type_ == "setting" else parse_filters(type_, query)
    fields = schema.TYPES[type_].fields
    # The database has numbers where clients see ids: nothing equals one of these.
    kept = [] if "id" in filters and filters["id"].modifier == "eq" else list(rows)
    for condition in filters.values():
        kept = [r for r in kept if matches(r, fields[condition.field], condition)]
    page = Page(kept, filters, _sorting(type_, query), _limit(query))
    if page.sort:
        name, order = page.sort
        kept.sort(key=lambda r: (r[name] is None, _key(_actual(r, fields[name], name))),
                  reverse=order == "desc")
    marker = _last(query, "marker")
    offset = int(marker[1:]) if marker and re.fullmatch(r"m\d+", marker) else 0
    start = max(0, offset + drift) if offset else 0
    page.rows = kept[start:start + page.limit]
    if start + page.limit < len(kept):
        page.next_marker = f"m{offset + page.limit}"
    return page


def _key(value: Any) -> Any:
    return "" if value is None else value


def _last(query: Query, name: str) -> str | None:
    return next((v for k, v in reversed(query) if k == name), None)


def _sorting(type_: str, query: Query) -> tuple[str, str] | None:
    name = _last(query, "sort")
    spec = schema.TYPES[type_].fields.get(name) if name else None
    if name is None or spec is None or not spec.filterable:
        return None
    return name, "desc" if (_last(query, "order") or "").lower() == "desc" else "asc"


def _limit(query: Query) -> int:
    text = _last(query, "limit")
    if text is None or not re.fullmatch(r"-?\d+", text):
        return DEFAULT_LIMIT
    limit = int(text)
    return MAX_LIMIT if limit <= 0 else min(limit, MAX_LIMIT)


def subscriptions(urls: Urls, query: Query) -> str:
    """What a subscription is answered that asks for no upgrade: an empty list."""
    own = urls.collection("subscribe")
    names = [{"value": value, "modifier": "eq"} for name, value in query if name == "eventNames"]
    return dumps({
        "type": "collection", "resourceType": "subscribe", "links": {"self": own}, "createTypes": {}, "actions": {}, "data": [],
        "sortLinks": {"eventNames": f"{own}?{urlencode([*query, ('sort', 'eventNames')])}"}, "pagination": None, "sort": None,
        "filters": {"eventNames": names or None}, "createDefaults": {},
    })


def envelope(type_: str, page: Page, texts: list[str], urls: Urls, query: Query) -> str:
    """The collection as JSON text, from the texts of its rows."""
    own = urls.collection(type_)
    fields = schema.TYPES[type_].fields
    next_url = None
    if page.next_marker:
        rest = [(k, v) for k, v in query if k != "marker"] + [("marker", page.next_marker)]
        next_url = f"{own}?{urlencode(rest)}"
    sortable = sorted(name for name, spec in fields.items() if spec.filterable)
    shown: dict[str, Any] = {name: None for name in sortable} if type_ != "setting" else {}
    for name, condition in page.filters.items():
        shown[name] = [{"value": value, "modifier": condition.modifier} for value in condition.values]
    body = {
        "type": "collection",
        "resourceType": type_,
        "links": {"self": own}, "createTypes": {}, "actions": {}, "data": [],
        "sortLinks": {name: f"{own}?sort={name}" for name in sortable},
        "pagination": None if type_ == "project" else {"first": None, "previous": None, "next": next_url, "limit": page.limit, "total": None,
                       "partial": next_url is not None},
        "sort": {"name": page.sort[0], "order": page.sort[1], "reverse": None} if page.sort else None,
        "filters": shown, "createDefaults": {},
    }
    return dumps(body).replace('"data":[]', '"data":[' + ",".join(texts) + "]", 1)
