#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the translator: each folder of tests/golden/translate holds records.json, what they must lead to (expect.yaml, in
the form of brief.py), and why (why.md). Every case is run in several ways, all of which must end the same:

 - the watcher's snapshot first, then a provider;
 - the provider first, the records in other orders;
 - one record after the other, then all of them gone again, one by one.

usage: translate.py [--update] ENGINE_TOOL [CASE...]

--update writes expect.yaml anew: read the difference before you commit it.

records.json: {"options": [...], "now": seconds, "settings": {...}, "capabilities": {...}, "records": [...], "answers": [...]}, all but
the records optional. Records have the form of PROTOCOL.md; a namespace is "default", a uid is made up and `created` is 1000 unless given;
"@a.crt" is the content of tests/golden/certs/a.crt. "answers" are lb-status messages that the provider sends, with a rev made up.
"""
from __future__ import annotations

import argparse
import difflib
import json
import pathlib
import random
import sys

import yaml

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]

# pylint: disable=wrong-import-position
from brief import Brief, text  # noqa: E402
from lib.engine import KINDS, ORDER, Body, Engine  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
NOW = 1_767_000_000  # 2025-12-29
CERTIFICATES = {f"@{path.name}": path.read_bytes() for path in (HERE / "certs").glob("*.[ck]*")}
SHUFFLES = 4
SHOWN_LINES = 40


def complete(record: dict) -> dict:
    kind = record["kind"]
    assert kind in KINDS, kind
    full = dict(record)
    if kind != "ingress-class":
        full.setdefault("namespace", "default")
    full.setdefault("uid", f"{kind}-{full.get('namespace', '')}-{full['name']}")
    if kind in ("ingress", "endpoints"):
        full.setdefault("created", 1000)
    for field in ("certificate", "private_key", "ca"):
        if field in full:
            full[field] = CERTIFICATES.get(full[field], full[field].encode())
    return full


def without(body: Body, *keys: str) -> Body:
    return {key: value for key, value in body.items() if key not in keys}


def difference(expected: Body, got: Body) -> str:
    lines = [text(part).splitlines() for part in (expected, got)]
    return "\n".join(list(difflib.unified_diff(*lines, "expected", "got", lineterm="", n=2))[:SHOWN_LINES])


class Case:
    def __init__(self, tool: str, folder: pathlib.Path):
        self.tool = tool
        self.folder = folder
        given = json.loads((folder / "records.json").read_text())
        self.options = given.pop("options", [])
        self.now = given.pop("now", NOW)
        self.settings = given.pop("settings", {})
        self.capabilities = given.pop("capabilities", {})
        self.records = [complete(record) for record in given.pop("records")]
        self.answers = given.pop("answers", [])
        self.brief = Brief({(record["kind"], record.get("namespace", ""), record["name"]): record["uid"] for record in self.records})
        assert not given, f"unknown: {', '.join(given)}"

    def engine(self) -> Engine:
        engine = Engine(self.tool, self.options)
        engine.set_time(self.now)
        return engine

    def answer(self, engine: Engine) -> None:
        for answer in self.answers:
            engine.answer("lb-status", {"rev": 1, **answer})
        engine.work()

    def result(self, engine: Engine) -> dict:
        assert not engine.refused, engine.refused
        objects = sorted(engine.provider.objects.values(), key=lambda body: (ORDER[body["kind"]], body["id"]))
        events = [without(event, "standing") for event in engine.source.events]
        return {"objects": objects, "events": sorted(events, key=repr), "statuses": sorted(engine.source.statuses, key=repr)}

    def kinds(self) -> list[str]:
        return self.settings.get("kinds", KINDS)

    def watcher_first(self) -> dict:
        with self.engine() as engine:
            engine.watcher_up(self.settings)
            engine.snapshot(self.records, self.kinds())
            engine.work()
            engine.source.take_events()  # made without knowing the provider
            engine.provider_up(self.capabilities)
            engine.work()
            self.answer(engine)
            engine.source.take_events()
            engine.source.take_statuses()
            engine.watcher_down()
            engine.watcher_up(self.settings)
            engine.snapshot(self.records, self.kinds())
            engine.work()
            assert engine.provider.commits <= 1, "a re-list changes nothing"
            return self.result(engine)

    def shuffled(self, seed: int) -> dict:
        draw = random.Random(seed)
        records = draw.sample(self.records, len(self.records))
        with self.engine() as engine:
            engine.provider_up(self.capabilities)
            engine.watcher_up(self.settings)
            engine.snapshot(records, draw.sample(self.kinds(), len(self.kinds())))
            engine.work()
            self.answer(engine)
            assert all(event.get("standing") for event in engine.source.events if event["type"] == "warning")
            return self.result(engine)

    def one_by_one(self, seed: int) -> dict:
        draw = random.Random(seed)
        records = draw.sample(self.records, len(self.records))
        with self.engine() as engine:
            engine.watcher_up(self.settings)
            engine.snapshot([], self.kinds())
            engine.provider_up(self.capabilities)
            engine.work()
            for record in records:
                engine.upsert(record)
                engine.work()
            self.answer(engine)
            engine.source.take_events()
            engine.source.take_statuses()
            engine.watcher_down()
            engine.watcher_up(self.settings)
            engine.snapshot(records, self.kinds())
            engine.work()
            result = self.result(engine)
            for record in draw.sample(records, len(records)):
                engine.delete(record)
                engine.work()
            assert not engine.provider.objects, engine.provider.objects
            return result

    def run(self, update: bool) -> list[str]:
        first = self.watcher_first()
        shown = self.brief.result(**first)
        path = self.folder / "expect.yaml"
        if update:
            path.write_text(text(shown))
        expected = path.exists() and yaml.safe_load(path.read_text()) or {}
        problems = [difference(expected, shown)] if expected != shown else []
        if not (self.folder / "why.md").exists():
            problems.append("no why.md")
        for seed in range(SHUFFLES):
            for way in (self.shuffled, self.one_by_one):
                got = way(seed)
                if got != first:
                    problems.append(f"{way.__name__}({seed}):\n{difference(shown, self.brief.result(**got)) or (first, got)}")
        return problems


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("tool")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    folders = sorted(path.parent for path in HERE.glob("translate/*/records.json"))
    bad = 0
    for folder in folders:
        if args.cases and folder.name not in args.cases:
            continue
        try:
            problems = Case(args.tool, folder).run(args.update)
        except AssertionError as problem:
            problems = [f"{type(problem).__name__}: {problem}"]
        print(f"{'FAILED' if problems else 'ok'} {folder.name}")
        print(*problems, sep="\n", end="\n" if problems else "")
        bad += bool(problems)
    return 1 if bad or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
