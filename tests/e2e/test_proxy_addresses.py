# SPDX-License-Identifier: Apache-2.0
"""An Ingress shows an address once the proxy has its routes, and not before."""
from __future__ import annotations

import os
import signal

import pytest

from lib.ctl import Ctl
from lib.local_proxy import PATIENCE, remove_folder
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

MANY = 500


def ingress(line: ProxyLine, name: str, service: str) -> dict:
    """For NAME.test."""
    return line.cluster.ingress(name, [{"host": f"{name}.test", "paths": [("/", "Prefix", service, 80)]}])


def pending(line: ProxyLine, name: str) -> list[str]:
    """Why an Ingress waits, as `sluicectl explain` says it."""
    answer = Ctl(line).explain(name)
    return [problem["message"] for problem in answer.get("problems", []) if problem["reason"] == "LoadBalancerPending"]


@pytest.mark.parametrize("name", PROXIES)
def test_no_address_is_shown_before_its_routes_are_served(name, pods):
    """The proxy answers nobody for a while, not even its provider; that it is not replaced for it takes a patient provider."""
    with ProxyLine(name, provider=["--proxy-timeout", "600"]) as line:
        line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [pods("web").ip]))
        line.cluster.apply(ingress(line, "early", "web"))
        assert line.cluster.wait_addresses("early", 1, PATIENCE) == [line.proxy.address]
        stopped = [process.pid for process in line.proxy.proxies()]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            line.cluster.apply(ingress(line, "late", "web"))
            # Each of these is told of later than the first one's address would be.
            for broken in ("broken", "broken-too"):
                line.cluster.apply(ingress(line, broken, "nobody"))
                line.cluster.wait_event(broken, "ServiceNotFound", timeout=PATIENCE)
            assert line.cluster.addresses("late") == []
            assert line.cluster.addresses("early") == [line.proxy.address], "what is shown stays"
            assert pending(line, "late"), "and it is said why the other shows none"
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert line.cluster.wait_addresses("late", 1, PATIENCE) == [line.proxy.address]
        assert line.proxy.reached("late.test") == "web"


@pytest.mark.parametrize("name", PROXIES)
def test_each_of_many_ingresses_is_served_when_its_address_is_shown(name, pods, monkeypatch):
    """At a start with nothing on the disk. A real API server has no way to get so many objects at once."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with ProxyLine(name) as line:
        line.provider.wait_event("snapshot-complete", timeout=PATIENCE)
        line.provider.kill()
        line.proxy.kill_proxy()
        remove_folder(line.proxy.state_dir)
        line.kube.bulk(count=MANY, addresses=[pods("web").ip])
        line.provider.start()
        shown: set[str] = set()

        def all_are_shown() -> bool:
            for one in line.kube.objects("ingresses"):
                if one["metadata"]["name"] in shown or not one.get("status", {}).get("loadBalancer", {}).get("ingress"):
                    continue
                host = one["spec"]["rules"][0]["host"]
                assert line.proxy.request(host).status == 200, f"{host} shows an address after {len(shown)} others"
                shown.add(one["metadata"]["name"])
            return len(shown) == MANY
        wait_for(all_are_shown, "all addresses", 2 * PATIENCE)
