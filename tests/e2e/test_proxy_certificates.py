# SPDX-License-Identifier: Apache-2.0
"""Certificates that OpenSSL, as the proxies use it, refuses: the pair before them stays in use, and the owner is told."""
from __future__ import annotations

import pytest

from lib.backend import Backend
from lib.certs import self_signed, weak_keys
from lib.local_proxy import LB, certificate, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

WEAK = ("rsa-1024", "p-192")


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request):
    with Backend("pod") as pod, proxy_class(request.param)() as one:
        one.send(certificate("default", self_signed("default.test")), pool("web", pod), host("web.test", ("/", "web")),
                 one.balancer(https=True, default_certificate="default"))
        one.commit()
        one.wait_applied()
        yield one


def shown(proxy, name: str = "web.test") -> bytes:
    return proxy.request(name, tls=True).certificate


@pytest.mark.parametrize("kind", WEAK)
def test_a_renewal_to_a_weak_one(apply, proxy, kind):
    """TLS goes on with the pair that was there, and with the next good one."""
    good, better = self_signed("web.test"), self_signed("web.test")
    apply(certificate("web", good, "web.test"))
    assert shown(proxy) == good.der
    apply(certificate("web", self_signed("web.test", key=weak_keys()[kind]), "web.test"))
    assert shown(proxy) == good.der
    assert "default/web" in proxy.translator.notices(LB)["CertificateRefused"]
    proxy.provider.wait_event("certificate-unusable", "key too small")
    apply(certificate("web", better, "web.test"))
    assert shown(proxy) == better.der
    wait_for(lambda: "CertificateRefused" not in proxy.translator.notices(LB), "the notice to be taken back", 30)


@pytest.mark.parametrize("kind", WEAK)
def test_a_weak_one_from_the_start(apply, proxy, kind):
    """Its names get the default certificate; the others go on."""
    default = shown(proxy, "nobody.test")
    apply(certificate("web", self_signed("web.test", key=weak_keys()[kind]), "web.test"))
    assert shown(proxy) == default
    assert proxy.reached("web.test", tls=True) == "pod"
    assert "CertificateRefused" in proxy.translator.notices(LB)
