# SPDX-License-Identifier: Apache-2.0
"""The neighbours misbehave while an Ingress changes: the end state is the same, traffic never stops, and nothing needless is written."""
from __future__ import annotations

import contextlib
import re
from typing import Callable, Iterator

import pytest

from lib.envtest import assets, needs_standin
from lib.line import Line
from lib.provider_bench import FAST
from lib.traffic import Traffic
from lib.wait import wait_for
from lib.web import HOST, deploy, reaches, serve, with_second

OURS = {"identity": "controller"}
# Often, so that a watch which stands still is noticed soon.
BOOKMARKS_S = 0.5


@pytest.fixture(scope="module")
def line():
    """Short pauses, so that a recovery is seen soon."""
    with Line(start=False, rancher_options={"hosts": 3, "settings": FAST},
              watcher_arguments=["--backoff-first", "0.05", "--backoff-max", "0.5", "--connect-timeout", "1", "--request-timeout", "3",
                                 "--stream-timeout", "1", "--watch-silence", "1"],
              provider_arguments=["--client-timeout", "2", "--idle-poll-interval", "0.5"]) as running:
        if not assets():
            # Before the first watch: the watcher takes the time to its first bookmark for how often they come.
            running.kube.settings(bookmark_period_s=BOOKMARKS_S)
        running.start()
        yield running


# The API server


def kube_network(mode: str):
    """Connections end, and new ones are refused or never answered."""
    def fault(line):
        line.kube.network(mode, drop="rst")
    return fault


def kube_streams(end: str, **more):
    """Watches end in this way, or go silent."""
    def fault(line):
        line.kube.end_streams(end, OURS, **more)
    return fault


def kube_answers(name: str, **more):
    """The next requests are answered so; watches end, so that there are some."""
    def fault(line):
        line.kube.fault("respond", {**OURS, **more.get("when", {})}, with_=name, count=10, **{k: v for k, v in more.items() if k != "when"})
        line.kube.end_streams("clean", OURS)
    return fault


def kube_gone_revisions(line):
    """410 in the watches, and then in the lists that follow."""
    line.kube.forget()
    line.kube.fault("respond", {**OURS, "verb": "list"}, with_="expired", count=4)
    line.kube.end_streams("error", OURS, with_="expired")


def kube_half_lists(line):
    """Every watch costs a list, and lists end in the middle."""
    line.kube.forget()
    line.kube.fault("cut", OURS, fraction=0.5, count=8)
    line.kube.end_streams("error", OURS, with_="expired")


def bookmarks_known(line):
    """Each watch has seen how often bookmarks come."""
    line.kube.settings(bookmark_period_s=BOOKMARKS_S)
    wait_for(lambda: (s := line.kube.streams(identity="controller")) and all(e["frames"] >= 3 for e in s), "bookmarks")


def kube_half_open(line):
    """Requests are taken and never answered, and running watches stand still."""
    bookmarks_known(line)
    line.kube.fault("hang", OURS, count=5)
    line.kube.end_streams("silence", OURS)


def kube_silent(line):
    bookmarks_known(line)
    line.kube.end_streams("silence", OURS)


def kube_new_token(line):
    """The old token is refused from now on; the new one is in the file."""
    line.kube.rotate_token()
    line.kube.end_streams("clean", OURS)


def kube_forbids_secrets(line):
    line.kube.deny(resource="secrets")
    line.kube.end_streams("clean", OURS)


# Rancher


def rancher_api(state: str):
    def fault(line):
        line.rancher.control("api", state=state)
    return fault


def rancher_fault(effect: str, **scope):
    def fault(line):
        line.rancher.fault(effect, **scope)
    return fault


def rancher_websocket(**what):
    def fault(line):
        line.rancher.control("websocket", **what)
    return fault


def rancher_stammers(line):
    for effect, skip in (("error", 0), ("reset", 3), ("truncate", 6), ("garbage", 9)):
        line.rancher.fault(effect, skip=skip, count=2)


WRITES = {"method": ["PUT", "POST"], "type": "loadBalancerService"}
KUBE = {
    "kube-cut": kube_network("gone"),
    "kube-black-hole": kube_network("black-hole"),
    "kube-streams-cut-in-a-frame": kube_streams("cut"),
    "kube-streams-garbage": kube_streams("garbage"),
    "kube-streams-silent": kube_silent,
    "kube-half-open": kube_half_open,
    "kube-lists-cut": kube_half_lists,
    "kube-410": kube_gone_revisions,
    "kube-410-as-answer": kube_answers("expired"),
    "kube-500": kube_answers("internal"),
    "kube-429-retry-after": kube_answers("throttled", retry_after=1),
    "kube-503-starting": kube_answers("starting", retry_after=1),
    "kube-garbage": kube_answers("garbage"),
    "kube-html": kube_answers("html"),
    "kube-401-new-token": kube_new_token,
    "kube-403-on-a-kind": kube_forbids_secrets,
}
RANCHER = {
    "rancher-cut": rancher_api("down"),
    "rancher-black-hole": rancher_api("black-hole"),
    "rancher-500": rancher_fault("error", status=500, count=6),
    "rancher-401": rancher_fault("error", status=401, code="Unauthorized", count=2),
    "rancher-409": rancher_fault("error", status=409, code="Conflict", count=3, **WRITES),
    "rancher-422": rancher_fault("error", status=422, code="InvalidOption", count=2, **WRITES),
    "rancher-reset": rancher_fault("reset", count=6),
    "rancher-reset-after": rancher_fault("reset", count=2, when="after", **WRITES),
    "rancher-slow": rancher_fault("slow", delay=1.0, count=6),
    "rancher-trickle": rancher_fault("trickle", delay=0.5, count=4),
    "rancher-stammers": rancher_stammers,
    "rancher-garbage": rancher_fault("garbage", count=6),
    "rancher-truncated": rancher_fault("truncate", count=6),
    "rancher-websocket-cut": rancher_websocket(cut=True),
    "rancher-websocket-off": rancher_websocket(mode="off", cut=True),
    "rancher-websocket-garbage": rancher_websocket(mode="garbage"),
    "rancher-websocket-huge": rancher_websocket(mode="huge"),
    "rancher-websocket-silent": rancher_websocket(mode="silent"),
}
FAULTS = {**KUBE, **RANCHER}
# What of these a real API server can be made to do: it is killed. One that stands still is noticed by the bookmarks it no longer sends, and it cannot
# be told to send them more often than about each minute.
REAL = ("kube-cut", *RANCHER)
# Nobody can change anything while these last.
NOBODY_WRITES = ("kube-cut", "kube-black-hole")


@contextlib.contextmanager
def trouble(line, fault: Callable[[Line], None]) -> Iterator[None]:
    """The fault acts while the block runs, and is gone afterwards."""
    fault(line)
    try:
        yield
    finally:
        if not assets():
            line.kube.network("up")
            line.kube.clear()
        elif fault is KUBE["kube-cut"]:
            line.kube.network("up")
        line.rancher.control("api", state="up")
        line.rancher.control("websocket", mode="normal")
        line.rancher.clear()


def our_writes(line) -> list[tuple[str, str, bool]]:
    """Method, name, and whether a fault may have kept the answer."""
    return [(r["method"], r["name"], r["fault"] is not None) for r in line.rancher.writes() if r["changed"] is not None]


def possible(name: str) -> object:
    marks = [pytest.mark.skip(reason=f"the real API server cannot be told to misbehave so: {name}")] if assets() and name not in REAL else []
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [possible(name) for name in FAULTS])
def test_a_change_survives(line, namespace, backends, name):
    serve(line, namespace, backends)
    line.rancher.settle()
    line.rancher.control("forget-requests")
    mark = line.kube.mark()
    since = len(line.watcher.lines)
    with Traffic(*line.entries("web", namespace.namespace)[0], HOST, "/foo", pause=0.02) as traffic:
        with trouble(line, FAULTS[name]):
            if name in NOBODY_WRITES:
                line.watcher.wait_event("watch-failed", since=since)
            else:
                namespace.apply(with_second(namespace))
                if name not in ("rancher-cut", "rancher-black-hole", "rancher-websocket-off"):
                    # Faults that are counted, and those that end by themselves, are outlived without help.
                    reaches(line, namespace, "/second", "second")
        if name in NOBODY_WRITES:
            namespace.apply(with_second(namespace))
        reaches(line, namespace, "/second", "second")
        good = traffic.good
        wait_for(lambda: traffic.good > good + 20 or traffic.failures, "traffic to go on")
    assert traffic.failures == []
    assert len(namespace.wait_addresses("web", 1)) == 1
    # One write, twice where its answer was lost with the network, and once more for each answer that the fault has kept; no status, because no
    # address has changed.
    writes = our_writes(line)
    assert {write[:2] for write in writes} == {("PUT", f"{namespace.namespace}-rancherlb-web")}, writes
    assert len([write for write in writes if not write[2]]) <= 2, writes
    assert [w for w in line.kube.writes(mark) if w["subresource"] == "status" and w["effect"] in ("changed", "noop")] == []


@needs_standin("take a token back")
def test_401_reads_the_token_again(line, namespace, backends):
    serve(line, namespace, backends)
    since = len(line.watcher.lines)
    with trouble(line, kube_new_token):
        line.watcher.wait_event("credentials-refreshed", since=since)
        namespace.annotate("ingress", "web", **{"http.port": "8080"})
        wait_for(lambda: [e for e in line.entries("web", namespace.namespace) if e[1] == 8080], "port 8080 to open")


@needs_standin("end watches when a right is taken away")
def test_a_kind_that_is_forbidden_is_named_and_what_is_known_of_it_stays(line, namespace, backends):
    serve(line, namespace, backends)
    since = len(line.watcher.lines)
    with trouble(line, kube_forbids_secrets):
        line.watcher.wait_event("not-ready", "secret", since=since)
        namespace.annotate("ingress", "web", **{"http.port": "8080"})
        wait_for(lambda: [e for e in line.entries("web", namespace.namespace) if e[1] == 8080], "port 8080 to open")
    line.watcher.wait_event("ready", since=since)


def test_one_refused_balancer_does_not_hold_up_another(line, namespace, backends):
    deploy(namespace, backends, "web")
    refused = f"{namespace.namespace}-rancherlb-bad"
    with trouble(line, rancher_fault("error", method="POST", name=refused, status=422, code="InvalidOption", fieldName="labels")):
        for name in ("bad", "good"):
            namespace.apply(namespace.ingress(name, [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}]))
        reaches(line, namespace, "/", "web", "good")
        assert line.balancer("bad", namespace.namespace) is None
        namespace.wait_event("bad", "LoadBalancerFailed", "InvalidOption")
    line.wait_balancer("bad", namespace.namespace)
    namespace.wait_event("bad", "LoadBalancerRecovered")


def test_a_balancer_in_error_is_told_and_its_recovery_too(line, namespace, backends):
    deploy(namespace, backends, "web")
    hosts = [host["id"] for host in line.rancher.info["hosts"]]
    for host in hosts:
        line.rancher.control("hold-port", port=8081, host=host)
    try:
        namespace.apply(namespace.ingress("web", [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}], {"http.port": "8081"}))
        namespace.wait_event("web", "LoadBalancerFailed", "8081")
    finally:
        for host in hosts:
            line.rancher.control("release-port", port=8081, host=host)
    reaches(line, namespace, "/", "web")
    namespace.wait_event("web", "LoadBalancerRecovered")
    namespace.wait_addresses("web", 1)


def test_an_outage_of_rancher_is_told_and_its_end_too(line, namespace, backends):
    """On the Ingress that waits for it, and on no other."""
    serve(line, namespace, backends)
    namespace.apply(namespace.ingress("calm", [{"host": "calm.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
    namespace.wait_addresses("calm", 1)
    with trouble(line, rancher_api("down")):
        namespace.apply(namespace.ingress("web", [{"host": HOST, "paths": [("/second", "Prefix", "second", 80)]}]))
        namespace.wait_event("web", "LoadBalancerFailed", "Rancher does not answer")
    reaches(line, namespace, "/second", "second")
    namespace.wait_event("web", "LoadBalancerRecovered")
    assert namespace.events("calm", "LoadBalancerFailed") == []


@needs_standin("keep the history of its watches when it goes away")
def test_an_outage_of_the_api_server_ends_without_a_storm(line, namespace, backends):
    """However long it is away, one request a kind and pause; afterwards the watches go on where they were."""
    serve(line, namespace, backends)
    since = len(line.watcher.lines)
    mark = line.kube.mark()
    with trouble(line, kube_network("gone")):
        wait_for(lambda: len([e for e in line.watcher.lines[since:] if "event=watch-failed" in e]) >= 5, "each watch to fail")
    line.kube.wait_streams(5, identity="controller")
    # One object of a kind is asked for, for the server's revision: it may have come back from a backup.
    lists = [r for r in line.kube.requests(mark, identity="controller") if r["verb"] == "list" and not re.search(r"limit=1(&|$)", r["query"])]
    assert lists == []
    assert line.kube.writes(mark) == [] and our_writes_since(line, namespace) == []


def our_writes_since(line, namespace) -> list[tuple[str, str, bool]]:
    """Writes to the load balancers of this test after they were made."""
    return [w for w in our_writes(line) if w[0] != "POST" and (w[1] or "").startswith(namespace.namespace)]


def test_the_steady_state_is_quiet_and_restarts_write_nothing(line, namespace, backends):
    serve(line, namespace, backends)
    line.rancher.settle()
    mark = line.kube.mark()
    line.rancher.control("forget-requests")
    for daemon in line.daemons():
        lines = len(daemon.lines)
        daemon.restart()
        daemon.wait_event("link-up", since=lines)
    # The proof that all three have gone through everything again: a further change arrives.
    namespace.annotate("ingress", "web", scale="2")
    namespace.wait_addresses("web", 2)
    ours = [e for e in line.kube.writes(mark) if e["resource"] == "ingresses" and e["effect"] in ("changed", "noop")]
    assert len(ours) == 1, ours
    assert our_writes(line) == [("PUT", f"{namespace.namespace}-rancherlb-web", False)]


def test_restarts_tell_nothing_twice(line, namespace, backends):
    """What Rancher cannot do exactly, what is wrong with an annotation: one Event each, however often anybody begins anew."""
    deploy(namespace, backends, "web")
    exact = namespace.ingress("web", [{"host": HOST, "paths": [("/foo", "Exact", "web", 80)]}], {"scale": "many"})
    namespace.apply(exact)
    reaches(line, namespace, "/foo", "web")
    namespace.wait_addresses("web", 1)

    def told():
        return {(e["reason"], e["message"]): e.get("count", 1) for e in namespace.events("web") if e["type"] == "Warning"}
    wait_for(lambda: len(told()) >= 2, "both Warnings")
    first = told()
    mark = line.kube.mark()
    for number, victims in enumerate([["provider"], ["translator"], ["watcher"], ["translator", "provider"], ["watcher", "translator", "provider"]]):
        for victim in victims:
            line.daemon(victim).kill()
        for victim in victims:
            line.daemon(victim).start()
        namespace.apply(namespace.ingress(f"other{number}", [{"host": HOST, "paths": [(f"/other{number}", "Prefix", "web", 80)]}],
                                          {"sluice.io/group": "others"}))
        namespace.wait_addresses(f"other{number}", 1)
    assert told() == first
    patched = [w for w in line.kube.writes(mark) if w["resource"] == "events" and w["verb"] == "patch" and w["effect"] == "changed"]
    assert [w for w in patched if w["name"].startswith("web.")] == []
