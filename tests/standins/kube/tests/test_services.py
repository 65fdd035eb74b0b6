# SPDX-License-Identifier: Apache-2.0
"""Services of type LoadBalancer: class, networks, addresses, finalizers, and what a change of type leaves of them."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from standins.kube.client import KubeStandin
from standins.kube.public import STRATEGIC, ApiFailure

from .conftest import service

CLEANUP = "service.kubernetes.io/load-balancer-cleanup"
ADDRESS = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}


def balancer(name: str = "a", **spec: Any) -> dict[str, Any]:
    """A Service of type LoadBalancer."""
    return service(name, type="LoadBalancer", **spec)


def refusal(action: Callable[..., Any], *arguments: Any, **more: Any) -> str:
    """The message of a 422."""
    with pytest.raises(ApiFailure) as caught:
        action(*arguments, **more)
    assert caught.value.status == 422, caught.value
    return caught.value.response.json()["message"]


def test_the_class_stays_as_it_is(kube: KubeStandin) -> None:
    assert kube.api.create(balancer(loadBalancerClass="x.io/lb"))["spec"]["loadBalancerClass"] == "x.io/lb"
    kube.api.create(balancer("b"))
    for name, wanted in (("a", "y.io/lb"), ("a", None), ("b", "x.io/lb")):
        message = refusal(kube.api.patch, "services", name, {"spec": {"loadBalancerClass": wanted}})
        assert "spec.loadBalancerClass: Invalid value" in message and "may not change once set" in message
    kube.api.patch("services", "a", {"spec": {"ports": [{"port": 81}]}})


@pytest.mark.parametrize(
    "spec, complaint",
    [
        ({"type": "NodePort", "loadBalancerClass": "x.io/lb"}, "spec.loadBalancerClass: Forbidden"),
        ({"type": "LoadBalancer", "loadBalancerClass": "x y"}, "spec.loadBalancerClass: Invalid value"),
        ({"loadBalancerSourceRanges": ["10.0.0.0/8"]}, "spec.LoadBalancerSourceRanges: Forbidden"),
        ({"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.1"]}, "[0]: Invalid value"),
        ({"type": "LoadBalancer", "externalIPs": ["10.0.0"]}, "spec.externalIPs[0]: Invalid value"),
    ],
)
def test_what_is_refused(kube: KubeStandin, spec: dict[str, Any], complaint: str) -> None:
    assert complaint in refusal(kube.api.create, service("a", **spec))


def test_networks_may_be_padded(kube: KubeStandin) -> None:
    made = kube.api.create(balancer(loadBalancerSourceRanges=[" 10.0.0.0/8 ", "fd00::/8"]))
    assert made["spec"]["loadBalancerSourceRanges"] == [" 10.0.0.0/8 ", "fd00::/8"]


def test_another_type_takes_class_and_addresses_away(kube: KubeStandin) -> None:
    kube.api.create(balancer(loadBalancerClass="x.io/lb"))
    shown = kube.api.patch("services", "a", ADDRESS, subresource="status")
    assert shown["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1", "ipMode": "VIP"}]
    changed = kube.api.patch("services", "a", {"spec": {"type": "ClusterIP"}})
    assert changed["status"]["loadBalancer"] == {}
    assert not {"loadBalancerClass", "allocateLoadBalancerNodePorts", "externalTrafficPolicy"} & set(
        changed["spec"]
    )
    message = refusal(kube.api.patch, "services", "a", ADDRESS, subresource="status")
    assert "status.loadBalancer.ingress: Forbidden" in message
    # And back, under any class.
    back = kube.api.patch("services", "a", {"spec": {"type": "LoadBalancer", "loadBalancerClass": "y.io/lb"}})
    assert back["spec"]["loadBalancerClass"] == "y.io/lb"


def test_addresses_survive_what_is_no_change_of_type(kube: KubeStandin) -> None:
    kube.api.create(balancer())
    kube.api.patch("services", "a", ADDRESS, subresource="status")
    kube.api.patch("services", "a", {"metadata": {"labels": {"x": "y"}}})
    kube.api.patch("services", "a", {"status": {"loadBalancer": {"ingress": None}}})
    assert kube.api.get("services", "a")["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.1"


def test_a_finalizer_holds_it(kube: KubeStandin) -> None:
    made = kube.api.create(balancer())
    revision = made["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": revision, "finalizers": [CLEANUP]}}
    held = kube.api.patch("services", "a", patch)
    entries = held["metadata"]["managedFields"]
    assert [e for e in entries if f'v:"{CLEANUP}"' in e["fieldsV1"].get("f:metadata", {}).get("f:finalizers", {})]
    with pytest.raises(ApiFailure) as caught:
        kube.api.patch("services", "a", patch)
    assert caught.value.status == 409
    cluster_ip = held["spec"]["clusterIP"]
    kube.api.delete("services", "a")
    going = kube.api.get("services", "a")
    assert going["metadata"]["deletionTimestamp"] and going["spec"]["clusterIP"] == cluster_ip
    assert "no new finalizers" in refusal(
        kube.api.patch, "services", "a", {"metadata": {"finalizers": [CLEANUP, "x.io/y"]}}
    )
    kube.api.patch("services", "a", ADDRESS, subresource="status")
    answer = kube.api.patch("services", "a", {"metadata": {"finalizers": []}})
    assert "finalizers" not in answer["metadata"]
    assert kube.api.find("services", "a") is None
    # What it held is free again.
    kube.api.create(service("b", clusterIP=cluster_ip))


def test_a_finalizer_by_way_of_the_status(kube: KubeStandin) -> None:
    kube.api.create(balancer())
    patch = {"metadata": {"finalizers": [CLEANUP]}} | ADDRESS
    both = kube.api.patch("services", "a", patch, subresource="status", content_type=STRATEGIC)
    assert both["metadata"]["finalizers"] == [CLEANUP] and both["status"]["loadBalancer"]["ingress"]


def test_old_releases_know_no_class(start: Callable[..., KubeStandin]) -> None:
    made = start("1.20").api.create(balancer(loadBalancerClass="x.io/lb"))
    assert "loadBalancerClass" not in made["spec"]
