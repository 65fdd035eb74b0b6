# SPDX-License-Identifier: Apache-2.0
"""provider-rancher and what is there before it comes: load balancers of the Go original, of its own earlier life, and of others."""
from __future__ import annotations

import pytest

from lib.provider_bench import Bench
from lib.provider_link import pool, simple
from lib.wait import stays, wait_for

WEB = "default-rancherlb-web"


def seed(bench, *items):
    bench.rancher.control("seed-balancers", items=list(items))


def seeded(name, form="current", **more):
    return {"namespace": "default", "name": name, "form": form, "hostname": f"{name}.example.com", "path": "/foo", "uid": "uid-web",
            **more}


@pytest.fixture
def late():
    """The provider is started by the test."""
    with Bench(start=False) as bench:
        bench.services("web")
        yield bench


def test_both_forms_of_the_original_are_taken_over_in_place(late):
    seed(late, seeded("web"), seeded("old", "legacy"))
    before = {name: late.lb(name)["id"] for name in (WEB, "default-old")}
    late.translator.put(*simple("web"), *simple("old"))
    late.forget_requests()
    late.start()
    for name in ("web", "old"):
        late.translator.wait_status(f"default/{name}")
        assert late.translator.addresses(f"default/{name}")
    late.quiet()
    assert {name: late.lb(name)["id"] for name in before} == before
    # One write each: priorities and the mark; ports and labels stay.
    assert sorted(late.writes()) == [("PUT", "default-old"), ("PUT", WEB)]
    put = late.rancher.requests(method="PUT")[0]["body"]
    assert sorted(put) == ["description", "lbConfig"]
    assert late.rules("default-old")[0]["priority"] == 1


def test_adoption_costs_list_pages(late):
    late.rancher.control("seed", count=60)
    for n in range(1, 61):
        late.translator.put(*simple(f"ing-{n:05d}", f"h{n:05d}.example.com", "/p", f"svc-{n:05d}"), commit=False)
    seeded_uids = {s["name"]: s["externalId"] for s in late.rancher.rows("kubernetesService")}
    for n in range(1, 61):
        late.translator.put(pool(f"svc-{n:05d}", uid=seeded_uids[f"svc-{n:05d}"]), commit=False)
    late.provider.arguments += ["--page-size", "25", "--poll-interval", "60", "--idle-poll-interval", "60"]
    late.forget_requests()
    late.start()
    for n in (1, 30, 60):
        late.translator.wait_status(f"default/ing-{n:05d}")
    wait_for(lambda: len([w for w in late.writes() if w[0] == "PUT"]) == 60, "all to be taken over")
    reads = [r for r in late.rancher.requests(method="GET") if r["type"] != "subscribe"]
    # One may be read again after it was written to, when an event overtook the answer; before that nothing is asked for one by one.
    written = {r["id"]: r["number"] for r in reversed(late.rancher.requests(method="PUT"))}
    assert all(r["id"] is None or r["number"] > written[r["id"]] for r in reads), "nothing is asked for one by one"
    lists = [r for r in reads if r["id"] is None]
    # Three pages of load balancers, and certificates (both once more when the subscription opens), three of Services, stack.
    assert len(lists) <= 2 * (3 + 1) + 3 + 1
    late.forget_requests()
    lines = len(late.provider.lines)
    late.restart()
    late.provider.wait_event("ready", since=lines)
    late.translator.wait_status("default/ing-00060")
    late.quiet()
    assert late.writes() == []


def test_restart_writes_nothing_where_nothing_changed(bench):
    bench.translator.put(*simple("web", scale=2, stickiness={"cookie": "c"},
                                 labels=[{"key": "io.rancher.lb_service.target", "value": "any"}]))
    bench.translator.wait_status("default/web")
    bench.quiet(0.5)
    bench.forget_requests()
    for _ in range(2):
        count = len(bench.translator.status_log)
        bench.restart()
        wait_for(lambda c=count: len(bench.translator.status_log) > c, "a status")
        bench.translator.wait_status("default/web")
    bench.quiet()
    assert bench.writes() == []


def test_defect_33_what_was_deleted_while_we_were_down_is_removed(bench):
    bench.translator.put(*simple("web"), *simple("other"))
    bench.translator.wait_status("default/web")
    bench.provider.kill()
    bench.translator.remove_ingress("default/web")
    bench.start()
    bench.wait_no_lb(WEB)
    stays(lambda: bench.lb("default-rancherlb-other"), "the other one")


def test_defect_30_what_may_be_somebodys_is_left_alone(late):
    for _ in range(4):
        late.rancher.control("add-host")
    seed(late, seeded("gone"), seeded("old", "legacy"), seeded("x", separator="otherlb"),
         {**seeded("foreign"), "balancerName": "web-by-hand", "externalId": None},
         {**seeded("foreign"), "balancerName": "default-rancherlb-mine", "externalId": "compose://mine"})
    late.translator.put(*simple("web"))
    late.start()
    late.wait_no_lb("default-rancherlb-gone")
    late.translator.wait_status("default/web")
    stays(lambda: {lb["name"] for lb in late.rancher.rows("loadBalancerService")} ==
          {WEB, "default-old", "default-otherlb-x", "web-by-hand", "default-rancherlb-mine"}, "the others")
    late.provider.wait_event("balancer-left-alone", "default-old")
    assert not [line for line in late.provider.events("balancer-left-alone") if "by-hand" in line]


def test_nothing_is_removed_before_the_snapshot_is_complete(late):
    seed(late, seeded("web"), seeded("gone"))
    late.translator.hold_snapshot()
    late.translator.put(*simple("web"))
    late.start()
    wait_for(lambda: late.translator.is_connected, "the provider")
    late.provider.wait_event("not-ready", "snapshot")
    late.quiet()
    assert late.writes() == []
    late.translator.hold_snapshot(False)
    late.wait_no_lb("default-rancherlb-gone")
    assert late.lb(WEB)


def test_a_lost_translator_changes_nothing(bench):
    bench.translator.put(*simple("web"), *simple("other"))
    bench.translator.wait_status("default/other")
    bench.quiet(0.5)
    bench.forget_requests()
    bench.translator.stop()
    bench.quiet()
    assert bench.writes() == []
    # What changed in Rancher meanwhile is repaired all the same.
    bench.rancher.control("remove-row", id=bench.lb(WEB)["id"])
    wait_for(lambda: (lb := bench.lb(WEB)) and lb["state"] == "active", "a new one")
    bench.translator.listen()
    bench.translator.wait_connection(2)
    bench.translator.wait_status("default/web")


def test_the_mark_finds_ours_when_the_separator_changes(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    first = bench.lb(WEB)["id"]
    bench.quiet(0.5)
    bench.forget_requests()
    bench.provider.kill()
    bench.provider.environment["RANCHER_LB_SEPARATOR"] = "other"
    bench.translator.put(*simple("second"))
    bench.start()
    bench.wait_lb("default-other-second")
    bench.quiet()
    assert bench.lb(WEB)["id"] == first
    assert bench.writes() == [("POST", "default-other-second")]


def test_defect_18_long_and_dotted_names(bench):
    names = ["my.web.example", "x" * 200, "a--b"]
    for name in names:
        bench.translator.put(*simple(name, "h.example.com"))
    for name in names:
        bench.translator.wait_status(f"default/{name}")
    lbs = bench.rancher.rows("loadBalancerService")
    assert len(lbs) == 3 and all(len(lb["name"]) <= 63 for lb in lbs)
    assert {lb["description"].split("/")[1] for lb in lbs} == set(names)
    bench.forget_requests()
    bench.restart()
    bench.translator.wait_status("default/a--b")
    bench.quiet()
    assert bench.writes() == []


def test_a_name_that_somebody_has_taken(bench):
    bench.translator.put(*simple("other"))
    bench.translator.wait_status("default/other")
    # A service of another kind: it is in no list of load balancers.
    stack = bench.lb("default-rancherlb-other")["stackId"]
    assert bench.rancher.api("POST", "services", {
        "name": WEB, "stackId": stack, "launchConfig": {"imageUuid": "docker:x"}}).status == 201
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    names = [lb["name"] for lb in bench.rancher.rows("loadBalancerService")]
    assert any(name.startswith(WEB + "-") for name in names)
