# SPDX-License-Identifier: Apache-2.0
"""provider-elb with pods behind the load balancers that it makes, and clients before them: the stand-in of AWS carries their requests."""
from __future__ import annotations

from typing import Any, Iterable

from .answer import Answer
from .backend import Backend, Pod
from .elb_bench import ElbBench
from .provider_link import Object, pool
from .raw_http import exchange
from .traffic import Load
from .wait import wait_for

WEB = "default/web"


class TrafficBench(ElbBench):
    """A pod tells the name of its pool, so an answer says which pool was asked."""

    def __init__(self, *arguments: Any, **settings: Any):
        super().__init__(*arguments, **settings)
        self.pods: list[Pod] = []
        self._fence = 0

    def stop(self) -> list[str]:
        complaints = super().stop()
        for pod in self.pods:
            pod.stop()
        return complaints

    # What is wanted

    def serve(self, *objects: Object, owner: str = WEB, gone: list[tuple[str, str]] | None = None) -> None:
        """Adds, replaces and removes objects in one commit, and waits until all of it is in force.

        A status speaks of a load balancer object; so that one has to follow, its class changes, which means nothing here."""
        self._fence += 1
        self.translator.put(*objects, commit=False)
        self.translator.remove(*(gone or []), commit=False)
        lb = {key: value for key, value in self.translator.objects["load-balancer", owner].items() if key != "rev"}
        self.translator.put({**lb, "class": f"fence-{self._fence}"})
        self.settle(owner)

    # Pods

    def pod(self, name: str, port: int = 8080, kind: type[Pod] = Backend) -> Any:
        """It has an address in the VPC, `inside`; its own one is where the stand-in finds it."""
        pod = kind(name, port)
        pod.inside = f"172.31.{1 + len(self.pods) // 200}.{10 + len(self.pods) % 200}"
        self.pods.append(pod)
        self.aws.control("reach", places={f"{pod.inside}:{pod.port}": f"{pod.ip}:{pod.port}"})
        return pod

    def end(self, pod: Pod) -> None:
        """As a pod ends that answers what it has been asked, once nobody asks it any more."""
        place = f"{pod.inside}:{pod.port}"
        wait_for(lambda: self.aws.control("under-way", place=place) == 0, f"the requests that {pod.name} has")
        pod.stop()

    def pool(self, name: str, *pods: Pod, ending: Iterable[Pod] = (), **more: Any) -> Object:
        """The pool `default/name` with these pods, or with one that is made for it; None for none at all. Those that are `ending` still serve."""
        listed = pods or (self.pod(f"default/{name}"),)
        endpoints = [{"ip": pod.inside, "port": pod.port, "active": True, "ready": True} for pod in listed if pod is not None]
        endpoints += [{"ip": pod.inside, "port": pod.port, "serving": True, "terminating": True} for pod in ending]
        item = pool(name, **more)
        item["endpoints"] = sorted(endpoints, key=lambda each: (each["ip"], each["port"]))
        return item

    # Clients

    def port(self, port: int = 80, owner: str = WEB, kind: str = "application") -> int:
        """Of 127.0.0.1, where this port of the balancer is served."""
        balancer = self.balancer(owner, kind)
        assert balancer is not None, f"{owner} has no load balancer"
        number = self.aws.port(balancer["dns_name"], port)
        assert number is not None, f"nobody listens on port {port} of {owner}"
        return number

    def ask(self, host: str, path: str = "/", port: int = 80, owner: str = WEB) -> Answer:
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        return exchange("127.0.0.1", self.port(port, owner), request.encode("latin-1"))

    def reached(self, host: str, path: str = "/", port: int = 80, owner: str = WEB) -> str | int:
        """The pool that was asked, or the status of an answer of the balancer itself."""
        return name_of(self.ask(host, path, port, owner))

    def load(self, *targets: tuple[str, str], owner: str = WEB, port: int = 80, clients: int = 2) -> Load:
        return Load("127.0.0.1", self.port(port, owner), list(targets), clients)


def name_of(answer: Answer) -> str | int:
    return answer.headers.get("x-backend", answer.status) if answer.status == 200 else answer.status

