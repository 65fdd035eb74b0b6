# SPDX-License-Identifier: Apache-2.0
"""What the proxies themselves cost, with a limit for each figure: scripts/bench proxies.

Providers are measured alone, with the tests' translator behind them, and at two sizes at the same time, so that a noisy machine affects both
alike. Starts and times to the first answer are measured on the whole line.
"""
from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from typing import Callable, Iterator, NamedTuple

import certificates
import request_cost
from lib.cpu import resident_bytes, used_ns
from lib.local_proxy import PATIENCE, LocalProxy, host, pool
from lib.proxies import proxy_class
from lib.wait import wait_for
from proxies import PODS, Bench, PATIENCE_S
from report import budget, figure, percentile, pss_mb

SMALL = 100
LONG = 50_000
CHANGES = 900
RATE = 90  # changes a second
IDLE_S = 5.0  # to measure what a process uses when nothing changes
SAMPLES = 200
KB_OF_INGRESS = {"haproxy": 12, "nginx": 2}  # kB
START_S = {"haproxy": 2.5, "nginx": 2}
LONG_MB, LONG_START_S = 600, 15


def settled_kb(pids: Callable[[], list[int]]) -> float:
    """Proportional memory, once old processes have ended and nothing grows any more. That is seen from resident memory, because other processes
    change the proportional one."""
    last = [0.0, time.monotonic()]

    def rests() -> bool:
        now = resident_bytes(pids())
        if abs(now - last[0]) > 1 << 20:
            last[:] = [now, time.monotonic()]
        return time.monotonic() - last[1] > 3
    wait_for(rests, "the memory to stay as it is", PATIENCE_S, 0.25)
    return sum(pss_mb(pid) for pid in pids()) * 1024


class Sized:
    """A provider and its proxy with `count` Ingresses, each with two endpoints of its own, which never get a request."""

    def __init__(self, name: str, count: int):
        self.proxy: LocalProxy = proxy_class(name)()
        self.ips = request_cost.addresses(count)
        self.count = 0
        self.grow(1)
        self.kb_first = self.memory_kb()
        self.grow(count)
        self.kb_each = (self.memory_kb() - self.kb_first) / (count - 1)

    def __enter__(self) -> "Sized":
        return self

    def __exit__(self, *_: object) -> None:
        self.proxy.stop()

    def name_of(self, number: int) -> str:
        return f"app-{number:05d}.bench.example.org"

    def pool(self, number: int, last: int = 1) -> dict:
        """A pool with two endpoints, whose second one depends on `last`."""
        return pool(f"pool-{number}", (self.ips[number], 8000), (self.ips[number], 8000 + last))

    def grow(self, count: int) -> None:
        for number in range(self.count, count):
            self.proxy.send(self.pool(number), host(self.name_of(number), ("/", f"pool-{number}")))
        self.count = count
        self.proxy.send(self.proxy.balancer())
        self.proxy.commit()
        self.wait_applied()

    def wait_applied(self) -> None:
        wait_for(self.proxy.translator.is_applied, "the commit to be applied", PATIENCE, 0.0005)

    def pids(self) -> list[int]:
        return [process.pid for process in self.proxy.proxies()]

    def memory_kb(self) -> float:
        return settled_kb(self.pids)

    def change_path(self, turn: int) -> None:
        number = turn % SMALL
        self.proxy.translator.put(host(self.name_of(number), (f"/{turn}", f"pool-{(number + 1) % SMALL}"), ("/", f"pool-{number}")))

    def change_endpoint(self, turn: int) -> None:
        self.proxy.translator.put(self.pool(turn % SMALL, 2 + turn % 1000))


class Cost:
    """Measures microseconds of CPU for each change, without what the processes use when nothing changes."""

    def __init__(self, pids: Callable[[], list[int]]):
        self.pids = pids
        self.idle_share = 0.0
        self.begin()

    def begin(self) -> None:
        self.since, self.before = time.monotonic(), used_ns(self.pids())

    def end_idle(self) -> None:
        self.idle_share = (used_ns(self.pids()) - self.before) / (time.monotonic() - self.since)

    def each_us(self, changes: int) -> float:
        used = used_ns(self.pids()) - self.before - self.idle_share * (time.monotonic() - self.since)
        return used / changes / 1000


def pace(turns: int, rate: float) -> Iterator[int]:
    """Yields the numbers of the turns, `rate` a second."""
    start = time.monotonic()
    for turn in range(turns):
        time.sleep(max(0.0, start + turn / rate - time.monotonic()))
        yield turn


def costs(sizes: list[Sized], pids: Callable[[Sized], list[int]], change: Callable[[Sized, int], None], changes: int = CHANGES) -> list[float]:
    """What the same changes cost at each size; each change is made at all sizes in turn."""
    meters = [Cost(lambda size=size: pids(size)) for size in sizes]
    time.sleep(IDLE_S)
    for meter in meters:
        meter.end_idle()
        meter.begin()
    for turn in pace(changes, RATE):
        for size in sizes:
            change(size, turn)
    for size in sizes:
        size.wait_applied()
    return [meter.each_us(changes) for meter in meters]


class Scripts(NamedTuple):
    """What HAProxy does about Lua, as lines of its configuration, and whether it is told to give back what that leaves."""

    lines: tuple[str, ...] = ()
    is_trimmed: bool = False


def by_hand_kb(proxy: LocalProxy, count: int, scripts: Scripts) -> float:
    """Memory of an HAProxy that has nothing but `count` backends with two servers each, and a row in a map for each."""
    ips = request_cost.addresses(count)
    folder = proxy.folder / "many"
    where = (proxy.address, proxy.other_port(proxy.http, proxy.https))
    with request_cost.ManyByHand([f"app-{number:05d}.bench.example.org" for number in range(count)], ips, where, folder, (8000, 8001), scripts.lines) as many:
        if scripts.is_trimmed:
            with socket.socket(socket.AF_UNIX) as link:
                link.connect(str(folder / "bare.sock"))
                link.sendall(f"clear map @1 {folder}/hosts.map\n".encode())
                if link.recv(1000).strip():
                    raise AssertionError("HAProxy does not give memory back")
        used = settled_kb(many.pids)
    shutil.rmtree(folder)
    return used


def measure_floor(proxy: LocalProxy, count: int) -> None:
    """The least that HAProxy takes for each of so many backends, in kB: without the objects that it makes for Lua, see provider-haproxy/lua_off.h."""
    file = proxy.state_dir / "haproxy.d/lua-off.lua"
    least = Scripts((f"\tlua-load {file}\n", f"\tlua-load-per-thread {file}\n", f"\tsetenv SLUICE_QUESTIONS unix@{file}\n", f"\tsetenv SLUICE_CHECKS unix@{file}\n"), True)
    each, with_lua = [(by_hand_kb(proxy, count, scripts) - by_hand_kb(proxy, 1, scripts)) / (count - 1) for scripts in (least, Scripts())]
    figure(f"haproxy: the same by hand, {count:,} backends with 2 servers and nothing else", each, " kB", f"{with_lua:.1f} kB with the objects that HAProxy makes for Lua")


def measure_sizes(name: str, count: int) -> None:
    with Sized(name, SMALL) as small, Sized(name, count) as large:
        if name == "haproxy":
            measure_floor(large.proxy, count)
        budget(f"{name}: memory of an Ingress with 2 endpoints, at {count:,}", large.kb_each, KB_OF_INGRESS[name], " kB",
               f"{large.kb_first / 1024:.1f} MB with one Ingress")
        few, many = costs([small, large], Sized.pids, Sized.change_path, SMALL)
        figure(f"{name}: CPU of the proxy for the first path of a host beside /, {count:,} routes against {SMALL}", many / few, "x",
               f"{many:.0f} µs, {few:.0f} µs")
        few, many = costs([small, large], Sized.pids, lambda size, turn: size.change_path(SMALL + turn))
        budget(f"{name}: CPU of the proxy for a path change, {count:,} routes against {SMALL}", many / few, 1.3, "x", f"{many:.0f} µs, {few:.0f} µs")
        few, many = costs([small, large], lambda size: [size.proxy.provider.pid], Sized.change_endpoint)
        budget(f"{name}: CPU of the provider for an endpoint change, {count:,} Ingresses against {SMALL}", many / few, 1.3, "x", f"{many:.0f} µs, {few:.0f} µs")
        budget(f"{name}: CPU of the provider for an endpoint change, {count:,} Ingresses", many, 150, " µs", f"{RATE} changes a second")


class Asker:
    """A client that asks for a host until it is served. It is a process of its own: Python would add its own time."""

    def __init__(self, bench: Bench):
        self._bench = bench
        self._process = subprocess.Popen([str(request_cost.TOOLS / "bench-first"), bench.proxy.address, str(bench.proxy.http)], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def first_answer_ms(self, name: str) -> float:
        """Milliseconds from when the API server has accepted the first endpoint of a Service to the first answer."""
        bench = self._bench
        mark = bench.kube.mark()
        bench.kube.api.create(bench.cluster.slice(name, bench.addresses[:1]))
        self._process.stdin.write(f"{name}.test\n")
        self._process.stdin.flush()
        served = int(self._process.stdout.readline())
        post = bench.kube.requests(since=mark, verb="create", resource="endpointslices")[0]
        return (served - post["at_ns"]) / 1e6 - post["duration_us"] / 1e3


def measure_first_answer(bench: Bench) -> None:
    names = [f"late-{number}" for number in range(SAMPLES)]
    for name in names:
        bench.kube.api.create(bench.cluster.service(name))
        bench.kube.put_object("ingresses", bench.cluster.ingress(name, [{"host": f"{name}.test", "paths": [("/", "Prefix", name, 80)]}]))
    wait_for(lambda: all(bench.client.status(f"{name}.test") == 503 for name in names), "hosts without endpoints", PATIENCE_S)
    bench.settle()
    with Asker(bench) as asker:
        values = [asker.first_answer_ms(name) for name in names]
    budget(f"{bench.name}: endpoint to first answer, {bench.count:,} Ingresses, median", percentile(values, 0.5), 1.5, " ms",
           f"p99 {percentile(values, 0.99):.1f} ms")


def start_anew(bench: Bench) -> tuple[float, str, str]:
    """Starts the provider and its proxy anew, with nothing on the disk."""
    bench.line.provider.kill()
    bench.proxy.kill_supervisor()
    bench.proxy.kill_proxy()
    bench.client.close()
    shutil.rmtree(bench.proxy.state_dir)
    return bench.start_s("provider")


@contextlib.contextmanager
def bench_of(name: str) -> Iterator[Bench]:
    """A line whose endpoints are a process of their own. Pods in this one have a thread for each connection that the proxy keeps: tens of thousands,
    which all wake up when the proxy is killed, and take seconds of the start that follows."""
    addresses = request_cost.addresses(PODS)
    with request_cost.endpoints(addresses), Bench(name, addresses) as bench:
        yield bench


def measure_line(name: str, count: int) -> None:
    with bench_of(name) as bench:
        bench.grow(count)
        measure_first_answer(bench)
        seconds, unit, detail = start_anew(bench)
        budget(f"{name}: start to the last of {count:,} routes", seconds, START_S[name], unit, detail)


def measure_long(name: str) -> None:
    with bench_of(name) as bench:
        bench.grow(LONG)
        seconds, unit, detail = start_anew(bench)
        budget(f"{name}: start to the last of {LONG:,} routes", seconds, LONG_START_S, unit, detail)
        bench.settle()
        used = sum(pss_mb(process.pid) for process in bench.proxy.proxies())
        measure_floor(bench.proxy, LONG)
        budget(f"{name}: memory of the proxy, {LONG:,} Ingresses", used, LONG_MB, " MB")


def measure(names: list[str], count: int, is_long: bool) -> None:
    """All measurements of these proxies, with `count` Ingresses."""
    pairs = certificates.make_pairs(min(count, 5000))
    certificates.measure_translator(pairs)
    for name in names:
        request_cost.measure(name, min(count, 5000))
        measure_sizes(name, count)
        if name == "nginx":
            certificates.measure_nginx(pairs)
        measure_line(name, count)
        if is_long and name == "haproxy":
            measure_long(name)
