#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the translator: each folder of tests/golden/translate holds records.json, what they must lead to (expect.json), and
why (why.md). Every case is run in several ways, all of which must end the same:

 - the watcher's snapshot first, then a provider;
 - the provider first, the records in other orders;
 - one record after the other, then all of them gone again, one by one.

usage: translate.py [--update] ENGINE_TOOL [CASE...]

--update writes expect.json anew: read the difference before you commit it.

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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.engine import KINDS, ORDER, Engine  # noqa: E402  pylint: disable=wrong-import-position

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


def show(body: dict) -> dict:
    """For people: without revision, certificates by their file's name."""
    names = {content: name for name, content in CERTIFICATES.items()}
    names |= {content.strip(): name for content, name in names.items()}
    shown = {key: value for key, value in body.items() if key != "rev"}
    for key, value in shown.items():
        if isinstance(value, bytes):
            shown[key] = names.get(value) or names.get(value.strip()) or value.decode()
        elif isinstance(value, dict):
            shown[key] = show(value)
    return shown


def without(body: dict, *keys: str) -> dict:
    """Most are of Ingresses: only another kind is shown."""
    return {key: value for key, value in body.items() if key not in keys and (key, value) != ("kind", "ingress")}


def difference(expected: dict, got: dict) -> str:
    lines = [json.dumps(part, indent=1, ensure_ascii=False, default=repr).splitlines() for part in (expected, got)]
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
        statuses = [without(status) for status in engine.source.statuses]
        by_text = {"key": json.dumps}
        return {"objects": objects, "events": sorted(events, **by_text), "statuses": sorted(statuses, **by_text)}

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
        shown = {"objects": [show(body) for body in first["objects"]], "events": first["events"], "statuses": first["statuses"]}
        expected = self.folder / "expect.json"
        if update:
            expected.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n")
        problems = []
        if json.loads(expected.read_text()) != shown:
            problems.append(difference(json.loads(expected.read_text()), shown))
        if not (self.folder / "why.md").exists():
            problems.append("no why.md")
        for seed in range(SHUFFLES):
            for way in (self.shuffled, self.one_by_one):
                got = way(seed)
                if got != first:
                    problems.append(f"{way.__name__}({seed}):\n{difference(first, got)}")
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
