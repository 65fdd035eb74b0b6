# SPDX-License-Identifier: Apache-2.0
"""sluicectl top: the traffic of each Ingress as JSON, as a table, and on a terminal."""
from __future__ import annotations

import contextlib
import http.server
import json
import os
import pty
import re
import select
import signal
import socketserver
import subprocess
import termios
import threading
import time
from collections.abc import Iterator

import pytest

from lib.backend import Backend
from lib.line import build_folder
from lib.local_proxy import LocalProxy, host, pool, rule_of
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

PATIENCE = 30.0
PROGRAM = build_folder() / "sluicectl/sluicectl"
OPTIONS = ["--metrics-ingresses", "100"]


@pytest.fixture(name="proxy", params=PROXIES)
def fixture_proxy(request) -> Iterator[LocalProxy]:
    with Backend("web") as web, proxy_class(request.param)(arguments=OPTIONS) as proxy:
        rules = [rule_of(f"/{name}", "web", ingress=f"shop/{name}") for name in ("busy", "failing", "slow")]
        proxy.apply(pool("web", web), host("a.test", *sorted(rules, key=lambda rule: -len(rule["path"]))), proxy.balancer())
        yield proxy


def top(runtime: object, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "top", "--runtime-dir", str(runtime), *arguments], capture_output=True, text=True, timeout=60, check=False)


def rows(proxy: LocalProxy, *arguments: str) -> list[dict]:
    done = top(proxy.runtime, "-o", "json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def send_all(proxy: LocalProxy) -> None:
    for _ in range(20):
        assert proxy.reached("a.test", "/busy") == "web"
    for _ in range(5):
        assert proxy.request("a.test", "/failing?status=503").status == 503
    assert proxy.request("a.test", "/slow").status == 200
    wait_for(lambda: sum(row["requests"] for row in rows(proxy, "--interval", "0")) == 26, "all to be counted", PATIENCE)


def test_since_the_beginning(proxy):
    send_all(proxy)
    found = {row["ingress"]: row for row in rows(proxy, "--interval", "0")}
    assert found["busy"]["requests"] == 20 == found["busy"]["status"]["2xx"] and found["busy"]["namespace"] == "shop"
    assert found["failing"]["status"]["5xx"] == 5 and found["busy"]["status"]["5xx"] == 0
    assert found["busy"]["sent_bytes"] > 20 * 100 and found["busy"]["duration_ms"]["p95"] >= found["busy"]["duration_ms"]["p50"] > 0
    for order, first in (("requests", "busy"), ("errors", "failing"), ("bytes", "busy")):
        assert rows(proxy, "--interval", "0", "--sort", order)[0]["ingress"] == first
    names = [row["ingress"] for row in rows(proxy, "--interval", "0", "--sort", "name") if row["namespace"] == "shop"]
    assert names == ["busy", "failing", "slow"]
    assert len(rows(proxy, "--interval", "0", "--limit", "2")) == 2
    assert [row["ingress"] for row in rows(proxy, "--interval", "0", "FAIL")] == ["failing"]
    told = top(proxy.runtime, "--interval", "0", "failing").stdout
    assert re.search(r"^shop/failing +5 +0 +5 +100\.0 ", told, re.M) and "\033" not in told


@pytest.mark.parametrize("arguments, words", [(["--interval", "0.2"], "no request has ended in these 0.2 seconds; --interval 0 counts all"),
                                              (["--interval", "0", "nobody"], "no Ingress with traffic has this text")])
def test_a_table_without_rows_says_why(proxy, arguments, words):
    send_all(proxy)
    wait_for(lambda: words in top(proxy.runtime, *arguments).stderr, "silence", PATIENCE)
    done = top(proxy.runtime, *arguments)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    assert top(proxy.runtime, "--interval", "0").stderr == ""


def test_what_happens_within_an_interval(proxy):
    send_all(proxy)
    ended = threading.Event()

    def go_on() -> None:
        while not ended.is_set():
            proxy.request("a.test", "/failing?status=500")
    sender = threading.Thread(target=go_on)
    sender.start()
    try:
        found = {row["ingress"]: row for row in rows(proxy, "--interval", "3")}
    finally:
        ended.set()
        sender.join()
    assert list(found) == ["failing"] and found["failing"]["status"]["5xx"] == found["failing"]["requests"] > 0
    assert 2.9 < found["failing"]["seconds"] < 30


@contextlib.contextmanager
def terminal(runtime: object, *arguments: str, rows_columns: tuple[int, int] = (24, 120)) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, rows_columns)
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen([PROGRAM, "top", "--runtime-dir", str(runtime), *arguments], stdin=theirs, stdout=theirs, start_new_session=True)
    try:
        yield Terminal(process, ours, theirs, before)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


class Terminal:
    """What a person sees and types."""

    def __init__(self, process: subprocess.Popen, ours: int, theirs: int, before: list):
        self.process, self.ours, self.theirs, self.before = process, ours, theirs, before
        self.seen = b""
        self.lines: dict[int, str] = {}

    def read(self) -> None:
        while select.select([self.ours], [], [], 0.05)[0]:
            self.seen += os.read(self.ours, 65536)
        for line, text in re.findall(rb"\033\[(\d+)H([^\033]*)\033\[K", self.seen):
            self.lines[int(line)] = text.decode("ascii")

    def wait(self, pattern: str) -> None:
        def is_there() -> bool:
            self.read()
            return any(re.search(pattern, text) for text in self.lines.values())
        wait_for(is_there, f"{pattern} in {self.lines}", PATIENCE)

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def wait_end(self) -> None:
        self.process.wait(PATIENCE)
        self.read()
        assert self.seen.endswith(b"\033[?7h\033[?25h\033[?1049l"), "the screen is as it was"
        assert termios.tcgetattr(self.theirs) == self.before


def test_on_a_terminal(proxy):
    send_all(proxy)
    with terminal(proxy.runtime, "--interval", "0.5") as screen:
        screen.wait(r"3 with traffic|4 with traffic")
        assert screen.seen.startswith(b"\033[?1049h")
        # From the second look on what is shown is what happens.
        screen.wait("REQ/S")
        ended = threading.Event()

        def go_on() -> None:
            while not ended.is_set():
                proxy.request("a.test", "/busy")
                proxy.request("a.test", "/failing?status=500")
        sender = threading.Thread(target=go_on)
        sender.start()
        try:
            screen.wait("^shop/busy")
            screen.type("e")
            screen.wait("by errors")
            wait_for(lambda: screen.read() or screen.lines.get(4, "").startswith("shop/failing"), "those that fail to be first", PATIENCE)
            screen.type("/bus")
            screen.wait("filter: bus_")
            screen.type("\r")
            # A screen is read in pieces: the line behind it may still be the old one.
            wait_for(lambda: screen.read() or (screen.lines.get(4, "").startswith("shop/busy") and not screen.lines[5]), "those that are wanted, alone", PATIENCE)
            # A terminal that becomes narrow.
            termios.tcsetwinsize(screen.theirs, (6, 20))
            os.kill(screen.process.pid, signal.SIGWINCH)
            wait_for(lambda: screen.read() or all(len(screen.lines[line]) <= 20 for line in range(1, 7)), "short lines", PATIENCE)
        finally:
            ended.set()
            sender.join()
        screen.type("q")
        screen.wait_end()
        assert screen.process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(number):
    with proxy_class("haproxy")(arguments=OPTIONS) as proxy, terminal(proxy.runtime) as screen:
        screen.wait("REQ")
        os.kill(screen.process.pid, number)
        screen.wait_end()


def test_a_provider_that_goes_and_comes_back():
    with Backend("web") as web, proxy_class("haproxy")(arguments=OPTIONS) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/", "web", ingress="shop/busy")), proxy.balancer())
        with terminal(proxy.runtime, "--interval", "0.3") as screen:
            screen.wait("with traffic")
            proxy.kill_provider()
            screen.wait("no provider counts traffic")
            proxy.start()
            screen.lines.clear()
            screen.wait("with traffic")
            screen.type("q")
            screen.wait_end()


def test_nobody_counts(tmp_path):
    done = top(tmp_path)
    assert done.returncode == 4 and "--metrics-ingresses" in done.stderr and done.stdout == ""
    assert top(tmp_path, "-o", "json").stdout == "null\n"
    for arguments in (["--sort", "colour"], ["--interval", "x"], ["--interval", "-1"], ["a", "b"], ["x" * 321]):
        assert top(tmp_path, *arguments).returncode == 2


class _Liar(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


EVIL = ["\033]0;evil\007", "\033[2J", "<script>", "a\\\"b", "\x9b31m", "é", "x" * 65536]


@pytest.mark.parametrize("form", ["table", "json"])
def test_names_that_somebody_makes_up(form, tmp_path_factory):
    """A program that calls itself a provider, and is none."""
    folder = tmp_path_factory.mktemp("r")
    body = "".join(f'sluice_ingress_requests_total{{namespace="{name}",ingress="{name}",status="2xx"}} 1\n' for name in EVIL)
    body += 'sluice_ingress_requests_total{namespace="shop",ingress="good",status="2xx"} 7\n'

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode("utf-8", "surrogateescape"))

        def address_string(self) -> str:
            return "nobody"

        def log_message(self, *_: object) -> None:
            pass
    with _Liar(str(folder / "provider-evil.admin"), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = top(folder, "--interval", "0", "-o", form)
        server.shutdown()
    assert done.returncode == 0 and "good" in done.stdout
    assert re.fullmatch(r"[ -~\n]*", done.stdout) and len(done.stdout) < 2000 and "script" not in done.stdout


def test_many_ingresses(tmp_path_factory):
    """Five thousand of them in less time than an interval."""
    folder = tmp_path_factory.mktemp("r")
    body = "".join(f'sluice_ingress_requests_total{{namespace="n{number % 50}",ingress="i{number}",status="2xx"}} {number}\n'
                   + "".join(f'sluice_ingress_request_duration_seconds_bucket{{namespace="n{number % 50}",ingress="i{number}",le="{bound}"}} {number}\n'
                             for bound in ("0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "+Inf"))
                   for number in range(5000)).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "nobody"

        def log_message(self, *_: object) -> None:
            pass
    with _Liar(str(folder / "provider-many.admin"), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        begun = time.monotonic()
        done = top(folder, "--interval", "0", "-o", "json")
        spent = time.monotonic() - begun
        server.shutdown()
    found = json.loads(done.stdout)
    assert len(found) == 5000 and found[0]["ingress"] == "i4999" and spent < 20
