# SPDX-License-Identifier: Apache-2.0
"""The tables of tests/cases/ingress-nginx are true of the original."""
from __future__ import annotations

import os
import time

import pytest

from lib.certs import self_signed
from lib.cluster import Cluster
from lib.ingress_asks import Asker
from lib.ingress_cases import OPTION_ROWS, PREFIX, ROWS, World, config_map, with_row
from lib.wait import wait_for
from standins.kube.client import KubeStandin

from .original import Original

pytestmark = pytest.mark.skipif("SLUICE_INGRESS_NGINX" not in os.environ, reason="scripts/test-real --ingress-nginx runs it")
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}


ASKED = [row for row in ROWS if "unasked" not in row]  # a row says why it is not


def apply_all(cluster: Cluster, world: World) -> None:
    """The Ingresses of each row in seconds of their own, for it goes by age."""
    cluster.apply(CLASS, *world.objects(0))
    for age in range(1, world.ages()):
        second = int(time.time())
        wait_for(lambda second=second: int(time.time()) > second, "another second")
        cluster.apply(*world.objects(age))


@pytest.fixture(scope="module")
def original():
    with KubeStandin("1.34") as kube, World(ASKED, "nginx", has_names=False) as world:
        apply_all(Cluster(str(kube.kubeconfig)), world)
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
    assert not found if why is None else found, why or found


# ---- the global options ----

OPTIONS_ASKED = [row for row in OPTION_ROWS if "unasked" not in row]


@pytest.fixture(scope="module")
def optioned():
    """The rows with options, and an Ingress whose HSTS tells which of them are in force."""
    mark = self_signed("mark.test")
    with KubeStandin("1.34") as kube, World(OPTIONS_ASKED, "nginx", has_names=False) as world:
        cluster = Cluster(str(kube.kubeconfig))
        apply_all(cluster, world)
        made = cluster.ingress("mark", [{"host": "mark.test", "paths": [("/", "Prefix", "app-cf-01", 80)]}], {PREFIX + "enable-global-auth": "false"},
                               ingressClassName="nginx")
        made["spec"]["tls"] = [{"hosts": ["mark.test"], "secretName": "mark"}]
        cluster.apply(cluster.tls_secret("mark", mark.pem, mark.key), made)
        with Original(kube) as controller:
            wait_for(lambda: not controller.missing(world.hosts() | {"mark.test"}), "ingress-nginx to have read all hosts", 60, 0.2)
            yield cluster, world, Asker(world, controller.address, controller.http, controller.https)


@pytest.mark.parametrize("index", range(len(OPTIONS_ASKED)), ids=[row["id"] for row in OPTIONS_ASKED])
def test_the_original_does_so_with_options(optioned, index):
    cluster, world, asker = optioned
    row = OPTIONS_ASKED[index]
    has_hsts = "hsts" not in row["options"]
    said = world.reachable(with_row(row, row["options"])) | ({"hsts-max-age": str(1000 + index)} if has_hsts else {})
    cluster.apply(config_map("original", {"worker-processes": "1"} | said))

    def is_in_force() -> bool:
        found = asker.hsts_of(row)
        return found is not None and found.startswith(f"max-age={1000 + index};") if has_hsts else found == ""
    wait_for(is_in_force, "the options to be in force", 60)
    why = row.get("original")
    if why is not None:
        assert asker.problems(row), why
        return
    # Its Lua takes pools over in its own time.
    found: list[object] = []
    try:
        wait_for(lambda: found.append(asker.problems(row)) or not found[-1], "the row to be served as it says", 20)
    except AssertionError:
        assert not found[-1]
        raise
