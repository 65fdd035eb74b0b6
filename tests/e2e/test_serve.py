# SPDX-License-Identifier: Apache-2.0
"""`sluicectl serve`: three pages of a program over TCP, whatever becomes of the program, or of whoever asks."""
from __future__ import annotations

import contextlib
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from lib.daemon import Daemon
from lib.handed_over import handed_over
from lib.line import build_folder, is_sanitized
from lib.served import SLUICECTL, Served
from lib.wait import wait_for
from lib.admin import look

TRANSLATOR = build_folder() / "translator/sluice-translator"
PAGES = ("/healthz", "/readyz", "/metrics")
CONNECTIONS_MAX = 32  # ADMIN_CONNECTIONS_MAX of common/admin_server.h
HEAD_LEN_MAX = 8 * 1024
HEAD_S = 10
PATIENCE = 60


@pytest.fixture
def translator(tmp_path):
    daemon = Daemon(TRANSLATOR, ["--runtime-dir", str(tmp_path)], tmp_path / "translator.log")
    daemon.start().wait_event("started")
    yield daemon
    if daemon.is_running():
        daemon.resume()
        assert daemon.stop() == 0


@pytest.fixture
def serve(tmp_path):
    made: list[Served] = []

    def start(*arguments: str) -> Served:
        made.append(Served(tmp_path, "translator", tmp_path / f"serve{len(made)}.log", *arguments))
        return made[-1].start()

    yield start
    assert [code for server in made if server.is_running() and (code := server.stop()) != 0] == []


def read_answer(connection: socket.socket) -> bytes:
    """All of it: the connection ends behind it."""
    got = b""
    while piece := connection.recv(65536):
        got += piece
    return got


def say(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        return read_answer(connection)


def metrics(text: str) -> set[str]:
    return {line.split("{")[0].split()[0] for line in text.splitlines() if not line.startswith("#")}


def test_the_pages_are_those_of_the_admin_server(translator, serve, tmp_path):
    server, admin = serve(), tmp_path / "translator.admin"
    for page in PAGES:
        for accept in ("text/plain", "application/openmetrics-text;version=1.0.0"):
            here, there = look(admin, page, Accept=accept), look(server.port, page, Accept=accept)
            assert (there.status, there.headers["content-type"]) == (here.status, here.headers["content-type"]), page
            assert metrics(there.text) == metrics(here.text), page
    assert look(server.port, "/healthz").text == "the event loop turns\n"
    assert (look(server.port, "/readyz").status, look(server.port, "/readyz").text) == (503, "the watcher\n")
    assert "sluice_translator_records" in look(server.port, "/metrics").text
    assert "does not" not in "".join(server.lines)


def test_nothing_else_is_shown(translator, serve, tmp_path):
    server = serve()
    assert look(tmp_path / "translator.admin", "/about").status == 200
    for path in ("/", "/status", "/objects/secret", "/events", "/about", "/explain?namespace=a&name=b", "/metrics/", "/healthz/../status", "/%68ealthz",
                 "//metrics", "/METRICS"):
        view = look(server.port, path)
        assert (view.status, view.text.splitlines()[1:]) == (404, list(PAGES)), path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"):
        got = say(server.port, f"{method} /metrics HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert got.startswith(b"HTTP/1.1 405 ") and b"\r\nAllow: GET, HEAD\r\n" in got, method
    got = say(server.port, b"HEAD /metrics HTTP/1.1\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200 ") and got.endswith(b"\r\n\r\n") and b"Content-Length: 0" not in got
    # Of a request only the path goes any further.
    got = say(server.port, b"GET /healthz?x=%0d%0aA:b HTTP/1.1\r\nAccept: a\r\nHost: evil\r\nX-Long: " + b"x" * 4000 + b"\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200 ")


def test_what_is_no_request_is_refused(translator, serve):
    server = serve()
    for request, status in ((b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400), (b"GET /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\na", 413),
                            (b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413), (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n", 414),
                            (b"GET / HTTP/1.1\r\nA: " + b"b" * HEAD_LEN_MAX, 431)):
        assert say(server.port, request).startswith(b"HTTP/1.1 %d " % status), request[:40]
    assert look(server.port, "/healthz").status == 200


def test_who_drips_is_cut_off(translator, serve):
    server = serve()
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as slow:
        slow.sendall(b"GET /hea")
        # Another one is answered meanwhile.
        assert look(server.port, "/healthz").status == 200
        assert read_answer(slow).startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - began > HEAD_S - 1


def test_a_program_that_comes_and_goes(translator, serve):
    server = serve()
    assert look(server.port, "/healthz").status == 200
    translator.kill()
    view = look(server.port, "/healthz")
    assert (view.status, view.text) == (503, "sluice-translator does not run, or has its admin server elsewhere\n")
    assert [look(server.port, page).status for page in PAGES] == [503, 503, 503]
    translator.start()
    wait_for(lambda: look(server.port, "/healthz").status == 200, "it to answer again", PATIENCE)
    assert "sluice_translator_records" in look(server.port, "/metrics").text
    # Told when it begins and when it ends, however often it is asked.
    wait_for(lambda: len(server.told("sluice-translator answers")) == 1, "its return to be told", PATIENCE)
    assert len(server.told("503 is answered until it does")) == 1


def test_a_program_that_is_not_there_yet(serve, tmp_path):
    server = serve()
    assert look(server.port, "/readyz").status == 503
    daemon = Daemon(TRANSLATOR, ["--runtime-dir", str(tmp_path)], tmp_path / "translator.log").start()
    daemon.wait_event("started")
    assert look(server.port, "/healthz").status == 200
    assert daemon.stop() == 0


def ask(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
    return connection


TURNED_AWAY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"


def is_turned_away(connection: socket.socket) -> bool:
    """Rather than waiting as all the others do; on a busy machine it may not have come to that yet."""
    connection.settimeout(0.2)
    try:
        return read_answer(connection).startswith(TURNED_AWAY)
    except ConnectionResetError:
        return True  # before it could read that
    except TimeoutError:
        return False


def test_a_program_that_hangs(translator, serve):
    """As many as may come wait for it and are told in time; who comes then is turned away at once; and then all is as before."""
    server = serve("--timeout", "5")
    assert look(server.port, "/healthz").status == 200
    translator.pause()
    began = time.monotonic()
    waiting = [ask(server.port) for _ in range(CONNECTIONS_MAX)]
    # Who comes before the requests of the others were read takes the place of one of them.
    while not is_turned_away(connection := ask(server.port)):
        waiting.append(connection)
    assert len(waiting) < 2 * CONNECTIONS_MAX and time.monotonic() - began < PATIENCE / 2
    connection.close()
    answers = []
    for connection in waiting:
        connection.settimeout(PATIENCE)
        with connection, contextlib.suppress(ConnectionResetError):
            answers.append(read_answer(connection))
    told = [answer for answer in answers if answer and not answer.startswith(TURNED_AWAY)]
    assert len(told) == CONNECTIONS_MAX and all(answer.startswith(b"HTTP/1.1 503 ") and b"it hangs, or is very busy" in answer for answer in told)
    assert time.monotonic() - began < PATIENCE / 2
    translator.resume()
    wait_for(lambda: look(server.port, "/healthz").status == 200, "it to answer again", PATIENCE)


def test_it_ends_while_somebody_waits(translator, serve):
    server = serve("--timeout", "3600")
    translator.pause()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < PATIENCE / 2
        assert connection.recv(1) == b""


def test_a_flood_of_connections_keeps_no_probe_out(translator, serve):
    server = serve()
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(3 * CONNECTIONS_MAX)]
    assert look(server.port, "/healthz").status == 200
    open_fds = len(list(pathlib.Path(f"/proc/{server.pid}/fd").iterdir()))
    assert open_fds < CONNECTIONS_MAX + 24
    for connection in idle:
        connection.close()


def program_at(path: pathlib.Path, answer: bytes) -> subprocess.Popen:
    """Something else behind the socket of the admin server, which answers these bytes to whatever it is asked, and then so again without end if they say so."""
    script = ("import socket, sys\n"
              "server = socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen(); print('listens', flush=True)\n"
              "answer = bytes.fromhex(sys.argv[2])\n"
              "while True:\n"
              "    peer = server.accept()[0]; peer.recv(65536)\n"
              "    try:\n"
              "        peer.sendall(answer)\n"
              "        while b'chunked' in answer: peer.sendall(b'1000\\r\\n' + b'x' * 4096 + b'\\r\\n')\n"
              "    except OSError: pass\n"
              "    peer.close()\n")
    process = subprocess.Popen([sys.executable, "-c", script, str(path), answer.hex()], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


@pytest.mark.parametrize("answer,problem", [
    (b"", "turned us away, or ended before its answer did"),
    (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf", "turned us away, or ended before its answer did"),
    (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n", "has answered more than the limit"),
    (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\na", "are both of one version?"),
    (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "name it with --admin-allow-uid"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", "turned us away, or ended before its answer did"),
])
def test_an_answer_that_is_none(serve, tmp_path, answer, problem):
    other = program_at(tmp_path / "translator.admin", answer)
    try:
        view = look(serve().port, "/metrics")
        assert view.status == 503 and view.text.startswith("sluice-translator ") and problem in view.text
    finally:
        other.kill()
        other.wait()
        other.stdout.close()


def test_it_gives_up_what_it_does_not_need(serve):
    server = serve()
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
    assert ("system calls confined" in server.lines[0]) != is_sanitized(), server.lines
    if not is_sanitized():
        assert re.search(r"^Seccomp:\s+2$", status, re.M) and re.search(r"^NoNewPrivs:\s+1$", status, re.M)


@pytest.mark.parametrize("arguments,code,problem", [
    ([], 2, "serve needs one PROGRAM"),
    (["translator"], 2, "serve needs --listen ADDRESS:PORT"),
    (["../translator", "--listen", "127.0.0.1:0"], 2, "serve needs one PROGRAM"),
    (["translator", "watcher", "--listen", "127.0.0.1:0"], 2, "serve needs one PROGRAM"),
    (["translator", "--listen", "localhost:1"], 2, "--listen localhost:1: ADDRESS:PORT is expected"),
    (["translator", "--listen", "127.0.0.1:0", "--timeout", "0"], 2, "--timeout must be seconds"),
    (["translator", "--listen", "192.0.2.1:1"], 6, "--listen 192.0.2.1:1: Cannot assign requested address"),
])
def test_wrong_usage(arguments, code, problem):
    done = subprocess.run([SLUICECTL, "serve", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, problem in done.stderr) == (code, True), done.stderr


def test_the_service_manager_hands_over_the_port(translator, tmp_path):
    """With readiness, a watchdog that is fed, and a port that stays when it ends."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(PATIENCE)
        with handed_over("admin", [tcp], SLUICECTL, "serve", "translator", "--runtime-dir", tmp_path,
                         NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="1000000") as process:
            try:
                heard = {manager.recv(1024) for _ in range(4)}
                assert {b"READY=1", b"WATCHDOG=1"} <= heard
                assert look(tcp.getsockname()[1], "/healthz").status == 200
            finally:
                process.send_signal(signal.SIGINT)
                process.stderr.read()
            assert process.wait(PATIENCE) == 0
        socket.create_connection(tcp.getsockname(), timeout=PATIENCE).close()
