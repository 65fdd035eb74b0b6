# SPDX-License-Identifier: Apache-2.0
"""What only requests can tell: whether what is called applied is served, and what was removed is not. Run with --traffic."""
from __future__ import annotations

import contextlib
import http.client
import time
from typing import Callable

from .bench import Bench, Connection, Failed
from .registry import traffic_check
from .wishes import Object

HOST, OTHER_HOST = "check.example.com", "other.example.com"
QUIET_S = 0.5  # how long something that must not happen is waited for
AGAIN_AND_AGAIN = 4  # times that are enough to see an `applied` that comes too soon


def objects(bench: Bench, host: str = HOST, backend: str = "one", **lb) -> list[Object]:
    wishes = bench.wishes()
    return [wishes.load_balancer(**lb), wishes.virtual_host(host, f"pool/{backend}"), wishes.pool(backend, bench.backend(backend).ip)]


def entry(connection: Connection, lb: Object) -> tuple[str, int]:
    """Where traffic enters, as soon as the provider has said `applied` and an address for this revision."""
    def found() -> list | None:
        connection.wait_state(lb)
        return next((s["addresses"] for s in reversed(connection.statuses)
                     if s["id"] == lb["id"] and s["rev"] == lb["rev"] and s["state"] == "applied" and s.get("addresses")), None)
    address = connection.wait(found, "an address to send requests to")[0]
    return address.get("ip") or address["hostname"], lb["listeners"][0]["port"]


def answer(at: tuple[str, int], host: str = HOST) -> str:
    """One request: the name of the backend that answered, or what was seen instead."""
    link = http.client.HTTPConnection(*at, timeout=5)
    try:
        with contextlib.closing(link):
            link.request("GET", "/", headers={"Host": host})
            got = link.getresponse()
            return got.headers.get("X-Backend") or f"status {got.status}"
    except (OSError, http.client.HTTPException) as problem:
        return f"{type(problem).__name__} {problem}"


def served(bench: Bench, **lb) -> tuple[Connection, list[Object], tuple[str, int]]:
    """A fresh connection with objects that are applied and served."""
    connection = bench.fresh()
    wanted = objects(bench, **lb)
    connection.snapshot(wanted)
    at = entry(connection, wanted[0])
    require(at, HOST, "one", "it says applied")
    return connection, wanted, at


def require(at: tuple[str, int], host: str, name: str, why: str) -> None:
    got = answer(at, host)
    if got != name:
        raise Failed(f"{why}, but {host} at {at[0]}:{at[1]} answers {got} instead of backend {name}")


def wait_gone(connection: Connection, at: tuple[str, int], host: str, why: str) -> None:
    """Until no backend answers there."""
    def names_of_backends() -> bool:
        return answer(at, host) in connection.bench.backends
    deadline = time.monotonic() + connection.bench.timeout
    while names_of_backends():
        if time.monotonic() > deadline:
            raise Failed(f"{host} at {at[0]}:{at[1]} is still served {connection.bench.timeout:g} s after {why}")
        connection.linger(0.05)


def stays(connection: Connection, holds: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + QUIET_S
    while time.monotonic() < deadline:
        if not holds():
            raise Failed(complaint)
        connection.linger(0.02)


@traffic_check
def serves_what_it_calls_applied(bench: Bench) -> None:
    """The moment it says `applied`, a request to the address that it tells is answered by the backend; each time that the listener's port changes."""
    connection = bench.fresh()
    connection.snapshot(objects(bench))
    for number in range(AGAIN_AND_AGAIN):
        port = bench.ports[number % 2]
        wanted = objects(bench, listeners=[{"port": port, "protocol": "http"}], labels=[{"key": "check", "value": str(number)}])
        connection.upsert(*wanted)
        connection.commit()
        require(entry(connection, wanted[0]), HOST, "one", f"it says applied of port {port}")


@traffic_check
def serves_a_change(bench: Bench) -> None:
    """A rule that leads to another pool, and an endpoint that takes the place of another, are soon served."""
    connection, _, at = served(bench)
    wishes = bench.wishes()
    for change in ([wishes.virtual_host(HOST, "pool/two"), wishes.pool("two", bench.backend("two").ip)],
                   [wishes.pool("two", bench.backend("one").ip)]):
        before = answer(at)
        connection.upsert(*change)
        connection.commit()
        connection.wait(lambda name=before: answer(at) in bench.backends and answer(at) != name, "a change of rules or endpoints to be served")


@traffic_check
def serves_no_more_what_is_removed(bench: Bench) -> None:
    """A virtual host that is removed, and then its load balancer, are soon not served any more."""
    connection, wanted, at = served(bench)
    other = bench.wishes().virtual_host(OTHER_HOST, "pool/one")
    connection.upsert(other)
    connection.commit()
    connection.wait(lambda: answer(at, OTHER_HOST) == "one", f"{OTHER_HOST} to be served")
    connection.send("remove", {"kind": "virtual-host", "id": other["id"]})
    connection.commit()
    wait_gone(connection, at, OTHER_HOST, "the removal of its virtual host was committed")
    require(at, HOST, "one", "only another virtual host was removed")
    connection.send("remove", {"kind": "virtual-host", "id": wanted[1]["id"]})
    connection.send("remove", {"kind": "load-balancer", "id": wanted[0]["id"]})
    connection.commit()
    wait_gone(connection, at, HOST, "the removal of its load balancer was committed")


@traffic_check
def serves_nothing_of_what_is_absent(bench: Bench) -> None:
    """When it says `applied` of a load balancer with `absent`, nothing of it is served."""
    connection, wanted, at = served(bench)
    connection.send("remove", {"kind": "virtual-host", "id": wanted[1]["id"]})
    lb = bench.wishes().load_balancer(absent=True)
    connection.upsert(lb)
    connection.commit()
    connection.wait_state(lb)
    got = answer(at)
    if got in bench.backends:
        raise Failed(f"it says applied of what is absent, but {HOST} at {at[0]}:{at[1]} is answered by backend {got}")


@traffic_check
def serves_only_what_was_committed(bench: Bench) -> None:
    """What was sent without a commit is not served, neither on that connection nor after it was lost."""
    connection, _, at = served(bench)
    connection.upsert(bench.wishes().virtual_host(OTHER_HOST, "pool/one"), bench.wishes().virtual_host(HOST, "pool/nowhere"))
    connection.roundtrip()

    def holds() -> bool:
        return answer(at, OTHER_HOST) not in bench.backends and answer(at) == "one"
    stays(connection, holds, "it serves what was not committed")
    stays(bench.fresh(), holds, "it serves what was not committed before the link was lost")


@traffic_check
def goes_on_serving_without_a_link(bench: Bench) -> None:
    """When the link is lost, what was committed is served on; before the next snapshot is committed, too."""
    connection, wanted, at = served(bench)
    bench.unlisten()
    connection.close()

    def holds() -> bool:
        return answer(at) == "one"
    stays(connection, holds, "it serves no more when the link is lost")
    connection = bench.fresh()
    connection.send("sync-begin", {})
    connection.upsert(wanted[0])
    connection.roundtrip()
    stays(connection, holds, "it serves no more what a snapshot that is not complete does not hold")


@traffic_check
def forgets_what_the_next_snapshot_lacks(bench: Bench) -> None:
    """What was applied before the link was lost, and is not in the next snapshot, is soon not served any more."""
    _, _, at = served(bench)
    connection = bench.fresh()
    connection.snapshot(objects(bench, OTHER_HOST))
    connection.wait(lambda: answer(at, OTHER_HOST) == "one", f"{OTHER_HOST} to be served")
    wait_gone(connection, at, HOST, "a snapshot without it was committed")
    connection = bench.fresh()
    connection.snapshot([])
    wait_gone(connection, at, OTHER_HOST, "an empty snapshot was committed")
