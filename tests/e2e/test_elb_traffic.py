# SPDX-License-Identifier: Apache-2.0
"""Changes under load, through the load balancers that provider-elb makes: no request is lost, and none is answered by a pool that is not its own."""
from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from lib.certs import self_signed
from lib.elb_traffic import WEB, TrafficBench
from lib.provider_link import certificate, load_balancer, virtual_host
from lib.traffic import Load
from lib.wait import stays, wait_for

HOST = "shop.example.com"


@pytest.fixture
def bench():
    with TrafficBench() as running:
        yield running


def rules(*listed: tuple, host: str = HOST) -> Any:
    return virtual_host(WEB, host, *((path, f"default/{pool}", "prefix") for path, pool in listed))


def web(bench: TrafficBench, *pods: Any) -> list[Any]:
    return [load_balancer("web"), rules(("/", "web")), bench.pool("web", *pods)]


@contextlib.contextmanager
def undisturbed(load: Load):
    """All requests of these clients are answered with 200, before, while and after."""
    with load:
        wait_for(lambda: load.good > 20, "requests before the change")
        yield load
        before = load.good
        wait_for(lambda: load.good > before + 20, "requests after the change")
    assert not load.failures, load.failures[:10]


# While a call is under way


@pytest.mark.parametrize("action", ["CreateTargetGroup", "ModifyTargetGroupAttributes", "CreateLoadBalancer", "CreateListener", "CreateRule"])
def test_what_is_wanted_may_change_while_a_call_is_under_way(bench, action):
    bench.aws.fault("hold", action=action, count=1, when="after")
    bench.translator.put(*web(bench))
    wait_for(lambda: bench.aws.calls(action), f"the call {action}")
    for n in range(3):
        bench.translator.put(rules(("/a" * (n + 1), "web"), ("/", "web")))
    bench.translator.put(bench.pool("other"), rules(("/a", "web"), ("/b", "other")))
    time.sleep(0.2)
    bench.aws.clear()
    bench.settle()
    assert [bench.reached(HOST, path) for path in ("/a", "/b/1", "/c")] == ["default/web", "default/other", 404]


@pytest.mark.parametrize("action", ["CreateTargetGroup", "CreateLoadBalancer", "CreateRule"])
def test_an_ingress_may_go_while_a_call_is_under_way(bench, action):
    bench.aws.fault("hold", action=action, count=1, when="after")
    bench.translator.put(*web(bench))
    wait_for(lambda: bench.aws.calls(action), f"the call {action}")
    bench.translator.remove_ingress(WEB)
    bench.translator.remove(("pool", WEB))
    time.sleep(0.2)
    bench.aws.clear()
    wait_for(lambda: not bench.aws.balancers() and not bench.aws.groups(), "nothing to be left")


# Endpoints


def test_endpoints_are_replaced_one_by_one(bench):
    pods = [bench.pod(f"pod-{n}") for n in range(9)]
    bench.serve(*web(bench, *pods[:3]))
    with undisturbed(bench.load((HOST, "/"))):
        for first in range(1, 7):
            bench.serve(bench.pool("web", *pods[first:first + 3]))
            wait_for(lambda: bench.targets() == sorted(f"{p.inside}:8080" for p in pods[first:first + 3]), "the endpoints")  # noqa: B023
            bench.end(pods[first - 1])


def test_all_endpoints_are_replaced_at_once(bench):
    old, new = [bench.pod(f"old-{n}") for n in range(3)], [bench.pod(f"new-{n}") for n in range(3)]
    bench.serve(*web(bench, *old))
    with undisturbed(bench.load((HOST, "/"))):
        bench.serve(bench.pool("web", *new))
        wait_for(lambda: bench.targets() == sorted(f"{p.inside}:8080" for p in new), "the new endpoints")
        for pod in old:
            bench.end(pod)


@pytest.fixture
def checked():
    """The pool `web` with three pods, which is served, and three others. A new target gets no request before its first check, which ends when the test says so."""
    with TrafficBench() as bench:
        old, new = [bench.pod(f"old-{n}") for n in range(3)], [bench.pod(f"new-{n}") for n in range(3)]
        bench.serve(*web(bench, *old))
        bench.aws.control("set-health", group=bench.group()["name"], state="healthy")
        bench.aws.configure(initial_s=3600.0)
        bench.aws.forget()
        yield bench, old, new


def end_checks(bench: TrafficBench, *pods: Any) -> None:
    bench.aws.control("set-health", group=bench.group()["name"], state="healthy", ids=[pod.inside for pod in pods])


def places(pods: list[Any]) -> list[str]:
    return sorted(f"{pod.inside}:{pod.port}" for pod in pods)


def replace_all(bench: TrafficBench, old: list[Any], new: list[Any]) -> None:
    """Of the new ones none has been checked."""
    bench.translator.put(bench.pool("web", *new, ending=old))
    wait_for(lambda: bench.targets() == places(old + new), "the new ones to be registered")


def test_all_endpoints_are_replaced_before_a_new_one_is_checked(checked):
    """The old ones end, and serve until they have ended; until a new one gets requests, they stay."""
    bench, old, new = checked
    with undisturbed(bench.load((HOST, "/"))):
        replace_all(bench, old, new)
        stays(lambda: bench.targets() == places(old + new), "the old ones to be registered", 1)
        end_checks(bench, new[1])
        wait_for(lambda: bench.targets() == places(new), "the old ones to go")
        bench.serve(bench.pool("web", *new))
        for pod in old:
            bench.end(pod)
    assert [action for action in bench.writes() if action.endswith("Targets")] == ["RegisterTargets", "DeregisterTargets"]


def test_old_endpoints_stay_although_the_provider_is_killed_meanwhile(checked):
    bench, old, new = checked
    with undisturbed(bench.load((HOST, "/"))):
        replace_all(bench, old, new)
        bench.aws.forget()
        bench.restart()
        wait_for(lambda: bench.aws.calls("DescribeTargetHealth"), "that the next life has read the group")
        stays(lambda: bench.targets() == places(old + new), "the old ones to be registered", 1)
        end_checks(bench, *new)
        wait_for(lambda: bench.targets() == places(new), "the old ones to go")
        bench.serve(bench.pool("web", *new))
        for pod in old:
            bench.end(pod)


def test_endpoints_end_one_after_the_other_before_a_new_one_is_checked(checked):
    """One that has ended is taken out at once: those that still serve get its requests."""
    bench, old, new = checked
    with undisturbed(bench.load((HOST, "/"))):
        replace_all(bench, old, new)
        bench.translator.put(bench.pool("web", *new, ending=old[1:]))
        wait_for(lambda: bench.targets() == places(old[1:] + new), "the one that has ended to go")
        bench.end(old[0])
        end_checks(bench, *new)
        wait_for(lambda: bench.targets() == places(new), "the others to go")


def test_a_request_that_an_endpoint_holds_is_answered_although_it_goes(bench):
    old, new = bench.pod("old"), bench.pod("new")
    bench.serve(*web(bench, old))
    load = bench.load((HOST, "/?hold"), clients=1)
    with load:
        wait_for(lambda: old.count == 1, "the request to be held")
        bench.serve(bench.pool("web", new))
        wait_for(lambda: bench.targets() == [f"{new.inside}:8080"], "the new endpoint")
        assert bench.reached(HOST) == "new"
        new.release()
        old.release()
        wait_for(lambda: load.good > 3, "its answer")
    assert not load.failures


def test_draining_lasts_as_long_as_the_administrator_says():
    with TrafficBench(settings={"draining_s": None}, arguments=["--deregistration-delay", "3"]) as bench:
        old, new = bench.pod("old"), bench.pod("new")
        bench.serve(*web(bench, old))
        bench.serve(bench.pool("web", new))
        wait_for(lambda: bench.targets() == [f"{new.inside}:8080"], "the new endpoint")
        states = {t["id"]: t["State"] for t in bench.aws.targets(bench.group()["arn"])}
        assert states[old.inside] == "draining"
        bench.aws.control("advance", seconds=3)
        health = bench.aws.call("elasticloadbalancing", "DescribeTargetHealth", TargetGroupArn=bench.group()["arn"])
        assert [each["Target"]["Id"] for each in health["TargetHealthDescriptions"]] == [new.inside]


# Rules


def test_a_path_changes(bench):
    bench.serve(*web(bench), bench.pool("api"))
    with undisturbed(bench.load((HOST, "/"), (HOST, "/api/x"), (HOST, "/other"))):
        for path in ("/api", "/api/x", "/a", "/api"):
            bench.serve(rules((path, "api"), ("/", "web")))
    assert bench.reached(HOST, "/api/x") == "default/api"


def test_rules_change_places(bench):
    names = ["a", "b", "c", "d"]
    bench.serve(load_balancer("web"), *(bench.pool(name) for name in names), rules(*((f"/{name}", name) for name in names)))
    with undisturbed(bench.load(*((HOST, f"/{name}/1") for name in names))):
        for order in ("dcba", "abdc", "bcda", "abcd"):
            bench.serve(rules(*((f"/{name}", name) for name in order)))
    assert [bench.reached(HOST, f"/{name}") for name in names] == [f"default/{name}" for name in names]


def test_a_rule_gets_another_pool(bench):
    bench.serve(*web(bench), bench.pool("other"))
    with undisturbed(bench.load((HOST, "/"), (HOST, "/x"))):
        for name in ("other", "web", "other"):
            bench.serve(rules(("/", name)))
            assert bench.reached(HOST) == f"default/{name}"


def test_two_rules_exchange_their_pools(bench):
    bench.serve(load_balancer("web"), bench.pool("a"), bench.pool("b"), rules(("/a", "a"), ("/b", "b")))
    with undisturbed(bench.load((HOST, "/a"), (HOST, "/b"))):
        for first, second in (("b", "a"), ("a", "b")):
            bench.serve(rules(("/a", first), ("/b", second)))
            assert bench.reached(HOST, "/a") == f"default/{first}" and bench.reached(HOST, "/b") == f"default/{second}"


def test_a_pool_gets_another_protocol():
    """The group is replaced by another one, which gets requests only when it has a healthy endpoint."""
    with TrafficBench(settings={"initial_s": 1.0}) as bench:
        bench.serve(certificate("cert", self_signed(HOST)), load_balancer("web", http=None, https=443, certificates=["default/cert"]), *web(bench)[1:])
        wait_for(lambda: bench.reached(HOST, port=443) == WEB, "a healthy endpoint")
        with undisturbed(bench.load((HOST, "/"), (HOST, "/x"), port=443)):
            # The stand-in speaks HTTP/1.1 to all targets.
            for protocol, version in (("h2c", "HTTP2"), ("", "HTTP1")):
                bench.serve({**bench.translator.objects["pool", WEB], "protocol": protocol})
                wait_for(lambda: [g["settings"]["ProtocolVersion"] for g in bench.aws.groups()] == [version], "the old group to go")  # noqa: B023


def test_a_pool_gets_another_port(bench):
    bench.serve(*web(bench))
    with undisturbed(bench.load((HOST, "/"), (HOST, "/x"))):
        for port in (9090, 8080):
            bench.serve(bench.pool("web", bench.pod("web", port), target_port=port))
            wait_for(lambda: [t.endswith(str(port)) for t in bench.targets()] == [True], "the new port")  # noqa: B023


def test_ingresses_come_and_go_beside(bench):
    bench.serve(*web(bench))
    with undisturbed(bench.load((HOST, "/"))):
        for name in ("one", "two"):
            bench.translator.put(load_balancer(name), virtual_host(f"default/{name}", f"{name}.example.com", ("/", WEB, "prefix")))
            bench.settle(f"default/{name}")
            assert bench.reached(f"{name}.example.com", owner=f"default/{name}") == WEB
        for name in ("one", "two"):
            bench.translator.remove_ingress(f"default/{name}")
        wait_for(lambda: len(bench.aws.balancers()) == 1, "the others to be gone")


def test_hosts_of_a_group_come_and_go(bench):
    """Several Ingresses share a load balancer: a virtual host more or less."""
    bench.serve(*web(bench), bench.pool("other"))
    with undisturbed(bench.load((HOST, "/"), (HOST, "/x"))):
        for name in ("*.example.com", "zzz.example.com", "aaa.example.com"):
            bench.serve(rules(("/", "other"), host=name))
            assert bench.reached(name.replace("*", "any")) == "default/other"
        bench.serve(gone=[("virtual-host", f"{WEB}/{name}") for name in ("aaa.example.com", "*.example.com")])
        assert bench.reached("any.example.com") == 404


# The load balancer itself


def test_another_scheme_makes_another_load_balancer_first(bench):
    """The old one is served until the new one is active and told, and for --replace-delay after that."""
    bench.serve(*web(bench))
    old = bench.balancer()
    with undisturbed(bench.load((HOST, "/"))):
        bench.provider.stop()
        bench.provider.arguments += ["--scheme", "internal", "--replace-delay", "3"]
        bench.aws.configure(provisioning_told=True)
        bench.provider.start()
        wait_for(lambda: len(bench.aws.balancers()) == 2, "a second load balancer")
        new = next(b for b in bench.aws.balancers() if b["arn"] != old["arn"])
        stays(lambda: bench.translator.addresses(WEB) in (None, [old["dns_name"].lower()]) and len(bench.aws.balancers()) == 2, "the old one to be told", 1.5)
        bench.aws.control("set-state", name=new["name"], state="active")
        wait_for(lambda: bench.translator.addresses(WEB) == [new["dns_name"].lower()], "the new address")
        assert bench.aws.request(new["dns_name"], 80, HOST, "/").status == 200
        stays(lambda: len(bench.aws.balancers()) == 2, "the old one to be there", 2)
    wait_for(lambda: [b["arn"] for b in bench.aws.balancers()] == [new["arn"]], "the old one to be gone")


def test_a_listener_comes_and_another_goes(bench):
    bench.serve(*web(bench), certificate("cert", self_signed(HOST)))
    with undisturbed(bench.load((HOST, "/"))):
        bench.serve(load_balancer("web", https=443, certificates=["default/cert"]))
        with undisturbed(bench.load((HOST, "/"), port=443)):
            bench.serve(load_balancer("web", https=443, certificates=["default/cert"], default_pool=WEB))
        assert bench.reached("unknown.test", port=443) == WEB
        bench.serve(load_balancer("web", default_pool=WEB))
        assert bench.aws.port(bench.balancer()["dns_name"], 443) is None
    assert bench.reached("unknown.test") == WEB
