# SPDX-License-Identifier: Apache-2.0
"""What is done with requests (tests/cases/traffic.json): each row on each proxy whose provider claims the words that it needs."""
from __future__ import annotations

import functools

import pytest

from lib import traffic_table as table
from lib.proxies import PROXIES
from lib.traffic_rows import World, run

claimed_words = functools.cache(table.claimed_words)


@pytest.fixture(scope="module")
def worlds():
    """Proxies by name and world, started when first asked for; one that does not start is not tried again."""
    running: dict[tuple[str, str], World] = {}
    dead: dict[tuple[str, str], Exception] = {}

    def world(name: str, wanted: str) -> World:
        if (name, wanted) in dead:
            raise AssertionError("it did not start") from dead[name, wanted]
        if (name, wanted) not in running:
            try:
                running[name, wanted] = World(name, wanted, claimed_words(name))
            except Exception as problem:
                dead[name, wanted] = problem
                raise
        return running[name, wanted]

    yield world
    complaints = [complaint for item in running.values() for complaint in item.stop()]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("row", table.rows(), ids=table.title)
def test_case(row, name, worlds):
    missing = table.words_of(row) - claimed_words(name)
    if missing:
        pytest.skip(f"{name} does not claim {', '.join(sorted(missing))}")
    world = worlds(name, table.world_of(row["topic"]))
    run(row, name, world)
    assert not world.proxy.is_dead()


@pytest.mark.parametrize("name", PROXIES)
def test_each_word_that_is_claimed_has_rows(name):
    used = set().union(*(table.words_of(row) for row in table.rows()))
    assert not claimed_words(name) - used


@pytest.mark.parametrize("name", PROXIES)
def test_the_proxy_lives(name, worlds):
    """After all rows: no process of the proxy had to be started anew."""
    world = worlds(name, table.TOGETHER)
    assert len(world.proxy.masters()) == 1 and not world.proxy.is_dead()


def test_rows_are_told_apart():
    titles = [table.title(row) for row in table.rows()]
    assert len(set(titles)) == len(titles)


def test_objects_of_topics_are_told_apart():
    """Topics share a proxy: what one of them names must not be another's."""
    for world in {table.world_of(name) for name in table.TOPICS}:
        for kind in ("hosts", "policies", "users"):
            names = [name for key, topic in table.TOPICS.items() if table.world_of(key) == world for name in topic.get(kind, {})]
            assert len(set(names)) == len(names), kind
