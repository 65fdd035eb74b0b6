# SPDX-License-Identifier: Apache-2.0
"""The table tests/cases/ingress-nginx.json is true of the original."""
from __future__ import annotations

import os
import time

import pytest

from lib.cluster import Cluster
from lib.ingress_cases import ROWS, World, problems_of
from lib.wait import wait_for
from standins.kube.client import KubeStandin

from .original import Original

pytestmark = pytest.mark.skipif("SLUICE_INGRESS_NGINX" not in os.environ, reason="scripts/test-real --ingress-nginx runs it")
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}


@pytest.fixture(scope="module")
def original():
    with KubeStandin("1.34") as kube, World(ROWS, "nginx") as world:
        cluster = Cluster(str(kube.kubeconfig))
        cluster.apply(CLASS, *world.objects(0))
        second = int(time.time())
        wait_for(lambda: int(time.time()) > second, "another second")
        cluster.apply(*world.objects(1))
        with Original(kube) as controller:
            controller.wait_synced(world.hosts())
            # The first and the last of them; workers that have not read the newest configuration yet answer, too, for a moment.
            ends = [row for row in ROWS if row["id"] == "PM-01"] + [ROWS[0], ROWS[-1]]
            wait_for(lambda: all(not problems_of(row, controller.address, controller.http, controller.https) for row in ends for _ in range(10)),
                     "all of its workers to have taken everything over")
            yield controller


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_the_original_does_so(original, row):
    assert not problems_of(row, original.address, original.http, original.https)
