# SPDX-License-Identifier: Apache-2.0
"""Where no request may be sent, through the whole line with each local proxy: whoever names such an address is told, and nothing gets there."""
from __future__ import annotations

import pytest

from lib.backend import LOOPBACK
from lib.ctl import Ctl
from lib.dns_server import DnsServer
from lib.envtest import assets
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

pytestmark = pytest.mark.skipif(bool(assets()), reason="the real API server cannot be told to take endpoints on loopback")


@pytest.fixture(scope="module")
def names():
    with DnsServer() as server:
        yield server


def publish(line, name: str, *services: str) -> None:
    paths = [(f"/{service}", "Prefix", service, 80) for service in services]
    line.cluster.apply(line.cluster.ingress(name, [{"host": f"{name}.test", "paths": paths}]))


def refusals(ctl: Ctl, name: str) -> str:
    """What sluicectl explains of it."""
    got = ctl.explain(name)
    found = [*got.get("problems", []), *(route for route in got.get("routes", []) if not route.get("served"))]
    return "\n".join(f'{item["reason"]}: {item["message"]}' for item in found if item.get("reason") == "EndpointRefused")


def wait_refused(line, ctl: Ctl, name: str, text: str) -> None:
    """By the Event and by what is explained."""
    line.cluster.wait_event(name, "EndpointRefused", text, PATIENCE)
    wait_for(lambda: text in refusals(ctl, name), f"{text}, told: {refusals(ctl, name)}", PATIENCE)


@pytest.mark.parametrize("proxy", PROXIES)
def test_slices_lead_to_no_address_that_is_refused(proxy, pods):
    outer, inner = pods("outer"), pods("inner", ip="127.66.6.1")
    # What is refused adds to what always is: 169.254.0.0/16 is in no option.
    with ProxyLine(proxy, translator=["--refuse-egress", "127.66.6.0/24"]) as line:
        ctl, cluster = Ctl(line), line.cluster
        cluster.apply(cluster.service("half"), cluster.slice("half", [outer.ip, inner.ip]),
                      cluster.service("bad"), cluster.slice("bad", [inner.ip]))
        publish(line, "a", "half", "bad")
        line.wait_serves("a.test", "/half", "outer")
        wait_refused(line, ctl, "a", "endpoint 127.66.6.1 of Service half is refused: it is in --refuse-egress 127.66.6.0/24; the others are used")
        wait_refused(line, ctl, "a", "endpoint 127.66.6.1 of Service bad is refused: it is in --refuse-egress 127.66.6.0/24; requests are answered with 503")
        assert {line.proxy.reached("a.test", "/half") for _ in range(8)} == {"outer"}
        line.proxy.wait_answers("a.test", "/bad", status=503)
        assert inner.count == 0
        # It is put right, and nothing is left of it.
        cluster.apply(cluster.slice("bad", [outer.ip]))
        line.wait_serves("a.test", "/bad", "outer")
        wait_for(lambda: "Service bad" not in refusals(ctl, "a"), "nothing to be told of it", PATIENCE)


@pytest.mark.parametrize("proxy", PROXIES)
def test_loopback_is_reached_only_when_it_is_allowed(proxy, pods, names):
    pod = pods("pod")
    names.put("here.example", pod.ip, ttl=60)
    with ProxyLine(proxy, translator=["--allow-external-name"], provider=["--dns-server", names.address], reaches_loopback=False) as line:
        ctl, cluster = Ctl(line), line.cluster
        cluster.apply(cluster.service("web"), cluster.slice("web", [pod.ip]))
        cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "outside", "namespace": "default"},
                       "spec": {"type": "ExternalName", "externalName": "here.example", "ports": [{"port": 80, "targetPort": 8080}]}})
        publish(line, "a", "web", "outside")
        wait_refused(line, ctl, "a", f"endpoint {pod.ip} of Service web is refused: 127.0.0.0/8 is this machine; requests are answered with 503")
        wait_refused(line, ctl, "a", f"address {pod.ip} of host here.example, to which Service outside leads, is refused: 127.0.0.0/8 is this machine; "
                                     "requests are answered with 503")
        for path in ("/web", "/outside"):
            line.proxy.wait_answers("a.test", path, status=503)
        assert pod.count == 0
        # The administrator allows it explicitly.
        line.provider.stop()
        line.provider.arguments += LOOPBACK
        line.translator.stop()
        line.translator.arguments += LOOPBACK
        line.translator.start()
        line.provider.start()
        line.wait_serves("a.test", "/web", "pod")
        line.wait_serves("a.test", "/outside", "pod")
        wait_for(lambda: ctl.explain("a").get("state") == "applied" and refusals(ctl, "a") == "", "nothing to be refused", PATIENCE)


def layer4(line, name: str, port: int) -> dict:
    made = line.cluster.service(name, port=port)
    made["spec"] |= {"type": "LoadBalancer", "loadBalancerClass": "sluice.io/load-balancer", "allocateLoadBalancerNodePorts": False}
    return made


@pytest.mark.parametrize("proxy", PROXIES)
def test_no_request_is_sent_to_our_own_listeners(proxy, pods):
    pod = pods("pod")
    with ProxyLine(proxy) as line:
        ctl, cluster, address = Ctl(line), line.cluster, line.proxy.address
        later = line.proxy.other_port()
        cluster.apply(cluster.service("half"), cluster.slice("half", [address], line.proxy.http), cluster.slice("half", [pod.ip], suffix="b"),
                      cluster.service("loop"), cluster.slice("loop", [address], line.proxy.http),
                      cluster.service("later"), cluster.slice("later", [address], later))
        publish(line, "a", "half", "loop", "later")
        line.wait_serves("a.test", "/half", "pod")
        ours = f"endpoint {address}:{line.proxy.http} of Service"
        wait_refused(line, ctl, "a", f"{ours} half is refused: the load balancer itself listens there; the others are used")
        wait_refused(line, ctl, "a", f"{ours} loop is refused: the load balancer itself listens there; requests are answered with 503")
        assert {line.proxy.reached("a.test", "/half") for _ in range(8)} == {"pod"}
        line.proxy.wait_answers("a.test", "/loop", status=503)
        # A port that is nobody's may become ours.
        assert "Service later" not in refusals(ctl, "a")
        cluster.apply(layer4(line, "l4", later), cluster.slice("l4", [pod.ip]))
        wait_refused(line, ctl, "a", f"endpoint {address}:{later} of Service later is refused: the load balancer itself listens there")
        line.proxy.wait_answers("a.test", "/later", status=503)
        # And nobody's again.
        cluster.delete("services", "l4")
        wait_for(lambda: "Service later" not in refusals(ctl, "a"), "nothing to be refused", PATIENCE)
