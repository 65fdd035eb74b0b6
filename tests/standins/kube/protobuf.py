# SPDX-License-Identifier: Apache-2.0
"""Request bodies in protobuf: newer kubectl releases send what they create from typed objects this way.

Only reading is needed, since such clients accept JSON answers. The envelope is runtime.Unknown of
apimachinery; the messages are those of the generated.proto files of kubernetes/api, with the field
numbers given in the shapes.
"""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any, Iterator

from .schema import ListOf, MapOf, Scalar, Struct

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
VARINT, FIXED64, BYTES_, FIXED32 = 0, 1, 2, 5
DEPTH_MAX = 50


class Unreadable(Exception):
    """The bytes are not the message they should be."""


def read(data: bytes, shape: Struct) -> dict[str, Any]:
    """An object in the form that JSON would have given."""
    if not data.startswith(MAGIC):
        raise Unreadable(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    envelope = _fields(data[len(MAGIC) :])
    kind = _fields(_last(envelope, 1, b""))
    out = {
        "apiVersion": _last(kind, 1, b"").decode("utf-8", "replace"),
        "kind": _last(kind, 2, b"").decode("utf-8", "replace"),
    }
    return out | _struct(_last(envelope, 2, b""), shape, 0)


def _parse(data: bytes) -> Iterator[tuple[int, Any]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire == VARINT:
            value, position = _varint(data, position)
        elif wire == BYTES_:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        elif wire in (FIXED64, FIXED32):
            width = 8 if wire == FIXED64 else 4
            value, position = int.from_bytes(data[position : position + width], "little"), position + width
        else:
            raise Unreadable(f"proto: illegal wireType {wire}")
        if position > len(data):
            raise Unreadable("unexpected EOF")
        yield number, value


def _fields(data: bytes) -> dict[int, list[Any]]:
    out: dict[int, list[Any]] = {}
    for number, value in _parse(data):
        out.setdefault(number, []).append(value)
    return out


def _last(fields: dict[int, list[Any]], number: int, default: Any) -> Any:
    return fields.get(number, [default])[-1]


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise Unreadable("unexpected EOF")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position


def _struct(data: Any, shape: Struct, depth: int) -> dict[str, Any]:
    if not isinstance(data, bytes) or depth > DEPTH_MAX:
        raise Unreadable(f"proto: wrong wireType for {shape.name}")
    names = [name for name in shape.fields if name not in ("kind", "apiVersion") or depth]
    numbers = shape.numbers or range(1, len(names) + 1)
    found = _fields(data)
    out = {}
    for number, name in zip(numbers, names):
        if number in found:
            out[name] = _value(found[number], shape.fields[name].type, depth + 1)
    if shape.name == "IngressRule" and "http" in out:
        out["http"] = _embedded(found, shape, depth)
    return out


def _embedded(found: dict[int, list[Any]], shape: Struct, depth: int) -> Any:
    """`http` of an Ingress rule sits in a message of its own, which JSON does not show."""
    inner = _fields(_last(found, 2, b""))
    return _struct(_last(inner, 1, b""), shape.fields["http"].type, depth + 1) if 1 in inner else None


def _value(values: list[Any], shape: Any, depth: int) -> Any:
    if isinstance(shape, ListOf):
        return [_value([value], shape.item, depth) for value in values]
    if isinstance(shape, MapOf):
        entries = [_fields(value) for value in values]
        return {
            _last(entry, 1, b"").decode("utf-8", "replace"): _value(entry.get(2, [b""]), shape.value, depth)
            for entry in entries
        }
    if isinstance(shape, Struct):
        return _struct(values[-1], shape, depth)
    assert isinstance(shape, Scalar)
    return _scalar(values[-1], shape.kind)


def _scalar(value: Any, kind: str) -> Any:
    if kind in ("int", "bool"):
        if not isinstance(value, int):
            raise Unreadable("proto: wrong wireType")
        return bool(value) if kind == "bool" else value - (1 << 64) if value >> 63 else value
    if not isinstance(value, bytes):
        raise Unreadable("proto: wrong wireType")
    if kind == "string":
        return value.decode("utf-8", "replace")
    if kind == "bytes":
        return base64.b64encode(value).decode()
    inner = _fields(value)
    if kind == "int-or-string":
        return _last(inner, 3, b"").decode("utf-8", "replace") if _last(inner, 1, 0) else _last(inner, 2, 0)
    if kind in ("time", "micro-time"):
        return _instant(_last(inner, 1, 0), _last(inner, 2, 0), kind)
    return _raw_json(_last(inner, 1, b""))


def _instant(seconds: int, nanos: int, kind: str) -> str | None:
    if not seconds and not nanos:
        return None
    if seconds >> 63:
        seconds -= 1 << 64
    try:
        moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(
            microsecond=nanos // 1000
        )
    except (ValueError, OverflowError, OSError):
        raise Unreadable("proto: timestamp out of range") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ" if kind == "time" else "%Y-%m-%dT%H:%M:%S.%fZ")


def _raw_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
