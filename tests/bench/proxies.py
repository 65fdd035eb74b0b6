# SPDX-License-Identifier: Apache-2.0
"""How fast the whole line is with a proxy on this machine, and what it needs: scripts/bench line.

The API server is the stand-in; kubectl, our programs and the proxy are the real ones. Pods are servers of this process, so that every route
can be tried. Only failed requests have a budget.
"""
from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import time
from typing import Any, Callable

from lib.backend import Backend
from lib.certs import self_signed
from lib.proxy_line import ProxyLine
from lib.raw_http import dial, read_answer
from lib.traffic import Load
from lib.wait import wait_for
from report import budget, figure, percentile, pss_mb, settle

SIZES = (100, 1000, 5000)
SAMPLES = 100  # applied Ingresses at each size
PATIENCE_S = 900.0  # for thousands of objects on a busy machine
PODS = 4
SERVICES = 32  # that change while clients keep sending requests; so many that pools come and go with the routes that lead to them
HOSTS = 40  # that come and go meanwhile


class Client:
    """A client with one connection to the proxy, which is made anew when it ends."""

    def __init__(self, address: str, port: int):
        self._where = (address, port)
        self._link: socket.socket | None = None

    def ask(self, host: str, path: str = "/") -> tuple[int, bytes]:
        """The status and the body that a request gets; the status is 0 when there is no answer."""
        try:
            self._link = self._link or dial(*self._where)
            self._link.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            answer = read_answer(self._link)
        except OSError:
            self.close()
            return 0, b""
        if answer.headers.get("connection", "").lower() == "close":
            self.close()
        return answer.status, answer.body

    def status(self, host: str) -> int:
        return self.ask(host)[0]

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


class Routes:
    """Ingresses of a stand-in that become more and more, and a client of whoever serves them."""

    addresses: list[str]  # of endpoints, in turn
    kube: Any
    client: Client

    def __init__(self) -> None:
        self.count = 0

    def host(self, index: int) -> str:
        """The host of an Ingress that grow() has made."""
        return f"app-{index:05d}.bench-{index % 10}.example.org"

    def grow(self, count: int) -> None:
        """Adds Ingresses up to `count`, each with a Service and two endpoints; waits until all are served and the line is idle."""
        self.kube.bulk(first=self.count, count=count - self.count, seed=count, addresses=self.addresses)
        self.count = count
        self.prove(range(count))
        self.settle()

    def prove(self, indices: Any) -> float:
        """Repeats requests to these Ingresses until each has been served. Returns when the last retried one was."""
        at = time.monotonic()
        open_ones = [index for index in indices if self.client.status(self.host(index)) != 200]

        def all_served() -> bool:
            nonlocal open_ones, at
            if open_ones:
                open_ones = [index for index in open_ones if self.client.status(self.host(index)) != 200]
                at = time.monotonic()
            return not open_ones
        wait_for(all_served, f"{self.count:,} hosts to be served", PATIENCE_S)
        return at

    def pids(self) -> list[int]:
        """Of all processes that serve them."""
        raise NotImplementedError

    def settle(self) -> None:
        settle(self.pids)

    def served_s(self, start: Callable[[], object]) -> tuple[float, str, str]:
        """Starts it: seconds until all routes are served, the unit, and more about it."""
        began = time.monotonic()
        start()
        # Asking for all of them takes longer than the start; some that are spread over all tell when it was.
        sample = range(0, self.count, max(1, self.count // 100))
        served = self.prove([*sample, self.count - 1])
        last = max(served, self.prove(range(self.count)) if self.count > len(sample) else 0)
        return (last - began, " s", f"one in {sample.step} after {served - began:.2f} s, all asked for after {time.monotonic() - began:.2f} s")


class Bench(Routes):
    """A whole line. Use it as a context manager. Its endpoints are pods of its own, unless those at `addresses` are to be used."""

    def __init__(self, name: str, addresses: list[str] | None = None):
        super().__init__()
        # A real API server has no way to get thousands of objects at once.
        os.environ.pop("KUBEBUILDER_ASSETS", None)
        self.name = name
        self.stack = contextlib.ExitStack()
        with self.stack:
            self.pods = [self.stack.enter_context(Backend(f"pod-{number}")) for number in range(0 if addresses else PODS)]
            self.addresses = addresses or [pod.ip for pod in self.pods]
            self.line = self.stack.enter_context(ProxyLine(name))
            self.kube, self.cluster, self.proxy = self.line.kube, self.line.cluster, self.line.proxy
            self.client = Client(self.proxy.address, self.proxy.http)
            self.stack.callback(self.client.close)
            self.stack = self.stack.pop_all()

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *error: Any) -> None:
        self.stack.__exit__(*error)

    def pids(self) -> list[int]:
        return [daemon.pid for daemon in self.line.daemons()] + [process.pid for process in self.proxy.proxies()]

    def reloads(self) -> int:
        """How often the proxy has been reloaded since the line was started."""
        return len(self.line.provider.events("reloaded"))

    # Measurements

    def apply_once(self, name: str) -> tuple[float, float]:
        """Milliseconds until the first 200 for a new Ingress: from the start of kubectl, and from when the API server had accepted it."""
        for obj in (self.cluster.service(name), self.cluster.slice(name, [self.pods[0].ip])):
            self.kube.api.create(obj)
        ingress = self.cluster.ingress(name, [{"host": f"{name}.test", "paths": [("/", "Prefix", name, 80)]}])
        mark = self.kube.mark()
        command = ["kubectl", "--kubeconfig", str(self.kube.kubeconfig), "apply", "-f", "-"]
        start = time.monotonic_ns()
        kubectl = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            kubectl.stdin.write(json.dumps(ingress).encode())
            kubectl.stdin.close()
            wait_for(lambda: self.client.status(f"{name}.test") == 200, f"{name}.test to be served", PATIENCE_S, 0.0005)
            served = time.monotonic_ns()
            if kubectl.wait(60) != 0:
                raise AssertionError(f"kubectl apply: {kubectl.stderr.read().decode()}")
        finally:
            kubectl.kill()
            kubectl.wait()
            kubectl.stderr.close()
        post = self.kube.requests(since=mark, verb="create", resource="ingresses")[0]
        return (served - start) / 1e6, (served - post["at_ns"]) / 1e6 - post["duration_us"] / 1e3

    def measure_applies(self) -> None:
        before = self.reloads()
        samples = [self.apply_once(f"one-{self.count}-{number}") for number in range(SAMPLES)]
        detail = f"{SAMPLES} Ingresses, {self.reloads() - before} reloads"
        for since, values in zip(("kubectl apply", "API server"), zip(*samples)):
            for label, share in (("p50", 0.5), ("p99", 0.99)):
                figure(f"{self.name}: {since} to first 200, {self.count:,} there, {label}", percentile(list(values), share), " ms", detail)

    def measure_cold_start(self) -> None:
        """All but the API server is started anew, with nothing on the disk."""
        for daemon in self.line.daemons():
            daemon.kill()
        self.proxy.kill_proxy()
        self.client.close()
        shutil.rmtree(self.proxy.state_dir)
        figure(f"{self.name}: cold start to last of {self.count:,} routes", *self.start_s("translator", "watcher", "provider"))

    def start_s(self, *daemons: str) -> tuple[float, str, str]:
        """As served_s(), of these."""
        return self.served_s(lambda: [self.line.daemon(item).start() for item in daemons])

    def measure_memory(self) -> None:
        self.settle()
        each = {name: pss_mb(self.line.daemon(name).pid) for name in ("watcher", "translator", "provider")}
        figure(f"{self.name}: proportional memory of ours, {self.count:,} Ingresses", sum(each.values()), " MB",
               ", ".join(f"{name} {value:.1f}" for name, value in each.items()))
        processes = self.proxy.proxies()
        figure(f"{self.name}: proportional memory of {self.name} itself", sum(pss_mb(process.pid) for process in processes), " MB",
               f"{len(processes)} processes")

    def measure_changes(self, count: int) -> None:
        changes = Changes(self)
        changes.start()
        self.settle()
        reloads = self.reloads()
        targets = [("busy.test", "/a/x"), ("busy.test", "/b")]
        start = time.monotonic()
        with Load(self.proxy.address, self.proxy.http, targets) as plain, \
                Load(self.proxy.address, self.proxy.https, targets, sni="busy.test") as secure:
            for _ in range(count):
                changes.change()
            made_s = time.monotonic() - start
            changes.wait_settled()
        failures = plain.failures + secure.failures
        good = plain.good + secure.good
        budget(f"{self.name}: failed requests during {count:,} changes", len(failures), 0, "",
               "; ".join([f"{good:,} good ones, {count / made_s:,.0f} changes a second", *failures[:5]]))
        figure(f"{self.name}: reloads during them", self.reloads() - reloads, "")
        if not (plain.good and secure.good):
            raise AssertionError("no request was answered, plain or with TLS")


class Changes:
    """Random changes of endpoints, paths and certificates, and Ingresses that come and go. The hosts that clients use always have a living
    endpoint."""

    def __init__(self, bench: Bench):
        self.bench, self.cluster, self.kube = bench, bench.cluster, bench.kube
        self.random = random.Random(7)
        self.pairs = [self_signed("busy.test") for _ in range(4)]
        self.members = {f"busy-{number}": [bench.pods[number % PODS]] for number in range(SERVICES)}
        self.routes: dict[str, str] = {}  # name of an Ingress that comes and goes: its Service

    def start(self) -> None:
        for name in self.members:
            self.kube.api.create(self.cluster.service(name))
            self.put_slice(name)
        self.put_certificate(self.pairs[0])
        self.put_busy()
        for tls in (False, True):
            self.bench.proxy.wait_answers("busy.test", tls=tls, timeout=PATIENCE_S)

    def put_slice(self, name: str) -> None:
        self.kube.put_object("endpointslices", self.cluster.slice(name, [pod.ip for pod in self.members[name]]))

    def put_certificate(self, pair: Any) -> None:
        self.kube.put_object("secrets", self.cluster.tls_secret("busy", pair.pem, pair.key))

    def put_busy(self) -> None:
        paths = [(path, "Prefix", self.random.choice(list(self.members)), 80) for path in ("/a", "/")]
        self.kube.put_object("ingresses", self.cluster.ingress("busy", [{"host": "busy.test", "paths": paths}],
                                                               tls=[{"hosts": ["busy.test"], "secretName": "busy"}]))

    def change(self) -> None:
        kind = self.random.random()
        if kind < 0.5:
            name = self.random.choice(list(self.members))
            self.members[name] = self.random.sample(self.bench.pods, self.random.randint(1, PODS))
            self.put_slice(name)
        elif kind < 0.65:
            self.put_busy()
        elif kind < 0.7:
            self.put_certificate(self.random.choice(self.pairs))
        else:
            self.come_or_go(f"come-{self.random.randrange(HOSTS)}")

    def come_or_go(self, name: str) -> None:
        if name in self.routes and self.random.random() < 0.5:
            del self.routes[name]
            self.kube.delete_objects("ingresses", "default", name)
            return
        self.routes[name] = self.random.choice(list(self.members))
        rule = {"host": f"{name}.test", "paths": [("/", "Prefix", self.routes[name], 80)]}
        self.kube.put_object("ingresses", self.cluster.ingress(name, [rule]))

    def wait_settled(self) -> None:
        """Waits until each host is served by its last Service, and removed ones are no longer served."""
        for number in range(HOSTS):
            wanted = self.routes.get(f"come-{number}")
            names = {pod.name for pod in self.members[wanted]} if wanted else {404}

            def is_so(host: str = f"come-{number}.test", names: set = names) -> bool:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    return self.bench.proxy.reached(host) in names
                return False
            wait_for(is_so, f"come-{number}.test to be what was wanted last", PATIENCE_S)


def measure(name: str, count: int, changes: int) -> None:
    """All measurements of one proxy, with up to `count` Ingresses."""
    with Bench(name) as bench:
        for size in sorted({size for size in SIZES if size < count} | {count}):
            bench.grow(size)
            bench.measure_applies()
        bench.measure_cold_start()
        bench.measure_memory()
        bench.measure_changes(changes)
