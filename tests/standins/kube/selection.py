# SPDX-License-Identifier: Apache-2.0
"""Label and field selectors."""

from __future__ import annotations

import re

from .resources import Served
from .statuses import bad_request
from .store import Record, selectable_fields

Term = tuple[str, str, bool]  # a name, a value, and whether they shall be equal

_REQUIREMENT = re.compile(r"([^\s,=!()]+)\s*(==|!=|=)\s*(.*)")


def _terms(text: str) -> list[Term]:
    """Selectors by sets or by mere presence are not needed here. Raises ApiError 400."""
    found = []
    for term in filter(None, map(str.strip, text.split(","))):
        match = _REQUIREMENT.fullmatch(term)
        if match is None:
            raise bad_request(f"unable to parse requirement: found {term!r}")
        found.append((match[1], match[3], match[2] != "!="))
    return found


class Selector:
    """What a list or watch is limited to."""

    def __init__(self, served: Served, namespace: str, labels: str, fields: str):
        self.namespace = namespace
        self._labels, self._fields = _terms(labels), _terms(fields)
        known = selectable_fields(served.resource, {"metadata": {"name": ""}, "spec": {}})
        for name, _, _ in self._fields:
            if name not in known:
                raise bad_request(f"field label not supported: {name}")

    @property
    def narrows(self) -> bool:
        """Whether there is a selector besides the namespace."""
        return bool(self._labels or self._fields)

    def matches(self, record: Record) -> bool:
        if self.namespace and record.namespace != self.namespace:
            return False
        return all((having.get(name) == value) is positive
                   for having, terms in ((record.labels, self._labels), (record.fields, self._fields))
                   for name, value, positive in terms)
