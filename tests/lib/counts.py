# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest (`-p lib.counts`): ends the report with how many passed, failed and were skipped, and why; more than SKIPPED_MAX skips are a
failure of the run, for they hide what was not seen."""
from __future__ import annotations

import collections
from typing import Any

import pytest

SKIPPED_MAX = 60


def _reports(config: Any, *outcomes: str) -> list[Any]:
    stats = config.pluginmanager.get_plugin("terminalreporter").stats
    return [report for outcome in outcomes for report in stats.get(outcome, [])]


def _reasons(config: Any) -> collections.Counter[str]:
    return collections.Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in _reports(config, "skipped"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: Any) -> None:
    if not hasattr(session.config, "workerinput") and session.exitstatus == 0 and _reasons(session.config).total() > SKIPPED_MAX:
        session.exitstatus = 1


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    reasons = _reasons(config)
    terminalreporter.section("counts")
    terminalreporter.write_line(f"{len(_reports(config, 'passed')):5} passed")
    terminalreporter.write_line(f"{len(_reports(config, 'failed', 'error')):5} failed")
    terminalreporter.write_line(f"{reasons.total():5} skipped, of {SKIPPED_MAX} at most")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:9} because {reason}")
