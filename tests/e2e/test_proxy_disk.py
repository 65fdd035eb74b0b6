# SPDX-License-Identifier: Apache-2.0
"""The disk of the state folder is full or read-only: the words are clear, no route is lost, and all comes right when it is as it was."""
from __future__ import annotations

import shutil

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.local_proxy import LB, certificate, host, pool
from lib.own_disk import can_mount, on_own_disk
from lib.proxies import PROXIES, proxy_class
from lib.traffic import Load
from lib.wait import wait_for

PATIENCE = 120.0
TROUBLES = {"full": "the disk is full", "read-only": "read-only"}


class Disk:
    """Brings the trouble and takes it away."""

    def __init__(self, proxy, trouble: str):
        self.start, self.end = {"full": (proxy.disk.fill, proxy.disk.empty),
                                "read-only": (proxy.disk.make_read_only, proxy.disk.make_writable)}[trouble]


@pytest.fixture(params=PROXIES)
def proxy(request):
    if not can_mount(request.param):
        pytest.skip("no mount namespaces here")
    with on_own_disk(proxy_class(request.param)) as one:
        yield one


@pytest.fixture
def pods():
    running = {name: Backend(name) for name in ("old", "new")}
    yield running
    for pod in running.values():
        pod.stop()


def serve(proxy, pods) -> None:
    proxy.send(certificate("web", self_signed("web.test"), "web.test"), pool("web", pods["old"]), host("web.test", ("/", "web")),
               proxy.balancer(https=True, default_certificate="web"))
    proxy.commit()
    proxy.wait_applied()


def change(proxy, pods) -> None:
    """Other endpoints, new hosts that need room, and a listener, which needs a new file."""
    extra = {"port": proxy.other_port(proxy.http, proxy.https), "protocol": "http"}
    proxy.send(pool("web", pods["new"]), *(host(f"new{number}.test", ("/" + "x" * 3000, "web"), ("/", "web")) for number in range(20)),
               proxy.balancer(https=True, default_certificate="web", listeners=[extra]))
    proxy.commit()


def told(proxy, words: str) -> bool:
    """The status of the load balancer says so; nothing is called applied that is not on disk."""
    status = proxy.translator.status(LB)
    return bool(status) and status["state"] != "applied" and words in status.get("message", "")


@pytest.mark.parametrize("trouble", TROUBLES)
def test_changes_meanwhile(proxy, pods, trouble):
    """Nobody's request fails, endpoints are followed, and afterwards everything is there, also for a proxy that starts anew."""
    disk = Disk(proxy, trouble)
    serve(proxy, pods)
    with Load(proxy.address, proxy.http, [("web.test", "/")]) as load:
        disk.start()
        change(proxy, pods)
        wait_for(lambda: told(proxy, TROUBLES[trouble]), "a word about the disk", PATIENCE)
        wait_for(lambda: proxy.reached("web.test") == "new", "the endpoint to be followed", PATIENCE)
    assert load.failures == [] and load.good > 0
    disk.end()
    proxy.wait_applied(PATIENCE)
    assert proxy.reached("new19.test") == "new"
    proxy.kill_provider()
    proxy.translator.stop()
    proxy.kill_proxy()
    proxy.start()
    proxy.wait_answers("new19.test", timeout=PATIENCE)
    assert proxy.reached("web.test", tls=True) == "new"


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_provider_comes_back_meanwhile(proxy, pods, trouble):
    """It finds its proxy, which serves all the time, and takes up its work."""
    disk = Disk(proxy, trouble)
    serve(proxy, pods)
    masters = proxy.masters()
    with Load(proxy.address, proxy.http, [("web.test", "/")]) as load:
        disk.start()
        proxy.kill_provider()
        proxy.start()
        change(proxy, pods)
        wait_for(lambda: proxy.raise_if_dead() or told(proxy, TROUBLES[trouble]), "a word about the disk", PATIENCE)
        wait_for(lambda: proxy.reached("web.test") == "new", "the endpoint to be followed", PATIENCE)
    assert load.failures == [] and load.good > 0
    disk.end()
    proxy.wait_applied(PATIENCE)
    assert proxy.reached("new19.test") == "new"
    # A check of a configuration is a HAProxy, too, for a moment.
    wait_for(lambda: proxy.masters() == masters, f"{masters} to be all", PATIENCE)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_both_die_meanwhile(proxy, pods, trouble):
    """As after a reboot with nobody else there: the files that are there are enough, and nothing has to be written."""
    disk = Disk(proxy, trouble)
    serve(proxy, pods)
    disk.start()
    proxy.kill_provider()
    proxy.translator.stop()
    proxy.kill_supervisor()
    proxy.kill_proxy()
    shutil.rmtree(proxy.proxy_dir)
    proxy.start()
    proxy.wait_answers("web.test", timeout=PATIENCE)
    assert proxy.reached("web.test", tls=True) == "old"


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_proxy_dies_meanwhile(proxy, pods, trouble):
    """It is started again from the files that are there, without anybody's help, and what comes later is served, too."""
    disk = Disk(proxy, trouble)
    serve(proxy, pods)
    disk.start()
    for _ in range(2):
        proxy.kill_proxy()
        proxy.wait_answers("web.test", timeout=PATIENCE)
        proxy.wait_answers("web.test", timeout=PATIENCE, tls=True)
    proxy.raise_if_dead()
    change(proxy, pods)
    wait_for(lambda: proxy.raise_if_dead() or told(proxy, TROUBLES[trouble]), "a word about the disk", PATIENCE)
    disk.end()
    proxy.wait_applied(PATIENCE)
    assert proxy.reached("new19.test") == "new"
    assert proxy.reached("web.test", tls=True) == "new"
