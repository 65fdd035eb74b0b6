# SPDX-License-Identifier: Apache-2.0
"""The whole line with AWS at its end: the two stand-ins (a real API server instead of the first when there is one), and our three daemons."""
from __future__ import annotations

import contextlib
from typing import Any

from standins.elb.client import Aws

from .backend import Pod
from .cluster import Cluster
from .daemon import Room
from .elb_bench import InAws, elb_provider
from .envtest import kube_server
from .line import ThreeDaemons
from .traffic import Traffic, request
from .wait import wait_for

ROUTER = "127.0.0.1"  # where the stand-in serves the traffic of all load balancers


class ElbLine(InAws, ThreeDaemons, Room):
    """Use it as a context manager. `aws` are settings of the stand-in; `provider` and `translator` are more options of theirs, `source` where the credentials
    come from."""

    def __init__(self, aws: dict[str, Any] | None = None, provider: list[str] | None = None, translator: list[str] | None = None, log_level: str = "info",
                 source: str = "environment"):
        super().__init__("line")
        self.kube = kube_server()
        self.aws = Aws(settings=aws)
        self.cluster = Cluster(str(self.kube.kubeconfig))
        level = ["--log-level", log_level]
        made = elb_provider(self.runtime, self.folder, self.aws, *level, *(provider or []), source=source)
        self.prepare(self.runtime, self.folder, self.kube.controller_kubeconfig, made, level, [*level, *(translator or [])])
        self.start()

    def stop(self) -> list[str]:
        complaints = self.end()
        self.aws.stop()
        self.kube.stop()
        return self.leave(complaints)

    def place(self, pod: Pod) -> str:
        """An address in the VPC, at which load balancers reach that pod: the provider takes no loopback ones."""
        address = "172.31." + pod.ip.split(".", 2)[2]
        self.aws.control("reach", places={f"{address}:{pod.port}": f"{pod.ip}:{pod.port}"})
        return address

    def entry(self, name: str, port: int = 80) -> tuple[str, int]:
        """Where a port of the load balancer with this DNS name is served."""
        return ROUTER, wait_for(lambda: self.aws.port(name, port), f"{name} to listen on {port}")

    def traffic(self, name: str, host: str, path: str = "/", port: int = 80) -> Traffic:
        return Traffic(*self.entry(name, port), host, path)

    def reached(self, name: str, host: str, path: str = "/", port: int = 80) -> str | None:
        """Name of the pod that answers; None while none does."""
        with contextlib.suppress(OSError, ValueError):
            number = self.aws.port(name, port)
            got = request(ROUTER, number, host, path) if number is not None else None
            return got.json["name"] if got is not None and got.status == 200 else None
        return None

    def wait_reaches(self, name: str, host: str, path: str, pod: str, port: int = 80) -> None:
        """`pod` is how the pod's name begins."""
        wait_for(lambda: (self.reached(name, host, path, port) or "").startswith(pod), f"{host}{path} to reach {pod}", 30)

    def settle(self) -> None:
        """All load balancers are as wanted, and their tags say so."""
        wait_for(lambda: all(b["tags"].get("sluice.io/applied", "changing") != "changing" for b in self.aws.balancers()), "the digests of what was applied", 30)
