# SPDX-License-Identifier: Apache-2.0
"""scripts/demo --keep cleans up after itself, however it ends."""
from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request

import pytest

from lib.line import build_folder
from lib.local_proxy import PATIENCE
from lib.own_disk import IS_ROOT
from lib.processes import children, descendants
from lib.proxies import PROXIES
from lib.wait import wait_for

# A story that fails while a daemon runs.
FAILING = """
import pathlib, sys, tempfile
import demo
from lib.daemon import Daemon
from lib.line import build_folder

def demonstrate(args):
    folder = pathlib.Path(tempfile.gettempdir())
    translator = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(folder)], folder / "translator.log").start()
    translator.wait_event("started")
    raise TimeoutError("what was waited for")

demo.demonstrate = demonstrate
sys.exit(demo.main())
"""
# A user who may not have port 80.
DENIED = """
import socket, sys
import demo

class Denied(socket.socket):
    def bind(self, address):
        raise PermissionError(13, "Permission denied")

socket.socket = Denied
sys.exit(demo.main())
"""
DEMO = pathlib.Path(__file__).resolve().parents[1] / "demo.py"
pytestmark = pytest.mark.plain


class Demo:
    """A demo that is left running, with the stories told."""

    def __init__(self, provider: str, folder: pathlib.Path):
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, str(DEMO), "--keep", "--provider", provider], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, "TMPDIR": str(folder), "SLUICE_BUILD": str(build_folder()), "SLUICE_KEEP": ""})
        self.lines: list[str] = []
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self._reader.start()
        wait_for(lambda: any(line.startswith("  logs: ") for line in self.lines) or self.process.poll() is not None, "the story's end", PATIENCE)
        assert self.process.poll() is None, "".join(self.lines)
        self.all = descendants(self.process.pid)
        self.worker = children(self.process.pid)[0]

    def wait_gone(self) -> int:
        """Its exit status, when nothing of it is left."""
        code = self.process.wait(PATIENCE)
        wait_for(lambda: not [p for p in self.all if p.lives()], "all processes to be gone", PATIENCE)
        assert list(self.folder.iterdir()) == []
        return code


@pytest.fixture
def demo(request):
    if request.param in PROXIES and not IS_ROOT:
        pytest.skip("port 80 is for root")
    # Sockets stand in it, so its name is short.
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        one = Demo(request.param, pathlib.Path(folder))
        try:
            names = {p.name for p in one.all}
            assert {"sluice-watcher", "sluice-translat"} <= names, names
            yield one
        finally:
            if one.process.poll() is None:
                one.process.terminate()
                one.process.wait(PATIENCE)


@pytest.mark.parametrize("demo, number", [("rancher", signal.SIGINT), ("rancher", signal.SIGTERM), ("elb", signal.SIGTERM), ("haproxy", signal.SIGTERM),
                                          ("nginx", signal.SIGHUP)], indirect=["demo"])
def test_ends_when_it_is_asked_to(demo, number):
    (page,) = re.findall(r"in a browser: (\S+)", "".join(demo.lines))
    with urllib.request.urlopen(page, timeout=PATIENCE) as answer:
        assert b"<title>Sluice</title>" in answer.read()
    demo.process.send_signal(number)
    assert demo.wait_gone() == 0, "".join(demo.lines)


def ask(demo: Demo, command: str) -> str:
    """What it prints after the line that the demo shows for a shell."""
    (export,) = re.findall(r"^ +(export .*)$", "".join(demo.lines), re.M)
    done = subprocess.run(["sh", "-c", f"{export}; {command}"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("demo", PROXIES, indirect=True)
def test_what_it_shows_for_a_shell_works(demo):
    said = "".join(demo.lines)
    assert "ready" in ask(demo, "sluicectl status")
    for command in re.findall(r"^ +(sluicectl (?!top).*)$", said, re.M):
        assert ask(demo, command)
    # The story has sent hundreds of requests: they are counted, and have their lines.
    assert "default/test " in ask(demo, "sluicectl top --once --interval 0")
    (log,) = re.findall(r"access log: (\S+)", said)
    assert '"ingress":"test"' in pathlib.Path(log).read_text(encoding="ascii")
    # A command of the story can be repeated as it was shown.
    (curl,) = re.findall(r"^\$ (curl .*)$", said, re.M)
    assert "status 200" in ask(demo, curl)


@pytest.mark.parametrize("demo", ["nginx"], indirect=True)
def test_ends_all_when_it_is_killed(demo):
    os.kill(demo.worker.pid, signal.SIGKILL)
    assert demo.wait_gone() == 128 + signal.SIGKILL


@pytest.mark.parametrize("demo", ["rancher"], indirect=True)
def test_the_second_signal_ends_it_at_once(demo):
    os.kill(demo.worker.pid, signal.SIGSTOP)
    demo.process.send_signal(signal.SIGINT)
    demo.process.send_signal(signal.SIGTERM)
    assert demo.wait_gone() == 128 + signal.SIGKILL


def test_what_fails_shows_the_logs(tmp_path):
    done = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "PYTHONPATH": str(DEMO.parent), "TMPDIR": str(tmp_path), "SLUICE_BUILD": str(build_folder())})
    assert done.returncode == 1
    assert "the end of the log of sluice-translator" in done.stdout and " event=started " in done.stdout
    assert "TimeoutError: what was waited for" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("provider", ["rancher", *PROXIES])
def test_a_user_who_may_not_have_the_port_is_told_at_once(provider, tmp_path):
    done = subprocess.run([sys.executable, "-c", DENIED, "--provider", provider], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "PYTHONPATH": str(DEMO.parent), "TMPDIR": str(tmp_path), "SLUICE_BUILD": str(build_folder())})
    assert done.returncode == 2 and "may not listen on port 80: run it as root" in done.stderr, done.stdout + done.stderr
    assert done.stdout == "" and list(tmp_path.iterdir()) == []
