# SPDX-License-Identifier: Apache-2.0
"""provider-rancher and certificates: made, renewed, shared, removed; and what happens when Rancher will not have them."""
from __future__ import annotations

import pytest

from lib.certs import self_signed
from lib.provider_bench import Bench
from lib.provider_link import certificate, load_balancer, simple, virtual_host
from lib.traffic import request
from lib.wait import stays, wait_for

WEB = "default-rancherlb-web"


@pytest.fixture(scope="module")
def pairs():
    return [self_signed(f"{name}.example.com") for name in ("one", "two", "three")]


def with_tls(name, *secrets, **more):
    return [load_balancer(name, https=443, certificates=[f"default/{s}" for s in secrets], **more),
            *simple(name)[1:]]


def config(bench, name=WEB):
    return bench.lb(name)["lbConfig"]


def test_it_is_not_applied_before_its_certificate_is_there(bench, pairs):
    bench.translator.put(*simple("web"))
    bench.translator.wait_status("default/web")
    bench.rancher.fault("slow", method="POST", type="certificate", delay=0.7)
    bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"))
    bench.translator.wait_status("default/web")
    assert config(bench)["defaultCertificateId"] == bench.certificates()["default-one"]["id"]


def test_defect_8_and_9_certificates_by_sni_named_by_namespace_and_secret(bench, pairs):
    bench.translator.put(certificate("one", pairs[0]), certificate("two", pairs[1]), *with_tls("web", "one", "two"))
    bench.translator.wait_status("default/web")
    certs = bench.certificates()
    assert sorted(certs) == ["default-one", "default-two"]
    assert certs["default-one"]["description"].startswith(
        "managed by sluice: stack=kubernetes-ingress-lbs secret=default/one digest=")
    assert config(bench)["defaultCertificateId"] == certs["default-one"]["id"]
    assert config(bench)["certificateIds"] == [certs["default-two"]["id"]]
    assert [(r["sourcePort"], r["protocol"]) for r in bench.rules(WEB)] == [(80, "http"), (443, "https")]
    # Everything was resolved before the load balancer was made (defect 21), by one request each.
    assert bench.writes()[-1] == ("POST", WEB)
    assert len(bench.writes()) == 4


def test_defect_10_a_renewed_certificate_reaches_rancher_and_its_balancers(bench, pairs):
    bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"), *simple("plain"))
    bench.translator.wait_status("default/web")
    bench.translator.wait_status("default/plain")
    bench.quiet(0.5)
    before, cert = bench.lb(WEB), bench.certificates()["default-one"]
    bench.forget_requests()
    bench.translator.put(certificate("one", pairs[1]))
    wait_for(lambda: bench.certificates()["default-one"]["cert"].encode().strip() == pairs[1].pem.strip(), "the new certificate")
    wait_for(lambda: bench.lb(WEB)["metadata"] != before["metadata"], "the load balancer to be touched")
    bench.quiet()
    assert bench.writes() == [("PUT", "default-one"), ("PUT", WEB)]
    assert bench.certificates()["default-one"]["id"] == cert["id"]
    assert bench.certificates()["default-one"]["key"].encode().strip() == pairs[1].key.strip()
    put = bench.rancher.requests(method="PUT", type="loadBalancerService")[0]
    assert list(put["body"]) == ["metadata"]


def test_a_new_key_to_the_same_certificate_is_noticed(bench, pairs):
    bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"))
    bench.translator.wait_status("default/web")
    bench.forget_requests()
    other = type(pairs[0])(pairs[0].pem, pairs[1].key, pairs[0].der)
    bench.translator.put(certificate("one", other))
    wait_for(lambda: bench.certificates()["default-one"]["key"].encode().strip() == pairs[1].key.strip(), "the new key")


def test_restart_between_renewal_and_touch_forgets_nothing(bench, pairs):
    bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"))
    bench.translator.wait_status("default/web")
    bench.quiet(0.5)
    before = bench.lb(WEB)["metadata"]
    fault = bench.rancher.fault("hang", method="PUT", type="loadBalancerService")
    bench.translator.put(certificate("one", pairs[1]))
    wait_for(lambda: bench.certificates()["default-one"]["cert"].encode().strip() == pairs[1].pem.strip(), "the new certificate")
    bench.provider.kill()
    bench.rancher.clear(fault)
    assert bench.lb(WEB)["metadata"] == before
    bench.start()
    wait_for(lambda: bench.lb(WEB)["metadata"] != before, "the load balancer to be touched")


def test_defect_40_certificates_that_nobody_uses_are_removed_if_they_are_ours(bench, pairs):
    answer = bench.rancher.api("POST", "certificates", {"name": "one", "cert": pairs[2].pem.decode(), "key": pairs[2].key.decode()})
    assert answer.status == 201
    bench.translator.put(certificate("one", pairs[0]), certificate("two", pairs[1]), *with_tls("web", "one", "two"))
    bench.translator.wait_status("default/web")
    # The order of PROTOCOL.md: in one commit the load balancer lets go and the certificate goes.
    bench.translator.put(*with_tls("web", "one"), commit=False)
    bench.translator.remove(("certificate", "default/two"))
    wait_for(lambda: "default-two" not in bench.certificates(), "the certificate to be gone")
    assert not config(bench).get("certificateIds")
    bench.translator.remove(("certificate", "default/one"), commit=False)
    bench.translator.put(load_balancer("web"))
    wait_for(lambda: "default-one" not in bench.certificates(), "the other to be gone")
    assert list(bench.certificates()) == ["one"]
    failed = [r for r in bench.rancher.requests(method="DELETE", type="certificate") if r["status"] != 200]
    assert failed == []


def test_certificates_that_became_unused_while_we_were_down(bench, pairs):
    bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"))
    bench.translator.wait_status("default/web")
    bench.provider.kill()
    bench.translator.remove(("certificate", "default/one"))
    bench.translator.remove_ingress("default/web")
    bench.start()
    bench.wait_no_lb(WEB)
    wait_for(lambda: bench.certificates() == {}, "the certificate to be gone")


def test_the_originals_certificate_is_replaced_and_left_alone(pairs):
    with Bench(start=False) as bench:
        bench.services("web")
        made = bench.rancher.api("POST", "certificates", {
            "name": "one", "cert": pairs[0].pem.decode(), "key": pairs[0].key.decode()})
        bench.rancher.control("seed-balancers", items=[{
            "namespace": "default", "name": "web", "hostname": "web.example.com", "path": "/foo", "uid": "uid-web",
            "httpsPort": 443, "defaultCertificateId": made.json["id"]}])
        before = bench.lb(WEB)["id"]
        bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"))
        bench.start()
        bench.translator.wait_status("default/web")
        assert bench.lb(WEB)["id"] == before
        assert config(bench)["defaultCertificateId"] == bench.certificates()["default-one"]["id"]
        stays(lambda: "one" in bench.certificates(), "the original's certificate", 0.5)
        assert [w for w in bench.writes() if w[1] == WEB] == [("PUT", WEB)]


def test_a_certificate_that_rancher_refuses_harms_only_itself(bench, pairs):
    bench.rancher.fault("error", status=422, code="InvalidFormat", fieldName="cert", method="POST", type="certificate",
                        name="default-two")
    bench.translator.put(certificate("one", pairs[0]), certificate("two", pairs[1]), *with_tls("web", "two", "one"))
    status = bench.translator.wait_status("default/web")
    assert "default/two" in {n["reason"]: n["message"] for n in status["notices"]}["CertificateNotInRancher"]
    assert config(bench)["certificateIds"] == [bench.certificates()["default-one"]["id"]]
    assert not config(bench).get("defaultCertificateId")
    bench.rancher.clear()
    wait_for(lambda: config(bench).get("defaultCertificateId"), "the certificate to be taken up")
    wait_for(lambda: bench.translator.notices("default/web") == {}, "no notice")


def test_the_name_of_a_certificate_is_taken(bench, pairs):
    assert bench.rancher.api("POST", "certificates", {
        "name": "default-one", "cert": pairs[2].pem.decode(), "key": pairs[2].key.decode()}).status == 201
    bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"))
    bench.translator.wait_status("default/web")
    names = list(bench.certificates())
    assert len(names) == 2 and any(n.startswith("default-one-") for n in names)


def test_an_answer_that_is_lost_makes_no_second_certificate(bench, pairs):
    bench.rancher.fault("reset", method="POST", type="certificate", when="after", count=1)
    bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"))
    bench.translator.wait_status("default/web")
    wait_for(lambda: config(bench).get("defaultCertificateId"), "the certificate in use")
    assert list(bench.certificates()) == ["default-one"]


def test_a_certificate_that_vanishes_is_made_again(bench, pairs):
    """Rancher does not protect certificates that are used for SNI only."""
    bench.translator.put(certificate("one", pairs[0]), certificate("two", pairs[1]), *with_tls("web", "one", "two"))
    bench.translator.wait_status("default/web")
    gone = bench.certificates()["default-two"]["id"]
    bench.rancher.control("remove-row", id=gone)
    wait_for(lambda: bench.certificates().get("default-two", {}).get("id") not in (None, gone), "a new one")
    wait_for(lambda: config(bench)["certificateIds"] == [bench.certificates()["default-two"]["id"]], "it to be used")


def test_a_name_is_waited_for_while_its_holder_is_being_removed(bench, pairs):
    bench.translator.put(certificate("one", pairs[0]), certificate("two", pairs[1]), *with_tls("web", "one", "two"))
    bench.translator.wait_status("default/web")
    gone = bench.certificates()["default-two"]["id"]
    bench.rancher.control("configure", step_delays={"certificate.removing": 60.0})
    bench.rancher.control("remove-row", id=gone)
    wait_for(lambda: len([r for r in bench.rancher.requests(method="POST", type="certificate") if r["status"] == 422]) > 1,
             "the name to be refused twice")
    bench.rancher.control("configure", step_delays={})
    wait_for(lambda: bench.certificates().get("default-two", {}).get("id") not in (None, gone), "a new one")
    assert sorted(bench.certificates()) == ["default-one", "default-two"]
    wait_for(lambda: config(bench)["certificateIds"] == [bench.certificates()["default-two"]["id"]], "it to be used")


def test_keys_are_in_no_log(bench, pairs):
    bench.provider.kill()
    bench.provider.arguments += ["--log-level", "debug"]
    bench.start()
    bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"))
    bench.translator.wait_status("default/web")
    bench.provider.stop()
    text = "\n".join(bench.provider.lines)
    assert bench.rancher.secret_key not in text and bench.rancher.access_key not in text
    assert pairs[0].key.decode().splitlines()[1] not in text


def test_traffic_over_tls_follows_a_renewal(pairs):
    from lib.backend import Backend
    with Bench(dataplane=True) as bench, Backend("a") as pod:
        bench.services("web")
        bench.rancher.control("set-pods", uid="uid-web", pods=[pod.ip])
        host = "one.example.com"
        bench.translator.put(certificate("one", pairs[0]), *with_tls("web", "one"),
                             virtual_host("default/web", host, ("/", "default/web")))
        bench.translator.wait_status("default/web")
        entry = wait_for(lambda: [e for e in bench.rancher.traffic_addresses(WEB) if e[1] == 443], "port 443")[0]

        def shown():
            try:
                return request(*entry, host, "/", tls=True).certificate
            except OSError:
                return None
        wait_for(lambda: shown() == pairs[0].der, "the first certificate")
        bench.translator.put(certificate("one", pairs[1]))
        wait_for(lambda: shown() == pairs[1].der, "the second certificate")
