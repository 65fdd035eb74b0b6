# SPDX-License-Identifier: Apache-2.0
"""Whole lines of ours beside Traefik 3: scripts/bench peers.

Each has a Kubernetes stand-in of its own with the same objects in it, and all run at the same time; what is measured goes round, so that a noisy
machine hits all alike. A process counts, whatever it does: for us also watcher, translator and provider. Traefik is as it comes: no option is
set but those without which it would not run here, or would ask somebody outside.
"""
from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
from typing import Any, Callable, Iterable, Iterator, NamedTuple

from lib.addresses import Address, free_port
from lib.backend import Backend
from lib.cpu import used_ns
from lib.daemon import Daemon
from lib.processes import WITH_US
from lib.wait import wait_for
from proxies import PATIENCE_S, Bench, Client, Routes
from proxy_costs import pace
from report import compare, percentile, print_peers, pss_mb, say
from request_cost import COMMANDS, RATE, SECONDS, WARM_SECONDS, Asked, Bare, addresses, endpoints
from standins.kube.client import KubeStandin

LEAST = 200  # Ingresses: what is changed in a measurement has not been changed before
ENDPOINTS_MAX = 2000  # as many as three proxies can stay connected to
NETWORK = "127.83"  # of Traefik's addresses
POD = b"the-new-pod"
PATHS = itertools.count()
TRAEFIK = ["--global.checkNewVersion=false", "--global.sendAnonymousUsage=false", "--log.level=ERROR"]
# The stand-in has no nodes.
FROM_KUBERNETES = ["--providers.kubernetesIngress=true", "--providers.kubernetesIngress.disableClusterScopeResources=true"]

ROUNDS = 7
STARTS = 3
SAMPLES, REST_S = 20, 3.0  # Traefik rests for 2 s after it has followed one
STREAM, STREAM_RATE = 500, 50.0  # changes, and how many a second
ALONE, ALONE_RATE = 12, 1 / 3  # Traefik puts together what comes within 2 s


class Ours(Bench):
    def __init__(self, name: str, ips: list[str]):
        super().__init__(name)
        self.addresses = ips
        self.where = self.proxy.address, self.proxy.http

    def bare_command(self, _port: int) -> list[str]:
        return COMMANDS[self.name]

    def stop_all(self) -> None:
        """With nothing left on the disk."""
        for daemon in self.line.daemons():
            daemon.kill()
        self.proxy.kill_supervisor()
        self.proxy.kill_proxy()
        shutil.rmtree(self.proxy.state_dir)

    def start_all(self) -> None:
        for daemon in self.line.daemons():
            daemon.start()


class Traefik(Routes):
    """Use it as a context manager."""

    name = "traefik"

    def __init__(self, ips: list[str]):
        super().__init__()
        self.program = os.environ["SLUICE_TRAEFIK"]
        told = subprocess.run([self.program, "version"], capture_output=True, text=True, check=True).stdout
        self.version = version_of(told)
        self.addresses = ips
        self.stack = contextlib.ExitStack()
        with self.stack:
            self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            address = Address(NETWORK)
            self.stack.callback(address.release)
            self.where = address.ip, free_port(address.ip)
            self.kube = self.stack.enter_context(KubeStandin())
            self.client = Client(*self.where)
            self.stack.callback(self.client.close)
            command = [*self.command(*self.where), *FROM_KUBERNETES, f"--log.filePath={self.folder}/log"]
            self.daemon = Daemon(WITH_US[0], [*WITH_US[1:], *command], self.folder / "errors",
                                 {"KUBECONFIG": str(self.kube.controller_kubeconfig)})
            self.stack.callback(self.daemon.stop)
            self.daemon.start()
            wait_for(self.is_up, "Traefik to answer", PATIENCE_S)
            self.stack = self.stack.pop_all()

    def __enter__(self) -> "Traefik":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def is_up(self) -> bool:
        assert self.daemon.is_running(), f"{self.program} has ended: " + "\n".join(self.daemon.lines)
        return self.client.status("nobody.test") == 404

    def command(self, address: str, port: int) -> list[str]:
        return [self.program, f"--entryPoints.web.address={address}:{port}", *TRAEFIK]

    def bare_command(self, port: int) -> list[str]:
        return [*self.command(self.where[0], port), "--providers.file.watch=false", "--providers.file.filename"]

    def pids(self) -> list[int]:
        return [self.daemon.pid]  # setpriv has become it

    def stop_all(self) -> None:
        self.daemon.kill()

    def start_all(self) -> None:
        self.daemon.start()


Peer = Ours | Traefik


def version_of(told: str) -> str:
    """What `traefik version` calls itself."""
    found = [line.split()[1] for line in told.splitlines() if line.startswith("Version:")]
    if not found or not found[0].lstrip("v").startswith("3."):
        raise SystemExit(f"scripts/bench peers: SLUICE_TRAEFIK is no Traefik 3, it says: {told[:200]}")
    return found[0]


class Comparison:
    """The same for all: ours against Traefik, which is the last one."""

    def __init__(self, peers: list[Peer], pod: Backend):
        self.peers, self.pod = peers, pod

    @property
    def count(self) -> int:
        return self.peers[0].count

    def tell(self, name: str, values: list[float], unit: str, details: list[str] | None = None) -> None:
        for peer, value, detail in zip(self.peers, values[:-1], details or [""] * len(values)):
            compare(f"{peer.name}: {name}", value, values[-1], unit, detail)

    def rounds(self, turns: Iterable[int], measure: Callable[[Peer, int], Any]) -> list[list[Any]]:
        """What is measured of each in each turn, one after the other."""
        values: list[list[Any]] = [[] for _ in self.peers]
        for turn in turns:
            for peer, own in zip(self.peers, values):
                own.append(measure(peer, turn))
        return values

    def grow(self, count: int) -> None:
        for peer in self.peers:
            say(f"  {peer.name}: its Ingresses become {count:,}")
            peer.grow(count)

    # Measurements

    def measure_memory(self, name: str) -> None:
        for peer in self.peers:
            peer.settle()
        each = [{pid: pss_mb(pid) for pid in peer.pids()} for peer in self.peers]
        self.tell(f"memory, {name}", [sum(sizes.values()) for sizes in each], " MB", [f"{len(sizes)} processes" for sizes in each])

    def measure_requests(self, name: str, indices: range) -> None:
        """Microseconds of processor time, and how many times that of the same proxy with one route written by hand."""
        with contextlib.ExitStack() as stack:
            bares = {peer.name: stack.enter_context(bare_of(peer)) for peer in self.peers}
            for peer in self.peers:
                asked(peer, indices, WARM_SECONDS).cost_us()

            def both(peer: Peer, _turn: int) -> tuple[float, float]:
                bare = bares[peer.name]
                pair = asked(peer, indices, SECONDS), Asked(peer.where[0], bare.port, [peer.host(0)], SECONDS, bare.pids)
                return tuple(load.cost_us() for load in pair)
            values = self.rounds(range(ROUNDS), both)
        self.tell(f"CPU of a request, {name}", [statistics.median(own for own, _ in each) for each in values], " µs",
                  [f"{RATE:,} requests a second" for _ in values])
        self.tell(f"the same against the bare proxy, {name}", [statistics.median(own / bare for own, bare in each) for each in values], "x",
                  [f"bare {statistics.median(bare for _, bare in each):.1f} µs" for each in values])

    def measure_starts(self) -> None:
        def start(peer: Peer, _turn: int) -> float:
            peer.stop_all()
            peer.client.close()
            seconds = peer.served_s(peer.start_all)[0]
            peer.settle()
            return seconds
        values = self.rounds(range(STARTS), start)
        self.tell(f"start to the last of {self.count:,} routes, median", [statistics.median(each) for each in values], " s",
                  [f"best {min(each):.2f} s, of {STARTS}" for each in values])

    def measure_first_answers(self) -> None:
        """Of changes to something that was left alone for a while: Traefik follows the first one at once, and the next after 2 s."""
        for turn in range(SAMPLES):
            for peer in self.peers:
                path_change(peer, turn).put(peer)  # "/" would serve a new path already
        for peer in self.peers:
            peer.settle()
        kinds = (("path change", path_change), ("endpoint change", lambda peer, turn: endpoint_change(peer, turn, [self.pod.ip])))
        for name, change in kinds:
            values = self.rounds(after_rest(SAMPLES), lambda peer, turn, change=change: first_answer_ms(peer, change(peer, turn)))
            self.tell(f"{name} to first answer, {self.count:,} Ingresses, median", [statistics.median(each) for each in values], " ms",
                      [f"p90 {percentile(each, 0.9):.1f} ms beside {percentile(values[-1], 0.9):.1f}" for each in values])

    def measure_changes(self) -> None:
        """What the processes do anyway meanwhile is in it."""
        for changes, rate, text in ((ALONE, ALONE_RATE, f"one every {1 / ALONE_RATE:.0f} s"), (STREAM, STREAM_RATE, f"{STREAM_RATE:g} a second")):
            for name, change in (("a path", path_change), ("an endpoint", lambda peer, turn: endpoint_change(peer, turn, two_of(peer, turn)))):
                values = self.costs_ms(change, changes, rate)
                self.tell(f"CPU of {name} change, {text}, {self.count:,} Ingresses", values, " ms", [f"{changes} changes" for _ in values])

    def costs_ms(self, change: Callable[[Peer, int], Change], changes: int, rate: float) -> list[float]:
        """Each, until all rest again."""
        before = [used_ns(peer.pids()) for peer in self.peers]

        def put(peer: Peer, turn: int) -> Change:
            made = change(peer, turn)
            made.put(peer)
            return made
        last = [made[-1] for made in self.rounds(pace(changes, rate), put)]
        for peer, made in zip(self.peers, last):
            wait_for(lambda peer=peer, made=made: made.is_followed(peer), f"{made.host}{made.path} to be served anew", PATIENCE_S)
            peer.settle()
        return [(used_ns(peer.pids()) - own) / changes / 1e6 for peer, own in zip(self.peers, before)]


def after_rest(turns: int) -> Iterator[int]:
    for turn in range(turns):
        time.sleep(REST_S)
        yield turn


@contextlib.contextmanager
def bare_of(peer: Peer) -> Iterator[Bare]:
    address = peer.where[0]
    port = next(port for port in iter(lambda: free_port(address), 0) if port != peer.where[1])
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, \
            Bare(peer.name, peer.bare_command(port), (address, port), pathlib.Path(folder) / "bare", peer.addresses[0], peer.host(0)) as bare:
        yield bare


def asked(peer: Peer, indices: range, seconds: float) -> Asked:
    return Asked(*peer.where, [peer.host(index) for index in indices], seconds, peer.pids)


class Change(NamedTuple):
    """A merge patch of an object, and what to ask for to see it followed."""

    plural: str
    name: str
    namespace: str
    patch: dict[str, Any]
    host: str
    path: str
    word: bytes = b""  # of an answer

    def put(self, peer: Peer) -> None:
        peer.kube.patch_object(self.plural, self.name, self.patch, self.namespace)

    def is_followed(self, peer: Peer) -> bool:
        status, body = peer.client.ask(self.host, self.path)
        return status == 200 and self.word in body


# Paths are changed in the first half of the Ingresses, endpoints in the second.


def path_change(peer: Peer, turn: int) -> Change:
    """The only path of a host becomes another one, which nobody has had and of which none is the beginning."""
    index = turn % (peer.count // 2)
    name, host, path = f"app-{index:05d}", peer.host(index), f"/path-{next(PATHS):06d}"
    rule = {"path": path, "pathType": "Prefix", "backend": {"service": {"name": name, "port": {"number": 80}}}}
    patch = {"spec": {"rules": [{"host": host, "http": {"paths": [rule]}}]}}
    return Change("ingresses", name, f"bench-{index % 10}", patch, host, path)


def endpoint_change(peer: Peer, turn: int, ips: list[str]) -> Change:
    """One address that is given is that of the pod whose answers tell who it is."""
    half = peer.count // 2
    index = half + turn % half
    patch = {"endpoints": [{"addresses": [ip], "conditions": {"ready": True, "serving": True, "terminating": False}} for ip in ips]}
    return Change("endpointslices", f"app-{index:05d}-x{index % 97:02d}", f"bench-{index % 10}", patch, peer.host(index), "/",
                  POD if len(ips) == 1 else b"")


def two_of(peer: Peer, turn: int) -> list[str]:
    return [peer.addresses[(turn + more) % len(peer.addresses)] for more in (1, 2)]


def first_answer_ms(peer: Peer, change: Change) -> float:
    """From the moment when the API server has accepted it."""
    mark = peer.kube.mark()
    peer.kube.api.patch(change.plural, change.name, change.patch, change.namespace)
    wait_for(lambda: change.is_followed(peer), f"{change.host}{change.path} to be served anew", PATIENCE_S, 0.0001)
    served = time.monotonic_ns()
    request = peer.kube.requests(since=mark, verb="patch", resource=change.plural, identity="admin")[0]
    return (served - request["at_ns"]) / 1e6 - request["duration_us"] / 1e3


def measure(names: list[str], count: int) -> None:
    """Of these proxies and Traefik, at so many Ingresses."""
    count = max(count, LEAST)
    ips = addresses(min(count, ENDPOINTS_MAX))
    with contextlib.ExitStack() as stack:
        stack.enter_context(endpoints(ips))
        pod = stack.enter_context(Backend(POD.decode()))
        theirs = stack.enter_context(Traefik(ips))  # the first: it may not be what it is taken for
        both = Comparison([*(stack.enter_context(Ours(name, ips)) for name in names), theirs], pod)
        both.grow(1)
        both.measure_memory("1 Ingress")
        both.measure_requests("1 route", range(1))
        both.grow(count)
        both.measure_memory(f"{count:,} Ingresses")
        both.measure_requests(f"{count:,} routes", range(count - 1, count))
        both.measure_requests(f"{count:,} hosts in turn", range(count))
        both.measure_starts()
        both.measure_first_answers()
        both.measure_changes()
        both.measure_memory(f"{count:,} Ingresses, after the changes")
    print_peers(f"Traefik {theirs.version}")
