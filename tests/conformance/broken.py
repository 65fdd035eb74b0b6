#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/provider.py with one fault, named by the first argument: each is what a check of check-provider must find."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import signal
import sys
import time

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/provider.py"
spec = importlib.util.spec_from_file_location("provider", EXAMPLE)
provider = importlib.util.module_from_spec(spec)
spec.loader.exec_module(provider)

Link, State, LinkLost = provider.Link, provider.State, provider.LinkLost
FAULTS = {}


def fault(function):
    FAULTS[function.__name__.replace("_", "-")] = function
    return function


def end() -> None:
    os._exit(3)


def around(owner, name: str, wrapper) -> None:
    """Puts `wrapper(original, *arguments)` in the place of a function."""
    original = getattr(owner, name)
    setattr(owner, name, lambda *arguments: wrapper(original, *arguments))


def on_receive(change) -> None:
    """`change(link, message)` gives what receive() returns instead of a message."""
    around(Link, "receive", lambda original, link, timeout: change(link, original(link, timeout)))


def on_type(word: str, act) -> None:
    def change(link, message):
        if message is not None and message[0] == word:
            act(link, message[1])
        return message
    on_receive(change)


@fault
def gives_up():
    def wrapper(original, *arguments):
        try:
            return original(*arguments)
        except OSError:
            return end()
    around(Link, "__init__", wrapper)


@fault
def hello_late():
    def serve(link, state, args):
        message = link.receive(60)
        link.buffer = provider.struct.pack(">I", len(p := provider.msgpack.packb(list(message)))) + p + link.buffer
        original(link, state, args)
    original, provider.serve = provider.serve, serve


@fault
def any_version():
    def change(_, message):
        if message and message[0] == "hello":
            message[1].update(version_min=1)
        return message
    on_receive(change)


@fault
def only_version_1():
    on_type("hello", lambda link, body: body.update(version_min=body["version_max"]))


@fault
def any_role():
    on_type("hello", lambda link, body: body.update(role="translator"))


@fault
def no_manners():
    seen = []
    on_type("hello", lambda link, body: seen.append(id(link)))
    on_receive(lambda link, message: message if message and (id(link) in seen) else None)


@fault
def no_pong():
    around(Link, "send", lambda original, link, kind, body: None if kind == "pong" else original(link, kind, body))


@fault
def no_ping():
    around(Link, "send", lambda original, link, kind, body: None if kind == "ping" else original(link, kind, body))


@fault
def patient():
    provider.DEAD_AFTER_S = 1e9


@fault
def one_frame_at_a_time():
    around(Link, "is_whole", lambda original, link: len(link.buffer) == 0 or original(link) or end())


@fault
def knows_all():
    on_receive(lambda link, message: end() if message and not message[0] else message)


@fault
def small_frames():
    provider.FRAME_MAX = 1024 * 1024


@fault
def trusting():
    provider.parse = lambda payload: tuple(provider.msgpack.unpackb(payload, strict_map_key=False)[:2])


@fault
def no_forms():
    provider.problem_of = lambda form, value: None


@fault
def whole_frames_only():
    def wrapper(original, link, timeout):
        try:
            return original(link, timeout)
        except LinkLost:
            return end() if link.buffer else original(link, timeout)
    around(Link, "receive", wrapper)


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
    on_type("upsert", lambda link, body: body["kind"] == "load-balancer" and provider.answer(link, body, "192.0.2.7"))


@fault
def mute():
    provider.answer = lambda link, lb, address: None


@fault
def no_addresses():
    def wrapper(original, link, kind, body):
        return original(link, kind, {key: value for key, value in body.items() if not key.startswith("addresses")})
    around(Link, "send", wrapper)


@fault
def ghosts():
    def wrapper(original, link, lb, address):
        original(link, {**lb, "id": "ghost"}, address)
        original(link, lb, address)
    around(provider, "answer", wrapper)


@fault
def only_snapshots():
    around(provider, "take_commit", lambda original, link, state, address:
           original(link, state, address) if state.in_snapshot else state.commit())


@fault
def changes_only():
    around(State, "commit", lambda original, state: original(state) or end())


@fault
def long_memory():
    dict_type = type("Kept", (dict,), {"clear": lambda self: None})
    around(State, "__init__", lambda original, state: original(state) or setattr(state, "staged", dict_type()))


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
            body = {key: value for key, value in body.items() if not key.startswith("addresses")}
        said.add(body.get("rev"))
        return original(link, kind, body)
    around(Link, "send", wrapper)


@fault
def stale_lock():
    lock = pathlib.Path(os.environ["SLUICE_RUNTIME_DIR"]) / "lock"

    def wrapper(original, *arguments):
        if lock.exists() and lock.read_text() != str(os.getpid()):
            end()
        lock.write_text(str(os.getpid()))
        return original(*arguments)
    around(Link, "__init__", wrapper)


@fault
def whole_snapshots_only():
    begun = []

    def change(link, message):
        if message:
            if message[0] == "sync-begin":
                begun.append(link)
            elif message[0] == "commit":
                begun.clear()
        return message

    def wrapper(original, link, timeout):
        try:
            return original(link, timeout)
        except LinkLost:
            if begun:
                end()
            raise
    on_receive(change)
    around(Link, "receive", wrapper)


@fault
def hoards():
    on_receive(lambda link, message: ("", {}) if message and message[0] == "remove" else message)


@fault
def snapshots_only_add():
    around(State, "begin_snapshot", lambda original, state: state.staged.clear())
    around(provider, "take_commit", lambda original, link, state, address:
           original(link, state, address) or
           [provider.answer(link, lb, address) for (kind, _), lb in state.objects.items() if kind == "load-balancer"])


@fault
def sure_of_itself():
    states = []
    around(State, "__init__", lambda original, state: original(state) or states.append(state))
    on_type("remove", lambda link, body: None if (body["kind"], body["id"]) in states[0].objects else end())


@fault
def nothing_is_absent():
    around(provider, "answer", lambda original, link, lb, address: None if lb.get("absent") else original(link, lb, address))


@fault
def cannot_keep():
    def wrapper(original, link, lb, address):
        if lb.get("keep"):
            link.send("lb-status", {"id": lb["id"], "rev": lb["rev"], "state": "failed", "message": "no listeners"})
        original(link, lb, address)
    around(provider, "answer", wrapper)


@fault
def no_loose_ends():
    def wrapper(original, state):
        changes = original(state)
        for (kind, _), item in state.objects.items():
            if kind == "virtual-host" and ("pool", item["rules"][0]["pool"]) not in state.objects:
                end()
        return changes
    around(State, "commit", wrapper)


@fault
def only_good_certificates():
    on_type("upsert", lambda link, body: body["kind"] == "certificate" and b"END CERTIFICATE" not in body["chain"] and end())


@fault
def small_state():
    around(State, "commit", lambda original, state: end() if len(state.staged) > 1000 else original(state))


@fault
def few_commits():
    on_type("commit", lambda link, body: body["serial"] > 100 and end())


@fault
def careless():
    def wrapper(original, link, lb, address):
        link.send("lb-event", {"id": lb["id"], "message": "an event without a reason"})
        original(link, lb, address)
    around(provider, "answer", wrapper)


@fault
def deaf_to_signals():
    signal.signal(signal.SIGTERM, lambda *_: None)
    around(time, "sleep", lambda original, seconds: original(seconds))


if __name__ == "__main__":
    FAULTS[sys.argv.pop(1)]()
    provider.main()
