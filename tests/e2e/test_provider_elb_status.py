# SPDX-License-Identifier: Apache-2.0
"""What provider-elb tells of a load balancer while something is under way: nothing that would have to be taken back."""
from __future__ import annotations

import pytest

from lib.certs import self_signed
from lib.elb_bench import ElbBench
from lib.provider_link import certificate, load_balancer, pool, virtual_host
from lib.wait import stays, wait_for

WEB = "default/web"


@pytest.fixture
def bench():
    with ElbBench() as running:
        yield running


def web(**more) -> list:
    return [load_balancer("web", **more), virtual_host(WEB, "foo.bar.com", ("/foo", WEB)), pool("web", endpoints=["172.31.0.10"])]


def ports(bench: ElbBench) -> list[int]:
    status = bench.translator.status(WEB) or {}
    return [port["port"] for address in status.get("addresses", []) for port in address["ports"]]


def test_one_that_is_being_deleted_is_not_shown(bench):
    bench.translator.put(*web())
    bench.settle()
    first = bench.translator.addresses(WEB)
    bench.aws.forget()
    number = bench.aws.fault("hold", action="DescribeLoadBalancers")
    bench.translator.remove_ingress(WEB)
    wait_for(lambda: "DeleteLoadBalancer" in bench.writes(), "the load balancer to be deleted")
    bench.translator.put(*web(http=8080))
    wait_for(lambda: bench.translator.status(WEB), "a status of the new one")
    stays(lambda: bench.translator.addresses(WEB) is None, "that no address is known", 0.5)
    bench.aws.clear(number)
    bench.settle()
    assert bench.translator.addresses(WEB) == [bench.balancer()["dns_name"].lower()] != first


def test_nobody_is_told_of_what_passes(bench):
    """A message would become a Warning: each new load balancer takes some minutes, and each new certificate a moment."""
    bench.aws.configure(provisioning_told=True)
    number = bench.aws.fault("hold", action="ImportCertificate")
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    wait_for(bench.rules, "a rule")
    assert (bench.translator.status(WEB)["state"], bench.translator.status(WEB).get("message")) == ("pending", None)
    bench.aws.control("set-state", name=bench.balancer()["name"], state="active")
    wait_for(lambda: ports(bench) == [80], "the port that is served already")
    assert (bench.translator.status(WEB)["state"], bench.translator.status(WEB).get("message")) == ("pending", None)
    bench.aws.clear(number)
    bench.settle()
    assert ports(bench) == [80, 443]


def test_a_port_that_is_new_does_not_hide_the_others(bench):
    """It has been as wanted before, which says nothing of a port that it never had: what it serves is told while the certificate is being imported."""
    bench.translator.put(*web())
    bench.remembered()
    bench.translator.statuses.clear()
    number = bench.aws.fault("hold", action="ImportCertificate")
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    wait_for(lambda: ports(bench) == [80], "the port that is served")
    assert bench.translator.status(WEB)["state"] == "pending"
    bench.aws.clear(number)
    bench.settle()
    assert ports(bench) == [80, 443]


def test_a_port_is_not_taken_back_while_its_other_certificate_is_imported(bench):
    bench.translator.put(certificate("one", self_signed("foo.bar.com")), *web(https=443, certificates=["default/one"]))
    bench.remembered()
    assert ports(bench) == [80, 443]
    told = len(bench.translator.status_log)
    number = bench.aws.fault("hold", action="ImportCertificate")
    bench.translator.put(certificate("two", self_signed("foo.bar.com")), *web(https=443, certificates=["default/two"]))
    bench.translator.remove(("certificate", "default/one"))
    wait_for(lambda: len(bench.aws.calls("ImportCertificate")) == 2, "the other certificate to be imported")
    bench.aws.clear(number)
    bench.settle()
    assert ports(bench) == [80, 443]
    for status in bench.translator.status_log[told:]:
        shown = [port["port"] for address in status.get("addresses", []) for port in address["ports"]]
        assert shown in ([], [80, 443]), status


def test_no_port_is_taken_back_while_certificates_are_looked_for(bench):
    bench.translator.put(certificate("cert", self_signed("foo.bar.com")), *web(https=443, certificates=["default/cert"]))
    bench.remembered()
    assert ports(bench) == [80, 443]
    bench.provider.kill()
    number = bench.aws.fault("hold", action="ListCertificates")
    bench.provider.start()
    bench.translator.wait_connection(2)
    wait_for(lambda: bench.provider.events("ready")[1:], "it to be ready")
    wait_for(lambda: (bench.translator.status(WEB) or {}).get("state") == "pending", "its status")
    stays(lambda: ports(bench) in ([], [80, 443]), "that no port is taken back", 0.5)
    bench.aws.clear(number)
    bench.settle()
    assert ports(bench) == [80, 443]
