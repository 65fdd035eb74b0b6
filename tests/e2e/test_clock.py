# SPDX-License-Identifier: Apache-2.0
"""The wall clock of the whole line jumps by a day, forwards and back: that is about dates, and about nothing else."""
from __future__ import annotations

import mmap
import pathlib
import re
import struct

import pytest

from lib.line import Line, build_folder
from lib.wait import wait_for
from lib.web import change, reaches, serve
from lib.admin import look

DAY_S = 24 * 60 * 60


class WallClock:
    """What is preloaded into the daemons, see wall_clock.c."""

    def __init__(self, folder: pathlib.Path):
        self.file = folder / "wall-clock"
        self.file.write_bytes(bytes(8))

    def preload(self, line: Line) -> None:
        """To be called before they are started."""
        for daemon in line.daemons():
            sanitizer = daemon.environment.get("ASAN_OPTIONS", "")
            daemon.environment |= {"LD_PRELOAD": str(build_folder() / "tests/libwall-clock.so"), "WALL_CLOCK": str(self.file),
                                   "ASAN_OPTIONS": f"{sanitizer}:verify_asan_link_order=0".strip(":")}

    def set(self, offset_s: int) -> None:
        """At one stroke, so that nobody reads half of it."""
        with open(self.file, "r+b") as file, mmap.mmap(file.fileno(), 8) as place:
            place[:] = struct.pack("=q", offset_s)


@pytest.fixture
def clock(tmp_path):
    return WallClock(tmp_path)


@pytest.fixture
def line(clock):
    with Line(start=False, log_level="debug") as made:
        clock.preload(made)
        made.start()
        yield made


def year_month_day(log_line: str) -> str:
    return re.search(r"ts=([0-9-]+)T", log_line)[1]


def frames(line: Line) -> dict[str, int]:
    """How many the translator has had from each neighbour."""
    text = look(line.runtime / "translator.admin", "/metrics").text
    return {peer: int(count) for peer, count in re.findall(r'sluice_link_frames_total\{peer="(\w+)",direction="received"\} ([0-9]+)', text)}


def wait_pings(line: Line) -> None:
    """While nothing changes, neighbours ask each other now and then whether they live."""
    before = frames(line)
    assert {"watcher", "provider"} <= set(before)
    wait_for(lambda: all(frames(line)[peer] > before[peer] for peer in ("watcher", "provider")), "pings on both links", 30)


def test_a_clock_that_jumps_by_a_day(line, clock, namespace, backends):
    serve(line, namespace, backends)
    first_day = year_month_day(line.watcher.lines[-1])
    for offset_s in (DAY_S, -DAY_S, 0):
        marks = {daemon.program.name: len(daemon.lines) for daemon in line.daemons()}
        kube_mark = line.kube.mark()
        clock.set(offset_s)
        # Timers go on: a change goes the whole way, and back again.
        change(line, namespace)
        namespace.apply(namespace.ingress("web", [{"host": "foo.bar.com", "paths": [("/foo", "Prefix", "web", 80)]}]))
        reaches(line, namespace, "/foo", "web")
        wait_pings(line)
        for daemon in line.daemons():
            news = daemon.lines[marks[daemon.program.name]:]
            # Nothing was lost, given up, begun anew or written again.
            assert not [text for text in news if re.search(r"level=(warn|error)|event=(link-up|link-down|status-written|kind-resynced|relist)", text)]
        asked = line.kube.requests(kube_mark, identity="controller")
        assert not [entry for entry in asked if entry["verb"] in ("list", "watch") or entry["subresource"] == "status"]
        days = {year_month_day(text) for daemon in line.daemons() for text in daemon.lines[marks[daemon.program.name]:]}
        assert (first_day in days) == (offset_s == 0), "the preloaded clock was not read"


def test_a_hung_neighbour_is_noticed_after_the_clock_was_set_back(line, clock):
    clock.set(-DAY_S)
    since = len(line.watcher.lines)
    line.translator.pause()
    line.watcher.wait_event("link-down", "silent", since=since, timeout=60)
    line.translator.resume()
    line.watcher.wait_event("link-up", since=since, timeout=60)
