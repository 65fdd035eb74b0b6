# SPDX-License-Identifier: Apache-2.0
"""The tables of tests/cases/ingress-nginx are true of the original."""
from __future__ import annotations

import os
import time

import pytest

from lib.cluster import Cluster
from lib.ingress_asks import Asker
from lib.ingress_cases import ROWS, World
from lib.wait import wait_for
from standins.kube.client import KubeStandin

from .original import Original

pytestmark = pytest.mark.skipif("SLUICE_INGRESS_NGINX" not in os.environ, reason="scripts/test-real --ingress-nginx runs it")
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}


ASKED = [row for row in ROWS if "unasked" not in row]  # a row says why it is not


@pytest.fixture(scope="module")
def original():
    with KubeStandin("1.34") as kube, World(ASKED, "nginx", has_names=False) as world:
        cluster = Cluster(str(kube.kubeconfig))
        cluster.apply(CLASS, *world.objects(0))
        for age in range(1, world.ages()):
            second = int(time.time())
            wait_for(lambda second=second: int(time.time()) > second, "another second")
            cluster.apply(*world.objects(age))
        with Original(kube) as controller:
            controller.wait_synced(world.hosts())
            # The first and the last of them; workers that have not read the newest configuration yet answer, too, for a moment.
            ends = [row for row in ASKED if row["id"] in ("FLOW-01", "PM-01", "AF-22")]
            asker = Asker(world, controller.address, controller.http, controller.https)
            wait_for(lambda: all(not asker.problems(row) for row in ends for _ in range(10)), "all of its workers to have taken everything over")
            yield asker


@pytest.mark.parametrize("row", ASKED, ids=[row["id"] for row in ASKED])
def test_the_original_does_so(original, row):
    """Or something else, and the row says what: that was decided."""
    found, why = original.problems(row), row.get("original")
    assert not found if why is None else found, why
