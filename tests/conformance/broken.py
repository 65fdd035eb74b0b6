#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/provider.py with one fault, named by the first argument: each is what a check must find."""
from __future__ import annotations

import functools
import itertools
import os
import pathlib
import signal
import sys
import threading
import time

from faults import FAULTS, around, end, fault, ignores, never_says, on_commit, on_message, on_type, provider
import broken_filter  # noqa: F401  its faults register themselves
from hostile import INSTEAD
from serving import servers_of_provider

Socket = provider.socket.socket


def without_addresses(body: dict) -> dict:
    return {key: value for key, value in body.items() if not key.startswith("addresses")}


def frame_len(data: bytes) -> int:
    return 4 + int.from_bytes(data[:4], "big")


def is_frame(data: bytes) -> bool:
    return len(data) >= 4 and len(data) == frame_len(data)


@fault
def gives_up():
    def wrapper(original, *arguments):
        try:
            return original(*arguments)
        except OSError:
            return end()
    around(Socket, "connect", wrapper)


def started_at() -> float:
    """Of this process, in seconds since 1970."""
    ticks = int(pathlib.Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")


@fault
def never_waits():
    """Ends as if it had looked for the socket when it was started, however long the start takes."""
    around(Socket, "connect", lambda original, link, path:
           original(link, path) if os.stat(path).st_ctime < started_at() else end())


@fault
def hello_late():
    patient()
    held = []
    around(provider, "send", lambda original, *message: held.append((original, message)))
    on_type("hello", lambda link, body: held[-1][0](*held[-1][1]))


@fault
def any_version():
    on_type("hello", lambda link, body: body.update(version_min=1))


@fault
def only_version_1():
    on_type("hello", lambda link, body: body.update(version_min=body["version_max"]))


@fault
def any_role():
    on_type("hello", lambda link, body: body.update(role="translator"))


@fault
def no_manners():
    seen = []
    on_type("hello", lambda link, body: seen.append(link))
    on_message(lambda link, message: message if message[0] == "hello" or link in seen else None)


@fault
def no_pong():
    never_says("pong")


@fault
def wrong_pong():
    around(provider, "send", lambda original, link, kind, body:
           original(link, kind, {"seq": body["seq"] // 2} if kind == "pong" else body))


@fault
def no_ping():
    never_says("ping")


@fault
def patient():
    provider.DEAD_AFTER_S = 1e9


@fault
def one_frame_at_a_time():
    around(Socket, "recv", lambda original, *arguments:
           piece if is_frame(piece := original(*arguments)) else end())


@fault
def knows_all():
    on_message(lambda link, message: message if message[0] in (*provider.MESSAGES, "") else end())


def dies_at_unknown_kinds_of(word: bytes) -> None:
    around(provider, "parse", lambda original, payload:
           message if (message := original(payload))[0] or word not in payload else end())


@fault
def knows_all_kinds():
    dies_at_unknown_kinds_of(b"upsert")


@fault
def knows_all_kinds_to_remove():
    dies_at_unknown_kinds_of(b"remove")


@fault
def knows_all_keys():
    on_message(lambda link, message: end() if any(key.startswith("x-") for key in message[1]) else message)


@fault
def small_frames():
    provider.FRAME_MAX = 1024 * 1024


@fault
def few_values():
    provider.VALUES_MAX = 100000


@fault
def counts_nothing():
    provider.VALUES_MAX = 1 << 24


@fault
def looks_at_no_text():
    provider.check_texts = lambda value: None


@fault
def obeys_everybody():
    provider.NOT_FOR_PROVIDERS = ()


@fault
def trusting():
    provider.parse = lambda payload: tuple(provider.msgpack.unpackb(payload, strict_map_key=False)[:2])


@fault
def no_forms():
    provider.check = lambda form, value, place: None


@fault
def whole_frames_only():
    rest = {}

    def wrapper(original, link, size):
        rest[link] = rest.get(link, b"") + (piece := original(link, size))
        while is_frame(head := rest[link][:frame_len(rest[link])]):
            rest[link] = rest[link][len(head):]
        return piece if piece or not rest[link] else end()
    around(Socket, "recv", wrapper)


@fault
def generous():
    kept = []

    def wrapper(original, payload):
        if b"\xff\xff\xff\xff" in payload:
            kept.append(b"x" * (300 << 20))
        return original(payload)
    around(provider, "parse", wrapper)


@fault
def takes_bye_for_good():
    on_type("bye", lambda link, body: end())


@fault
def hasty():
    provider.random.uniform = lambda low, high: 0


@fault
def eager():
    on_type("upsert", lambda link, body:
            body["kind"] == "load-balancer" and provider.answer(link, body, {"ip": "192.0.2.7"}))


@fault
def remembers_what_it_said():
    """Says it again as soon as there is a new link, although nothing was committed on that."""
    said = []
    around(provider, "answer", lambda original, link, *arguments: said.append(arguments) or original(link, *arguments))
    on_type("hello", lambda link, body: [provider.send(link, "lb-status", {"id": lb["id"], "rev": lb["rev"], "state": "applied"})
                                         for lb, _ in said[-1:]])


@fault
def mute():
    provider.answer = lambda link, lb, address: None


@fault
def no_addresses():
    around(provider, "send", lambda original, link, kind, body: original(link, kind, without_addresses(body)))


@fault
def shuffles():
    turns = itertools.count()

    def wrapper(original, link, kind, body):
        if body.get("addresses"):
            addresses = [{"ip": f"192.0.2.{number}"} for number in (1, 2, 3)]
            turn = next(turns) % 3
            body = {**body, "addresses": addresses[turn:] + addresses[:turn]}
        return original(link, kind, body)
    around(provider, "send", wrapper)


@fault
def ghosts():
    def wrapper(original, link, lb, address):
        original(link, {**lb, "id": "ghost"}, address)
        original(link, lb, address)
    around(provider, "answer", wrapper)


@fault
def only_snapshots():
    begun = []

    def wrapper(original, link, objects, staged, address):
        if begun:
            original(link, objects, staged, address)
        begun.clear()
    on_type("sync-begin", lambda link, body: begun.append(link))
    around(provider, "take_commit", wrapper)


@fault
def changes_only():
    on_commit(lambda link, objects, staged:
              any(new != objects.get(key, {}) for key, new in staged.items()) or end())


@fault
def long_memory():
    kept = {}
    on_type("upsert", lambda link, body: kept.update({(body["kind"], body["id"]): body}))
    on_commit(lambda link, objects, staged: staged.update(kept))


@fault
def says_it_once():
    said = set()

    def wrapper(original, link, lb, address):
        if lb["rev"] not in said:
            said.add(lb["rev"])
            original(link, lb, address)
    around(provider, "answer", wrapper)


@fault
def addresses_once():
    said = set()

    def wrapper(original, link, kind, body):
        if body.get("rev") in said:
            body = without_addresses(body)
        said.add(body.get("rev"))
        return original(link, kind, body)
    around(provider, "send", wrapper)


@fault
def stale_lock():
    lock = pathlib.Path(os.environ["SLUICE_RUNTIME_DIR"]) / "lock"

    def wrapper(original, *arguments):
        if lock.exists() and lock.read_text() != str(os.getpid()):
            end()
        lock.write_text(str(os.getpid()))
        return original(*arguments)
    around(Socket, "connect", wrapper)


@fault
def whole_snapshots_only():
    def wrapper(original, link):
        is_begun = False
        try:
            for kind, body in original(link):
                is_begun = kind == "sync-begin" or is_begun and kind != "commit"
                yield kind, body
        except OSError:
            if is_begun:
                end()
            raise
    around(provider, "messages", wrapper)


@fault
def ignores_remove():
    """And says at each commit what has become of all that it has."""
    ignores("remove")

    def tell_all(link, objects, staged):
        for (kind, name), lb in objects.items():
            if kind == "load-balancer" and (kind, name) not in staged:
                provider.answer(link, lb, {"ip": "192.0.2.7"})
    on_commit(tell_all)


@fault
def never_again():
    removed = set()
    on_type("remove", lambda link, body: removed.add(body["id"]))
    around(provider, "answer", lambda original, link, lb, address:
           lb["id"] in removed or original(link, lb, address))


@fault
def snapshots_only_add():
    on_commit(lambda link, objects, staged:
              staged.update({key: objects[key] for key, new in staged.items() if not new}))


@fault
def sure_of_itself():
    on_commit(lambda link, objects, staged:
              [key in objects or end() for key, new in staged.items() if not new])


@fault
def nothing_is_absent():
    around(provider, "answer", lambda original, link, lb, address:
           None if lb.get("absent") else original(link, lb, address))


@fault
def cannot_keep():
    def refuse(link, objects, staged):
        for lb in staged.values():
            if lb.get("keep"):
                provider.send(link, "lb-status", {"id": lb["id"], "rev": lb["rev"], "state": "failed",
                                                  "message": "no listeners"})
    on_commit(refuse)


@fault
def no_loose_ends():
    def seek(link, objects, staged):
        for (kind, _), item in staged.items():
            if kind == "virtual-host" and ("pool", item["rules"][0]["pool"]) not in {*objects, *staged}:
                end()
    on_commit(seek)


@fault
def only_good_certificates():
    on_type("upsert", lambda link, body:
            body["kind"] == "certificate" and b"END CERTIFICATE" not in body["chain"] and end())


@fault
def small_state():
    on_commit(lambda link, objects, staged: len(staged) > 1000 and end())


@fault
def few_commits():
    on_type("commit", lambda link, body: body["serial"] > 100 and end())


@fault
def careless():
    def wrapper(original, link, lb, address):
        provider.send(link, "lb-event", {"id": lb["id"], "message": "an event without a reason"})
        original(link, lb, address)
    around(provider, "answer", wrapper)


# Faults of one that serves. What a commit changes goes through the functions in the order in which they are put around each other.


@fault
def serves():
    """No fault: what the others of this kind are measured by."""
    servers_of_provider(provider)


@fault
def applied_too_soon():
    servers = servers_of_provider(provider)
    around(servers, "apply", lambda original, objects: threading.Timer(0.3, original, [objects]).start())


@fault
def serves_the_first_for_good():
    servers = servers_of_provider(provider)
    seen = {}

    def wrapper(original, objects):
        for key, item in objects.items():
            seen.setdefault(key, item)
        original({key: seen[key] if key[0] == "virtual-host" else item for key, item in objects.items()})
    around(servers, "apply", wrapper)


@fault
def serves_what_is_removed():
    servers_of_provider(provider)
    ignores("remove")


@fault
def serves_what_is_absent():
    servers = servers_of_provider(provider)
    around(servers, "apply", lambda original, objects:
           original({**servers.objects, **{key: item for key, item in objects.items() if not item.get("absent")}}))


@fault
def serves_at_once():
    servers = servers_of_provider(provider)
    on_type("upsert", lambda link, body: servers.apply({**servers.objects, (body["kind"], body["id"]): body}))


@fault
def serves_only_with_a_link():
    servers = servers_of_provider(provider)

    def wrapper(original, *arguments):
        try:
            original(*arguments)
        finally:
            servers.apply({})
    around(provider, "follow", wrapper)


@fault
def lists_what_it_does_not_do():
    servers_of_provider(provider)

    def wrapper(original, grouping):
        hello = original(grouping)
        return {**hello, "version_max": 2, "capabilities": {**hello["capabilities"], "protocols": ["http"], "policies": ["request-headers"]}}
    around(provider, "own_hello", wrapper)


@fault
def serves_what_snapshots_lack():
    servers_of_provider(provider)
    snapshots_only_add()


# What says something else.


def says_instead(data: bytes) -> None:
    provider.answer = lambda link, lb, address: link.sendall(data)


FAULTS |= {name: functools.partial(says_instead, data) for name, data in INSTEAD.items()}


@fault
def endless():
    def flood(link, lb, address):
        for seq in itertools.count():
            provider.send(link, "x-new", {"seq": seq})
    provider.answer = flood


@fault
def control_characters():
    def leave(link, lb, address):
        provider.send(link, "bye", {"reason": "\x1b[2J\x1b]0;title\x07\r\n\u202e"})
        raise ConnectionError("said bye")
    provider.answer = leave


@fault
def stops_reading():
    provider.messages = lambda link: time.sleep(600)


@fault
def crashes():
    provider.answer = lambda link, lb, address: os.kill(os.getpid(), signal.SIGSEGV)


@fault
def deaf_to_signals():
    signal.signal(signal.SIGTERM, lambda *_: None)


if __name__ == "__main__":
    FAULTS[sys.argv.pop(1)]()
    provider.main()
