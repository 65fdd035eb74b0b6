# SPDX-License-Identifier: Apache-2.0
"""What the words of `policies` mean, by the table of cases that our own proxies pass. Run with --traffic."""
from __future__ import annotations

import pathlib
from typing import Any

from lib import traffic_rows, traffic_table as table
from lib.certs import self_signed
from lib.local_proxy import certificate

from .bench import Bench, Connection, Failed
from .registry import traffic_check
from .wishes import Object, revised

VERSION = 2  # of the protocol: the first that has policies


class Served:
    """What rows are asked of: a provider that has the objects of a world."""

    def __init__(self, bench: Bench, connection: Connection, world: str, claimed: set[str]):
        self.pods = {name: bench.backend(name) for name in sorted(table.pools_of(world))}
        self.proxy = self
        self.address, self.http, self.https = "", *bench.ports
        self.has_tls = "https" in connection.hello["capabilities"].get("protocols", [])
        lb = self._balancer(bench, world)
        certificates = [certificate("default", self_signed("default.test"))] if self.has_tls else []
        connection.snapshot([*map(revised, [*certificates, *table.objects(world, claimed, [*self.pods.values()])]), lb])
        connection.wait_state(lb)
        self.address = self._address_of(connection, lb)

    def _balancer(self, bench: Bench, world: str) -> Object:
        listeners: list[Object] = [{"port": self.http, "protocol": "http"}]
        if self.has_tls:
            listeners.append({"port": self.https, "protocol": "https", "default_certificate": "default"})
        default = table.default_pool(world)
        return revised({**bench.wishes().load_balancer(), "id": table.LB, "listeners": sorted(listeners, key=lambda item: item["port"]),
                        **({"default_pool": default} if default else {}), **table.forwarding(world)})

    @staticmethod
    def _address_of(connection: Connection, lb: Object) -> str:
        def found() -> Any:
            return next((s["addresses"] for s in reversed(connection.statuses) if s["id"] == lb["id"] and s.get("addresses")), None)
        address = connection.wait(found, "an address to send requests to")[0]
        return address.get("ip") or address["hostname"]

    def ends_of(self, request: dict[str, Any]) -> tuple[str, int]:
        return self.address, self.https if request.get("tls") else self.http

    def may_ask(self, request: dict[str, Any]) -> bool:
        return ":" not in request.get("from", "") and (self.has_tls or not request.get("tls"))


def claimed_by(hello: Object) -> set[str]:
    return set(hello["capabilities"].get("policies", [])) & table.WORDS if hello["version_max"] >= VERSION else set()


def own_name(bench: Bench) -> str:
    """That of the proxy, of which the table says what differs: no difference counts for others."""
    return pathlib.Path(bench.command[0]).name.removeprefix("sluice-provider-")


@traffic_check
def does_what_its_words_say(bench: Bench) -> None:
    """For each word of `policies` that it lists, and that tests/cases/traffic*.json has rows for, it does with a request what section 5.3 of PROTOCOL.md says."""
    worlds = sorted({table.world_of(topic) for topic in table.TOPICS})
    for world in worlds:
        connection = bench.fresh(VERSION)
        claimed = claimed_by(connection.hello)
        rows = [row for row in table.rows() if table.world_of(row["topic"]) == world and set() < table.words_of(row) <= claimed]
        if rows:
            ask_each(bench, Served(bench, connection, world, claimed), rows)


def ask_each(bench: Bench, served: Served, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if not served.may_ask(row["request"]):
            continue
        try:
            traffic_rows.run(row, own_name(bench), served)
        except (AssertionError, OSError) as problem:
            raise Failed(f"{table.title(row)}: {str(problem) or type(problem).__name__}") from None
