# SPDX-License-Identifier: Apache-2.0
"""How often a change is encoded and decoded on its way from the API server to a proxy: as often as doc/architecture.md says.

One process of a running line at a time is under callgrind, which counts the calls of the codec, so the figures are the same on every machine.
"""
from __future__ import annotations

import collections
import pathlib
import re
import shutil

import pytest

from lib.callgrind import Callgrind
from lib.daemon import Daemon
from lib.line import is_sanitized
from lib.local_proxy import PATIENCE
from lib.proxy_line import ProxyLine

pytestmark = [pytest.mark.plain, pytest.mark.skipif(is_sanitized(), reason="callgrind cannot run programs under a sanitizer"),
              pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind to count calls with")]

# What a path that is added to an Ingress costs each process: so often it encodes, and so often at most it decodes what arrives and reads again what it
# keeps. The record arrives in the translator, and then that its commit is applied; the virtual host and the commit in the provider. What is kept is read
# where a step needs it: the Ingress as it was and as it is, and once more for each status of the provider that arrives just then. What is due every few
# seconds, such as a look at the ports or a ping, reads and decodes, too: so the least of several changes counts.
WANTED = {
    "watcher": {"message_encode_record": 1},
    "translator": {"message_decode": 2, "message_reader_read_kept": 5, "message_encode_object": 1},
    "provider": {"message_decode": 2, "message_reader_read_kept": 5},
}
CHANGES = 3
CODEC = {name for counts in WANTED.values() for name in counts}


def calls(profile: str) -> collections.Counter[str]:
    """By function: its calls in a dump of callgrind, where `(7) name` gives a name its number, and `(7)` is the same name afterwards."""
    names: dict[str, str] = {}
    found: collections.Counter[str] = collections.Counter()
    called = ""
    for line in profile.splitlines():
        if match := re.match(r"c?fn=(\(\d+\))(?: (\S+))?", line):
            names.setdefault(match[1], match[2] or "")
            called = names[match[1]]
        elif match := re.match(r"calls=(\d+)", line):
            found[called] += int(match[1])
    return found


class Counted:
    """A daemon of a line that is ended and started again under callgrind."""

    def __init__(self, daemon: Daemon, folder: pathlib.Path):
        self.daemon = daemon
        assert daemon.stop() == 0
        self.callgrind = Callgrind(folder)
        daemon.arguments = [*self.callgrind.options(), str(daemon.program), *daemon.arguments, "--sandbox", "off"]
        daemon.program = pathlib.Path("valgrind")
        daemon.start()

    def zero(self) -> None:
        self.callgrind.ask(self.daemon.pid, "zero")

    def since_zero(self) -> dict[str, int]:
        """The calls of the codec since zero()."""
        return {name: count for name, count in calls(self.callgrind.dump(self.daemon.pid)).items() if name in CODEC}


@pytest.mark.parametrize("name", WANTED)
def test_a_path_added_to_an_ingress(name, pods, tmp_path):
    with ProxyLine("haproxy") as line:
        pod = pods("web")
        line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [pod.ip]))

        def apply(*paths: str) -> None:
            line.cluster.apply(line.cluster.ingress("web", [{"host": "web.test", "paths": [(path, "Exact", "web", 80) for path in paths]}]))
            line.wait_serves("web.test", paths[-1], "web")

        apply("/first")
        line.cluster.wait_addresses("web", 1, PATIENCE)
        counted = Counted(line.daemon(name), tmp_path)
        paths = ["/first", "/second"]
        apply(*paths)
        each = []
        for number in range(CHANGES):
            counted.zero()
            paths.append(f"/path-{number}")
            apply(*paths)
            each.append(counted.since_zero())
        for function, count in WANTED[name].items():
            found = [of_one.get(function, 0) for of_one in each]
            assert min(found) == count if "encode" in function else min(found) <= count, each
        assert set.intersection(*map(set, each)) == WANTED[name].keys(), each
