# SPDX-License-Identifier: Apache-2.0
"""TLS from each local proxy to its backends, with real handshakes: who is trusted, for which name, who we are, and HTTP/2 within."""
from __future__ import annotations

import ssl
import threading

import pytest

from lib.backend import Backend, H2Backend
from lib.certs import Authority, chained, self_signed
from lib.local_proxy import PATIENCE, certificate, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import H2Client
from lib.wait import wait_for

UNSERVED = (502, 503)


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request):
    with proxy_class(request.param)() as running:
        running.apply(certificate("default", self_signed("default.test")), running.balancer(https=True, default_certificate="default"))
        yield running


@pytest.fixture
def alone(proxy):
    """Another one of the same kind, for tests that count reloads: the first may still have authorities to drop that no pool names any more."""
    with type(proxy)() as running:
        running.apply(running.balancer())
        yield running


@pytest.fixture(scope="module")
def ours() -> Authority:
    return Authority("ours")


@pytest.fixture(scope="module")
def theirs() -> Authority:
    return Authority("theirs")


def https(name: str, *endpoints, **tls) -> dict:
    return pool(name, *endpoints, protocol="https", tls=tls)


def by_ca(authority: Authority, name: str = "s.internal", **more) -> dict:
    return {"verify": "ca", "ca": authority.pem, "server_name": name, **more}


def as_client(pair) -> dict:
    return {"client_chain": pair.pem, "client_key": pair.key}


class Asking:
    """A client that keeps asking for a host; `seen` is what it got, as reached() tells it."""

    def __init__(self, proxy, name: str):
        self.seen: list[str | int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask, args=(proxy, name))

    def _ask(self, proxy, name: str) -> None:
        while not self._stop.is_set():
            self.seen.append(proxy.reached(name))

    def wait_more(self) -> None:
        """Until a request that is sent from now on has been answered."""
        count = len(self.seen)
        wait_for(lambda: len(self.seen) > count + 1, "two more answers", PATIENCE)

    def __enter__(self) -> "Asking":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def test_a_backend_is_checked(proxy, apply, pods, ours, theirs):
    good, other = pods("good", tls=ours.sign("s.internal")), pods("other", tls=theirs.sign("s.internal"))
    late, misnamed = pods("late", tls=ours.sign("s.internal", days=-1)), pods("misnamed", tls=ours.sign("t.internal"))
    apply(https("good", good, **by_ca(ours)), https("other", other, **by_ca(ours)), https("late", late, **by_ca(ours)),
          https("misnamed", misnamed, **by_ca(ours)), https("right", misnamed, **by_ca(ours, "t.internal")),
          https("system", good, verify="system", server_name="s.internal"),
          *(host(f"{name}.test", ("/", name)) for name in ("good", "other", "late", "misnamed", "right", "system")))
    assert proxy.reached("good.test") == "good" and good.server_names[-1] == "s.internal"
    assert proxy.reached("good.test", tls=True) == "good"
    assert proxy.reached("other.test") in UNSERVED and other.count == 0
    assert proxy.reached("late.test") in UNSERVED and late.count == 0
    assert proxy.reached("misnamed.test") in UNSERVED
    assert proxy.reached("right.test") == "misnamed"
    assert proxy.reached("system.test") in UNSERVED, "nobody's system trusts it"


def test_unchecked_only_when_it_is_said(proxy, apply, pods, ours):
    pod = pods("pod", tls=self_signed("whatever.test"))
    apply(https("off", pod, verify="off"), https("named", pod, verify="off", server_name="n.internal"), https("on", pod, **by_ca(ours)),
          host("off.test", ("/", "off")), host("named.test", ("/", "named")), host("on.test", ("/", "on")))
    for _ in range(8):  # both workers of nginx have a connection that they keep
        assert proxy.reached("off.test") == "pod" and pod.server_names[-1] == "off.test"
    assert proxy.reached("named.test") == "pod" and pod.server_names[-1] == "n.internal", "what is kept is not for another name"


def test_no_trust_is_borrowed(proxy, apply, pods, ours, theirs):
    """What one pool may do, another pool of the same endpoint may not: neither a connection nor a session is shared."""
    pod = pods("pod", tls=ours.sign("s.internal"), clients_of=theirs.pem)
    me = theirs.sign("me")
    apply(https("known", pod, **by_ca(ours), **as_client(me)), https("unknown", pod, **by_ca(ours)),
          https("astray", pod, **by_ca(theirs), **as_client(me)), https("elsewhere", pod, **by_ca(ours, "t.internal"), **as_client(me)),
          https("open", pod, verify="off", **as_client(me)), https("nobody", pod, verify="off"),
          *(host(f"{name}.test", ("/", name)) for name in ("known", "unknown", "astray", "elsewhere", "open", "nobody")))
    for _ in range(3):
        assert proxy.reached("known.test") == "pod"
        assert proxy.reached("open.test") == "pod"
        for name in ("unknown", "astray", "elsewhere", "nobody"):
            assert proxy.reached(f"{name}.test") in UNSERVED, name


def test_handshakes_are_made_as_is_said(proxy, apply, pods, ours):
    """A server name that is not sent is still checked; versions and ciphers are those that are offered; and no such connection serves another pool of the same endpoint."""
    pair = ours.sign("s.internal", "t_u")
    pod, new = pods("pod", tls=pair), pods("new", tls=pair, least=ssl.TLSVersion.TLSv1_3)
    old = {"min_version": 12, "max_version": 12}
    cipher = "ECDHE-ECDSA-AES128-GCM-SHA256"  # not the one that these backends like best
    pools = {"usual": (pod, {"verify": "off"}), "nameless": (pod, {"verify": "off", "nameless": True}), "kept": (pod, by_ca(ours, nameless=True)),
             "wrong": (pod, by_ca(ours, "x.internal", nameless=True)), "underscore": (pod, by_ca(ours, "t_u")), "old": (pod, {"verify": "off", **old}),
             "chosen": (pod, by_ca(ours, **old, ciphers=[cipher])), "new": (new, by_ca(ours)), "newest": (new, by_ca(ours, min_version=13, max_version=13)),
             "both": (pod, by_ca(ours, min_version=12, max_version=13)), "never": (new, by_ca(ours, **old))}
    apply(*(https(name, endpoint, **tls) for name, (endpoint, tls) in pools.items()), *(host(f"{name}.test", ("/", name)) for name in pools))

    def shook(pool_id: str, **wanted: str | None) -> None:
        seen = proxy.request(f"{pool_id}.test").json["tls"]
        assert {key: seen[key] for key in wanted} == wanted, pool_id

    for _ in range(4):
        shook("usual", name="usual.test", version="TLSv1.3")
        shook("nameless", name=None, version="TLSv1.3")
        shook("kept", name=None)
        shook("underscore", name="t_u")
        shook("old", name="old.test", version="TLSv1.2")
        shook("chosen", name="s.internal", version="TLSv1.2", cipher=cipher)
        shook("new", version="TLSv1.3")
        shook("newest", version="TLSv1.3")
        shook("both", version="TLSv1.3")
        assert proxy.reached("wrong.test") in UNSERVED and proxy.reached("never.test") in UNSERVED


def test_chains_have_a_length(proxy, apply, pods, ours):
    """Authorities between an endpoint's certificate and the one that is trusted."""
    if proxy.name == "haproxy":
        pytest.skip("HAProxy takes chains of any length")
    deep = pods("deep", tls=chained("s.internal", ours, 2))
    apply(*(https(f"d{depth}", deep, **by_ca(ours, max_depth=depth)) for depth in (1, 2, 3)), *(host(f"d{depth}.test", ("/", f"d{depth}")) for depth in (1, 2, 3)))
    assert proxy.reached("d1.test") in UNSERVED and proxy.reached("d2.test") == proxy.reached("d3.test") == "deep"


def test_what_no_handshake_can_be_made_of_is_told(proxy, apply, pods, ours):
    pod = pods("pod", tls=ours.sign("s.internal"))
    bad = [{"min_version": 11}, {"max_version": 1}, {"min_version": 13, "max_version": 12}, {"ciphers": ["NOBODY-KNOWS-IT"]}, {"ciphers": ["AES128-SHA\n}"]},
           {"ciphers": ["@SECLEVEL=0:ALL"]}]
    apply(https("good", pod, **by_ca(ours)), *(https(f"b{index}", pod, **by_ca(ours, **tls)) for index, tls in enumerate(bad)), host("good.test", ("/", "good")),
          *(host(f"b{index}.test", ("/", f"b{index}")) for index, _ in enumerate(bad)))
    assert proxy.reached("good.test") == "pod"
    assert [proxy.reached(f"b{index}.test") for index, _ in enumerate(bad)] == [503] * len(bad)


def test_a_client_certificate_is_shown_and_renewed(alone, pods, ours, theirs):
    first, second = pods("first", tls=ours.sign("s.internal"), clients_of=theirs.pem), pods("second", tls=ours.sign("s.internal"), clients_of=ours.pem)
    alone.apply(https("p", first, **by_ca(ours), **as_client(theirs.sign("me"))), host("a.test", ("/", "p")))
    assert alone.reached("a.test") == "first"
    alone.apply(https("p", second, **by_ca(ours), **as_client(theirs.sign("me"))))
    assert alone.reached("a.test") in UNSERVED
    workers = alone.workers()
    alone.apply(https("p", second, **by_ca(ours), **as_client(ours.sign("me"))))
    assert alone.reached("a.test") == "second"
    assert not alone.was_reloaded_since(workers)


def test_grpc_over_tls(proxy, apply, pods, ours):
    pod = pods("grpc", H2Backend, tls=ours.sign("g.internal"))
    apply(https("g", pod, http2=True, **by_ca(ours, "g.internal")), https("off", pod, http2=True, verify="off"), https("bad", pod, http2=True, **by_ca(ours)),
          *(host(f"{name}.test", ("/", name)) for name in ("g", "off", "bad")))
    for name, want in (("g", 200), ("off", 200)):
        with H2Client(proxy.address, proxy.https, sni=f"{name}.test") as client:
            for number in range(3):
                answer = client.request(f"{name}.test", f"/echo.Echo/Say{number}", method="POST", body=b"\0\0\0\0\2hi",
                                        headers={"content-type": "application/grpc", "te": "trailers"})
                assert answer.status == want and answer.trailers.get("grpc-status", answer.headers.get("grpc-status")) == "0"
                assert answer.json["version"] == "HTTP/2" and answer.json["body"] == "\0\0\0\0\2hi"
    assert pod.server_names[0] == "g.internal"
    assert proxy.reached("g.test", "/plain") == "grpc"  # a client that speaks HTTP/1.1
    assert proxy.reached("bad.test") in UNSERVED


def test_a_checked_backend_is_health_checked_likewise(proxy, apply, pods, ours, theirs):
    good, sick = pods("good", tls=ours.sign("s.internal")), pods("sick", tls=ours.sign("s.internal"))
    other = pods("other", tls=theirs.sign("s.internal"))
    check = {"service": "web", "type": "http", "path": "/healthz", "interval_ms": 200, "timeout_ms": 5000, "rise": 1, "fall": 1}
    sick.is_healthy = False
    apply({**https("p", good, sick, other, **by_ca(ours)), "health_check": check}, host("a.test", ("/", "p")))
    wait_for(lambda: {proxy.reached("a.test") for _ in range(10)} == {"good"}, "only the one that is trusted and well", PATIENCE)
    sick.is_healthy, good.is_healthy = True, False
    wait_for(lambda: {proxy.reached("a.test") for _ in range(10)} == {"sick"}, "only the other one", PATIENCE)


@pytest.mark.parametrize("kind", ["in the clear", "with TLS"])
def test_health_checks_by_http2(proxy, apply, pods, ours, kind):
    """HAProxy asks; nginx, which cannot, looks whether somebody is there, and its Service's owner hears of it."""
    tls = {"tls": ours.sign("g.internal")} if kind == "with TLS" else {}
    good, sick = pods("good", H2Backend, **tls), pods("sick", H2Backend, **tls)
    check = {"service": "web", "type": "http", "path": "/healthz", "interval_ms": 200, "timeout_ms": 5000, "rise": 1, "fall": 1}
    kinds = https("p", good, sick, http2=True, **by_ca(ours, "g.internal")) if tls else pool("p", good, sick, protocol="h2c")
    sick.is_healthy = False
    apply({**kinds, "health_check": check}, host("a.test", ("/", "p")))
    told = [notice["message"] for notice in proxy.wait_applied().get("notices", []) if "health checks" in notice["message"]]
    assert len(told) == (proxy.name == "nginx")
    before = sick.accepted
    wait_for(lambda: sick.accepted > before + 3, "some checks", PATIENCE)
    served = {"good"} if proxy.name == "haproxy" else {"good", "sick"}
    wait_for(lambda: {proxy.reached("a.test") for _ in range(10)} == served, f"{served} to serve", PATIENCE)
    sick.is_healthy = True
    wait_for(lambda: {proxy.reached("a.test") for _ in range(10)} == {"good", "sick"}, "both to serve", PATIENCE)


def test_a_new_authority_costs_no_request(proxy, apply, pods, ours, theirs):
    """CA and certificate change in turns while clients keep asking, as when a CA is replaced."""
    old, new = pods("old", tls=ours.sign("s.internal")), pods("new", tls=theirs.sign("s.internal"))
    both = {"verify": "ca", "ca": ours.pem + theirs.pem, "server_name": "s.internal"}
    apply(https("p", old, **by_ca(ours)), host("a.test", ("/", "p")))
    assert proxy.reached("a.test") == "old"
    with Asking(proxy, "a.test") as asking:
        for objects, want in ((https("p", old, **both), "old"), (https("p", new, **both), "new"), (https("p", new, **by_ca(theirs)), "new")):
            apply(objects)
            count = len(asking.seen)
            wait_for(lambda: want in asking.seen[count:], want, PATIENCE)
    assert set(asking.seen) == {"old", "new"}, set(asking.seen)


def test_trust_that_changed_while_the_provider_was_away(proxy, apply, pods, ours, theirs):
    pod = pods("pod", tls=ours.sign("s.internal"), clients_of=theirs.pem)
    me = as_client(theirs.sign("me"))
    apply(https("p", pod, **by_ca(ours), **me), host("a.test", ("/", "p")))
    assert proxy.reached("a.test") == "pod"
    proxy.kill_provider()
    proxy.send(https("p", pod, verify="ca", ca=ours.pem + theirs.pem, server_name="s.internal", **as_client(theirs.sign("me"))))
    with Asking(proxy, "a.test") as asking:
        proxy.start()
        proxy.apply()
        asking.wait_more()
    assert set(asking.seen) == {"pod"}, set(asking.seen)


def test_what_is_applied_is_served_by_every_worker(proxy, apply, pods, ours):
    """A CA that is new can want a reload, and for a moment there are workers who know nothing of it."""
    pod = pods("pod", tls=ours.sign("s.internal"))
    for turn in range(6):
        both = ours.pem + Authority(f"new-{turn}").pem
        apply(https(f"p{turn}", pod, verify="ca", ca=both, server_name="s.internal"), host(f"{turn}.test", ("/", f"p{turn}")))
        assert {proxy.reached(f"{turn}.test") for _ in range(20)} == {"pod"}, turn


def test_authorities_of_the_system(proxy, pods, ours, theirs, tmp_path):
    good, other = pods("good", tls=ours.sign("s.internal")), pods("other", tls=theirs.sign("s.internal"))
    trusted = tmp_path / "ours.pem"
    trusted.write_bytes(ours.pem)
    tmp_path.chmod(0o755)
    with type(proxy)(arguments=["--trusted-certificates", str(trusted)]) as trusting:
        tls = {"verify": "system", "server_name": "s.internal"}
        trusting.apply(trusting.balancer(), https("good", good, **tls), https("other", other, **tls), https("name", good, **tls | {"server_name": "x.test"}),
                       *(host(f"{name}.test", ("/", name)) for name in ("good", "other", "name")))
        assert trusting.reached("good.test") == "good"
        assert trusting.reached("other.test") in UNSERVED and trusting.reached("name.test") in UNSERVED
        trusting.kill_proxy()
        trusting.wait_answers("good.test")


def test_what_cannot_be_used_is_refused_alone(proxy, apply, pods, ours):
    pod = pods("pod", tls=ours.sign("s.internal"))
    bad = {
        "ca": {"verify": "ca", "ca": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "server_name": "s.internal"},
        "name": by_ca(ours, "a b;{}"), "nameless": {"verify": "ca", "ca": ours.pem},
        "client": by_ca(ours, client_chain=ours.pem, client_key=b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
    }
    apply(*(https(f"bad-{name}", pod, **tls) for name, tls in bad.items()), https("good", pod, **by_ca(ours)),
          *(host(f"{name}.test", ("/", f"bad-{name}")) for name in bad), host("good.test", ("/", "good")))
    assert proxy.reached("good.test") == "pod"
    assert {proxy.reached(f"{name}.test") for name in bad} == {503}
    notices = proxy.wait_applied()["notices"]
    assert len([notice for notice in notices if notice["service"] == "default/web"]) == len(bad), notices


def test_all_of_it_lives_through_restarts(alone, pods, ours, theirs):
    pod = pods("pod", tls=ours.sign("s.internal"), clients_of=theirs.pem)
    alone.apply(https("p", pod, **by_ca(ours), **as_client(theirs.sign("me"))), host("a.test", ("/", "p")))
    assert alone.reached("a.test") == "pod"
    alone.kill_proxy()
    alone.wait_answers("a.test")
    masters, reloads = alone.masters(), len(alone.provider.events("reloaded"))
    alone.restart()
    alone.wait_applied()
    assert alone.reached("a.test") == "pod" and alone.masters() == masters
    assert len(alone.provider.events("reloaded")) == reloads
    alone.apply(https("p", pod, **by_ca(theirs), **as_client(theirs.sign("me"))))
    assert alone.reached("a.test") in UNSERVED
