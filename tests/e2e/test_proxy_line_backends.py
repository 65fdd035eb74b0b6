# SPDX-License-Identifier: Apache-2.0
"""What a user says of his backends with kubectl, and what each local proxy then does: TLS that is checked, gRPC in it, host names outside."""
from __future__ import annotations

import contextlib

import pytest

from lib.backend import LOOPBACK, Backend, H2Backend
from lib.certs import Authority
from lib.dns_server import DnsServer
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for


@pytest.fixture(scope="module")
def names():
    with DnsServer() as server:
        yield server


@pytest.fixture(params=PROXIES)
def line(request, names):
    allow = ["--dns-server", names.address, *LOOPBACK]
    with ProxyLine(request.param, translator=["--allow-external-name"], provider=allow) as running:
        yield running


def deploy(line, pod, app_protocol: str | None = None) -> None:
    service = line.cluster.service(pod.name)
    if app_protocol:
        service["spec"]["ports"][0]["appProtocol"] = app_protocol
    line.cluster.apply(service, line.cluster.slice(pod.name, [pod.ip]))


def ingress(line, name: str, service: str, **annotations: str):
    """An Ingress for NAME.test; annotations without the part before the slash, `_` for `-` and `__` for `.`."""
    keys = {f"sluice.io/{key.replace('__', '.').replace('_', '-')}": value for key, value in annotations.items()}
    return line.cluster.ingress(name, [{"host": f"{name}.test", "paths": [("/", "Prefix", service, 80)]}], annotations=keys)


def wait_unserved(line, host: str) -> None:
    def is_refused() -> bool:
        with contextlib.suppress(OSError):
            return line.proxy.reached(host) in (502, 503)
        return False
    wait_for(is_refused, f"{host} to be refused", PATIENCE)


def test_tls_to_backends_is_checked_by_what_the_ingress_names(line, pods):
    ours, theirs = Authority("ours"), Authority("theirs")
    pod = pods("web", tls=ours.sign("web.default.svc"), clients_of=theirs.pem)
    me = theirs.sign("me")
    deploy(line, pod, "https")
    line.cluster.apply(ingress(line, "a", "web"))
    line.cluster.wait_event("a", "BackendTLSRefused", "nothing says whom to trust", PATIENCE)
    wait_unserved(line, "a.test")
    line.cluster.apply(ingress(line, "a", "web", backend_tls__ca="mine", backend_tls__client_certificate="mine"))
    line.cluster.wait_event("a", "BackendTLSRefused", "there is no TLS Secret", PATIENCE)
    line.cluster.apply(line.cluster.tls_secret("mine", me.pem, me.key, ours.pem))
    line.wait_serves("a.test", "/", "web")
    assert pod.server_names[-1] == "web.default.svc"
    # Who signs the Secret anew decides anew.
    line.cluster.apply(line.cluster.tls_secret("mine", me.pem, me.key, theirs.pem))
    wait_unserved(line, "a.test")
    line.cluster.apply(line.cluster.tls_secret("mine", me.pem, me.key, ours.pem))
    line.wait_serves("a.test", "/", "web")
    line.cluster.apply(ingress(line, "a", "web", backend_tls__verify="false", backend_tls__client_certificate="mine"))
    wait_for(lambda: line.proxy.reached("a.test") == "web" and pod.server_names[-1] == "a.test", "an unchecked connection", PATIENCE)


def test_grpc_within_tls(line, pods):
    ours = Authority("ours")
    pod = pods("grpc", H2Backend, tls=ours.sign("grpc.internal"))
    deploy(line, pod)
    line.cluster.apply(line.cluster.tls_secret("ca", b"", b"", ours.pem),
                       ingress(line, "g", "grpc", backend_protocol="grpcs", backend_tls__ca="ca", backend_tls__name="grpc.internal"))
    line.wait_serves("g.test", "/x", "grpc")
    assert line.proxy.request("g.test").json["version"] == "HTTP/2"


def test_a_service_that_is_a_host_name(line, pods, names):
    old, new = pods("old"), pods("new")
    names.put("shop.example", old.ip, ttl=1)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "namespace": "default"},
               "spec": {"type": "ExternalName", "externalName": "shop.example", "ports": [{"port": 80, "targetPort": 8080}]}}
    line.cluster.apply(service, ingress(line, "a", "shop"))
    line.wait_serves("a.test", "/", "old")
    names.put("shop.example", new.ip, ttl=1)
    line.wait_serves("a.test", "/", "new")
    names.remove("shop.example")
    wait_unserved(line, "a.test")
    line.cluster.wait_event("a", "ExternalNameUnresolved", "there is no such name", PATIENCE)
