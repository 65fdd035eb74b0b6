# SPDX-License-Identifier: Apache-2.0
"""Pools that are host names, through each local proxy: looked up, followed, and refused where they must not lead."""
from __future__ import annotations


import pytest

from lib.backend import LOOPBACK, Backend
from lib.certs import Authority, self_signed
from lib.dns_server import SERVFAIL, DnsServer
from lib.local_proxy import PATIENCE, certificate, host, passthrough, pool
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

FORBIDDEN = "127.66.6.0/24"


@pytest.fixture(scope="module")
def names():
    with DnsServer() as server:
        yield server


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request, names):
    """Loopback, where all of a test is, is allowed; another network is not."""
    with proxy_class(request.param)(arguments=["--dns-server", names.address, "--refuse-egress", FORBIDDEN, *LOOPBACK]) as running:
        running.apply(certificate("default", self_signed("default.test")), running.balancer(https=True, default_certificate="default"))
        yield running


@pytest.fixture
def apply(apply, names):
    """The same, and the name server answers again before anything is taken away."""
    yield apply
    names.fall_silent(False)


def external(pool_id: str, name: str, **more) -> dict:
    return pool(pool_id, external_name=name, **more)


def reason(proxy) -> list[str]:
    """What the Services hear."""
    return [f'{notice["service"]} {notice["reason"]}: {notice["message"]}' for notice in proxy.wait_applied().get("notices", [])]


def test_a_name_leads_to_its_addresses(proxy, apply, pods, names):
    one, two = pods("one"), pods("two")
    names.put("both.example", one.ip, two.ip, ttl=60)
    apply(external("p", "both.example"), host("a.test", ("/", "p")))
    wait_for(lambda: {proxy.reached("a.test") for _ in range(8)} == {"one", "two"}, "both addresses", PATIENCE)
    assert proxy.request("a.test").json["host"] == "a.test"
    assert reason(proxy) == []


def test_a_change_is_followed(proxy, apply, pods, names):
    old, new = pods("old"), pods("new")
    names.put("moves.example", old.ip, ttl=1)
    apply(external("p", "moves.example"), external("q", "moves.example"), host("a.test", ("/", "p")), host("b.test", ("/", "q")))
    proxy.wait_answers("a.test")
    workers = proxy.workers()
    names.put("moves.example", new.ip, ttl=1)
    wait_for(lambda: proxy.reached("a.test") == "new", "the new address", PATIENCE)
    assert proxy.reached("b.test") == "new" and not proxy.was_reloaded_since(workers)
    apply(external("p", "moves.example"), host("a.test", ("/", "p")), gone=[("pool", "q"), ("virtual-host", "sluice/b.test")])
    assert proxy.reached("a.test") == "new"


def test_no_such_name_hurts_only_itself(proxy, apply, pods, names):
    pod = pods("pod")
    names.remove("missing.example")
    apply(external("p", "missing.example"), pool("q", pod), host("a.test", ("/", "p")), host("b.test", ("/", "q")))
    assert proxy.reached("a.test") == 503 and proxy.reached("b.test") == "pod"
    wait_for(lambda: reason(proxy) == [
        "default/web ExternalNameUnresolved: host missing.example: there is no such name; requests are answered with 503"], "the reason", PATIENCE)
    names.put("missing.example", ttl=1)
    wait_for(lambda: "it has no address" in str(reason(proxy)), "another reason", PATIENCE)
    names.put("missing.example", pod.ip)
    proxy.wait_answers("a.test")
    wait_for(lambda: reason(proxy) == [], "no reason any more", PATIENCE)
    names.remove("missing.example")
    proxy.wait_answers("a.test", status=503)


def test_addresses_stay_while_nobody_can_be_asked(proxy, apply, pods, names):
    pod = pods("pod")
    names.put("known.example", pod.ip, ttl=1)
    apply(external("p", "known.example"), host("a.test", ("/", "p")))
    proxy.wait_answers("a.test")
    names.put("known.example", refusal=SERVFAIL)
    wait_for(lambda: "the addresses that it had are used" in str(reason(proxy)), "the failure", PATIENCE)
    assert proxy.reached("a.test") == "pod"
    names.fall_silent()
    # The provider dies, and knows them when it is back.
    workers = proxy.workers()
    proxy.restart()
    wait_for(lambda: "no name server gives an answer" in str(reason(proxy)), "the silence", PATIENCE)
    assert proxy.reached("a.test") == "pod" and not proxy.was_reloaded_since(workers)
    names.fall_silent(False)
    names.put("known.example", pod.ip, ttl=60)
    wait_for(lambda: reason(proxy) == [], "an answer", PATIENCE)


def test_names_must_not_lead_everywhere(proxy, apply, pods, names):
    inner, outer = pods("inner", ip="127.66.6.1"), pods("outer")
    names.put("inside.example", inner.ip, ttl=1)
    names.put("half.example", inner.ip, outer.ip, ttl=60)
    apply(external("p", "inside.example"), external("q", "half.example"), host("a.test", ("/", "p")), host("b.test", ("/", "q")))
    proxy.wait_answers("b.test")
    assert {proxy.reached("b.test") for _ in range(6)} == {"outer"}
    wait_for(lambda: "address 127.66.6.1 of host inside.example, to which Service web leads, is refused: it is in --refuse-egress" in str(reason(proxy)), "the reason", PATIENCE)
    assert proxy.reached("a.test") == 503 and inner.count == 0
    assert "of host half.example, to which Service web leads, is refused: it is in --refuse-egress 127.66.6.0/24; the others are used" in str(reason(proxy))
    # An address that was good is left when the name goes astray.
    names.put("inside.example", outer.ip, ttl=1)
    wait_for(lambda: proxy.reached("a.test") == "outer", "a good address", PATIENCE)
    names.put("inside.example", inner.ip, ttl=1)
    proxy.wait_answers("a.test", status=503)
    assert inner.count == 0


def test_loopback_is_refused_unless_it_is_allowed(names, pods, proxy):
    pod = pods("pod")
    names.put("here.example", pod.ip, ttl=60)
    # A network that is refused adds to those that always are.
    with type(proxy)(arguments=["--dns-server", names.address, "--refuse-egress", "10.0.0.0/8"]) as careful:
        careful.apply(external("p", "here.example"), host("a.test", ("/", "p")), careful.balancer())
        wait_for(lambda: "is refused: 127.0.0.0/8 is this machine" in str(reason(careful)), "the reason", PATIENCE)
        assert careful.reached("a.test") == 503 and pod.count == 0


def test_a_name_with_tls_and_passed_through(proxy, apply, pods, names):
    ours = Authority("ours")
    pod, inner = pods("pod", tls=ours.sign("web.example")), pods("inner", tls=ours.sign("pass.test"))
    names.put("web.example", pod.ip, ttl=60)
    names.put("pass.example", inner.ip, ttl=60)
    tls = {"verify": "ca", "ca": ours.pem, "server_name": "web.example"}
    apply(external("p", "web.example", protocol="https", tls=tls), host("a.test", ("/", "p")),
          external("t", "pass.example", protocol="tcp"), passthrough("pass.test", "t"))
    proxy.wait_answers("a.test")
    assert pod.server_names[-1] == "web.example"
    proxy.wait_answers("pass.test", tls=True)
