#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the translator: each folder of tests/golden/translate holds manifests.yaml, which begins with the reason why the case exists,
and expect.yaml, the result. sluice-watcher turns the manifests into records; with these every case is run in several ways, which must all have
the same result:

 - the watcher's snapshot first, then the provider;
 - the provider first, the records in other orders;
 - one record after another; then they are deleted again, one by one;
 - sluice-watcher and sluice-translator as filters; only the objects are compared.

usage: translate.py [--update] BUILD [CASE...]

--update writes expect.yaml anew: read the difference before you commit it. brief.py explains its form.

In manifests.yaml "@a.crt" is the content of tests/golden/certs/a.crt, and a Service with a selector gets an EndpointSlice NAME-1 with the
endpoint 10.0.0.1 unless the case has one. case.yaml, if there is one, says what is unusual:

 watcher, translator  options of these programs
 provider             its capabilities; usually it has a load balancer for each Ingress, and all policies
 answers              lb-status messages that it sends; the rev is filled in
 now                  the time
 without-endpoints    Services, as NAMESPACE/NAME, for which no EndpointSlice is made
 not-synced           kinds that the watcher cannot read
"""
from __future__ import annotations

import argparse
import difflib
import pathlib
import random
import subprocess
import sys
import tempfile

import yaml

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]

# pylint: disable=wrong-import-position
from brief import Brief, text  # noqa: E402
from case import Case, Loader  # noqa: E402
from lib.engine import ORDER, Engine, ProviderView, provider_hello  # noqa: E402
from lib.frames import Body, frame, frames  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SHUFFLES = 4
SHOWN_LINES = 40


def without(body: Body, *keys: str) -> Body:
    return {key: value for key, value in body.items() if key not in keys}


def difference(expected: Body, got: Body) -> str:
    lines = [text(part).splitlines() for part in (expected, got)]
    return "\n".join(list(difflib.unified_diff(*lines, "expected", "got", lineterm="", n=2))[:SHOWN_LINES])


def in_order(provider: ProviderView) -> list[Body]:
    return sorted(provider.objects.values(), key=lambda body: (ORDER[body["kind"]], body["id"]))


class Trial:
    def __init__(self, build: pathlib.Path, case: Case):
        self.case = case
        self.tool = str(build / "tests/translate/engine-tool")
        self.options = case.given.get("translator", [])
        self.capabilities = case.given.get("provider", {})
        self.answers = case.given.get("answers", [])
        self.translator = str(build / "translator/sluice-translator")
        self.told = case.from_watcher(str(build / "watcher/sluice-watcher"))
        self.settings = self.told.settings
        self.records = self.told.records
        self.brief = Brief(self.told.uids())

    def engine(self) -> Engine:
        engine = Engine(self.tool, self.options)
        engine.set_time(self.case.seconds)
        return engine

    def watcher_up(self, engine: Engine) -> None:
        engine.watcher_up(False)
        engine.say("settings", self.settings)

    def answer(self, engine: Engine) -> None:
        for answer in self.answers:
            engine.answer("lb-status", {"rev": 1, **answer})
        engine.work()

    def result(self, engine: Engine) -> dict:
        assert not engine.refused, engine.refused
        events = [without(event, "standing") for event in engine.source.events]
        return {"objects": in_order(engine.provider), "events": sorted(events, key=repr), "statuses": sorted(engine.source.statuses, key=repr)}

    def kinds(self) -> list[str]:
        return self.settings["kinds"]

    def watcher_first(self) -> dict:
        with self.engine() as engine:
            self.watcher_up(engine)
            engine.snapshot(self.records, self.kinds())
            engine.work()
            engine.source.take_events()  # these were made before the provider was known
            engine.provider_up(self.capabilities)
            engine.work()
            self.answer(engine)
            engine.source.take_events()
            engine.source.take_statuses()
            engine.watcher_down()
            self.watcher_up(engine)
            engine.snapshot(self.records, self.kinds())
            engine.work()
            assert engine.provider.commits <= 1, "a re-list changes nothing"
            return self.result(engine)

    def shuffled(self, seed: int) -> dict:
        draw = random.Random(seed)
        records = draw.sample(self.records, len(self.records))
        with self.engine() as engine:
            engine.provider_up(self.capabilities)
            self.watcher_up(engine)
            engine.snapshot(records, draw.sample(self.kinds(), len(self.kinds())))
            engine.work()
            self.answer(engine)
            assert all(event.get("standing") for event in engine.source.events if event["type"] == "warning")
            return self.result(engine)

    def one_by_one(self, seed: int) -> dict:
        draw = random.Random(seed)
        records = draw.sample(self.records, len(self.records))
        with self.engine() as engine:
            self.watcher_up(engine)
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
            self.watcher_up(engine)
            engine.snapshot(records, self.kinds())
            engine.work()
            result = self.result(engine)
            for record in draw.sample(records, len(records)):
                engine.delete(record)
                engine.work()
            assert not engine.provider.objects, engine.provider.objects
            return result

    def filtered(self) -> list[Body]:
        """Only the objects: a filter gets no answers, and its time is that of this machine."""
        with tempfile.NamedTemporaryFile() as hello:
            hello.write(frame("hello", provider_hello(self.capabilities)))
            hello.flush()
            command = [self.translator, "--once", "--hello", hello.name, *self.options]
            done = subprocess.run(command, input=self.told.output, capture_output=True, check=False)
        assert done.returncode == 0 and not done.stderr, f"sluice-translator: {done.stderr.decode()}"
        provider = ProviderView()
        for kind, body in frames(done.stdout):
            if kind != "hello":
                provider.take(kind, body)
        return in_order(provider)

    def run(self, update: bool) -> list[str]:
        first = self.watcher_first()
        shown = self.brief.result(**first)
        path = self.case.folder / "expect.yaml"
        if update:
            path.write_text(text(shown))
        problems = [] if self.case.has_reason else ["manifests.yaml does not begin with the reason why the case exists"]
        expected = path.exists() and yaml.load(path.read_text(), Loader) or {}
        if expected != shown:
            problems.append(difference(expected, shown))
        for seed in range(SHUFFLES):
            for way in (self.shuffled, self.one_by_one):
                got = way(seed)
                if got != first:
                    problems.append(f"{way.__name__}({seed}):\n{difference(shown, self.brief.result(**got)) or (first, got)}")
        # A filter cannot be told that the watcher cannot read a kind.
        if "not-synced" not in self.case.given and (objects := self.filtered()) != first["objects"]:
            problems.append(f"--once:\n{difference(shown, self.brief.result(**first | {'objects': objects})) or (first, objects)}")
        return problems


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    folders = sorted(path.parent for path in HERE.glob("translate/*/manifests.yaml"))
    if unknown := {*args.cases} - {folder.name for folder in folders}:
        parser.error(f"there is no case {', '.join(sorted(unknown))}")
    bad = 0
    for folder in folders:
        if args.cases and folder.name not in args.cases:
            continue
        try:
            problems = Trial(args.build, Case(folder)).run(args.update)
        except (AssertionError, yaml.YAMLError) as problem:
            problems = [f"{type(problem).__name__}: {problem}"]
        print(f"{'FAILED' if problems else 'ok'} {folder.name}")
        print(*problems, sep="\n", end="\n" if problems else "")
        bad += bool(problems)
    return 1 if bad or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
