# SPDX-License-Identifier: Apache-2.0
"""Signals mean the same whoever started a program: what was blocked or ignored then is not, for it and for what it starts."""
from __future__ import annotations

import os
import pathlib
import re
import signal
import sys

import pytest

from lib.backend import Backend
from lib.daemon import Daemon
from lib.line import build_folder
from lib.local_proxy import host, pool
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

DEAF = """import os, signal, sys
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execv(sys.argv[1], sys.argv[1:])
"""
# Asked to end before the program's first step: what is pending outlives exec.
IMPATIENT = """import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
os.kill(os.getpid(), signal.SIGHUP)
os.kill(os.getpid(), int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""
KUBECONFIG = """{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
clusters: [{name: x, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: x, user: {token: x}}]}"""
ELSEWHERE = {"CATTLE_URL": "http://127.0.0.1:1/v2-beta", "CATTLE_ACCESS_KEY": "x", "CATTLE_SECRET_KEY": "x",
             "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
PROGRAMS = {"watcher/sluice-watcher": ["--kubeconfig", "kubeconfig"], "translator/sluice-translator": [],
            "provider-rancher/sluice-provider-rancher": [], "provider-elb/sluice-provider-elb": ["--cluster-name", "x"]}


def make_deaf(daemon: Daemon) -> Daemon:
    """It is started with every signal blocked and ignored."""
    daemon.arguments = ["-c", DEAF, str(daemon.program), *daemon.arguments]
    daemon.program = pathlib.Path(sys.executable)
    return daemon


def signals(pid: int) -> dict[str, int]:
    """What is blocked, and what is ignored, as bits."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: int(re.search(rf"^{name}:\s*(\w+)$", status, re.MULTILINE)[1], 16) for name in ("SigBlk", "SigIgn")}


def make(program: str, folder: pathlib.Path) -> Daemon:
    (folder / "kubeconfig").write_text(KUBECONFIG)
    arguments = [str(folder / word) if word == "kubeconfig" else word for word in PROGRAMS[program]]
    return Daemon(build_folder() / program, ["--runtime-dir", str(folder), *arguments], folder / "log", ELSEWHERE)


def run(program: str, folder: pathlib.Path, is_deaf: bool) -> dict[str, int]:
    daemon = make(program, folder)
    if is_deaf:
        make_deaf(daemon)
    daemon.start()
    try:
        daemon.wait_event("started")
        return signals(daemon.pid)
    finally:
        try:
            assert daemon.stop() == 0
        finally:
            daemon.kill()


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_daemon(program, tmp_path):
    heard = run(program, tmp_path, is_deaf=False)
    assert heard["SigBlk"] == 0 and heard["SigIgn"] == 1 << signal.SIGPIPE - 1
    assert run(program, tmp_path, is_deaf=True) == heard


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("program", PROGRAMS)
def test_asked_to_end_before_the_first_step(program, number, tmp_path):
    """It ends in order, as ever; a hangup before does not end it in another way."""
    daemon = make(program, tmp_path)
    daemon.arguments = ["-c", IMPATIENT, str(int(number)), str(daemon.program), *daemon.arguments]
    daemon.program = pathlib.Path(sys.executable)
    daemon.start()
    assert daemon.reap() == 0, daemon.lines
    assert len(daemon.events("started")) == len(daemon.events("stopped")) == 1


@pytest.mark.parametrize("name", PROXIES)
def test_each_proxy_and_its_provider(name):
    """The same for what they start, which is compared with one that was started by somebody who hears.

    For the moment of a fork, or while it takes signals in, a program may block all; it must hear again afterwards.
    """
    found = []
    for is_deaf in (False, True):
        with Backend("web") as pod, proxy_class(name)(start=False) as proxy:
            if is_deaf:
                make_deaf(proxy.provider)
            proxy.start()
            proxy.send(pool("web", pod), host("web.test", ("/", "web")), proxy.balancer())
            proxy.commit()
            proxy.wait_applied()
            pids = (proxy.provider.pid, *proxy.masters(), proxy.workers()[0])
            wait_for(lambda: all(signals(pid)["SigBlk"] == 0 for pid in pids), "all of them to hear")
            found.append([signals(pid)["SigIgn"] for pid in pids])
            os.kill(proxy.provider.pid, signal.SIGTERM)
            assert proxy.provider.reap() == 0
    assert found[1] == found[0]
