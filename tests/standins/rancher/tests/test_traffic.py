# SPDX-License-Identifier: Apache-2.0
"""Requests through real load balancers."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from typing import Any

from .conftest import Pair, Rancher, rule


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


def peer_name(where: tuple[str, int], server: str | None) -> bytes | None:
    """The certificate the balancer shows for an SNI name, in DER."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(where, timeout=60) as raw:
        with context.wrap_socket(raw, server_hostname=server) as tls:
            return tls.getpeercert(binary_form=True)


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


def gone(pid: int) -> bool:
    """No such process, or one that has ended and only waits to be collected."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
