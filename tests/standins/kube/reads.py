# SPDX-License-Identifier: Apache-2.0
"""get and list. The meaning of resourceVersion, resourceVersionMatch, limit and continue is that of
"Kubernetes API concepts"."""

from __future__ import annotations

import asyncio
import base64
import bisect
import binascii
import json
import random
from dataclasses import dataclass
from typing import Any

from . import negotiate, statuses
from .call import Answer, Call
from .encoding import to_json
from .selection import Selector
from .store import Record, View

TOKEN_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results, which will be inconsistent."
)
TOO_LARGE_WAIT_S = 3.0  # how long a revision of the future is waited for


async def get(call: Call) -> Answer:
    revision = parse_revision(call.query("resourceVersion"))
    await seen(call, revision)
    record = call.state.store.get(call.served.resource, call.namespace, call.info.name)
    if record is None:
        raise statuses.not_found(call.served, call.info.name)
    return Answer(200, negotiate.one(call.served, record, call.as_table))


def parse_revision(text: str) -> int:
    """A revision from a query; 0 for none. Raises 400."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise statuses.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


async def seen(call: Call, revision: int) -> None:
    """Waits a little until the server has reached a revision. Raises 504."""
    store = call.state.store
    deadline = asyncio.get_running_loop().time() + TOO_LARGE_WAIT_S
    while store.rev < revision:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise statuses.too_large_revision(revision, store.rev)
        await asyncio.wait([store.changed()], timeout=left)


@dataclass
class Page:
    """What part of the collection is asked for."""

    limit: int
    after: str
    revision: int | None
    cached: bool = False  # answered from the watch cache


async def list_(call: Call) -> Answer:
    selector = Selector(call.served, call.namespace, call.query("labelSelector"), call.query("fieldSelector"))
    page = await _page(call)
    store = call.state.store
    view = store.table(call.served.resource).view(store.rev if page.revision is None else page.revision)
    items, last, more = _collect(call, view, selector, page)
    if page.cached and not more and not call.state.profile.sorted_cache:
        random.shuffle(items)
    # Go's ListMeta: resourceVersion, continue, remainingItemCount.
    meta: dict[str, Any] = {"resourceVersion": str(view.rev)}
    if more:
        meta["continue"] = _token(view.rev, call.namespace, last)
        if not selector.narrows:
            meta["remainingItemCount"] = _remaining(view, call.namespace, last)
    null_items = call.plan.null_items and not items
    return Answer(200, negotiate.many(call.served, items, call.as_table, meta, null_items))


async def _page(call: Call) -> Page:
    limit_text, token = call.query("limit"), call.query("continue")
    limit = max(0, int(limit_text or 0))
    floor = call.state.store.table(call.served.resource).floor
    if token and call.query("resourceVersion") not in ("", "0"):
        raise statuses.bad_request("specifying resource version is not allowed when using continue")
    if token:
        revision, after = _read_token(token, call.namespace)
        if 0 < revision < floor:
            raise statuses.expired(TOKEN_EXPIRED, {"continue": _token(-1, call.namespace, after)})
        await seen(call, revision)
        return Page(limit, after, revision if revision > 0 else None)
    asked = parse_revision(call.query("resourceVersion"))
    await seen(call, asked)
    if call.query("resourceVersion") == "0":
        # Answered from the cache, which knows no pages.
        limit = 0
    return Page(limit, "", None, bool(call.query("resourceVersion")))


def _collect(call: Call, view: View, selector: Selector, page: Page) -> tuple[list[Record], str, bool]:
    """The objects of a page, the last key looked at, and whether keys remain."""
    limit = page.limit
    if limit and call.plan.page_max:
        limit = min(limit, call.plan.page_max)
    if call.plan.empty_page and page.limit:
        return [], page.after or "\x00", True
    items: list[Record] = []
    last = page.after
    for record in view.range(call.namespace, page.after):
        if limit and len(items) == limit:
            return items, last, True
        last = record.key
        if not selector.narrows or selector.matches(record):
            items.append(record)
    return items, last, False


def _remaining(view: View, namespace: str, last: str) -> int:
    prefix = namespace + "/" if namespace else ""
    end = bisect.bisect_left(view.keys, prefix + "\U0010ffff") if prefix else len(view.keys)
    return end - max(bisect.bisect_right(view.keys, last), bisect.bisect_left(view.keys, prefix))


def _token(revision: int, namespace: str, last: str) -> str:
    """A continue token: the revision, and the key behind which the next page starts, relative to the
    collection."""
    prefix = namespace + "/" if namespace else ""
    start = (last[len(prefix) :] if last.startswith(prefix) else last) + "\x00"
    document = to_json({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


def _read_token(token: str, namespace: str) -> tuple[int, str]:
    try:
        document = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        start, revision = str(document["start"]), int(document["rv"])
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise statuses.bad_request(f"invalid continue token: {error}") from None
    prefix = namespace + "/" if namespace else ""
    return revision, prefix + start.removesuffix("\x00")
