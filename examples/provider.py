#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A provider that logs what it would do, and answers with the address given on its command line.

It is written from proto/PROTOCOL.md alone and needs only python3-msgpack. Start it instead of any other
provider, and every Ingress gets ADDRESS; put what drives your own load balancer where this one logs.
With --hello, --render and --reports it is a filter, as doc/writing-a-provider.md has it: under the name
sluice-provider-example beside sluicectl it can be given to `sluicectl render --provider example`.
"""
import argparse
import contextlib
import io
import ipaddress
import json
import logging
import os
import pathlib
import random
import socket
import sys
import tarfile
import time

import msgpack

FRAME_MAX, VALUES_MAX, DEPTH_MAX, LIST_MAX, PING_AFTER_S, DEAD_AFTER_S = 4194304, 524288, 16, 65536, 5, 20

# The keys that this provider reads of each message, and of each kind of object; all others are skipped.
# A number is the greatest length of a text, a tuple lists the words, a list has the form of its items.
ID, NUMBER, PORT = 1024, range(1 << 64), range(1 << 16)
PROTOCOL = ("http", "https", "tcp", "tls-passthrough")
MESSAGES = {
    "hello": {"version_min": NUMBER, "version_max": NUMBER, "role": ("watcher", "translator", "provider"), "name": 253, "software": 253},
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
NOT_FOR_PROVIDERS = ("settings", "sync-end", "delete", "keep", "status", "event", "lb-status", "applied", "lb-event")


class Map(dict):
    """A map as it came. A key that is not known may be no text, or stand twice: it is skipped."""

    __slots__ = ("keys_sent",)

    def __init__(self, pairs: list):
        super().__init__((key, value) for key, value in pairs if isinstance(key, str))
        self.keys_sent = [key for key, _ in pairs]


def check(form, value, place: str) -> None:
    """ValueError, which names the place, unless the value is of that form."""
    match form, value:
        case dict(), Map() if all(isinstance(key, str) for key in value.keys_sent):
            for key in form:
                if value.keys_sent.count(key) > 1:
                    raise ValueError(f"malformed: {place}.{key} stands twice")
                if key in value:
                    check(form[key], value[key], f"{place}.{key}")
                elif key not in OPTIONAL:
                    raise ValueError(f"malformed: {place}.{key} is missing")
            return
        case list(), list() if len(value) <= LIST_MAX:
            for number, item in enumerate(value):
                check(form[0], item, f"{place}[{number}]")
            return
        case (int(), str()) if len(value.encode()) <= form:
            return
        case ((tuple(), str()) | (range(), int())) if value in form and not isinstance(value, bool):
            return
        case type(), bool():
            return
    raise ValueError(f"malformed: {place} is {str(value)[:40]!r}, which is too long, of the wrong type or an unknown word")


def check_texts(value, levels: int = DEPTH_MAX) -> None:
    """Also in what is skipped: how deep it is, and that no text holds NUL. That text is UTF-8 is checked by msgpack."""
    if isinstance(value, str) and "\0" in value:
        raise ValueError("malformed: text that holds NUL")
    if isinstance(value, (list, Map)):
        if levels == 0:
            raise ValueError(f"malformed: maps and arrays within each other more than {DEPTH_MAX} times")
        for item in value if isinstance(value, list) else (*value.keys_sent, *value.values()):
            check_texts(item, levels - 1)


def unpack(payload: bytes):
    """One value. Lengths are checked against what is there before memory is taken, and the values are counted while they are made."""
    left = VALUES_MAX - 1

    def count(items: list, values_each: int) -> list:
        nonlocal left
        left -= len(items) * values_each
        if left < 0:
            raise ValueError(f"malformed: more than {VALUES_MAX} values")
        return items
    value = msgpack.unpackb(payload, strict_map_key=False, max_array_len=VALUES_MAX, max_map_len=VALUES_MAX // 2,
                            list_hook=lambda items: count(items, 1), object_pairs_hook=lambda pairs: Map(count(pairs, 2)))
    check_texts(value)
    return value


def parse(payload: bytes) -> tuple[str, dict]:
    match unpack(payload):
        case ["upsert" | "remove" | "sync-begin", {"kind": str(kind)}, *_] if kind not in OBJECTS:
            return "", {}  # of a kind that we do not know: skipped
        case [str(kind), Map() as body, *_]:
            check(MESSAGES.get(kind, {}), body, kind)
            if kind == "upsert":
                check(OBJECTS[body["kind"]], body, body["kind"])
            return kind, body
    raise ValueError(f"malformed: {payload[:20]} is no array of a type and a map")


def frame(kind: str, body: dict) -> bytes:
    payload = msgpack.packb([kind, body])
    return len(payload).to_bytes(4, "big") + payload


def send(link: socket.socket, kind: str, body: dict) -> None:
    link.sendall(frame(kind, body))


def own_hello(grouping: str) -> dict:
    return {"version_min": 1, "version_max": 1, "role": "provider", "name": "example", "software": "example 1",
            "capabilities": {"grouping": grouping, "protocols": ["http", "https"]}}


def messages(link: socket.socket):
    """Each message as it comes. Who is silent is asked for a sign of life; who stays silent, or does not end what it began, is given up."""
    data, has_spoken, deadline = b"", False, time.monotonic() + DEAD_AFTER_S
    while time.monotonic() < deadline:
        length = int.from_bytes(data[:4], "big")
        if len(data) >= 4 and not 1 <= length <= FRAME_MAX:
            raise ValueError(f"malformed: a frame of {length} bytes")
        if len(data) >= 4 + length:
            yield parse(data[4:4 + length])
            data, has_spoken, deadline = data[4 + length:], True, time.monotonic() + DEAD_AFTER_S
            continue
        try:
            piece = link.recv(65536)
            if not piece:
                raise ConnectionError("the translator has closed the link")
            if not data and has_spoken:
                deadline = time.monotonic() + DEAD_AFTER_S  # for all of this frame
            data += piece
        except TimeoutError:
            if has_spoken:
                send(link, "ping", {"seq": 1})
    raise ValueError(f"no {'message' if has_spoken else 'hello'} of the translator was whole within {DEAD_AFTER_S} s")


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
    send(link, "hello", own_hello(grouping))
    is_greeted, is_synced, is_snapshot, staged = False, False, False, {}
    for kind, body in messages(link):
        if kind == "hello" and not is_greeted:
            if body["role"] != "translator" or not body["version_min"] <= 1 <= body["version_max"]:
                raise ValueError("this is a provider of version 1; the peer is a "
                                 f"{body['role']} of versions {body['version_min']} to {body['version_max']}")
            is_greeted = True
            logging.info("connected to %s", body["software"])
        elif kind == "bye":
            raise ConnectionError(f"the translator says: {body['reason']!r}")
        elif kind == "hello" or not is_greeted:
            raise ValueError(f"{kind or 'a message'} before hello" if not is_greeted else "a second hello")
        elif kind == "ping":
            send(link, "pong", {"seq": body["seq"]})
        elif kind == "sync-begin":
            is_synced, is_snapshot, staged = True, True, {}
        elif kind in NOT_FOR_PROVIDERS:
            raise ValueError(f"{kind} is not for a provider")
        elif kind in ("upsert", "remove", "commit") and not is_synced:
            raise ValueError(f"{kind} before sync-begin")
        elif kind == "upsert":
            staged[body["kind"], body["id"]] = body
        elif kind == "remove":
            staged[body["kind"], body["id"]] = {}
        elif kind == "commit":
            if is_snapshot:  # what it does not repeat is gone
                staged |= dict.fromkeys(objects.keys() - staged.keys(), {})
            take_commit(link, objects, staged, address)
            is_snapshot, staged = False, {}


def follow_and_explain(link: socket.socket, *arguments) -> None:
    """follow(); a peer that has made a mistake is told which, before the link is closed."""
    try:
        follow(link, *arguments)
    except ValueError as problem:
        with contextlib.suppress(OSError):
            send(link, "bye", {"reason": str(problem)[:1000]})
        raise


def read_state(data: bytes) -> dict:
    """The objects of a stream that ends with a commit; ValueError when it is none."""
    objects, kind, at, has_begun = {}, "", 0, False
    while at < len(data):
        length = int.from_bytes(data[at:at + 4], "big")
        if not 1 <= length <= min(FRAME_MAX, len(data) - at - 4):
            raise ValueError("malformed: a frame that is too long, empty or cut off")
        is_first, (kind, body) = at == 0, parse(data[at + 4:at + 4 + length])
        at += 4 + length
        if is_first and (kind != "hello" or body["role"] != "translator"):
            raise ValueError("the hello of a translator is expected first")
        has_begun = has_begun or kind == "sync-begin"
        if kind in ("upsert", "remove", "commit") and not has_begun:
            raise ValueError(f"{kind} before sync-begin")
        if kind == "upsert":
            objects[body["kind"], body["id"]] = body
        elif kind == "remove":
            objects.pop((body["kind"], body["id"]), None)
    if kind != "commit":
        raise ValueError("standard input ends before a commit")
    return objects


def rendered(objects: dict) -> dict[str, bytes]:
    """The files by name. A real provider makes the configuration of its load balancer here; keys do not get in, because OBJECTS lacks them."""
    files: dict[str, list] = {}
    for (kind, _), item in sorted(objects.items()):
        files.setdefault(f"{kind}.json", []).append({"id": item["id"], **{key: item[key] for key in item if key in OBJECTS[kind]}})
    return {name: json.dumps(items, indent=2).encode() + b"\n" for name, items in files.items()}


def write_files(where: str, files: dict[str, bytes]) -> None:
    """Into a folder, or for "-" as an archive to standard output; for nobody else to read."""
    if where != "-":
        pathlib.Path(where).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = pathlib.Path(where, name)
            path.unlink(missing_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
        return
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            tar.addfile(entry, io.BytesIO(content))


def write_reports(file: str, objects: dict, grouping: str) -> None:
    """What it would tell the translator. Nothing is applied, so all is pending."""
    statuses = [frame("lb-status", {"id": item["id"], "rev": item["rev"], "state": "pending"})
                for (kind, _), item in sorted(objects.items()) if kind == "load-balancer"]
    pathlib.Path(file).write_bytes(frame("hello", own_hello(grouping)) + b"".join(statuses))


def run_filter(args: argparse.Namespace) -> int:
    """The exit code."""
    if args.hello:
        sys.stdout.buffer.write(frame("hello", own_hello(args.grouping)))
        return 0
    try:
        objects = read_state(sys.stdin.buffer.read())
        if args.render is not None:
            write_files(args.render, rendered(objects))
        if args.reports is not None:
            write_reports(args.reports, objects, args.grouping)
    except (OSError, ValueError) as problem:
        print(f"provider.py: {problem}", file=sys.stderr)
        return 1
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime-dir", default="/run/sluice")
    parser.add_argument("--grouping", choices=["per-ingress", "merged"], default="per-ingress")
    parser.add_argument("--hello", action="store_true", help="write the hello to standard output, and end")
    parser.add_argument("--render", metavar="DIR", help="write what would be applied into this folder, or - for an archive, and end")
    parser.add_argument("--reports", metavar="FILE", help="write what the translator would be told into this file, and end")
    parser.add_argument("address", nargs="?", help="IP address or host name to show in every Ingress")
    args = parser.parse_args()
    if args.hello or args.render is not None or args.reports is not None:
        sys.exit(run_filter(args))
    if args.address is None:
        parser.error("ADDRESS is missing")
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
                follow_and_explain(link, objects, address, args.grouping)
        except (OSError, ValueError) as problem:
            logging.info("no link: %s", problem)
        time.sleep(pause * random.uniform(1, 2))
        pause = min(pause * 2, 2.5)


if __name__ == "__main__":
    main()
