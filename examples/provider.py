#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A provider in Python: logs what it would do, and answers with the address given on its command line.

usage: provider.py [--runtime-dir DIR] [--grouping per-ingress|merged] ADDRESS

It is written from proto/PROTOCOL.md alone and needs only python3-msgpack. Start it instead of any other provider, and every
Ingress gets ADDRESS; put the lines that drive your own load balancer where this one logs.
"""
import argparse
import ipaddress
import random
import socket
import struct
import sys
import time

import msgpack

FRAME_MAX = 4 * 1024 * 1024
PING_AFTER_S = 5.0
DEAD_AFTER_S = 20.0


class LinkLost(Exception):
    """The connection is of no use any more; the text says why."""


PROTOCOLS = ("http", "https", "tcp", "tls-passthrough")
LISTENER = {"port!": int, "protocol!": PROTOCOLS}
# What this provider reads, by type of message (and kind): a key with `!` is required; a number is the longest text, a tuple lists the words,
# a list holds maps of that form. A real one lists all that it uses; what is not listed is skipped.
FORMS = {
    "hello": {"version_min!": int, "version_max!": int, "role!": ("watcher", "translator", "provider"), "name!": 253, "software!": 253},
    "ping": {"seq!": int}, "pong": {"seq!": int}, "bye": {"reason!": 4096}, "sync-begin": {}, "commit": {"serial!": int},
    "remove": {"kind!": 64, "id!": 1024},
    "load-balancer": {"id!": 1024, "rev!": int, "listeners": [LISTENER], "absent": bool, "keep": bool},
    "virtual-host": {"id!": 1024, "rev!": int, "load_balancer!": 1024, "rules": [{"path": 16384, "pool!": 1024}]},
    "pool": {"id!": 1024, "rev!": int, "endpoints": [{"ip!": 64, "port!": int}]},
    "certificate": {"id!": 1024, "rev!": int},
}


def problem_of(form, value) -> str | None:
    """What is wrong with a value that should be as the form says."""
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return "no map"
        for key, item in form.items():
            name = key.rstrip("!")
            if name not in value and key.endswith("!"):
                return f"no {name}"
            if name in value and (problem := problem_of(item, value[name])):
                return f"{name}: {problem}"
        return None
    if isinstance(form, list):
        if not isinstance(value, list):
            return "no list"
        return next((problem for item in value if (problem := problem_of(form[0], item))), None)
    if isinstance(form, tuple):
        return None if value in form else f"unknown word {value!r}"
    if form is bool:
        return None if isinstance(value, bool) else "not true or false"
    if form is int:
        return None if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else "no number"
    good = isinstance(value, str) and "\0" not in value and len(value.encode()) <= form
    return None if good else f"no text of at most {form} bytes"


def no_key_twice(pairs: list) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def parse(payload: bytes) -> tuple[str, dict] | None:
    """The message of a frame, None for one that is unknown. LinkLost when it is none."""
    try:  # msgpack itself checks every length against what is there
        message = msgpack.unpackb(payload, raw=False, object_pairs_hook=no_key_twice)
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as problem:
        raise LinkLost(f"no message: {problem}") from None
    if not isinstance(message, list) or len(message) < 2 or not isinstance(message[0], str) or not isinstance(message[1], dict):
        raise LinkLost("no array of a type and a map")
    kind, body = message[:2]
    form = FORMS.get(body.get("kind") if kind == "upsert" and isinstance(body.get("kind"), str) else kind)
    if form is None:
        return None
    if problem := problem_of(form, body):
        raise LinkLost(f"{kind}: {problem}")
    return kind, body


class Link:
    """Frames over one connection (PROTOCOL.md, sections 1 to 3)."""

    def __init__(self, path: str):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(path)
        self.buffer = b""

    def send(self, kind: str, body: dict) -> None:
        payload = msgpack.packb([kind, body], use_bin_type=True)
        self.sock.sendall(struct.pack(">I", len(payload)) + payload)

    def receive(self, timeout: float) -> tuple[str, dict] | None:
        """The next message, with an empty type if it is unknown; None when none came within the time."""
        self.sock.settimeout(timeout)
        try:
            while not self.is_whole():
                piece = self.sock.recv(65536)
                if not piece:
                    raise LinkLost("the translator closed the connection")
                self.buffer += piece
        except TimeoutError:
            return None
        length = struct.unpack(">I", self.buffer[:4])[0]
        payload, self.buffer = self.buffer[4:4 + length], self.buffer[4 + length:]
        return parse(payload) or ("", {})

    def is_whole(self) -> bool:
        if len(self.buffer) < 4:
            return False
        length = struct.unpack(">I", self.buffer[:4])[0]
        if not 0 < length <= FRAME_MAX:
            raise LinkLost(f"a frame of {length} bytes")
        return len(self.buffer) >= 4 + length


class State:
    """The objects of the last commit; what came since is kept aside (section 5.1)."""

    def __init__(self):
        self.objects: dict[tuple[str, str], dict] = {}
        self.staged: dict[tuple[str, str], dict | None] = {}
        self.in_snapshot = False

    def begin_snapshot(self) -> None:
        self.staged.clear()
        self.in_snapshot = True

    def commit(self) -> list[tuple[str, str, dict | None]]:
        """Makes the staged state the state; returns what changed: kind, id, and the object or None."""
        if self.in_snapshot:
            for key in self.objects:
                self.staged.setdefault(key, None)
        changes = [(kind, name, new) for (kind, name), new in self.staged.items()
                   if (self.objects.get((kind, name)) or {}).get("rev") != (new or {}).get("rev")]
        for key, new in self.staged.items():
            if new is None:
                self.objects.pop(key, None)
            else:
                self.objects[key] = new
        self.staged.clear()
        self.in_snapshot = False
        return changes


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def describe(kind: str, name: str, new: dict | None) -> str:
    if new is None:
        return f"remove {kind} {name}"
    if kind == "virtual-host":
        rules = ", ".join(f"{rule.get('match', 'implementation-specific')} {rule.get('path', '')} -> {rule['pool']}"
                          for rule in new.get("rules", []))
        return f"set {kind} {new.get('host', '(any)')} of {new['load_balancer']}: {rules}"
    if kind == "pool":
        active = [f"{e['ip']}:{e['port']}" for e in new.get("endpoints", []) if e.get("active")]
        return f"set {kind} {name}: {', '.join(active) or 'no endpoints'}"
    if kind == "load-balancer":
        listeners = ", ".join(f"{item['protocol']}:{item['port']}" for item in new.get("listeners", []))
        return f"set {kind} {name}: {listeners}"
    return f"set {kind} {name}"


def answer(link: Link, lb: dict, address: str) -> None:
    """Tells what became of a load balancer."""
    if lb.get("keep"):  # what exists stays, and there is nothing new to say of it
        return
    if lb.get("absent"):
        link.send("lb-status", {"id": lb["id"], "rev": lb["rev"], "state": "applied", "addresses_known": True})
        return
    try:
        where = {"ip": str(ipaddress.ip_address(address))}
    except ValueError:
        where = {"hostname": address}
    where["ports"] = [{"port": item["port"]} for item in lb.get("listeners", [])]
    link.send("lb-status", {"id": lb["id"], "rev": lb["rev"], "state": "applied", "addresses_known": True,
                            "addresses": [where]})


def take_commit(link: Link, state: State, address: str) -> None:
    whole = state.in_snapshot
    for kind, name, new in state.commit():
        log(describe(kind, name, new))
        if kind == "load-balancer" and new is not None and not whole:
            answer(link, new, address)
    if whole:  # after a snapshot the translator wants to hear of everything
        for (kind, _), lb in state.objects.items():
            if kind == "load-balancer":
                answer(link, lb, address)


def serve(link: Link, state: State, args: argparse.Namespace) -> None:
    link.send("hello", {"version_min": 1, "version_max": 1, "role": "provider", "name": "example",
                        "software": "provider.py 1", "capabilities": {"grouping": args.grouping,
                                                                      "protocols": ["http", "https"]}})
    heard_at, greeted = time.monotonic(), False
    while True:
        message = link.receive(PING_AFTER_S)
        if not greeted and time.monotonic() - heard_at > DEAD_AFTER_S:
            raise LinkLost("the translator says no hello")
        if message is None:
            if time.monotonic() - heard_at > DEAD_AFTER_S:
                raise LinkLost("the translator is silent")
            if greeted:
                link.send("ping", {"seq": 1})
            continue
        kind, body = message
        if not greeted and kind not in ("hello", "bye"):
            raise LinkLost(f"{kind or 'something'} before hello")
        heard_at = time.monotonic()
        if kind == "hello":
            if body["role"] != "translator" or not body["version_min"] <= 1 <= body["version_max"]:
                link.send("bye", {"reason": "this is a provider of version 1 for a translator"})
                raise LinkLost(f"a {body['role']} of versions {body['version_min']} to {body['version_max']}")
            greeted = True
            log(f"connected to {body['software']}")
        elif kind == "ping":
            link.send("pong", body)
        elif kind == "bye":
            raise LinkLost(body["reason"])
        elif kind == "sync-begin":
            state.begin_snapshot()
        elif kind == "upsert":
            state.staged[body["kind"], body["id"]] = body
        elif kind == "remove":
            state.staged[body["kind"], body["id"]] = None
        elif kind == "commit":
            take_commit(link, state, args.address)


def main() -> None:
    parser = argparse.ArgumentParser(description="A provider that logs what it would do.")
    parser.add_argument("--runtime-dir", default="/run/sluice")
    parser.add_argument("--grouping", choices=["per-ingress", "merged"], default="per-ingress")
    parser.add_argument("address", help="IP address or host name to show in every Ingress")
    args = parser.parse_args()
    state, pause = State(), 0.1
    while True:
        try:
            link = Link(f"{args.runtime_dir}/provider.sock")
            pause = 0.1
            serve(link, state, args)
        except (OSError, LinkLost) as reason:
            log(f"no link: {reason}")
        state.staged.clear()
        state.in_snapshot = False
        time.sleep(pause * random.uniform(1, 2))
        pause = min(pause * 2, 2.5)


if __name__ == "__main__":
    main()
