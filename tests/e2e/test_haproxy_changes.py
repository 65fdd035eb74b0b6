# SPDX-License-Identifier: Apache-2.0
"""What changes while requests run: nothing of it reloads HAProxy or fails a request, and HAProxy and its files end up as wanted."""
from __future__ import annotations

import collections
import contextlib
import http.client
import itertools
import operator
import os
import pathlib
import random
import re
import shutil
import threading

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.haproxy import HAProxy
from lib.local_proxy import certificate, endpoint_of, host, pool
from lib.raw_http import client_context
from lib.traffic import Clients, Flood
from lib.wait import wait_for

CHANGES = 10000
FLIPS = 3000  # of which some hit a request between its two looks


class Load(Clients):
    """Clients that keep their connections; every answer but 200 and every failure counts."""

    def __init__(self, proxy: HAProxy, hosts: list[str], clients: int = 4, tls: bool = False):
        super().__init__(clients)
        self.good = 0
        self._proxy, self._hosts, self._tls = proxy, hosts, tls

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls:
            return http.client.HTTPSConnection(self._proxy.address, self._proxy.https, timeout=60, context=client_context())
        return http.client.HTTPConnection(self._proxy.address, self._proxy.http, timeout=60)

    def _run(self, _: int) -> None:
        connection = self._connect()
        count = 0
        while not self._end.is_set():
            count += 1
            try:
                connection.request("GET", f"/{count}", headers={"Host": random.choice(self._hosts)})
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    self.good += 1
                else:
                    self.failures.append(f"status {answer.status}")
                # HAProxy says before it closes, also in a reload: a client that hears loses nothing.
                if answer.will_close or self._tls:
                    connection.close()
            except (OSError, http.client.HTTPException) as problem:
                self.failures.append(f"{type(problem).__name__}: {problem}")
                connection.close()
        connection.close()

    def __enter__(self) -> "Load":
        super().__enter__()
        wait_for(lambda: self.good or self.failures, "the first answer", 60)
        return self


def rows_of(proxy: HAProxy, name: str) -> tuple[dict, dict]:
    """A map as HAProxy has it, and as its file says."""
    path = proxy.state_dir / "maps" / name
    running = {}
    for line in proxy.cli(f"show map {path}").splitlines():
        if line.startswith("0x"):
            _, key, value = line.split(" ", 2)
            assert key not in running, f"{key} stands twice"
            running[key] = value
    filed: dict[str, str] = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            key, value = line.split(" ", 1)
            filed.setdefault(key, value)
    return running, filed


def servers_of(proxy: HAProxy) -> tuple[collections.Counter, collections.Counter]:
    """Servers with their weights as HAProxy has them, and as the files say. What is in maintenance only waits for its end."""
    running: collections.Counter = collections.Counter()
    for line in proxy.cli("show servers state").splitlines():
        words = line.split()
        if len(words) > 18 and words[1].startswith("s0") and words[6] == "0":
            running[words[1], words[3], words[7]] += 1
    filed: collections.Counter = collections.Counter()
    backend = ""
    usual = re.search(r"^\tdefault-server weight (\d+) ", (proxy.state_dir / "haproxy.d/00-main.cfg").read_text(), re.M)[1]
    for path in sorted((proxy.state_dir / "haproxy.d").glob("slots-*.cfg")):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] == ["backend"]:
                backend = words[1]
            elif words[:1] == ["server"]:
                filed[backend, words[1], words[4] if words[3:4] == ["weight"] else usual] += 1
    return running, filed


def assert_disk_is_running_state(proxy: HAProxy) -> None:
    for name in ("hosts.map", "prefixes.map", "pools.map"):
        running, filed = rows_of(proxy, name)
        assert running == filed
    # Endpoints are written some time later.
    wait_for(lambda: operator.eq(*servers_of(proxy)), "the servers on the disk to be those that run", 60)


def random_change(proxy: HAProxy, rng: random.Random, pods: list[Backend], state: dict) -> None:
    """One of those that happen all day; the routes that are asked for always keep one good endpoint."""
    kind = rng.randrange(10)
    number = rng.randrange(100)
    if kind < 5:
        name = f"live{number % 4}"
        proxy.send(pool(name, *rng.sample(pods, rng.randrange(1, len(pods) + 1))))
    elif kind < 7:
        rules = [(f"/p{rng.randrange(20)}", f"spare{rng.randrange(20)}") for _ in range(rng.randrange(1, 4))]
        proxy.send(host(f"other{number}.test", *rules, ("/", f"spare{number % 20}")))
    elif kind < 8:
        proxy.send(host(f"live{number % 4}.test", ("/x", f"spare{number % 20}"), ("/", f"live{rng.randrange(4)}")))
    elif kind < 9:
        proxy.remove(("virtual-host", f"sluice/other{number}.test"))
    else:
        state["pair"] = state["pairs"][rng.randrange(len(state["pairs"]))]
        proxy.send(certificate("live", state["pair"], "live0.test", "live1.test"))
    proxy.commit()


def test_ten_thousand_changes_under_load():
    """Routes, endpoints and certificates in any mixture: no reload, no failed request, and the files are the running state."""
    rng = random.Random(20261122)
    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(Backend(f"pod{i}")) for i in range(4)]
        proxy = stack.enter_context(HAProxy(start=False))
        state = {"pairs": [self_signed("live0.test", "live1.test") for _ in range(4)]}
        proxy.send(certificate("default", self_signed("default.test")), certificate("live", state["pairs"][0], "live0.test", "live1.test"),
                   *(pool(f"live{i}", *pods) for i in range(4)), *(pool(f"spare{i}", pods[0]) for i in range(20)),
                   *(host(f"live{i}.test", ("/", f"live{i}")) for i in range(4)),
                   proxy.balancer(https=True, default_certificate="default"))
        proxy.commit()
        proxy.start()
        proxy.wait_applied()
        workers = proxy.workers()
        hosts = [f"live{i}.test" for i in range(4)]
        with Load(proxy, hosts) as plain, Load(proxy, hosts[:2], clients=1, tls=True) as tls:
            for _ in range(CHANGES):
                random_change(proxy, rng, pods, state)
            proxy.apply(host("last.test", ("/", "live0")))
            seen = (plain.good, tls.good)
            wait_for(lambda: plain.good > seen[0] and tls.good > seen[1], "requests after the last change", 60)
        assert not plain.failures and not tls.failures, (plain.failures[:5], tls.failures[:5])
        assert proxy.workers() == workers
        assert proxy.provider.events("reload") == [] and proxy.provider.events("proxy-answer") == []
        assert proxy.request("live0.test", tls=True).certificate == (state.get("pair") or state["pairs"][0]).der
        assert_disk_is_running_state(proxy)


def test_no_request_finds_a_pool_that_has_gone():
    """A route moves to a new pool and its old pool goes in one commit, again and again. The pools are empty, so that HAProxy answers by itself
    as fast as it can; whoever is led to a pool that is not there gets another answer. There are slots for all of them, because a reload would end
    connections between two requests, which is another matter."""
    with HAProxy(arguments=["--slots", "1100"]) as proxy:
        proxy.send(pool("p0"), host("web.test", ("/", "p0")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        with Flood(proxy.address, proxy.http, "web.test") as flood:
            for number in range(1, 1001):
                before = flood.answers.total()
                proxy.send(pool(f"p{number}"), host("web.test", ("/", f"p{number}")))
                proxy.remove(("pool", f"p{number - 1}"))
                proxy.commit()
                wait_for(lambda before=before: flood.answers.total() > before or flood.failures, "answers", 60, 0.001)
            proxy.apply()
        assert not flood.failures
        assert {status for status, _ in flood.answers} == {503}
        assert not [body for _, body in flood.answers if b"no endpoints" in body], flood.answers


def interrupt_each_other(proxy: HAProxy) -> None:
    """HAProxy's threads share one processor, and each second one gives way: what it does is interrupted anywhere, such as by a command."""
    for worker in proxy.workers():
        for number, thread in enumerate(sorted(pathlib.Path(f"/proc/{worker}/task").iterdir())):
            os.sched_setaffinity(int(thread.name), {max(os.sched_getaffinity(0))})
            if number % 2 == 1:
                os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))


def test_a_pool_that_goes_while_its_route_is_looked_up():
    """A route is moved and the row of its former pool goes at once, within one line of HAProxy's socket, while requests are looked up: those
    that found the former pool a moment ago look again. The provider, which would leave time between both, is away."""
    with HAProxy() as proxy:
        proxy.apply(pool("p0"), pool("p1"), host("web.test", ("/x", "p0", "exact"), ("/other", "p1", "exact")), proxy.balancer())
        proxy.kill_provider()
        tables = [f"{proxy.state_dir}/maps/{name}.map" for name in ("hosts", "pools")]
        rows, backends = (dict(line.split(" ", 2)[1:] for line in proxy.cli(f"show map {table}").splitlines() if line) for table in tables)
        route, other = (next(key for key in rows if key.endswith(path)) for path in ("/x", "/other"))
        ids = [rows[route], rows[other]]
        interrupt_each_other(proxy)
        with Flood(proxy.address, proxy.http, "web.test", burst=10) as flood:
            for number in range(FLIPS):
                old, new = ids if number % 2 == 0 else ids[::-1]
                before = list(flood.bursts)
                said = proxy.cli(f"add map {tables[1]} {new} {backends[new]}; " * (number > 0)
                                 + f"set map {tables[0]} {route} {new}; del map {tables[1]} {old}")
                assert not said.strip(), said
                # No request has to look a third time.
                wait_for(lambda before=before: flood.has_renewed(before) or flood.failures, "answers", 60, 0.0005)
        assert not flood.failures
        assert {status for status, _ in flood.answers} == {503}
        assert not [body for _, body in flood.answers if b"no endpoints" in body], flood.answers


def test_more_pools_than_slots():
    """The pool of slots grows by a reload that no client notices."""
    with Backend("pod") as pod, HAProxy(arguments=["--slots", "64"]) as proxy:
        proxy.send(pool("first", pod), host("first.test", ("/", "first")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        with Load(proxy, ["first.test"]) as load:
            for i in range(200):
                proxy.send(pool(f"p{i}", pod), host(f"h{i}.test", ("/", f"p{i}")))
            proxy.apply()
            for i in (0, 63, 64, 199):
                assert proxy.reached(f"h{i}.test") == "pod"
        assert not load.failures, load.failures[:5]
        assert 1 <= len(proxy.provider.events("reloaded")) <= 4
        assert_disk_is_running_state(proxy)


def backends(proxy: HAProxy) -> int:
    """How many HAProxy has for pools."""
    return len([line for line in proxy.cli("show backend").split() if line.startswith("s0")])


def count_reloads(proxy: HAProxy, since: int) -> int:
    """That the provider has logged from this line on."""
    return len([line for line in proxy.provider.lines[since:] if "event=reloaded" in line])


def sticky(name: str, pod: Backend) -> dict:
    """A pool with a cookie of its own, whose slots nobody else can use."""
    return pool(name, pod, stickiness={"cookie": f"c-{name}"})


def test_slots_that_nobody_needs_are_given_back():
    """A tenant that grew once keeps nothing for ever: without many reloads HAProxy is as small as before, also for the next one to start, and the numbers of
    its slots are had by others."""
    with Backend("pod") as pod, HAProxy(arguments=["--slots", "64", "--slots-idle", "2"]) as proxy:
        proxy.send(pool("first", pod), host("first.test", ("/", "first")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        before = backends(proxy)
        names = [f"p{i}" for i in range(100)]
        with Load(proxy, ["first.test"]) as load:
            for name in names:
                proxy.send(sticky(name, pod), host(f"{name}.test", ("/", name)))
            proxy.apply()
            assert backends(proxy) >= before + len(names)
            since = len(proxy.provider.lines)
            proxy.apply(gone=[("virtual-host", f"{name}.test") for name in names] + [("pool", name) for name in names])
            proxy.provider.wait_event("slots-released", since=since, timeout=60)
            wait_for(lambda: backends(proxy) == before, "HAProxy to have given them back", 60)
            proxy.wait_applied()
            # One, and another for the few whose last connections took their time.
            assert 1 <= count_reloads(proxy, since) <= 2
            groups = len(list((proxy.state_dir / "haproxy.d").glob("slots-*.cfg")))
            proxy.apply(sticky("new", pod), host("new.test", ("/", "new")))
            assert proxy.reached("new.test") == "pod"
            assert len(list((proxy.state_dir / "haproxy.d").glob("slots-*.cfg"))) == groups
        assert not load.failures, load.failures[:5]
        assert_disk_is_running_state(proxy)
        since = len(proxy.provider.lines)
        proxy.kill_provider()
        proxy.start()
        proxy.translator.wait_connection(proxy.provider.starts)
        proxy.apply()
        assert proxy.reached("new.test") == "pod" and proxy.reached("first.test") == "pod"
        # The files describe what runs.
        assert count_reloads(proxy, since) == 0
        assert_disk_is_running_state(proxy)


def test_a_few_slots_that_nobody_needs_go_with_another_reload():
    """They are worth none of their own."""
    with Backend("pod") as pod, HAProxy(arguments=["--slots", "512", "--slots-idle", "1", "--reload-interval", "0.1"]) as proxy:
        proxy.send(pool("first", pod), host("first.test", ("/", "first")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        before = backends(proxy)
        proxy.apply(sticky("p", pod), host("p.test", ("/", "p")))
        proxy.apply(gone=[("virtual-host", "p.test"), ("pool", "p")])
        assert backends(proxy) > before
        extra = proxy.other_port(proxy.http, proxy.https)
        listeners = itertools.cycle(([{"port": extra, "protocol": "http"}], []))
        since, asked = len(proxy.provider.lines), 0
        while not proxy.provider.events("slots-released"):
            assert (asked := asked + 1) < 200, "none of so many reloads gave them back"
            proxy.apply(proxy.balancer(listeners=next(listeners)))
        wait_for(lambda: backends(proxy) == before, "HAProxy to have given them back", 60)
        assert count_reloads(proxy, since) == asked
        assert proxy.reached("first.test") == "pod"


def test_a_tenant_that_comes_and_goes_makes_no_reloads():
    """What was made for it once is kept for a while."""
    with Backend("pod") as pod, HAProxy(arguments=["--slots", "64"]) as proxy:
        proxy.send(pool("first", pod), host("first.test", ("/", "first")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        proxy.apply(sticky("p", pod), host("p.test", ("/", "p")))
        since = len(proxy.provider.lines)
        for _ in range(5):
            proxy.apply(gone=[("virtual-host", "p.test"), ("pool", "p")])
            proxy.apply(sticky("p", pod), host("p.test", ("/", "p")))
            assert proxy.reached("p.test") == "pod"
        assert count_reloads(proxy, since) == 0


def test_listeners_come_and_go_without_a_failed_request():
    with Backend("pod") as pod, HAProxy() as proxy:
        proxy.send(pool("web", pod), host("web.test", ("/", "web")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        extra = proxy.other_port(proxy.http, proxy.https)
        with Load(proxy, ["web.test"]) as load:
            proxy.apply(proxy.balancer(listeners=[{"port": extra, "protocol": "http"}]))
            first, proxy.http = proxy.http, extra
            assert proxy.reached("web.test") == "pod"
            proxy.http = first
            proxy.apply(proxy.balancer())
        assert not load.failures, load.failures[:5]
        proxy.http = extra
        with pytest.raises(OSError):
            proxy.request("web.test")


def test_an_endpoint_with_running_requests_is_left_to_end():
    """It gets nothing new, what runs goes on, and it is forgotten once that has ended."""
    with Backend("old") as old, Backend("new") as new, HAProxy() as proxy:
        proxy.send(pool("web", old), host("web.test", ("/", "web")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        answers: list[object] = []
        client = threading.Thread(target=lambda: answers.append(proxy.reached("web.test", "/?hold")), daemon=True)
        client.start()
        wait_for(lambda: old.count == 1, "the request to reach the endpoint", 60)
        proxy.apply(pool("web", new))
        assert {proxy.reached("web.test") for _ in range(20)} == {"new"}
        old.release()
        client.join(timeout=60)
        assert answers == ["old"]
        # Not only when HAProxy closes what has been idle for long.
        wait_for(lambda: f"{old.ip}_" not in proxy.cli("show servers state"), "the old server to be deleted", 30)
        wait_for(lambda: not old._connections, "its last connection to be closed")


def test_an_endpoint_with_running_requests_comes_back_and_goes():
    """It is wanted again before HAProxy has said that it cannot be deleted now: when it goes once more, it gets nothing new from then on."""
    with Backend("old") as old, Backend("new") as new, HAProxy() as proxy:
        proxy.apply(pool("web", old), host("web.test", ("/", "web")), proxy.balancer())
        client = threading.Thread(target=lambda: proxy.reached("web.test", "/?hold"), daemon=True)
        client.start()
        wait_for(lambda: old.count == 1, "the request to reach the endpoint", 60)
        for _ in range(20):
            proxy.send(pool("web", new))
            proxy.commit()
            proxy.apply(pool("web", old, new))
            proxy.apply(pool("web", new))
            assert {proxy.reached("web.test") for _ in range(4)} == {"new"}
        old.release()
        client.join(timeout=60)


def test_pools_change_their_class():
    """Stickiness and health checks come and go while requests run: another slot takes over before the first is left."""
    with Backend("a") as a, Backend("b") as b, HAProxy() as proxy:
        proxy.send(pool("web", a, b), host("web.test", ("/", "web")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        with Load(proxy, ["web.test"]) as load:
            proxy.apply(pool("web", a, b, stickiness={"cookie": "STICK"}))
            got = proxy.request("web.test")
            cookie = got.headers["set-cookie"].split(";")[0]
            assert cookie.startswith("STICK=")
            assert {proxy.reached("web.test", headers={"Cookie": cookie}) for _ in range(10)} == {got.json["name"]}
            proxy.apply(pool("web", a, b, health_check={"service": "web", "type": "http", "path": "/healthz", "interval_ms": 100}))
            a.is_healthy = False
            wait_for(lambda: {proxy.reached("web.test") for _ in range(6)} == {"b"}, "the unhealthy endpoint to be left out", 60)
            a.is_healthy = True
            wait_for(lambda: {proxy.reached("web.test") for _ in range(6)} == {"a", "b"}, "the healthy endpoint to come back", 60)
            proxy.apply(pool("web", a, b))
        assert not load.failures, load.failures[:5]
        assert "set-cookie" not in proxy.request("web.test").headers


def test_a_draining_endpoint_keeps_its_sessions():
    with Backend("a") as a, Backend("b") as b, HAProxy() as proxy:
        sticky = {"stickiness": {"cookie": "STICK"}}
        proxy.send(pool("web", a, **sticky), host("web.test", ("/", "web")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        cookie = proxy.request("web.test").headers["set-cookie"].split(";")[0]
        proxy.apply(pool("web", endpoint_of(a, active=False), b, **sticky))
        assert {proxy.reached("web.test") for _ in range(10)} == {"b"}
        assert {proxy.reached("web.test", headers={"Cookie": cookie}) for _ in range(10)} == {"a"}
        proxy.apply(pool("web", endpoint_of(a, active=False), **sticky))
        assert proxy.reached("web.test") == 503


def test_one_bad_certificate_hurts_itself_alone():
    """A certificate that HAProxy refuses is told, the one that was there stays in use, and others go on."""
    good, other, wrong = self_signed("a.test"), self_signed("b.test"), self_signed("a.test")
    wrong.key = other.key
    with Backend("pod") as pod, HAProxy() as proxy:
        proxy.send(certificate("default", self_signed("default.test")), certificate("a", good, "a.test"), pool("web", pod),
                   host("", ("/", "web")), proxy.balancer(https=True, default_certificate="default"))
        proxy.commit()
        proxy.wait_applied()
        proxy.apply(certificate("a", wrong, "a.test"), certificate("b", other, "b.test"))
        assert proxy.request("a.test", tls=True).certificate == good.der
        assert proxy.request("b.test", tls=True).certificate == other.der
        assert "default/a" in proxy.translator.notices("sluice")["CertificateRefused"]
        proxy.kill_proxy()
        proxy.wait_answers("a.test", tls=True)
        assert proxy.request("a.test", tls=True).certificate == good.der
        renewed = self_signed("a.test")
        proxy.apply(certificate("a", renewed, "a.test"))
        assert proxy.request("a.test", tls=True).certificate == renewed.der
        assert proxy.translator.notices("sluice") == {}


def test_the_first_start_with_bad_certificates():
    """HAProxy is started at once, and only when it does not come its configuration is checked, which tells which to leave out."""
    good, other, wrong = self_signed("a.test"), self_signed("b.test"), self_signed("c.test")
    wrong.key = other.key
    with Backend("pod") as pod, HAProxy() as proxy:
        proxy.send(certificate("default", self_signed("default.test")), certificate("a", good, "a.test"), certificate("b", other, "b.test"),
                   certificate("c", wrong, "c.test"), certificate("d", wrong, "d.test"), pool("web", pod), host("", ("/", "web")),
                   proxy.balancer(https=True, default_certificate="default"))
        proxy.commit()
        proxy.wait_applied()
        assert proxy.request("a.test", tls=True).certificate == good.der
        assert proxy.request("b.test", tls=True).certificate == other.der
        refused = " ".join(notice["message"] for notice in proxy.translator.status("sluice")["notices"])
        assert "default/c:" in refused and "default/d:" in refused
        proxy.apply(certificate("c", self_signed("c.test"), "c.test"), certificate("d", self_signed("d.test"), "d.test"))
        assert proxy.translator.notices("sluice") == {}


def test_the_first_start_is_not_checked():
    """It would read everything twice; with nothing served there is nothing to lose. What comes later is checked before it replaces what serves."""
    with Backend("pod") as pod, HAProxy(start=False) as proxy:
        program, checks = proxy.folder / "haproxy", proxy.state_dir / "checks"
        program.write_text(f"""#!/bin/sh
[ "$1" = -c ] && echo check >>{checks}
exec {shutil.which("haproxy")} "$@"
""")
        program.chmod(0o755)
        proxy.provider.arguments += ["--haproxy", str(program)]
        proxy.start()
        proxy.send(pool("web", pod), host("web.test", ("/", "web")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        assert proxy.reached("web.test") == "pod" and not checks.exists()
        proxy.send(proxy.balancer(listeners=[{"port": proxy.other_port(proxy.http, proxy.https), "protocol": "http"}]))
        proxy.apply()
        proxy.provider.wait_event("reloaded", timeout=60)
        assert checks.read_text() == "check\n"


def test_certificates_that_come_and_go():
    """HAProxy leaks a little with each: it is reloaded before that matters, without a failed request, and not again and again."""
    pair = self_signed("c.test")
    with Backend("pod") as pod, HAProxy() as proxy:
        proxy.send(certificate("default", self_signed("default.test")), pool("web", pod), host("", ("/", "web")),
                   proxy.balancer(https=True, default_certificate="default"))
        proxy.commit()
        proxy.wait_applied()
        with Load(proxy, ["web.test"]) as load:
            for round_number in range(12):
                names = [f"c{round_number}-{number}" for number in range(50)]
                proxy.apply(*(certificate(name, pair, f"{name}.test") for name in names))
                proxy.apply(gone=[("certificate", name) for name in names])
            proxy.provider.wait_event("certificates-retired", timeout=60)
            wait_for(lambda: proxy.provider.events("reloaded"), "the reload", 60)
            proxy.apply()
        assert not load.failures, load.failures[:5]
        assert len(proxy.provider.events("certificates-retired")) == 1 and len(proxy.provider.events("reloaded")) == 1


def worker_kb(proxy: HAProxy) -> int:
    """Memory of the process that serves."""
    (worker,) = proxy.workers()
    rollup = pathlib.Path(f"/proc/{worker}/smaps_rollup").read_text()
    return int(next(line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:")))


def test_what_a_pool_takes_of_memory():
    """Of 1,000 pools with two endpoints each: the backends, the servers and the rows, and no Lua objects, which took as much as a server does, and more
    with each thread."""
    count = 1000
    with HAProxy(arguments=["--slots", str(count + 10)]) as proxy:
        proxy.apply(proxy.balancer())
        threads = int(re.search(r"^Nbthread: (\d+)", proxy.cli("show info"), re.MULTILINE)[1])
        assert backends(proxy) < 1.2 * count
        for i in range(count):
            proxy.send(pool(f"p{i}", (f"10.1.{i // 250}.{i % 250}", 80), (f"10.2.{i // 250}.{i % 250}", 80)), host(f"h{i}.test", ("/", f"p{i}")))
        proxy.apply()
        workers = proxy.workers()
        proxy.kill_proxy()
        wait_for(lambda: proxy.workers() and proxy.was_reloaded_since(workers), "HAProxy, from its files")
        proxy.wait_applied()
        most_kb = worker_kb(proxy)
        empty_kb = 7000
        assert most_kb < empty_kb + count * (19 + 0.2 * threads)
        # What reading the files has left is given back. The list that has to be named for that has nothing to lose.
        wait_for(lambda: worker_kb(proxy) < most_kb - 0.3 * count, "HAProxy to give memory back")
        assert proxy.cli("show acl #0") == proxy.cli("clear acl @1 #0") == "\n"
