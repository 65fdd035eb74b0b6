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
        """The next message, or None when none came within the time."""
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
        message = msgpack.unpackb(payload, raw=False, strict_map_key=False)
        return message[0], message[1]

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
    heard_at = time.monotonic()
    while True:
        message = link.receive(PING_AFTER_S)
        if message is None:
            if time.monotonic() - heard_at > DEAD_AFTER_S:
                raise LinkLost("the translator is silent")
            link.send("ping", {"seq": 1})
            continue
        heard_at = time.monotonic()
        kind, body = message
        if kind == "hello":
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
