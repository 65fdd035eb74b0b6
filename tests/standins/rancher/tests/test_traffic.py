# SPDX-License-Identifier: Apache-2.0
"""Requests through real load balancers."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import threading
from typing import Any

import pytest

from .conftest import FAST, Pair, Rancher, rule


def ask(address: tuple[str, int], path: str = "/", host: str = "foo.bar.com",
        headers: dict[str, str] | None = None,
        source: tuple[str, int] | None = None) -> tuple[int, dict[str, Any], http.client.HTTPMessage]:
    connection = http.client.HTTPConnection(*address, timeout=60, source_address=source)
    try:
        connection.request("GET", path, headers={"Host": host, **(headers or {})})
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if response.status == 200 else {}, response.headers
    finally:
        connection.close()


def refused(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=2).close()
        return False
    except ConnectionRefusedError:
        return True


def address(rancher: Rancher, name: str, number: int = 0) -> tuple[str, int]:
    return rancher.traffic_addresses(name)[number]


class Load:
    """Clients that ask without pause, on kept connections and on fresh ones, and count what fails."""

    def __init__(self, where: Any, clients: int = 4):
        self.where = where      # a function that answers the address to ask
        self.failures: list[str] = []
        self.served = 0
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._client, args=(n % 2 == 0,)) for n in range(clients)]

    def _client(self, keep: bool) -> None:
        connection, used = None, None
        while not self._end.is_set():
            target = self.where()
            try:
                if connection is None or used != target or not keep:
                    if connection is not None:
                        connection.close()
                    connection, used = http.client.HTTPConnection(*target, timeout=60), target
                connection.request("GET", "/load", headers={"Host": "foo.bar.com"})
                response = connection.getresponse()
                response.read()
                problem = "" if response.status == 200 else f"status {response.status}"
                if response.will_close:
                    connection.close()
                    connection = None
            except OSError as error:
                problem, connection = repr(error), None
            except http.client.HTTPException as error:
                problem, connection = repr(error), None
            with self._lock:
                self.served += not problem
                if problem:
                    self.failures.append(problem)

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()


def test_host_and_path(live: Rancher, backend: Any) -> None:
    target = live.target("web", [backend("a").pod])
    live.make("web", [rule(target, hostname="foo.bar.com", path="/foo", priority=1)])
    where = address(live, "web")
    assert where == (f"{live.info['network']}.1.1", 80)
    status, body, _ = ask(where, "/FOObar")
    assert (status, body["backend"]) == (200, "a")
    headers = body["headers"]
    assert headers["x-forwarded-port"] == "80" and headers["x-forwarded-for"]
    assert "x-forwarded-proto" not in headers
    assert ask(where, "/foo", "FOO.bar.com:80")[0] == 200
    assert ask(where, "/other")[0] == 503 and ask(where, "/foo", "other.com")[0] == 503
    kept = ask(where, "/foo", headers={"X-Forwarded-Port": "9", "X-Forwarded-Proto": "gopher"})[1]["headers"]
    assert (kept["x-forwarded-port"], kept["x-forwarded-proto"]) == ("9", "gopher")


def test_wildcard_hosts_and_priority(live: Rancher, backend: Any) -> None:
    short, long, wild, default = (live.target(n, [backend(n).pod]) for n in ("short", "long", "wild",
                                                                             "default"))
    live.make("web", [
        rule(default, priority=9), rule(wild, hostname="*.bar.com", priority=3),
        rule(short, hostname="foo.bar.com", path="/", priority=2),
        rule(long, hostname="foo.bar.com", path="/long", priority=1)])
    where = address(live, "web")
    for path, host, wanted in (("/long/x", "foo.bar.com", "long"), ("/lo", "foo.bar.com", "short"),
                               ("/", "a.b.bar.com", "wild"), ("/", "bar.com", "default"),
                               ("/", "1.2.3.4", "default")):
        assert ask(where, path, host)[1]["backend"] == wanted, (path, host)


def test_no_active_target_no_listener_no_container_503(live: Rancher, backend: Any) -> None:
    target = live.target("web", [])
    live.make("web", [rule(target)])
    where = address(live, "web")
    assert ask(where)[0] == 503
    live.control("set-pods", uid="uid-web", pods=[backend("a").pod])
    live.settle()
    assert ask(where)[1]["backend"] == "a"
    live.control("set-fields", id=target, fields={"state": "inactive"})
    live.settle()
    assert refused(where)
    live.control("set-fields", id=target, fields={"state": "active"})
    live.settle()
    assert ask(where)[0] == 200
    live.control("remove-service", uid="uid-web")
    live.settle()
    assert refused(where)


def test_unpublished_ports_are_reached_inside_only(live: Rancher, backend: Any) -> None:
    target = live.target("web", [backend("a").pod])
    live.make("web", [rule(target), rule(target, port=8888)], ports=["8080:80"])
    assert address(live, "web") == (f"{live.info['network']}.1.1", 8080)
    assert ask(address(live, "web"), host="anything")[0] == 200
    assert refused((f"{live.info['network']}.1.1", 8888))
    inside = live.rows("container")[-1]["primaryIpAddress"]
    assert ask((inside, 8888))[0] == 200


def test_stickiness(live: Rancher, backend: Any) -> None:
    target = live.target("web", [backend(n).pod for n in "abc"])
    live.make("web", [rule(target)], lb={"stickinessPolicy": {"cookie": "SID", "mode": "insert",
                                                              "indirect": True}})
    where = address(live, "web")
    assert {ask(where)[1]["backend"] for _ in range(6)} == set("abc")
    _, first, headers = ask(where)
    cookie = headers["Set-Cookie"].split(";")[0]
    assert cookie.startswith("SID=")
    assert {ask(where, headers={"Cookie": cookie})[1]["backend"] for _ in range(6)} == {first["backend"]}


def peer_name(where: tuple[str, int], server: str | None) -> bytes | None:
    """The certificate the balancer shows for an SNI name, in DER."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(where, timeout=60) as raw:
        with context.wrap_socket(raw, server_hostname=server) as tls:
            return tls.getpeercert(binary_form=True)


def test_tls(live: Rancher, backend: Any, foo_pair: Pair, other_pair: Pair) -> None:
    target = live.target("web", [backend("a").pod])
    ids = [live.api("POST", "certificates", {"name": n, "cert": p.cert, "key": p.key}).json["id"]
           for n, p in (("foo cert", foo_pair), ("other", other_pair))]
    live.settle()
    rules = [rule(target, port=443, protocol="https")]
    made = live.make("web", rules, ports=["443:443"],
                     lb={"defaultCertificateId": ids[0], "certificateIds": [ids[1]]}).json
    where = address(live, "web")
    foo, other = (ssl.PEM_cert_to_DER_cert(p.cert) for p in (foo_pair, other_pair))
    assert peer_name(where, "foo.bar.com") == foo and peer_name(where, None) == foo
    assert peer_name(where, "other.example.com") == other and peer_name(where, "unknown.com") == foo
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection(*where, context=context)
    connection.request("GET", "/", headers={"Host": "foo.bar.com"})
    headers = json.loads(connection.getresponse().read())["headers"]
    connection.close()
    assert (headers["x-forwarded-proto"], headers["x-forwarded-port"]) == ("https", "443")
    live.put(made["id"], {"lbConfig": {"portRules": rules, "certificateIds": [ids[1]]}})
    live.settle()
    assert peer_name(where, "other.example.com") == other
    with pytest.raises(ssl.SSLError):
        peer_name(where, "unknown.com")


def test_a_renewed_certificate_waits_for_the_next_change(live: Rancher, backend: Any, foo_pair: Pair,
                                                         other_pair: Pair) -> None:
    target = live.target("web", [backend("a").pod])
    certificate = live.api("POST", "certificates",
                           {"name": "c", "cert": foo_pair.cert, "key": foo_pair.key}).json["id"]
    live.settle()
    rules = [rule(target, port=443, protocol="https")]
    made = live.make("web", rules, ports=["443:443"], lb={"defaultCertificateId": certificate}).json
    live.put(certificate, {"cert": other_pair.cert, "key": other_pair.key}, "certificates")
    live.settle()
    where = address(live, "web")
    assert peer_name(where, None) == ssl.PEM_cert_to_DER_cert(foo_pair.cert)
    live.put(made["id"], {"lbConfig": {"portRules": rules, "defaultCertificateId": certificate}})
    live.settle()
    assert peer_name(where, None) == ssl.PEM_cert_to_DER_cert(other_pair.cert)


def test_a_refused_configuration_leaves_the_last_in_force(live: Rancher, backend: Any, foo_pair: Pair,
                                                          other_pair: Pair) -> None:
    target = live.target("web", [backend("a").pod])
    made = live.make("web", [rule(target)]).json
    live.put(made["id"], {"lbConfig": {"portRules": [rule(target, path="/x")],
                                       "config": "defaults\n  nonsense here"}})
    live.settle()
    proxy = live.control("proxies", lb="web")[0]
    assert "nonsense" in proxy["rejected"] and ask(address(live, "web"), "/y")[0] == 200
    assert live.get(made["id"])["state"] == "active"
    mixed = live.api("POST", "certificates",
                     {"name": "c", "cert": foo_pair.cert, "key": other_pair.key}).json["id"]
    live.settle()
    live.put(made["id"], {"lbConfig": {"portRules": [rule(target, protocol="https")],
                                       "defaultCertificateId": mixed}})
    live.settle()
    assert live.control("proxies", lb="web")[0]["rejected"] and ask(address(live, "web"))[0] == 200
    live.put(made["id"], {"lbConfig": {"portRules": [rule(target, path="/x")],
                                       "config": "defaults\n  retries 1"}})
    live.settle()
    proxy = live.control("proxies", lb="web")[0]
    assert proxy["rejected"] is None and "    retries 1" in proxy["config"]
    assert ask(address(live, "web"), "/y")[0] == 503


def test_a_balancer_that_starts_with_nonsense_serves_nothing(live: Rancher, backend: Any) -> None:
    target = live.target("web", [backend("a").pod])
    live.make("web", [rule(target)], lb={"config": "global\n  nonsense"})
    assert live.balancer("web")["state"] == "active" and refused(address(live, "web"))


def echo_once(text: bytes) -> tuple[str, threading.Thread]:
    """A raw TCP server for one connection, which answers with a text."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with server:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(text)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"127.0.0.1:{server.getsockname()[1]}", thread


def test_tcp(live: Rancher) -> None:
    real, thread = echo_once(b"hello")
    target = live.target("db", [{"ip": "10.42.0.5", "ports": {"5432": real}}])
    live.make("db", [rule(target, port=5432, target=5432, protocol="tcp", hostname="ignored.com")],
              ports=["5432:5432"])
    with socket.create_connection(address(live, "db"), timeout=60) as connection:
        connection.sendall(b"x")
        assert connection.recv(100) == b"hello"
    thread.join(5)


def test_sni_passthrough(live: Rancher, foo_pair: Pair, other_pair: Pair, tmp_path: Any) -> None:
    """Two TLS servers behind one port: the certificate seen is that of the server itself."""
    rules, threads = [], []
    for name, pair in (("foo.bar.com", foo_pair), ("other.example.com", other_pair)):
        path = tmp_path / name
        path.write_text(pair.cert + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(path))
        server = socket.create_server(("127.0.0.1", 0))

        def serve(server: socket.socket = server, context: ssl.SSLContext = context) -> None:
            with server:
                raw, _ = server.accept()
                with context.wrap_socket(raw, server_side=True) as tls:
                    tls.recv(10)
        threads.append(threading.Thread(target=serve, daemon=True))
        threads[-1].start()
        short = name.split(".")[0]
        target = live.target(short, [{"ip": f"10.42.1.{len(rules) + 1}",
                                      "ports": {"8443": f"127.0.0.1:{server.getsockname()[1]}"}}])
        rules.append(rule(target, port=443, target=8443, protocol="sni", hostname=name))
    live.make("tls", rules, ports=["443:443"])
    for name, pair in (("foo.bar.com", foo_pair), ("other.example.com", other_pair)):
        assert peer_name(address(live, "tls"), name) == ssl.PEM_cert_to_DER_cert(pair.cert)
    for thread in threads:
        thread.join(5)


def test_external_service_as_target(live: Rancher, backend: Any) -> None:
    real = backend("out").address
    live.control("map-address", addresses={"127.0.0.200:8080": real})
    external = live.api("POST", "externalservices",
                        {"name": "ext", "stackId": live.stack(), "startOnCreate": True,
                                                     "externalIpAddresses": ["127.0.0.200"]}).json
    live.settle()
    live.make("web", [rule(external["id"])])
    assert ask(address(live, "web"))[1]["backend"] == "out"


def test_local_targets(live: Rancher, backend: Any) -> None:
    near, far = backend("near"), backend("far")
    target = live.target("web", [{**near.pod, "host": "1h1"}, {**far.pod, "host": "1h2"}])
    for number, preference in enumerate(("only-local", "prefer-local", "any")):
        live.make(preference, [rule(target)], ports=[f"{9000 + number}:80"],
                  labels={"io.rancher.lb_service.target": preference,
                          "io.rancher.scheduler.affinity:host_label": "here=yes"}, settle=False)
    live.control("label-host", host="1h1", labels={"here": "yes"})
    live.settle()

    def seen(name: str) -> set[str]:
        return {ask(address(live, name), host="x")[1].get("backend", "none") for _ in range(6)}
    assert (seen("only-local"), seen("prefer-local"), seen("any")) == ({"near"}, {"near"}, {"near", "far"})
    live.control("set-pods", uid="uid-web", pods=[{**far.pod, "host": "1h2"}])
    live.settle()
    assert (seen("only-local"), seen("prefer-local")) == ({"none"}, {"far"})


def test_changes_under_load_lose_nothing(live: Rancher, backend: Any) -> None:
    pods = [backend(n).pod for n in "abc"]
    target = live.target("web", pods)
    made = live.make("web", [rule(target)]).json
    where = address(live, "web")
    with Load(lambda: where) as load:
        for step in range(6):
            live.put(made["id"], {"lbConfig": {"portRules": [rule(target),
                                                             rule(target, path=f"/p{step}", priority=1)]}})
            live.control("set-pods", uid="uid-web", pods=pods[step % 3:] + pods[:step % 2])
            live.settle()
        launch = {**live.get(made["id"])["launchConfig"], "ports": ["80:80", "81:80"]}
        live.put(made["id"], {"launchConfig": launch})
        live.settle()
    assert live.control("proxies", lb="web")[0]["reloads"] >= 6
    assert load.failures == [] and load.served > 100
    assert ask((where[0], 81), host="x")[0] == 200


def test_a_move_loses_nothing_for_those_who_follow(live: Rancher, backend: Any) -> None:
    target = live.target("web", [backend("a").pod])
    live.make("web", [rule(target)])
    current = [address(live, "web")]
    with Load(lambda: current[0]) as load:
        for host in ("1h2", "1h1", "1h2"):
            live.control("move", lb="web", host=host, overlap=0.5)
            endpoint = live.balancer("web")["publicEndpoints"][0]
            current[0] = (endpoint["ipAddress"], endpoint["port"])
            live.settle()
    assert load.failures == [] and load.served > 100
    assert current[0][0] == f"{live.info['network']}.2.1"
    assert refused((f"{live.info['network']}.1.1", 80))


def test_a_move_that_breaks_first_is_seen(live: Rancher, backend: Any) -> None:
    live.make("web", [rule(live.target("web", [backend("a").pod]))])
    before = address(live, "web")
    live.control("move", lb="web", host="1h2", break_first=True)
    assert refused(before) and ask(address(live, "web"))[0] == 200


def test_two_balancers_on_one_host(live: Rancher, backend: Any) -> None:
    live.control("deactivate-host", host="1h2")
    for name, port in (("one", 80), ("two", 8080)):
        target = live.target(name, [backend(name).pod])
        live.make(name, [rule(target)], ports=[f"{port}:80"])
        assert ask(address(live, name), host="x")[1]["backend"] == name
    assert address(live, "one")[0] == address(live, "two")[0]


def test_an_address_that_something_else_holds(live: Rancher, backend: Any) -> None:
    target = live.target("web", [backend("a").pod])
    live.control("deactivate-host", host="1h2")
    with socket.create_server((f"{live.info['network']}.1.1", 80)):
        live.make("web", [rule(target)])
        row = live.wait_for(lambda: next((r for r in [live.balancer("web")] if r["transitioning"] == "error"),
                                         None))
        assert "Failed to start instance" in row["transitioningMessage"]
        assert "cannot bind" in row["transitioningMessage"]
    live.wait_for(lambda: live.balancer("web")["state"] == "active")
    assert ask(address(live, "web"))[0] == 200


def test_a_port_that_something_else_holds_can_be_added_later(live: Rancher, backend: Any) -> None:
    target = live.target("web", [backend("a").pod])
    made = live.make("web", [rule(target)]).json
    launch = {**live.get(made["id"])["launchConfig"], "ports": ["80:80", "81:80"]}
    with socket.create_server((f"{live.info['network']}.1.1", 81)):
        live.put(made["id"], {"launchConfig": launch})
        live.wait_for(lambda: live.balancer("web")["transitioning"] == "error")
        row = live.balancer("web")
        assert row["state"] == "updating-active" and [e["port"] for e in row["publicEndpoints"]] == [80]
        assert ask(address(live, "web"))[0] == 200
    live.wait_for(lambda: live.balancer("web")["state"] == "active")
    assert ask((f"{live.info['network']}.1.1", 81), host="x")[0] == 200


def test_a_dead_haproxy_is_started_again(live: Rancher, backend: Any) -> None:
    live.make("web", [rule(live.target("web", [backend("a").pod]))])
    before = live.control("proxies", lb="web")[0]["pid"]
    os.kill(before, signal.SIGKILL)
    live.wait_for(lambda: live.control("proxies", lb="web")[0].get("pid", before) != before)
    live.wait_for(lambda: not refused(address(live, "web")))
    assert ask(address(live, "web"))[0] == 200


def test_port_offset(backend: Any) -> None:
    with Rancher(settings=FAST, port_offset=20000) as server:
        target = server.target("web", [backend("a").pod])
        server.make("web", [rule(target, hostname="foo.bar.com")])
        endpoint = server.balancer("web")["publicEndpoints"][0]
        where = address(server, "web")
        assert endpoint["port"] == 80 and where == (endpoint["ipAddress"], 20080)
        inside = server.rows("container")[-1]["primaryIpAddress"]
        assert refused((inside, 80)) and not refused((inside, 20080)), "no low port is taken anywhere"
        for host in ("foo.bar.com", "foo.bar.com:80", "foo.bar.com:20080"):
            assert ask(where, host=host)[1]["headers"]["x-forwarded-port"] == "80"


def test_removal_and_end_leave_no_process(backend: Any) -> None:
    with Rancher(settings=FAST) as server:
        made = server.make("web", [rule(server.target("web", [backend("a").pod]))], scale=2).json
        pids = [p["pid"] for p in server.control("proxies", lb="web")]
        assert len(pids) == 2
        server.put(made["id"], {"scale": 1})
        server.settle()
        assert len(server.control("proxies", lb="web")) == 1 and refused((f"{server.info['network']}.2.1",
                                                                          80))
        server.kill()
        server.wait_for(lambda: all(gone(pid) for pid in pids), what="the end of all proxies")


def gone(pid: int) -> bool:
    """No such process, or one that has ended and only waits to be collected."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
