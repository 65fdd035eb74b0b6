# SPDX-License-Identifier: Apache-2.0
"""What travels on both links (proto/PROTOCOL.md): each frame has a length and one message, an array of a type and a body."""
from __future__ import annotations

import struct
from typing import Any

import msgpack

Body = dict[str, Any]
Message = tuple[str, Body]

# Whatever may come before a hello, and after it.
NONSENSE = {
    "garbage": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 9,
    "too-large": struct.pack(">I", 4 * 1024 * 1024 + 1) + b"x" * 65536,
    "four-billion": b"\xff\xff\xff\xff",
    "empty": b"\0\0\0\0",
    "bomb": struct.pack(">I", 5) + b"\xdf\xff\xff\xff\xff",
    "no-message": struct.pack(">I", 3) + b"\x91\xa1x",
    "not-text": struct.pack(">I", 4) + b"\x92\xa1\xff\x80",
    "two-values": struct.pack(">I", 6) + b"\x92\xa1x\x80\xc0\xc0",
    "nested": struct.pack(">I", 44) + b"\x92\xa1x\x81\xa1x" + b"\x91" * 37 + b"\xc0",
}
# Half frames end with the connection.
HALVES = {"half-a-length": b"\0\0", "half-a-frame": struct.pack(">I", 100) + b"\x92\xa6upsert\x81"}


def pack(kind: str, body: Body) -> bytes:
    return msgpack.packb([kind, body], use_bin_type=True)


def unpack(payload: bytes | memoryview) -> Message:
    kind, body = msgpack.unpackb(payload, raw=False)
    return kind, body


def with_length(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def frame(kind: str, body: Body) -> bytes:
    return with_length(pack(kind, body))


def split(buffer: bytes) -> tuple[list[Message], bytes]:
    """The messages that are there in full, and the bytes behind them."""
    found: list[Message] = []
    at = 0
    while len(buffer) >= at + 4:
        end = at + 4 + struct.unpack_from(">I", buffer, at)[0]
        if len(buffer) < end:
            break
        found.append(unpack(memoryview(buffer)[at + 4:end]))
        at = end
    return found, buffer[at:]


def frames(data: bytes) -> list[Message]:
    """All of it as messages."""
    found, rest = split(data)
    assert not rest, "half a frame"
    return found


def hello(role: str, **more: Any) -> Body:
    return {"version_min": 1, "version_max": 1, "role": role, "name": "test", "software": "test 1", **more}


def key_of(record: Body) -> Body:
    """What identifies a record on the source link."""
    return {name: record[name] for name in ("kind", "namespace", "name", "uid") if name in record}
