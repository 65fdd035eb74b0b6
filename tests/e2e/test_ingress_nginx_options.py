# SPDX-License-Identifier: Apache-2.0
"""The global options of ingress-nginx through the whole line: a ConfigMap that changes under way, on both proxies."""
from __future__ import annotations

from typing import Any

import pytest

from lib.certs import self_signed
from lib.envtest import needs_standin
from lib.ingress_asks import Asker
from lib.ingress_cases import OPTION_ROWS, World, config_map, with_row
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.traffic import Load
from lib.wait import wait_for

CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}
NGINX = "nginx.ingress.kubernetes.io/"
OPTIONS = ["--ingress-nginx-configmap", "default/controller"]


def options(line: ProxyLine, data: dict[str, str]) -> None:
    """The ConfigMap as it is from now on."""
    line.cluster.apply(config_map("controller", data))


@pytest.fixture(scope="module", params=PROXIES, name="name")
def fixture_name(request) -> str:
    return request.param


# ---- the table ----

@pytest.fixture(scope="module", name="world")
def fixture_world(name):
    """All rows, and an Ingress whose HSTS tells which options are in force."""
    mark = self_signed("mark.test")
    with World(OPTION_ROWS, "nginx") as world, ProxyLine(name, translator=["--ingress-nginx"], watcher=OPTIONS) as line:
        made = line.cluster.ingress("mark", [{"host": "mark.test", "paths": [("/", "Prefix", "app-cf-01", 80)]}],
                                    {NGINX + "enable-global-auth": "false"}, ingressClassName="nginx")
        made["spec"]["tls"] = [{"hosts": ["mark.test"], "secretName": "mark"}]
        line.cluster.apply(config_map("controller", {}), CLASS, line.cluster.tls_secret("mark", mark.pem, mark.key), made,
                           *(item for age in range(world.ages()) for item in world.objects(age)))
        line.cluster.wait_addresses(world.last(), timeout=90)
        line.asker = Asker(world, line.proxy.address, line.proxy.http, line.proxy.https)
        yield line


@pytest.mark.parametrize("index", range(len(OPTION_ROWS)), ids=[row["id"] for row in OPTION_ROWS])
def test_the_line_does_what_the_original_did(world, name, index):
    """Or something else, and the row says why: then it is no longer true when it does the same."""
    row = OPTION_ROWS[index]
    has_hsts = "hsts" not in row["options"]
    said = with_row(row, row["options"]) | ({"hsts-max-age": str(1000 + index)} if has_hsts else {})
    options(world, said)

    def is_in_force() -> bool:
        found = world.asker.hsts_of(row)
        return found is not None and found.startswith(f"max-age={1000 + index};") if has_hsts else found == ""
    wait_for(is_in_force, "the options to be in force", PATIENCE)
    why = row.get("differs", {}).get(name)
    if why is None:
        # What one change changes of several objects comes at once for each of them, one after the other.
        found: list[dict[str, list[str]]] = []
        try:
            wait_for(lambda: found.append(world.asker.problems(row)) or not found[-1], "the row to be served as it says", PATIENCE)
        except AssertionError:
            assert not found[-1]
            raise
    else:
        # Likewise: until the last of them is there, the row before counts.
        wait_for(lambda: world.asker.problems(row), why, PATIENCE)


# ---- under way ----

def ingress(line: ProxyLine, name: str, annotations: dict[str, str] | None = None, class_name: str | None = "nginx") -> dict[str, Any]:
    spec = {"ingressClassName": class_name} if class_name else {}
    return line.cluster.ingress(name, [{"host": f"{name}.test", "paths": [("/", "Prefix", "web", 80)]}],
                                {NGINX + key: value for key, value in (annotations or {}).items()}, **spec)


@pytest.fixture(name="line")
def fixture_line(name, pods):
    with ProxyLine(name, translator=["--ingress-nginx"], watcher=OPTIONS) as line:
        line.cluster.apply(config_map("controller", {}), CLASS, line.cluster.service("web"), line.cluster.slice("web", [pods("web").ip]),
                           ingress(line, "a"), ingress(line, "ours", class_name=None))
        for host in ("a", "ours"):
            line.proxy.wait_answers(f"{host}.test")
        yield line


def test_a_change_counts_for_these_ingresses_alone(line):
    options(line, {"force-ssl-redirect": "true", "http-redirect-code": "307"})
    line.proxy.wait_answers("a.test", status=307)
    assert line.proxy.request("ours.test").status == 200
    line.cluster.delete("configmap", "controller")
    line.proxy.wait_answers("a.test")


def test_a_value_that_cannot_be_used_is_told_and_hurts_only_itself(line):
    options(line, {"proxy-body-size": "banana", "force-ssl-redirect": "true", "no-such-option": "x"})
    line.proxy.wait_answers("a.test", status=308)
    told = line.cluster.wait_event("controller", "InvalidOption", "data[proxy-body-size]: \"banana\" cannot be used")
    assert told["involvedObject"]["kind"] == "ConfigMap" and told["involvedObject"]["apiVersion"] == "v1"
    line.cluster.wait_event("controller", "UnknownOption", "no-such-option")
    assert line.proxy.request("a.test", method="POST", headers={"Content-Length": str(2 << 20)}).status == 413


def test_what_protects_and_cannot_be_used_closes(line):
    options(line, {"whitelist-source-range": "10.0.0.0/99"})
    line.proxy.wait_answers("a.test", status=503)
    line.cluster.wait_event("a", "InvalidOption", "whitelist-source-range, of ConfigMap default/controller")
    assert line.proxy.request("ours.test").status == 200
    options(line, {"whitelist-source-range": "10.0.0.0/8"})
    line.proxy.wait_answers("a.test", status=403)
    options(line, {"whitelist-source-range": "127.0.0.0/8"})
    line.proxy.wait_answers("a.test")


def test_a_change_while_parts_are_killed_costs_no_request(line):
    line.cluster.apply(ingress(line, "steady", {"ssl-redirect": "false"}))
    line.proxy.wait_answers("steady.test")
    with Load(line.proxy.address, line.proxy.http, [("steady.test", "/")]) as load:
        line.watcher.kill()
        options(line, {"denylist-source-range": "10.0.0.0/8", "force-ssl-redirect": "false", "whitelist-source-range": "10.0.0.0/8,127.0.0.0/8"})
        line.translator.restart()
        line.watcher.start()
        options(line, {"block-cidrs": "10.0.0.0/8"})
        line.translator.restart()
        options(line, {"http-redirect-code": "302", "proxy-body-size": "10"})
        wait_for(lambda: line.proxy.request("a.test", method="POST", body=b"x" * 20).status == 413, "the last options", PATIENCE)
        known = len(line.watcher.lines)
        line.watcher.restart()
        line.watcher.wait_event("snapshot-sent", since=known)
    assert load.good > 0 and not load.failures


@needs_standin("refuse a right for a while")
def test_the_line_waits_for_options_that_may_forbid_something(line):
    """The proxy keeps what it has while the watcher may not read them."""
    options(line, {"denylist-source-range": "127.0.0.0/8"})
    line.proxy.wait_answers("a.test", status=403)
    line.watcher.kill()
    line.translator.kill()
    fault = line.kube.fault("respond", {"resource": "configmaps", "identity": "controller"}, with_="forbidden")
    line.translator.start()
    line.watcher.start()
    line.watcher.wait_event("not-ready", "configmaps in namespace default")
    line.cluster.apply(ingress(line, "late"))
    assert line.proxy.request("a.test").status == 403 and line.proxy.request("late.test").status == 404
    line.kube.clear(fault)
    line.proxy.wait_answers("late.test", status=403)


def test_a_default_backend_takes_what_nobody_else_does(name, pods):
    with ProxyLine(name, translator=["--default-backend", "default/rest"]) as line:
        line.cluster.apply(*(part for service in ("web", "rest") for part in (line.cluster.service(service), line.cluster.slice(service, [pods(service).ip]))),
                           ingress(line, "a", class_name=None), CLASS)
        line.wait_serves("a.test", "/x", "web")
        line.wait_serves("nobody.test", "/x", "rest")
        line.cluster.apply(line.cluster.ingress("a", [{"host": "a.test", "paths": [("/only", "Prefix", "web", 80)]}]))
        line.wait_serves("a.test", "/x", "rest")
        assert line.proxy.reached("a.test", "/only") == "web"


def shown(line: ProxyLine, host: str) -> bytes | None:
    """The certificate that a client of that server name gets, without a word about who asks for it."""
    try:
        return line.proxy.request(host, tls=True).certificate
    except OSError:
        return None


def test_a_default_certificate_is_made_where_none_is_configured(name, pods):
    """As the original did: TLS is served for every host, by a certificate that nobody trusts; the hosts' own are shown for them."""
    own = self_signed("own.test")
    with ProxyLine(name, translator=["--ingress-nginx"]) as line:
        line.cluster.apply(CLASS, line.cluster.service("web"), line.cluster.slice("web", [pods("web").ip]), ingress(line, "a"))
        line.wait_serves("a.test", "/", "web", tls=True)
        made = shown(line, "a.test")
        assert made and shown(line, "nobody.test") == made and b"sluice.invalid" in made
        with_own = ingress(line, "own")
        with_own["spec"]["tls"] = [{"hosts": ["own.test"], "secretName": "own"}]
        line.cluster.apply(line.cluster.tls_secret("own", own.pem, own.key), with_own)
        wait_for(lambda: shown(line, "own.test") == own.der, "its own certificate", PATIENCE)
        assert shown(line, "a.test") == made
        with Load(line.proxy.address, line.proxy.https, [("a.test", "/")], sni="a.test") as load:
            line.translator.restart()
            wait_for(lambda: shown(line, "a.test") not in (made, None), "another one, made by the next translator", PATIENCE)
        assert load.good > 0 and not load.failures
        assert shown(line, "own.test") == own.der


def test_none_is_made_for_those_who_do_not_want_it(name, pods):
    with ProxyLine(name, translator=["--ingress-nginx", "--make-certificate=false"]) as line:
        line.cluster.apply(CLASS, line.cluster.service("web"), line.cluster.slice("web", [pods("web").ip]), ingress(line, "a"))
        line.wait_serves("a.test", "/", "web")
        assert shown(line, "a.test") is None
