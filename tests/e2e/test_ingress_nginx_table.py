# SPDX-License-Identifier: Apache-2.0
"""The tables of tests/cases/ingress-nginx are whole: every case of every group is a row, or a row says where it is shown, or why it cannot be."""
from __future__ import annotations

import collections
import re

import pytest

from lib.ingress_cases import ALL, GROUPS, TABLES
from lib.markdown import ROOT
from lib.proxies import PROXIES

ID = re.compile(r"([A-Z]+)-([0-9]{2}|[A-Z]{2})([A-Z]?)")  # a letter behind the number: a further row of the case
WAYS = ("asks", "within", "elsewhere", "no_row")
ROWS = {row["id"]: row for row in ALL}


@pytest.mark.parametrize("group", GROUPS["groups"])
def test_every_case_is_accounted_for(group):
    numbers = range(1, GROUPS["groups"][group]["cases"] + 1)
    assert [number for number in numbers if f"{group}-{number:02}" not in ROWS] == []
    found = [match for name in ROWS if (match := ID.fullmatch(name)) and match[1] == group and match[2].isdigit()]
    assert [match[0] for match in found if int(match[2]) not in numbers] == []


def test_every_row_is_of_one_case_and_one_kind():
    assert [name for name, count in collections.Counter(row["id"] for row in ALL).items() if count > 1] == []
    assert [name for name in ROWS if not (match := ID.fullmatch(name)) or match[1] not in GROUPS["groups"]] == []
    assert [row["id"] for row in ALL if sum(way in row for way in WAYS) != 1 or not row["about"]] == []
    assert [row["id"] for row in ALL if not set(row.get("differs", {})) <= set(PROXIES)] == []
    assert set(TABLES) == {path.stem for path in (ROOT / "tests/cases/ingress-nginx").glob("*.json")} - {"groups"}


def test_rows_without_requests_lead_to_what_shows_the_case():
    assert [row["id"] for row in ALL if "within" in row and "asks" not in ROWS.get(row["within"], {})] == []
    for row in (row for row in ALL if "elsewhere" in row):
        path, _, name = row["elsewhere"].partition("::")
        assert (ROOT / "tests" / path).exists(), row["id"]
        assert not name or re.search(rf"^def {name}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE), row["id"]
