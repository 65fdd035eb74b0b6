# SPDX-License-Identifier: Apache-2.0
"""provider-rancher below HTTP: TCP ports of Services, TLS passed through, what must not exist, what must not be touched, and doubles."""
from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import threading
from typing import Any, Iterator

import pytest

from lib import certs
from lib.provider_bench import Bench
from lib.provider_link import certificate, load_balancer, pool, simple, virtual_host
from lib.wait import stays, wait_for

WEB = "default-rancherlb-web"
DB = "default-rancherlbservice-db"
ID = "service/default/db"


class Greeter(socketserver.ThreadingTCPServer):
    """Says its name to whoever connects, in TLS when it has a certificate."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, name: str, pair: certs.Pair | None = None, folder: Any = None):
        self.name = name.encode()
        self.context = None
        if pair is not None:
            path = folder / name
            path.write_bytes(pair.pem + pair.key)
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(str(path))
        super().__init__(("127.0.0.1", 0), self.greet)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def greet(self, peer: socket.socket, *_: Any) -> None:
        with contextlib.suppress(OSError):
            if self.context is not None:
                peer = self.context.wrap_socket(peer, server_side=True)
            peer.sendall(self.name)
            peer.close()

    def handle_error(self, *_: Any) -> None:
        """A client that goes away is no news."""

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Bench(dataplane=True) as running:
        yield running


@pytest.fixture
def greeter(bench, tmp_path) -> Iterator[Any]:
    """Starts greeters, each as the only pod of a Service of its name."""
    started: list[Greeter] = []

    def start(name: str, pair: certs.Pair | None = None) -> Greeter:
        one = Greeter(name, pair, tmp_path)
        started.append(one)
        bench.services(name)
        pod = {"ip": f"10.42.7.{len(started)}", "ports": {"8080": f"127.0.0.1:{one.server_address[1]}"}}
        bench.rancher.control("set-pods", uid=f"uid-{name}", pods=[pod])
        return one

    yield start
    for one in started:
        one.stop()


def service(name: str = "db", *ports: tuple[int, str], **more: Any) -> dict[str, Any]:
    """The load balancer of a Service; `ports` are (port, pool)."""
    listeners = [{"port": port, "protocol": "tcp", "pool": f"default/{target}", "service": f"default/{name}"} for port, target in ports]
    return {"kind": "load-balancer", "id": f"service/default/{name}", "namespace": "default", "name": name,
            "owners": [{"namespace": "default", "name": name, "uid": f"uid-{name}", "is_service": True}], "listeners": listeners, **more}


def heard(address: tuple[str, int] | None, sni: str | None = None) -> tuple[bytes, bytes | None] | None:
    """What is said at an address, and in whose certificate; None while nobody says anything."""
    if address is None:
        return None
    try:
        with socket.create_connection(address, timeout=30) as raw:
            raw.settimeout(30)
            if sni is None:
                return (said, None) if (said := raw.recv(100)) else None
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with context.wrap_socket(raw, server_hostname=sni) as tls:
                return tls.recv(100), tls.getpeercert(binary_form=True)
    except OSError:
        return None


def entry(bench: Bench, name: str, port: int) -> tuple[str, int] | None:
    if bench.lb(name) is None:
        return None
    return next((address for address in bench.rancher.traffic_addresses(name) if address[1] == port), None)


def wait_heard(bench: Bench, name: str, port: int, want: bytes, sni: str | None = None) -> bytes | None:
    got = wait_for(lambda: (said := heard(entry(bench, name, port), sni)) and said[0] == want and said, f"{want!r} at {name}:{port}")
    return got[1]


def test_the_ports_of_a_service(bench, greeter):
    greeter("db")
    greeter("log")
    bench.translator.put(pool("db", protocol="tcp"), pool("log", protocol="tcp"), service("db", (5432, "db"), (5514, "log")))
    status = bench.translator.wait_status(ID)
    assert bench.translator.hello["capabilities"]["protocols"] == ["http", "https", "tcp", "tls-passthrough"]
    assert [(r["sourcePort"], r["protocol"], r["targetPort"]) for r in bench.rules(DB)] == [(5432, "tcp", 8080), (5514, "tcp", 8080)]
    assert all(not r.get("hostname") and not r.get("path") for r in bench.rules(DB))
    wait_heard(bench, DB, 5432, b"db")
    wait_heard(bench, DB, 5514, b"log")
    assert status.get("notices", []) == []
    wait_for(lambda: bench.translator.addresses(ID), "its addresses")
    # One port more and one less, in place.
    identity = bench.lb(DB)["id"]
    bench.translator.put(service("db", (5433, "db"), (5514, "log")))
    bench.translator.wait_status(ID)
    wait_heard(bench, DB, 5433, b"db")
    wait_for(lambda: heard(entry(bench, DB, 5432)) is None, "the old port to be closed")
    assert bench.lb(DB)["id"] == identity
    bench.quiet()


def test_an_ingress_and_a_service_of_one_name(bench, greeter):
    greeter("db")
    bench.services("web")
    bench.translator.put(*simple("db"), pool("db", protocol="tcp"), service("db", (5432, "db")))
    bench.translator.wait_status(ID)
    bench.translator.wait_status("default/db")
    assert {bench.lb(name)["description"] for name in (DB, "default-rancherlb-db")} == \
        {"managed by sluice: service=default/db", "managed by sluice: ingress=default/db"}
    bench.forget_requests()
    bench.restart()
    bench.translator.wait_status(ID)
    bench.translator.wait_status("default/db")
    bench.quiet()
    assert bench.writes() == []
    bench.translator.remove(("load-balancer", ID))
    bench.wait_no_lb(DB)
    wait_for(lambda: "LoadBalancerDeleted" in bench.translator.event_reasons(ID), "the event of its removal")
    event = next(e for e in bench.translator.events if e["id"] == ID and e["reason"] == "LoadBalancerDeleted")
    assert event["owners"] == [{"namespace": "default", "name": "db", "uid": "uid-db", "is_service": True}]
    assert bench.lb("default-rancherlb-db") is not None


def test_tls_is_passed_through_to_whom_the_server_name_says(bench, greeter):
    pairs = {name: certs.self_signed(f"{name}.example.com") for name in ("one", "two")}
    for name, pair in pairs.items():
        greeter(name, pair)
    hosts = [{**virtual_host("default/web", f"{name}.example.com", ("/", f"default/{name}")), "passthrough": True,
              "id": f"default/web/passthrough/{name}.example.com"} for name in pairs]
    lb = load_balancer("web", http=None)
    lb["listeners"] = [{"port": 443, "protocol": "tls-passthrough"}]
    bench.translator.put(*[pool(name, protocol="tcp") for name in pairs], *hosts, lb)
    bench.translator.wait_status("default/web")
    for name, pair in pairs.items():
        assert wait_heard(bench, WEB, 443, name.encode(), f"{name}.example.com") == pair.der
    assert heard(entry(bench, WEB, 443), "nobody.example.com") is None
    assert [r["protocol"] for r in bench.rules(WEB)] == ["sni", "sni"]
    wild = {**virtual_host("default/web", "*.example.com", ("/", "default/one")), "passthrough": True, "id": "default/web/passthrough/*"}
    bench.translator.put(wild)
    wait_for(lambda: "PassthroughWildcardNotSupported" in bench.translator.notices("default/web"), "the notice")
    assert len(bench.rules(WEB)) == 2


def test_a_port_cannot_end_tls_and_pass_it_through(bench, greeter):
    pair = certs.self_signed("own.example.com")
    greeter("own", pair)
    bench.services("web")
    bench.translator.put(
        certificate("tls", certs.self_signed("web.example.com")), pool("own", protocol="tcp"), pool("web"),
        {**virtual_host("default/web", "own.example.com", ("/", "default/own")), "passthrough": True, "id": "default/web/passthrough/own"},
        virtual_host("default/web", "web.example.com", ("/", "default/web")),
        load_balancer("web", https=443, certificates=["default/tls"]))
    bench.translator.wait_status("default/web")
    assert "own.example.com" in bench.translator.notices("default/web")["PassthroughNotSupported"]
    assert {(r["sourcePort"], r["protocol"], r.get("hostname")) for r in bench.rules(WEB)} == \
        {(80, "http", "web.example.com"), (443, "https", "web.example.com")}


def test_what_must_not_exist_goes_and_is_told(bench, greeter):
    greeter("db")
    bench.translator.put(pool("db", protocol="tcp"), service("db", (5432, "db")))
    bench.translator.wait_status(ID)
    bench.translator.put(service("db", absent=True))
    status = bench.translator.wait_status(ID)
    assert bench.lb(DB) is None
    assert status["addresses_known"] and not status.get("addresses")
    # The translator takes the object away then, and may want another one later.
    bench.translator.remove(("load-balancer", ID))
    bench.translator.put(service("db", (5432, "db")))
    bench.wait_lb(DB)
    bench.translator.wait_status(ID)
    wait_heard(bench, DB, 5432, b"db")


def test_what_never_was_is_told_to_be_gone_without_a_write(bench):
    bench.translator.put(service("db", absent=True))
    bench.translator.wait_status(ID)
    bench.quiet()
    assert [w for w in bench.writes() if w[1] != "kubernetes-ingress-lbs"] == []


def test_what_must_not_exist_is_found_after_a_restart_also_on_its_way_out(bench, greeter):
    greeter("db")
    bench.translator.put(pool("db", protocol="tcp"), service("db", (5432, "db")))
    bench.translator.wait_status(ID)
    bench.provider.kill()
    bench.translator.put(service("db", absent=True))
    bench.start()
    bench.translator.wait_status(ID)
    assert bench.lb(DB) is None


def test_the_removal_that_rancher_refuses_is_not_told_as_done(bench, greeter):
    greeter("db")
    bench.translator.put(pool("db", protocol="tcp"), service("db", (5432, "db")))
    bench.translator.wait_status(ID)
    fault = bench.rancher.fault("error", status=500, method="DELETE")
    bench.translator.put(service("db", absent=True))
    bench.translator.wait_status(ID, "failed")
    assert bench.lb(DB) is not None
    bench.rancher.clear(fault)
    bench.translator.wait_status(ID)
    assert bench.lb(DB) is None


def test_what_is_kept_is_not_touched(bench, greeter):
    greeter("db")
    bench.translator.put(pool("db", protocol="tcp"), service("db", (5432, "db")), service("new", keep=True))
    bench.translator.wait_status(ID)
    wait_heard(bench, DB, 5432, b"db")
    wait_for(lambda: bench.translator.addresses(ID), "its addresses")
    bench.rancher.settle()
    bench.forget_requests()
    bench.translator.put(service("db", keep=True))
    bench.translator.wait_status(ID)
    bench.translator.wait_status("service/default/new")
    assert bench.translator.addresses(ID)
    bench.restart()
    wait_for(lambda: bench.provider.starts == 2 and bench.translator.connections == 2, "the second life")
    wait_for(lambda: bench.translator.addresses(ID), "its addresses")
    bench.quiet()
    assert bench.writes() == []
    wait_heard(bench, DB, 5432, b"db")
    # Readable again, and nothing differs.
    bench.translator.put(service("db", (5432, "db")))
    bench.translator.wait_status(ID)
    bench.quiet()
    assert bench.writes() == []


def test_what_serves_nothing_is_not_made(bench):
    bench.services("web")
    bench.translator.put(load_balancer("web", http=None))
    bench.translator.wait_status("default/web", "pending")
    stays(lambda: bench.lb(WEB) is None, "absence")
    bench.translator.put(*simple("web"))
    bench.wait_lb(WEB)


def test_of_two_the_oldest_is_ours_and_the_owner_hears_of_the_other(bench):
    bench.services("web")
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    ours = bench.wait_lb(WEB)
    bench.provider.kill()
    # As if two controllers had made it at one moment.
    body = {key: ours[key] for key in ("stackId", "lbConfig", "description", "externalId")}
    other = bench.rancher.api("POST", "loadbalancerservices", {
        **body, "name": f"{WEB}-2", "startOnCreate": True,
        "launchConfig": {"imageUuid": ours["launchConfig"]["imageUuid"], "ports": ["81:81"]}})
    assert other.status == 201, other.text
    bench.rancher.settle()
    bench.forget_requests()
    bench.start()
    wait_for(lambda: bench.translator.connections == 2 and "DuplicateLoadBalancer" in bench.translator.notices("default/web"), "the notice")
    assert ours["id"] in bench.translator.notices("default/web")["DuplicateLoadBalancer"]
    bench.quiet()
    assert bench.writes() == []
    bench.rancher.api("DELETE", f"loadbalancerservices/{other.json['id']}")
    wait_for(lambda: "DuplicateLoadBalancer" not in bench.translator.notices("default/web"), "the notice to go")
    assert bench.lb(WEB)["id"] == ours["id"]
