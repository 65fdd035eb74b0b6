# SPDX-License-Identifier: Apache-2.0
"""W3C Trace Context: what of it gets to a backend and into the access log, whatever a client says."""
from __future__ import annotations

import contextlib
import json
import pathlib
import re
import shutil
import socket
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest

from lib.admin import look
from lib.backend import Backend
from lib.daemon import Daemon
from lib.local_proxy import LocalProxy, host, pool, rule_of
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import dial
from lib.wait import wait_for

ID, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{ID}-{PARENT}-01"
PATIENCE = 30.0
BEGUN = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-(0[01])")

VALID = [GOOD, f"00-{ID}-{PARENT}-00", f"00-{ID}-{PARENT}-ff", f"01-{ID}-{PARENT}-01", f"cc-{ID}-{PARENT}-01-what.the=future;has"]
INVALID = ["", "x", f"00-{ID}-{PARENT}", f"00-{ID}-{PARENT}-01-more", f"00-{ID}-{PARENT}-011", f"ff-{ID}-{PARENT}-01", f"00-{ID.upper()}-{PARENT}-01",
           f"00-{'0' * 32}-{PARENT}-01", f"00-{ID}-{'0' * 16}-01", f"00-{ID}-{PARENT}-0g", f"01-{ID}-{PARENT}-01x", f"cc-{ID}-{PARENT}-01-{'x' * 600}",
           '00-"\\u0000\\n-%[src]$remote_addr{}<script>-01', f"{GOOD}, {GOOD}", "\x80\xff\x9b31m", f"00-{ID}-{PARENT}-01\t"[:-1] + " x", "0" * 4000]


class World:
    def __init__(self, proxy: LocalProxy, log: pathlib.Path):
        self.proxy = proxy
        self.log = log

    def entry(self, path: str) -> dict:
        def find() -> list[dict]:
            lines = self.log.read_bytes().decode("ascii").splitlines() if self.log.exists() else []
            return [one for one in map(json.loads, lines) if one["path"] == path]
        return wait_for(find, f"a line of {path}", PATIENCE)[0]

    def seen(self, path: str, *lines: bytes) -> dict[str, list[str]]:
        """The headers that the backend got, by name in lower case."""
        raw = b"GET " + path.encode() + b" HTTP/1.1\r\nHost: a.test\r\n" + b"".join(line + b"\r\n" for line in lines) + b"Connection: close\r\n\r\n"
        with contextlib.closing(dial(self.proxy.address, self.proxy.http)) as link:
            link.sendall(raw)
            answer = b"".join(iter(lambda: link.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b" 200 " in head.split(b"\r\n")[0], answer[:500]
        if b"chunked" in head.lower():
            body = body[body.index(b"{"):body.rindex(b"}") + 1]
        found: dict[str, list[str]] = {}
        for name, value in json.loads(body)["headers"]:
            found.setdefault(name.lower(), []).append(value)
        return found


@contextlib.contextmanager
def served(name: str, tmp: pathlib.Path, when: str | None = "begin") -> Iterator[World]:
    arguments = ["--access-log", "json", "--access-log-to", str(tmp / "access.log"), *(["--trace-context", when] if when else [])]
    with Backend("web") as web, proxy_class(name)(arguments=arguments) as proxy:
        # One host leads to its pool at once; the other has a path that a policy is for.
        changed = {"kind": "policy", "id": "changed", "ingress": "shop/front", "request_headers": [{"name": "X-Policy", "action": "set", "value": [{"text": "yes"}]}]}
        proxy.apply(pool("web", web), changed, host("a.test", rule_of("/policy", "web", policy="changed"), rule_of("/", "web")), proxy.balancer())
        assert proxy.reached("a.test") == "web"
        yield World(proxy, tmp / "access.log")


@pytest.fixture(scope="module", params=PROXIES, name="world")
def fixture_world(request, tmp_path_factory) -> Iterator[World]:
    with served(request.param, tmp_path_factory.mktemp("log")) as one:
        yield one


def header(name: str, value: str) -> bytes:
    return f"{name}: {value}".encode("latin-1")


@pytest.mark.parametrize("number", range(len(VALID)))
@pytest.mark.parametrize("path", ["/", "/policy/"])
def test_a_valid_one_is_kept(world, path, number):
    path = f"{path}valid-{number}"
    found = world.seen(path, header("Traceparent", VALID[number]), header("tracestate", "vendor=1"))
    assert found["traceparent"] == [VALID[number]] and found["tracestate"] == ["vendor=1"]
    assert world.entry(path)["trace_id"] == ID


@pytest.mark.parametrize("number", range(len(INVALID)))
def test_an_invalid_one_is_replaced(world, number):
    """And what belongs to it is taken away."""
    path = f"/policy/invalid-{number}"
    found = world.seen(path, header("traceparent", INVALID[number]), header("tracestate", "vendor=1"))
    [said] = found["traceparent"]
    begun = BEGUN.fullmatch(said)
    assert begun and begun[1] != ID and "tracestate" not in found
    assert world.entry(path)["trace_id"] == begun[1]


def test_two_are_none(world):
    found = world.seen("/two", header("traceparent", GOOD), header("traceparent", GOOD), header("tracestate", "a=1"))
    [said] = found["traceparent"]
    assert BEGUN.fullmatch(said) and ID not in said and "tracestate" not in found


@pytest.mark.parametrize("path", ["/begun", "/policy/begun"])
def test_one_is_begun(world, path):
    """It has the name of the request, which the backend is told, too."""
    found = world.seen(path)
    entry = world.entry(path)
    [said] = found["traceparent"]
    assert BEGUN.fullmatch(said)[1] == entry["trace_id"] == entry["request_id"] and said.endswith("-00")
    assert found["x-request-id"] == [entry["request_id"]]
    assert world.seen(f"{path}-again")["traceparent"] != [said]


def test_an_id_of_the_client_is_kept(world):
    assert world.seen("/named", b"X-Request-ID: mine")["x-request-id"] == ["mine"]
    assert world.entry("/named")["request_id"] != "mine"


def test_what_nobody_serves_has_a_name_too(world):
    assert world.proxy.request("unknown.test", "/nobody", headers={"traceparent": GOOD}).status == 404
    assert world.entry("/nobody")["trace_id"] == ID


@pytest.mark.parametrize("name", PROXIES)
def test_traces_that_are_to_be_recorded(name, tmp_path):
    with served(name, tmp_path, "sample") as world:
        assert world.seen("/")["traceparent"][0].endswith("-01")
        unsampled = f"00-{ID}-{PARENT}-00"
        assert world.seen("/", header("traceparent", unsampled))["traceparent"] == [unsampled]


@pytest.mark.parametrize("name", PROXIES)
def test_unless_it_is_asked_for_nothing_is_touched(name, tmp_path):
    with served(name, tmp_path, None) as world:
        found = world.seen("/off", header("traceparent", "anything"), header("tracestate", "a=1"))
        assert found["traceparent"] == ["anything"] and found["tracestate"] == ["a=1"] and "x-request-id" not in found
        assert "traceparent" not in world.seen("/none")
        assert world.entry("/off")["trace_id"] == ""


EXEMPLAR = re.compile(r'^sluice_ingress_request_duration_seconds_bucket\{namespace="shop",ingress="front",le="[^"]+"\} \d+ # \{(\w+)="([0-9a-f]{32})"\} \d+\.\d{3} (\d+\.\d{3})$', re.M)


@contextlib.contextmanager
def counted(name: str, tmp: pathlib.Path, *more: str) -> Iterator[World]:
    arguments = ["--metrics-ingresses", "10", "--access-log", "json", "--access-log-to", str(tmp / "access.log"), *more]
    with Backend("web") as web, proxy_class(name)(arguments=arguments, environment={"SLUICE_ADMIN_ADDRESS": "127.0.0.1:0"}) as proxy:
        proxy.apply(pool("web", web), host("a.test", rule_of("/", "web", ingress="shop/front")), proxy.balancer())
        yield World(proxy, tmp / "access.log")


def exemplars(proxy: LocalProxy) -> list[tuple[str, str, str]]:
    """The label, the name of the request, and when it was."""
    text = look(proxy.runtime / f"provider-{proxy.name}.admin", "/metrics/ingresses", Accept="application/openmetrics-text;version=1.0.0").text
    assert text.endswith("# EOF\n") and text.count(" # {") == len(EXEMPLAR.findall(text))
    return EXEMPLAR.findall(text)


@pytest.mark.parametrize("name", PROXIES)
def test_one_name_from_the_metric_to_the_log_and_the_backend(name, tmp_path):
    with counted(name, tmp_path, "--trace-context", "begin") as world:
        found = world.seen("/mine", header("traceparent", GOOD))
        assert found["traceparent"] == [GOOD] and world.entry("/mine")["trace_id"] == ID
        [(label, trace, when)] = wait_for(lambda: exemplars(world.proxy), "the exemplar", 30)
        assert (label, trace) == ("trace_id", ID) and abs(float(when) - time.time()) < 60


@pytest.mark.parametrize("name", PROXIES)
def test_without_traces_the_exemplar_names_the_request(name, tmp_path):
    with counted(name, tmp_path) as world:
        world.seen("/mine", header("traceparent", GOOD))
        [(label, request, _)] = wait_for(lambda: exemplars(world.proxy), "the exemplar", 30)
        assert (label, request) == ("request_id", world.entry("/mine")["request_id"])


@pytest.mark.parametrize("name", PROXIES)
def test_no_name_of_a_client_breaks_the_metrics(name, tmp_path):
    """What is no trace is none, whatever it says; and there is one exemplar for each bucket, however many requests there are."""
    with counted(name, tmp_path, "--trace-context", "begin") as world:
        hostile = [f'00-{ID[:-1]}"-{PARENT}-01', f"00-{ID}\x9b31m-{PARENT}-01", "=" + ID, '"} 1 # {x="' + ID, "00-" + "a" * 3000, f"00-{ID.upper()}-{PARENT}-01"]
        for number, value in enumerate(hostile):
            assert world.seen(f"/{number}", header("traceparent", value), header("X-Request-ID", value))["traceparent"] != [value]
            world.entry(f"/{number}")
        names = wait_for(lambda: exemplars(world.proxy), "exemplars", 30)
        assert len(names) <= 12 and not any(trace == ID for _, trace, _ in names)


@pytest.mark.parametrize("name", PROXIES)
def test_prometheus_keeps_the_exemplar(name, tmp_path):
    with counted(name, tmp_path, "--trace-context", "begin") as world:
        port = int(re.search(r" port=(\d+)", world.proxy.provider.wait_event("admin-listening", "port="))[1])
        job = {"job_name": "sluice-traffic", "metrics_path": "/metrics/ingresses", "scrape_interval": "1s", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        (tmp_path / "prometheus.yml").write_text(json.dumps({"scrape_configs": [job]}), encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as free:
            listens = f"127.0.0.1:{free.getsockname()[1]}"
        prometheus = Daemon(shutil.which("prometheus"), [f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}",
                                                         f"--web.listen-address={listens}", "--enable-feature=exemplar-storage"], tmp_path / "prometheus.log").start()

        def kept() -> set[tuple]:
            query = urllib.parse.urlencode({"query": "sluice_ingress_request_duration_seconds_bucket", "start": time.time() - 600, "end": time.time() + 600})
            try:
                with urllib.request.urlopen(f"http://{listens}/api/v1/query_exemplars?{query}", timeout=60) as answer:
                    series = json.load(answer)["data"]
            except OSError:
                return set()
            return {(one["seriesLabels"]["ingress"], kept["labels"]["trace_id"]) for one in series for kept in one["exemplars"]}
        try:
            world.seen("/mine", header("traceparent", GOOD))
            wait_for(lambda: ("front", ID) in kept(), "the exemplar", 60)
        finally:
            prometheus.stop()
