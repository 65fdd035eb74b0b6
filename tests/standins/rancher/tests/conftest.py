# SPDX-License-Identifier: Apache-2.0
"""Fixtures: stand-ins with and without load balancers, small backends, certificates."""

from __future__ import annotations

import datetime
import http.server
import json
import socketserver
import threading
from dataclasses import dataclass
from typing import Any, Iterator

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from standins.rancher.client import ApiAnswer, RancherStandin

FAST = {"step_delay": 0.01, "retry_wait": 0.05, "event_interval": 0.05, "metadata_poll": 0.02,
        "host_failure_delay": 0.05}
IMAGE = "docker:rancher/lb-service-haproxy:v0.9.14"


class Rancher(RancherStandin):
    """The stand-in with the steps that most tests need."""

    def stack(self, name: str = "kubernetes-ingress-lbs") -> str:
        found = [s["id"] for s in self.rows("stack") if s["name"] == name]
        if found:
            return found[0]
        answer = self.api("POST", "stacks", {"name": name, "externalId": f"{name}://"})
        assert answer.status == 201, answer.text
        self.settle()
        return answer.json["id"]

    def target(self, name: str = "web", pods: list[Any] | None = None) -> str:
        """An active kubernetesService with UID uid-<name>; its id."""
        row = self.control("set-service", uid=f"uid-{name}", name=name, at_once=True)
        if pods is not None:
            self.control("set-pods", uid=f"uid-{name}", pods=pods)
        return row["id"]

    def make(self, name: str, rules: list[dict[str, Any]] | None = None, ports: list[str] | None = None,
             labels: dict[str, str] | None = None, lb: dict[str, Any] | None = None,
             settle: bool = True, **fields: Any) -> ApiAnswer:
        """Create a balancer with startOnCreate, and wait until it rests."""
        body = {"name": name, "stackId": self.stack(), "startOnCreate": True,
                "launchConfig": {"imageUuid": IMAGE, "ports": ports if ports is not None else ["80:80"],
                                 "labels": labels or {}},
                "lbConfig": {"portRules": rules or [], **(lb or {})}, **fields}
        answer = self.api("POST", "loadbalancerservices", body)
        if settle and answer.status == 201:
            self.settle()
        return answer

    def get(self, row_id: str, kind: str = "loadbalancerservices") -> dict[str, Any]:
        answer = self.api("GET", f"{kind}/{row_id}")
        assert answer.status == 200, answer.text
        return answer.json

    def put(self, row_id: str, body: dict[str, Any], kind: str = "loadbalancerservices") -> ApiAnswer:
        return self.api("PUT", f"{kind}/{row_id}", body)


def rule(service_id: str, port: int = 80, target: int = 8080, **more: Any) -> dict[str, Any]:
    return {"sourcePort": port, "serviceId": service_id, "targetPort": target, "protocol": "http", **more}


@pytest.fixture
def rancher() -> Iterator[Rancher]:
    """No data plane: the API alone."""
    with Rancher(dataplane=False, settings=FAST) as standin:
        yield standin


@pytest.fixture
def live() -> Iterator[Rancher]:
    """With real load balancers."""
    with Rancher(settings=FAST) as standin:
        yield standin


@dataclass
class Backend:
    """An HTTP server that answers with its name and what it was asked."""

    name: str
    address: str
    number: int

    @property
    def pod(self) -> dict[str, Any]:
        """A pod with an address of its own, whose port 8080 is really somewhere else."""
        return {"ip": f"10.42.0.{self.number}", "ports": {"8080": self.address}}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self) -> None:
        body = json.dumps({"backend": self.server.name, "path": self.path,
                           "headers": {k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return None


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256


@pytest.fixture
def backend() -> Iterator[Any]:
    """A function that starts a backend: `backend("a")`."""
    servers: list[_Server] = []

    def start(name: str) -> Backend:
        server = _Server(("127.0.0.1", 0), _Handler)
        server.name = name
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return Backend(name, f"127.0.0.1:{server.server_address[1]}", len(servers))

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@dataclass
class Pair:
    cert: str
    key: str


def make_pair(*names: str, kind: str = "rsa", serial: int | None = None) -> Pair:
    """A self-signed certificate for the names, and its key."""
    key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    start = datetime.datetime(2024, 1, 2, 3, 4, 5)
    certificate = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(start).not_valid_after(start + datetime.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), critical=False)
        .sign(key, hashes.SHA256()))
    return Pair(certificate.public_bytes(serialization.Encoding.PEM).decode(),
                key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
                                  serialization.NoEncryption()).decode())


@pytest.fixture(scope="session")
def foo_pair() -> Pair:
    return make_pair("foo.bar.com", serial=1234567)


@pytest.fixture(scope="session")
def other_pair() -> Pair:
    return make_pair("other.example.com", kind="ec")
