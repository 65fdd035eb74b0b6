# SPDX-License-Identifier: Apache-2.0
"""HAProxy was started by a former release, which kept its routes in other tables: it is taken over, reloaded once, and no request fails."""
from __future__ import annotations

import contextlib
import hashlib
import struct

from lib import processes
from lib.backend import Backend
from lib.haproxy import HAProxy
from lib.local_proxy import host, pool
from lib.traffic import Traffic

PODS = 4
HOSTS = 12


def write_checked(path, text: str) -> None:
    """As provider-proxy/checksum.c does it."""
    data = text.encode()
    digest = hashlib.sha256(struct.pack("<Q", len(data)) + data).digest()[:8]
    path.write_bytes(data + b"# checksum " + digest.hex().encode() + b"\n")
    path.chmod(0o600)


def rows_of(proxy: HAProxy, name: str) -> list[str]:
    return [line for line in (proxy.state_dir / "maps" / name).read_text().splitlines() if not line.startswith("#")]


def write_map(proxy: HAProxy, name: str, rows: list[str]) -> None:
    """As provider-proxy/rowfile.c does it."""
    text = "".join(row + "\n" for row in rows)
    head = "# Written by Sluice; changes are lost.\n# length "
    length = len(head) + 13 + len(text)
    path = proxy.state_dir / "maps" / name
    path.write_text(f"{head}{length:012d}\n{text}")
    path.chmod(0o600)


def slots_of(proxy: HAProxy) -> dict[str, str]:
    return dict(row.split(" ", 1) for row in rows_of(proxy, "pools.map"))


def become_former(proxy: HAProxy) -> None:
    """HAProxy runs with tables of other names, in which pools stand among the hosts, and ours are not there. The rules, which are those of now,
    find pools in a third one."""
    maps = proxy.state_dir / "maps"
    write_map(proxy, "whole.map", rows_of(proxy, "hosts.map") + [f"pool:{row}" for row in rows_of(proxy, "pools.map")])
    write_map(proxy, "prefix.map", rows_of(proxy, "prefixes.map"))
    (maps / "former.map").write_bytes((maps / "pools.map").read_bytes())
    path = proxy.state_dir / "haproxy.d/00-main.cfg"
    text = path.read_text().rsplit("# checksum ", 1)[0]
    for now, then in (("hosts", "whole"), ("prefixes", "prefix"), ("pools", "former")):
        text = text.replace(f"/maps/{now}.map", f"/maps/{then}.map")
        (maps / f"{now}.map").unlink()
    # Another configuration is described otherwise.
    before, after = text.split('description "sluice ', 1)
    write_checked(path, before + 'description "sluice ' + "0" * 16 + after[16:])


def test_an_upgrade():
    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(Backend(f"pod{number}")) for number in range(PODS)]
        proxy = stack.enter_context(HAProxy())
        for number in range(HOSTS):
            rules = [("/x", "p0")] * (number % 3 == 0) + [("/", f"p{number}")]
            proxy.send(pool(f"p{number}", pods[number % PODS]), host(f"h{number}.test", *rules))
        proxy.apply(proxy.balancer())
        slots = slots_of(proxy)
        proxy.kill_provider()
        become_former(proxy)
        workers = proxy.workers()
        processes.kill(proxy.proxies())
        proxy.wait_answers(f"h{HOSTS - 1}.test")
        assert not set(workers) & set(proxy.workers())
        # One that comes, and is served before those that were there, must not get the slot of one of them.
        proxy.translator.remove(("virtual-host", "sluice/h1.test"), ("pool", "p1"))
        proxy.send(pool("a", pods[1]), host("a.test", ("/", "a")), host("h2.test", ("/x", "p0"), ("/", "p2")))
        proxy.commit()
        reloads = len(proxy.provider.events("reloaded"))
        with Traffic(proxy.address, proxy.http, "h2.test") as traffic, Traffic(proxy.address, proxy.http, "h3.test") as paths:
            proxy.start()
            proxy.translator.wait_connection(2)
            proxy.wait_answers("a.test")
            proxy.apply()
        assert traffic.good and not traffic.failures
        assert paths.good and not paths.failures
        for number in range(2, HOSTS):
            assert proxy.reached(f"h{number}.test") == f"pod{number % PODS}"
        assert proxy.reached("h2.test", "/x") == proxy.reached("h3.test", "/x") == "pod0"
        assert proxy.reached("h1.test") == 404
        now = slots_of(proxy)
        assert {key: now.get(key, slots[key]) for key in slots} == slots
        assert len(proxy.provider.events("reloaded")) == reloads + 1
        assert not proxy.provider.events("proxy-answer") and not proxy.provider.events("file-damaged")
        assert sorted(path.name for path in (proxy.state_dir / "maps").iterdir()) == ["former.map", "hosts.map", "pools.map", "prefixes.map", "rules.map"]
