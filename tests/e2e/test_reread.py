# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: the files that options name are read again while everything goes on; see tests/watcher/test_reread.py for the watcher's."""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
from typing import Any

import pytest

from lib.backend import Backend
from lib.certs import Authority, Pair, self_signed
from lib.daemon import Daemon
from lib.elb_bench import ElbBench
from lib.forwarder import Forwarder
from lib.line import build_folder
from lib.local_proxy import certificate, host, pool
from lib.provider_bench import Bench
from lib.provider_link import simple
from lib.proxies import PROXIES, proxy_class
from lib.traffic import Traffic
from lib.wait import wait_for

OF_FILTERS = {"manifests", "documents", "records", "places", "hello", "reports"}  # files of a program that ends when it has read them
PROGRAMS = ["watcher/sluice-watcher", "translator/sluice-translator",
            *(f"provider-{name}/sluice-provider-{name}" for name in ("rancher", "elb", "haproxy", "nginx"))]


class TlsGate(Forwarder, contextlib.AbstractContextManager):
    """TLS before a plain server; what it shows may be changed for all clients that have not yet begun to speak. Use it as a context
    manager. `clients` are the common names that were shown, oldest first; "" for nobody."""

    def __init__(self, port: int, pair: Pair, clients_of: bytes):
        self.clients_of = clients_of
        self.clients: list[str] = []
        self._open: list[socket.socket] = []
        self.show(pair)
        super().__init__(port)

    def show(self, pair: Pair) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pair.load_into(context)
        context.load_verify_locations(cadata=self.clients_of.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        context.sni_callback = self._choose
        self.context = context

    def _choose(self, tls: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
        """What is shown when the client has spoken, not when its connection was accepted: by then its side may trust others."""
        tls.context = self.context

    def opened(self, near: socket.socket) -> socket.socket:
        tls = self.context.wrap_socket(near, server_side=True)
        shown = dict(pair[0] for pair in (tls.getpeercert() or {}).get("subject", ()))
        self.clients.append(shown.get("commonName", ""))
        self._open.append(tls)
        return tls

    def drop(self) -> None:
        """Ends all connections."""
        for tls in self._open:
            with contextlib.suppress(OSError):
                tls.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def __exit__(self, *_: object) -> None:
        self.stop()


def hang_up(daemon: Daemon, event: str | None = None, *words: str) -> None:
    """SIGHUP; waits for the line that it leads to."""
    since = len(daemon.lines)
    os.kill(daemon.pid, signal.SIGHUP)
    daemon.wait_event("hangup", since=since)
    if event:
        line = daemon.wait_event(event, since=since)
        assert all(word in line for word in words), line


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_says_of_every_file_when_it_is_read(program):
    text = subprocess.run([build_folder() / program, "--help=markdown"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| `--([\w-]+) FILE[^`]*` \|[^|]*\| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| `--[\w-]+ FILE", text, re.MULTILINE))
    meanings = dict(rows)
    for name, meaning in ((name, meaning) for name, meaning in rows if name not in OF_FILTERS):
        other = re.search(r"[Rr]ead again as --([\w-]+)", meaning)
        assert "on SIGHUP" in (meanings[other[1]] if other else meaning), name


def test_the_translator_has_nothing_to_read_and_goes_on(tmp_path):
    translator = Daemon(build_folder() / "translator/sluice-translator", ["--runtime-dir", str(tmp_path)], tmp_path / "log").start()
    try:
        translator.wait_event("started")
        hang_up(translator)
        hang_up(translator)
        assert translator.is_running()
    finally:
        assert translator.stop() == 0


# Rancher's keys and TLS

def wants(bench: Bench, name: str) -> None:
    """Another load balancer is made: requests succeed."""
    bench.translator.put(*simple(name, f"{name}.bar.com", service="web"))
    bench.wait_lb(f"default-rancherlb-{name}")


@pytest.fixture
def gate(tmp_path):
    """provider-rancher, with its keys in files, before a Rancher behind TLS that it has to show something to."""
    ours, clients = Authority("ours"), Authority("clients")
    files = {name: tmp_path / name for name in ("access", "secret", "ca.pem", "cert.pem", "key.pem")}
    me = clients.sign("first")
    with Bench(start=False) as bench:
        bench.services("web")
        for name, content in (("access", bench.rancher.access_key.encode()), ("secret", bench.rancher.secret_key.encode()),
                              ("ca.pem", ours.pem), ("cert.pem", me.pem), ("key.pem", me.key)):
            files[name].write_bytes(content)
        with TlsGate(int(bench.rancher.url.split(":")[2].split("/")[0]), ours.sign("rancher.test"), clients.pem) as running:
            environment = bench.provider.environment
            environment["CATTLE_URL"] = f"https://127.0.0.1:{running.port}/v2-beta"
            del environment["CATTLE_ACCESS_KEY"], environment["CATTLE_SECRET_KEY"]
            bench.provider.arguments += ["--access-key-file", str(files["access"]), "--secret-key-file", str(files["secret"]),
                                         "--ca-file", str(files["ca.pem"]), "--client-cert-file", str(files["cert.pem"]),
                                         "--client-key-file", str(files["key.pem"]), "--tls-server-name", "rancher.test"]
            bench.start()
            wants(bench, "web")
            yield bench, running, files, clients
            bench.provider.stop()


@pytest.mark.parametrize("name,broken,event", [
    ("access", b"", "keys-unreadable"), ("secret", b"", "keys-unreadable"),
    ("ca.pem", b"-----BEGIN CERTIFICATE-----\nMIIB", "tls-unreadable"), ("ca.pem", b"", "tls-unreadable"),
    ("cert.pem", b"words", "tls-unreadable"), ("key.pem", self_signed("other").key, "tls-unreadable")],
    ids=["no-access-key", "no-secret-key", "half-a-ca", "no-ca", "no-certificate", "key-of-another"])
def test_a_broken_file_is_named_and_the_old_content_stays(gate, name, broken, event):
    bench, _, files, _ = gate
    since = len(bench.provider.lines)
    files[name].write_bytes(broken)
    hang_up(bench.provider, event, str(files[name]))
    wants(bench, "second")
    assert not [line for line in bench.provider.lines[since:] if "event=rancher-outage" in line or "event=feed-down" in line]


def test_new_keys_and_certificates_are_in_use_and_nothing_is_cut(gate):
    bench, gate_, files, clients = gate
    since = len(bench.provider.lines)
    theirs, me = Authority("theirs"), clients.sign("second")
    # As one renews: both CAs are trusted while the server changes its certificate, since requests may be on their way at any time.
    files["ca.pem"].write_bytes(files["ca.pem"].read_bytes() + theirs.pem)
    files["cert.pem"].write_bytes(me.pem)
    files["key.pem"].write_bytes(me.key)
    hang_up(bench.provider, "tls-changed")
    gate_.show(theirs.sign("rancher.test"))
    files["ca.pem"].write_bytes(theirs.pem)
    hang_up(bench.provider, "tls-changed")
    wants(bench, "second")
    assert gate_.clients[0] == "first" and gate_.clients[-1] == "second"
    assert not [line for line in bench.provider.lines[since:] if "event=rancher-outage" in line or "event=feed-down" in line]
    files["access"].write_text("another")
    hang_up(bench.provider, "keys-changed")
    bench.provider.wait_event("rancher-outage", since=since)
    files["access"].write_text(bench.rancher.access_key)
    hang_up(bench.provider, "keys-changed")
    wants(bench, "third")


# The authorities of AWS's endpoints

@pytest.fixture
def aws(tmp_path):
    """provider-elb before an AWS behind TLS, whose authority is in a file; the address that the VPC's pods have is nobody's."""
    ours = Authority("ours")
    file = tmp_path / "ca.pem"
    file.write_bytes(ours.pem)
    with ElbBench(start=False, arguments=["--ca-file", str(file)]) as bench:
        with TlsGate(int(bench.aws.url.rpartition(":")[2]), ours.sign("localhost"), ours.pem) as running:
            bench.provider.environment["AWS_ENDPOINT_URL"] = f"https://localhost:{running.port}"
            bench.start()
            has_balancer(bench, "web")
            yield bench, running, file
            bench.provider.stop()


def has_balancer(bench: ElbBench, name: str) -> None:
    """Another load balancer is made: calls succeed."""
    bench.translator.put(*simple(name, f"{name}.bar.com"))
    bench.settle(f"default/{name}")


def outages(bench: ElbBench, since: int) -> list[str]:
    return [line for line in bench.provider.lines[since:] if "event=aws-outage " in line]


@pytest.mark.parametrize("broken", [b"", b"words", b"-----BEGIN CERTIFICATE-----\nMIIB"], ids=["empty", "words", "half"])
def test_broken_authorities_of_aws_are_named_and_the_old_ones_stay(aws, broken):
    bench, _, file = aws
    since = len(bench.provider.lines)
    file.write_bytes(broken)
    hang_up(bench.provider, "authorities-unreadable", str(file))
    has_balancer(bench, "second")
    assert not outages(bench, since)


def test_other_authorities_of_aws_are_in_use_and_nothing_is_cut(aws):
    bench, gate_, file = aws
    since = len(bench.provider.lines)
    theirs = Authority("theirs")
    file.write_bytes(file.read_bytes() + theirs.pem)
    hang_up(bench.provider, "authorities-changed")
    gate_.show(theirs.sign("localhost"))
    file.write_bytes(theirs.pem)
    hang_up(bench.provider, "authorities-changed")
    has_balancer(bench, "second")
    assert not outages(bench, since)
    # The same content again is no news.
    hang_up(bench.provider)
    has_balancer(bench, "third")
    assert sum("event=authorities-changed" in line for line in bench.provider.lines) == 2


def test_authorities_of_aws_are_read_again_when_no_call_succeeds(aws):
    """Nobody has sent a signal."""
    bench, gate_, file = aws
    theirs = Authority("theirs")
    file.write_bytes(theirs.pem)
    gate_.show(theirs.sign("localhost"))
    gate_.drop()
    since = len(bench.provider.lines)
    has_balancer(bench, "second")
    bench.provider.wait_event("authorities-changed", since=since)


# Proxies

class Trusting:
    """A proxy, and one backend behind TLS by the authority in a file of the administrator's."""

    def __init__(self, name: str, folder: pathlib.Path):
        self.ours, self.theirs = Authority("ours"), Authority("theirs")
        self.file = folder / "trusted.pem"
        self.file.write_bytes(self.ours.pem)
        self.backends = {one: Backend(one, tls=by.sign("s.internal")) for one, by in (("ours", self.ours), ("theirs", self.theirs))}
        self.proxy: Any = proxy_class(name)(arguments=["--trusted-certificates", str(self.file)])

    def __enter__(self) -> "Trusting":
        self.proxy.__enter__()
        plain = self.backends["plain"] = Backend("plain")
        tls = {"protocol": "https", "tls": {"verify": "system", "server_name": "s.internal"}}
        self.proxy.apply(certificate("default", self_signed("default.test")), pool("plain", plain), host("plain.test", ("/", "plain")),
                         *(pool(name, self.backends[name], **tls) for name in ("ours", "theirs")),
                         *(host(f"{name}.test", ("/", name)) for name in ("ours", "theirs")),
                         self.proxy.balancer(https=True, default_certificate="default"))
        return self

    def __exit__(self, *problem: Any) -> None:
        self.proxy.__exit__(*(problem or (None,)))
        for backend in self.backends.values():
            backend.stop()

    def trusted(self) -> set[str]:
        return {name for name in ("ours", "theirs") if self.proxy.reached(f"{name}.test") == name}


@pytest.fixture(params=PROXIES)
def trusting(request, tmp_path):
    with Trusting(request.param, tmp_path) as running:
        yield running


def loads(proxy) -> int:
    """How often the provider has had a configuration loaded; its workers come and go for some time after that."""
    return sum("event=reload " in line or "event=configuration-installed" in line for line in proxy.provider.lines)


def test_trusted_certificates_are_loaded_without_losing_a_connection(trusting):
    proxy = trusting.proxy
    wait_for(lambda: trusting.trusted() == {"ours"}, "ours to be trusted")
    workers = proxy.workers()
    with Traffic(proxy.address, proxy.http, "plain.test", "/") as traffic:
        trusting.file.write_bytes(trusting.theirs.pem)
        hang_up(proxy.provider)
        wait_for(lambda: trusting.trusted() == {"theirs"}, "theirs to be trusted instead")
        assert proxy.was_reloaded_since(workers)
    assert traffic.failures == [] and traffic.good > 0
    # The same content again is no reason to load anything.
    before = loads(proxy)
    hang_up(proxy.provider)
    proxy.apply(host("more.test", ("/", "plain")))
    assert loads(proxy) == before


@pytest.mark.parametrize("broken", [b"", b"words", b"-----BEGIN CERTIFICATE-----\nMIIB"], ids=["empty", "words", "half"])
def test_a_broken_file_of_trusted_certificates_is_named_and_not_loaded(trusting, broken):
    proxy = trusting.proxy
    wait_for(lambda: trusting.trusted() == {"ours"}, "ours to be trusted")
    before = loads(proxy)
    trusting.file.write_bytes(broken)
    hang_up(proxy.provider, "trusted-unreadable", str(trusting.file))
    proxy.apply(host("more.test", ("/", "plain")))
    assert trusting.trusted() == {"ours"} and loads(proxy) == before
