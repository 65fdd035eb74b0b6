# SPDX-License-Identifier: Apache-2.0
"""provider-rancher when Rancher refuses, fails, is slow, is gone, or changes things by itself."""
from __future__ import annotations

import math

import pytest

from lib.provider_bench import Bench
from lib.provider_link import load_balancer, pool, simple, virtual_host
from lib.wait import stays, wait_for

WEB = "default-rancherlb-web"
OTHER = "default-rancherlb-other"
FIRST_PAUSE_S = 0.499  # after a failure that may pass
RESENT_MAX = 5  # how often libcurl sends a request again when a connection that was kept ends before the answer


@pytest.fixture
def bench():
    with Bench(hosts=4) as running:
        running.services("web")
        yield running


def repeatedly(bench, owner, path):
    """Another path for an Ingress."""
    bench.translator.put(virtual_host(f"default/{owner}", f"{owner}.example.com", (path, "default/web")))


# One load balancer fails, the others go on


@pytest.mark.parametrize("fault", [
    {"fault": "error", "status": 500}, {"fault": "error", "status": 503}, {"fault": "error", "status": 403},
    {"fault": "error", "status": 422, "code": "InvalidOption", "fieldName": "portRules"}, {"fault": "error", "status": 405},
    {"fault": "reset"}, {"fault": "close"}, {"fault": "garbage"}, {"fault": "truncate"}, {"fault": "hang"}],
    ids=lambda f: f"{f['fault']}-{f.get('status', '')}")
def test_defect_7_and_32_one_that_fails_backs_off_alone(bench, fault):
    bench.translator.put(*simple("web"), *simple("other"))
    bench.translator.wait_status("default/web")
    bench.translator.wait_status("default/other")
    how = dict(fault)
    bench.rancher.fault(how.pop("fault"), method="PUT", name=WEB, **how)
    bench.forget_requests()
    repeatedly(bench, "web", "/new")
    failed = bench.translator.wait_status("default/web", "failed")
    assert failed["message"]
    for number in range(5):
        repeatedly(bench, "other", f"/{number}")
        wait_for(lambda n=number: bench.rules(OTHER)[0]["path"] == f"/{n}", "the other to go on")
    # The pauses double: so many tries at the most, however long all this took. The client may send each anew on its other connections.
    sent = [r["time"] for r in bench.rancher.requests(method="PUT", name=WEB)]
    tries = 1 + math.log2(1 + (sent[-1] - sent[0]) / FIRST_PAUSE_S)
    assert len(sent) <= tries * (RESENT_MAX + 1 if fault["fault"] in ("reset", "close") else 1), sent
    bench.rancher.clear()
    # A new wish is tried at once, whatever the back-off.
    repeatedly(bench, "web", "/newer")
    wait_for(lambda: bench.rules(WEB)[0]["path"] == "/newer", "the new path", 30)
    bench.translator.wait_status("default/web")


def test_defect_32_one_that_fails_holds_no_removal_up(bench):
    bench.translator.put(*simple("web"), *simple("other"))
    bench.translator.wait_status("default/web")
    bench.translator.wait_status("default/other")
    bench.rancher.fault("error", method="PUT", name=WEB, status=500)
    repeatedly(bench, "web", "/new")
    bench.translator.wait_status("default/web", "failed")
    bench.translator.remove_ingress("default/other")
    bench.wait_no_lb(OTHER)
    assert bench.translator.status("default/web")["state"] == "failed"


def test_defect_5_and_6_a_refused_one_is_told_with_the_servers_words(bench):
    bench.rancher.fault("error", status=422, code="InvalidOption", fieldName="stickinessPolicy", method="POST", name=WEB)
    bench.translator.put(*simple("web"), *simple("other"))
    failed = bench.translator.wait_status("default/web", "failed")
    assert "422 InvalidOption, stickinessPolicy" in failed["message"]
    bench.translator.wait_status("default/other")
    assert bench.lb(WEB) is None
    bench.rancher.clear()
    bench.translator.put(load_balancer("web", scale=1))
    bench.translator.wait_status("default/web")


def test_a_conflict_is_later(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    bench.rancher.fault("error", status=409, code="Conflict", method="PUT", name=WEB, count=2)
    repeatedly(bench, "web", "/new")
    wait_for(lambda: bench.rules(WEB)[0]["path"] == "/new", "the new path")
    bench.translator.wait_status("default/web")
    assert "failed" not in [s["state"] for s in bench.translator.status_log]


def test_a_conflict_that_stored_the_fields_all_the_same(bench):
    """The server saves first and refuses then: what is read back is as wanted, and yet nobody carries it out."""
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    bench.rancher.fault("error", status=409, code="Conflict", method="PUT", name=WEB, when="after", count=1)
    bench.forget_requests()
    repeatedly(bench, "web", "/new")
    wait_for(lambda: bench.rules(WEB)[0]["path"] == "/new", "the new path")
    wait_for(lambda: bench.writes() == [("PUT", WEB), ("PUT", WEB)], "the configuration to be written once more")
    bench.translator.wait_status("default/web")
    bench.quiet()


def test_a_state_that_refuses_is_waited_for(bench):
    bench.translator.put(*simple("web", scale=1))
    bench.translator.wait_status("default/web")
    bench.rancher.control("set-fields", id=bench.lb(WEB)["id"], fields={"state": "restarting"})
    bench.translator.put(load_balancer("web", scale=2))
    bench.translator.wait_status("default/web", "pending")
    stays(lambda: bench.translator.status("default/web")["state"] == "pending", "the wait for a better state", 0.5)
    bench.rancher.control("set-fields", id=bench.lb(WEB)["id"], fields={"state": "active"})
    wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 2, "two addresses")


def test_updates_that_overlap_are_not_lost(bench):
    bench.rancher.control("configure", lose_overlapping_updates=True, step_delays={"updating-active": 0.3})
    bench.translator.put(*simple("web", scale=1))
    bench.translator.wait_status("default/web")
    bench.forget_requests()
    bench.translator.put(load_balancer("web", scale=2))
    wait_for(lambda: bench.lb(WEB)["state"] == "updating-active", "the update to run")
    for scale in (1, 2, 3):
        bench.translator.put(load_balancer("web", scale=scale))
    wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 3, "three addresses")
    bench.translator.wait_status("default/web")
    # What came while the first ran was held, and became one.
    assert bench.writes() == [("PUT", WEB), ("PUT", WEB)]


def test_an_answer_that_is_lost_makes_no_second_one(bench):
    bench.rancher.fault("reset", method="POST", type="loadBalancerService", when="after", count=1)
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    assert [lb["name"] for lb in bench.rancher.rows("loadBalancerService")] == [WEB]


def test_defect_22_and_23_nothing_waits_inline(bench):
    bench.rancher.control("configure", step_delays={"registering": 1.0, "activating": 1.0})
    bench.translator.put(*[o for n in range(12) for o in simple(f"i{n}", http=8000 + n)])
    for n in range(12):
        bench.wait_lb(f"default-rancherlb-i{n}", timeout=8)


def test_an_inactive_one_is_activated(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    lb = bench.lb(WEB)["id"]
    assert bench.rancher.api("POST", f"loadbalancerservices/{lb}/?action=deactivate").status == 202
    wait_for(lambda: ("POST activate", WEB) in bench.writes(), "the activation")
    bench.wait_lb(WEB)


# Rancher reports an error


def test_a_stuck_transition_is_told_within_one_list_and_its_end_too(bench):
    hosts = [h["id"] for h in bench.rancher.control("info")["hosts"]]
    for host in hosts:
        bench.rancher.control("hold-port", port=80, host=host)
    bench.translator.put(*simple("web"))
    failed = bench.translator.wait_status("default/web", "failed", "ports 80/tcp", timeout=3)
    assert "activating" in failed["message"]
    bench.rancher.control("release-port", port=80, host=hosts[0])
    bench.translator.wait_status("default/web")
    wait_for(lambda: bench.translator.addresses("default/web"), "addresses")


def test_a_scale_beyond_the_hosts_is_told_and_can_be_taken_back(bench):
    bench.translator.put(*simple("web", scale=9))
    bench.translator.wait_status("default/web", "failed")
    wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 4, "those that found a place")
    bench.translator.put(load_balancer("web", scale=2))
    bench.translator.wait_status("default/web")
    wait_for(lambda: len(bench.translator.addresses("default/web")) == 2, "two addresses")


# Services


def test_a_service_that_rancher_does_not_know_is_left_out_until_it_does(bench):
    bench.translator.put(*simple("web"), pool("late"),
                         virtual_host("default/web", "web.example.com", ("/foo", "default/web"), ("/late", "default/late")))
    status = bench.translator.wait_status("default/web")
    assert [r["path"] for r in bench.rules(WEB)] == ["/foo"]
    assert "default/late" in {n["reason"]: n["message"] for n in status["notices"]}["ServiceNotInRancher"]
    bench.services("late")
    wait_for(lambda: [r["path"] for r in bench.rules(WEB)] == ["/late", "/foo"], "the rule")
    wait_for(lambda: bench.translator.notices("default/web") == {}, "no notice")


def test_it_is_found_without_events_too():
    with Bench(arguments=["--no-events"]) as bench:
        bench.services("web")
        bench.translator.put(*simple("web", service="late"))
        bench.wait_lb(WEB)  # after a while without any rule
        bench.services("late")
        wait_for(lambda: bench.rules(WEB), "the rule")
        # It was asked for by its uid, not by listing all of them again and again.
        lookups = [r for r in bench.reads("kubernetesService") if dict(r["query"]).get("externalId") == "uid-late"]
        assert lookups and len(bench.reads("kubernetesService")) - len(lookups) <= 2


def test_it_is_found_without_events_by_a_balancer_that_is_there():
    with Bench(arguments=["--no-events"]) as bench:
        bench.services("web")
        bench.translator.put(*simple("web"))
        bench.translator.wait_status("default/web")
        bench.services("late")
        bench.translator.put(pool("late"), virtual_host("default/web", "web.example.com", ("/foo", "default/web"), ("/late", "default/late")))
        wait_for(lambda: [r["path"] for r in bench.rules(WEB)] == ["/late", "/foo"], "the rule")
        wait_for(lambda: bench.translator.notices("default/web") == {}, "no notice")


def test_a_service_and_its_ingress_at_the_same_time_cost_one_write(bench):
    bench.translator.put(*simple("web", service="late"))
    stays(lambda: bench.lb(WEB) is None, "the wait for the Service", 0.5)
    bench.services("late")
    bench.wait_lb(WEB)
    bench.translator.wait_status("default/web")
    bench.quiet()
    assert bench.writes() == [("POST", "kubernetes-ingress-lbs"), ("POST", WEB)]
    assert bench.rules(WEB)


def test_defect_3_uids_are_looked_up_in_one_list(bench):
    bench.provider.kill()
    for n in range(40):
        bench.services(f"s{n}")
        bench.translator.put(*simple(f"i{n}", service=f"s{n}", http=8000 + n), commit=False)
    bench.translator.commit()
    bench.forget_requests()
    bench.start()
    for n in range(40):
        bench.translator.wait_status(f"default/i{n}")
    assert len(bench.reads("kubernetesService")) == 1
    assert len(bench.reads("stack")) == 1
    assert len([r for r in bench.rancher.requests(method="GET") if "/settings/" in r["path"]]) == 1


def test_a_service_that_goes_takes_its_rules_without_a_fight(bench):
    bench.services("second")
    bench.translator.put(*simple("web"), pool("second"),
                         virtual_host("default/web", "web.example.com", ("/foo", "default/web"), ("/two", "default/second")))
    bench.translator.wait_status("default/web")
    bench.quiet(0.5)
    bench.forget_requests()
    # The server strips the rules from every load balancer at once, Kubernetes tells a moment later.
    bench.rancher.control("remove-service", uid="uid-second")
    bench.translator.put(pool("second", uid=""))
    wait_for(lambda: [r["path"] for r in bench.rules(WEB)] == ["/foo"], "the rule to go")
    bench.translator.wait_status("default/web")
    bench.quiet(3)
    assert [r["path"] for r in bench.rules(WEB)] == ["/foo"]
    assert len(bench.writes()) <= 1


def test_a_service_replaced_under_its_name(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    bench.rancher.control("remove-service", uid="uid-web")
    bench.translator.put(pool("web", uid="uid-new"))

    def follow():
        bench.services("new")
        return [s["id"] for s in bench.rancher.rows("kubernetesService") if s["externalId"] == "uid-new"]
    target, = wait_for(follow, "the new Service in Rancher")
    wait_for(lambda: [r["serviceId"] for r in bench.rules(WEB)] == [target], "the new target")


# Somebody else


def test_defect_15_drift_is_changed_back_also_of_case_only(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    lb = bench.lb(WEB)
    rule = {**lb["lbConfig"]["portRules"][0], "path": "/FOO"}
    assert bench.rancher.api("PUT", f"loadbalancerservices/{lb['id']}", {"lbConfig": {"portRules": [rule]}}).status == 200
    wait_for(lambda: bench.rules(WEB)[0]["path"] == "/FOO", "the foreign change")
    wait_for(lambda: bench.rules(WEB)[0]["path"] == "/foo", "the change back")
    bench.translator.wait_status("default/web")


def test_one_that_is_removed_by_hand_is_made_again(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    first = bench.lb(WEB)["id"]
    bench.rancher.control("remove-row", id=first)
    wait_for(lambda: (lb := bench.lb(WEB)) and lb["id"] != first and lb["state"] == "active", "a new one")
    bench.translator.wait_status("default/web")


def test_one_that_is_forgotten_by_the_server(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    first = bench.lb(WEB)["id"]
    bench.rancher.control("forget-row", id=first)
    wait_for(lambda: (lb := bench.lb(WEB)) and lb["id"] != first and lb["state"] == "active", "a new one")


def test_the_stack_is_removed_with_everything_in_it(bench):
    bench.translator.put(*simple("web"), *simple("other"))
    bench.translator.wait_status("default/web")
    bench.translator.wait_status("default/other")
    bench.rancher.control("remove-row", id=bench.lb(WEB)["stackId"])
    wait_for(lambda: (lb := bench.lb(WEB)) and lb["state"] == "active", "a new one", 40)
    bench.wait_lb(OTHER, timeout=40)
    bench.translator.wait_status("default/web", timeout=40)


def test_defect_24_a_stack_of_the_name_with_another_external_id():
    with Bench(start=False) as bench:
        bench.services("web")
        bench.rancher.control("add-stack", external_id="somebody://else")
        bench.start()
        bench.translator.put(*simple("web"))
        bench.translator.wait_status("default/web")
        assert len(bench.rancher.rows("stack")) == 2  # this one, and that of the namespace
        bench.provider.wait_event("stack-foreign")


def test_defect_25_what_a_filter_lets_through_is_looked_at():
    with Bench(start=False) as bench:
        bench.services("web")
        bench.rancher.control("add-stack", name="another", external_id="kubernetes-ingress-lbs://x")
        # As a server that ignores the filter: everything comes back.
        stacks = [{"id": s["id"], "type": "stack", "name": s["name"], "externalId": s["externalId"], "state": "active"}
                  for s in bench.rancher.rows("stack")]
        bench.rancher.fault("json", method="GET", type="stack", count=1, body={
            "type": "collection", "data": [*stacks, 7, None, {"type": "stack"}], "pagination": {"next": None}})
        bench.start()
        bench.translator.put(*simple("web"))
        lb = bench.wait_lb(WEB)
        stack = next(s for s in bench.rancher.rows("stack") if s["id"] == lb["stackId"])
        assert stack["name"] == "kubernetes-ingress-lbs"


def test_lists_that_drift_between_pages_lose_nobody():
    with Bench(hosts=1, arguments=["--page-size", "3", "--no-events"]) as bench:
        bench.services("web")
        bench.translator.put(*[o for n in range(10) for o in simple(f"i{n}", http=8000 + n)])
        for n in range(10):
            bench.translator.wait_status(f"default/i{n}")
        bench.forget_requests()
        bench.rancher.fault("drift", type="loadBalancerService", shift=2, count=6)
        bench.quiet(2)
        assert bench.writes() == []
        # Who was not shown was asked for by itself.
        assert [r for r in bench.reads("loadBalancerService") if r["id"]]
        for n in range(10):
            assert bench.translator.status(f"default/i{n}")["state"] == "applied"


# Rancher as a whole


@pytest.mark.parametrize("state", ["down", "black-hole"])
def test_rancher_is_gone_for_a_while(bench, state):
    bench.translator.put(*simple("web"), *simple("other"))
    bench.translator.wait_status("default/web")
    bench.translator.wait_status("default/other")
    bench.rancher.control("api", state=state)
    bench.forget_requests()
    repeatedly(bench, "web", "/new")
    bench.translator.remove_ingress("default/other")
    failed = bench.translator.wait_status("default/web", "failed", "Rancher does not answer", timeout=30)
    assert failed
    bench.rancher.control("api", state="up")
    wait_for(lambda: bench.rules(WEB)[0]["path"] == "/new", "the new path", 40)
    bench.wait_no_lb(OTHER, 40)
    bench.translator.wait_status("default/web", timeout=40)
    bench.quiet()
    assert bench.writes().count(("PUT", WEB)) == 1


def test_an_outage_is_met_by_one_request_at_a_time():
    with Bench(start=False, hosts=1) as bench:
        bench.services("web")
        bench.translator.put(*[o for n in range(50) for o in simple(f"i{n}", http=8000 + n)])
        bench.start()
        bench.translator.wait_status("default/i0")
        bench.translator.wait_status("default/i49")
        bench.rancher.fault("error", status=401, code="Unauthorized")
        bench.forget_requests()
        for n in range(50):
            repeatedly(bench, f"i{n}", "/new")
        bench.provider.wait_event("rancher-outage", "401")
        stays(lambda: len(bench.rancher.requests()) < 30, "a server that is left in peace", 3)
        bench.translator.wait_status("default/i49", "failed", "401")
        bench.rancher.clear()
        for n in (0, 49):
            wait_for(lambda n=n: bench.rules(f"default-rancherlb-i{n}")[0]["path"] == "/new", "the new path", 40)


def test_keys_are_read_again_when_they_are_refused(tmp_path):
    with Bench(start=False) as bench:
        bench.services("web")
        for name, value in (("access", bench.rancher.access_key), ("secret", bench.rancher.secret_key)):
            (tmp_path / name).write_text(value + "\n")
        for name in ("CATTLE_ACCESS_KEY", "CATTLE_SECRET_KEY"):
            del bench.provider.environment[name]
        bench.provider.environment |= {"CATTLE_ENVIRONMENT_ADMIN_ACCESS_KEY_FILE": str(tmp_path / "access"),
                                       "CATTLE_ENVIRONMENT_ADMIN_SECRET_KEY_FILE": str(tmp_path / "secret"),
                                       # Those of another role of the same container.
                                       "CATTLE_ACCESS_KEY": "wrong", "CATTLE_SECRET_KEY": "wrong"}
        bench.start()
        bench.translator.put(*simple("web"))
        bench.translator.wait_status("default/web")
        new = bench.rancher.control("rotate-key")
        (tmp_path / "access").write_text(new["access_key"])
        (tmp_path / "secret").write_text(new["secret_key"])
        repeatedly(bench, "web", "/new")
        wait_for(lambda: bench.rules(WEB)[0]["path"] == "/new", "the new path", 30)
        bench.provider.wait_event("keys-changed")


def test_a_restart_of_rancher(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    bench.rancher.control("restart", down=0.5)
    repeatedly(bench, "web", "/new")
    wait_for(lambda: bench.rules(WEB)[0]["path"] == "/new", "the new path", 30)
    bench.translator.wait_status("default/web")


def test_the_image_setting_is_missing_and_comes_back(bench):
    value = bench.rancher.api("GET", "settings/lb.instance.image").json["value"]
    bench.rancher.control("set-setting", name="lb.instance.image", value=None)
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web", "failed")
    assert bench.lb(WEB) is None
    bench.rancher.control("set-setting", name="lb.instance.image", value=value)
    bench.wait_lb(WEB, timeout=40)
    bench.translator.wait_status("default/web")


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/projects/{p}", "/v2-beta/", "/v2-beta/projects/{p}", "/v2-beta/schemas"])
def test_every_form_of_the_url(path):
    with Bench(start=False) as bench:
        bench.services("web")
        bench.provider.environment["CATTLE_URL"] = bench.rancher.base + path.format(p=bench.rancher.project)
        bench.start()
        bench.translator.put(*simple("web"))
        bench.translator.wait_status("default/web")


@pytest.mark.parametrize("arguments,words", [
    (["--cattle-url", "nonsense"], "http://"), (["--lb-separator", "a--b"], "separator"), (["--stack", "a.b"], "stack"),
    (["--client-cert-file", "/x"], "together"), (["--parallel", "0"], "--parallel"), (["--secret-key-file", "/nonexistent"], "/nonexistent")])
def test_wrong_usage_is_told_and_ends_with_two(arguments, words):
    with Bench(start=False) as bench:
        bench.provider.arguments += arguments
        bench.start()
        assert wait_for(lambda: bench.provider.process.poll(), "the end") == 2
        bench.provider.process = None
        wait_for(lambda: any(words in line for line in bench.provider.lines), "the words")
