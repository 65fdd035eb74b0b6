# SPDX-License-Identifier: Apache-2.0
"""provider-rancher and where traffic enters: public endpoints, host names, the time of grace, events and lists."""
from __future__ import annotations

import time

import pytest

from lib.provider_bench import Bench
from lib.provider_link import load_balancer, simple
from lib.wait import stays, wait_for

WEB = "default-rancherlb-web"


@pytest.fixture
def bench():
    with Bench() as running:
        serve(running)
        yield running


def serve(bench):
    """A load balancer with addresses."""
    bench.services("web")
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    wait_for(lambda: bench.translator.addresses("default/web"), "addresses")


def wait_looked(bench):
    """Waits until the provider has seen all that there is now: the list after the next one has come."""
    lists = len(bench.reads("loadBalancerService"))
    wait_for(lambda: len(bench.reads("loadBalancerService")) >= lists + 3, "lists")


def endpoint(ip, port=80):
    return {"type": "publicEndpoint", "ipAddress": ip, "port": port}


def test_defect_29_each_address_once_with_its_ports(bench):
    bench.rancher.control("set-endpoints", lb=WEB, value=[
        endpoint("10.0.0.2", 443), endpoint("10.0.0.1"), endpoint("10.0.0.2"), endpoint("10.0.0.2"), endpoint("nonsense")])
    wait_for(lambda: bench.translator.addresses("default/web") == ["10.0.0.1", "10.0.0.2"], "both addresses")
    told = bench.translator.status("default/web")["addresses"]
    assert [[p["port"] for p in a["ports"]] for a in told] == [[80], [80, 443]]


def test_a_host_name_is_told_with_the_addresses(bench):
    ip, = bench.translator.addresses("default/web")
    bench.rancher.control("set-fqdn", lb=WEB, fqdn="Web.Kubernetes-Ingress-Lbs.Example.")
    wait_for(lambda: bench.translator.addresses("default/web") == [ip, "web.kubernetes-ingress-lbs.example"], "the name")


def test_a_moved_instance_is_followed_within_a_second_by_events():
    with Bench(arguments=["--poll-interval", "60", "--idle-poll-interval", "60"]) as bench:
        bench.services("web")
        bench.translator.put(*simple("web"))
        before, = wait_for(lambda: bench.translator.addresses("default/web"), "addresses")
        bench.translator.wait_status("default/web")
        bench.rancher.settle()
        lists = len(bench.reads("loadBalancerService"))
        host = next(h["id"] for h in bench.rancher.control("info")["hosts"] if h["address"] != before)
        bench.rancher.control("move", lb=WEB, host=host)
        wait_for(lambda: (a := bench.translator.addresses("default/web")) and before not in a, "the new address")
        # No list has helped: the next is a minute away.
        assert len(bench.reads("loadBalancerService")) == lists


@pytest.mark.parametrize("mode", ["off", "silent", "pings-only", "cut", "garbage", "binary-garbage", "huge"])
def test_defect_4_lists_follow_where_events_do_not(mode):
    with Bench(start=False) as bench:
        bench.services("web")
        bench.rancher.control("websocket", mode=mode)
        bench.start()
        bench.translator.put(*simple("web"))
        before, = wait_for(lambda: bench.translator.addresses("default/web"), "addresses")
        host = next(h["id"] for h in bench.rancher.control("info")["hosts"] if h["address"] != before)
        bench.rancher.control("move", lb=WEB, host=host)
        wait_for(lambda: (a := bench.translator.addresses("default/web")) and before not in a, "the new address")
        bench.translator.wait_status("default/web")


def test_events_that_stop_coming_are_found_out():
    with Bench(arguments=["--idle-poll-interval", "3"]) as bench:
        bench.services("web")
        bench.translator.put(*simple("web"))
        bench.translator.wait_status("default/web")
        bench.provider.wait_event("feed-proven")
        bench.rancher.control("websocket", mode="pings-only")
        before, = bench.translator.addresses("default/web")
        host = next(h["id"] for h in bench.rancher.control("info")["hosts"] if h["address"] != before)
        bench.rancher.control("move", lb=WEB, host=host)
        wait_for(lambda: (a := bench.translator.addresses("default/web")) and before not in a, "the new address")
        bench.provider.wait_event("feed-unproven")


def test_a_lost_subscription_is_taken_up_again_with_a_list(bench):
    feeds = len(bench.provider.events("feed-up"))
    bench.rancher.control("websocket", cut=True)
    wait_for(lambda: len(bench.provider.events("feed-up")) > feeds, "a new subscription")
    bench.rancher.control("websocket", logout=True)
    wait_for(lambda: len(bench.provider.events("feed-up")) > feeds + 1, "another one")


@pytest.mark.parametrize("value", [None, []])
def test_the_last_addresses_stay_for_the_time_of_grace(value):
    with Bench(arguments=["--endpoint-grace", "600"]) as bench:
        serve(bench)
        before = bench.translator.addresses("default/web")
        bench.rancher.control("set-endpoints", lb=WEB, value=value)
        wait_looked(bench)
        assert bench.translator.addresses("default/web") == before


@pytest.mark.parametrize("value", [None, []])
def test_after_the_time_of_grace_they_go_with_a_warning(bench, value):
    before = bench.translator.addresses("default/web")
    bench.rancher.control("set-endpoints", lb=WEB, value=value)
    wait_for(lambda: bench.translator.addresses("default/web") == [], "no addresses")
    wait_for(lambda: "AddressesRemoved" in bench.translator.event_reasons("default/web"), "the warning")
    bench.rancher.control("set-endpoints", lb=WEB, normal=True)
    wait_for(lambda: bench.translator.addresses("default/web") == before, "the addresses")


def test_back_within_the_time_of_grace_is_no_news():
    time_of_grace = 4.0
    with Bench(arguments=["--endpoint-grace", str(time_of_grace)]) as bench:
        serve(bench)
        before = bench.translator.addresses("default/web")

        def back_in_time() -> bool:
            """Whether this machine was quick enough for it."""
            began = time.monotonic()
            bench.rancher.control("set-endpoints", lb=WEB, value=[])
            wait_looked(bench)
            bench.rancher.control("set-endpoints", lb=WEB, normal=True)
            wait_looked(bench)
            took = time.monotonic() - began
            wait_for(lambda: bench.translator.addresses("default/web") == before, "the addresses")
            return took < time_of_grace
        wait_for(back_in_time, "a moment's quiet")
        told = bench.translator.event_reasons("default/web").count("AddressesRemoved")
        stays(lambda: bench.translator.addresses("default/web") == before, "the addresses", 1.25 * time_of_grace)
        assert bench.translator.event_reasons("default/web").count("AddressesRemoved") == told


@pytest.mark.parametrize("state", ["down", "black-hole"])
def test_errors_in_asking_remove_nothing(bench, state):
    before = bench.translator.addresses("default/web")
    bench.rancher.control("api", state=state)
    stays(lambda: bench.translator.addresses("default/web") == before, "the addresses", 3)
    bench.restart()
    # A provider that has just started and cannot ask says nothing of addresses.
    bench.translator.wait_connection(2)
    wait_for(lambda: bench.translator.status_log[-1].get("addresses_known") is None, "a status without addresses")
    stays(lambda: bench.translator.addresses("default/web") is None, "silence about addresses", 1.5)
    bench.rancher.control("api", state="up")
    wait_for(lambda: bench.translator.addresses("default/web") == before, "the addresses")


def test_a_restart_without_endpoints_waits_for_the_time_of_grace(bench):
    bench.rancher.control("set-endpoints", lb=WEB, value=[])
    bench.restart()
    bench.translator.wait_connection(2)
    bench.provider.wait_event("ready")
    wait_for(lambda: bench.translator.addresses("default/web") == [], "no addresses, at last")
    known = [s.get("addresses_known") for s in bench.translator.status_log if s["id"] == "default/web"]
    assert known[-1] is True
    wait_for(lambda: "AddressesRemoved" in bench.translator.event_reasons("default/web"), "the warning")


def test_a_failed_host_is_left(bench):
    before, = bench.translator.addresses("default/web")
    host = next(h["id"] for h in bench.rancher.control("info")["hosts"] if h["address"] == before)
    bench.rancher.control("fail-host", host=host)
    wait_for(lambda: (a := bench.translator.addresses("default/web")) and before not in a, "the new address")
    assert bench.translator.event_reasons("default/web") == ["LoadBalancerCreated"]


def test_two_instances_two_addresses(bench):
    bench.translator.put(load_balancer("web", scale=2))
    addresses = wait_for(lambda: len(a := bench.translator.addresses("default/web") or []) == 2 and a, "two addresses")
    assert addresses == sorted(addresses)
