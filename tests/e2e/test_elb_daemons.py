# SPDX-License-Identifier: Apache-2.0
"""The line with AWS, its daemons asked to stop, without descriptors or memory, and spoken to in nonsense: traffic goes on, and AWS is left as it is."""
from __future__ import annotations

import resource
from typing import Iterator

import pytest

from lib.backend import Backend
from lib.elb_bench import ElbBench
from lib.elb_line import ElbLine
from lib.frames import HALVES, NONSENSE
from lib.line import DAEMONS
from lib.provider_link import load_balancer, pool, virtual_host
from lib.wait import stays, wait_for

HOST = "foo.bar.com"
WEB = "default/web"
CHANGE = ["AddTags", "CreateRule", "AddTags"]  # what one more path takes
FEW = 3  # descriptors: enough for what is open already, which no limit takes away


@pytest.fixture
def line() -> Iterator[ElbLine]:
    """With the Ingress `web`, whose load balancer is `name`."""
    with Backend("web") as pod, ElbLine() as running:
        cluster = running.cluster
        cluster.apply(cluster.service("web"), cluster.slice("web", [running.place(pod)]))
        apply_paths(running, "/foo")
        running.name, = cluster.wait_addresses("web", 1)
        running.wait_reaches(running.name, HOST, "/foo", "web")
        running.settle()
        running.aws.forget()
        yield running


def apply_paths(line: ElbLine, *paths: str) -> None:
    line.cluster.apply(line.cluster.ingress("web", [{"host": HOST, "paths": [(path, "Prefix", "web", 80) for path in paths]}]))


def change(line: ElbLine) -> None:
    """A further path: it goes the whole way, and nothing else is written."""
    apply_paths(line, "/foo", "/second")
    line.wait_reaches(line.name, HOST, "/second", "web")
    line.settle()
    assert line.writes() == CHANGE
    assert line.cluster.addresses("web") == [line.name]


@pytest.mark.parametrize("order", [("provider",), DAEMONS, DAEMONS[::-1]], ids="-".join)
def test_asked_to_stop(order, line):
    mark = line.kube.mark()
    with line.traffic(line.name, HOST, "/foo") as traffic:
        for name in order:
            daemon = line.daemon(name)
            since = len(daemon.lines)
            assert daemon.stop() == 0
            assert any("event=stopped" in text for text in daemon.lines[since:])
        assert not (line.runtime / "provider-elb.admin").exists()
        stays(lambda: line.cluster.addresses("web") == [line.name], "the address", 0.5)
        assert line.writes() == []
        line.start_daemons()
        change(line)
    assert traffic.failures == [] and traffic.good > 0
    assert [w for w in line.kube.writes(mark) if w["subresource"] == "status"] == []


def ended(daemon) -> int:
    """Waits until it has ended by itself; its exit code."""
    wait_for(lambda: not daemon.is_running(), f"{daemon.program.name} to end")
    return daemon.reap()


def test_no_descriptors_are_left(line):
    with line.traffic(line.name, HOST, "/foo") as traffic:
        resource.prlimit(line.provider.pid, resource.RLIMIT_NOFILE, (FEW, FEW))
        line.translator.restart()  # and so it needs another one
        assert ended(line.provider) == 1
        line.provider.wait_event("out-of-descriptors")
        line.provider.start()
        change(line)
    assert traffic.failures == []


def test_no_memory_is_left(line):
    if line.provider.is_sanitized():
        pytest.skip("AddressSanitizer needs its address space")
    with line.traffic(line.name, HOST, "/foo") as traffic:
        resource.prlimit(line.provider.pid, resource.RLIMIT_AS, (4096, 4096))
        many = [line.cluster.ingress(f"many{n}", [{"host": f"many{n}.bar.com", "paths": [(f"/{n}/{m}", "Prefix", "web", 80) for m in range(60)]}],
                                     {"sluice.io/group": "many"}) for n in range(60)]
        line.cluster.apply(*many)
        assert ended(line.provider) == 1
        line.provider.wait_event("out-of-memory")
        line.cluster.kubectl("delete", "ingress", *[one["metadata"]["name"] for one in many])
        line.provider.start()
        apply_paths(line, "/foo", "/second")
        line.wait_reaches(line.name, HOST, "/second", "web")
        wait_for(lambda: len(line.aws.balancers()) == 1, "what was begun to be gone", 60)
    assert traffic.failures == []


@pytest.fixture(scope="module")
def bench() -> Iterator[ElbBench]:
    with ElbBench() as running:
        running.translator.put(load_balancer("web"), virtual_host(WEB, HOST, ("/foo", WEB)), pool("web", endpoints=["172.31.0.10"]))
        running.remembered()
        yield running


@pytest.mark.parametrize("data", [*NONSENSE.values(), HALVES["half-a-frame"]], ids=[*NONSENSE, "half-a-frame"])
def test_nonsense_from_the_translator_changes_nothing(bench, data):
    connections = bench.translator.connections
    bench.aws.forget()
    bench.translator.send_bytes(data, end=data in HALVES.values())
    bench.translator.wait_connection(connections + 1)
    bench.settle()
    bench.quiet(0.3)
    assert bench.writes() == [] and bench.provider.starts == 1
