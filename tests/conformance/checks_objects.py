# SPDX-License-Identifier: Apache-2.0
"""Section 5 of PROTOCOL.md: snapshots, changes, statuses, and who dies when."""
from __future__ import annotations

import signal
import subprocess

from .bench import Bench, Connection, Failed
from .registry import check
from .wishes import revised


def settled(bench: Bench, **lb) -> Connection:
    """A fresh connection with the usual objects, all applied."""
    connection = bench.fresh()
    objects = bench.wishes().usual(**lb)
    connection.snapshot(objects)
    connection.wait_state(objects[0])
    return connection


def names_of(addresses: list) -> list[str]:
    return [item.get("ip") or item["hostname"] for item in addresses]


def ids(connection: Connection) -> set[str]:
    return {status["id"] for status in connection.statuses}


@check
def says_nothing_before_the_commit(bench: Bench) -> None:
    """What was sent without a commit is not acted upon, and no status is sent before the first one of a link, whatever was applied before."""
    for is_first in (True, False):
        connection = bench.fresh()
        connection.send("sync-begin", {})
        connection.upsert(*bench.wishes().usual())
        for _ in range(3):
            connection.roundtrip()
        connection.linger(0.5)
        connection.require_valid()
        if is_first:
            settled(bench)


@check
def applies_a_snapshot(bench: Bench) -> None:
    """After a snapshot it says `applied` with the revision of the load balancer, in the end."""
    settled(bench)


@check
def tells_where_traffic_enters(bench: Bench) -> None:
    """A status with `addresses_known` holds at least one address, with ip or hostname, none twice."""
    connection = settled(bench)

    def told() -> list:
        return next((s["addresses"] for s in connection.statuses if s.get("addresses_known") and s.get("addresses")), [])

    names = names_of(connection.wait(told, "addresses"))
    if len(set(names)) != len(names):
        raise Failed(f"an address stands twice: {names}")


@check
def tells_addresses_in_one_order(bench: Bench) -> None:
    """The same addresses are told in the same order, so that whoever compares two statuses sees no change where there is none."""
    orders: dict[tuple[str, ...], list[str]] = {}
    for _ in range(4):
        tells_where_traffic_enters(bench)
        bench.connection.linger(0.1)
        for status in bench.connection.statuses:
            names = names_of(status.get("addresses", []))
            if orders.setdefault(tuple(sorted(names)), names) != names:
                raise Failed(f"it tells {names} after {orders[tuple(sorted(names))]}: the same in another order")


@check
def speaks_only_of_what_it_was_asked_for(bench: Bench) -> None:
    """Statuses name load balancers of the state, and revisions that were sent."""
    connection = settled(bench)
    lb = bench.wishes().load_balancer()
    connection.linger(0.3)
    strange = [s for s in connection.statuses if s["id"] != lb["id"] or s["rev"] != lb["rev"]]
    if strange:
        raise Failed(f"nobody has asked for {strange[0]['id']} with revision {strange[0]['rev']}")


@check
def applies_a_change(bench: Bench) -> None:
    """A changed load balancer becomes `applied` with its new revision, and a changed host, pool and rule do no harm."""
    connection = settled(bench)
    wishes = bench.wishes()
    lb = wishes.load_balancer(labels=[{"key": "check", "value": "changed"}])
    connection.upsert(wishes.pool("two", "127.0.0.2"), wishes.virtual_host(pool="pool/two", path="/two"), lb)
    connection.commit()
    connection.wait_state(lb)
    connection.upsert(wishes.pool("web"))
    connection.commit()
    connection.roundtrip()


@check
def takes_an_object_that_has_not_changed(bench: Bench) -> None:
    """An upsert with the revision that stands, and a commit of nothing, are no error."""
    connection = settled(bench)
    connection.upsert(*bench.wishes().usual())
    connection.commit()
    connection.commit()
    connection.roundtrip()


@check
def forgets_what_was_not_committed(bench: Bench) -> None:
    """When the link is lost before a commit, what was staged is forgotten and what was committed stands."""
    connection = settled(bench)
    wishes = bench.wishes()
    never = revised({**wishes.load_balancer(), "id": "never/committed"})
    connection.upsert(never)
    connection.roundtrip()
    again = settled(bench)
    again.linger(0.3)
    if any(status["id"] == never["id"] for status in [*connection.statuses, *again.statuses]):
        raise Failed("it speaks of an object that was never committed")


@check
def repeats_statuses_after_a_snapshot(bench: Bench) -> None:
    """A new connection with the same snapshot hears of every load balancer again, though nothing has changed."""
    settled(bench)
    for _ in range(2):
        settled(bench)


@check
def repeats_addresses_after_a_snapshot(bench: Bench) -> None:
    """The addresses come again as well: nobody else remembers them."""
    tells_where_traffic_enters(bench)
    tells_where_traffic_enters(bench)


@check
def survives_its_own_death(bench: Bench) -> None:
    """Killed and started again it connects, compares and says `applied` for the same snapshot."""
    settled(bench)
    bench.kill()
    settled(bench)


@check
def survives_death_while_it_works(bench: Bench) -> None:
    """Killed right after a commit it gets there after all."""
    connection = bench.fresh()
    connection.snapshot(bench.wishes().usual(labels=[{"key": "check", "value": "killed"}]))
    bench.kill()
    settled(bench, labels=[{"key": "check", "value": "killed"}])


@check
def survives_a_lost_link(bench: Bench) -> None:
    """A link lost at any place of a snapshot changes nothing; the next snapshot counts."""
    objects = bench.wishes().usual()
    for count in range(len(objects) + 1):
        connection = bench.fresh()
        connection.send("sync-begin", {})
        connection.upsert(*objects[:count])
    settled(bench)


@check
def removes_what_is_removed(bench: Bench) -> None:
    """A removed load balancer is not spoken of any more, and can come back."""
    connection = settled(bench)
    wishes = bench.wishes()
    lb = wishes.load_balancer()
    connection.send("remove", {"kind": "virtual-host", "id": wishes.virtual_host()["id"]})
    connection.send("remove", {"kind": "load-balancer", "id": lb["id"]})
    connection.commit()
    connection.roundtrip()
    connection.statuses.clear()
    connection.upsert(wishes.pool("web", "127.0.0.2"))
    connection.commit()
    connection.roundtrip()
    connection.linger(0.3)
    if lb["id"] in ids(connection):
        raise Failed(f"it says {connection.statuses[-1]['state']} of {lb['id']}, whose removal was committed")
    connection.upsert(*wishes.usual())
    connection.commit()
    connection.wait_state(lb)


@check
def removes_what_a_snapshot_lacks(bench: Bench) -> None:
    """What a snapshot does not repeat is gone: no status speaks of it."""
    settled(bench)
    connection = bench.fresh()
    connection.snapshot([])
    connection.roundtrip()
    connection.linger(0.5)
    if connection.statuses:
        raise Failed(f"it says {connection.statuses[0]['state']} of {connection.statuses[0]['id']}, which does not exist")
    settled(bench)


@check
def ignores_the_removal_of_the_unknown(bench: Bench) -> None:
    """A remove of something unknown is no error."""
    connection = settled(bench)
    for kind in ("load-balancer", "virtual-host", "pool", "certificate"):
        connection.send("remove", {"kind": kind, "id": "never/heard/of"})
    connection.commit()
    connection.roundtrip()


@check
def answers_absent(bench: Bench) -> None:
    """A load balancer with `absent` becomes `applied` when it is gone, also one that never was."""
    connection = settled(bench)
    wishes = bench.wishes()
    for name in ("web",) if bench.grouping == "merged" else ("web", "never"):
        lb = wishes.load_balancer(name, absent=True)
        connection.send("remove", {"kind": "virtual-host", "id": wishes.virtual_host()["id"]})
        connection.upsert(lb)
        connection.commit()
        connection.wait_state(lb)
    settled(bench)


@check
def leaves_alone_what_is_kept(bench: Bench) -> None:
    """A load balancer with `keep`, in a change or a snapshot, is no error, and becomes the usual one later."""
    connection = settled(bench)
    kept = bench.wishes().load_balancer(keep=True)
    connection.upsert(kept)
    connection.commit()
    connection.roundtrip()
    again = bench.fresh()
    again.snapshot([kept, *bench.wishes().usual()[1:]])
    again.roundtrip()
    for status in [*connection.statuses, *again.statuses]:
        if status["rev"] == kept["rev"] and status["state"] == "failed":
            raise Failed(f"it says failed: {status.get('message', '')}")
    settled(bench)


@check
def survives_dangling_references(bench: Bench) -> None:
    """Hosts without load balancer, rules without pool and listeners without certificate hurt only themselves."""
    connection = bench.fresh()
    wishes = bench.wishes()
    lb = wishes.load_balancer(default_pool="pool/nowhere")
    connection.snapshot([lb, wishes.virtual_host(), wishes.pool("web", "127.0.0.1"), wishes.virtual_host("other.example.com", "pool/nowhere"),
                         {**wishes.virtual_host("third.example.com"), "load_balancer": "no/such", "id": "no/such/third"}])
    connection.wait(lambda: lb["id"] in ids(connection), "a status")
    settled(bench)


@check
def refuses_what_it_cannot_do_and_goes_on(bench: Bench) -> None:
    """A certificate that is none, TLS to backends that cannot be, and host names that are none are told, or left out; the next good state is applied."""
    connection = bench.fresh()
    wishes = bench.wishes()
    bad = {"kind": "certificate", "id": "bad", "chain": b"-----BEGIN nothing", "private_key": b"\xff\0", "rev": 1}
    listeners = [{"port": wishes.port, "protocol": "https", "certificates": ["bad"], "default_certificate": "bad"}]
    lb = wishes.load_balancer(listeners=listeners)
    connection.snapshot([bad, lb, wishes.virtual_host("a b;{}\n\"$(x)"), wishes.virtual_host(path="/\n}\"';#%[x]"),
                         {**wishes.pool("tls", "127.0.0.1"), "protocol": "https",
                          "tls": {"verify": "ca", "ca": b"-----BEGIN nothing", "server_name": "a b;{}", "client_chain": b"\xff", "client_key": b"\0"}},
                         wishes.virtual_host("tls.example.com", "pool/tls"), wishes.pool("web", "not an address", "127.0.0.1")])
    connection.wait(lambda: lb["id"] in ids(connection), "a status")
    settled(bench)


@check
def holds_many_objects(bench: Bench) -> None:
    """2,000 hosts and pools in one snapshot."""
    connection = bench.fresh()
    wishes = bench.wishes()
    many = [wishes.pool(f"p{n}", "127.0.0.1") for n in range(2000)]
    many += [wishes.virtual_host(f"h{n}.example.com", f"pool/p{n}") for n in range(2000)]
    lb = wishes.load_balancer()
    connection.snapshot([lb, *wishes.usual()[1:], *many])
    connection.wait_state(lb)
    settled(bench)


@check
def coalesces_many_changes(bench: Bench) -> None:
    """300 commits at once, while nobody reads what it says: the last one counts in the end."""
    connection = settled(bench)
    wishes = bench.wishes()
    for number in range(300):
        lb = wishes.load_balancer(labels=[{"key": "check", "value": str(number)}])
        connection.upsert(lb)
        connection.commit()
    connection.wait_state(lb)


@check
def goes_on_without_a_translator(bench: Bench) -> None:
    """While there is no socket it lives on, and comes back."""
    connection = settled(bench)
    bench.unlisten()
    connection.close()
    bench.require_running(grace=1.0)
    settled(bench)


@check
def sends_only_valid_messages(bench: Bench) -> None:
    """Everything that it has sent in all the checks before is as the tables say."""
    settled(bench)
    if bench.invalid:
        raise Failed(f"{bench.invalid[0]} ({len(bench.invalid)} in all)")


@check
def ends_when_it_is_asked_to(bench: Bench) -> None:
    """SIGTERM ends it, with status 0 or by that signal."""
    settled(bench)
    bench.process.terminate()
    try:
        code = bench.process.wait(bench.timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"it runs on {bench.timeout:g} s after SIGTERM") from None
    if code not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
        raise Failed(f"it ended with {code}{bench.last_words()}")
