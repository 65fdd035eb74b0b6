# SPDX-License-Identifier: Apache-2.0
"""Hosts outside the cluster that annotations name (--egress-hosts): asked where the administrator allows it, and never where nobody may be sent."""
from __future__ import annotations

import subprocess
from typing import Any, Iterator

import pytest

from lib.backend import LOOPBACK
from lib.certs import Authority, self_signed
from lib.dns_server import DnsServer
from lib.line import DAEMONS, build_folder
from lib.local_proxy import PATIENCE
from lib.others import Other
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

NGINX = "nginx.ingress.kubernetes.io/"
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}
HOSTS = ["--egress-hosts", "auth.example.com", "--egress-hosts", "*.corp.example"]


@pytest.fixture(scope="module", name="names")
def fixture_names() -> Iterator[DnsServer]:
    with DnsServer() as server:
        yield server


@pytest.fixture(scope="module", name="authority")
def fixture_authority() -> Authority:
    return Authority("outside")


@pytest.fixture(scope="module", params=PROXIES, name="line")
def fixture_line(request, names, authority, tmp_path_factory) -> Iterator[ProxyLine]:
    trusted = tmp_path_factory.mktemp("trusted") / "ca.pem"
    trusted.write_bytes(authority.pem)
    with ProxyLine(request.param, translator=["--ingress-nginx", *HOSTS],
                   provider=["--dns-server", names.address, "--trusted-certificates", str(trusted), "--refuse-egress", "127.66.6.0/24", *LOOPBACK]) as line:
        line.cluster.apply(CLASS)
        put(line, "stays", {})  # without any Ingress nobody listens
        yield line


def put(line: ProxyLine, name: str, annotations: dict[str, str], ours: bool = False) -> None:
    spec = {} if ours else {"ingressClassName": "nginx"}
    line.cluster.apply(line.cluster.ingress(name, [{"host": f"{name}.test", "paths": [("/", "Prefix", "web", 80)]}],
                                            {key if ours else NGINX + key: value for key, value in annotations.items()}, **spec))


def web(line: ProxyLine, pods: Any) -> None:
    line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [pods("web").ip]))


@pytest.mark.parametrize("ours", [False, True], ids=["ingress-nginx", "sluice"])
def test_a_host_outside_says_what_may_pass(line, pods, names, ours):
    name = "own" if ours else "asked"
    web(line, pods)
    with Other("outside") as auth:
        names.put("auth.example.com", auth.ip, ttl=1)
        url = f"http://auth.example.com:{auth.port}/check"
        put(line, name, {"sluice.io/external-auth" if ours else "auth-url": url}, ours)
        line.wait_serves(f"{name}.test", "/x", "web")
        assert auth.questions[-1].one("host") == "auth.example.com" and auth.questions[-1].target == "/check"
        auth.status = 403
        wait_for(lambda: line.proxy.request(f"{name}.test").status == 403, "a refusal", PATIENCE)
        auth.status = 200
        for victim in DAEMONS if not ours else ():
            line.daemon(victim).kill()
            assert line.proxy.request(f"{name}.test").status == 200
            line.daemon(victim).start()
        # Its name may lead elsewhere under way.
        with Other("moved") as moved:
            if moved.port == auth.port:
                names.put("auth.example.com", moved.ip, ttl=1)
                wait_for(lambda: line.proxy.request(f"{name}.test").status == 200 and len(moved.questions) > 0, "the new address to be asked", PATIENCE)
    line.cluster.delete("ingress", name)


def test_it_has_to_prove_that_it_is_it(line, pods, names, authority):
    """The original believed whoever answered."""
    web(line, pods)
    with Other("right", tls=authority.sign("sso.corp.example")) as right, Other("wrong", tls=self_signed("sso.corp.example")) as wrong:
        names.put("sso.corp.example", wrong.ip, ttl=1)
        put(line, "tls", {"auth-url": f"https://sso.corp.example:{wrong.port}/check"})
        line.proxy.wait_answers("tls.test", status=500)
        assert not wrong.questions
        names.put("sso.corp.example", right.ip, ttl=1)
        line.wait_serves("tls.test", "/", "web")
        assert right.questions[-1].one("host") == "sso.corp.example"
    line.cluster.delete("ingress", "tls")


def test_copies_go_there_too(line, pods, names):
    web(line, pods)
    with Other("copies") as copies:
        names.put("copies.corp.example", copies.ip, ttl=60)
        put(line, "copied", {"mirror-target": f"http://copies.corp.example:{copies.port}/copy"})
        line.wait_serves("copied.test", "/", "web")
        wait_for(lambda: line.proxy.reached("copied.test") == "web" and len(copies.questions) > 0, "a copy", PATIENCE)
    line.cluster.delete("ingress", "copied")


@pytest.mark.parametrize("url", ["http://other.example.com/", "http://corp.example/", "http://x.auth.example.com/", "http://169.254.169.254/latest/meta-data", "http://127.0.0.1:10241/",
                                 "http://localhost:10241/", "http://[::1]/", "http://auth.example.com.evil.test/", "http://auth.example.com@evil.test/"])
def test_nobody_else_is_asked(line, pods, url):
    """The rule is closed, and its owner hears of the option."""
    web(line, pods)
    put(line, "closed", {"auth-url": url})
    line.proxy.wait_answers("closed.test", status=503)
    line.cluster.wait_event("closed", "InvalidAnnotation", "auth-url")
    line.cluster.delete("ingress", "closed")
    line.proxy.wait_answers("closed.test", status=404)


def test_the_option_is_named(line, pods):
    web(line, pods)
    put(line, "told", {"auth-url": "https://login.elsewhere.test/check"})
    line.cluster.wait_event("told", "InvalidAnnotation", "--egress-hosts")
    line.cluster.delete("ingress", "told")


def test_an_allowed_name_that_leads_where_nobody_may_be_sent(line, pods, names):
    """As for endpoints: by the address that the name has now."""
    web(line, pods)
    names.put("auth.example.com", "127.66.6.6", ttl=1)
    put(line, "trick", {"auth-url": "http://auth.example.com/check"})
    line.proxy.wait_answers("trick.test", status=500)
    line.cluster.wait_event("trick", "EndpointRefused", "host auth.example.com")
    line.cluster.delete("ingress", "trick")


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1", "fe80::1", "::ffff:169.254.169.254", "0.0.0.0"])
@pytest.mark.parametrize("name", PROXIES)
def test_the_built_in_networks(name, address, pods, names):
    names.put("auth.example.com", address, ttl=60)
    with ProxyLine(name, translator=["--ingress-nginx", *HOSTS], provider=["--dns-server", names.address, "--allow-egress", "127.64.0.0/10"]) as line:
        line.cluster.apply(CLASS)
        web(line, pods)
        put(line, "trick", {"auth-url": "http://auth.example.com/check"})
        line.cluster.wait_event("trick", "EndpointRefused", "host auth.example.com")
        line.proxy.wait_answers("trick.test", status=500)


@pytest.mark.parametrize("given", ["*", "Auth.Example.com", "10.0.0.1", "localhost", "*.com", "auth"])
def test_what_makes_no_sense_is_refused_at_the_start(given, tmp_path):
    done = subprocess.run([build_folder() / "translator/sluice-translator", "--runtime-dir", tmp_path, "--egress-hosts", given], capture_output=True, timeout=30, check=False)
    assert done.returncode == 2 and b"--egress-hosts" in done.stderr
