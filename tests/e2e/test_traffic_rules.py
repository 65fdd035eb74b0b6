# SPDX-License-Identifier: Apache-2.0
"""What is done with requests (tests/cases/traffic.json): each row on each proxy whose provider claims the words that it needs."""
from __future__ import annotations

import concurrent.futures
import functools

import pytest

from lib import traffic_table as table
from lib.answer import Answer
from lib.proxies import PROXIES
from lib.traffic_rows import World, attempt, run
from lib.wait import wait_for

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
def test_concurrent_requests_of_a_client_are_counted(name, worlds):
    if "rate-limit" not in claimed_words(name):
        pytest.skip(f"{name} does not claim rate-limit")
    world = worlds(name, table.TOGETHER)
    pod = world.pods["concurrent-a"]

    def ask(client: str, target: str) -> Answer:
        return attempt(world.proxy.address, world.proxy.http, {"host": "concurrent.test", "target": target, "from": client}, {}, may_close=False)

    before = pod.count
    with concurrent.futures.ThreadPoolExecutor() as pool:
        held = [pool.submit(ask, "127.0.3.1", "/?hold") for _ in range(2)]
        wait_for(lambda: pod.count == before + 2, "two requests to be held")
        assert ask("127.0.3.1", "/").status == 503
        assert ask("127.0.3.2", "/").status == 200
        pod.release()
        assert [one.result().status for one in held] == [200, 200]
    wait_for(lambda: ask("127.0.3.1", "/").status == 200, "the client to be served again")


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
