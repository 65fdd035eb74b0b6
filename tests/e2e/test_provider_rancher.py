# SPDX-License-Identifier: Apache-2.0
"""provider-rancher against the Rancher stand-in, told what is wanted by a translator of the tests."""
from __future__ import annotations

from lib.provider_link import load_balancer, pool, simple, virtual_host
from lib.wait import stays, wait_for

WEB = "default-rancherlb-web"


def test_one_ingress_becomes_one_load_balancer_by_one_write(bench):
    bench.translator.put(*simple("web", "foo.bar.com"))
    lb = bench.wait_lb(WEB)
    assert lb["externalId"] == f"kubernetes-ingress-lbs://{WEB}"
    assert lb["description"] == "managed by sluice: ingress=default/web"
    assert lb["launchConfig"]["ports"] == ["80:80/tcp"]
    rule, = bench.rules(WEB)
    assert (rule["hostname"], rule["path"], rule["targetPort"], rule["sourcePort"], rule["priority"]) == \
        ("foo.bar.com", "/foo", 8080, 80, 1)
    bench.translator.wait_status("default/web")
    assert wait_for(lambda: bench.translator.addresses("default/web"), "addresses") == \
        [lb["publicEndpoints"][0]["ipAddress"]]
    bench.quiet()
    assert bench.writes() == [("POST", "kubernetes-ingress-lbs"), ("POST", WEB)]
    assert bench.translator.event_reasons("default/web") == ["LoadBalancerCreated"]
    assert bench.translator.notices("default/web") == {}
    assert bench.translator.hello["capabilities"] == {
        "grouping": "per-ingress", "protocols": ["http", "https", "tcp", "tls-passthrough"],
        "policies": ["stickiness", "health-check", "scale", "labels", "custom-config"], "features": ["lead", "own-endpoints"]}


# Updates in place


def test_a_changed_path_costs_one_write(bench):
    bench.translator.put(*simple("web", "foo.bar.com"))
    bench.translator.wait_status("default/web")
    bench.quiet(0.5)
    bench.forget_requests()
    bench.translator.put(virtual_host("default/web", "foo.bar.com", ("/bar", "default/web")))
    wait_for(lambda: bench.rules(WEB)[0]["path"] == "/bar", "the new path")
    bench.translator.wait_status("default/web")
    bench.quiet()
    assert bench.writes() == [("PUT", WEB)]
    assert bench.translator.event_reasons("default/web") == ["LoadBalancerCreated", "LoadBalancerUpdated"]


def test_defect_2_an_endpoint_change_costs_nothing(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    bench.quiet(0.5)
    bench.forget_requests()
    lists = len(bench.reads("kubernetesService"))
    for ips in ([], ["10.42.0.1"], ["10.42.0.1", "10.42.0.2"]):
        bench.translator.put(pool("web", endpoints=ips))
    bench.quiet()
    assert bench.writes() == []
    assert len(bench.reads("kubernetesService")) == lists


def test_defect_1_scale_follows_the_wish(bench):
    bench.translator.put(*simple("web", scale=2))
    wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 2, "two addresses")
    first = bench.lb(WEB)["id"]
    bench.translator.put(load_balancer("web", scale=3))
    wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 3, "three addresses")
    bench.translator.put(load_balancer("web", scale=1))
    wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 1, "one address")
    # The wish is withdrawn: back to one; what somebody sets in Rancher then is theirs.
    bench.translator.put(load_balancer("web", scale=2))
    wait_for(lambda: bench.lb(WEB)["scale"] == 2, "scale 2")
    bench.translator.put(load_balancer("web"))
    wait_for(lambda: bench.lb(WEB)["scale"] == 1, "scale 1")
    wait_for(lambda: "scale" not in bench.lb(WEB)["description"], "the mark to be without scale")
    bench.translator.wait_status("default/web")
    assert bench.rancher.api("PUT", f"loadbalancerservices/{first}", {"scale": 3}).status == 200
    stays(lambda: bench.lb(WEB)["scale"] == 3, "the scale set by hand", 1.5)
    assert bench.lb(WEB)["id"] == first


def test_a_change_is_not_planned_upon_an_old_event(bench):
    """Its row says that the scale is back at one already, when it has to be taken back to one."""
    bench.translator.put(*simple("web", scale=2))
    wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 2, "two addresses")
    bench.translator.wait_status("default/web")
    first = bench.lb(WEB)["id"]
    bench.rancher.control("set_fields", id=first, fields={"scale": 1})
    wait_for(lambda: bench.provider.events("balancer-drift"), "the event to arrive")
    bench.rancher.control("websocket", mode="pings-only")
    bench.rancher.control("set_fields", id=first, fields={"scale": 2})
    bench.translator.put(load_balancer("web"))
    wait_for(lambda: "scale" not in bench.lb(WEB)["description"], "the mark to be without scale")
    assert bench.lb(WEB)["scale"] == 1


def test_defect_16_ports_are_changed_in_place(bench):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    before = bench.lb(WEB)
    bench.translator.put(load_balancer("web", http=8080))
    wait_for(lambda: bench.lb(WEB)["launchConfig"]["ports"] == ["8080:8080/tcp"], "the new port")
    bench.translator.wait_status("default/web")
    after = bench.lb(WEB)
    assert after["id"] == before["id"]
    # Nothing of what the server had added is lost.
    assert after["launchConfig"]["labels"] == before["launchConfig"]["labels"]
    assert after["launchConfig"]["healthCheck"] == before["launchConfig"]["healthCheck"]
    wait_for(lambda: [e["port"] for e in bench.lb(WEB)["publicEndpoints"]] == [8080], "the new endpoint")
    assert len(bench.rancher.requests(method="POST", type="loadBalancerService", action=None)) == 1
    assert [r["sourcePort"] for r in bench.rules(WEB)] == [8080]


def test_defect_17_labels_are_changed_in_place(bench):
    affinity = {"key": "io.rancher.scheduler.affinity.host_label", "value": "a=b"}
    target = {"key": "io.rancher.lb_service.target", "value": "any"}
    bench.translator.put(*simple("web", labels=[target]))
    bench.translator.wait_status("default/web")
    first = bench.lb(WEB)
    assert first["launchConfig"]["labels"]["io.rancher.lb_service.target"] == "any"
    bench.translator.put(load_balancer("web", labels=[affinity]))
    wait_for(lambda: bench.lb(WEB)["launchConfig"]["labels"].get("io.rancher.scheduler.affinity:host_label") == "a=b",
             "the new label")
    second = bench.lb(WEB)
    assert "io.rancher.lb_service.target" not in second["launchConfig"]["labels"]
    assert second["launchConfig"]["labels"]["io.rancher.container.create_agent"] == "true"
    assert second["id"] == first["id"]


def test_defect_37_labels_of_credentials_are_refused(bench):
    bench.translator.put(*simple("web", labels=[{"key": "io.rancher.container.agent.role", "value": "admin"},
                                                {"key": "io.rancher.container.network", "value": "host"}]))
    bench.translator.wait_status("default/web")
    assert "io.rancher.container.network" not in bench.lb(WEB)["launchConfig"]["labels"]
    assert bench.lb(WEB)["launchConfig"]["labels"]["io.rancher.container.agent.role"] == "environmentAdmin,agent"
    assert "io.rancher.container.agent.role, io.rancher.container.network" in bench.translator.notices("default/web")["LabelRefused"]


def test_only_global_scheduling_makes_a_new_one_and_says_so(bench):
    everywhere = {"key": "io.rancher.scheduler.global", "value": "true"}
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    first = bench.lb(WEB)["id"]
    bench.translator.put(load_balancer("web", labels=[everywhere]))
    wait_for(lambda: (lb := bench.lb(WEB)) and lb["id"] != first and lb["state"] == "active", "a new one")
    wait_for(lambda: len(bench.translator.addresses("default/web") or []) == 3, "an instance on every host")
    assert bench.translator.event_reasons("default/web") == \
        ["LoadBalancerCreated", "LoadBalancerRecreated", "LoadBalancerCreated"]


def test_stickiness_and_its_end(bench):
    bench.translator.put(*simple("web", stickiness={"cookie": "sid", "indirect": True, "mode": "prefix"}))
    bench.translator.wait_status("default/web")
    policy = bench.lb(WEB)["lbConfig"]["stickinessPolicy"]
    assert (policy["cookie"], policy["mode"], policy["indirect"], policy["nocache"]) == ("sid", "prefix", True, False)
    bench.translator.put(load_balancer("web"))
    wait_for(lambda: not bench.lb(WEB)["lbConfig"].get("stickinessPolicy"), "no stickiness")


# Removal


def test_a_removed_ingress_takes_its_balancer_away(bench):
    bench.translator.put(*simple("web"), *simple("other"))
    bench.translator.wait_status("default/web")
    bench.translator.remove_ingress("default/web")
    bench.wait_no_lb(WEB)
    wait_for(lambda: "LoadBalancerDeleted" in bench.translator.event_reasons("default/web"), "the event")
    deleted = [e for e in bench.translator.events if e["reason"] == "LoadBalancerDeleted"]
    assert deleted[0]["owners"] == [{"namespace": "default", "name": "web", "uid": "ingress-default-web"}]
    assert bench.lb("default-rancherlb-other")


def test_an_ingress_that_comes_back_while_its_balancer_goes(bench):
    bench.rancher.control("configure", step_delays={"removing": 0.5})
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    first = bench.lb(WEB)["id"]
    bench.translator.remove_ingress("default/web")
    wait_for(lambda: (bench.lb(WEB) or {}).get("state") == "removing", "the removal")
    bench.translator.put(*simple("web"))
    wait_for(lambda: (lb := bench.lb(WEB)) and lb["id"] != first and lb["state"] == "active", "a new one")
    bench.translator.wait_status("default/web")
    assert [w for w in bench.writes() if w[0] == "POST"][1:] == [("POST", WEB), ("POST", WEB)]
