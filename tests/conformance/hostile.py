# SPDX-License-Identifier: Apache-2.0
"""What tests/conformance/broken.py says instead of its first status: invalid, or made to harm whoever reads it."""
from __future__ import annotations

import msgpack


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def raw_status(pairs: bytes, count: int) -> bytes:
    """A status with `count` pairs of keys and values, given as bytes."""
    return framed(b"\x92\xa9lb-status" + bytes([0x80 + count]) + pairs)


def status(**more) -> bytes:
    body = {"id": "x", "rev": 1, "state": "applied", **more}
    return framed(msgpack.packb(["lb-status", {key: value for key, value in body.items() if value is not None}]))


def addressed(**address) -> bytes:
    return status(addresses_known=True, addresses=[{"ip": "192.0.2.1"}, address])


INSTEAD = {
    "status-without-id": status(id=None),
    "status-with-an-empty-id": status(id=""),
    "status-with-a-rev-of-text": status(rev="7"),
    "status-with-a-rev-below-zero": status(rev=-7),
    "status-of-an-unknown-state": status(state="done"),
    "failed-without-a-message": status(state="failed"),
    "message-of-5000-bytes": status(message="\u00e4" * 2500),
    "message-with-nul": status(message="a\0b"),
    "message-that-is-no-utf8": raw_status(b"\xa2id\xa1x\xa3rev\x01\xa5state\xa7applied\xa7message\xa2a\xff", 4),
    "key-that-stands-twice": raw_status(b"\xa2id\xa1x\xa2id\xa1y\xa3rev\x01\xa5state\xa7applied", 4),
    "key-that-is-a-number": raw_status(b"\xa2id\xa1x\x07\xa1y\xa3rev\x01\xa5state\xa7applied", 4),
    "key-that-is-a-list": raw_status(b"\xa2id\xa1x\x91\x07\xa1y\xa3rev\x01\xa5state\xa7applied", 4),
    "address-that-is-none": addressed(ip="192.0.2.300"),
    "address-without-ip-and-name": addressed(ports=[{"port": 80}]),
    "address-with-ip-and-name": addressed(ip="192.0.2.2", hostname="lb.example.com"),
    "name-that-is-none": addressed(hostname="http://lb.example.com"),
    "port-of-70000": addressed(ip="192.0.2.2", ports=[{"port": 80}, {"port": 70000}]),
    "addresses-that-are-a-text": status(addresses="192.0.2.1"),
    "notice-without-a-word": status(notices=[{"reason": "it broke", "message": "it broke"}]),
    "message-of-the-translator": framed(msgpack.packb(["commit", {"serial": 1}])),
    "body-that-is-a-list": framed(b"\x92\xa9lb-status\x90"),
    "type-that-is-a-list": framed(b"\x92\x90\x80"),
    "type-that-is-a-map": framed(b"\x92\x80\x80"),
    "message-that-is-a-number": framed(b"\x07"),
    "no-msgpack": framed(b"\xc1"),
    "bytes-behind-the-message": framed(b"\x92\xa9lb-status\x80\x80"),
    "nested-20-times": framed(b"\x92\xa5x-new\x81\xa1x" + b"\x91" * 20 + b"\xc0"),
    "nested-100000-times": framed(b"\x92\xa5x-new\x81\xa1x" + b"\x91" * 100000 + b"\xc0"),
    "four-billion-items": framed(b"\x92\xa5x-new\x81\xa1x\xdd\xff\xff\xff\xff"),
    "a-million-values": framed(b"\x92\xa5x-new\x81\xa1x\x93" + 3 * (b"\xdd\x00\x05\x00\x00" + b"\xc0" * 0x50000)),
    "empty-frame": framed(b""),
    "frame-of-four-gigabytes": b"\xff\xff\xff\xff",
}
