# SPDX-License-Identifier: Apache-2.0
"""Ingresses of ingress-nginx through the whole line: what its users got there they get here, on both proxies."""
from __future__ import annotations

import dataclasses
import subprocess
from typing import Any

import pytest

from lib.line import build_folder
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

PREFIX = "nginx.ingress.kubernetes.io/"
SPECIFIC = "ImplementationSpecific"
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"},
         "spec": {"controller": "k8s.io/ingress-nginx"}}


@dataclasses.dataclass
class Row:
    """An Ingress for NAME.test, a request, and what comes of it."""

    name: str
    annotations: dict[str, str]
    path: str
    status: int
    paths: tuple[tuple[str, str], ...] = (("/", "Prefix"),)
    location: str | None = None
    target: str | None = None  # as the backend got it
    method: str = "GET"
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    answer: dict[str, str] = dataclasses.field(default_factory=dict)  # headers of it
    backend: dict[str, str] = dataclasses.field(default_factory=dict)  # headers that the backend got
    word: str = "decoded-paths"  # of capabilities.policies that the provider needs for it; those without it are not asked


REWRITE = (("/something(/|$)(.*)", SPECIFIC),)
ROWS = [
    Row("plain", {}, "/x", 200, target="/x"),
    Row("elements", {}, "/foobar", 404, paths=(("/foo", SPECIFIC),)),
    Row("decoded", {}, "/a/../%66oo//x", 200, paths=(("/foo", "Prefix"),), target="/a/../%66oo//x"),
    Row("slash", {}, "/foo?x=1", 301, paths=(("/foo/", "Prefix"),), location="http://slash.test/foo/?x=1"),
    Row("moved", {"permanent-redirect": "https://new.test/x", "permanent-redirect-code": "308"}, "/y", 308, location="https://new.test/x"),
    Row("now", {"temporal-redirect": "https://t.test"}, "/y", 302, location="https://t.test"),
    Row("forced", {"force-ssl-redirect": "true"}, "/x?a=b", 308, location="https://forced.test/x?a=b"),
    Row("root", {"app-root": "/app"}, "/?x=1", 302, location="http://root.test/app"),
    Row("root-else", {"app-root": "/app"}, "/x", 200, target="/x"),
    Row("rewrite", {"rewrite-target": "/$2"}, "/something/new?x=1", 200, paths=REWRITE, target="/new?x=1"),
    Row("rewrite-case", {"rewrite-target": "/$2"}, "/Something/X", 200, paths=REWRITE, target="/X"),
    Row("rewrite-none", {"rewrite-target": "/$2"}, "/somethingelse", 404, paths=REWRITE),
    Row("rewrite-root", {"rewrite-target": "/"}, "/other/x", 200, paths=(("/one", "Prefix"), ("/", "Prefix")), target="/other/x"),
    Row("rewrite-one", {"rewrite-target": "/"}, "/one/x?y=1", 200, paths=(("/one", "Prefix"), ("/", "Prefix")), target="/?y=1"),
    Row("prefix", {"rewrite-target": "/$2", "x-forwarded-prefix": "/something"}, "/something/new", 200, paths=REWRITE,
        backend={"x-forwarded-prefix": "/something"}),
    Row("regex", {"use-regex": "true"}, "/id/12", 200, paths=(("/id/[0-9]+$", SPECIFIC),)),
    Row("regex-none", {"use-regex": "true"}, "/id/12a", 404, paths=(("/id/[0-9]+$", SPECIFIC),)),
    Row("vhost", {"upstream-vhost": "internal.test"}, "/", 200, backend={"host": "internal.test"}),
    Row("cors", {"enable-cors": "true", "cors-allow-origin": "https://app.test"}, "/", 204, method="OPTIONS", headers={"Origin": "https://app.test"},
        answer={"access-control-allow-origin": "https://app.test", "access-control-max-age": "1728000"}),
    Row("cors-other", {"enable-cors": "true", "cors-allow-origin": "https://app.test"}, "/", 200, headers={"Origin": "https://evil.xhttps://app.test"},
        answer={"access-control-allow-origin": ""}),
    Row("allowed", {"allowlist-source-range": "127.0.0.0/8"}, "/", 200),
    Row("refused", {"allowlist-source-range": "10.0.0.0/8"}, "/", 403),
    Row("denied", {"denylist-source-range": "127.0.0.1/8"}, "/", 403),
    Row("list-bad", {"allowlist-source-range": "banana"}, "/", 503),
    Row("body", {"proxy-body-size": "10"}, "/", 413, method="POST", headers={"Content-Length": "20"}, word="body-limit"),
    Row("external", {"auth-url": "http://auth.test"}, "/", 503),
    Row("snippet", {"configuration-snippet": "return 403;"}, "/", 200),
]


def ingress(line: ProxyLine, row: Row) -> dict[str, Any]:
    return line.cluster.ingress(row.name, [{"host": f"{row.name}.test", "paths": [(*path, "web", 80) for path in row.paths]}],
                                {PREFIX + key: value for key, value in row.annotations.items()}, ingressClassName="nginx")


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def line(proxy):
    with ProxyLine(proxy, translator=["--ingress-nginx"]) as running:
        yield running


@pytest.fixture(scope="module")
def rows(proxy) -> list[Row]:
    """Those that the provider can honour."""
    said = subprocess.run([build_folder() / f"provider-{proxy}/sluice-provider-{proxy}", "--hello"], capture_output=True, check=True)
    return [row for row in ROWS if row.word.encode() in said.stdout]


def problems(line: ProxyLine, row: Row) -> list[str]:
    """What is not as the row wants it."""
    got = line.proxy.request(f"{row.name}.test", row.path, method=row.method, headers=row.headers)
    if got.status != row.status:
        return [f"{row.name}: got {got.status}, want {row.status}"]
    seen = {name: (got.headers.get(name, ""), value) for name, value in row.answer.items()}
    if row.location is not None:
        seen["location"] = (got.headers.get("location"), row.location)
    if row.target is not None:
        seen["target"] = (got.json["target"], row.target)
    if row.backend:
        sent = {name.lower(): value for name, value in got.json["headers"]}
        seen |= {name: (sent.get(name), value) for name, value in row.backend.items()}
    return [f"{row.name}: {what}: got {found}, want {wanted}" for what, (found, wanted) in seen.items() if found != wanted]


def is_as_wanted(line: ProxyLine, row: Row) -> bool:
    try:
        return not problems(line, row)
    except OSError:
        return False


def test_each_annotation(line, rows, pods):
    pod = pods("web")
    line.cluster.apply(CLASS, line.cluster.service("web"), line.cluster.slice("web", [pod.ip]))
    line.cluster.apply(*(ingress(line, row) for row in rows))
    for row in rows:
        wait_for(lambda row=row: is_as_wanted(line, row), f"{row.path} of {row.name}.test to be answered as it was", PATIENCE)
    # What was right while others were still missing is right now, too.
    assert not [problem for row in rows for problem in problems(line, row)]
