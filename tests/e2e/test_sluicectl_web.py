# SPDX-License-Identifier: Apache-2.0
"""`sluicectl web`: who is let in, and what it answers, to however many at once. The page is in test_sluicectl_web_page.py."""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess

import pytest

from lib.ctl import Ctl
from lib.daemon import Daemon
from lib.line import build_folder
from lib.served import SLUICECTL
from lib.wait import wait_for
from lib.web_page import WebPage, web_line

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONNECTIONS_MAX = 32  # ADMIN_CONNECTIONS_MAX of common/admin_server.h
RUNS_MAX = 4  # WEB_RUNS_MAX of sluicectl/web_run.h
PATIENCE = 60


@pytest.fixture(scope="module")
def line():
    with web_line() as running:
        yield running


@pytest.fixture(scope="module")
def web(line):
    with WebPage(line.runtime) as page:
        yield page


# ---- who is let in ----

def test_who_has_the_address_and_nobody_else(web):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/", web.url)
    page = f"/{web.key}/"
    assert "<title>Sluice</title>" in web.request(page).text
    for path in ("/", "/api/status", f"/{web.key}", f"/{web.key[:-1]}x/", f"/{'0' * 32}/api/status", f"//{web.key}/", f"/{web.key.upper()}/x"):
        got = web.request(path)
        assert got.status == 404 and "Sluice" not in got.text and "watcher" not in got.text, path
    for path in ("nothing", "../index.html", "index.html/", "api/", "api/status/x", "api/compare", "web_files.h"):
        assert web.request(page + path).status == 404, path
    # Another key after each start.
    with WebPage(web.command[3]) as other:
        assert other.key != web.key


@pytest.mark.parametrize("host, status", [("127.0.0.1:{port}", 200), ("localhost:{port}", 200), ("LOCALHOST:{port}", 200), ("127.0.0.1", 421), ("localhost", 421),
                                          ("evil.example:{port}", 421), ("127.0.0.1.evil.example:{port}", 421), ("127.0.0.2:{port}", 421), ("[::1]:{port}", 421),
                                          ("127.0.0.1:{port}.evil.example", 421), ("127.0.0.1:1", 421), ("", 421), ("x" * 400, 400)])
def test_names_of_others_are_refused(web, host, status):
    """A page whose name server turns its name to our address has its own name in Host."""
    for path in ("", "api/status"):
        assert web.request(f"/{web.key}/{path}", headers={"Host": host.format(port=web.port)}).status == status


def test_requests_for_others_are_refused(web):
    for site, status in {"same-origin": 200, "none": 200, "cross-site": 403, "same-site": 403, "": 200, "SAME-ORIGIN": 403}.items():
        assert web.request(f"/{web.key}/api/status", headers={"Sec-Fetch-Site": site}).status == status, site


def raw(web, text: bytes) -> bytes:
    with socket.create_connection((web.host, web.port), timeout=PATIENCE) as connection:
        connection.sendall(text)
        got = b""
        while piece := connection.recv(65536):
            got += piece
    return got


def test_what_is_not_get_or_too_much_is_refused(web):
    head = f"HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n".encode()
    page = f"/{web.key}/".encode()
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"):
        got = web.request(f"/{web.key}/api/status" if method != "CONNECT" else "127.0.0.1:1", method)
        assert got.status == 405 and got.headers["allow"] == "GET, HEAD", method
    assert web.request(f"/{web.key}/", "HEAD").text == "" and web.request(f"/{web.key}/api/status", "HEAD").text == ""
    for text, status in {b"GET " + page + b"?" + b"x" * 5000 + b" " + head + b"\r\n": b"414", b"GET " + page + b" " + head + b"A: " + b"x" * 9000: b"431",
                         b"GET " + page + b" " + head + b"Content-Length: 1\r\n\r\nx": b"413", b"GET " + page + b" " + head + b"Host: evil\r\n\r\n": b"400",
                         b"GET " + page + b" HTTP/1.1\r\nConnection: close\r\n\r\n": b"421", b"\x16\x03\x01\x02\x00": b"400"}.items():
        assert raw(web, text).split()[1] == status, text[:80]


def test_every_answer_has_the_policy(web):
    for got in (web.get(), web.get("main.js"), web.get("api/status"), web.get("nothing"), web.request("/"), web.request("/", "POST")):
        policy = got.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert got.headers["x-content-type-options"] == "nosniff" and got.headers["cache-control"] == "no-store" and got.headers["referrer-policy"] == "no-referrer"
        assert got.headers["cross-origin-resource-policy"] == "same-origin" and "access-control-allow-origin" not in got.headers


def test_the_page_is_made_of_its_own_files_alone(web):
    """Also of no inline script or style: the policy would stop them, and the browser tests would tell."""
    html = web.get().text
    assert re.search(r"<style|style=|\son\w+=|javascript:", html) is None
    for name in re.findall(r'(?:src|href)="([^"#]+)"', html):
        assert web.get(name).status == 200, name
    folder = ROOT / "sluicectl/web"
    for file in (*folder.glob("*.js"), folder / "style.css", folder / "index.html"):
        text = file.read_text()
        assert re.search(r"https?://(?!\$|shop\.example|www\.w3\.org)", text.replace('`http${', "")) is None, file
        assert re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text) is None, file


@pytest.mark.parametrize("address, code", [("0.0.0.0:0", 2), ("[::]:0", 2), ("192.0.2.1:0", 2), ("128.0.0.1:0", 2), ("localhost:0", 2), ("127.0.0.1", 2), ("::1:0", 2),
                                           ("[127.0.0.1]:0", 2), ("127.0.0.1:x", 2), ("127.0.0.1:65536", 2), ("", 2), (":0", 2)])
def test_it_listens_on_loopback_alone(tmp_path, address, code):
    done = subprocess.run([SLUICECTL, "web", "--listen", address], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == code and "loopback address" in done.stderr and done.stdout == ""


def test_other_addresses_of_loopback(line):
    with WebPage(line.runtime, "--listen", "[::1]:0") as v6:
        assert v6.url.startswith("http://[::1]:") and v6.get().status == 200
        assert v6.request(f"/{v6.key}/", headers={"Host": f"127.0.0.1:{v6.port}"}).status == 421
        done = subprocess.run([SLUICECTL, "web", "--listen", f"[::1]:{v6.port}"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 6 and "in use" in done.stderr
    with WebPage(line.runtime, "--listen", "127.1.2.3:0") as other:
        assert other.get().status == 200
    assert subprocess.run([SLUICECTL, "web", "more"], capture_output=True, timeout=PATIENCE, check=False).returncode == 2


# ---- what it answers ----

def test_it_answers_what_the_commands_say(line, web):
    ctl = Ctl(line)
    assert web.api("explain", what="default/web") == ctl.explain("web")
    assert web.api("routes", match="web.test") == ctl.json("routes", "web.test") and web.api("routes", limit=1)["matches"] == 2
    assert web.api("certificates") == ctl.json("get", "cert", "--rows") and web.api("certificates")["rows"][0][0] == "default/tls"
    assert web.api("pools") == ctl.json("get", "pool", "--rows", "--worst-first") and web.api("pools", match="carts")["rows"][0][2] == "0/0"
    assert web.api("load-balancers")["rows"][0][3] == "applied"
    url = "https://old.test/a?b=%3C"
    decision = web.api("request", method="POST", url=url, headers="A: 1\r\nB: 2", **{"from": "203.0.113.9"})
    assert decision == ctl.json("request", "POST", url, "-H", "A: 1", "-H", "B: 2", "--from", "203.0.113.9") and decision["status"] == 302
    assert {item["program"]: item["state"] for item in web.api("status")["programs"]} == {item["program"]: "ready" for item in ctl.json("status")["programs"]}
    assert "ProviderUp" in {event["reason"] for event in web.api("events")}
    assert "namespace" in web.api("reasons")["SecretNotFound"]


def test_no_value_is_an_option_or_goes_unnoticed(web):
    for query, status in {"explain?what=--help": 400, "explain?what=-f": 400, "explain?what=default/none": 404, "explain?what=x": 400, "explain": 400,
                          "explain?what=default/web&filename=/etc/passwd": 400, "explain?what=a/b&what=c/d": 400, "explain?what=%00": 400, "explain?what=%zz": 400,
                          "request?url=": 400, "request?url=http://web.test&method=--with": 200, "request?url=http://web.test&from=nobody": 400,
                          "request?url=http://web.test&headers=" + "a:b%0a" * 33: 400, "routes?limit=-1": 400, "routes?limit=x": 400, "pools?skip=1e9": 400,
                          "status?output=yaml": 400, "routes?match=" + "x" * 2049: 400, "routes?match=--help": 200, "routes?match=%0a%1b": 200, "routes?match=": 200, "routes?match=%ff%c3": 200, "request?url=http://web.test/%ff%c3%22": 200,
                          "request?url=http://web.test&headers=" + "a:b%0a" * 32: 200}.items():
        got = web.request(f"/{web.key}/api/{query}")
        assert got.status == status, (query[:80], got.text)
        if status != 200:
            assert got.headers["content-type"] == "application/json" and got.json["error"], query


# ---- many at once ----

def children(web) -> list[int]:
    return [int(pid) for pid in pathlib.Path(f"/proc/{web.process.pid}/task/{web.process.pid}/children").read_text().split()]


def test_many_connections_lock_nobody_out(web):
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS_MAX + 8):
            stack.enter_context(socket.create_connection((web.host, web.port), timeout=PATIENCE))
        assert web.get().status == 200 and web.get("api/status").status == 200
        assert len(os.listdir(f"/proc/{web.process.pid}/fd")) < CONNECTIONS_MAX + 20


def is_read(web) -> bool:
    """Whether it has read all that was sent to it."""
    rows = [row.split() for row in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return all(row[4].endswith(":00000000") for row in rows if row[1] == f"0100007F:{web.port:04X}" and row[3] == "01")


def test_a_line_that_hangs_takes_no_more_than_its_part(line):
    """Requests wait for it; the page itself is there, and what a client has given up is ended."""
    line.translator.pause()
    try:
        with WebPage(line.runtime, "--timeout", "60") as web:
            with contextlib.ExitStack() as stack:

                def ask() -> socket.socket:
                    connection = stack.enter_context(socket.create_connection((web.host, web.port), timeout=PATIENCE))
                    connection.sendall(f"GET /{web.key}/api/routes HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n\r\n".encode())
                    wait_for(lambda: is_read(web), "the request to be read", PATIENCE)
                    return connection

                for _ in range(CONNECTIONS_MAX - 1):
                    ask()
                wait_for(lambda: len(children(web)) == RUNS_MAX, "as many commands as may run", PATIENCE)
                assert web.get("main.js").status == 200
                ask()
                # All places are taken by those who wait, and nobody is put out for one more.
                assert web.get("main.js").status == 503 and len(children(web)) == RUNS_MAX
            wait_for(lambda: not children(web), "nothing to run for clients that have gone", PATIENCE)
            assert web.get("main.js").status == 200
    finally:
        line.translator.resume()


def test_a_line_that_is_started_later(tmp_path):
    """What the page may open does not depend on what was there when it was started."""
    runtime = tmp_path / "run"

    def states() -> dict[str, str]:
        return {item["program"]: item["state"] for item in web.api("status")["programs"]}

    with WebPage(runtime) as web:
        assert states() == {"watcher": "ended", "translator": "ended"}
        for _ in range(2):
            runtime.mkdir()
            translator = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(runtime)], tmp_path / "log").start()
            translator.wait_event("started")
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(str(runtime / "provider-x.admin"))
            assert states() == {"watcher": "ended", "translator": "waiting", "provider-x": "ended"}
            assert translator.stop() == 0
            shutil.rmtree(runtime)
            assert states() == {"watcher": "ended", "translator": "ended"}


def test_it_says_what_the_line_does_not(line, web):
    line.translator.pause()
    try:
        with WebPage(line.runtime, "--timeout", "0.2") as hasty:
            got = hasty.get("api/routes")
            assert got.status == 503 and "has not answered for 0.2 s" in got.json["error"]
            assert {item["program"]: item["state"] for item in hasty.api("status")["programs"]}["translator"] == "away"
    finally:
        line.translator.resume()
