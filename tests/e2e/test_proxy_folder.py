# SPDX-License-Identifier: Apache-2.0
"""The folder of the proxy's sockets becomes another one, as by an upgrade: the proxy that runs is taken over, and nobody's request fails."""
from __future__ import annotations

import pytest

from lib.backend import Backend
from lib.local_proxy import LocalProxy, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.traffic import Load, request
from lib.wait import wait_for

PATIENCE = 120.0


@pytest.fixture(params=PROXIES)
def proxy(request):
    with proxy_class(request.param)(start=False) as one:
        yield one


@pytest.fixture
def pods():
    running = {name: Backend(name) for name in ("old", "new")}
    yield running
    for pod in running.values():
        pod.stop()


def without_folder(proxy: LocalProxy) -> list[str]:
    """The arguments of a provider whose proxy has its sockets in the state folder."""
    at = proxy.provider.arguments.index("--proxy-dir")
    return proxy.provider.arguments[:at] + proxy.provider.arguments[at + 2:]


def sockets(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.sock"))


def serve(proxy: LocalProxy, pods) -> None:
    proxy.send(pool("web", pods["old"]), host("web.test", ("/", "web")), proxy.balancer())
    proxy.commit()
    proxy.wait_applied()


def test_a_running_proxy_is_taken_over(proxy, pods):
    """It keeps its folder while it lives, because its sandbox knows no other; the next one has the new one."""
    arguments = proxy.provider.arguments
    proxy.provider.arguments = without_folder(proxy)
    proxy.start()
    serve(proxy, pods)
    masters, extra = proxy.masters(), {"port": proxy.other_port(proxy.http), "protocol": "http"}
    with Load(proxy.address, proxy.http, [("web.test", "/")]) as load:
        proxy.kill_provider()
        proxy.provider.arguments = arguments
        proxy.start()
        proxy.apply(pool("web", pods["new"]))
        assert proxy.reached("web.test") == "new"
    assert load.failures == [] and load.good > 0
    # It can still be told to reload, by this provider and by the next one, which finds the pid in the new folder.
    proxy.apply(proxy.balancer(listeners=[extra]))
    assert request(proxy.address, extra["port"], "web.test", "/").status == 200
    proxy.restart()
    proxy.apply(proxy.balancer())
    # Beside it a check of a configuration may run for a moment.
    wait_for(lambda: proxy.masters() == masters, "it to be the same proxy", PATIENCE)
    proxy.kill_proxy()
    proxy.wait_answers("web.test", timeout=PATIENCE)
    wait_for(lambda: sockets(proxy.proxy_dir) and not sockets(proxy.state_dir), "the sockets to be in the other folder only", PATIENCE)
    proxy.apply(proxy.balancer(listeners=[extra]))
    assert request(proxy.address, extra["port"], "web.test", "/").json["name"] == "new"


def test_a_proxy_starts_from_files_of_the_former_folder(proxy, pods):
    """As after a reboot into another version: nobody runs, and the files name sockets in the state folder."""
    arguments = proxy.provider.arguments
    proxy.provider.arguments = without_folder(proxy)
    proxy.start()
    serve(proxy, pods)
    proxy.kill_provider()
    proxy.kill_supervisor()
    proxy.kill_proxy()
    proxy.provider.arguments = arguments
    proxy.start()
    proxy.wait_answers("web.test", timeout=PATIENCE)
    proxy.wait_applied(PATIENCE)
    wait_for(lambda: sockets(proxy.proxy_dir) and not sockets(proxy.state_dir), "the sockets to be in the new folder only", PATIENCE)
    proxy.apply(pool("web", pods["new"]))
    assert proxy.reached("web.test") == "new"
