# SPDX-License-Identifier: Apache-2.0
"""The window of each program: where it opens, who may look in, and what liveness and readiness say."""
from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import subprocess
import sys

import pytest

from lib.daemon import Daemon
from lib.envtest import assets
from lib.line import Line, build_folder
from lib.wait import wait_for
from lib.window import look, wait_ready

TRANSLATOR = build_folder() / "translator/sluice-translator"


@pytest.fixture
def translator(tmp_path):
    """Makes translators that nobody talks to."""
    made: list[Daemon] = []

    def make(*arguments: str, **environment: str) -> Daemon:
        made.append(Daemon(TRANSLATOR, ["--runtime-dir", str(tmp_path), *arguments], tmp_path / f"{len(made)}.log", environment))
        return made[-1]

    yield make
    assert [code for daemon in made if daemon.is_running() and (code := daemon.stop()) != 0] == []
    assert not (tmp_path / "translator.window").exists()


def port_of(daemon: Daemon) -> int:
    return int(re.search(r" port=(\d+)", daemon.wait_event("window-listening", "port="))[1])


def test_liveness_without_neighbours(translator, tmp_path):
    daemon = translator("--window", "127.0.0.1:0").start()
    window = tmp_path / "translator.window"
    for place in (port_of(daemon), window):
        assert look(place, "/healthz").status == 200
        view = look(place, "/readyz")
        assert view.status == 503
        assert view.text == "the watcher\n"
        assert view.headers["content-type"] == "text/plain; charset=utf-8"
        assert look(place, "/").status == 404
    assert stat.S_IMODE(window.stat().st_mode) == 0o660


def test_a_stopped_loop_is_not_alive(translator):
    daemon = translator("--window", "127.0.0.1:0").start()
    port = port_of(daemon)
    assert look(port, "/healthz").status == 200
    daemon.pause()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as probe:
        probe.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
        probe.settimeout(2)
        with pytest.raises(TimeoutError):
            probe.recv(1)
        daemon.resume()
        probe.settimeout(60)
        assert probe.recv(64).startswith(b"HTTP/1.1 200 ")


def test_ipv6(translator):
    with contextlib.closing(socket.socket(socket.AF_INET6)) as trial:
        try:
            trial.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
    daemon = translator("--window", "[::1]:0").start()
    assert look(("::1", port_of(daemon)), "/healthz").status == 200


def test_a_port_that_is_taken(translator):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        daemon = translator("--window", f"127.0.0.1:{port}").start()
        assert daemon.reap() == 1
        assert f"--window 127.0.0.1:{port}: Address already in use" in daemon.events("start-failed")[0]
    # The default is not asked for: the line goes on without.
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", 10242)):
        daemon = translator()
        del daemon.environment["SLUICE_WINDOW"]
        daemon.start()
        daemon.wait_event("window-unavailable", "127.0.0.1:10242")
        daemon.wait_event("started")
        assert daemon.stop() == 0


@pytest.mark.parametrize("value", ["localhost:1", "10242", "127.0.0.1:99999", "on"])
def test_wrong_usage(translator, value):
    daemon = translator("--window", value).start()
    assert daemon.reap() == 2
    assert f"--window {value}: ADDRESS:PORT is expected" in daemon.events("bad-usage")[0]


def test_a_folder_that_is_not_there(translator, tmp_path):
    daemon = translator("--window-dir", str(tmp_path / "nowhere")).start()
    daemon.wait_event("window-unavailable", "nowhere/translator.window")
    daemon.wait_event("started")
    assert daemon.stop() == 0


def test_sockets_of_the_service_manager(tmp_path):
    """Both kinds under one name, as a socket unit with FileDescriptorName=window passes them; they stay when the process ends."""
    path = tmp_path / "passed"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(path))
        local.listen()
        # LISTEN_PID has to be the program's own number: this child sets it and becomes the program.
        child = ("import os, sys\n"
                 "for place, fd in enumerate(map(int, sys.argv[1:3])): os.dup2(fd, 40 + place)\n"
                 "for place in range(2): os.dup2(40 + place, 3 + place); os.set_inheritable(3 + place, True)\n"
                 "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='2', LISTEN_FDNAMES='window:window')\n"
                 "os.execv(sys.argv[3], sys.argv[3:])\n")
        environment = {name: value for name, value in os.environ.items() if name != "SLUICE_WINDOW"}
        with subprocess.Popen([sys.executable, "-c", child, str(tcp.fileno()), str(local.fileno()), str(TRANSLATOR),
                               "--runtime-dir", str(tmp_path)], env=environment, pass_fds=(tcp.fileno(), local.fileno()),
                              stderr=subprocess.DEVNULL) as process:
            try:
                assert look(tcp.getsockname()[1], "/healthz").status == 200
                assert look(path, "/healthz").status == 200
                assert not (tmp_path / "translator.window").exists()
            finally:
                process.terminate()
            assert process.wait() == 0
        assert path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_strangers_may_not_look_in_by_the_socket(translator, tmp_path):
    window = tmp_path / "translator.window"
    stranger = ("import socket, sys\n"
                "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'GET /healthz HTTP/1.1\\r\\n\\r\\n')\n"
                "print(s.recv(65536).decode().splitlines()[0])\n")

    def asks() -> str:
        return subprocess.run([sys.executable, "-c", stranger, "translator.window"], cwd=tmp_path, user=65534, group=65534, extra_groups=[],
                              capture_output=True, text=True, timeout=60).stdout.strip()

    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    daemon = translator().start()
    daemon.wait_event("started")
    assert asks() == ""  # by the mode of the file
    window.chmod(0o666)
    assert asks() == "HTTP/1.1 403 Forbidden"
    assert daemon.stop() == 0
    daemon = translator("--window-allow-uid", "65534").start()
    daemon.wait_event("started")
    window.chmod(0o666)
    assert asks() == "HTTP/1.1 200 OK"


def test_readiness_of_the_line():
    with Line(start=False) as line:
        windows = {name: line.runtime / f"{name}.window" for name in ("watcher", "translator", "provider-rancher")}
        daemons = {"watcher": line.watcher, "translator": line.translator, "provider-rancher": line.provider}

        def lacks(name: str, *lines: str) -> None:
            wait_for(lambda: look(windows[name], "/readyz").text.splitlines() == list(lines), f"{name} to lack {lines}", 60)

        line.provider.start().wait_event("started")
        lacks("provider-rancher", "the translator")
        line.translator.start().wait_event("started")
        lacks("provider-rancher", "the translator's first snapshot")
        lacks("translator", "the watcher")
        line.watcher.start()
        for name, place in windows.items():
            daemons[name].wait_event("started")
            wait_ready(place)
            assert look(place, "/readyz").text == "ready\n"
        # What was heard stays in force, and is said.
        line.watcher.kill()
        lacks("translator", "the watcher; the last state stays in force")
        assert look(windows["provider-rancher"], "/readyz").status == 200
        assert look(windows["translator"], "/healthz").status == 200
        # A socket file of one that was killed is replaced.
        line.watcher.start()
        wait_ready(windows["watcher"])


@pytest.mark.skipif(bool(assets()), reason="a real API server has no rights to take away")
def test_a_line_for_each_thing_that_is_missing():
    with Line(start=False) as line:
        line.kube.rules([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["ingresses", "ingressclasses", "endpointslices"]}])
        line.watcher.start().wait_event("started")
        window = line.runtime / "watcher.window"
        wait_for(lambda: [words.split()[0] for words in look(window, "/readyz").text.splitlines()] == ["service", "secret"],
                 "two kinds to be missing", 60)
        for words in look(window, "/readyz").text.splitlines():
            assert "403" in words
        # In the log they share a line.
        assert "service (" in line.watcher.events("not-ready")[-1] and "secret (" in line.watcher.events("not-ready")[-1]
