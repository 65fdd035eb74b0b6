# SPDX-License-Identifier: Apache-2.0
"""Requests through balancers."""

from __future__ import annotations

import collections
import contextlib
import socket
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Iterator

import pytest

from standins.elb.client import Aws

from .conftest import Caller, fixed, forward, host, path


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.startswith("/slow"):
            self.server.slow_seen.set()  # type: ignore[attr-defined]
            time.sleep(1)
        body = "\n".join([self.path, *(f"{k}: {v}" for k, v in self.headers.items()), ""]).encode()
        if self.command == "POST":
            body += self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def served(server: socketserver.BaseServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def backend() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.slow_seen = threading.Event()  # type: ignore[attr-defined]
    with served(server):
        yield server


def active(aws: Aws, caller: Caller, **more: Any) -> tuple[str, str]:
    aws.configure(provisioning_polls=0)
    made = caller.balancer(**more)
    return made["LoadBalancerArn"], made["DNSName"]


def test_rules_decide(aws: Aws, caller: Caller) -> None:
    arn, name = active(aws, caller)
    listener = caller.listener(arn)
    rules = [([host("*.glob.example.com")], 201), ([host("^[^.]+\\.one\\.example\\.com$", kind="RegexValues")], 202),
             ([host("Shop.example.com"), path("/a", "/a/*")], 203), ([host("shop.example.com"), path("/?")], 204), ([path("/only")], 205),
             ([{"Field": "http-header", "HttpHeaderConfig": {"HttpHeaderName": "X-Canary", "Values": ["yes"]}}], 206),
             ([{"Field": "query-string", "QueryStringConfig": {"Values": [{"Key": "v", "Value": "2*"}]}}], 207)]
    for number, (conditions, status) in enumerate(rules):
        caller.rule(listener, 10 * (number + 1), conditions, [fixed(status)])
    for sent, target, headers, wanted in (
        ("a.b.glob.example.com", "/", {}, 201), ("a.one.example.com", "/", {}, 202), ("A.one.EXAMPLE.com", "/", {}, 202), ("a.b.one.example.com", "/", {}, 404),
        ("shop.EXAMPLE.com", "/a", {}, 203), ("shop.example.com", "/a/b?c", {}, 203), ("shop.example.com", "/ab", {}, 404), ("shop.example.com", "/A", {}, 204),
        ("x.org", "/only?x", {}, 205), ("x.org", "/Only", {}, 404), ("x.org", "/", {"X-Canary": "YES"}, 206), ("x.org", "/?v=21", {}, 207),
        ("shop.example.com:80", "/a", {}, 404),
    ):
        assert aws.request(name, 80, sent, target, headers=headers).status == wanted, (sent, target)
    aws.configure(strips_port=True)
    assert aws.request(name, 80, "shop.example.com:80", "/a").status == 203
    assert aws.port(name, 81) is None
    with pytest.raises(ConnectionRefusedError):
        aws.request(name, 81)


def test_forwarding(aws: Aws, caller: Caller, backend: ThreadingHTTPServer) -> None:
    arn, name = active(aws, caller)
    group = caller.group()
    listener = caller.listener(arn, DefaultActions=[forward((group, 1))])
    assert aws.request(name, 80).status == 503
    caller.elb.register_targets(TargetGroupArn=group, Targets=[{"Id": "127.0.0.1", "Port": backend.server_port}])
    answer = aws.request(name, 80, "shop.example.com", "/a%20b?c=%2F", headers={"X-Forwarded-For": "1.2.3.4"})
    lines = answer.text.split("\n")
    assert lines[0] == "/a%20b?c=%2F" and "Host: shop.example.com" in lines
    assert {"X-Forwarded-For: 1.2.3.4, 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Port: 80"} <= set(lines)
    assert answer.headers["x-standin-target"] == f"127.0.0.1:{backend.server_port}"
    assert aws.request(name, 80, method="POST", body=b"some body").text.endswith("some body")
    rewrite = [{"Type": "url-rewrite", "UrlRewriteConfig": {"Rewrites": [{"Regex": "^/a(/|$)(.*)", "Replace": "/b/$2"}]}}]
    caller.rule(listener, 1, [path("/a/*")], [forward((group, 1))], Transforms=rewrite)
    assert aws.request(name, 80, path="/a/c?d").text.startswith("/b/c?d\n")
    # A request in flight ends well while its target drains and its listener goes.
    answers = []
    thread = threading.Thread(target=lambda: answers.append(aws.request(name, 80, path="/slow")))
    thread.start()
    assert backend.slow_seen.wait(10)  # type: ignore[attr-defined]
    caller.elb.deregister_targets(TargetGroupArn=group, Targets=[{"Id": "127.0.0.1", "Port": backend.server_port}])
    assert aws.request(name, 80).status == 503
    caller.elb.delete_listener(ListenerArn=listener)
    assert aws.port(name, 80) is None
    thread.join(10)
    assert answers[0].status == 200


def test_weights_and_health(aws: Aws, caller: Caller, backend: ThreadingHTTPServer) -> None:
    arn, name = active(aws, caller)
    groups = [caller.group("one"), caller.group("two")]
    ids = ("127.0.0.2", "127.0.0.3")
    aws.control("reach", places={f"{ident}:80": f"127.0.0.1:{backend.server_port}" for ident in ids})
    for group, ident in zip(groups, ids):
        caller.elb.register_targets(TargetGroupArn=group, Targets=[{"Id": ident, "Port": 80}])
    listener = caller.listener(arn, DefaultActions=[forward((groups[0], 3), (groups[1], 1))])

    def taken(number: int) -> dict[str, int]:
        return collections.Counter(aws.request(name, 80).headers.get("x-standin-target", "none") for _ in range(number))

    assert taken(8) == {"127.0.0.2:80": 6, "127.0.0.3:80": 2}
    caller.elb.modify_listener(ListenerArn=listener, DefaultActions=[forward((groups[0], 0), (groups[1], 100))])
    caller.elb.register_targets(TargetGroupArn=groups[1], Targets=[{"Id": "127.0.0.2", "Port": 80}])
    assert taken(4) == {"127.0.0.2:80": 2, "127.0.0.3:80": 2}
    aws.control("set-health", group="two", state="unhealthy", ids=["127.0.0.3"])
    assert taken(4) == {"127.0.0.2:80": 4}
    aws.control("set-health", group="two", state="unhealthy")
    assert len(taken(4)) == 2
    caller.elb.register_targets(TargetGroupArn=groups[1], Targets=[{"Id": "172.31.0.9", "Port": 80}])
    assert [aws.request(name, 80).status for _ in range(2)] == [504, 504]
    aws.control("set-health", group="two", state="initial")
    assert taken(1) == {"none": 1}


def test_redirects_and_certificates(aws: Aws, caller: Caller, certificate: str) -> None:
    arn, name = active(aws, caller)
    caller.listener(arn, DefaultActions=[{"Type": "redirect", "RedirectConfig": {"Protocol": "HTTPS", "Port": "443", "StatusCode": "HTTP_301"}}])
    caller.listener(arn, 443, "HTTPS", Certificates=[{"CertificateArn": certificate}])
    answer = aws.request(name, 80, "shop.example.com:80", "/a/b?c=d")
    assert (answer.status, answer.headers["location"]) == (301, "https://shop.example.com:443/a/b?c=d")
    assert aws.request(name, 443).headers["x-standin-certificate"] == certificate


def test_provisioning_serves_nobody(aws: Aws, caller: Caller) -> None:
    aws.configure(provisioning_polls=1)
    made = caller.balancer()
    caller.listener(made["LoadBalancerArn"])
    assert aws.port(made["DNSName"], 80) is None
    caller.elb.describe_load_balancers()
    assert aws.request(made["DNSName"], 80).status == 404


def test_splicing(aws: Aws, caller: Caller) -> None:
    class Echo(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"got " + self.rfile.read())

    arn, name = active(aws, caller, Type="network")
    group = caller.group(Protocol="TCP")
    caller.listener(arn, 5432, "TCP", DefaultActions=[forward((group, 1))])
    with served(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)) as port:
        caller.elb.register_targets(TargetGroupArn=group, Targets=[{"Id": "127.0.0.1", "Port": port}])
        with socket.create_connection(("127.0.0.1", aws.port(name, 5432)), 10) as link:
            link.sendall(b"hello")
            link.shutdown(socket.SHUT_WR)
            assert link.makefile("rb").read() == b"got hello"
    with socket.create_connection(("127.0.0.1", aws.port(name, 5432)), 10) as link:
        with contextlib.suppress(ConnectionResetError):
            assert link.recv(1) == b""
