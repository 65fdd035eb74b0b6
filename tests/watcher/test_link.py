# SPDX-License-Identifier: Apache-2.0
"""The translator dies, hangs, is slow or talks nonsense; the watcher is killed: the records end up the same."""
from __future__ import annotations

import pathlib
import struct

import pytest

from lib.frames import frame
from lib.wait import stays, wait_for


def test_a_translator_that_comes_later(rig):
    rig.link.stop()
    rig.kube.bulk(count=5)
    rig.prepare().start()
    rig.watcher.wait_event("kind-synced", "kind=ingress ")
    rig.link.listen()
    rig.settle()
    assert len(rig.link.names("ingress")) == 5


def test_a_translator_that_restarts_gets_a_snapshot_of_what_is_now(rig):
    rig.kube.bulk(count=5)
    rig.ingress("gone")
    rig.start()
    mark = rig.kube.mark()
    rig.link.stop()
    rig.kube.api.delete("ingresses", "gone")
    rig.ingress("new")
    rig.kube.wait_requests(1, since=mark, verb="create")
    rig.link.listen()
    rig.link.wait_whole(2)
    rig.link.wait_record("ingress", "new")
    assert "default/gone" not in rig.link.names("ingress")
    assert rig.lists(mark) == []


def test_a_snapshot_that_is_cut_is_sent_again(rig):
    rig.kube.bulk(count=2000)
    rig.link.pause()
    rig.prepare().start()
    rig.watcher.wait_event("kind-synced", "kind=service ")
    rig.link.hang_up()
    rig.link.resume()
    wait_for(lambda: rig.link.connection and rig.link.connection.is_whole, "a whole snapshot", 20)
    assert len(rig.link.names("ingress")) == 2000


def test_killed_in_the_middle_of_everything(rig):
    rig.kube.bulk(count=1000)
    rig.prepare()
    for lives in range(4):
        rig.watcher.start()
        wait_for(lambda n=lives: len(rig.link.connections) > n and rig.link.count() > 50, "some of a snapshot", interval=0.001)
        rig.watcher.kill()
    rig.watcher.start()
    rig.link.wait_whole(5)
    assert len(rig.link.names("ingress")) == 1000
    assert rig.writes() == []


def test_killed_while_nobody_looks(rig):
    rig.ingress()
    rig.ingress("gone")
    rig.start()
    before = dict(rig.link.records)
    rig.watcher.kill()
    rig.kube.api.delete("ingresses", "gone")
    rig.watcher.start()
    rig.settle(2)
    before.pop(("ingress", "default", "gone"))
    assert rig.link.records == before


def test_a_slow_translator_makes_changes_coalesce(rig):
    rig.kube.bulk(count=20, namespaces=1)
    rig.start()
    told = rig.link.count()
    rig.link.pause()
    padding = "x" * 20_000
    for number in range(300):
        rig.kube.patch_object("ingresses", f"app-{number % 20:05d}", {"metadata": {"annotations": {"n": str(number), "p": padding}}}, "bench-0")
    rig.kube.api.delete("ingresses", "app-00000", "bench-0")
    rig.ingress("last")
    mark = rig.kube.mark()
    rig.kube.end_streams("clean", {"resource": "ingresses"})  # and the watch resumes after all of them
    rig.kube.wait_requests(1, since=mark, verb="watch", resource="ingresses")
    rig.link.resume()
    rig.link.wait_record("ingress", "last")
    rig.link.wait_gone("ingress", "app-00000", "bench-0")
    for number in range(281, 300):
        rig.link.wait_record("ingress", f"app-{number % 20:05d}", "bench-0", lambda r, n=number: {"key": "n", "value": str(n)} in r.get("annotations", []))
    # What the socket and the output take is a fraction of 300 times 20 kB; beyond that each object is told once.
    assert len(rig.link.messages(since=told)) < 100


def pss_kib(pid: int) -> int:
    """The proportional memory of a process."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def test_memory_does_not_grow_while_the_translator_sleeps(rig):
    rig.kube.bulk(count=50, namespaces=1)
    rig.start()
    if rig.watcher.is_sanitized():
        pytest.skip("the sanitizer keeps what was freed")
    rig.link.pause()
    padding = "x" * 50_000

    def churn(rounds: int) -> None:
        for number in range(rounds):
            rig.kube.patch_object("ingresses", f"app-{number % 50:05d}", {"metadata": {"annotations": {"n": str(number), "p": padding}}}, "bench-0")
        name = f"mark-{rig.kube.mark()}"
        rig.ingress(name)

    churn(150)
    settled = pss_kib(rig.watcher.pid)
    churn(600)  # 30 MB of changes
    assert pss_kib(rig.watcher.pid) < settled + 6000
    rig.link.resume()
    rig.link.wait_record("ingress", "app-00049", "bench-0", lambda r: {"key": "n", "value": "599"} in r.get("annotations", []))


@pytest.mark.parametrize("data", [
    b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\5\xdf\x02\0\0\0", frame("upsert", {"kind": "service", "name": "x"}), frame("hello", {}),
    frame("status", {"kind": "ingress"}), frame("status", {"kind": "ingress", "name": "web", "addresses": [{"ip": 7}]}),
    frame("event", {"kind": "ingress", "name": "web", "reason": "R"}), struct.pack(">I", 3) + b"\x91\xa1x"],
    ids=["huge", "empty", "bomb", "upsert", "second-hello", "no-name", "wrong-type", "no-message", "no-body"])
def test_nonsense_from_the_translator_closes_the_link_and_nothing_else(rig, data):
    rig.ingress()
    rig.start()
    mark = rig.kube.mark()
    rig.link.send_bytes(data)
    rig.watcher.wait_event("link-bad-message")
    rig.link.wait_whole(2)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == [] and rig.writes() == []


def test_unknown_messages_and_keys_are_skipped(rig):
    rig.ingress()
    rig.start()
    rig.link.send("from-the-future", {"a": 1})
    rig.link.send("status", {"kind": "ingress", "namespace": "default", "name": "web", "x": [1], "addresses": [{"ip": "192.0.2.1", "y": {}}]})
    rig.wait_shown("192.0.2.1")
    assert len(rig.link.connections) == 1


def test_orderly_end(rig):
    rig.ingress()
    rig.start()
    assert rig.watcher.stop() == 0
    assert rig.link.connection.said_bye == "the watcher was asked to stop"
    stays(lambda: rig.link.names("ingress") == {"default/web"}, "the records", 0.2)
