# SPDX-License-Identifier: Apache-2.0
"""Many realistic objects at once, and a steady stream of changes to them, for benchmarks."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import random
import uuid
from dataclasses import dataclass, fields
from typing import Any

from . import admission
from .pki import Authority
from .resources import BY_PLURAL, ENDPOINT_SLICES, INGRESSES, SECRETS, SERVICES, Resource
from .state import State
from .store import Record
from .wire import monotonic_ns

YIELD_EVERY = 250
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SLICE_MANAGER = "endpointslice-controller.k8s.io"
OWNED = ("labels", "annotations", "ownerReferences")


class BadRequest(ValueError):
    """The command makes no sense."""


@dataclass
class Load:
    """What to make. Objects number i of each kind belong together: ingress, its service, its slice, its
    secret.

    padding_bytes makes each Ingress larger by an annotation of that size. Endpoints have addresses that nobody has, or those
    of `addresses` in turn.
    """

    count: int = 100
    prefix: str = "app"
    namespaces: int = 10
    namespace_prefix: str = "bench"
    ingress_class: str | None = None
    annotations: dict[str, str] | None = None
    paths: int = 1
    endpoints: int = 2
    secrets: bool = False
    padding_bytes: int = 0
    addresses: list[str] | None = None
    first: int = 0
    seed: int = 1

    @classmethod
    def parse(cls, given: dict[str, Any]) -> Load:
        """Reads the JSON form."""
        known = {entry.name for entry in fields(cls)}
        if given.keys() - known:
            raise BadRequest(f"bulk knows {sorted(known)}, not {sorted(given.keys() - known)}")
        load = cls(**given)
        if load.count < 0 or load.namespaces < 1 or load.paths < 1 or load.endpoints < 0:
            raise BadRequest("bulk needs at least one namespace and one path, and no negative numbers")
        return load

    def namespace(self, index: int) -> str:
        """The namespace of the objects number `index`."""
        return f"{self.namespace_prefix}-{index % self.namespaces}"

    def name(self, index: int) -> str:
        """Their name."""
        return f"{self.prefix}-{index:05d}"


async def load(state: State, wanted: Load) -> dict[str, Any]:
    """Makes the objects. They are stored whole: no request is logged and no validation is paid for."""
    maker = _Maker(state, wanted)
    for index in range(min(wanted.namespaces, wanted.count)):
        admission.make_namespace(state, f"{wanted.namespace_prefix}-{index}")
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
    return {"revision": state.store.rev, "count": wanted.count}


class _Maker:
    """Builds objects as their usual makers leave them."""

    def __init__(self, state: State, wanted: Load):
        self._state, self._wanted = state, wanted
        self._random = random.Random(wanted.seed)
        self._now = admission.now()
        self._managed: dict[str, list[dict[str, Any]]] = {}
        self._pair = Authority("bench").issue("bench", names=("bench.example.org",)) if wanted.secrets else None
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
        head |= {"creationTimestamp": self._now, "labels": self._labels(name), "managedFields": self._managed[resource.plural]}
        return self._state.store.put(resource, {"metadata": head | meta} | rest)

    def _labels(self, name: str) -> dict[str, str]:
        return {
            "app.kubernetes.io/instance": name,
            "app.kubernetes.io/managed-by": "Helm",
            "app.kubernetes.io/name": self._wanted.prefix,
            "app.kubernetes.io/version": "1.16.0",
            "helm.sh/chart": f"{self._wanted.prefix}-0.1.0",
        }

    def service(self, index: int) -> Record:
        """A ClusterIP Service with one named port."""
        name, namespace = self._wanted.name(index), self._wanted.namespace(index)
        spec = {
            "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}],
            "selector": {"app.kubernetes.io/instance": name, "app.kubernetes.io/name": self._wanted.prefix},
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
        }
        obj = {"spec": spec, "status": {"loadBalancer": {}}}
        self._state.allocator.fill(obj, None, self._state.profile)
        annotations = {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}
        return self._put(SERVICES, "helm", index, {"annotations": annotations}, obj)

    def _address(self) -> str:
        self._next_address += 1
        number = self._next_address
        if self._wanted.addresses:
            return self._wanted.addresses[number % len(self._wanted.addresses)]
        return f"10.{128 + (number >> 16) % 128}.{number >> 8 & 255}.{number & 255}"

    def slice(self, index: int, service: Record) -> None:
        """The slice of a Service."""
        name, namespace = self._wanted.name(index), self._wanted.namespace(index)
        endpoints = []
        for pod in range(self._wanted.endpoints):
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
            "labels": dict(sorted((self._labels(name) | labels).items())),
            "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": self._now},
            "ownerReferences": [owner],
        }
        ports = [{"name": "http", "protocol": "TCP", "port": 8080}]
        rest = {"addressType": "IPv4", "endpoints": endpoints or None, "ports": ports}
        self._put(ENDPOINT_SLICES, "kube-controller-manager", index, meta, rest)

    def secret(self, index: int) -> None:
        """A TLS Secret; all of them hold the same pair."""
        assert self._pair is not None
        pair = {"tls.crt": self._pair.certificate, "tls.key": self._pair.key}
        data = {key: base64.b64encode(pem).decode() for key, pem in pair.items()}
        meta = {"name": f"{self._wanted.name(index)}-tls"}
        self._put(SECRETS, "cert-manager", index, meta, {"data": data, "type": "kubernetes.io/tls"})

    def ingress(self, index: int) -> None:
        """An Ingress of one host, as kubectl apply leaves it."""
        wanted = self._wanted
        name, namespace = wanted.name(index), wanted.namespace(index)
        host = f"{name}.{namespace}.example.org"
        backend = {"service": {"name": name, "port": {"number": 80}}}
        paths = [
            {"path": "/" if number == 0 else f"/part-{number}", "pathType": "Prefix", "backend": backend}
            for number in range(wanted.paths)
        ]
        spec: dict[str, Any] = {"ingressClassName": wanted.ingress_class} if wanted.ingress_class is not None else {}
        if wanted.secrets:
            spec["tls"] = [{"hosts": [host], "secretName": f"{name}-tls"}]
        spec["rules"] = [{"host": host, "http": {"paths": paths}}]
        meta = {"annotations": {}, "name": name, "namespace": namespace}
        applied = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": spec}
        annotations = {LAST_APPLIED: json.dumps(applied, separators=(",", ":")) + "\n"} | (wanted.annotations or {})
        if wanted.padding_bytes:
            annotations["example.org/padding"] = "x" * wanted.padding_bytes
        annotations = dict(sorted(annotations.items()))
        rest = {"spec": spec, "status": {"loadBalancer": {}}}
        self._put(INGRESSES, "kubectl-client-side-apply", index, {"annotations": annotations}, rest)


def _owned(value: Any) -> dict[str, Any]:
    """FieldsV1 of everything in a new object."""
    return {f"f:{key}": _owned(inner) for key, inner in value.items()} if isinstance(value, dict) else {}


async def churn(state: State, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Changes objects one after the other, and tells when each change was published (CLOCK_MONOTONIC)."""
    plural, count = given.get("resource", "endpointslices"), int(given.get("count", 1))
    if plural not in BY_PLURAL or plural not in _CHANGES:
        raise BadRequest(f"churn changes {sorted(_CHANGES)}")
    table = state.store.table(BY_PLURAL[plural])
    prefix, interval = given.get("prefix", ""), float(given.get("interval_ms", 1)) / 1000
    keys = [key for key in table.keys if key.rpartition("/")[2].startswith(prefix)]
    if not keys:
        raise BadRequest("there is nothing to change")
    chosen = random.Random(given.get("seed", 1)).choices(keys, k=count)
    loop = asyncio.get_running_loop()
    start, out = loop.time(), []
    for number, key in enumerate(chosen):
        await asyncio.sleep(max(0.0, start + number * interval - loop.time()))
        record = table.records.get(key)
        if record is None:
            continue
        obj = record.obj()
        _CHANGES[plural](obj, number)
        instant = monotonic_ns()
        changed = state.store.put(record.resource, obj)
        out.append({"key": key, "revision": changed.rev, "at_ns": instant})
    return out


def _change_slice(obj: dict[str, Any], number: int) -> None:
    endpoints = obj.get("endpoints") or []
    if endpoints:
        endpoints[number % len(endpoints)]["addresses"] = [f"10.64.{number >> 8 & 255}.{number & 255}"]
    obj["metadata"]["generation"] = obj["metadata"].get("generation", 0) + 1


def _change_ingress(obj: dict[str, Any], number: int) -> None:
    for rule in obj["spec"].get("rules") or ():
        if rule.get("http"):
            rule["http"]["paths"][0]["path"] = f"/change-{number}"
    obj["metadata"]["generation"] = obj["metadata"].get("generation", 0) + 1


def _change_service(obj: dict[str, Any], number: int) -> None:
    obj["spec"]["ports"][0]["targetPort"] = 8000 + number % 1000


_CHANGES = {"endpointslices": _change_slice, "ingresses": _change_ingress, "services": _change_service}
