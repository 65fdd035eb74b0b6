# SPDX-License-Identifier: Apache-2.0
"""The benchmark. Run it through scripts/bench, which explains the options."""
from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import certificates
import elb
import metrics_cost
import peers
import policy_costs
import proxies
import proxy_costs
import request_cost
from lib.callgrind import Callgrind
from lib.daemon import Daemon
from lib.guardian import guarded
from lib.line import build_folder
from lib.proxies import PROXIES
from lib.wait import wait_for
from report import BUDGETS, budget, cpu_s, percentile, print_table, pss_mb, say, settle
from standins.kube.client import KubeStandin
from standins.rancher.client import RancherStandin

BUILD = build_folder()
LISTS = {"ingresses": "/apis/networking.k8s.io/v1/ingresses", "services": "/api/v1/services",
         "endpointslices": "/apis/discovery.k8s.io/v1/endpointslices"}

# How Ingresses are put on load balancers: as for Rancher, and as for a proxy on this machine.
PER_INGRESS, MERGED = "per Ingress", "merged"

# All load balancers listen on port 80, on three hosts; and a server written in Python is slow to send ten thousand events.
RANCHER = {"shared_ports": True, "step_delay": 0.0}


# What `proxies` measures, too, what takes a quarter of an hour more, and what needs a program that is no package: only when they are named.
NAMED_PARTS = ("certificates", "requests", "policies", "metrics", "peers")


class Helper:
    """A helper process whose lines are collected. It does not inherit our output, so that nobody who reads that waits for it."""

    def __init__(self, arguments: list[object], errors: pathlib.Path, stdin: object = subprocess.DEVNULL):
        with open(errors, "ab") as log:
            self.process = subprocess.Popen([str(a) for a in arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=log, text=True)
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def starting(self, prefix: str) -> list[str]:
        """All lines so far that begin with this."""
        return [line for line in list(self.lines) if line.startswith(prefix)]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class Pair:
    """Watcher and translator on a stand-in with `count` Ingresses, and bench-peer as their provider."""

    def __init__(self, count: int, valgrind: bool = False, watch: str | None = None, grouping: str = PER_INGRESS,
                 answer: bool = False):
        self.stack = contextlib.ExitStack()
        with self.stack:
            self.open(count, valgrind, watch, [*(["--merged"] if grouping == MERGED else []), *(["--answer"] if answer else [])])
            self.stack = self.stack.pop_all()

    def open(self, count: int, valgrind: bool, watch: str | None, options: list[str]) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-"))
        self.stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.counted: dict[str, tuple[Daemon, Callgrind]] = {}
        self.kube = self.stack.enter_context(KubeStandin())
        if count:
            self.kube.bulk(count=count)
        runtime = ["--runtime-dir", str(self.folder)]
        self.translator = self.daemon("translator/sluice-translator", runtime, valgrind)
        self.watcher = self.daemon("watcher/sluice-watcher",
                                   [*runtime, "--kubeconfig", str(self.kube.controller_kubeconfig)], valgrind)
        self.stack.callback(self.translator.stop)
        self.translator.start()
        source = self.start_curl(watch) if watch else subprocess.DEVNULL
        self.peer = Helper([BUILD / "tests/bench/bench-peer", self.folder, *options], self.folder / "peer.log", source)
        self.stack.callback(self.peer.stop)
        self.started_at = time.monotonic()
        self.stack.callback(self.watcher.stop)
        self.watcher.start()
        wait_for(lambda: self.peer.starting("commit"), "the first commit", 1800 if valgrind else 300)

    def daemon(self, program: str, arguments: list[str], valgrind: bool) -> Daemon:
        path = BUILD / program
        if not valgrind:
            return Daemon(path, arguments, self.folder / f"{path.name}.log")
        counter = Callgrind(self.folder, f"{path.name}.callgrind")
        daemon = Daemon("valgrind", [*counter.options(), str(path), "--sandbox", "off", *arguments], self.folder / f"{path.name}.log")
        self.counted[path.name] = (daemon, counter)
        return daemon

    def instructions(self) -> dict[str, int]:
        """By program: what it has executed under valgrind since the last call."""
        return {name: counter.instructions(daemon.pid) for name, (daemon, counter) in self.counted.items()}

    def start_curl(self, plural: str) -> object:
        """The output of curl: the events of a bare watch."""
        token = self.kube.token_file.read_text().strip()
        revision = self.kube.bump(0)
        url = f"{self.kube.url}{LISTS[plural]}?watch=true&resourceVersion={revision}&timeoutSeconds=3000"
        curl = subprocess.Popen(["curl", "-sN", "--cacert", str(self.kube.ca_file), "-A", "bench/1", "-H",
                                 f"Authorization: Bearer {token}", url], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.stack.callback(curl.wait)
        self.stack.callback(curl.kill)
        self.stack.callback(curl.stdout.close)
        return curl.stdout

    def __enter__(self) -> "Pair":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()


class WholeLine:
    """Watcher, translator and provider-rancher between the two stand-ins."""

    def __init__(self, count: int, agent_interval: float):
        self.stack = contextlib.ExitStack()
        with self.stack:
            self.open(count, agent_interval)
            self.stack = self.stack.pop_all()

    def open(self, count: int, agent_interval: float) -> None:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-"))
        self.stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self.kube = self.stack.enter_context(KubeStandin())
        if count:
            self.kube.bulk(count=count)
        self.rancher = self.stack.enter_context(RancherStandin(
            settings=RANCHER, dataplane=False, hosts=3, kubeconfig=self.kube.kubeconfig, agent_interval=agent_interval))
        wait_for(lambda: len(self.rancher.rows("kubernetesService")) >= count, "the Services in Rancher", 600, 0.5)
        environment = {"CATTLE_URL": self.rancher.url, "CATTLE_ACCESS_KEY": self.rancher.access_key,
                       "CATTLE_SECRET_KEY": self.rancher.secret_key}
        runtime = ["--runtime-dir", str(folder)]
        self.translator = Daemon(BUILD / "translator/sluice-translator", runtime, folder / "translator.log")
        self.watcher = Daemon(BUILD / "watcher/sluice-watcher",
                              [*runtime, "--kubeconfig", str(self.kube.controller_kubeconfig)], folder / "watcher.log")
        self.provider = Daemon(BUILD / "provider-rancher/sluice-provider-rancher", [*runtime, "--poll-interval", "60"],
                               folder / "provider.log", environment)
        self.daemons = {"translator": self.translator, "watcher": self.watcher, "provider": self.provider}
        for daemon in self.daemons.values():
            self.stack.callback(daemon.stop)
            daemon.start()
        wait_for(lambda: self.watcher.events("ready") and self.provider.events("link-up"), "the line to be up", 300)
        # Each question keeps the stand-in from making more, so the pause grows with their number.
        wait_for(lambda: len(self.rancher.rows("loadBalancerService")) >= count, f"{count} load balancers", 1800,
                 0.5 + count / 1000)

    def settle(self) -> None:
        """Waits until none of the daemons uses the processor any more."""
        settle(lambda: [daemon.pid for daemon in self.daemons.values()])

    def writes(self) -> int:
        """Requests other than GET since the log was last cleared."""
        return sum(entry["method"] != "GET" for entry in self.rancher.requests())

    def __enter__(self) -> "WholeLine":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()


def measure_latency(count: int, events: int, grouping: str) -> None:
    for plural, mark in (("endpointslices", "10.64."), ("ingresses", "change-")):
        with Pair(count, watch=plural, grouping=grouping) as pair:
            if plural == "ingresses":
                pair.kube.wait_streams(2, resource="ingresses", timeout_s=60)
            changes = pair.kube.churn(resource=plural, count=events, interval_ms=5)
            # If one object changes twice in a row, the first change may never be sent.
            wait_for(lambda p=pair, m=mark: len(p.peer.starting(m)) >= changes * 0.9, "the events", 60)
            delays = [(int(provider) - int(curl)) / 1e6
                      for _, curl, provider in (line.split() for line in pair.peer.starting(mark))]
        budget(f"{plural} change to provider after curl prints it, {grouping}, {count:,} Ingresses, p99", percentile(delays, 0.99), 2.0, " ms",
               f"p50 {statistics.median(delays):.2f} ms, {len(delays)} changes")


def measure_instructions(sizes: list[int], events: int, grouping: str) -> None:
    spent: dict[int, float] = {}
    for count in sizes:
        with Pair(count, valgrind=True, grouping=grouping) as pair:
            pair.instructions()
            done = len(pair.peer.starting("commit"))
            pair.kube.churn(resource="endpointslices", count=events, interval_ms=20)
            wait_for(lambda p=pair, d=done: len(p.peer.starting("commit")) >= d + events * 0.9, "the events", 600)
            each = {name: count / events for name, count in pair.instructions().items()}
        spent[count] = sum(each.values())
        say(f"  endpoint change, {count:,} Ingresses, {grouping}: " + ", ".join(f"{name} {value:,.0f}" for name, value in each.items()))
    budget(f"instructions of a change, {grouping}, against {sizes[0]:,} Ingresses", spent[sizes[-1]] / spent[sizes[0]], 1.2, "x")


def fetch_pages(kube: KubeStandin, folder: pathlib.Path) -> list[str]:
    """Files with the bytes that the watcher reads."""
    token = kube.token_file.read_text().strip()
    files = []
    for plural, path in LISTS.items():
        more = ""
        while True:
            name = folder / f"{plural}-{len(files)}.json"
            url = f"{kube.url}{path}?limit=500" + (f"&continue={more}" if more else "")
            subprocess.run(["curl", "-sf", "--cacert", str(kube.ca_file), "-A", "bench/1", "-H",
                            f"Authorization: Bearer {token}", "-o", str(name), url], check=True)
            files.append(str(name))
            found = re.search(r'"continue":"([^"]+)"', name.read_text()[:2000])
            if not found:
                break
            more = found[1]
    return files


def last_list_s(kube: KubeStandin) -> float:
    """When the server had written the last byte of the last list, which is the initial part of a watch."""
    return max(stream["initial_done_ns"] for stream in kube.streams()) / 1e9


def sync_once(count: int) -> tuple[float, float, float]:
    """Seconds: CPU of our programs, CPU of cJSON alone on the same bytes, and from the last byte to the last object."""
    with Pair(count) as pair:
        serial, objects, at_ns = map(int, pair.peer.starting("commit")[0].split()[1:])
        spent = cpu_s(pair.watcher.pid) + cpu_s(pair.translator.pid)
        handed = at_ns / 1e9 - last_list_s(pair.kube)
        files = fetch_pages(pair.kube, pair.folder)
        size = sum(os.path.getsize(name) for name in files)
        parse = min(float(subprocess.run([BUILD / "tests/bench/bench-parse", *files], check=True, capture_output=True,
                                         text=True).stdout) for _ in range(5))
    say(f"  {size / 1e6:.1f} MB of JSON, {objects:,} objects in commit {serial}, {at_ns / 1e9 - pair.started_at:.2f} s in all")
    return spent, parse, handed


def measure_sync(count: int) -> None:
    """The least of several runs, because other processes on the machine can only make it more."""
    spent, parse, handed = (min(column) for column in zip(*(sync_once(count) for _ in range(3))))
    budget("CPU of the initial sync, against cJSON alone", spent / parse, 4, "x", f"{spent:.2f} s, cJSON {parse:.2f} s")
    budget("last byte of the last list to last object", handed * 1000, 1000, " ms")


def measure_memory(count: int, limit: float) -> None:
    with WholeLine(count, agent_interval=5) as line:
        line.settle()
        each = {name: pss_mb(daemon.pid) for name, daemon in line.daemons.items()}
    budget("proportional memory, " + (f"{count:,} Ingresses" if count else "idle"), sum(each.values()), limit, " MB",
           ", ".join(f"{name} {value:.1f}" for name, value in each.items()))


def measure_rancher(count: int) -> None:
    """Requests to Rancher: for taking over existing load balancers, and for one change."""
    with WholeLine(count, agent_interval=1) as line:
        line.settle()
        line.provider.kill()
        line.rancher.control("forget-requests")
        line.provider.start()
        line.settle()
        budget(f"calls to adopt {count:,} load balancers", len(line.rancher.requests()), count / 10, "")
        budget("writes to adopt them", line.writes(), 0, "")
        line.rancher.control("forget-requests")
        line.kube.churn(resource="ingresses", count=1)
        wait_for(line.writes, "the write", 120)
        line.settle()
        budget("writes for one changed Ingress", line.writes(), 1, "")
        line.rancher.control("forget-requests")
        line.kube.churn(resource="endpointslices", count=50)
        line.settle()
        budget("writes for 50 changed endpoints", line.writes(), 0, "")


def measure_admin(count: int) -> None:
    """How long sluicectl runs: the median, for commands about one object and for whole lists."""
    with Pair(count, answer=True) as pair, tempfile.TemporaryFile("w+") as out:
        def ask(*arguments: str) -> str:
            """The output goes to a file, because a pipe would be as slow as we read it. There is no timeout: with one Python polls for the end."""
            out.seek(0)
            out.truncate()
            began = time.monotonic()
            subprocess.run([BUILD / "sluicectl/sluicectl", *arguments, "--runtime-dir", str(pair.folder)], stdout=out, check=True)
            spent.append(time.monotonic() - began)
            out.seek(0)
            return out.read()

        spent: list[float] = []
        # Each load balancer has its status, and the watcher has written all addresses into the Ingresses.
        wait_for(lambda: ask("get", "lb").count("applied") == count, "the statuses", 120)
        settle(lambda: [pair.watcher.pid, pair.translator.pid])
        namespace, name = ask("get", "ingress").splitlines()[-1].split()[:2]
        lists = [("get", what, *form) for what in ("ingress", "lb", "pool") for form in ((), ("-o", "json"), ("-o", "yaml"))]
        for question in [("explain", f"{namespace}/{name}"), ("get", "ingress", f"{namespace}/{name}"), ("status",), *lists]:
            spent.clear()
            used = cpu_s(pair.translator.pid) + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            for _ in range(20):
                assert ask(*question)
            used = cpu_s(pair.translator.pid) + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - used
            words = " ".join("NAME" if "/" in word else word for word in question)
            budget(f"sluicectl {words} at {count:,} Ingresses", statistics.median(spent) * 1000, 50, " ms", f"best {min(spent) * 1000:.0f} ms, processor time of both {used * 50:.0f} ms")


def run(args: argparse.Namespace) -> None:
    count = args.count or (1000 if args.quick else 10000)
    sizes = [size for size in (100, 1000) if size < count] + [count]
    names = [args.proxy] if args.proxy else PROXIES
    parts = {
        "latency": lambda: [measure_latency(size, args.events, grouping) for size in sizes for grouping in (PER_INGRESS, MERGED)],
        "sync": lambda: measure_sync(count),
        "instructions": lambda: [measure_instructions(sizes, min(args.events, 100), grouping) for grouping in (PER_INGRESS, MERGED)],
        "memory": lambda: [measure_memory(size, 64 if size else 16) for size in [0, *sizes]],
        "rancher": lambda: measure_rancher(min(1000, count)),
        "elb": lambda: elb.measure(args.count or (100 if args.quick else 1000)),
        "admin": lambda: measure_admin(count),
        "certificates": lambda: certificates.measure(min(count, 5000)),
        "requests": lambda: [request_cost.measure(name, min(5000, count)) for name in names],
        "policies": lambda: [policy_costs.measure(name, min(5000, count)) for name in names],
        "metrics": lambda: [metrics_cost.measure(name, min(5000, count)) for name in names],
        "line": lambda: [proxies.measure(name, args.count or (1000 if args.quick else 5000), args.changes) for name in names],
        "peers": lambda: peers.measure(names, args.count or 1000),
        "proxies": lambda: proxy_costs.measure(names, count, args.long),
    }
    chosen = [*args.parts, *filter(None, args.only.split(","))]
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        sys.exit(f"scripts/bench: no such part: {', '.join(unknown)}; there are {', '.join(parts)}")
    chosen = chosen or [name for name in parts if name not in NAMED_PARTS]
    for name in chosen:
        say(name)
        parts[name]()
    if BUDGETS:
        say(f"\n{count:,} Ingresses, Services and slices, {2 * count:,} endpoints\n")
        print_table()


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("parts", nargs="*", metavar="PART", help="of latency, sync, instructions, memory, rancher, elb, admin, certificates, requests, policies, metrics, line, peers, proxies; all but certificates, requests, policies, metrics and peers when none is named")
    parser.add_argument("--quick", action="store_true", help="1,000 Ingresses instead of 10,000; the limits stay as they are")
    parser.add_argument("--count", type=int, default=0, help="another number of Ingresses")
    parser.add_argument("--events", type=int, default=300, help="how many changes")
    parser.add_argument("--only", default="", metavar="PART,...", help="the same as naming the parts")
    parser.add_argument("--proxy", choices=PROXIES, help="requests, policies, metrics, line, proxies, peers: only this one")
    parser.add_argument("--changes", type=int, default=10000, help="line: how many changes while clients keep asking")
    parser.add_argument("--long", action="store_true", help="proxies: HAProxy with 50,000 Ingresses, too, which takes some minutes more")
    arguments = parser.parse_args()

    def work() -> int:
        run(arguments)
        return 0 if all(line.met for line in BUDGETS) else 1
    return guarded(work)


if __name__ == "__main__":
    sys.exit(main())
