# SPDX-License-Identifier: Apache-2.0
"""Random objects and requests: proto/decision.h, nginx and HAProxy agree on what is done with each. A disagreement is a row of tests/cases/traffic.json."""
from __future__ import annotations

import functools
import os

import pytest

from lib import traffic_table as table
from lib.line import build_folder
from lib.proxies import PROXIES
from lib.traffic_random import Trial, World

SEED = os.environ.get("SLUICE_SEED", "1")
REQUESTS = 150  # of one world; a disagreement is printed with its world's seed
WORLDS, MANY_WORLDS = 2, 330  # for each of the two proxies: 600 requests, and 99,000 more

claimed_words = functools.cache(table.claimed_words)


def check(name: str, seed: str, requests: int) -> None:
    world = World(seed, claimed_words(name))
    trial = Trial(name, world)
    try:
        found = trial.disagreements(build_folder() / "tests/decide/decide-tool", [world.request() for _ in range(requests)])
    finally:
        complaints = trial.stop()
    assert not found, f"seed {seed}: {len(found)} of {requests}\n" + "\n".join(found[:5])
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("number", range(WORLDS))
def test_they_agree(name, number):
    check(name, f"{SEED}/{number}", REQUESTS)


@pytest.mark.long
@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("number", range(WORLDS, WORLDS + MANY_WORLDS))
def test_they_agree_for_long(name, number):
    check(name, f"{SEED}/{number}", REQUESTS)
