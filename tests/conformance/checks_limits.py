# SPDX-License-Identifier: Apache-2.0
"""Section 2 of PROTOCOL.md to the letter: what is just within its rules is taken, what is just beyond them closes the link."""
from __future__ import annotations

import struct

import msgpack

from .bench import HELLO, Bench, Failed, frame
from .checks_link import reconnect, refuse_one, works
from .message import DEPTH_MAX, VALUES_MAX
from .registry import check
from .tables import LIST_MAX
from .wishes import revised


def framed(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def unknown(value: bytes) -> bytes:
    """A message of a type that nobody knows; the value stands in it as bytes."""
    return framed(b"\x92\xa5x-new\x81\xa1x" + value)


def under_unknown_key(value: bytes) -> bytes:
    """A ping; the value stands under a key that nobody knows."""
    return framed(b"\x92\xa4ping\x82\xa3seq\x01\xa1x" + value)


def nested(levels: int) -> bytes:
    """With the message and its body so many levels in all."""
    return b"\x91" * (levels - 2) + b"\xc0"


def values(count: int) -> bytes:
    """With what is around it in unknown() so many values in all."""
    return b"\xdd" + struct.pack(">I", count - 5) + b"\xc0" * (count - 5)


@check
def takes_what_is_within_the_limits(bench: Bench) -> None:
    """What is at a limit of section 2, and whatever stands under keys and types that are not known, is taken."""
    wishes = bench.wishes()
    long_id = ("\u00e4 \"/'{}\n" * 200).encode()[:1000].decode(errors="ignore")
    pool = {**wishes.pool("web", "127.0.0.1"), "id": long_id}
    cases = {
        f"{DEPTH_MAX} levels": unknown(nested(DEPTH_MAX)),
        f"{VALUES_MAX} values": unknown(values(VALUES_MAX)),
        "a key that is not known twice": framed(b"\x92\xa4ping\x83\xa3seq\x01\xa1x\x01\xa1x\x02"),
        "a map with keys that are no text": under_unknown_key(b"\x83\x01\x02\x90\x03\xc0\x04"),
        "binary, numbers of all kinds, extensions": under_unknown_key(
            b"\x96\xc4\x02\xff\0\xca" + bytes(4) + b"\xcb" + bytes(8) + b"\xd3" + b"\xff" * 8 + b"\xc7\x03\x05abc\xd4\x05a"),
        "an upsert of an unknown kind that is otherwise nothing we know": frame("upsert", {"kind": "x-new", "id": 7, "revision": 8}),
        "a remove of an unknown kind": frame("remove", {"kind": "x-new", "name": "new"}),
        "a sync-begin of an unknown kind": frame("sync-begin", {"kind": "x-new"}),
        "an id with spaces, quotation marks and line breaks": frame("upsert", revised(pool)),
        "further items of a message": frame("ping", {"seq": 5}, None, {"x": 1}),
    }
    for text, data in cases.items():
        connection = bench.fresh()
        connection.snapshot(wishes.usual())
        connection.send_bytes(data)
        try:
            connection.roundtrip()
        except Failed as failed:
            raise Failed(f"after {text}: {failed}") from None


@check
def refuses_what_is_beyond_the_limits(bench: Bench) -> None:
    """What breaks a rule of section 2, also where it would be skipped, and what is not for a provider, or not yet, closes the link."""
    wishes = bench.wishes()
    pool, lb = wishes.pool("web", "127.0.0.1"), wishes.load_balancer()
    cases = {
        f"{DEPTH_MAX + 1} levels": unknown(nested(DEPTH_MAX + 1)),
        f"{VALUES_MAX + 1} values": unknown(values(VALUES_MAX + 1)),
        "NUL in a text that is skipped": under_unknown_key(b"\xa3a\0b"),
        "a skipped text that is no UTF-8": under_unknown_key(b"\xa2a\xff"),
        "a skipped key that holds NUL": framed(b"\x92\xa4ping\x82\xa3seq\x01\xa2x\0\x01"),
        "a key that is a number": framed(b"\x92\xa4ping\x82\xa3seq\x01\x07\x01"),
        "a key that is binary": framed(b"\x92\xa4ping\x82\xa3seq\x01\xc4\x01x\x01"),
        "a type that is binary": framed(b"\x92\xc4\x04ping\x81\xa3seq\x01"),
        "true where a number belongs": frame("ping", {"seq": True}),
        "a fraction where a number belongs": frame("ping", {"seq": 1.5}),
        "a number below zero": frame("ping", {"seq": -1}),
        "binary where text belongs": frame("upsert", {**pool, "id": b"pool/web"}),
        "a number where true or false belongs": frame("upsert", {**lb, "absent": 1}),
        "a list where a map belongs": frame("upsert", {**pool, "endpoints": [[]]}),
        f"a list of {LIST_MAX + 1} items": frame("upsert", {**pool, "endpoints": [{"ip": "127.0.0.1", "port": 1}] * (LIST_MAX + 1)}),
        "a second hello": frame("hello", HELLO),
        "a status": frame("lb-status", {"id": "x", "rev": 1, "state": "applied"}),
        "the settings of a watcher": frame("settings", {"kinds": []}),
        "bytes behind the message": framed(b"\x92\xa4ping\x81\xa3seq\x01\xc0"),
    }
    wrong = [problem for text, data in cases.items() for problem in refuse_one(bench, frame("sync-begin", {}) + data, text)]
    wrong += refuse_one(bench, frame("upsert", pool), "an upsert before sync-begin")
    wrong += refuse_one(bench, frame("commit", {"serial": 1}), "a commit before sync-begin")
    connection = reconnect(bench)
    connection.send("x-new", {})
    connection.wait_closed("a message of an unknown type before hello")
    if wrong:
        raise Failed("it keeps the link open after " + "; ".join(wrong))
    works(bench.fresh())
