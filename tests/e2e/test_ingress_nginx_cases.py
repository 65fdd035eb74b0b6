# SPDX-License-Identifier: Apache-2.0
"""The table tests/cases/ingress-nginx.json through the whole line: what ingress-nginx itself does (tests/ingress_nginx) is done by both proxies,
but for what a row says of them."""
from __future__ import annotations

import time

import pytest

from lib.ingress_cases import ROWS, World, problems_of
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}


@pytest.fixture(scope="module", params=["nginx", "haproxy"])
def line(request):
    with World(ROWS, "nginx") as world, ProxyLine(request.param, translator=["--ingress-nginx"]) as whole:
        whole.name = request.param
        whole.cluster.apply(CLASS, *world.objects(0))
        second = int(time.time())
        wait_for(lambda: int(time.time()) > second, "another second, in which the younger ones are made")
        whole.cluster.apply(*world.objects(1))
        last = [ingress["metadata"]["name"] for ingress in world.objects(1)][-1]
        whole.cluster.wait_addresses(last, timeout=90)
        yield whole


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_the_line_does_what_the_original_did(line, row):
    """Or something else, and the row says why: then it is no longer true when it does the same."""
    proxy = line.proxy
    found, why = problems_of(row, proxy.address, proxy.http, proxy.https), row.get("differs", {}).get(line.name)
    assert not found if why is None else found, why
