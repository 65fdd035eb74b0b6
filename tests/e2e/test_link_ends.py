# SPDX-License-Identifier: Apache-2.0
"""A link that is closed for a fault says why: in a bye to who made the fault, and in the log of who found it, in words that the author of a peer can act upon."""
from __future__ import annotations

import os
import pathlib
import socket
import struct

import pytest

from lib.daemon import Daemon
from lib.frames import frame, frames, hello
from lib.line import build_folder
from lib.links import connected
from lib.wait import wait_for

SETTINGS = frame("settings", {"kinds": ["ingress"]})
CAPABILITIES = {"grouping": "per-ingress", "protocols": ["http"]}
HELLOS = {"source": frame("hello", hello("watcher")), "provider": frame("hello", hello("provider", capabilities=CAPABILITIES)),
          "translator": frame("hello", hello("translator"))}
# Of any end: what is sent behind the hello, and what is said about it.
ANYWHERE = {
    "a frame too long": (struct.pack(">I", 4 * 1024 * 1024 + 1), "bad frame: it announces 4194305 bytes, 1 to 4194304 are allowed"),
    "an empty frame": (b"\0\0\0\0", "bad frame: it announces 0 bytes"),
    "no msgpack": (struct.pack(">I", 1) + b"\xc1", "bad frame: "),
    "bytes behind the value": (struct.pack(">I", 3) + b"\xc0\xc0\xc0", "bad frame: "),
    "no array": (struct.pack(">I", 1) + b"\x80", "bad frame: no array of a type and a map"),
    "nested": (struct.pack(">I", 44) + b"\x92\xa1x\x81\xa1x" + b"\x91" * 37 + b"\xc0", "bad frame: nested too deeply"),
    "text that is no UTF-8": (struct.pack(">I", 4) + b"\x92\xa1\xff\x80", "bad frame: "),
    "a second hello": (frame("hello", hello("watcher")), "a second hello"),
    "a missing key": (frame("ping", {}), "ping: seq: is missing"),
    "a wrong type": (frame("ping", {"seq": "1"}), "ping: seq: must be a whole number"),
}
BEFORE_HELLO = {
    "no hello first": (frame("ping", {"seq": 1}), "ping before hello"),
    "an old peer": (frame("hello", {"version_min": 7, "version_max": 9, "role": "provider", "name": "x", "software": "x"}),
                    "no common protocol version: the peer speaks 7 to 9, we 1 to 2"),
    "a hello without a role": (frame("hello", {"version_min": 1, "version_max": 1, "name": "x", "software": "x"}), "hello: role: is missing"),
    "an unknown role": (frame("hello", hello("pigeon")), "hello: role: unknown word"),
}
AT = {
    "source": {
        "the wrong socket": (HELLOS["provider"], "this socket is for a watcher, the peer is a provider", ""),
        "settings twice": (SETTINGS * 2, "settings", "hello"),
        "a record before settings": (frame("upsert", {"kind": "service", "namespace": "n", "name": "a"}), "before settings", "hello"),
        "an endless name": (SETTINGS + frame("sync-begin", {"kind": "ingress"}) + frame("upsert", {"kind": "ingress", "name": "x" * 300}),
                            "upsert: name: longer than 253 bytes", "hello"),
        "the other link's message": (frame("lb-status", {"id": "a", "rev": 1, "state": "applied"}), "lb-status", "hello"),
    },
    "provider": {
        "the wrong socket": (HELLOS["source"], "this socket is for a provider, the peer is a watcher", ""),
        "a provider without capabilities": (frame("hello", hello("provider")), "capabilities", ""),
        "an unknown state": (frame("lb-status", {"id": "a", "rev": 1, "state": "fine"}), "lb-status: state: unknown word", "hello"),
        "a status without a revision": (frame("lb-status", {"id": "a", "state": "applied"}), "lb-status: rev: is missing", "hello"),
        "the other link's message": (frame("upsert", {"kind": "service", "namespace": "n", "name": "a"}), "upsert", "hello"),
    },
    "translator": {
        "the wrong role": (HELLOS["provider"], "the peer is a provider", ""),
        "a commit without a number": (frame("sync-begin", {}) + frame("commit", {}), "commit: serial: is missing", "hello"),
        "an object without an id": (frame("sync-begin", {}) + frame("upsert", {"kind": "pool", "rev": 1}), "upsert: id: is missing", "hello"),
        "a listener of an unknown protocol": (frame("sync-begin", {}) + frame("upsert", {
            "kind": "load-balancer", "id": "a", "rev": 1, "listeners": [{"port": 1, "protocol": "pigeon"}]}), "unknown word", "hello"),
    },
}


def rows(end: str) -> list[tuple[str, bytes, str]]:
    found = [(name, HELLOS[end] + data, words) for name, (data, words) in ANYWHERE.items()]
    found += [(name, data, words) for name, (data, words) in BEFORE_HELLO.items()]
    return found + [(name, (HELLOS[end] if after else b"") + data, words) for name, (data, words, after) in AT[end].items()]


def last_words(peer: socket.socket) -> str:
    """The reason in the bye with which the other end closes."""
    peer.settimeout(60)
    data = b""
    while piece := peer.recv(65536):
        data += piece
    kind, body = frames(data)[-1]
    return body["reason"] if kind == "bye" else ""


@pytest.fixture(name="translator")
def running_translator(tmp_path_factory):
    """One for each row: its log lets through twenty lines of a kind at once."""
    folder = tmp_path_factory.mktemp("run")
    daemon = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(folder)], folder / "translator.log")
    daemon.start()
    try:
        yield daemon, folder
    finally:
        daemon.stop()


@pytest.mark.parametrize("name, data, words", rows("source"), ids=lambda value: value if isinstance(value, str) else "")
def test_the_translator_to_a_watcher(translator, name, data, words):
    said_by_the_listener(translator, "source", data, words)


@pytest.mark.parametrize("name, data, words", rows("provider"), ids=lambda value: value if isinstance(value, str) else "")
def test_the_translator_to_a_provider(translator, name, data, words):
    said_by_the_listener(translator, "provider", data, words)


def said_by_the_listener(translator: tuple[Daemon, pathlib.Path], link: str, data: bytes, words: str) -> None:
    daemon, folder = translator
    since = len(daemon.lines)
    with wait_for(lambda: connected(folder / f"{link}.sock"), "the socket") as peer:
        peer.sendall(data)
        said = last_words(peer)
    assert words in said
    daemon.wait_event("link-down", said.replace('"', '\\"'), since=since)


@pytest.fixture(name="provider")
def running_provider(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(folder / "provider.sock"))
    listener.listen()
    listener.settimeout(60)
    daemon = Daemon(build_folder() / "examples/example-provider", ["--runtime-dir", str(folder), "--address", "192.0.2.7", "--admin-address", "off"],
                    folder / "provider.log")
    daemon.start()
    try:
        yield daemon, listener
    finally:
        daemon.stop()
        listener.close()


@pytest.mark.parametrize("name, data, words", rows("translator"), ids=lambda value: value if isinstance(value, str) else "")
def test_a_provider_to_the_translator(provider, name, data, words):
    daemon, listener = provider
    since = len(daemon.lines)
    with listener.accept()[0] as peer:
        peer.sendall(data)
        said = last_words(peer)
    assert words in said
    daemon.wait_event("link-down", said.replace('"', '\\"'), since=since)
