# SPDX-License-Identifier: Apache-2.0
"""The admin server of each program: where it opens, who may look in, and what liveness and readiness say."""
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
from lib.envtest import needs_standin
from lib.handed_over import handed_over, listening
from lib.line import Line, build_folder
from lib.wait import wait_for
from lib.admin import look, wait_ready

TRANSLATOR = build_folder() / "translator/sluice-translator"
PROVIDER = build_folder() / "examples/example-provider"


def alone(program: pathlib.Path, tmp_path: pathlib.Path, *always: str):
    """Makes programs that nobody talks to."""
    made: list[Daemon] = []

    def make(*arguments: str, **environment: str) -> Daemon:
        made.append(Daemon(program, ["--runtime-dir", str(tmp_path), *always, *arguments], tmp_path / f"{len(made)}.log", environment))
        return made[-1]

    yield make
    assert [code for daemon in made if daemon.is_running() and (code := daemon.stop()) != 0] == []


@pytest.fixture
def translator(tmp_path):
    yield from alone(TRANSLATOR, tmp_path)


@pytest.fixture
def provider(tmp_path):
    """The smallest program that has a port."""
    yield from alone(PROVIDER, tmp_path, "--address", "192.0.2.7")


def port_of(daemon: Daemon) -> int:
    return int(re.search(r" port=(\d+)", daemon.wait_event("admin-listening", "port="))[1])


def test_liveness_without_neighbours(provider, tmp_path):
    daemon = provider("--admin-address", "127.0.0.1:0").start()
    admin = tmp_path / "example-provider.admin"
    for place in (port_of(daemon), admin):
        assert look(place, "/healthz").status == 200
        view = look(place, "/readyz")
        assert view.status == 503
        assert view.text == "the translator\n"
        assert view.headers["content-type"] == "text/plain; charset=utf-8"
        assert look(place, "/").status == 404
    assert stat.S_IMODE(admin.stat().st_mode) == 0o660


def test_a_stopped_loop_is_not_alive(provider):
    daemon = provider("--admin-address", "127.0.0.1:0").start()
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


def test_ipv6(provider):
    with contextlib.closing(socket.socket(socket.AF_INET6)) as trial:
        try:
            trial.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
    daemon = provider("--admin-address", "[::1]:0").start()
    assert look(("::1", port_of(daemon)), "/healthz").status == 200


def test_a_port_that_is_taken(provider):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        daemon = provider("--admin-address", f"127.0.0.1:{port}").start()
        assert daemon.reap() == 1
        daemon.wait_event("start-failed", f"--admin-address 127.0.0.1:{port}: Address already in use")
    # The default is not asked for: the line goes on without.
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", 10246)):
        daemon = provider()
        del daemon.environment["SLUICE_ADMIN_ADDRESS"]
        daemon.start()
        daemon.wait_event("admin-unavailable", "127.0.0.1:10246")
        daemon.wait_event("started")
        assert daemon.stop() == 0


@pytest.mark.parametrize("value", ["localhost:1", "10246", "127.0.0.1:99999", "on"])
def test_wrong_usage(provider, value):
    daemon = provider("--admin-address", value).start()
    assert daemon.reap() == 2
    daemon.wait_event("bad-usage", f"--admin-address {value}: ADDRESS:PORT is expected")


def test_wrong_options_are_all_that_is_told(translator):
    daemon = translator("--default-backend", "nothing-that-is-a-name").start()
    assert daemon.reap() == 2
    assert len(daemon.lines) == len(daemon.events("bad-usage")) == 1


def test_a_folder_that_is_not_there(translator, tmp_path):
    daemon = translator("--admin-dir", str(tmp_path / "nowhere")).start()
    daemon.wait_event("admin-unavailable", "nowhere/translator.admin")
    daemon.wait_event("started")
    assert daemon.stop() == 0


def test_sockets_of_the_service_manager(tmp_path):
    """Both kinds under one name; they stay when the process ends."""
    path = tmp_path / "passed"
    with socket.create_server(("127.0.0.1", 0)) as tcp, listening(path) as local:
        with handed_over("admin", [tcp, local], PROVIDER, "--runtime-dir", tmp_path, "--address", "192.0.2.7") as process:
            try:
                assert look(tcp.getsockname()[1], "/healthz").status == 200
                assert look(path, "/healthz").status == 200
                assert not (tmp_path / "example-provider.admin").exists()
            finally:
                process.terminate()
                process.stderr.read()
            assert process.wait() == 0
        assert path.exists()


@pytest.mark.parametrize("family,kind", [("AF_INET", "SOCK_STREAM"), ("AF_INET6", "SOCK_STREAM"), ("AF_INET", "SOCK_DGRAM")])
def test_the_translator_takes_no_socket_of_the_network(tmp_path, family, kind):
    """Not even one that it was handed; its message names the program that does."""
    with socket.socket(getattr(socket, family), getattr(socket, kind)) as network, listening(tmp_path / "passed") as local:
        with handed_over("admin", [local, network], TRANSLATOR, "--runtime-dir", tmp_path) as process:
            said = process.stderr.read()
            assert process.wait() == 2
        assert "event=bad-usage" in said and "(descriptor 4)" in said and "hand it to `sluicectl serve translator`" in said


def test_the_translator_has_no_option_for_a_port(translator, tmp_path):
    daemon = translator("--admin-address", "127.0.0.1:0").start()
    assert daemon.reap() == 2
    assert any("--admin-address" in line for line in daemon.lines)
    with listening(tmp_path / "passed") as local, handed_over("admin", [local], TRANSLATOR, "--runtime-dir", tmp_path) as process:
        assert look(tmp_path / "passed", "/readyz").text == "the watcher\n"
        process.terminate()
        process.stderr.read()
        assert process.wait() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_strangers_may_not_look_in_by_the_socket(translator, tmp_path):
    admin = tmp_path / "translator.admin"
    stranger = ("import socket, sys\n"
                "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                "try: s.sendall(b'GET /healthz HTTP/1.1\\r\\n\\r\\n')\n"
                "except BrokenPipeError: pass  # it was turned away at once\n"
                "print(s.recv(65536).decode().splitlines()[0])\n")

    def asks() -> str:
        return subprocess.run([sys.executable, "-c", stranger, "translator.admin"], cwd=tmp_path, user=65534, group=65534, extra_groups=[],
                              capture_output=True, text=True, timeout=60).stdout.strip()

    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    daemon = translator().start()
    daemon.wait_event("started")
    assert asks() == ""  # by the mode of the file
    admin.chmod(0o666)
    assert asks() == "HTTP/1.1 403 Forbidden"
    assert daemon.stop() == 0
    daemon = translator("--admin-allow-uid", "65534").start()
    daemon.wait_event("started")
    admin.chmod(0o666)
    assert asks() == "HTTP/1.1 200 OK"


def test_the_names_of_version_0_1_are_taken(provider, tmp_path):
    """On the command line, in the environment and in a file; the present name goes first."""
    def ports(daemon) -> list[str]:
        daemon.start().wait_event("started")
        found = [line for line in daemon.events("admin-listening") if "port=" in line]
        assert daemon.stop() == 0
        return found

    (tmp_path / "former.conf").write_text("window = 127.0.0.1:0\n")
    for arguments, environment in ((["--window", "127.0.0.1:0"], {}), ([], {"SLUICE_WINDOW": "127.0.0.1:0"}),
                                   (["--config", str(tmp_path / "former.conf")], {})):
        daemon = provider(*arguments)
        del daemon.environment["SLUICE_ADMIN_ADDRESS"]
        daemon.environment |= environment
        assert len(ports(daemon)) == 1, arguments
    daemon = provider()
    daemon.environment |= {"SLUICE_ADMIN_ADDRESS": "off", "SLUICE_WINDOW": "127.0.0.1:0"}
    assert ports(daemon) == []


def test_readiness_of_the_line():
    with Line(start=False) as line:
        sockets = {name: line.runtime / f"{name}.admin" for name in ("watcher", "translator", "provider-rancher")}
        daemons = {"watcher": line.watcher, "translator": line.translator, "provider-rancher": line.provider}

        def lacks(name: str, *lines: str) -> None:
            wait_for(lambda: look(sockets[name], "/readyz").text.splitlines() == list(lines), f"{name} to lack {lines}", 60)

        line.provider.start().wait_event("started")
        lacks("provider-rancher", "the translator")
        line.translator.start().wait_event("started")
        lacks("provider-rancher", "the translator's first snapshot")
        lacks("translator", "the watcher")
        line.watcher.start()
        for name, place in sockets.items():
            daemons[name].wait_event("started")
            wait_ready(place)
            assert look(place, "/readyz").text == "ready\n"
        # What was heard stays in force, and is said.
        line.watcher.kill()
        lacks("translator", "the watcher; the last state stays in force")
        assert look(sockets["provider-rancher"], "/readyz").status == 200
        assert look(sockets["translator"], "/healthz").status == 200
        # A socket file of one that was killed is replaced.
        line.watcher.start()
        wait_ready(sockets["watcher"])


@needs_standin("start a controller with other rights")
def test_a_line_for_each_thing_that_is_missing():
    with Line(start=False) as line:
        line.kube.rules([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["ingresses", "ingressclasses", "endpointslices"]}])
        line.watcher.start().wait_event("started")
        admin = line.runtime / "watcher.admin"
        wait_for(lambda: [(words.split()[0], "403" in words) for words in look(admin, "/readyz").text.splitlines()]
                 == [("service", True), ("secret", True)], "two kinds to be missing, and why", 60)
        # In the log they share a line.
        wait_for(lambda: [event for event in line.watcher.events("not-ready") if "service (" in event and "secret (" in event], "a line with both", 60)
