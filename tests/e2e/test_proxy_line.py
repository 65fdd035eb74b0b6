# SPDX-License-Identifier: Apache-2.0
"""From kubectl to a request answered, with each local proxy at the end of the line; whoever dies, no request is lost."""
from __future__ import annotations

import contextlib
import http.client
import subprocess

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.line import DAEMONS, build_folder
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.raw_http import dial
from lib.traffic import Load
from lib.wait import wait_for


pytestmark = pytest.mark.quick


@pytest.fixture(params=PROXIES)
def line(request):
    with ProxyLine(request.param) as running:
        yield running


def deploy(line, pods, service: str) -> Backend:
    pod = pods(service)
    line.cluster.apply(line.cluster.service(service), line.cluster.slice(service, [pod.ip]))
    return pod


def ingress(line, name: str, *paths: tuple[str, str], **spec):
    """An Ingress for NAME.test; `paths` are (path, Service)."""
    return line.cluster.ingress(name, [{"host": f"{name}.test", "paths": [(path, "Prefix", service, 80) for path, service in paths]}], **spec)


def wait_status(line, status: int, host: str, path: str = "/") -> None:
    def answered() -> bool:
        try:
            return line.proxy.request(host, path).status == status
        except (OSError, http.client.HTTPException):
            return False
    wait_for(answered, f"{host}{path} to give {status}", PATIENCE)


def test_from_apply_to_delete(line, pods):
    for service in ("one", "two"):
        deploy(line, pods, service)
    line.cluster.apply(ingress(line, "web", ("/", "one"), ("/two", "two")))
    line.wait_serves("web.test", "/x", "one")
    line.wait_serves("web.test", "/two/x", "two")
    assert line.cluster.wait_addresses("web", 1, PATIENCE) == [line.proxy.address]
    assert line.proxy.address in line.cluster.kubectl("get", "ingress", "web")
    pair = self_signed("web.test")
    line.cluster.apply(line.cluster.tls_secret("cert", pair.pem, pair.key))
    line.cluster.patch("ingress", "web", {"spec": {"tls": [{"hosts": ["web.test"], "secretName": "cert"}]}})

    def is_shown() -> bool:
        with contextlib.suppress(OSError), contextlib.closing(dial(line.proxy.address, line.proxy.https, sni="web.test")) as link:
            return link.getpeercert(binary_form=True) == pair.der
    wait_for(is_shown, "the certificate", PATIENCE)
    assert line.proxy.reached("web.test", tls=True) == "one"
    line.cluster.apply(line.cluster.slice("one", []))
    wait_status(line, 503, "web.test")
    line.cluster.delete("ingress", "web")

    def is_gone() -> bool:
        """It was the last one: with it go the listeners, and its route not before them."""
        try:
            return line.proxy.request("web.test").status == 404
        except ConnectionRefusedError:
            return True
        except (OSError, http.client.HTTPException):
            return False
    wait_for(is_gone, "nobody to answer for web.test", PATIENCE)


def test_the_older_ingress_keeps_its_path_and_the_younger_hears_of_it(line, pods):
    for service in ("old", "young"):
        deploy(line, pods, service)
    line.cluster.apply(ingress(line, "web", ("/", "old")))
    line.wait_serves("web.test", "/", "old")
    younger = line.cluster.ingress("younger", [{"host": "web.test", "paths": [("/", "Prefix", "young", 80), ("/own", "Prefix", "young", 80)]}])
    line.cluster.apply(younger)
    line.wait_serves("web.test", "/own", "young")
    assert line.proxy.reached("web.test", "/") == "old"
    line.cluster.wait_event("younger", "PathConflict", "default/web", PATIENCE)
    line.cluster.delete("ingress", "web")
    line.wait_serves("web.test", "/", "young")


def test_a_host_is_its_oldest_namespaces(line, pods):
    """Of the others nothing is served, nor shown, until the owner says so or goes."""
    cluster, home = line.cluster, line.cluster
    other = cluster.within("other")
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    for where, service in ((home, "shop"), (other, "evil")):
        pod = pods(service)
        where.apply(where.service(service), where.slice(service, [pod.ip]))
    home.apply(home.ingress("web", [{"host": "web.test", "paths": [("/", "Prefix", "shop", 80)]}]),
               home.ingress("all", [{"host": "*.web.test", "paths": [("/", "Prefix", "shop", 80)]}]))
    line.wait_serves("web.test", "/", "shop")
    line.wait_serves("login.web.test", "/", "shop")
    other.apply(other.ingress("login", [{"host": "web.test", "paths": [("/login", "Prefix", "evil", 80)]}]),
                other.ingress("name", [{"host": "login.web.test", "paths": [("/", "Prefix", "evil", 80)]}]),
                other.ingress("own", [{"host": "own.test", "paths": [("/", "Prefix", "evil", 80)]}]))
    line.wait_serves("own.test", "/", "evil")
    for name in ("login", "name"):
        other.wait_event(name, "HostNotOwned", "belongs to namespace default", PATIENCE)
    assert line.proxy.reached("web.test", "/login") == "shop" and line.proxy.reached("login.web.test", "/") == "shop"
    assert other.wait_addresses("own", 1, PATIENCE) == [line.proxy.address]
    assert other.addresses("login") == [] and other.addresses("name") == []
    explained = subprocess.run([build_folder() / "sluicectl/sluicectl", "explain", "--runtime-dir", line.runtime, "other/login"],
                               capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert explained.returncode == 1, explained.stdout + explained.stderr
    assert "by its Ingress default/web" in explained.stdout and "sluice.io/shared-with" in explained.stdout
    home.annotate("ingress", "web", **{"sluice.io/shared-with": "other"})
    line.wait_serves("web.test", "/login", "evil")
    assert other.wait_addresses("login", 1, PATIENCE) == [line.proxy.address]
    assert line.proxy.reached("web.test", "/") == "shop"
    home.annotate("ingress", "web", **{"sluice.io/shared-with": None})
    line.wait_serves("web.test", "/login", "shop")
    other.wait_no_addresses("login", PATIENCE)
    home.delete("ingress", "web")
    line.wait_serves("web.test", "/login", "evil")
    other.wait_event("login", "HostTakenOver", "web.test", PATIENCE)
    assert line.proxy.reached("login.web.test", "/") == "shop", "the wildcard is still there"


def test_kill_of_each_process_loses_no_request(line, pods):
    deploy(line, pods, "web")
    line.cluster.apply(ingress(line, "web", ("/", "web")))
    line.wait_serves("web.test", "/", "web")
    with Load(line.proxy.address, line.proxy.http, [("web.test", "/x")]) as load:
        for number, victim in enumerate(DAEMONS):
            line.daemon(victim).kill()
            deploy(line, pods, f"s{number}")
            line.cluster.apply(ingress(line, f"i{number}", ("/", f"s{number}")))
            line.daemon(victim).start()
            line.wait_serves(f"i{number}.test", "/", f"s{number}")
            assert line.cluster.wait_addresses(f"i{number}", 1, PATIENCE) == [line.proxy.address]
        for victim in DAEMONS:
            line.daemon(victim).kill()
        before = load.good
        wait_for(lambda: load.good > before + 50, f"traffic to go on without the line {load.failures}", 15)
        line.cluster.delete("ingress", "i0")
        for victim in DAEMONS:
            line.daemon(victim).start()
        wait_status(line, 404, "i0.test")
    assert load.failures == [] and load.good > 0


def test_the_proxy_comes_back_with_all_routes_from_disk(line, pods):
    deploy(line, pods, "web")
    line.cluster.apply(ingress(line, "web", ("/", "web")))
    line.wait_serves("web.test", "/", "web")
    line.proxy.kill_proxy()
    line.wait_serves("web.test", "/", "web")
    # With everybody else gone it starts from the last good state.
    line.watcher.kill()
    line.translator.kill()
    line.provider.kill()
    line.proxy.kill_proxy()
    line.provider.start()
    line.wait_serves("web.test", "/", "web")
