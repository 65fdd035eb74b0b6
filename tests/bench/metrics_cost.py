# SPDX-License-Identifier: Apache-2.0
"""What it costs that the traffic of Ingresses is counted: scripts/bench metrics.

Three proxies serve the same Ingresses: one counts, two do not. They get the same requests at the same time, so that a noisy machine affects them alike; how far
apart the two are that do the same shows what the figure is worth.
"""
from __future__ import annotations

import contextlib

from lib.local_proxy import LocalProxy, host, pool, rule_of
from lib.proxies import proxy_class
from report import budget, figure
from request_cost import ENDPOINT_PORT, SECONDS, WARM_RATE, Asked, addresses, endpoints

ROUNDS = 9
LIMIT = 1.03
BUSY = 50
WARM_TURNS = 4  # of all hosts
SERVICES_MAX = 500  # three proxies keep connections to each, from each of their workers


def _everybody(proxy: LocalProxy) -> list[int]:
    """The proxy's processes, and who counts."""
    return [process.pid for process in [*proxy.proxies(), *proxy.supervisors()]]


def _serve(proxy: LocalProxy, names: list[str], ips: list[str]) -> None:
    proxy.send(proxy.balancer(), *(pool(f"pool-{n}", (ip, ENDPOINT_PORT)) for n, ip in enumerate(ips)))
    proxy.send(*(host(name, rule_of("/", f"pool-{n % len(ips)}", ingress=f"bench/app-{n}")) for n, name in enumerate(names)))
    proxy.apply()


def _round(proxies: list[LocalProxy], names: list[str], turn: int) -> list[float]:
    """Microseconds of CPU a request of each. Who is asked first changes from round to round."""
    order = [(turn + place) % len(proxies) for place in range(len(proxies))]
    asked = {}
    for which in order:
        proxy = proxies[which]
        asked[which] = Asked(proxy.address, proxy.http, names, SECONDS, lambda proxy=proxy: _everybody(proxy))
    costs = {which: asked[which].cost_us() for which in order}
    return [costs[which] for which in range(len(proxies))]


def _compare(what: str, proxies: list[LocalProxy], names: list[str]) -> None:
    rounds = [_round(proxies, names, turn) for turn in range(ROUNDS)]
    plain, again, counted = (sum(column) / ROUNDS for column in zip(*rounds))
    figure(f"{what}, the same twice", again / plain, "x", f"{plain:.1f} and {again:.1f} µs")
    budget(f"{what}, counted", 2 * counted / (plain + again), LIMIT, "x", f"{counted:.1f} µs a request, {(plain + again) / 2:.1f} without")


def measure(name: str, count: int) -> None:
    """With `count` Ingresses, of which few are busy, as usual, or all."""
    names = [f"app-{number:05d}.bench.example.org" for number in range(count)]
    ips = addresses(min(count, SERVICES_MAX))
    with endpoints(ips), contextlib.ExitStack() as stack:
        proxies = [stack.enter_context(proxy_class(name)(arguments=words)) for words in ([], [], ["--metrics-ingresses", str(2 * count)])]
        for proxy in proxies:
            _serve(proxy, names, ips)
            Asked(proxy.address, proxy.http, names, WARM_TURNS * count / WARM_RATE + 1, lambda: [], WARM_RATE).cost_us()
        _compare(f"{name}: CPU of a request, {count:,} Ingresses, {BUSY} of them asked", proxies, names[:BUSY])
        _compare(f"{name}: CPU of a request, {count:,} Ingresses asked in turn", proxies, names)
