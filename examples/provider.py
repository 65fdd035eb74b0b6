#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A provider that logs what it would do, and answers with the address given on its command line.

It is written from proto/PROTOCOL.md alone and needs only python3-msgpack. Start it instead of any other
provider, and every Ingress gets ADDRESS; put what drives your own load balancer where this one logs.
"""
import argparse
import ipaddress
import logging
import random
import socket
import time

import msgpack

FRAME_MAX, VALUES_MAX, DEPTH_MAX, PING_AFTER_S, DEAD_AFTER_S = 4194304, 524288, 16, 5, 20

# The keys that this provider reads of each message, and of each kind of object; all others are skipped.
# A number is the greatest length of a text, a tuple lists the words, a list has the form of its items.
ID, NUMBER, PORT = 1024, range(1 << 64), range(1 << 16)
PROTOCOL = ("http", "https", "tcp", "tls-passthrough")
MESSAGES = {
    "hello": {"version_min": NUMBER, "version_max": NUMBER, "role": 64, "name": 253, "software": 253},
    "ping": {"seq": NUMBER}, "pong": {"seq": NUMBER}, "upsert": {"kind": 64, "id": ID, "rev": NUMBER},
    "remove": {"kind": 64, "id": ID}, "commit": {"serial": NUMBER}, "bye": {"reason": 4096}, "sync-begin": {},
}
OBJECTS = {
    "certificate": {"names": [ID]},
    "pool": {"endpoints": [{"ip": 64, "port": PORT, "active": bool}]},
    "load-balancer": {"listeners": [{"port": PORT, "protocol": PROTOCOL}], "absent": bool, "keep": bool},
    "virtual-host": {"load_balancer": ID, "host": 255, "rules": [{"path": 16384, "pool": ID}]},
}
OPTIONAL = ("absent", "active", "endpoints", "host", "keep", "listeners", "names", "path", "rules")


def fits(form, value) -> bool:
    match form, value:
        case dict(), dict():
            return all(fits(form[key], value[key]) if key in value else key in OPTIONAL for key in form)
        case list(), list():
            return all(fits(form[0], item) for item in value)
        case int(), str():
            return len(value.encode()) <= form and "\0" not in value
        case tuple(), str():
            return value in form
        case range(), int():
            return value in form and not isinstance(value, bool)
    return form is bool and isinstance(value, bool)


def unique(pairs: list) -> dict:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("malformed: a key stands twice")
    return dict(pairs)


def count(value, depth: int = 0) -> int:
    """How many values it holds, keys included."""
    if not isinstance(value, (dict, list)):
        return 1
    if depth == DEPTH_MAX:
        raise ValueError("malformed: nested too deeply")
    return 1 + sum(count(item, depth + 1) for item in ([*value, *value.values()] if isinstance(value, dict) else value))


def parse(payload: bytes) -> tuple[str, dict]:
    message = msgpack.unpackb(payload, object_pairs_hook=unique)  # believes no length before it sees the bytes
    if count(message) > VALUES_MAX:
        raise ValueError("malformed: too many values")
    match message:
        case [str(kind), dict(body), *_] if fits(MESSAGES.get(kind, {}), body):
            if kind != "upsert" or fits(OBJECTS.get(body["kind"], {}), body):
                return kind, body
    raise ValueError(f"malformed: {payload[:20]}")


def send(link: socket.socket, kind: str, body: dict) -> None:
    payload = msgpack.packb([kind, body])
    link.sendall(len(payload).to_bytes(4, "big") + payload)


def messages(link: socket.socket):
    """Each message as it comes. Who is silent is asked for a sign of life; who stays silent is given up."""
    data, has_spoken, deadline = b"", False, time.monotonic() + DEAD_AFTER_S
    while time.monotonic() < deadline:
        length = int.from_bytes(data[:4], "big")
        if length > FRAME_MAX:
            raise ValueError(f"malformed: a frame of {length} bytes")
        if len(data) >= 4 + length:
            yield parse(data[4:4 + length])
            data, has_spoken, deadline = data[4 + length:], True, time.monotonic() + DEAD_AFTER_S
            continue
        try:
            piece = link.recv(65536)
            if not piece:
                raise ConnectionError("the translator has closed the link")
            data += piece
        except TimeoutError:
            if has_spoken:
                send(link, "ping", {"seq": 1})
    raise ConnectionError("the translator is silent")


def answer(link: socket.socket, lb: dict, address: dict) -> None:
    """Tells the translator what became of a load balancer."""
    ports = [{"port": item["port"]} for item in lb.get("listeners", [])]
    send(link, "lb-status", {"id": lb["id"], "rev": lb["rev"], "state": "applied", "addresses_known": True,
                             "addresses": [] if lb.get("absent") else [{**address, "ports": ports}]})


def take_commit(link: socket.socket, objects: dict, staged: dict, address: dict) -> None:
    """Makes what was staged the state. A real provider drives its load balancer here."""
    for (kind, name), new in staged.items():
        if new.get("rev") != objects.pop((kind, name), {}).get("rev"):
            shown = {key: value for key, value in new.items() if key in OBJECTS[kind]}
            logging.info("%s %s %s %s", "set" if new else "remove", kind, name, shown)
    objects.update({key: new for key, new in staged.items() if new})
    for new in staged.values():
        if new.get("kind") == "load-balancer" and not new.get("keep"):
            answer(link, new, address)


def follow(link: socket.socket, objects: dict, address: dict, grouping: str) -> None:
    """Does what comes, until the link is lost. Then what was not committed is forgotten; the objects stay."""
    send(link, "hello", {"version_min": 1, "version_max": 1, "role": "provider", "name": "example",
                         "software": "example 1",
                         "capabilities": {"grouping": grouping, "protocols": ["http", "https"]}})
    is_greeted, is_snapshot, staged = False, False, {}
    for kind, body in messages(link):
        if kind == "hello" and not is_greeted:
            if body["role"] != "translator" or not body["version_min"] <= 1 <= body["version_max"]:
                send(link, "bye", {"reason": "this is a provider of version 1"})
                raise ConnectionError(f"no translator of version 1: {body}")
            is_greeted = True
            logging.info("connected to %s", body["software"])
        elif kind in ("hello", "bye") or not is_greeted:
            raise ConnectionError(f"{kind} {body}")
        elif kind == "ping":
            send(link, "pong", body)
        elif kind == "sync-begin":
            is_snapshot, staged = True, {}
        elif kind == "upsert" and body["kind"] in OBJECTS:
            staged[body["kind"], body["id"]] = body
        elif kind == "remove":
            staged[body["kind"], body["id"]] = {}
        elif kind == "commit":
            if is_snapshot:  # what it does not repeat is gone
                staged |= dict.fromkeys(objects.keys() - staged.keys(), {})
            take_commit(link, objects, staged, address)
            is_snapshot, staged = False, {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime-dir", default="/run/sluice")
    parser.add_argument("--grouping", choices=["per-ingress", "merged"], default="per-ingress")
    parser.add_argument("address", help="IP address or host name to show in every Ingress")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        address = {"ip": str(ipaddress.ip_address(args.address))}
    except ValueError:
        address = {"hostname": args.address}
    objects, pause = {}, 0.1
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(PING_AFTER_S)
                link.connect(f"{args.runtime_dir}/provider.sock")
                pause = 0.1
                follow(link, objects, address, args.grouping)
        except (OSError, ValueError) as problem:
            logging.info("no link: %s", problem)
        time.sleep(pause * random.uniform(1, 2))
        pause = min(pause * 2, 2.5)


if __name__ == "__main__":
    main()
