# SPDX-License-Identifier: Apache-2.0
"""The access logs of both proxies: what they say of requests, and that nobody but the proxies says it."""
from __future__ import annotations

import base64
import contextlib
import http.client
import itertools
import json
import pathlib
import re
import signal
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from lib.addresses import free_port
from lib.backend import Backend
from lib.bad_backend import BadBackend
from lib.certs import self_signed
from lib.local_proxy import LocalProxy, certificate, host, pool, rule_of
from lib.provider_link import Object
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import dial
from lib.wait import wait_for

FIELDS = ["time", "client", "method", "host", "path", "protocol", "status", "bytes", "received", "duration_ms", "connect_ms", "first_byte_ms", "request_id", "trace_id",
          "tls", "namespace", "ingress", "service", "endpoint", "reason", "referer", "user_agent"]
TEXT = re.compile(r'^(?P<client>\S+) - - \[[^]]+\] "(?P<method>\S+) (?P<path>\S+) (?P<protocol>\S+)" (?P<status>\d+) (?P<bytes>\d+) '
                  r'"(?P<referer>(?:[^"\\]|\\.)*)" "(?P<user_agent>(?:[^"\\]|\\.)*)"(?P<more>( [a-z_]+=("[^"]*"|\S+))+)$')
PATIENCE = 30.0
SECRETS = ["s3cret", base64.b64encode(b"carol:s3cret").decode()]


class World:
    """A proxy that writes its access log into a file."""

    def __init__(self, proxy: LocalProxy, web: Backend, log: pathlib.Path):
        self.proxy = proxy
        self.web = web
        self.log = log

    def lines(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return self.log.read_bytes().decode("ascii").split("\n")[:-1]
        return []

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]

    def entry(self, **wanted: Any) -> dict[str, Any]:
        """The line of the one request with these values."""
        found = wait_for(lambda: [one for one in self.entries() if all(one[key] == value for key, value in wanted.items())], f"a line of {wanted}", PATIENCE)
        assert len(found) == 1, found
        return found[0]

    def send(self, raw: bytes, tls: bool = False) -> bytes:
        """What is answered to these bytes until the connection ends."""
        with contextlib.closing(dial(self.proxy.address, self.proxy.https if tls else self.proxy.http)) as link, contextlib.suppress(ConnectionError):
            link.sendall(raw)
            return b"".join(iter(lambda: link.recv(65536), b""))
        return b""


def policy(name: str, **settings: Any) -> Object:
    return {"kind": "policy", "id": name, "ingress": "shop/front", **settings}


def front(path: str, pool_id: str = "web", **more: Any) -> Object:
    return rule_of(path, pool_id, **{"ingress": "shop/front", **more})


RULES = [
    front("/plain"), front("/back", ingress="shop/back"),
    front("/none", "none"), front("/unlogged", unlogged=True), front("/unlogged-inside", policy="inside", unlogged=True),
    front("/unlogged-away", "", redirect={"status": 302, "location": [{"text": "https://c.test/"}]}, unlogged=True),
    front("/away", "", redirect={"status": 302, "location": [{"text": "https://c.test/"}]}),
    front("/said", "", answer={"status": 404, "text": "closed for repairs"}),
    front("/inside", policy="inside"), front("/small", policy="small"), front("/slow", policy="slow"), front("/shared", policy="shared"),
    front("/parts", "", pools=[{"pool": "web", "weight": 1}]), front("/paged", policy="paged"), front("/paged-refusing", "refusing", policy="paged"),
]
POLICIES = [
    policy("inside", source_access={"allow": ["192.0.2.0/24"]}),
    policy("small", body_max_bytes=10),
    policy("slow", rate_limits={"requests": [{"requests": 1, "interval_s": 3600}]}),
    policy("shared", cors={"any_origin": True, "methods": "GET"}),
    policy("paged", error_pages={"statuses": [{"status": 418}], "pool": "web"}),
]


@contextlib.contextmanager
def served(name: str, tmp: pathlib.Path, form: str = "json", **how: Any) -> Iterator[World]:
    log = tmp / "access.log"
    with Backend("web") as web, proxy_class(name)(arguments=["--access-log", form, "--access-log-to", str(log)], **how) as proxy:
        rules = [{key: value for key, value in rule.items() if value != ""} for rule in RULES]
        rules.sort(key=lambda rule: -len(rule["path"]))
        proxy.apply(pool("web", web), pool("none"), pool("refusing", (web.ip, free_port(web.ip))), certificate("c", self_signed("tls.test"), "tls.test"),
                    host("a.test", ("/", "web")), host("tls.test", ("/", "web")), host("refusing.test", ("/", "refusing")), host("b.test", *rules), *POLICIES,
                    proxy.balancer(https=True))
        yield World(proxy, web, log)


@pytest.fixture(scope="module", params=PROXIES)
def world(request, tmp_path_factory):
    with served(request.param, tmp_path_factory.mktemp("log")) as one:
        yield one


def some(entry: dict[str, Any], *keys: str) -> tuple[Any, ...]:
    return tuple(entry[key] for key in keys)


def test_who_has_served_a_request(world):
    answer = world.proxy.request("a.test", "/hello?x=1&y=%20", headers={"User-Agent": "test/1", "Referer": "http://a.test/"})
    assert answer.json["name"] == "web"
    entry = world.entry(path="/hello?x=1&y=%20")
    # As it was sent also for whoever looks for it with grep.
    assert any('"path":"/hello?x=1&y=%20","protocol":"HTTP/1.1"' in line for line in world.lines())
    assert list(entry) == FIELDS
    assert some(entry, "method", "host", "protocol", "status", "tls", "user_agent", "referer") == ("GET", "a.test", "HTTP/1.1", 200, "", "test/1", "http://a.test/")
    assert some(entry, "namespace", "ingress", "service", "endpoint", "reason") == ("default", "web", "web:80", f"{world.web.ip}:{world.web.port}", "")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"]) and re.fullmatch(r"[0-9a-f]{32}", entry["request_id"])
    assert 0 <= entry["connect_ms"] <= entry["duration_ms"] and 0 <= entry["first_byte_ms"] <= entry["duration_ms"]
    assert entry["bytes"] > len(answer.body) and entry["received"] > 30


@pytest.mark.parametrize("path, owner", [("/plain", ("shop", "front")), ("/back/1", ("shop", "back")), ("/parts", ("shop", "front")), ("/shared", ("shop", "front"))])
def test_whose_rule_it_was(world, path, owner):
    assert world.proxy.reached("b.test", f"{path}?owner") == "web"
    assert some(world.entry(path=f"{path}?owner"), "namespace", "ingress", "service", "reason") == (*owner, "web:80", "")


def test_a_request_over_tls(world):
    assert world.proxy.reached("tls.test", "/over-tls", tls=True) == "web"
    assert some(world.entry(path="/over-tls"), "tls", "ingress") == ("TLSv1.3", "web")


REFUSED = {
    "no-route": ("GET", "/nowhere", {}, 404),
    "no-endpoints": ("GET", "/none", {}, 503),
    "redirect": ("GET", "/away", {}, 302),
    "answer": ("GET", "/said", {}, 404),
    "source-access": ("GET", "/inside", {}, 403),
    "body-limit": ("POST", "/small", {"body": b"x" * 11}, 413),
    "preflight": ("OPTIONS", "/shared", {"headers": {"Origin": "https://x.test"}}, 204),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_why_the_proxy_has_answered_itself(world, reason):
    method, path, how, status = REFUSED[reason]
    assert world.proxy.request("b.test", f"{path}?why", method=method, **how).status == status
    entry = world.entry(path=f"{path}?why")
    assert some(entry, "status", "reason", "endpoint") == (status, reason, "")
    if reason != "answer":  # which HAProxy's Lua makes as a backend would
        assert some(entry, "connect_ms", "first_byte_ms") == (-1, -1)
    assert some(entry, "namespace", "ingress") == (("", "") if reason == "no-route" else ("shop", "front"))


def test_clients_who_come_too_often(world):
    assert world.proxy.request("b.test", "/slow?first").status == 200
    assert world.proxy.request("b.test", "/slow?second").status == 429
    assert some(world.entry(path="/slow?first"), "status", "reason") == (200, "")
    assert some(world.entry(path="/slow?second"), "status", "reason", "ingress") == (429, "rate-limit", "front")


def test_a_backend_that_refuses_connections(world):
    status = world.proxy.request("refusing.test", "/refused").status
    assert status in (502, 503)
    assert some(world.entry(path="/refused"), "status", "reason", "ingress", "first_byte_ms") == (status, "backend-failed", "web", -1)


def test_a_backend_whose_answer_is_none(world):
    with BadBackend("bad", "099") as bad:
        world.proxy.apply(pool("bad", bad), host("bad.test", ("/", "bad")))
        assert world.proxy.request("bad.test", "/no-answer").status == 502
        assert some(world.entry(path="/no-answer"), "status", "reason", "endpoint") == (502, "backend-failed", f"{bad.ip}:{bad.port}")


def test_where_errors_are_looked_at(world):
    assert world.proxy.reached("b.test", "/paged?seen") == "web"
    assert some(world.entry(path="/paged?seen"), "status", "service", "endpoint", "reason") == (200, "web:80", f"{world.web.ip}:{world.web.port}", "")
    status = world.proxy.request("b.test", "/paged-refusing?seen").status
    assert some(world.entry(path="/paged-refusing?seen"), "status", "reason", "ingress") == (status, "backend-failed", "front")


def test_whose_requests_are_left_out(world):
    """Whoever answers, and also where the host leads to its pool at once."""
    world.proxy.apply(host("unlogged.test", rule_of("/", "web", unlogged=True)))
    assert world.proxy.reached("unlogged.test", "/left-out") == "web"
    for path, status in (("/unlogged/left-out", 200), ("/unlogged-inside/left-out", 403), ("/unlogged-away/left-out", 302)):
        assert world.proxy.request("b.test", path).status == status
    # Each of the processes writes its lines in order, and each gets some of these.
    for number in range(20):
        assert world.proxy.reached("a.test", f"/after-left-out-{number}") == "web"
    for number in range(20):
        world.entry(path=f"/after-left-out-{number}")
    assert not [line for line in world.lines() if "/left-out" in line]


# ---- hostile input ----

# Bytes with a meaning in JSON, in lines, on terminals and in the proxies' own formats.
NASTY = b"\"\\'{}<>%$[]|#`~&=;,\x80\xff\xc3\xa9\xe2\x80\xa8\xc2\x9b31m"
NASTY_HEADER = NASTY + b"\t a\\nb \\u0022 %[src] $remote_addr %22 #{0A}"


@pytest.mark.parametrize("where", ["path", "query", "user-agent", "referer"])
def test_no_text_of_a_client_breaks_a_line(world, where):
    mark = f"nasty-{where}".encode()
    target = b"/" + mark + (NASTY if where == "path" else b"?" + NASTY if where == "query" else b"")
    target = target.replace(b"#", b"").replace(b"%", b"%25")
    if world.proxy.name == "haproxy":  # which refuses other bytes
        target = bytes(byte for byte in target if byte < 128)
    lines = b"".join(name + b": " + NASTY_HEADER + b"\r\n" for name in (b"User-Agent", b"Referer") if name.decode().lower() == where)
    world.send(b"GET " + target + b" HTTP/1.1\r\nHost: a.test\r\n" + lines + b"Connection: close\r\n\r\n")
    found = wait_for(lambda: [line for line in world.lines() if mark.decode() in line], "its line", PATIENCE)
    assert len(found) == 1 and re.fullmatch(r"[ -~]+", found[0])
    entry = json.loads(found[0])
    assert list(entry) == FIELDS
    said = {"path": target, "query": target, "user-agent": NASTY_HEADER, "referer": NASTY_HEADER}[where].decode("latin-1")
    assert entry[where.replace("-", "_").replace("query", "path")] == said


def test_long_texts_are_cut(world):
    world.send(b"GET /long-texts HTTP/1.1\r\nHost: a.test\r\nUser-Agent: " + b"\xff" * 6000 + b"\r\nReferer: " + b'"' * 6000 + b"\r\nConnection: close\r\n\r\n")
    entry = world.entry(path="/long-texts")
    assert some(entry, "user_agent", "referer") == ("\xff" * 1024, '"' * 1024)
    world.send(b"GET /long-path?" + b'"' * 12000 + b" HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
    entry = wait_for(lambda: [one for one in world.entries() if one["path"].startswith("/long-path")], "its line", PATIENCE)[0]
    assert len(entry["path"]) == 2048


@pytest.mark.parametrize("raw", [b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a.test\r\n\x00x: y\r\n\r\n", b"GET " + b"/x" * 40000 + b" HTTP/1.1\r\nHost: a.test\r\n\r\n",
                                 b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200, b'GET "\n" HTTP/1.1\r\nHost: "a"\r\n\r\n'],
                         ids=["garbage", "no-host", "nul", "64-kb", "tls-on-plain", "quotes"])
def test_what_is_no_request_leaves_whole_lines(world, raw):
    world.send(raw)
    assert world.proxy.reached("a.test", f"/after-{len(raw)}") == "web"
    world.entry(path=f"/after-{len(raw)}")
    assert all(list(entry) == FIELDS for entry in world.entries())


def test_no_secrets(world):
    headers = {"Authorization": f"Basic {SECRETS[1]}", "Cookie": "session=s3cret", "X-Token": "s3cret", "Proxy-Authorization": "s3cret"}
    assert world.proxy.request("a.test", "/secrets", headers=headers).status == 200
    world.entry(path="/secrets")
    assert not [line for line in world.lines() for secret in SECRETS if secret in line]


# ---- processes ----


def answered_path(proxy: LocalProxy, word: str) -> str:
    """Of a request that was answered: one that waits to be accepted by a worker whose master has died is reset when that ends."""
    numbers = itertools.count()

    def attempt() -> str | None:
        path = f"/{word}-{next(numbers)}"
        with contextlib.suppress(OSError, http.client.HTTPException):
            return path if proxy.reached("a.test", path) == "web" else None
        return None
    return wait_for(attempt, "a request to be answered", PATIENCE)


@pytest.mark.parametrize("name", PROXIES)
def test_the_log_goes_on_whoever_is_killed(name, tmp_path):
    with served(name, tmp_path) as world:
        assert world.proxy.reached("a.test", "/before") == "web"
        world.entry(path="/before")
        world.proxy.kill_supervisor()
        assert world.proxy.reached("a.test", "/without-supervisor") == "web"
        wait_for(world.proxy.supervisors, "another sluice-proxy", PATIENCE)
        world.entry(path="/without-supervisor")
        world.proxy.kill_provider()
        assert world.proxy.reached("a.test", "/without-provider") == "web"
        world.entry(path="/without-provider")
        world.proxy.start()
        for pid in world.proxy.masters():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: world.proxy.reached_or_none("a.test") == "web", "the next proxy", PATIENCE)
        world.proxy.wait_applied()
        world.entry(path=answered_path(world.proxy, "after-the-proxy"))
        # None was written twice, and none was torn.
        written = [entry["path"] for entry in world.entries() if entry["path"] != "/"]
        assert len(written) == len(set(written))


@pytest.mark.parametrize("name", PROXIES)
def test_a_file_that_is_renamed_is_made_anew(name, tmp_path):
    with served(name, tmp_path) as world:
        assert world.proxy.reached("a.test", "/old") == "web"
        world.entry(path="/old")
        world.log.rename(tmp_path / "old.log")
        assert world.proxy.reached("a.test", "/new") == "web"
        world.entry(path="/new")
        assert "/new" not in (tmp_path / "old.log").read_text()


# ---- other forms and places ----


@pytest.mark.parametrize("name", PROXIES)
def test_text(name, tmp_path):
    with served(name, tmp_path, form="text") as world:
        world.proxy.request("a.test", "/text?x", headers={"User-Agent": 'a "b" \\'})
        world.proxy.request("b.test", "/nowhere")
        lines = wait_for(lambda: len(world.lines()) >= 2 and world.lines(), "both lines", PATIENCE)
        parts = sorted((TEXT.match(line) for line in lines), key=lambda part: part["status"])
        assert all(parts), lines
        assert parts[0].group("method", "path", "protocol", "status", "referer") == ("GET", "/text?x", "HTTP/1.1", "200", "-")
        more = [dict(pair.split("=", 1) for pair in part["more"].split()) for part in parts]
        assert list(more[0]) == [field for field in FIELDS if field not in ("time", *parts[0].groupdict())]
        assert more[0]["namespace"] == "default" and more[0]["ingress"] == "web" and more[0]["service"] == "web:80" and more[0]["reason"] == "-"
        assert more[1]["ingress"] == "-" and more[1]["reason"] == "no-route" and more[1]["endpoint"] == "-"


@pytest.mark.parametrize("name", PROXIES)
def test_a_syslog_server(name, tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, Backend("web") as web:
        server.bind(("127.0.0.1", 0))
        server.settimeout(PATIENCE)
        port = server.getsockname()[1]
        with proxy_class(name)(arguments=["--access-log", "json", "--access-log-to", f"syslog:127.0.0.1:{port}"]) as proxy:
            proxy.apply(pool("web", web), host("a.test", ("/", "web")), proxy.balancer())
            assert proxy.reached("a.test", "/by-syslog") == "web"
            said = server.recv(65536)
            entry = json.loads(said[said.index(b"{"):])
            assert list(entry) == FIELDS and entry["path"] == "/by-syslog"


@pytest.mark.parametrize("name", PROXIES)
def test_standard_output(name, capfd):
    with Backend("web") as web, proxy_class(name)(arguments=["--access-log", "json"]) as proxy:
        proxy.apply(pool("web", web), host("a.test", ("/", "web")), proxy.balancer())
        assert proxy.reached("a.test", "/on-stdout") == "web"
        said: list[str] = []
        wait_for(lambda: said.append(capfd.readouterr().out) or "/on-stdout" in "".join(said), "its line", PATIENCE)
        assert [list(json.loads(line)) for line in "".join(said).splitlines()] == [FIELDS]


@pytest.mark.parametrize("name", PROXIES)
def test_nothing_is_logged_unless_it_is_asked_for(name):
    with Backend("web") as web, proxy_class(name)() as proxy:
        proxy.apply(pool("web", web), host("a.test", ("/", "web")), proxy.balancer())
        assert proxy.reached("a.test", "/unlogged") == "web"
        proxy.wait_applied()
        proxy.kill_supervisor()
        assert not [path for path in proxy.folder.rglob("*") if path.is_file() and b"/unlogged" in path.read_bytes()]
