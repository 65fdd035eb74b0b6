# SPDX-License-Identifier: Apache-2.0
"""The Ingress `web` that many tests begin with: foo.bar.com/foo to the Service `web`, and a Service `second` that it does not lead to yet."""
from __future__ import annotations

import contextlib
from typing import Callable

from .backend import Backend
from .cluster import Cluster
from .line import Line
from .traffic import request
from .wait import wait_for

HOST = "foo.bar.com"


def deploy(cluster: Cluster, backends: Callable[[str], Backend], service: str) -> None:
    """A Service with one pod."""
    cluster.apply(cluster.service(service), cluster.slice(service, [backends(service).ip]))


def reaches(line: Line, cluster: Cluster, path: str, backend: str, ingress: str = "web") -> None:
    """Waits until a request for that path, through the load balancer of an Ingress, arrives at a backend."""
    def arrives():
        with contextlib.suppress(OSError, ValueError, IndexError):
            got = request(*line.entries(ingress, cluster.namespace)[0], HOST, path)
            return got.status == 200 and got.json["name"] == backend
    wait_for(arrives, f"{path} to reach {backend}", 120)


def serve(line: Line, cluster: Cluster, backends: Callable[[str], Backend]) -> None:
    """Creates the Ingress, and waits until it serves and shows its address."""
    for service in ("web", "second"):
        deploy(cluster, backends, service)
    cluster.apply(cluster.ingress("web", [{"host": HOST, "paths": [("/foo", "Prefix", "web", 80)]}]))
    reaches(line, cluster, "/foo", "web")
    cluster.wait_addresses("web", 1)


def with_second(cluster: Cluster) -> dict:
    """The same Ingress with a further path, to `second`."""
    return cluster.ingress("web", [{"host": HOST, "paths": [("/foo", "Prefix", "web", 80), ("/second", "Prefix", "second", 80)]}])


def change(line: Line, cluster: Cluster) -> None:
    """Adds that path: the change goes the whole way."""
    cluster.apply(with_second(cluster))
    reaches(line, cluster, "/second", "second")
