# SPDX-License-Identifier: Apache-2.0
"""What a request costs a proxy as we configure it, compared with the same proxy with one hand-written route: scripts/bench requests.

Both get requests at the same time and at the same fixed rate, so that a noisy machine affects both alike.
"""
from __future__ import annotations

import contextlib
import http.client
import os
import pathlib
import statistics
import subprocess
from typing import Callable, Iterable, NamedTuple

from lib.cpu import used_ns
from lib.line import build_folder
from lib.local_proxy import PATIENCE, LocalProxy, host, pool
from lib.proxies import proxy_class
from lib.traffic import request
from lib.wait import wait_for
from report import budget, figure

BARE = pathlib.Path(__file__).parent / "bare"
TOOLS = build_folder() / "tests/bench"
COMMANDS = {"haproxy": ["haproxy", "-W", "-f"], "nginx": ["nginx", "-e", "stderr", "-c"]}  # and the file
ROUNDS = 9
CONNECTIONS = 32
RATE = 1000  # requests a second to each, which a slow machine can do
SECONDS = 2
WARM_SECONDS, WARM_RATE = 5, 3000  # at least so long, and so many a second, of requests that do not count
WARM_TURNS = 12  # of all hosts: each of two workers makes connections of its own, and only chance decides which of them gets a request
ENDPOINT_PORT = 8080
LIMIT, LIMIT_TURN = 1.15, 1.25


def children(pid: int) -> list[int]:
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Question(NamedTuple):
    """What clients send, besides the host, and the status that they want."""

    path: str = "/"
    headers: tuple[str, ...] = ()
    status: int = 200


class Bare:
    """A proxy at an address, with the configuration from tests/bench/bare and a folder of its own; the command takes the file as its last
    word. A policy is text for its one route, and text that has to stand outside of that. Use it as a context manager."""

    def __init__(self, name: str, command: list[str], where: tuple[str, int], folder: pathlib.Path, endpoint: str, asked: str,
                 policy: str = "", outside: str = ""):
        self.port = where[1]
        folder.mkdir()
        folder.chmod(0o777)
        (source,) = BARE.glob(f"{name}.*")
        text = source.read_text() + self._more(folder)
        words = {"POLICY": policy, "OUTSIDE": outside, "FOLDER": folder, "ADDRESS": where[0], "PORT": self.port, "HOST": asked, "ENDPOINT": f"{endpoint}:{ENDPOINT_PORT}"}
        for word, value in words.items():
            text = text.replace(f"@{word}@", str(value))
        file = folder / source.name
        file.write_text(text)
        self._master = subprocess.Popen([*command, str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: answers_anything(where, asked), "the bare proxy to answer", PATIENCE)

    def __enter__(self) -> "Bare":
        return self

    def __exit__(self, *_: object) -> None:
        self._master.terminate()
        self._master.wait()

    def _more(self, _folder: pathlib.Path) -> str:
        """What else the file has to say."""
        return ""

    def pids(self) -> list[int]:
        return [self._master.pid, *children(self._master.pid)]


class ManyByHand(Bare):
    """HAProxy with a backend for each of the hosts, which do nothing else: what so many sockets, servers and backends cost whoever serves them. With
    `scripts` of Lua, if any."""

    def __init__(self, names: list[str], ips: list[str], where: tuple[str, int], folder: pathlib.Path, ports: tuple[int, ...] = (ENDPOINT_PORT,),
                 scripts: tuple[str, ...] = ()):
        self._names, self._ips, self._ports, self._scripts = names, ips, ports, scripts
        super().__init__("haproxy-many", COMMANDS["haproxy"], where, folder, ips[0], names[0])

    def _more(self, folder: pathlib.Path) -> str:
        (folder / "hosts.map").write_text("".join(f"{name} app{number}\n" for number, name in enumerate(self._names)))
        servers = [f"\tserver at{port} @:{port}\n" for port in self._ports]
        backends = [f"\nbackend app{number}\n" + "".join(servers).replace("@", ip) for number, ip in enumerate(self._ips)]
        return "".join(["\nglobal\n" if self._scripts else "", *self._scripts, *backends])


def addresses(count: int) -> list[str]:
    """`count` consecutive addresses that no other run on this machine is likely to use."""
    first = (127 << 24) + ((100 + os.getpid() % 100) << 16) + 1
    return [".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0)) for number in range(first, first + count)]


@contextlib.contextmanager
def endpoints(ips: list[str]) -> Iterable[None]:
    server = subprocess.Popen([str(TOOLS / "bench-endpoint"), ips[0], str(len(ips)), str(ENDPOINT_PORT)], stdout=subprocess.PIPE)
    try:
        if server.stdout.readline() != b"ready\n":
            raise AssertionError("the endpoints do not listen")
        yield
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def answers_anything(where: tuple[str, int], asked: str) -> bool:
    with contextlib.suppress(OSError, http.client.HTTPException):
        return request(*where, asked).status > 0
    return False


class Asked:
    """Requests under way to a proxy, and the processor time that it uses for them."""

    def __init__(self, address: str, port: int, hosts: list[str], seconds: float, pids: Callable[[], list[int]],
                 rate: int = RATE, question: Question = Question()):
        self._pids, self._before = pids, used_ns(pids())
        self._wanted = f"{question.path} at port {port} with {question.status}"
        self._load = subprocess.Popen([str(TOOLS / "bench-load"), address, str(port), str(CONNECTIONS), str(rate), str(seconds),
                                       str(question.status), question.path, *question.headers],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._load.stdin.write("\n".join(hosts))
        self._load.stdin.close()

    def cost_us(self) -> float:
        """Waits for the last answer. Returns microseconds of CPU a request."""
        words = self._load.stdout.read().split()
        self._load.stdout.close()
        if self._load.wait() != 0:
            raise AssertionError("bench-load has failed")
        result = dict(zip(words[::2], map(int, words[1::2])))
        if result["failed"]:
            raise AssertionError(f"{result['failed']} requests for {self._wanted} have failed, {result['good']} have not; "
                                 f"the last other status was {result['failed_status'] or 'none'}")
        return (used_ns(self._pids()) - self._before) / 1000 / result["good"]


def own_pids(proxy: LocalProxy, bare: Bare) -> list[int]:
    """The processes of our proxy, without the bare one's: its folder is inside ours, so proxies() finds it, too."""
    return [process.pid for process in proxy.proxies() if process.pid not in bare.pids()]


def measure_ratio(proxy: LocalProxy, bare: Bare, hosts: list[str], asked: str, question: Question = Question(),
                  of_bare: Question | None = None) -> tuple[float, str]:
    """Our cost divided by the bare proxy's, which is asked the same unless told: the median of the rounds."""
    def ours(seconds: float, rate: int = RATE) -> Asked:
        return Asked(proxy.address, proxy.http, hosts, seconds, lambda: own_pids(proxy, bare), rate, question)

    return compare(ours, len(hosts), lambda: Asked(proxy.address, bare.port, [asked], SECONDS, bare.pids, question=of_bare or question))


def compare(ours: Callable[..., Asked], hosts: int, other: Callable[[], Asked]) -> tuple[float, str]:
    """The cost of the first divided by that of the second, which are asked at the same time: the median of the rounds."""
    ours(max(WARM_SECONDS, WARM_TURNS * hosts / WARM_RATE), WARM_RATE).cost_us()
    rounds = []
    for _ in range(ROUNDS):
        pair = ours(SECONDS), other()
        rounds.append(tuple(load.cost_us() for load in pair))
    own, bare = (statistics.median(column) for column in zip(*rounds))
    return statistics.median(a / b for a, b in rounds), f"{own:.1f} µs a request, bare {bare:.1f}"


def measure_floor(bare: Bare, address: str, port: int, folder: pathlib.Path, names: list[str]) -> None:
    """What of the cost of hosts in turn nobody can avoid who has as many endpoints to ask: HAProxy with a backend for each, written by hand, has endpoints of
    its own, since those of one process are as many as it may have descriptors."""
    ips = addresses(2 * len(names))[len(names):]
    with endpoints(ips), ManyByHand(names, ips, (address, port), folder) as many:
        def by_hand(seconds: float, rate: int = RATE) -> Asked:
            return Asked(address, port, names, seconds, many.pids, rate)

        ratio, detail = compare(by_hand, len(names), lambda: Asked(address, bare.port, names[:1], SECONDS, bare.pids))
        figure(f"haproxy: the same by hand, with {len(names):,} backends and nothing else", ratio, "x", detail)


def measure(name: str, count: int) -> None:
    """The ratio with one route and with `count` routes, each with an endpoint of its own."""
    names = [f"app-{number:05d}.bench.example.org" for number in range(count)]
    ips = addresses(count)
    with endpoints(ips), proxy_class(name)() as proxy:
        proxy.send(proxy.balancer(), host(names[0], ("/", "pool-0")), pool("pool-0", (ips[0], ENDPOINT_PORT)))
        proxy.commit()
        proxy.wait_applied()
        where = proxy.address, proxy.other_port(proxy.http, proxy.https)
        with Bare(name, COMMANDS[name], where, proxy.folder / "bare", ips[0], names[0]) as bare:
            budget(f"{name}: CPU of a request, 1 route", *_budget(measure_ratio(proxy, bare, names[:1], names[0]), LIMIT))
            for number in range(1, count):
                proxy.send(host(names[number], ("/", f"pool-{number}")), pool(f"pool-{number}", (ips[number], ENDPOINT_PORT)))
            proxy.apply()
            budget(f"{name}: CPU of a request, {count:,} routes", *_budget(measure_ratio(proxy, bare, names[-1:], names[0]), LIMIT))
            budget(f"{name}: CPU of a request, {count:,} hosts in turn", *_budget(measure_ratio(proxy, bare, names, names[0]), LIMIT_TURN))
            if name == "haproxy":
                measure_floor(bare, proxy.address, proxy.other_port(proxy.http, proxy.https, bare.port), proxy.folder / "many", names)


def _budget(measured: tuple[float, str], limit: float) -> tuple[float, float, str, str]:
    ratio, detail = measured
    return ratio, limit, "x", detail
