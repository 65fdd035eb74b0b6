# SPDX-License-Identifier: Apache-2.0
"""A small language for the shape of API objects, and the decoder that follows it.

One description of each type drives everything that needs to know the shape: decoding requests the way the
API server's Go structs do (unknown fields dropped, wrong types refused, zero values left out, keys in a
fixed order), strategic merge patches and managedFields.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import re
from dataclasses import dataclass, field
from typing import Any

DEPTH_MAX = 200


class DecodeError(Exception):
    """The document does not have the shape of the type; the API answers 400."""


@dataclass(frozen=True)
class Scalar:
    """A leaf. `kind` is one of the keys of SCALARS below."""

    kind: str


@dataclass(frozen=True)
class MapOf:
    """A map with string keys. atomic: managedFields name it as a whole."""

    value: Any
    atomic: bool = False


@dataclass(frozen=True)
class ListOf:
    """A list.

    merge_key: field by which a strategic merge patch finds the element to merge into; "" with strategy
    "merge" for lists of scalars. keys: the fields that name an element in managedFields. kind:
    atomic, set or map.
    """

    item: Any
    merge_key: str = ""
    strategy: str = ""
    keys: tuple[str, ...] = ()
    kind: str = "atomic"


@dataclass(frozen=True)
class Field:
    """A member of a struct. emit: when the encoder writes it.

    omitempty: only when not zero; pointer: whenever it was given; always: also when zero.
    """

    type: Any
    emit: str = "omitempty"


@dataclass(eq=False)
class Struct:
    """An object with known members, kept in the order in which they are emitted.

    atomic: managedFields name it as a whole.
    """

    name: str
    fields: dict[str, Field] = field(default_factory=dict)
    atomic: bool = False


STRING, INT, BOOL = Scalar("string"), Scalar("int"), Scalar("bool")
INT_OR_STRING, TIME, MICRO_TIME = Scalar("int-or-string"), Scalar("time"), Scalar("micro-time")
BYTES, ANY = Scalar("bytes"), Scalar("any")
STRING_MAP = MapOf(STRING)


def struct(name: str, /, *, atomic: bool = False, **members: Any) -> Struct:
    """Makes a struct of `name=type` pairs; a bare type is an omitempty member, a bare struct a pointer."""
    return Struct(name, {key: _member(m) for key, m in members.items()}, atomic)


def _member(given: Any) -> Field:
    if isinstance(given, Field):
        return given
    return Field(given, "pointer" if isinstance(given, Struct) else "omitempty")


def ptr(type_: Any) -> Field:
    """A member whose absence differs from its zero value."""
    return Field(type_, "pointer")


def always(type_: Any) -> Field:
    """A member that is emitted even when zero."""
    return Field(type_, "always")


def keyed(item: Struct, *keys: str, merge_key: str = "") -> ListOf:
    """A list whose elements are known by some of their fields."""
    return ListOf(item, merge_key=merge_key or keys[0], strategy="merge", keys=keys, kind="map")


def string_set() -> ListOf:
    """A list of strings without order or repetition."""
    return ListOf(STRING, strategy="merge", kind="set")


class Reader:
    """What was found on the way. issues: what a strict reader would complain of and a lenient one drops."""

    def __init__(self) -> None:
        self.issues: list[str] = []


def decode(schema: Any, value: Any, reader: Reader | None = None, path: str = "", depth: int = 0) -> Any:
    """Returns `value` in canonical form. Raises DecodeError where Go's decoder would refuse it."""
    reader = reader or Reader()
    if depth > DEPTH_MAX:
        raise DecodeError("json: exceeded max depth")
    if isinstance(schema, Struct):
        return _decode_struct(schema, value, reader, path, depth)
    if isinstance(schema, ListOf):
        return _decode_list(schema, value, reader, path, depth)
    if isinstance(schema, MapOf):
        return _decode_map(schema, value, reader, path, depth)
    return SCALARS[schema.kind](value, path)


def zero(schema: Any) -> Any:
    """The value that stands for "nothing was said"."""
    if isinstance(schema, Struct):
        return decode(schema, {})
    if isinstance(schema, (ListOf, MapOf)):
        return None
    return ZEROES.get(schema.kind)


def _decode_struct(schema: Struct, value: Any, reader: Reader, path: str, depth: int) -> dict:
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise _wrong(value, path, schema.name)
    out: dict[str, Any] = {}
    for key, member in schema.fields.items():
        given = value.get(key)
        if given is None:
            if member.emit == "always":
                out[key] = zero(member.type)
            continue
        got = decode(member.type, given, reader, f"{path}.{key}" if path else key, depth + 1)
        if member.emit != "omitempty" or not _is_zero(got):
            out[key] = got
    for key in value:
        if key not in schema.fields:
            reader.issues.append(f'unknown field "{path}.{key}"' if path else f'unknown field "{key}"')
    return out


def _decode_list(schema: ListOf, value: Any, reader: Reader, path: str, depth: int) -> list | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise _wrong(value, path, "[]" + type_name(schema.item))
    if not value:
        # Storage knows no difference between an empty list and none.
        return None
    return [
        decode(schema.item, item, reader, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)
    ]


def _decode_map(schema: MapOf, value: Any, reader: Reader, path: str, depth: int) -> dict | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _wrong(value, path, "map[string]" + type_name(schema.value))
    if schema.value is ANY:
        return value
    return {
        key: decode(schema.value, value[key], reader, f"{path}.{key}", depth + 1) for key in sorted(value)
    }


def type_name(schema: Any) -> str:
    """The name of a type in an error message."""
    return schema.kind if isinstance(schema, Scalar) else getattr(schema, "name", "object")


def _is_zero(value: Any) -> bool:
    return (
        value is None
        or value is False
        or value == ""
        or value == []
        or (value == 0 and value is not True)
        or (isinstance(value, dict) and not value)
    )


def _wrong(value: Any, path: str, want: str) -> DecodeError:
    names = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
    return DecodeError(
        f"json: cannot unmarshal {names.get(type(value), 'null')} into Go struct field {path} of type {want}"
    )


def _string(value: Any, path: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(value, path, "string")
    return value


def _int(value: Any, path: str) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(value, path, "int32")
    if not -(1 << 63) <= value < 1 << 63:
        raise DecodeError(f"json: cannot unmarshal number {value} into Go struct field {path} of type int64")
    return value


def _bool(value: Any, path: str) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise _wrong(value, path, "bool")
    return value


def _int_or_string(value: Any, path: str) -> Any:
    return value if isinstance(value, str) else _int(value, path)


_TIME = re.compile(r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$")
_MICRO = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$")


def _time(value: Any, path: str) -> str | None:
    if value is None:
        return None
    moment = _moment(_string(value, path), _TIME, "2006-01-02T15:04:05Z07:00")
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(value: Any, path: str) -> str | None:
    if value is None:
        return None
    moment = _moment(_string(value, path), _MICRO, "2006-01-02T15:04:05.000000Z07:00")
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(text: str, pattern: re.Pattern, layout: str) -> datetime.datetime:
    complaint = f'parsing time "{text}" as "{layout}": cannot parse'
    if not pattern.match(text):
        raise DecodeError(complaint)
    text = re.sub(r"\.(\d{1,6})\d*", lambda m: "." + m.group(1).ljust(6, "0"), text.upper())
    try:
        return datetime.datetime.fromisoformat(text).astimezone(datetime.timezone.utc)
    except (ValueError, OverflowError):
        raise DecodeError(complaint) from None


def _bytes(value: Any, path: str) -> str:
    text = _string(value, path)
    try:
        base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        raise DecodeError("illegal base64 data at input byte 0") from None
    return text


SCALARS = {
    "string": _string,
    "int": _int,
    "bool": _bool,
    "int-or-string": _int_or_string,
    "time": _time,
    "micro-time": _micro_time,
    "bytes": _bytes,
    "any": lambda value, path: value,
}
ZEROES = {"string": "", "int": 0, "bool": False, "int-or-string": 0, "bytes": ""}
