# SPDX-License-Identifier: Apache-2.0
"""What a real Rancher server answers that one would not expect of it, and what provider-rancher makes of that."""
from __future__ import annotations

import pytest

from lib.certs import self_signed
from lib.provider_bench import Bench
from lib.provider_link import certificate, load_balancer, pool, simple, virtual_host
from lib.wait import stays, wait_for

WEB = "default-rancherlb-web"
EMOJI = "\U0001F600"
SELDOM = ["--poll-interval", "60", "--idle-poll-interval", "60"]


@pytest.fixture
def late():
    """The provider is started by the test, and lists seldom."""
    with Bench(start=False, arguments=SELDOM) as bench:
        bench.services("web")
        yield bench


@pytest.fixture
def deaf():
    """The provider has a load balancer with a certificate, and hears of nothing from then on."""
    with Bench(arguments=SELDOM) as bench:
        bench.services("web")
        bench.translator.put(*simple("web", https=443, certificates=["default/tls"]), certificate("tls", self_signed("web.example.com")))
        bench.translator.wait_status("default/web")
        bench.quiet(0.5)
        bench.rancher.control("websocket", mode="pings-only")
        bench.forget_requests()
        yield bench


def test_one_that_is_found_because_its_name_is_taken_has_its_addresses(late):
    late.translator.put(*simple("other"))
    late.start()
    late.translator.wait_status("default/other")
    late.rancher.control("websocket", mode="pings-only")
    late.rancher.control("seed-balancers", items=[{"namespace": "default", "name": "web", "form": "current", "path": "/foo",
                                                   "hostname": "web.example.com", "uid": "uid-web"}])
    late.translator.put(*simple("web"))
    assert wait_for(lambda: late.translator.addresses("default/web"), "addresses")
    assert [r["status"] for r in late.rancher.requests(method="POST", name=WEB)] == [422], "it was found by its name"


def test_one_that_a_list_has_missed_is_not_made_twice(late):
    late.rancher.control("seed-balancers", items=[{"namespace": "default", "name": "web", "form": "current", "path": "/foo",
                                                   "hostname": "web.example.com", "uid": "uid-web"}])
    late.rancher.fault("drop-rows", type="loadBalancerService", rows=1, count=1)
    late.translator.put(*simple("web"))
    late.start()
    late.translator.wait_status("default/web")
    assert [lb["name"] for lb in late.rancher.rows("loadBalancerService")] == [WEB]


def test_attempts_that_differ_in_ids_alone_are_told_once(bench):
    for host in bench.rancher.rows("host"):
        bench.rancher.control("hold-port", host=host["id"], port=80)
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web", "failed", "80/tcp")
    texts = set()
    wait_for(lambda: texts.add(bench.lb(WEB)["transitioningMessage"]) or len(texts) > 4, "several attempts, each with another text")
    assert len({s.get("message") for s in bench.translator.status_log if s["state"] == "failed"}) == 1


def test_keys_that_may_see_nothing_are_told_in_one_line(late):
    key = late.rancher.control("add-key", role="agent")
    late.provider.environment.update(CATTLE_ACCESS_KEY=key["access_key"], CATTLE_SECRET_KEY=key["secret_key"])
    late.translator.put(*simple("web"))
    late.start()
    line = late.provider.wait_event("rancher-outage")
    assert "404" in line and "environmentAdmin" in line and "system stack" in line
    late.translator.wait_status("default/web", "pending", "environmentAdmin")
    stays(lambda: not any("query-failed" in line for line in late.provider.lines), "no further line", 1.0)
    assert sum("rancher-outage" in line for line in late.provider.lines) == 1


# Text that the server's database cannot hold


def test_a_label_that_cannot_be_stored_is_left_out(bench):
    bad, good = "io.rancher.scheduler.affinity:host_label_soft", "io.rancher.scheduler.affinity:host_label_soft_ne"
    bench.translator.put(*simple("web", labels=[{"key": bad, "value": f"a={EMOJI}"}, {"key": good, "value": "b=ü"}]))
    bench.translator.wait_status("default/web")
    labels = bench.lb(WEB)["launchConfig"]["labels"]
    assert labels[good] == "b=ü" and bad not in labels
    assert bad in bench.translator.notices("default/web")["TextNotStorable"]


def test_a_path_that_cannot_be_stored_costs_its_rule_alone(bench):
    bench.translator.put(*simple("web"), virtual_host("default/web", "web.example.com", (f"/{EMOJI}", "default/web"), ("/ü", "default/web")))
    bench.translator.wait_status("default/web")
    assert [rule["path"] for rule in bench.rules(WEB)] == ["/ü"]
    assert EMOJI in bench.translator.notices("default/web")["TextNotStorable"]


def test_custom_configuration_that_cannot_be_stored_is_left_out():
    with Bench(arguments=["--allow-custom-config"]) as bench:
        bench.services("web")
        bench.translator.put(*simple("web", custom_config=f"global\n# {EMOJI}\n"))
        bench.translator.wait_status("default/web")
        assert not bench.lb(WEB)["lbConfig"].get("config")
        assert "custom configuration" in bench.translator.notices("default/web")["TextNotStorable"]


def test_a_creation_that_is_a_conflict_is_told_in_words_that_help(bench):
    bench.rancher.fault("error", status=409, code="Conflict", message="Conflict", method="POST", name=WEB)
    bench.translator.put(*simple("web"))
    assert "could not store" in bench.translator.wait_status("default/web", "failed")["message"]
    bench.rancher.clear()
    bench.translator.put(load_balancer("web", scale=1))
    bench.translator.wait_status("default/web")


# Rows that are gone


def test_a_load_balancer_that_is_gone_is_looked_for_and_made_again(deaf):
    before = deaf.lb(WEB)["id"]
    deaf.rancher.control("forget-row", id=before)
    deaf.translator.put(virtual_host("default/web", "web.example.com", ("/new", "default/web")))
    assert deaf.wait_lb(WEB)["id"] != before
    assert [(r["method"], r["status"]) for r in deaf.rancher.requests(type="loadBalancerService")] == [("PUT", 500), ("GET", 404), ("POST", 201)]


def test_a_load_balancer_that_is_gone_is_not_removed_for_ever(deaf):
    deaf.rancher.control("forget-row", id=deaf.lb(WEB)["id"])
    deaf.translator.remove_ingress("default/web")
    deaf.provider.wait_event("balancer-gone")
    deaf.quiet()
    assert [(r["method"], r["status"]) for r in deaf.rancher.requests(type="loadBalancerService")] == [("DELETE", 500), ("GET", 404)]


@pytest.mark.parametrize("how, status", [("remove-row", 409), ("forget-row", 404)])
def test_a_certificate_that_is_gone_is_looked_for_before_it_is_renewed_again(deaf, how, status):
    before = deaf.certificates()["default-tls"]["id"]
    deaf.rancher.control(how, id=before)
    deaf.rancher.settle()
    deaf.translator.put(certificate("tls", self_signed("web.example.com")))
    wait_for(lambda: deaf.certificates().get("default-tls", {"id": before})["id"] != before, "another certificate")
    wait_for(lambda: deaf.lb(WEB)["lbConfig"]["defaultCertificateId"] == deaf.certificates()["default-tls"]["id"], "its use")
    assert [r["status"] for r in deaf.rancher.requests(method="PUT", type="certificate")] == [status]


def test_a_certificate_that_is_gone_is_not_removed_for_ever(deaf):
    deaf.rancher.control("forget-row", id=deaf.certificates()["default-tls"]["id"])
    deaf.translator.put(load_balancer("web"))
    deaf.translator.remove(("certificate", "default/tls"))
    wait_for(lambda: [r["status"] for r in deaf.rancher.requests(method="GET", type="certificate")] == [404], "a look")
    deaf.quiet()
    assert [r["status"] for r in deaf.rancher.requests(method="DELETE", type="certificate")] == [500]


# Removals


def test_one_that_is_not_wanted_any_more_while_it_is_registering_goes():
    with Bench(settings={"step_delays": {"registering": 0.5}}) as bench:
        bench.services("web")
        bench.translator.put(*simple("web"))
        wait_for(lambda: (lb := bench.lb(WEB)) and lb["state"] == "registering", "a load balancer that registers")
        bench.translator.remove_ingress("default/web")
        wait_for(lambda: "LoadBalancerDeleted" in bench.translator.event_reasons("default/web"), "its removal to be told")
        bench.wait_no_lb(WEB)
        stays(lambda: bench.lb(WEB) is None, "its absence", 0.7)
        assert bench.translator.event_reasons("default/web").count("LoadBalancerDeleted") == 1


def test_a_removal_that_was_lost_is_made_again(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    row = bench.lb(WEB)
    bench.rancher.fault("json", status=200, body={**row, "state": "removing", "transitioning": "yes"}, method="DELETE", count=1)
    bench.translator.remove_ingress("default/web")
    bench.wait_no_lb(WEB)
    assert [r["status"] for r in bench.rancher.requests(method="DELETE")] == [200, 200]
    wait_for(lambda: "LoadBalancerDeleted" in bench.translator.event_reasons("default/web"), "its removal to be told")
    assert bench.translator.event_reasons("default/web").count("LoadBalancerDeleted") == 1


def test_only_what_differs_is_written(bench):
    bench.translator.put(*simple("web", scale=1), pool("web"))
    bench.translator.wait_status("default/web")
    bench.quiet(0.5)
    bench.forget_requests()
    # Refused: the server has stored nothing, and what is sent next is what differs, and no more.
    bench.rancher.fault("error", status=409, code="Conflict", message="Conflict", method="PUT", count=1)
    bench.translator.put(load_balancer("web", scale=2))
    wait_for(lambda: bench.lb(WEB)["scale"] == 2, "scale 2")
    assert [sorted(r["body"]) for r in bench.rancher.requests(method="PUT")] == [["scale"], ["scale"]]
