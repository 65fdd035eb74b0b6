# SPDX-License-Identifier: Apache-2.0
"""What `sluicectl explain URL` says of a request is what the request gets: each question is asked twice, of sluicectl and of the proxy."""
from __future__ import annotations

import itertools
import ssl

import pytest

from lib.certs import self_signed
from lib.ctl import Ctl
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

HTTPS_ONLY = {"allow.http": "false"}
HOSTS = ["web.test", "own.web.test", "else.web.test", "deep.else.web.test",
         "both.test", "locked.test", "own.locked.test", "else.locked.test", "nobody.test", "bare.test"]
PATHS = ["/", "/exact", "/own/deeper", "/ownership", "/missing/x"]
FEW_HOSTS = ["web.test", "own.web.test", "else.locked.test", "bare.test"]
FEW_PATHS = ["/", "/own/deeper"]


@pytest.fixture(params=PROXIES)
def line(request):
    with ProxyLine(request.param) as running:
        yield running


def deploy(line, pods, service: str) -> None:
    line.cluster.apply(line.cluster.service(service), line.cluster.slice(service, [pods(service).ip]))


def ingress(line, name: str, host: str, *paths: tuple[str, str, str], **more):
    return line.cluster.ingress(name, [{"host": host, "paths": [(*path, 80) for path in paths]}], **more)


def tls(*hosts: str) -> list[dict]:
    return [{"hosts": list(hosts), "secretName": "pair"}]


def settled(ctl: Ctl, url: str) -> dict:
    """The explanation, once the load balancer that it is about is no longer changing."""
    def ask() -> dict | None:
        answer = ctl.json("explain", url)
        return None if any(problem["reason"] == "LoadBalancerPending" for problem in answer.get("problems", [])) else answer
    return wait_for(ask, f"the load balancer to have what {url} needs", PATIENCE)


def told(ctl: Ctl, url: str) -> str | int:
    """As LocalProxy.reached() says it; "refused": the connection is of no use."""
    answer = settled(ctl, url)
    problems = [problem["reason"] for problem in answer.get("problems", [])]
    if not answer.get("name"):
        assert problems and not answer.get("routes"), answer
        return {"NoRoute": 404, "HTTPNotAllowed": 404, "NoCertificate": "refused", "NoListener": "refused"}[problems[0]]
    [route] = answer["routes"]
    assert not problems and route.get("served", False) == (not route.get("reason")), answer
    return route["service"].removeprefix("default/") if route.get("served") else 503


def got(line, pair, scheme: str, host: str, path: str) -> str | int:
    try:
        answer = line.proxy.request(host, path, tls=scheme == "https")
    except (ssl.SSLError, ConnectionError):
        return "refused"
    if answer.certificate not in (None, pair.der):
        return "refused"  # by the client: nobody trusts nginx's placeholder
    return answer.json["name"] if answer.status == 200 else answer.status


def compare(line, ctl: Ctl, pair, hosts: list[str], paths: list[str]) -> dict[tuple[str, str, str], str | int]:
    ports = {"http": line.proxy.http, "https": line.proxy.https}
    explained = {(scheme, host, path): told(ctl, f"{scheme}://{host}:{ports[scheme]}{path}?a=b")
                 for scheme, host, path in itertools.product(ports, hosts, paths)}
    answers = {key: got(line, pair, *key) for key in explained}
    assert explained == answers, {key: (explained[key], answer) for key, answer in answers.items() if explained[key] != answer}
    return answers


def test_explain_says_what_a_request_gets(line, pods):
    ctl, cluster = Ctl(line), line.cluster
    for service in ("wild", "own", "exact", "locked", "open", "default"):
        deploy(line, pods, service)
    cluster.apply(
        ingress(line, "wild", "*.web.test", ("/", "Prefix", "wild")),
        # An exact host takes all requests of its name, whether it has a path for them or not.
        ingress(line, "own", "own.web.test", ("/own", "Prefix", "own"), ("/exact", "Exact", "exact"), ("/missing", "Prefix", "none")),
        # Some paths of a host are for TLS only, others are not; so are a wildcard, and a host that has no certificate.
        ingress(line, "both", "both.test", ("/", "Prefix", "open"), tls=tls("both.test")),
        ingress(line, "both-locked", "both.test", ("/own", "Prefix", "locked"), annotations=HTTPS_ONLY),
        ingress(line, "locked", "*.locked.test", ("/", "Prefix", "locked"), annotations=HTTPS_ONLY, tls=tls("*.locked.test")),
        ingress(line, "own-locked", "own.locked.test", ("/own", "Prefix", "own")),
        ingress(line, "bare", "bare.test", ("/", "Prefix", "locked"), annotations=HTTPS_ONLY))
    assert told(ctl, f"https://web.test:{line.proxy.https}/") == "refused"
    pair = self_signed("both.test", "*.locked.test")
    cluster.apply(cluster.tls_secret("pair", pair.pem, pair.key))
    line.wait_serves("both.test", "/own", "locked", tls=True)
    line.wait_serves("else.locked.test", "/", "locked", tls=True)
    line.wait_serves("own.locked.test", "/own", "own")
    line.wait_serves("own.web.test", "/own", "own")
    line.wait_serves("own.web.test", "/exact", "exact")
    line.wait_serves("else.web.test", "/", "wild")
    answers = compare(line, ctl, pair, HOSTS, PATHS)
    # The matrix has every kind of answer.
    for key, answer in {("http", "own.web.test", "/"): 404, ("http", "own.web.test", "/missing/x"): 503, ("http", "else.web.test", "/ownership"): "wild",
                        ("http", "both.test", "/own/deeper"): "open", ("https", "both.test", "/own/deeper"): "locked", ("http", "else.locked.test", "/"): 404,
                        ("https", "else.locked.test", "/"): "locked", ("https", "own.locked.test", "/"): 404, ("http", "bare.test", "/"): 404,
                        ("https", "bare.test", "/"): "refused", ("http", "nobody.test", "/"): 404, ("http", "deep.else.web.test", "/"): 404}.items():
        assert answers[key] == answer, key
    # A default backend takes what no route does, in plain HTTP even that of hosts that are for TLS only.
    cluster.apply(cluster.ingress("default", defaultBackend={"service": {"name": "default", "port": {"number": 80}}}))
    line.wait_serves("nobody.test", "/", "default")
    assert compare(line, ctl, pair, FEW_HOSTS, FEW_PATHS)["http", "bare.test", "/"] == "default"
    cluster.apply(cluster.ingress("any", [{"paths": [("/own", "Prefix", "own", 80)]}]))
    line.wait_serves("nobody.test", "/own", "own")
    # Rules without a host are for hosts that have none.
    assert compare(line, ctl, pair, FEW_HOSTS, FEW_PATHS)["http", "web.test", "/own/deeper"] == "own"


def test_what_is_no_request_is_refused(line):
    ctl = Ctl(line)
    for url in ("http://", "ftp://web.test/", "http://web.test:0/", "http://web.test:65536", "http://[::1]x/", "https://:443/"):
        done = ctl("explain", url)
        assert done.returncode != 0 and done.stdout == "" and done.stderr.startswith("sluicectl: "), (url, done)
    done = ctl("explain", f"nobody.test:{line.proxy.http}")
    assert done.returncode == 1 and ("NoListener" in done.stdout or "NoRoute" in done.stdout), done
