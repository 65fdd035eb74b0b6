# SPDX-License-Identifier: Apache-2.0
"""Checks a request body against a type's fields: the part of validation that is the same for all types.

Unknown fields and fields the role may not write are dropped without a word. Values are taken to be of
the right type. Nested objects are always checked as if they were being created: defaults are filled in, required members
must be there, also on PUT.
"""

from __future__ import annotations

import re
from typing import Any, Callable

from . import schema
from .errors import invalid
from .schema import Field

# Tells whether a row of that table and id exists in the project (removed ones count too).
Exists = Callable[[str, str], bool]

_NAME = re.compile(r"[a-zA-Z0-9-]+")


def clean(kind: schema.Type, body: dict[str, Any], create: bool, exists: Exists) -> dict[str, Any]:
    """The writable fields of `body`, converted and checked. At creation defaults are added."""
    result: dict[str, Any] = {}
    letter = "c" if create else "u"
    for name, spec in kind.fields.items():
        if letter not in spec.perm:
            continue
        if name in body:
            value = body[name]
            if value is None and spec.default is not None:
                value = spec.default
            result[name] = convert(name, spec, value, exists)
        elif create and spec.default is not None:
            result[name] = spec.default
        elif create and spec.required:
            raise invalid("MissingRequired", name)
    return result


def convert(name: str, spec: Field, value: Any, exists: Exists) -> Any:
    if value is None:
        if not spec.nullable:
            raise invalid("NotNullable", name)
        return None
    return _convert(name, spec.type, spec, value, exists)


def _convert(name: str, type_: str, spec: Field, value: Any, exists: Exists) -> Any:
    inner = re.fullmatch(r"(array|reference)\[(.+)\]", type_)
    if inner and inner.group(1) == "array":
        return [_convert(name, inner.group(2), spec, item, exists) for item in value]
    if inner:
        if not isinstance(value, str) or not exists(inner.group(2), value):
            raise invalid("InvalidReference", name)
        return value
    if type_ in schema.NESTED:
        return {"type": type_, **clean(schema.NESTED[type_], value, True, exists)}
    return _SIMPLE[type_](name, spec, value)


def _string(name: str, spec: Field, value: Any) -> str:
    text = str(value)
    if spec.min_length is not None and len(text) < spec.min_length:
        raise invalid("MinLengthExceeded", name)
    if spec.max_length is not None and len(text) > spec.max_length:
        raise invalid("MaxLengthExceeded", name)
    return text


def _int(name: str, spec: Field, value: Any) -> int:
    number = int(value)
    if spec.min is not None and number < spec.min:
        raise invalid("MinLimitExceeded", name)
    if spec.max is not None and number > spec.max:
        raise invalid("MaxLimitExceeded", name)
    return number


def _enum(name: str, spec: Field, value: Any) -> str:
    if value not in spec.options:
        raise invalid("InvalidOption", name)
    return value


_SIMPLE: dict[str, Callable[[str, Field, Any], Any]] = {
    "string": _string, "int": _int, "boolean": lambda _name, _spec, value: bool(value), "enum": _enum, "map": lambda _name, _spec, value: value, "date": _string,
    "json": lambda _name, _spec, value: value,
}


def check_name(name: Any, of_service: bool = True) -> None:
    """Names of stacks and services: letters, digits and dashes, no dash at an end, 1 to 63. Of services: no two dashes together."""
    if not isinstance(name, str) or not name:
        raise invalid("MinLengthExceeded", "name")
    if len(name) > 63:
        raise invalid("MaxLengthExceeded", "name")
    if not _NAME.fullmatch(name) or name.startswith("-") or name.endswith("-") or (of_service and "--" in name):
        raise invalid("InvalidCharacters", "name")


def storable(value: Any) -> bool:
    """Whether the server's database can hold it: its columns have characters of up to three bytes."""
    if isinstance(value, str):
        return all(ord(character) <= 0xFFFF for character in value)
    if isinstance(value, dict):
        return all(storable(k) and storable(v) for k, v in value.items())
    return not isinstance(value, list) or all(storable(item) for item in value)


def normal(value: Any) -> Any:
    """A value without what carries no meaning (nulls, type marks), to tell a change from a repetition."""
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items() if v is not None and k != "type"}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value
