#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""table.py TOOL: every row of tests/cases/traffic*.json, asked of proto/decision.h, whose answers must be those that proxies must give."""
from __future__ import annotations

import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import oracle, traffic_table as table  # noqa: E402
from lib.answer import Answer  # noqa: E402
from lib.traffic_rows import check_answer, check_seen, joined, wanted_of  # noqa: E402

HTTP, HTTPS = 80, 443
PORTS = {"http": HTTP, "https": HTTPS}
OWN = {"x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto", "x-original-forwarded-for", "x-original-forwarded-host", "content-length"}  # what providers say, and HTTP


class Pod:
    def __init__(self, name: str):
        self.name, self.ip, self.port = name, "10.0.0.1", 8080


def objects_of(world: str) -> list[dict[str, Any]]:
    listeners = [{"port": HTTP, "protocol": "http"}, {"port": HTTPS, "protocol": "https"}]
    balancer = {"kind": "load-balancer", "id": table.LB, "listeners": listeners, "default_pool": table.default_pool(world),
                **table.forwarding(world)}
    return [balancer, *table.objects(world, table.WORDS, [Pod(name) for name in sorted(table.pools_of(world))])]


def answer_of(decision: dict[str, Any], request: dict[str, Any], pool: str) -> tuple[Answer, dict[str, Any]]:
    """The answer of a proxy that does what was decided, and what the pool that made it has seen."""
    if decision.get("status"):
        body = "" if request["method"] == "HEAD" else decision.get("body", "")
        return Answer(decision["status"], joined(oracle.pairs(decision["headers"])), body.encode("latin-1")), {}
    seen = seen_of(decision["questions"][-1]) if decision.get("page_of") else {
        "target": decision["target"], "host": decision.get("host_header"), "method": request["method"],
        "headers": oracle.apply(request["headers"], decision.get("request_headers", []))}
    said = [[part.strip() for part in value.split(":", 1)] for name, value in seen["headers"] if name.lower() == "x-say"]
    sent = [["content-type", "application/json"], ["x-backend", decision["questions"][-1]["pool"] if decision.get("page_of") else pool], *said]
    return Answer(oracle.status_of(seen["target"]), joined(oracle.apply(sent, decision.get("response_headers", []))), b""), seen


def seen_of(question: dict[str, Any]) -> dict[str, Any]:
    return {**question, "headers": oracle.pairs(question["headers"])}


def without_own(wanted: dict[str, Any]) -> dict[str, Any]:
    """What is seen of it, but for headers of the provider itself."""
    return {**wanted, "sees": {name: value for name, value in wanted.get("sees", {}).items() if name not in OWN}}


def check_questions(decision: dict[str, Any], request: dict[str, Any], wanted: dict[str, Any], words: dict[str, str]) -> None:
    """Who else is asked, and what; headers of the provider itself are not decided."""
    asked = {question["pool"]: seen_of(question) for question in decision.get("questions", [])}
    if decision.get("target"):
        asked |= {pool["id"]: {"target": decision["target"]} for pool in decision["pools"] if pool["id"] not in asked}
    assert not asked.keys() & set(wanted.get("unasked", [])), asked
    for pool, question in wanted.get("asks", {}).items():
        check_seen(without_own(question), {"headers": [], **asked[pool]}, words)


def check_shares(row: dict[str, Any], decision: dict[str, Any], wanted: dict[str, Any]) -> None:
    """What `counts` names is what may be drawn, and the bounds are about what is expected."""
    total = sum(pool.get("weight", 0) for pool in decision.get("pools", []))
    expected: dict[str, float] = {}
    for pool in decision.get("pools", []) if not decision.get("status") else []:
        key = pool["id"] if pool.get("endpoints") else "503"
        expected[key] = expected.get(key, 0) + row["n"] * pool.get("weight", 0) / total
    if decision.get("status"):
        expected[str(decision["status"])] = row["n"]
    if decision.get("limit_status"):
        assert set(wanted["counts"]) <= {*expected, str(decision["limit_status"])}, expected
        return
    assert {key for key, number in expected.items() if number} == set(wanted["counts"]), expected
    for key, (least, most) in wanted["counts"].items():
        assert least <= expected[key] <= most, expected


def check_row(row: dict[str, Any], request: dict[str, Any], decision: dict[str, Any]) -> None:
    wanted = wanted_of(row, "oracle")
    words = {"{client}": request["client"], "{port}": str(request["port"]), "{https}": str(HTTPS)}
    if "counts" in wanted:
        check_shares(row, decision, wanted)
        return
    pool = next((item["id"] for item in decision.get("pools", []) if item.get("weight")), None)
    answer, seen = answer_of(decision, request, pool)
    check_answer({key: value for key, value in without_own(wanted).items() if key != "asks"}, answer, lambda _name: seen, words)
    check_questions(decision, request, wanted, words)


def main() -> int:
    bad = count = 0
    for world in sorted({table.world_of(name) for name in table.TOPICS}):
        rows = [row for row in table.rows() if table.world_of(row["topic"]) == world]
        count += len(rows)
        requests = [oracle.request_of(row["request"], PORTS) for row in rows]
        for row, request, decision in zip(rows, requests, oracle.decide(sys.argv[1], objects_of(world), requests), strict=True):
            try:
                check_row(row, request, decision)
            except (AssertionError, KeyError) as problem:
                print(f"{table.title(row)}: {problem!r}\n    {decision}")
                bad += 1
    print(f"{count} rows, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
