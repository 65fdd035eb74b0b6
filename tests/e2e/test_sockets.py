# SPDX-License-Identifier: Apache-2.0
"""Nonsense on the two sockets: garbage, frames that are too large, half frames. That link is closed and logged; the rest lives."""
from __future__ import annotations

import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

from lib.daemon import Daemon
from lib.frames import HALVES, NONSENSE, frame, hello
from lib.handed_over import handed_over, listening
from lib.line import build_folder
from lib.links import LinkClosed, Watcher, connected
from lib.provider_bench import Bench
from lib.provider_link import pool, simple, virtual_host
from lib.traffic import Traffic
from lib.wait import wait_for
from lib.web import HOST, change

WEB = "default-rancherlb-web"
ROLES = {"source": ("watcher", {}), "provider": ("provider", {"capabilities": {"grouping": "per-ingress", "protocols": ["http", "https"]}})}


def is_closed(peer: socket.socket) -> bool:
    """Whether the other side has closed the connection; waits for it."""
    peer.settimeout(60)
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while peer.recv(65536):
            pass
    return True


def send(peer: socket.socket, data: bytes) -> None:
    """The other side may have hung up already."""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        peer.sendall(data)


@pytest.mark.parametrize("link", ROLES)
def test_who_comes_second_is_sent_away_and_the_first_goes_on(line, served, link):
    since = len(line.translator.lines)
    for data in [*NONSENSE.values(), *HALVES.values(), frame("hello", hello(ROLES[link][0], **ROLES[link][1]))]:
        peer = wait_for(lambda: connected(line.runtime / f"{link}.sock"), "the socket")
        send(peer, data)
        assert is_closed(peer)
        peer.close()
    line.translator.wait_event("link-refused", since=since)
    change(line, served)
    assert not [text for text in line.translator.lines[since:] if "event=link-down" in text]


@pytest.mark.parametrize("role", ["watcher", "provider"])
def test_a_second_daemon_says_why_it_is_not_served(line, served, role, tmp_path):
    first = getattr(line, role)
    second = Daemon(first.program, first.arguments, tmp_path / "second.log", {**first.environment, "SLUICE_ADMIN_DIR": str(tmp_path)}, first.stdin)
    second.start()
    try:
        said = second.wait_event("link-down", f"another {role} is connected")
        assert "one is served at a time" in said
    finally:
        second.stop()
    change(line, served)


@pytest.mark.parametrize("greeted", [False, True], ids=["at-once", "after-hello"])
@pytest.mark.parametrize("link", ROLES)
def test_nonsense_closes_the_link_and_nothing_else(line, served, link, greeted):
    role, more = ROLES[link]
    daemon = line.watcher if link == "source" else line.provider
    balancer = line.balancer("web", served.namespace)["id"]
    with Traffic(*line.entries("web", served.namespace)[0], HOST, "/foo", pause=0.05) as traffic:
        daemon.kill()
        since = len(line.translator.lines)
        for name, data in {**NONSENSE, **HALVES}.items():
            intruder = intrude(line, link, hello(role, **more) if greeted else None)
            send(intruder, data)
            if name in HALVES:
                intruder.shutdown(socket.SHUT_WR)
            assert is_closed(intruder), name
            intruder.close()
        line.translator.wait_event("link-bad-message", since=since)
        daemon.start()
        change(line, served)
    assert traffic.failures == []
    assert line.balancer("web", served.namespace)["id"] == balancer
    assert line.translator.starts == 1


def intrude(line, link: str, greeting: dict | None) -> socket.socket:
    """A connection that the translator serves, in place of the daemon that is not there. One that came too early, while the last was still
    being taken leave of, is made again."""
    def accepted():
        peer = connected(line.runtime / f"{link}.sock")
        if peer is None:
            return None
        peer.settimeout(60)
        with contextlib.suppress(ConnectionResetError):
            if b"hello" in peer.recv(64, socket.MSG_PEEK):  # and no bye
                return peer
        peer.close()
        return None
    peer = wait_for(accepted, f"{link}.sock to take a peer")
    if greeting is not None:
        peer.sendall(frame("hello", greeting))
    return peer


@pytest.mark.parametrize("link", ROLES)
def test_one_that_hangs_in_the_middle_of_a_frame_is_found_out(line, served, link):
    """It says hello and half a frame, and then nothing: pings are not answered, and the real one comes back in."""
    role, more = ROLES[link]
    daemon = line.watcher if link == "source" else line.provider
    daemon.kill()
    intruder = intrude(line, link, hello(role, **more))
    send(intruder, HALVES["half-a-frame"])
    daemon.start()
    assert is_closed(intruder)
    change(line, served)
    intruder.close()


def test_records_of_an_intruder_that_is_cut_do_not_count(line, served):
    """Half a snapshot takes nothing away."""
    line.watcher.kill()
    intrude(line, "source", None).close()
    half = wait_for(lambda: try_watcher(line), "a watcher's place")
    half.send("sync-begin", {"kind": "ingress"})
    send(half.sock, HALVES["half-a-frame"])
    half.close()
    line.watcher.start()
    change(line, served)
    assert line.balancer("web", served.namespace)


def try_watcher(line) -> Watcher | None:
    try:
        return Watcher(line.runtime)
    except LinkClosed:
        return None


def test_a_link_that_says_nothing_is_no_obstacle(line, served):
    """Connections that never say hello are given up."""
    line.watcher.kill()
    silent = intrude(line, "source", None)
    line.watcher.start()
    assert is_closed(silent)
    change(line, served)
    silent.close()


@pytest.mark.parametrize("data", [*NONSENSE.values(), HALVES["half-a-frame"]], ids=[*NONSENSE, "half-a-frame"])
def test_nonsense_from_the_translator_changes_no_load_balancer(bench, data):
    connections = bench.translator.connections
    bench.forget_requests()
    bench.translator.send_bytes(data, end=data in HALVES.values())
    bench.translator.wait_connection(connections + 1)
    bench.translator.put(virtual_host("default/web", "web.example.com", ("/new", "default/web")))
    wait_for(lambda: [r["path"] for r in bench.rules(WEB)] == ["/new"], "the new path")
    assert bench.writes() == [("PUT", WEB)]
    assert bench.provider.starts == 1
    bench.translator.put(*simple("web"))
    wait_for(lambda: [r["path"] for r in bench.rules(WEB)] == ["/foo"], "the old path")
    bench.translator.wait_status("default/web")


USERS = {"source": (64001, "--allow-watcher-uid"), "provider": (64002, "--allow-provider-uid")}
# Says what came first: the listener greets whom it takes, and says a bye to others.
COME = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(60); print(s.recv(4096))"


def told(path: pathlib.Path, uid: int) -> str:
    done = subprocess.run([sys.executable, "-c", COME, str(path)], user=uid, group=0, extra_groups=[], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("link", ROLES)
def test_each_link_lets_in_its_own_user_alone(open_translator, link):
    translator, runtime = open_translator
    path = runtime / f"{link}.sock"
    wait_for(path.exists, str(path))
    uid, option = USERS[link]
    stranger = next(other for name, (other, _) in USERS.items() if name != link)
    since = len(translator.lines)
    last_words = told(path, stranger)
    assert "bye" in last_words and f"user {stranger} may not connect; the translator's {option} names" in last_words
    refused = translator.wait_event("link-refused", f"uid={stranger} ", since=since)
    assert option in refused and not any(other in refused for _, other in USERS.values() if other != option)
    # One that comes while the last is still being taken leave of is second.
    wait_for(lambda: "hello" in told(path, uid), f"{uid} to be let in")


@pytest.fixture
def open_translator():
    """One that processes of other users can get at, if it lets them."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = pathlib.Path(folder)
        runtime.chmod(0o750)
        arguments = ["--runtime-dir", folder]
        for uid, option in USERS.values():
            arguments += [option, str(uid)]
        translator = Daemon(build_folder() / "translator/sluice-translator", arguments, runtime / "log").start()
        try:
            yield translator, runtime
        finally:
            translator.stop()


@pytest.fixture(scope="module")
def bench():
    with Bench() as running:
        running.services("web")
        running.translator.put(*simple("web"), pool("web"))
        running.translator.wait_status("default/web")
        yield running


def alone(folder: pathlib.Path, *arguments: str) -> Daemon:
    return Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(folder), *arguments], folder.parent / "translator.log")


def remove_folder(runtime: pathlib.Path) -> None:
    shutil.rmtree(runtime, ignore_errors=True)  # the translator takes its admin server away meanwhile


def move_folder(runtime: pathlib.Path) -> None:
    runtime.rename(runtime.with_name("moved"))


def replace_socket(runtime: pathlib.Path) -> None:
    other = runtime / "other"
    other.touch()
    other.rename(runtime / "source.sock")


@pytest.mark.parametrize("how", [remove_folder, move_folder, replace_socket], ids=lambda how: how.__name__)
def test_the_translator_ends_when_nobody_can_reach_it(how, tmp_path):
    """So that whoever supervises it starts it again; who is connected is told."""
    runtime = tmp_path / "run"
    runtime.mkdir()
    daemon = alone(runtime).start()
    watcher = Watcher(runtime)
    how(runtime)
    said = daemon.wait_event("link-socket-gone")
    assert str(runtime) in said and 'made_by="this program"' in said
    assert daemon.process.wait(60) == 1
    with pytest.raises(LinkClosed, match="the translator ends"):
        while True:
            watcher.receive(60)
    watcher.close()
    # What the supervisor does.
    runtime.mkdir(exist_ok=True)
    (runtime / "source.sock").unlink(missing_ok=True)
    again = alone(runtime).start()
    Watcher(runtime).close()
    assert again.stop() == 0


def test_files_beside_the_sockets_mean_nothing(tmp_path):
    daemon = alone(tmp_path).start()
    wait_for((tmp_path / "provider.sock").exists, "the sockets")
    for _ in range(100):
        (tmp_path / "x").touch()
        (tmp_path / "x").rename(tmp_path / "y.sock")
        (tmp_path / "y.sock").unlink()
    Watcher(tmp_path).close()
    assert daemon.stop() == 0 and not daemon.events("link-socket-gone")


def test_a_socket_of_the_service_manager_is_left_to_it(tmp_path):
    """The translator cannot make it anew by a start; it says what can, and goes on with whoever is connected."""
    path = tmp_path / "source.sock"
    translator = build_folder() / "translator/sluice-translator"
    with listening(path) as listener, handed_over("source.sock", [listener], translator, "--runtime-dir", tmp_path) as process:
        watcher = Watcher(tmp_path)
        path.unlink()
        said = next(line for line in process.stderr if "event=link-socket-gone" in line)
        assert 'made_by="the service manager"' in said
        watcher.send("ping", {"seq": 1})
        assert watcher.receive(60) and process.poll() is None
        watcher.close()
        process.terminate()
        process.stderr.read()
        assert process.wait(60) == 0
