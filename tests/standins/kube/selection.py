# SPDX-License-Identifier: Apache-2.0
"""Label and field selectors."""

from __future__ import annotations

import re
from typing import Callable

from .resources import Served
from .statuses import bad_request
from .store import Record, selectable_fields

Test = Callable[[Record], bool]

_REQUIREMENT = re.compile(
    r"\s*(?:"
    r"(?P<absent>!)\s*(?P<akey>[^\s,=!()]+)"
    r"|(?P<key>[^\s,=!()]+)(?:\s*(?P<op>==|!=|=)\s*(?P<value>[^\s,=!()]*)"
    r"|\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?"
    r")\s*(?:,|$)"
)


def parse_labels(text: str) -> Test | None:
    """A test on labels; None when everything matches. Raises ApiError 400."""
    tests: list[Callable[[dict[str, str]], bool]] = []
    position = 0
    while position < len(text.rstrip()):
        match = _REQUIREMENT.match(text, position)
        if match is None:
            raise bad_request(f"unable to parse requirement: found {text[position:]!r}")
        position = match.end()
        tests.append(_label_test(match))
    if not tests:
        return None
    return lambda record: all(test(record.labels) for test in tests)


def _label_test(match: re.Match) -> Callable[[dict[str, str]], bool]:
    key, value = match["key"] or match["akey"], match["value"]
    if match["absent"]:
        return lambda labels: key not in labels
    if match["op"] in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if match["op"] == "!=":
        return lambda labels: labels.get(key) != value
    if match["set"]:
        values = {word.strip() for word in match["values"].split(",")}
        if match["set"] == "in":
            return lambda labels: labels.get(key) in values and key in labels
        return lambda labels: labels.get(key) not in values
    return lambda labels: key in labels


def parse_fields(served: Served, text: str) -> tuple[Test | None, dict[str, str]]:
    """A test on selectable fields, and what the equalities ask for. Raises ApiError 400."""
    if not text:
        return None, {}
    known = selectable_fields(served.resource, {"metadata": {"name": ""}, "spec": {}})
    tests: list[tuple[str, str, bool]] = []
    for term in filter(None, text.split(",")):
        match = re.fullmatch(r"([^=!]+)(==|!=|=)(.*)", term)
        if match is None:
            raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        name, operator, value = match.groups()
        if name not in known:
            raise bad_request(
                f"field label not supported: {name}"
                if set(known) - {"metadata.name", "metadata.namespace"}
                else f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
            )
        tests.append((name, value, operator != "!="))
    equal = {name: value for name, value, positive in tests if positive}
    return (
        lambda record: all((record.fields[name] == value) is positive for name, value, positive in tests)
    ), equal


class Selector:
    """What a list or watch is limited to."""

    def __init__(self, served: Served, namespace: str, labels: str, fields: str):
        self.namespace = namespace
        self._labels = parse_labels(labels)
        self._fields, self.equal = parse_fields(served, fields)

    @property
    def narrows(self) -> bool:
        """Whether there is a selector besides the namespace."""
        return self._labels is not None or self._fields is not None

    def matches(self, record: Record) -> bool:
        """Whether an object is wanted."""
        if self.namespace and record.namespace != self.namespace:
            return False
        return (self._labels is None or self._labels(record)) and (
            self._fields is None or self._fields(record)
        )
