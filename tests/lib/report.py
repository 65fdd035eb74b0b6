# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest (`-p lib.report`): writes what became of each test to the file that $SLUICE_REPORT names, for scripts/test, and adds
what the daemons logged during a test to its failure."""
from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Iterator

import pytest

from . import daemon

LINES_MAX = 60  # of a daemon's log in a failure
COLUMNS_MAX = 400

_outcomes: dict[str, str] = {}
_told: dict[int, int] = {}  # lines that a daemon had logged when the test began


def pytest_runtest_setup(item: Any) -> None:
    _told.clear()
    _told.update({id(each): len(each.lines) for each in list(daemon.living)})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    report = (yield).get_result()
    if not report.failed:
        return
    for each in list(daemon.living):
        lines = each.lines[_told.get(id(each), 0):]
        if lines:
            shown = [line[:COLUMNS_MAX] for line in lines[-LINES_MAX:]]
            left_out = [f"({len(lines) - LINES_MAX} lines before)"] if len(lines) > LINES_MAX else []
            report.sections.append((f"log of {each.program.name}", "\n".join(left_out + shown)))


def pytest_runtest_logreport(report: Any) -> None:
    before = _outcomes.get(report.nodeid, "")
    if report.failed:
        _outcomes[report.nodeid] = "failed"
    elif report.skipped and before != "failed":
        _outcomes[report.nodeid] = "skipped"
    elif report.when == "call" and before != "failed":
        _outcomes[report.nodeid] = "passed"


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _outcomes[report.nodeid] = "failed"


def pytest_sessionfinish(session: Any) -> None:
    path = os.environ.get("SLUICE_REPORT")
    if path and not hasattr(session.config, "workerinput"):
        pathlib.Path(path).write_text(json.dumps(_outcomes))
