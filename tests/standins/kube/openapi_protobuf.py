# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v2 as protobuf, the only form in which kubectl reads it.

The messages are those of gnostic's OpenAPIv2.proto; only the members that the documents of this server
use are written. Extensions travel as YAML text.
"""

from __future__ import annotations

from typing import Any, Iterable

from .encoding import to_yaml


def document(source: dict[str, Any]) -> bytes:
    """openapi.v2.Document."""
    info = _text(1, source["info"]["title"]) + _text(2, source["info"]["version"])
    paths = b"".join(
        _message(2, _text(1, path) + _message(2, _message(8, _operation(item["patch"]))))
        for path, item in source["paths"].items()
    )
    definitions = b"".join(_named_schemas(source["definitions"].items()))
    return _text(1, source["swagger"]) + _message(2, info) + _message(8, paths) + _message(9, definitions)


def _operation(source: dict[str, Any]) -> bytes:
    out = b""
    for parameter in source["parameters"]:
        query = _text(2, "query") + _text(4, parameter["name"]) + _text(6, parameter["type"])
        out += _message(8, _message(1, _message(2, _message(3, query))))
    return out + _extensions(13, source)


def _schema(source: dict[str, Any]) -> bytes:
    out = b""
    if "format" in source:
        out += _text(2, source["format"])
    if "description" in source:
        out += _text(4, source["description"])
    if "additionalProperties" in source:
        out += _message(21, _message(1, _schema(source["additionalProperties"])))
    if "type" in source:
        out += _message(22, _text(1, source["type"]))
    if "items" in source:
        out += _message(23, _message(1, _schema(source["items"])))
    if "properties" in source:
        out += _message(25, b"".join(_named_schemas(source["properties"].items())))
    return out + _extensions(31, source)


def _named_schemas(schemas: Iterable[tuple[str, dict[str, Any]]]) -> Iterable[bytes]:
    for name, schema in schemas:
        yield _message(1, _text(1, name) + _message(2, _schema(schema)))


def _extensions(number: int, source: dict[str, Any]) -> bytes:
    return b"".join(
        _message(number, _text(1, name) + _message(2, _text(2, to_yaml(value).decode())))
        for name, value in source.items()
        if name.startswith("x-")
    )


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())
