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
    report.sections += [(f"log of {name}", lines) for name, lines in daemon.log_ends(_told)]


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
