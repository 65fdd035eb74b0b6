# SPDX-License-Identifier: Apache-2.0
"""Certificates of clients as Ingresses ask for them, through the whole line: those of ingress-nginx and our own words."""
from __future__ import annotations

import contextlib
import ssl
from typing import Any, Callable, Iterator

import pytest

from lib.answer import Answer
from lib.certs import Authority, Pair, self_signed
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.raw_http import client_context, dial, read_answer
from lib.wait import wait_for

CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}
USUAL, OTHER_PREFIX = "nginx.ingress.kubernetes.io", "acme.example.com"
GOOD, FOREIGN = Authority("good"), Authority("foreign")
CLIENT, REVOKED, STRANGER = GOOD.sign("good.client"), GOOD.sign("bad.client"), FOREIGN.sign("stranger")
BETWEEN = Authority("between", GOOD)
DEEP = BETWEEN.sign("deep.client")
DEEP = Pair(DEEP.pem + BETWEEN.pem, DEEP.key, DEEP.der)
SERVER = self_signed("a.test")


def authorities(name: str, *, kind: str = "Opaque", **keys: bytes) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name, "namespace": "default"},
            "stringData": {key.replace("_", "."): value.decode() for key, value in keys.items()}}


@pytest.fixture(scope="module", name="lines", params=PROXIES)
def fixture_lines(request) -> Iterator[Callable[[str], ProxyLine]]:
    """A line for each prefix, made when it is needed."""
    made: dict[str, ProxyLine] = {}
    with contextlib.ExitStack() as stack:
        def get(prefix: str) -> ProxyLine:
            if prefix not in made:
                made[prefix] = stack.enter_context(line_with(request.param, prefix))
            return made[prefix]
        yield get


@contextlib.contextmanager
def line_with(proxy: str, prefix: str) -> Iterator[ProxyLine]:
    option = [] if prefix == USUAL else ["--ingress-nginx-prefix", prefix]
    with ProxyLine(proxy, translator=["--ingress-nginx", *option], watcher=option) as line:
        line.cluster.apply(CLASS, line.cluster.tls_secret("server", SERVER.pem, SERVER.key), authorities("ca", ca_crt=GOOD.pem))
        yield line


def ingress(line: ProxyLine, name: str, annotations: dict[str, str], host: str | None = None, path: str = "/") -> dict[str, Any]:
    host = host or f"{name}.test"
    made = line.cluster.ingress(name, [{"host": host, "paths": [(path, "Prefix", "web", 80)]}], annotations)
    made["spec"] |= {"ingressClassName": "nginx", "tls": [{"hosts": [host], "secretName": "server"}]}
    return made


def ask(line: ProxyLine, host: str, pair: Pair | None, path: str = "/", sni: str | None = None) -> Answer:
    context = client_context()
    if pair is not None:
        pair.load_into(context)
    with contextlib.closing(dial(line.proxy.address, line.proxy.https)) as plain, context.wrap_socket(plain, server_hostname=sni or host) as link:
        link.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nssl-client-cert: x\r\n\r\n".encode())
        return read_answer(link)


def told(answer: Answer) -> dict[str, str]:
    """What the backend hears of the certificate."""
    return {name.lower(): value for name, value in answer.json["headers"] if name.lower().startswith("ssl-")} if answer.status == 200 else {}


def shows(line: ProxyLine, host: str, pair: Pair | None, status: int, path: str = "/") -> bool:
    try:
        return ask(line, host, pair, path).status == status
    except (OSError, ssl.SSLError):
        return False


@pytest.fixture(name="line")
def fixture_line(lines, pods) -> ProxyLine:
    line = lines(USUAL)
    line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [pods("web").ip]))
    return line


def nginx(prefix: str = USUAL, **settings: str) -> dict[str, str]:
    return {f"{prefix}/auth-tls-{key.replace('_', '-')}": value for key, value in {"secret": "default/ca", **settings}.items()}


CASES = [
    ("ct-01", {}, None, 400, None), ("ct-02", {}, STRANGER, 400, None),
    ("ct-03", {}, CLIENT, 200, {"ssl-client-verify": "SUCCESS", "ssl-client-subject-dn": "CN=good.client", "ssl-client-issuer-dn": "CN=good"}),
    ("ct-04", {"verify_client": "optional"}, None, 200, {"ssl-client-verify": "NONE"}), ("ct-04-foreign", {"verify_client": "optional"}, STRANGER, 400, None),
    ("ct-06", {"verify_client": "off"}, None, 200, None), ("ct-07", {"verify_client": "maybe"}, None, 400, None),
    ("ct-11", {"match_cn": "CN=good"}, CLIENT, 200, None), ("ct-12", {"match_cn": "CN=(a|b)"}, CLIENT, 403, None),
    ("ct-16", {"secret": "default/none"}, CLIENT, 403, None), ("ct-17", {"secret": "default/empty"}, CLIENT, 403, None),
    ("ct-18", {"secret": "ca"}, CLIENT, 503, None), ("ct-22", {"secret": "default/revoking"}, REVOKED, 400, None),
    ("ct-22-other", {"secret": "default/revoking"}, CLIENT, 200, None), ("ct-23", {"verify_depth": "1"}, DEEP, 200, None),
    ("ct-22-tls", {"secret": "default/tls"}, REVOKED, 400, None),
]


def test_cases(line) -> None:
    """The ids are those of what users of ingress-nginx know."""
    line.cluster.apply(authorities("empty", other=b"x"), authorities("revoking", ca_crt=GOOD.pem, ca_crl=GOOD.revoke(REVOKED)),
                       authorities("tls", kind="kubernetes.io/tls", ca_crt=GOOD.pem, ca_crl=GOOD.revoke(REVOKED), tls_crt=SERVER.pem, tls_key=SERVER.key),
                       *(ingress(line, name, nginx(**settings)) for name, settings, *_ in CASES))
    for name, _, pair, status, wanted in CASES:
        wait_for(lambda name=name, pair=pair, status=status: shows(line, f"{name}.test", pair, status), f"{name} to be answered with {status}", PATIENCE)
        if wanted is not None:
            assert told(ask(line, f"{name}.test", pair)) == wanted


def test_redirects_and_the_certificate_itself(line) -> None:
    line.cluster.apply(ingress(line, "ct-15", nginx(error_page="https://e.test/x")),
                       ingress(line, "ct-09", nginx(pass_certificate_to_upstream="true")),
                       ingress(line, "ct-13", nginx(match_cn="CN=x") | {f"{USUAL}/ssl-redirect": "false"}))
    wait_for(lambda: shows(line, "ct-15.test", None, 302), "the redirect", PATIENCE)
    assert ask(line, "ct-15.test", None).headers["location"] == "https://e.test/x"
    wait_for(lambda: shows(line, "ct-09.test", CLIENT, 200), "the certificate to be taken", PATIENCE)
    assert told(ask(line, "ct-09.test", CLIENT))["ssl-client-cert"].startswith("-----BEGIN%20CERTIFICATE-----%0A")
    wait_for(lambda: line.proxy.request("ct-13.test").status == 403, "plain HTTP to be refused", PATIENCE)


def test_another_server_name_is_sent_away(line) -> None:
    line.cluster.apply(ingress(line, "ct-19", nginx()), ingress(line, "ct-19-free", {}))
    wait_for(lambda: shows(line, "ct-19.test", CLIENT, 200) and shows(line, "ct-19-free.test", None, 200), "both hosts", PATIENCE)
    assert ask(line, "ct-19.test", None, sni="ct-19-free.test").status == 421


def test_the_oldest_decides_for_the_whole_host(line) -> None:
    """Of two of the same second the one with the greater name, as in ingress-nginx."""
    line.cluster.apply(authorities("foreign-ca", ca_crt=FOREIGN.pem), ingress(line, "ct-20-z", nginx(), "ct-20.test", "/a"))
    wait_for(lambda: shows(line, "ct-20.test", CLIENT, 200, "/a"), "the first", PATIENCE)
    line.cluster.apply(ingress(line, "ct-20-b", nginx(secret="default/foreign-ca"), "ct-20.test", "/b"), ingress(line, "ct-20-c", {}, "ct-20.test", "/c"))
    for path in ("/b", "/c"):
        wait_for(lambda path=path: shows(line, "ct-20.test", CLIENT, 200, path), f"{path} to be served", PATIENCE)
        assert ask(line, "ct-20.test", None, path).status == ask(line, "ct-20.test", STRANGER, path).status == 400
    assert line.cluster.wait_event("ct-20-b", "ClientTLSConflict", timeout=PATIENCE)


def test_a_changed_secret_counts_at_once(line) -> None:
    line.cluster.apply(ingress(line, "changing", nginx(secret="default/changing")))
    wait_for(lambda: shows(line, "changing.test", CLIENT, 403), "nobody to be let in without a Secret", PATIENCE)
    assert line.cluster.wait_event("changing", "ClientTLSUnusable", timeout=PATIENCE)
    for authority, good, bad in ((GOOD, CLIENT, STRANGER), (FOREIGN, STRANGER, CLIENT)):
        line.cluster.apply(authorities("changing", ca_crt=authority.pem))
        wait_for(lambda good=good: shows(line, "changing.test", good, 200), "its authority to count", PATIENCE)
        assert ask(line, "changing.test", bad).status == 400
    line.cluster.delete("secret", "changing")
    wait_for(lambda: shows(line, "changing.test", STRANGER, 403), "nobody to be let in any more", PATIENCE)


def test_our_own_words(line) -> None:
    words = {f"sluice.io/client-tls.{key}": value for key, value in {"secret": "ca", "subject": "CN=good", "redirect": "https://e.test${target}"}.items()}
    line.cluster.apply(ingress(line, "own", words))
    wait_for(lambda: shows(line, "own.test", None, 302, "/x?y"), "the redirect", PATIENCE)
    assert ask(line, "own.test", None, "/x?y").headers["location"] == "https://e.test/x?y"
    assert ask(line, "own.test", CLIENT).status == 200


def test_another_prefix(lines, pods) -> None:
    """The watcher has to know it, too."""
    line = lines(OTHER_PREFIX)
    line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [pods("web").ip]), ingress(line, "prefixed", nginx(OTHER_PREFIX)),
                       ingress(line, "unlike", nginx()))
    wait_for(lambda: shows(line, "prefixed.test", CLIENT, 200) and shows(line, "prefixed.test", None, 400), "certificates to be asked for", PATIENCE)
    wait_for(lambda: shows(line, "unlike.test", None, 200), "what has the usual prefix to mean nothing", PATIENCE)
