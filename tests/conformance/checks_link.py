# SPDX-License-Identifier: Apache-2.0
"""Sections 1 to 3 of PROTOCOL.md: the socket, frames, hello, ping, pong, bye."""
from __future__ import annotations

import json
import struct
import time

import msgpack

from .bench import HELLO, Bench, Connection, Failed, frame
from .registry import check, slow_check
from .tables import PAGE

REFUSED = PAGE.parent / "vectors/refused"
FOREIGN = {"unknown-word"}  # of a message that is not for a provider; checks_garbage has its own


@check
def waits_for_the_socket(bench: Bench) -> None:
    """It keeps trying while there is no socket, and connects once there is one."""
    bench.unlisten()
    bench.kill()
    bench.start()
    bench.require_running(grace=1.0)
    bench.listen()
    bench.accept()


@check
def says_hello_at_once(bench: Bench) -> None:
    """Its first message is hello, without waiting for ours, with role provider, version 1 and capabilities."""
    connection = reconnect(bench)
    connection.wait(lambda: connection.first, "its hello")
    if connection.first != "hello":
        raise Failed(f"its first message is {connection.first}")
    hello = connection.wait(lambda: connection.hello, "its hello")
    if hello["role"] != "provider":
        raise Failed(f"its role is {hello['role']}")
    if not hello["version_min"] <= 1 <= hello["version_max"]:
        raise Failed(f"it speaks versions {hello['version_min']} to {hello['version_max']}")
    if "capabilities" not in hello:
        raise Failed("its hello has no capabilities")
    words = set(bench.tables.tables["listener"]["protocol"].words)
    strange = set(hello["capabilities"].get("protocols", [])) - words
    if strange:
        raise Failed(f"protocols holds {', '.join(sorted(strange))}, which no listener has")


@check
def refuses_a_version_it_does_not_speak(bench: Bench) -> None:
    """Without a common version it closes the link, and comes again."""
    connection = reconnect(bench)
    connection.send("hello", {**HELLO, "version_min": 4000000000, "version_max": 4000000001})
    connection.wait_closed("a hello without a common version")
    works(bench.greet())


@check
def takes_the_greatest_common_version(bench: Bench) -> None:
    """A peer that speaks newer versions as well is welcome."""
    connection = reconnect(bench)
    connection.send("hello", {**HELLO, "version_max": 4000000000})
    works(connection)


@check
def refuses_a_role_that_is_no_translator(bench: Bench) -> None:
    """A hello of another role closes the link."""
    connection = reconnect(bench)
    connection.send("hello", {**HELLO, "role": "watcher"})
    connection.wait_closed("a hello of a watcher")
    works(bench.greet())


@check
def understands_nothing_before_our_hello(bench: Bench) -> None:
    """An object before the peer's hello closes the link."""
    connection = reconnect(bench)
    connection.send("sync-begin", {})
    connection.send("commit", {"serial": 1})
    connection.wait_closed("messages before hello")


@check
def answers_ping(bench: Bench) -> None:
    """A ping is answered by a pong with the same number, also the greatest there is."""
    connection = bench.fresh()
    for seq in (1, 0, 2 ** 64 - 1):
        connection.send("ping", {"seq": seq})
        connection.wait(lambda seq=seq: seq in connection.pongs, f"pong {seq}")


@check
def reads_frames_in_any_pieces(bench: Bench) -> None:
    """Frames arrive byte by byte, or many at once."""
    connection = bench.fresh()
    for byte in frame("ping", {"seq": 7}):
        connection.send_bytes(bytes([byte]))
    connection.wait(lambda: 7 in connection.pongs, "a pong to a ping sent byte by byte")
    connection.send_bytes(b"".join(frame("ping", {"seq": seq}) for seq in range(100, 200)))
    connection.wait(lambda: len(set(connection.pongs) & set(range(100, 200))) >= 1, "a pong to a hundred pings in one piece")


@check
def skips_what_it_does_not_know(bench: Bench) -> None:
    """Unknown types, unknown kinds, unknown keys at every depth and further items of a message are skipped."""
    connection = reconnect(bench)
    connection.send("hello", {**HELLO, "x-new": {"deep": [1, {"er": b"\0"}]}}, "more", 7)
    connection.wait(lambda: connection.hello, "its hello")
    wishes = bench.wishes()
    connection.send("x-new", {"anything": [None, 1.5, -3, b"\xff"]})
    connection.send("sync-begin", {"x-new": True})
    connection.send("upsert", {"kind": "x-new", "id": "1", "rev": 1})
    connection.send("remove", {"kind": "x-new", "id": "1"})
    connection.send("remove", {"kind": "pool", "id": "nobody/has:this"})
    pool = wishes.pool("web", "127.0.0.1")
    new = {"x-new": -1, "x-list": [{}, []]}
    connection.upsert(wishes.load_balancer(**new), wishes.virtual_host(), {**pool, "endpoints": [{**pool["endpoints"][0], **new}], **new})
    connection.commit()
    connection.roundtrip()


@check
def takes_a_frame_of_the_greatest_size(bench: Bench) -> None:
    """A frame of 4 MiB is read."""
    connection = bench.fresh()
    empty = len(frame("x-new", {"x": b"\0" * 70000})) - 4 - 70000
    connection.send("x-new", {"x": b"\0" * (4 * 1024 * 1024 - empty)})
    connection.roundtrip()


@check
def survives_garbage(bench: Bench) -> None:
    """Every payload of proto/vectors/refused closes the link, and hurts nothing else: it connects again and works."""
    why = json.loads((REFUSED / "why.json").read_text())
    wrong = []
    for name, text in sorted(why.items()):
        if name not in FOREIGN:
            wrong += refuse_one(bench, (REFUSED / f"{name}.bin").read_bytes(), text)
    if wrong:
        raise Failed("it keeps the link open after " + "; ".join(wrong))


@check
def survives_malformed_objects(bench: Bench) -> None:
    """An object with an unknown word, a wrong type, a missing key or an endless text closes the link."""
    wishes = bench.wishes()
    lb, pool = wishes.load_balancer(), wishes.pool("web", "127.0.0.1")
    cases = {
        "a listener of an unknown protocol": frame("upsert", {**lb, "listeners": [{"port": 1, "protocol": "pigeon"}]}),
        "a load balancer without id": frame("upsert", {key: value for key, value in lb.items() if key != "id"}),
        "a pool without rev": frame("upsert", {key: value for key, value in pool.items() if key != "rev"}),
        "an id that is a number": frame("upsert", {**pool, "id": 7}),
        "an id of 2,000 bytes": frame("upsert", {**pool, "id": "x" * 2000}),
        "a commit without serial": frame("commit", {}),
    }
    wrong = []
    for text, data in cases.items():
        wrong += refuse_one(bench, frame("sync-begin", {}) + data, text)
    if wrong:
        raise Failed("it keeps the link open after " + "; ".join(wrong))


@check
def survives_half_a_frame(bench: Bench) -> None:
    """A link that ends within a frame harms nothing."""
    data = frame("upsert", bench.wishes().load_balancer())
    for length in (1, 3, 4, 5, len(data) - 1):
        bench.fresh().send_bytes(data[:length])
    works(bench.fresh())


@check
def does_not_believe_lengths(bench: Bench) -> None:
    """A header that announces four billion items costs it no memory."""
    bench.fresh().roundtrip()
    before = memory_peak(bench)
    for head in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"):
        payload = b"\x92" + msgpack.packb("upsert") + b"\x81" + msgpack.packb("x") + head
        bench.fresh().send_bytes(struct.pack(">I", len(payload)) + payload)
        bench.connection.wait_closed("such a frame")
        if memory_peak(bench) - before > 256 * 1024:
            raise Failed(f"it has grown from {before} to {memory_peak(bench)} KiB")
    works(bench.fresh())


@check
def comes_back_after_bye(bench: Bench) -> None:
    """After bye it closes, connects again and says hello anew."""
    connection = bench.fresh()
    connection.send("bye", {"reason": "the check ends this link"})
    works(bench.greet())


@check
def pauses_before_it_comes_back(bench: Bench) -> None:
    """Between a lost link and the next attempt it waits for at least 0.1 s."""
    connection = bench.fresh()
    for _ in range(4):
        connection.close()
        at = time.monotonic()
        connection = bench.accept()
        if time.monotonic() - at < 0.08:
            raise Failed(f"it came back after {time.monotonic() - at:.3f} s")
        connection.say_hello()  # a link that came about begins with the shortest pause
        connection.wait(lambda link=connection: link.hello, "its hello")


@slow_check
def pings_when_it_hears_nothing(bench: Bench) -> None:
    """After 5 s of silence it sends a ping."""
    connection = bench.fresh()
    connection.wait(lambda: connection.pings, "a ping", max(bench.timeout, 30))


@slow_check
def cuts_a_hung_peer_off(bench: Bench) -> None:
    """When nothing was heard for 20 s it closes the link and connects again."""
    connection = bench.fresh()
    connection.answers_pings = False
    deadline = time.monotonic() + max(bench.timeout, 45)
    while not connection.is_closed:
        connection.linger(0.5)
        bench.require_running()
        if time.monotonic() > deadline:
            raise Failed("it stays with a peer that says nothing")
    works(bench.greet())


@slow_check
def cuts_off_a_peer_without_hello(bench: Bench) -> None:
    """A peer that says no hello for 20 s is left."""
    connection = reconnect(bench)
    connection.wait(lambda: connection.hello, "its hello")
    deadline = time.monotonic() + max(bench.timeout, 45)
    while not connection.is_closed:
        connection.linger(0.5)
        bench.require_running()
        if time.monotonic() > deadline:
            raise Failed("it stays with a peer that says no hello")
    works(bench.greet())


# What the checks share


def reconnect(bench: Bench) -> Connection:
    """A new connection on which we have said nothing."""
    if bench.connection is not None:
        bench.connection.close()
    if bench.process is None or bench.process.poll() is not None:
        bench.kill()
        bench.start()
    bench.listen()
    return bench.accept()


def works(connection: Connection) -> None:
    connection.wait(lambda: connection.hello, "its hello")
    connection.roundtrip()


def refuse_one(bench: Bench, data: bytes, text: str) -> list[str]:
    """Sends the data on a new connection and wants that to be closed; what to complain of."""
    connection = bench.fresh()
    connection.send_bytes(data)
    try:
        connection.wait_closed(text)
    except Failed:
        bench.require_running()
        return [text]
    finally:
        connection.close()
    return []


def memory_peak(bench: Bench) -> int:
    """In KiB."""
    bench.require_running()
    with open(f"/proc/{bench.process.pid}/status", encoding="utf-8", errors="replace") as file:  # it stands there until it is waited for
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)
