# SPDX-License-Identifier: Apache-2.0
"""Every story of lib/stories.py under every disturbance: the end is the same, nothing is written or removed without need, and clients who
were promised so lose no request.

All stories are told at once, in namespaces of their own; a disturbance begins when half of them have changed something, and the other half
changes while it lasts. Each test looks at one story of one such telling.
"""
from __future__ import annotations

import contextlib
from typing import Callable, Iterator

import pytest

from lib.backend import Backend
from lib.envtest import assets
from lib.line import DAEMONS, Line
from lib.provider_bench import FAST
from lib.stage import Stage
from lib.stories import RESERVED_HOSTS, STORIES
from lib.wait import wait_for

Disturbance = Callable[[Stage], contextlib.AbstractContextManager]
CONTROLLER = {"identity": "controller"}
# Load balancers of all stories, all on port 80 of a host of their own; and those of the canaries.
HOSTS = 60


def none(_stage: Stage) -> contextlib.AbstractContextManager:
    @contextlib.contextmanager
    def quietly():
        _stage.first_half()
        yield
    return quietly()


def killed(*victims: str) -> Disturbance:
    """SIGKILL in the middle; they are back when everything has changed."""
    @contextlib.contextmanager
    def disturb(stage: Stage) -> Iterator[None]:
        daemons = [stage.line.daemon(name) for name in victims]
        stage.first_half()
        for daemon in daemons:
            daemon.kill()
        yield
        for daemon in daemons:
            daemon.start()
    return disturb


@contextlib.contextmanager
def restarted(stage: Stage) -> Iterator[None]:
    """All three, one after the other, while things change."""
    stage.first_half()
    for daemon in stage.line.daemons():
        daemon.restart()
    yield
    for daemon in stage.line.daemons():
        daemon.restart()


def kube(do: str, end: str = "", **fault) -> Disturbance:
    """The API server fails the watcher's requests, and its watches end; long enough to be felt by each kind."""
    @contextlib.contextmanager
    def disturb(stage: Stage) -> Iterator[None]:
        standin = stage.line.kube
        number = standin.fault(do, CONTROLLER, **fault)
        stage.first_half()
        if end == "expired":
            standin.forget()
            standin.end_streams("error", CONTROLLER, with_="expired")
        elif end:
            standin.end_streams(end, CONTROLLER)
        yield
        wait_for(lambda: [f for f in standin.faults() if f["id"] == number and f["hits"] >= 10], "the fault to be felt")
        standin.clear(number)
    return disturb


@contextlib.contextmanager
def kube_killed(stage: Stage) -> Iterator[None]:
    """The real API server dies with SIGKILL, and comes back without the history of its watches."""
    stage.first_half()
    stage.line.kube.network("gone")
    stage.line.kube.network("up")
    yield


def rancher(*faults: dict, least: int = 4) -> Disturbance:
    """Requests of the provider fail, until at least some have."""
    @contextlib.contextmanager
    def disturb(stage: Stage) -> Iterator[None]:
        standin = stage.line.rancher
        numbers = [standin.fault(spec["fault"], **{k: v for k, v in spec.items() if k != "fault"}) for spec in faults]
        stage.first_half()
        yield
        wait_for(lambda: len([r for r in standin.requests() if r["fault"]]) >= least, "the fault to be felt")
        for number in numbers:
            standin.clear(number)
    return disturb


@contextlib.contextmanager
def rancher_cut(stage: Stage) -> Iterator[None]:
    """Nobody listens any more; connections and the subscription end."""
    since = len(stage.line.provider.lines)
    stage.line.rancher.control("api", state="down")
    stage.first_half()
    yield
    stage.line.provider.wait_event("rancher-outage", since=since)
    stage.line.rancher.control("api", state="up")


@contextlib.contextmanager
def one_refused(stage: Stage) -> Iterator[None]:
    """The first story that changes its load balancer is refused; all others come to their end meanwhile."""
    scene = stage.by_name("path")
    number = stage.line.rancher.fault("error", method="PUT", name=scene.balancer, status=422, code="InvalidOption", fieldName="portRules")
    stage.first_half()
    yield
    others = [other for other in stage.scenes if other is not scene]
    stage.settle(lambda other: other.story.end(other), "the end of the others", others)
    stage.line.rancher.clear(number)


# These hit only some requests; those between them get through.
STAMMERING = [{"fault": "error", "status": 500, "skip": 1, "count": 2}, {"fault": "reset", "skip": 5, "count": 2},
              {"fault": "error", "status": 503, "skip": 9, "count": 3}, {"fault": "truncate", "method": "GET", "skip": 4, "count": 2},
              {"fault": "garbage", "method": "GET", "skip": 8, "count": 2}]
DISTURBANCES: dict[str, Disturbance] = {
    "none": none,
    **{f"kill-{name}": killed(name) for name in DAEMONS},
    "restart-all": restarted,
    "kube-cut": kube_killed if assets() else kube("close", "rst", how="rst"),
    "kube-500": kube("respond", "clean", with_="internal"),
    "kube-429": kube("respond", "clean", with_="throttled", retry_after=0),
    "kube-410": kube("respond", "expired", with_="expired"),
    "kube-garbage": kube("respond", "garbage", with_="garbage"),
    "rancher-cut": rancher_cut,
    "rancher-slow": rancher({"fault": "slow", "delay": 0.5}),
    "rancher-stammering": rancher(*STAMMERING, least=6),
    "rancher-refuses-one": one_refused,
}


@pytest.fixture(scope="module")
def line():
    with Line(rancher_options={"hosts": HOSTS, "settings": FAST},
              watcher_arguments=["--backoff-first", "0.05", "--backoff-max", "0.5"],
              provider_arguments=["--keep-unclaimed", "--allow-custom-config", "--idle-poll-interval", "0.5"]) as running:
        for index in RESERVED_HOSTS.values():
            running.rancher.control("deactivate-host", host=running.rancher.info["hosts"][index]["id"])
        yield running


@pytest.fixture(scope="module")
def pods():
    with Backend("one") as one, Backend("two") as two:
        yield {"one": one.ip, "two": two.ip}


# Under sanitizers those are enough that bring each daemon down and each neighbour's nonsense to it; the others differ in timing.
# What only the stand-in can be told to answer.
NEED_STANDIN = {"kube-500": "500", "kube-429": "429", "kube-410": "410 to every list", "kube-garbage": "garbage"}
SANITIZED = ("none", "restart-all", "kube-410", "kube-garbage", "rancher-cut", "rancher-stammering", "rancher-refuses-one")


@pytest.fixture(scope="module")
def told(request, line, pods):
    """All stories, told under a disturbance."""
    if assets() and request.param in NEED_STANDIN:
        pytest.skip(f"the real API server cannot be told to answer {NEED_STANDIN[request.param]} (one skip for all {len(STORIES)} stories)")
    stage = Stage(line, pods)
    stage.begin()
    stage.change(DISTURBANCES[request.param])
    yield stage
    stage.clear()


def tellings() -> Iterator[object]:
    """Each disturbance with each story; those that the real API server cannot be made to cause count there once and not for each story."""
    for disturbance in DISTURBANCES:
        stories = STORIES[:1] if assets() and disturbance in NEED_STANDIN else STORIES
        for story in stories:
            marks = [] if disturbance in SANITIZED else [pytest.mark.plain]
            if assets() and story.fault is not None:
                marks.append(pytest.mark.skip(reason="the real API server cannot be told when somebody else's write comes first"))
            yield pytest.param(disturbance, story.name, marks=marks, id=f"{disturbance}-{story.name}")


@pytest.mark.parametrize(("told", "name"), tellings(), indirect=["told"], scope="module")
def test_the_end_is_the_same(told, name):
    assert told.problems[name] == []
