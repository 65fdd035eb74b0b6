# SPDX-License-Identifier: Apache-2.0
"""Many realistic objects at once, and a steady stream of changes to them, for benchmarks."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import random
import uuid
from dataclasses import dataclass
from typing import Any

from lib.certs import self_signed

from . import admission
from .resources import BY_PLURAL, ENDPOINT_SLICES, INGRESSES, SECRETS, SERVICES, Resource
from .state import State
from .store import Record

YIELD_EVERY = 250
APP = "app.kubernetes.io/instance"
ENDPOINTS = 2  # of a Service
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SLICE_MANAGER = "endpointslice-controller.k8s.io"
OWNED = ("labels", "annotations", "ownerReferences")
LABELS = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/version": "1.16.0", "helm.sh/chart": "app-0.1.0"}


@dataclass
class Load:
    """What to make. Objects number i of each kind belong together: ingress, its service, its slice, its
    secret. Endpoints have addresses that nobody has, or those of `addresses` in turn."""

    count: int = 100
    namespaces: int = 10
    annotations: dict[str, str] | None = None
    secrets: bool = False
    addresses: list[str] | None = None
    first: int = 0
    seed: int = 1

    def namespace(self, index: int) -> str:
        return f"bench-{index % self.namespaces}"

    def name(self, index: int) -> str:
        return f"app-{index:05d}"


async def load(state: State, wanted: Load) -> None:
    """Makes the objects. They are stored whole: no request is logged and no validation is paid for."""
    maker = _Maker(state, wanted)
    for index in range(min(wanted.namespaces, wanted.count)):
        admission.make_namespace(state, f"bench-{index}")
    for index in range(wanted.first, wanted.first + wanted.count):
        maker.slice(index, maker.service(index))
        if wanted.secrets:
            maker.secret(index)
        maker.ingress(index)
        if index % YIELD_EVERY == 0:
            await asyncio.sleep(0)
    # What was made here stays; the collector need not walk it again in the middle of a measurement.
    gc.collect()
    gc.freeze()


class _Maker:
    """Builds objects as their usual makers leave them."""

    def __init__(self, state: State, wanted: Load):
        self._state, self._wanted = state, wanted
        self._random = random.Random(wanted.seed)
        self._now = admission.now()
        self._managed: dict[str, list[dict[str, Any]]] = {}
        self._pair = self_signed("bench.example.org") if wanted.secrets else None
        self._next_address = 0

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _put(self, resource: Resource, manager: str, index: int, meta: dict[str, Any], rest: dict[str, Any]) -> Record:
        if resource.plural not in self._managed:
            entry = {"manager": manager, "operation": "Update", "apiVersion": resource.hub.api_version, "time": self._now}
            fields = _owned({"metadata": {key: value for key, value in meta.items() if key in OWNED}} | rest)
            self._managed[resource.plural] = [entry | {"fieldsType": "FieldsV1", "fieldsV1": fields}]
        name = self._wanted.name(index)
        head = {"name": name, "namespace": self._wanted.namespace(index), "uid": self._uid(), "resourceVersion": "0"}
        head |= {"generation": 1} if resource.generation else {}
        head |= {"creationTimestamp": self._now, "labels": LABELS | {APP: name}, "managedFields": self._managed[resource.plural]}
        return self._state.store.put(resource, {"metadata": head | meta} | rest)

    def service(self, index: int) -> Record:
        name, namespace = self._wanted.name(index), self._wanted.namespace(index)
        spec = {
            "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}],
            "selector": {APP: name},
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
        }
        obj = {"spec": spec, "status": {"loadBalancer": {}}}
        self._state.allocator.fill(obj, None)
        annotations = {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}
        return self._put(SERVICES, "helm", index, {"annotations": annotations}, obj)

    def _address(self) -> str:
        self._next_address += 1
        number = self._next_address
        if self._wanted.addresses:
            return self._wanted.addresses[number % len(self._wanted.addresses)]
        return f"10.{128 + (number >> 16) % 128}.{number >> 8 & 255}.{number & 255}"

    def slice(self, index: int, service: Record) -> None:
        name, namespace = self._wanted.name(index), self._wanted.namespace(index)
        endpoints = []
        for pod in range(ENDPOINTS):
            target = {"kind": "Pod", "namespace": namespace, "name": f"{name}-7d4b9c6f5d-{pod:05d}", "uid": self._uid()}
            endpoints.append({
                "addresses": [self._address()],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "targetRef": target,
                "nodeName": f"node-{pod % 16}",
                "zone": "zone-" + "abc"[pod % 3],
            })
        labels = {"endpointslice.kubernetes.io/managed-by": SLICE_MANAGER, "kubernetes.io/service-name": name}
        owner = {"apiVersion": "v1", "kind": "Service", "name": name, "uid": service.uid}
        owner |= {"controller": True, "blockOwnerDeletion": True}
        meta = {
            "name": f"{name}-x{index % 97:02d}",
            "generateName": f"{name}-",
            "labels": LABELS | {APP: name} | labels,
            "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": self._now},
            "ownerReferences": [owner],
        }
        ports = [{"name": "http", "protocol": "TCP", "port": 8080}]
        rest = {"addressType": "IPv4", "endpoints": endpoints, "ports": ports}
        self._put(ENDPOINT_SLICES, "kube-controller-manager", index, meta, rest)

    def secret(self, index: int) -> None:
        """A TLS Secret; all of them hold the same pair."""
        assert self._pair is not None
        pair = {"tls.crt": self._pair.pem, "tls.key": self._pair.key}
        data = {key: base64.b64encode(pem).decode() for key, pem in pair.items()}
        meta = {"name": f"{self._wanted.name(index)}-tls"}
        self._put(SECRETS, "cert-manager", index, meta, {"data": data, "type": "kubernetes.io/tls"})

    def ingress(self, index: int) -> None:
        """An Ingress of one host, as kubectl apply leaves it."""
        wanted = self._wanted
        name, namespace = wanted.name(index), wanted.namespace(index)
        host = f"{name}.{namespace}.example.org"
        backend = {"service": {"name": name, "port": {"number": 80}}}
        spec: dict[str, Any] = {}
        if wanted.secrets:
            spec["tls"] = [{"hosts": [host], "secretName": f"{name}-tls"}]
        spec["rules"] = [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]
        meta = {"annotations": {}, "name": name, "namespace": namespace}
        applied = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": spec}
        annotations = {LAST_APPLIED: json.dumps(applied, separators=(",", ":")) + "\n"} | (wanted.annotations or {})
        annotations = dict(sorted(annotations.items()))
        rest = {"spec": spec, "status": {"loadBalancer": {}}}
        self._put(INGRESSES, "kubectl-client-side-apply", index, {"annotations": annotations}, rest)


def _owned(value: Any) -> dict[str, Any]:
    """FieldsV1 of everything in a new object."""
    return {f"f:{key}": _owned(inner) for key, inner in value.items()} if isinstance(value, dict) else {}


async def churn(state: State, plural: str, count: int, interval_s: float) -> int:
    """Changes objects one after the other; how many changes there were."""
    table = state.store.table(BY_PLURAL[plural])
    loop = asyncio.get_running_loop()
    start = loop.time()
    for number, key in enumerate(random.Random(1).choices(table.keys, k=count)):
        await asyncio.sleep(max(0.0, start + number * interval_s - loop.time()))
        obj = table.records[key].obj()
        if plural == "ingresses":
            obj["spec"]["rules"][0]["http"]["paths"][0]["path"] = f"/change-{number}"
        else:
            obj["endpoints"][number % len(obj["endpoints"])]["addresses"] = [f"10.64.{number >> 8 & 255}.{number & 255}"]
        obj["metadata"]["generation"] += 1
        state.store.put(table.resource, obj)
    return count
