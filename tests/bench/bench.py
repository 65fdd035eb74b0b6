# SPDX-License-Identifier: Apache-2.0
"""The benchmark; run it through scripts/bench, which says what the options are."""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from lib.daemon import Daemon
from lib.line import build_folder
from lib.wait import wait_for
from standins.kube.client import KubeStandin
from standins.rancher.client import RancherStandin

BUILD = build_folder()
TICK = os.sysconf("SC_CLK_TCK")
BUDGETS: list[tuple[str, str, bool]] = []
LISTS = {"ingresses": "/apis/networking.k8s.io/v1/ingresses", "services": "/api/v1/services",
         "endpointslices": "/apis/discovery.k8s.io/v1/endpointslices"}


def say(text: str) -> None:
    print(text, flush=True)


def budget(name: str, value: str, met: bool) -> None:
    BUDGETS.append((name, value, met))
    say(f"  {name}: {value}  {'met' if met else 'MISSED'}")


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def cpu_s(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def pss_mb(pid: int) -> float:
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+) kB", text, re.M)[1]) / 1024


class Pair:
    """Watcher and translator on a stand-in with `count` Ingresses, and bench-peer as their provider."""

    def __init__(self, count: int, valgrind: bool = False, watch: str | None = None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-"))
        self.kube = KubeStandin().start()
        if count:
            self.kube.bulk(count=count)
        runtime = ["--runtime-dir", str(self.folder)]
        self.translator = self.daemon("translator/sluice-translator", runtime, valgrind)
        self.watcher = self.daemon("watcher/sluice-watcher",
                                   [*runtime, "--kubeconfig", str(self.kube.controller_kubeconfig)], valgrind)
        self.translator.start()
        self.curl = self.start_curl(watch) if watch else None
        self.peer = subprocess.Popen([BUILD / "tests/bench/bench-peer", str(self.folder)], text=True,
                                     stdin=self.curl.stdout if self.curl else subprocess.DEVNULL, stdout=subprocess.PIPE)
        os.set_blocking(self.peer.stdout.fileno(), False)
        self.lines: list[str] = []
        self.rest = ""
        self.started_at = time.monotonic()
        self.watcher.start()
        wait_for(lambda: self.read("commit"), "the first commit", 900 if valgrind else 120)

    def daemon(self, program: str, arguments: list[str], valgrind: bool) -> Daemon:
        path = BUILD / program
        if not valgrind:
            return Daemon(path, arguments, self.folder / f"{path.name}.log")
        out = f"--callgrind-out-file={self.folder}/{path.name}.callgrind"
        return Daemon("/usr/bin/valgrind", ["--tool=callgrind", "--quiet", out, str(path), *arguments],
                      self.folder / f"{path.name}.log")

    def start_curl(self, plural: str) -> subprocess.Popen:
        token = self.kube.token_file.read_text().strip()
        revision = self.kube.control("GET", "objects?resource=services&namespace=none")["revision"]
        url = f"{self.kube.url}{LISTS[plural]}?watch=true&resourceVersion={revision}&timeoutSeconds=3000"
        return subprocess.Popen(["curl", "-sN", "--cacert", str(self.kube.ca_file), "-A", "bench/1", "-H",
                                 f"Authorization: Bearer {token}", url], stdout=subprocess.PIPE)

    def read(self, prefix: str) -> list[str]:
        """All lines of bench-peer so far that begin so."""
        while piece := self.peer.stdout.read():
            self.rest += piece
        *whole, self.rest = self.rest.split("\n")
        self.lines += whole
        return [line for line in self.lines if line.startswith(prefix)]

    def stop(self) -> None:
        for process in filter(None, (self.peer, self.curl)):
            process.kill()
            process.wait()
        self.watcher.stop()
        self.translator.stop()
        self.kube.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Pair":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def measure_latency(count: int, events: int) -> None:
    for plural, mark in (("endpointslices", "10.64."), ("ingresses", "change-")):
        with Pair(count, watch=plural) as pair:
            if plural == "ingresses":
                pair.kube.wait_streams(2, resource="ingresses")
            changes = pair.kube.churn(resource=plural, count=events, interval_ms=5)
            wait_for(lambda p=pair, m=mark: len(p.read(m)) >= len(changes) * 0.9, "the events", 60)
            delays = [(int(provider) - int(curl)) / 1e6 for _, curl, provider in (l.split() for l in pair.read(mark))]
        p50, p99 = statistics.median(delays), percentile(delays, 0.99)
        text = f"p50 {p50:.2f} ms, p99 {p99:.2f} ms after curl ({len(delays)} events)"
        if count >= 10000:
            budget(f"event to provider, {plural}, {count} Ingresses (2 ms p99)", text, p99 <= 2.0)
        else:
            say(f"  event to provider, {plural}, {count} Ingresses: {text}")


def instructions(folder: pathlib.Path, daemon: Daemon, program: str) -> int:
    """Instructions since the last call: callgrind writes its counters to a file and sets them back."""
    before = set(folder.glob(f"{program}.callgrind*"))
    subprocess.run(["callgrind_control", "--dump", str(daemon.pid)], check=True, capture_output=True)
    new = wait_for(lambda: set(folder.glob(f"{program}.callgrind*")) - before, f"a dump of {program}", 60)
    text = wait_for(lambda: re.search(r"^(?:totals|summary): (\d+)", next(iter(new)).read_text(), re.M), "its totals", 20)
    return int(text[1])


def measure_instructions(sizes: list[int], events: int) -> None:
    spent: dict[int, float] = {}
    for count in sizes:
        with Pair(count, valgrind=True) as pair:
            programs = (("sluice-watcher", pair.watcher), ("sluice-translator", pair.translator))
            for program, daemon in programs:
                instructions(pair.folder, daemon, program)
            done = len(pair.read("commit"))
            pair.kube.churn(resource="endpointslices", count=events, interval_ms=20)
            wait_for(lambda p=pair, d=done: len(p.read("commit")) >= d + events * 0.9, "the events", 300)
            each = {program: instructions(pair.folder, daemon, program) / events for program, daemon in programs}
        spent[count] = sum(each.values())
        say(f"  instructions per endpoint event, {count} Ingresses: " +
            ", ".join(f"{name} {value:,.0f}" for name, value in each.items()))
    ratio = spent[max(sizes)] / spent[min(sizes)]
    budget(f"instructions per event, {max(sizes)} against {min(sizes)} (1.2x)", f"{ratio:.2f}x", ratio < 1.2)


def fetch_pages(kube: KubeStandin, folder: pathlib.Path) -> list[str]:
    """The bytes that the watcher reads, as files."""
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


def measure_sync(count: int) -> None:
    with Pair(count) as pair:
        serial, objects, at_ns = map(int, pair.read("commit")[0].split()[1:])
        wall = at_ns / 1e9 - pair.started_at
        spent = cpu_s(pair.watcher.pid) + cpu_s(pair.translator.pid)
        files = fetch_pages(pair.kube, pair.folder)
        size = sum(os.path.getsize(name) for name in files)
        parse = min(float(subprocess.run([BUILD / "tests/bench/bench-parse", *files], check=True, capture_output=True,
                                         text=True).stdout) for _ in range(3))
        log = pair.watcher.lines
    say(f"  initial sync of {count}: {size / 1e6:.1f} MB of JSON, {objects} objects in commit {serial}, {wall:.2f} s in all")
    ratio = spent / parse
    text = f"{spent:.2f} s of CPU, cJSON alone {parse:.2f} s: {ratio:.1f}x"
    if count >= 10000:
        budget(f"initial sync of {count} against cJSON alone (4x)", text, ratio < 4)
    else:
        say(f"  {text}")
    del log


def measure_memory(count: int) -> None:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-"))
    runtime = ["--runtime-dir", str(folder)]
    with KubeStandin() as kube:
        if count:
            kube.bulk(count=count)
        options = {"dataplane": False, "hosts": 3, "kubeconfig": kube.kubeconfig, "agent_interval": 5}
        with RancherStandin(**options) as rancher:
            environment = {"CATTLE_URL": rancher.url, "CATTLE_ACCESS_KEY": rancher.access_key,
                           "CATTLE_SECRET_KEY": rancher.secret_key}
            daemons = [Daemon(BUILD / "translator/sluice-translator", runtime, folder / "t.log"),
                       Daemon(BUILD / "watcher/sluice-watcher", [*runtime, "--kubeconfig", str(kube.controller_kubeconfig)],
                              folder / "w.log"),
                       Daemon(BUILD / "provider-rancher/sluice-provider-rancher", runtime, folder / "p.log", environment)]
            for daemon in daemons:
                daemon.start()
            wait_for(lambda: daemons[1].events("ready") and daemons[2].events("link-up"), "the line to be up", 60)
            wait_for(lambda: len(rancher.rows("loadBalancerService")) >= count, f"{count} load balancers", 900, 1.0)
            settled = measure_settled(daemons)
            for daemon in daemons:
                daemon.stop()
    shutil.rmtree(folder, ignore_errors=True)
    text = f"{sum(settled):.1f} MB (" + ", ".join(
        f"{name} {value:.1f}" for name, value in zip(("translator", "watcher", "provider"), settled)) + ")"
    limit = 12 if count == 0 else 32
    if count in (0, 10000):
        budget(f"proportional memory at {count} Ingresses ({limit} MB)", text, sum(settled) <= limit)
    else:
        say(f"  proportional memory at {count} Ingresses: {text}")


def measure_settled(daemons: list[Daemon]) -> list[float]:
    """PSS of each once none of them uses the processor any more."""
    def busy() -> float:
        return sum(cpu_s(daemon.pid) for daemon in daemons)

    last = [busy(), time.monotonic()]

    def rests() -> bool:
        now = busy()
        if now - last[0] > 0.02:
            last[:] = [now, time.monotonic()]
        return time.monotonic() - last[1] > 2.0

    wait_for(rests, "the line to come to rest", 300, 0.25)
    return [pss_mb(daemon.pid) for daemon in daemons]


def measure_rancher(count: int) -> None:
    """Rancher calls for taking over load balancers that exist, and for one change."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-"))
    runtime = ["--runtime-dir", str(folder)]
    with KubeStandin() as kube:
        kube.bulk(count=count)
        with RancherStandin(dataplane=False, hosts=3, kubeconfig=kube.kubeconfig, agent_interval=1.0) as rancher:
            wait_for(lambda: len(rancher.rows("kubernetesService")) >= count, "the services", 300, 0.5)
            environment = {"CATTLE_URL": rancher.url, "CATTLE_ACCESS_KEY": rancher.access_key,
                           "CATTLE_SECRET_KEY": rancher.secret_key}
            daemons = [Daemon(BUILD / "translator/sluice-translator", runtime, folder / "t.log"),
                       Daemon(BUILD / "watcher/sluice-watcher", [*runtime, "--kubeconfig", str(kube.controller_kubeconfig)],
                              folder / "w.log"),
                       Daemon(BUILD / "provider-rancher/sluice-provider-rancher", runtime, folder / "p.log", environment)]
            for daemon in daemons:
                daemon.start()
            wait_for(lambda: len(rancher.rows("loadBalancerService")) >= count, f"{count} load balancers", 600, 0.5)
            measure_settled(daemons)
            daemons[2].kill()
            rancher.control("reset-counters")
            daemons[2].start()
            measure_settled(daemons)
            adoption = rancher.requests()
            writes = [entry for entry in adoption if entry["method"] != "GET"]
            say(f"  taking over {count} load balancers: {len(adoption)} calls, {len(writes)} writes")
            budget(f"adoption of {count} costs list pages (under {count / 10:.0f} calls, no write)",
                   f"{len(adoption)} calls, {len(writes)} writes", len(adoption) < count / 10 and not writes)
            rancher.control("reset-counters")
            kube.churn(resource="ingresses", count=1)
            wait_for(lambda: [e for e in rancher.requests() if e["method"] != "GET"], "the write", 60)
            measure_settled(daemons)
            writes = [entry for entry in rancher.requests() if entry["method"] != "GET"]
            budget("one changed Ingress costs one write", f"{len(writes)} writes", len(writes) == 1)
            rancher.control("reset-counters")
            kube.churn(resource="endpointslices", count=50)
            measure_settled(daemons)
            writes = [entry for entry in rancher.requests() if entry["method"] != "GET"]
            budget("50 endpoint changes cost no write", f"{len(writes)} writes", not writes)
            for daemon in daemons:
                daemon.stop()
    shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--skip", default="")
    args = parser.parse_args()
    sizes = [int(text) for text in args.sizes.split(",")]
    skip = args.skip.split(",")
    if "latency" not in skip:
        say("latency of an event, against a bare curl watch")
        for count in sizes:
            measure_latency(count, args.events)
    if "sync" not in skip:
        say("initial sync")
        for count in sizes:
            measure_sync(count)
    if "instructions" not in skip:
        say("instructions of an event (callgrind)")
        measure_instructions(sizes, min(args.events, 100))
    if "memory" not in skip:
        say("memory")
        for count in [0, *sizes]:
            measure_memory(count)
    if "rancher" not in skip:
        say("calls to Rancher")
        measure_rancher(min(1000, max(sizes)))
    say("\nbudgets")
    for name, value, met in BUDGETS:
        say(f"  {'met   ' if met else 'MISSED'}  {name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
