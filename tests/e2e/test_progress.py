# SPDX-License-Identifier: Apache-2.0
"""What takes longer than people wait says on their terminal how far it is, and nothing anywhere else."""
from __future__ import annotations

import json
import os
import pathlib
import pty
import re
import socket
import subprocess
import threading

import pytest

from lib.backend import Backend
from lib.daemon import Daemon
from lib.line import build_folder
from lib.links import Watcher
from lib.wait import wait_for

PATIENCE = 60.0
SHOWN = re.compile(r"\r\x1b\[K(\d+)(?: of (\d+))? ([^\r]+) \.\.\.")
INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web", "namespace": "shop"},
           "spec": {"ingressClassName": "nginx", "rules": [{"host": "a.test", "http": {"paths": [
               {"path": f"/{number}", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}} for number in range(12)]}}]}}


class Terminal:
    """A command whose standard error, and nothing else of it, is a terminal."""

    def __init__(self, *arguments: object):
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen([build_folder() / "sluicectl/sluicectl", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        self.text = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        try:
            while piece := os.read(self._master, 4096):
                self.text += piece.decode("ascii")
        except OSError:  # the other end is closed
            pass

    def wait_shown(self) -> list[tuple[str, str, str]]:
        return wait_for(lambda: SHOWN.findall(self.text), "progress", PATIENCE)

    def end(self) -> int:
        status = self.process.wait(PATIENCE)
        self._reader.join()
        os.close(self._master)
        return status


@pytest.fixture(name="manifest")
def fixture_manifest(tmp_path) -> pathlib.Path:
    (tmp_path / "web.json").write_text(json.dumps(INGRESS), encoding="utf-8")
    return tmp_path / "web.json"


def test_compare(manifest):
    """Twelve requests, three a second."""
    with Backend("app", port=0, ip="127.0.0.1") as old, Backend("app", port=0, ip="127.0.0.1") as new:
        words = ["compare", "--old", f"http://127.0.0.1:{old.port}", "--new", f"http://127.0.0.1:{new.port}", "--rate", "3", "-f", str(manifest)]
        terminal = Terminal(*words)
        shown = terminal.wait_shown()
        status = terminal.end()
        shown = SHOWN.findall(terminal.text)
        assert len(shown) >= 2 and [what for _, _, what in shown] == ["requests"] * len(shown) and len({total for _, total, _ in shown}) == 1
        done = [int(count) for count, _, _ in shown]
        assert done == sorted(done) and 0 < done[0] < int(shown[0][1])
        # It is gone at the end, and nobody but people is told.
        assert terminal.text.endswith("\r\x1b[K")
        silent = subprocess.run([build_folder() / "sluicectl/sluicectl", *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (silent.returncode, silent.stderr) == (status, "")


def test_compare_while_its_first_request_hangs(manifest):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        terminal = Terminal("compare", "--old", url, "--new", url, "--timeout", "300", "--rate", "1000", "-f", str(manifest))
        done, total, what = terminal.wait_shown()[0]
        assert (done, what) == ("0", "requests") and int(total) >= 12
    # Nobody listens any more.
    assert terminal.end() != 0
    assert terminal.text.endswith("\r\x1b[K")


@pytest.mark.parametrize("command", ["render", "migrate"])
def test_files_that_take_long(command, manifest, tmp_path):
    """The line's programs wait for a file that comes late."""
    late = tmp_path / "late.json"
    os.mkfifo(late)
    more = ["--provider", "haproxy"] if command == "render" else []
    terminal = Terminal(command, "-f", manifest, "-f", late, *more)
    shown = terminal.wait_shown()
    assert shown[0][2] == "KB of answers of the line's programs"
    late.write_text(json.dumps(INGRESS | {"metadata": {"name": "late", "namespace": "shop"}}), encoding="utf-8")
    assert terminal.end() in (0, 1)
    assert SHOWN.sub("", terminal.text).startswith("\r\x1b[K")


def test_status_of_a_line_that_starts(tmp_path):
    """Which kinds are still to come, and how much of them has."""
    def status() -> str:
        done = subprocess.run([build_folder() / "sluicectl/sluicectl", "status", "--runtime-dir", str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.stdout

    def ingress(number: int) -> dict:
        path = {"path": "/", "type": "prefix", "backend": {"service": "web", "port_number": 80}}
        return {"kind": "ingress", "namespace": "shop", "name": f"web-{number}", "uid": f"u-{number}", "created": 10, "rules": [{"host": f"{number}.test", "paths": [path]}]}
    translator = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(tmp_path)], tmp_path / "translator.log").start()
    try:
        with Watcher(tmp_path) as watcher:
            watcher.say("sync-begin", {"kind": "ingress"})
            for first in (0, 700):
                watcher.upsert(*(ingress(number) for number in range(first, first + 700)))
                text = wait_for(lambda: (shown := status()) and f"{first + 700} ingress" in shown and shown, "those that have come", PATIENCE)
                assert re.search(r"translator +waits for: records of kind ingress ", text), text
    finally:
        assert translator.stop() == 0
