# SPDX-License-Identifier: Apache-2.0
"""examples/provider.py behind the real watcher and translator: the protocol page is true. And the same program as it was at each release, which
nobody changes: a provider that was written for an older release works with today's line."""
from __future__ import annotations

import pathlib

import pytest

from lib.daemon import Daemon
from lib.line import Line

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = [ROOT / "examples/provider.py", *sorted((ROOT / "tests/cases").glob("provider-*.py"))]


def test_each_release_is_among_them():
    assert "provider-0.1.0.py" in [program.name for program in PROGRAMS]


@pytest.mark.parametrize("grouping", ["per-ingress", "merged"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_it_follows_and_its_address_arrives(program, grouping, tmp_path):
    with Line(start=False) as line:
        line.provider = Daemon("/usr/bin/python3", [str(program), "--runtime-dir", str(line.runtime), "--grouping", grouping,
                                                    "192.0.2.7"], tmp_path / "example.log")
        line.translator.start()
        line.watcher.start()
        line.provider.start()
        cluster = line.cluster
        cluster.apply(cluster.service("web"), cluster.slice("web", ["10.9.9.9"]),
                      cluster.ingress("web", [{"host": "foo.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
        assert cluster.wait_addresses("web") == ["192.0.2.7"]
        line.translator.restart()
        cluster.apply(cluster.ingress("two", [{"host": "two.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
        assert cluster.wait_addresses("two") == ["192.0.2.7"]
        line.provider.kill()
        cluster.delete("ingress", "two")
        line.provider.start()
        cluster.apply(cluster.ingress("three", [{"host": "three.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
        assert cluster.wait_addresses("three") == ["192.0.2.7"]
        # Each logs it in its own way.
        assert any("10.9.9.9" in text and "8080" in text for text in line.provider.lines)
        line.provider.kill()
