# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: each file that the watcher's options name is read again. What is new counts, what is no good is named and changes nothing, and no
watch is lost by it."""
from __future__ import annotations

import base64
import os
import pathlib
import signal
from typing import Any, Callable, NamedTuple

import pytest
import yaml

from lib.certs import Authority, self_signed
from .test_access import admin, answer, kubeconfig, plugin, token


def hang_up(rig, event: str, *words: str) -> None:
    """SIGHUP; waits for the line that it leads to."""
    since = len(rig.watcher.lines)
    os.kill(rig.watcher.pid, signal.SIGHUP)
    rig.watcher.wait_event("hangup", since=since)
    line = rig.watcher.wait_event(event, words[0], since=since)
    assert all(word in line for word in words), line


class Case(NamedTuple):
    """prepare() returns the file and starts the watcher with it; again() is its new content."""
    name: str
    prepare: Callable[[Any], pathlib.Path]
    again: Callable[[Any], str]
    broken: str
    told: str  # of the new content
    named: str = ""  # beside the file, of what is broken


def token_file(rig) -> pathlib.Path:
    path = rig.folder / "token"
    path.write_text(token(rig))
    rig.start(kubeconfig=kubeconfig(rig, {"tokenFile": str(path)}))
    return path


def token_option(rig) -> pathlib.Path:
    path = rig.folder / "token"
    path.write_text(token(rig))
    rig.start("--token-file", str(path), kubeconfig=kubeconfig(rig, {"token": "another"}))
    return path


def inline_token(rig) -> pathlib.Path:
    path = kubeconfig(rig, {"token": token(rig)})
    rig.start(kubeconfig=path)
    return path


def ca_option(rig) -> pathlib.Path:
    path = rig.folder / "ca.pem"
    path.write_bytes(rig.kube.ca_file.read_bytes())
    rig.start("--ca-file", str(path), kubeconfig=kubeconfig(rig, {"token": token(rig)}))
    return path


def client_key(rig) -> pathlib.Path:
    user = admin(rig)
    for name, key in (("cert.pem", "client-certificate-data"), ("key.pem", "client-key-data")):
        (rig.folder / name).write_bytes(base64.b64decode(user[key]))
    rig.prepare(kubeconfig=kubeconfig(rig, {"client-certificate": "cert.pem", "client-key": "key.pem"})).start()
    rig.link.wait_whole()
    return rig.folder / "key.pem"


def new_token(rig) -> str:
    return rig.kube.rotate_token(old_expires_in_s=3600)


def inline_again(rig) -> str:
    return kubeconfig(rig, {"token": new_token(rig)}).read_text()


CASES = [
    Case("token-file-of-kubeconfig", token_file, new_token, "two words", "token", "no single word"),
    Case("--token-file", token_option, new_token, "", "token"),
    Case("token-in-kubeconfig", inline_token, inline_again, "clusters: [", "token"),
    Case("kubeconfig-gone", inline_token, inline_again, "", "token"),
    Case("--ca-file", ca_option, lambda rig: rig.kube.ca_file.read_text() + Authority("other").pem.decode(),
         "-----BEGIN CERTIFICATE-----\nMIIB", "certificates", "cannot be read"),
    Case("key-of-client-certificate", client_key, lambda rig: "# again\n" + base64.b64decode(admin(rig)["client-key-data"]).decode(),
         self_signed("other").key.decode(), "certificates", "is not the key of"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_is_read_again(rig, case):
    rig.ingress()
    path = case.prepare(rig)
    good = path.read_text()
    rig.wait_host("a.example")
    identity = "admin" if case.prepare is client_key else "controller"
    streams = {stream["id"] for stream in rig.kube.streams(identity=identity)}
    assert streams

    path.write_text(case.broken)
    hang_up(rig, "credentials-problem", str(path), case.named)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert not rig.watcher.events("credentials-refreshed"), "something else is used instead"

    again = case.again(rig)
    assert again != good
    mark = rig.kube.mark()
    path.write_text(again)
    hang_up(rig, "credentials-refreshed", case.told)
    rig.rehost("c.example")
    rig.wait_host("c.example")
    assert len(rig.watcher.events("credentials-refreshed")) == 1
    assert streams <= {stream["id"] for stream in rig.kube.streams(identity=identity)}, "a watch was lost"
    # This works only with the new content.
    if case.told == "token":
        assert not rig.kube.requests(mark, status=401)
        # What is asked before the new one is read is refused, and asked again.
        rig.kube.rotate_token()
        path.write_text(again.replace(again.strip(), token(rig)) if path.name == "token" else
                        kubeconfig(rig, {"token": token(rig)}).read_text())
        hang_up(rig, "credentials-refreshed", "token")
        mark = rig.kube.mark()
    rig.kube.end_streams("clean")
    rig.rehost("d.example")
    rig.wait_host("d.example")
    assert not rig.kube.requests(mark, status=401)


def test_authorities_that_are_new_are_the_ones_to_trust(rig):
    rig.ingress()
    path = ca_option(rig)
    rig.kube.control("rotate_authority")
    path.write_bytes(rig.kube.ca_file.read_bytes())
    hang_up(rig, "credentials-refreshed", "certificates")
    since = len(rig.watcher.lines)
    rig.kube.drop()
    rig.kube.api.access.__init__(rig.kube.kubeconfig)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert not [line for line in rig.watcher.lines[since:] if "TLS failed" in line]


@pytest.mark.parametrize("what", ["server", "plugin"])
def test_what_waits_for_the_next_start_is_told(rig, what):
    """Another cluster's objects are no change of these, and the sandbox has no door for a first program."""
    rig.ingress()
    path = inline_token(rig)
    user, cluster, words = ({"token": token(rig)}, {"server": "https://127.0.0.1:1"}, "another server") if what == "server" else \
        (plugin(rig, answer(token="$T")), {}, "an exec plugin")
    kubeconfig(rig, user, **cluster)
    hang_up(rig, "credentials-problem", str(path), words)
    rig.kube.end_streams("clean")
    rig.rehost("b.example")
    rig.wait_host("b.example")


def test_a_plugin_is_run_again(rig):
    rig.start(kubeconfig=kubeconfig(rig, plugin(rig, answer(token="$T"))))
    hang_up(rig, "credentials-refreshed", "exec plugin")
    document = yaml.safe_load((rig.folder / "kubeconfig").read_text())
    document["users"][0]["user"]["exec"]["args"] = ["again"]
    (rig.folder / "plugin").write_text((rig.folder / "plugin").read_text().replace("echo run", "echo run $1"))
    (rig.folder / "kubeconfig").write_text(yaml.safe_dump(document))
    hang_up(rig, "credentials-refreshed", "exec plugin")
    assert (rig.folder / "runs").read_text().split()[-1] == "again"
