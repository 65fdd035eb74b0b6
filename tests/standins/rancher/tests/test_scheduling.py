# SPDX-License-Identifier: Apache-2.0
"""Hosts: ports, labels, global services, hosts that come and go; endpoints that follow."""

from __future__ import annotations

from typing import Any

import pytest

from standins.rancher.client import ControlError

from .conftest import FAST, Rancher

GLOBAL = {"io.rancher.scheduler.global": "true"}
AFFINITY = "io.rancher.scheduler.affinity:host_label"


def hosts_of(rancher: Rancher, name: str) -> list[str]:
    row = rancher.balancer(name)
    return sorted({e["hostId"] for e in (row["publicEndpoints"] or [])}) if row else []


def when(rancher: Rancher, name: str, **wanted: Any) -> dict[str, Any]:
    """Wait until the balancer's fields have these values."""
    return rancher.wait_for(lambda: next(
        (r for r in [rancher.balancer(name)] if r and all(r[k] == v for k, v in wanted.items())), None),
        what=f"{name} {wanted}")


def test_balancers_spread_and_conflict(rancher: Rancher) -> None:
    rancher.make("a")
    rancher.make("b")
    assert hosts_of(rancher, "a") != hosts_of(rancher, "b")
    rancher.make("c")
    when(rancher, "c", state="activating", transitioning="error")
    rancher.make("d", ports=["81:80"])
    when(rancher, "d", state="active")
    rancher.make("e", ports=["80:80/udp"])
    when(rancher, "e", state="active")
    third = rancher.control("add-host")
    assert third["id"] == "1h3"
    when(rancher, "c", state="active")
    assert hosts_of(rancher, "c") == ["1h3"]


@pytest.mark.parametrize("style,text", [
    ("scheduler",
     "No healthy hosts meet the resource constraints: [host needs ports 80/tcp, 443/tcp available]"),
    ("old", "Scheduling failed: host needs ports 80/tcp, 443/tcp available")])
def test_wording_of_conflicts(rancher: Rancher, style: str, text: str) -> None:
    rancher.control("configure", conflict_text=style)
    rancher.control("hold-port", port=443)
    rancher.make("a", ports=["80:80", "443:443"])
    assert when(rancher, "a", transitioning="error")["transitioningMessage"] == text
    rancher.control("release-port", port=443)
    when(rancher, "a", state="active", transitioning="no")


def test_scale_beyond_the_hosts(rancher: Rancher) -> None:
    made = rancher.make("a", scale=3).json
    row = when(rancher, "a", transitioning="error")
    assert row["state"] == "activating" and row["currentScale"] is None
    assert hosts_of(rancher, "a") == ["1h1", "1h2"], "what is placed keeps serving"
    rancher.put(made["id"], {"scale": 1})
    row = when(rancher, "a", state="active")
    assert row["currentScale"] == 1 and hosts_of(rancher, "a") == ["1h1"]
    rancher.put(made["id"], {"scale": 0})
    rancher.settle()
    assert rancher.balancer("a")["publicEndpoints"] == []


def test_global_ignores_scale_and_follows_hosts(rancher: Rancher) -> None:
    rancher.make("g", labels=GLOBAL, scale=7)
    assert hosts_of(rancher, "g") == ["1h1", "1h2"] and rancher.balancer("g")["currentScale"] == 2
    rancher.control("add-host")
    rancher.wait_for(lambda: hosts_of(rancher, "g") == ["1h1", "1h2", "1h3"])
    assert rancher.balancer("g")["state"] == "active"
    rancher.control("remove-host", host="1h1")
    rancher.wait_for(lambda: hosts_of(rancher, "g") == ["1h2", "1h3"])


def test_host_labels() -> None:
    with Rancher(dataplane=False, settings=FAST, hosts=3,
                 host_labels=["zone=a,disk=ssd", "zone=b", "zone=b,disk=ssd"]) as server:
        cases = [({AFFINITY: "zone=b,disk=ssd"}, ["1h3"]), ({AFFINITY + "_ne": "disk=ssd"}, ["1h2"]),
                 ({AFFINITY + "_soft": "zone=b"}, ["1h2"]), ({AFFINITY + "_soft_ne": "disk=ssd"}, ["1h2"]),
                 ({AFFINITY: "disk=ssd", **GLOBAL}, ["1h1", "1h3"]),
                 ({"io.rancher.scheduler.affinity:container_label_ne": "mark=yes"}, ["1h1"])]
        for number, (labels, wanted) in enumerate(cases):
            server.make(f"lb{number}", labels=labels, ports=[f"{9000 + number}:80"])
            assert hosts_of(server, f"lb{number}") == wanted, labels
        server.make("never", labels={AFFINITY: "zone=z"})
        assert "needs host with label zone: z" in when(server, "never",
                                                       transitioning="error")["transitioningMessage"]
        server.control("label-host", host="1h1", labels={"zone": "z"})
        when(server, "never", state="active")


def test_no_host_at_all(rancher: Rancher) -> None:
    for host in ("1h1", "1h2"):
        rancher.control("deactivate-host", host=host)
    rancher.make("a")
    row = rancher.balancer("a")
    assert (row["state"], row["currentScale"], row["publicEndpoints"], row["transitioning"]) == \
        ("active", 0, None, "no")
    rancher.control("recover-host", host="1h2")
    rancher.wait_for(lambda: hosts_of(rancher, "a") == ["1h2"])


def test_containers_are_replaced_after_a_host_failure(rancher: Rancher) -> None:
    rancher.make("a")
    before = rancher.balancer("a")
    rancher.control("fail-host", host="1h1")
    assert rancher.rows("container")[0]["healthState"] == "unhealthy"
    rancher.wait_for(lambda: hosts_of(rancher, "a") == ["1h2"])
    row = rancher.balancer("a")
    assert row["state"] == "active" and row["instanceIds"] != before["instanceIds"]
    rancher.control("fail-host", host="1h2")
    rancher.wait_for(lambda: rancher.balancer("a")["publicEndpoints"] == [])
    rancher.control("recover-host", host="1h1")
    rancher.wait_for(lambda: hosts_of(rancher, "a") == ["1h1"])


def test_ports_change_in_place_or_conflict(rancher: Rancher) -> None:
    made = rancher.make("a").json
    row = rancher.balancer("a")
    rancher.control("hold-port", port=443, host="1h1")
    launch = {**row["launchConfig"], "ports": ["80:80", "443:443"]}
    rancher.put(made["id"], {"launchConfig": launch})
    row = when(rancher, "a", transitioning="error")
    assert row["state"] == "updating-active" and "ports 443/tcp available" in row["transitioningMessage"]
    assert [e["port"] for e in row["publicEndpoints"]] == [80]
    rancher.control("release-port", port=443, host="1h1")
    rancher.control("retry-now")
    row = when(rancher, "a", state="active")
    assert sorted(e["port"] for e in row["publicEndpoints"]) == [80, 443]


def test_endpoint_ids_go_stale_on_the_same_host(rancher: Rancher) -> None:
    rancher.control("deactivate-host", host="1h2")
    made = rancher.make("a").json
    before = rancher.balancer("a")
    container = rancher.rows("container")[0]["id"]
    rancher.control("set-fields", id=container, fields={"state": "error"})
    rancher.put(made["id"], {"scale": 1, "name": "a2"})
    rancher.settle()
    row = rancher.balancer("a2")
    assert row["instanceIds"] != before["instanceIds"]
    assert row["publicEndpoints"] == before["publicEndpoints"], "same address and port: not rewritten"


def test_bind_address_is_the_endpoint(rancher: Rancher) -> None:
    rancher.make("a", ports=["127.1.2.3:80:80"])
    assert rancher.balancer("a")["publicEndpoints"][0]["ipAddress"] == "127.1.2.3"


def test_move(rancher: Rancher) -> None:
    rancher.make("a")
    rancher.control("move", lb="a", host="1h2", overlap=0.05)
    assert hosts_of(rancher, "a") == ["1h2"]
    rancher.settle()
    assert [c["hostId"] for c in rancher.rows("container")] == ["1h2"]
    rancher.control("hold-port", port=80, host="1h1")
    with pytest.raises(ControlError, match="in use"):
        rancher.control("move", lb="a", host="1h1")


def test_pinned_endpoints(rancher: Rancher) -> None:
    made = rancher.make("a").json
    for value in (None, [], [{"type": "publicEndpoint", "ipAddress": "192.0.2.1", "port": 80}]):
        rancher.control("set-endpoints", lb="a", value=value)
        assert rancher.get(made["id"])["publicEndpoints"] == value
        rancher.put(made["id"], {"lbConfig": {"portRules": []}})
        rancher.settle()
        assert rancher.get(made["id"])["publicEndpoints"] == value
    rancher.control("set-endpoints", lb="a", normal=True)
    assert hosts_of(rancher, "a") == ["1h1"]


def test_balancers_that_run_nowhere_are_published_by_their_owner(rancher: Rancher) -> None:
    body = {"name": "none", "stackId": rancher.stack(), "startOnCreate": True, "lbConfig": {},
            "launchConfig": {"imageUuid": "docker:rancher/none"}}
    none = rancher.api("POST", "loadbalancerservices", body).json["id"]
    real = rancher.make("real").json["id"]
    endpoints = [{"ipAddress": "192.0.2.7", "port": 80}]
    for row_id in (none, real):
        assert rancher.put(row_id, {"publicEndpoints": endpoints, "scale": 1}).status == 200
    rancher.settle()
    assert rancher.get(none)["publicEndpoints"][0]["ipAddress"] == "192.0.2.7"
    assert rancher.get(real)["publicEndpoints"][0]["ipAddress"] != "192.0.2.7"


def test_endpoints_may_come_late(rancher: Rancher) -> None:
    rancher.control("configure", endpoint_delay=0.3)
    made = rancher.make("a", settle=False).json
    rancher.wait_for(lambda: rancher.get(made["id"])["state"] == "active")
    assert rancher.get(made["id"])["publicEndpoints"] is None
    rancher.wait_for(lambda: rancher.get(made["id"])["publicEndpoints"])


def test_fqdn_passes_through_an_update(rancher: Rancher) -> None:
    rancher.make("a")
    assert rancher.control("set-fqdn", lb="a", fqdn="a.example.com")["state"] == "updating-active"
    rancher.settle()
    row = rancher.balancer("a")
    assert (row["fqdn"], row["state"]) == ("a.example.com", "active")
