# SPDX-License-Identifier: Apache-2.0
"""The tables of tests/cases/ingress-nginx through the whole line: what ingress-nginx itself does (tests/ingress_nginx) is done by both proxies,
but for what a row says of them."""
from __future__ import annotations

import time

import pytest

from lib.ingress_asks import Asker
from lib.ingress_cases import ROWS, World
from lib.local_proxy import PATIENCE
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}


@pytest.fixture(scope="module", params=["nginx", "haproxy"])
def line(request):
    with World(ROWS, "nginx") as world, ProxyLine(request.param, translator=["--ingress-nginx"]) as whole:
        whole.name = request.param
        whole.cluster.apply(CLASS, *world.objects(0))
        for age in range(1, world.ages()):
            second = int(time.time())
            wait_for(lambda second=second: int(time.time()) > second, "another second, in which the younger ones are made")
            whole.cluster.apply(*world.objects(age))
        whole.cluster.wait_addresses(world.last(), timeout=90)
        whole.asker = Asker(world, whole.proxy.address, whole.proxy.http, whole.proxy.https)
        # nginx needs a reload to pass TLS through, and workers of before take connections until they have heard of it.
        for row in world.rows_with("ssl-passthrough"):
            if whole.name not in row.get("differs", {}):
                wait_for(lambda row=row: not whole.asker.problems(row), f"{row['id']} to be served as it says", PATIENCE)
        yield whole


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_the_line_does_what_the_original_did(line, row):
    """Or something else, and the row says why: then it is no longer true when it does the same."""
    found, why = line.asker.problems(row), row.get("differs", {}).get(line.name)
    assert not found if why is None else found, why or found
