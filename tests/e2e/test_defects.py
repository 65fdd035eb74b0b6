# SPDX-License-Identifier: Apache-2.0
"""Defects of the Go original that need the whole line, or the provider alone, to be proved right; provider-rancher/DEFECTS.md lists them all."""
from __future__ import annotations

import pytest

from lib.daemon import Daemon
from lib.line import DAEMONS
from lib.provider_bench import Bench
from lib.provider_link import simple
from lib.wait import wait_for
from lib.web import HOST, reaches


def ingress(namespace, name="web", service="web", port=80, path="/", **more):
    return namespace.ingress(name, [{"host": HOST, "paths": [(path, "Prefix", service, port)]}], **more)


def target_ports(line, namespace, name="web"):
    balancer = line.balancer(name, namespace.namespace) or {}
    return [rule["targetPort"] for rule in balancer.get("lbConfig", {}).get("portRules") or []]


def test_defect_12_a_changed_service_port_reaches_its_balancers(line, namespace, backends):
    pod, moved = backends("web"), backends("moved", 9090)
    namespace.apply(namespace.service("web"), namespace.slice("web", [pod.ip]), ingress(namespace))
    reaches(line, namespace, "/", "web")
    assert target_ports(line, namespace) == [8080]
    namespace.patch("service", "web", {"spec": {"ports": [{"port": 80, "targetPort": 9090}]}})
    namespace.apply(namespace.slice("web", [moved.ip], 9090))
    reaches(line, namespace, "/", "moved")
    assert target_ports(line, namespace) == [9090]


def test_defect_13_a_port_may_be_given_by_name(line, namespace, backends):
    pod = backends("web", 9191)
    namespace.apply(namespace.service("web", 80, 9191, "http"), namespace.slice("web", [pod.ip], 9191, "http"),
                    ingress(namespace, port="http"))
    reaches(line, namespace, "/", "web")
    assert target_ports(line, namespace) == [9191]


def test_defect_20_a_port_that_is_none_is_told_and_the_usual_one_stays(line, namespace, backends):
    namespace.apply(namespace.service("web"), namespace.slice("web", [backends("web").ip]),
                    ingress(namespace, annotations={"http.port": "eighty"}))
    reaches(line, namespace, "/", "web")
    assert [port for _, port in line.entries("web", namespace.namespace)] == [80]
    namespace.wait_event("web", "InvalidAnnotation", "http.port")


def test_defect_26_and_27_and_36_an_orderly_end_takes_nothing_away(line, namespace, backends):
    namespace.apply(namespace.service("web"), namespace.slice("web", [backends("web").ip]), ingress(namespace),
                    ingress(namespace, "two", path="/two"), ingress(namespace, "theirs", annotations={"kubernetes.io/ingress.class": "nginx"}))
    namespace.kubectl("patch", "ingress", "theirs", "--subresource=status", "--type=merge", "-p",
                      '{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.9"}]}}}')
    reaches(line, namespace, "/", "web")
    before = {name: namespace.wait_addresses(name) for name in ("web", "two")}
    balancers = {row["id"] for row in line.rancher.rows("loadBalancerService")}
    for name in DAEMONS:
        assert line.daemon(name).stop() == 0
    for name, addresses in {**before, "theirs": ["192.0.2.9"]}.items():
        assert namespace.addresses(name) == addresses
    assert {row["id"] for row in line.rancher.rows("loadBalancerService")} == balancers
    reaches(line, namespace, "/", "web")
    for daemon in line.daemons():
        daemon.start()
    namespace.apply(ingress(namespace, path="/new"))
    reaches(line, namespace, "/new", "web")
    assert namespace.addresses("theirs") == ["192.0.2.9"]


@pytest.fixture
def second_line(line):
    """Another whole line on the same cluster and the same Rancher."""
    runtime = line.folder / "second"
    runtime.mkdir()
    daemons = []
    for name in ("translator", "watcher", "provider"):
        first = line.daemon(name)
        arguments = [str(runtime) if text == str(line.runtime) else text for text in first.arguments]
        daemons.append(Daemon(first.program, arguments, line.folder / f"second-{name}.log", first.environment).start())
    yield daemons
    assert [daemon.stop() for daemon in daemons] == [0, 0, 0]


def test_defect_38_two_lines_agree(line, second_line, namespace, backends):
    namespace.apply(namespace.service("web"), namespace.slice("web", [backends("web").ip]))
    for daemon in second_line:
        daemon.wait_event("ready")
    namespace.apply(ingress(namespace, path="/foo"))
    reaches(line, namespace, "/foo", "web")
    namespace.wait_addresses("web", 1)
    namespace.apply(ingress(namespace, path="/bar"))
    reaches(line, namespace, "/bar", "web")
    named = [row for row in line.rancher.rows("loadBalancerService", removed=True) if row["name"].startswith(f"{namespace.namespace}-")]
    assert len(named) == 1
    # Both have come to rest: a change of something else is all that is written from now on.
    line.rancher.settle()
    namespace.apply(ingress(namespace, "other", path="/other"))
    namespace.wait_addresses("other", 1)
    line.rancher.settle()
    line.rancher.control("forget-requests")
    namespace.apply(ingress(namespace, "last", path="/last"))
    namespace.wait_addresses("last", 1)
    assert [r for r in line.rancher.requests(name=f"{namespace.namespace}-rancherlb-web") if r["method"] != "GET"] == []


def test_defect_35_one_without_endpoints_holds_up_nobody():
    with Bench() as bench:
        bench.services("web")
        bench.translator.put(*simple("web"))
        bench.translator.wait_status("default/web")
        bench.rancher.control("set-endpoints", lb="default-rancherlb-web", value=[])
        bench.translator.put(*simple("other"))
        assert wait_for(lambda: bench.translator.addresses("default/other"), "the address of the other")


def test_defect_39_the_image_is_that_of_the_setting_and_what_runs_is_left_alone():
    image = "rancher/lb-service-haproxy:v0.9.99"
    with Bench(start=False) as bench:
        bench.services("web")
        bench.start()
        bench.translator.put(*simple("web"))
        bench.translator.wait_status("default/web")
        first = bench.lb("default-rancherlb-web")
        bench.rancher.control("set-setting", name="lb.instance.image", value=image)
        bench.restart()
        bench.translator.put(*simple("new", http=8080))
        bench.translator.wait_status("default/new")
        assert bench.lb("default-rancherlb-new")["launchConfig"]["imageUuid"] == f"docker:{image}"
        # Another image means other containers: an upgrade is for people to decide.
        assert bench.lb("default-rancherlb-web")["launchConfig"] == first["launchConfig"]
