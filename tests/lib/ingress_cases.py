# SPDX-License-Identifier: Apache-2.0
"""The tables of tests/cases/ingress-nginx: what a controller of such Ingresses has to do, as objects and requests.

Each row has hosts and Services of its own (`a.test` stands for `a.ROW.test`), so that all of them can be in one cluster at once.
"""
from __future__ import annotations

import base64
import json
import pathlib
import re
import ssl
from typing import Any, Iterable

from . import certs
from .addresses import Address
from .backend import NETWORK, Backend

Row = dict[str, Any]

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "cases/ingress-nginx"
GROUPS: dict[str, Any] = json.loads((FOLDER / "groups.json").read_text())
TABLES = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in GROUPS["tables"]}
ALL: list[Row] = [row for table in TABLES.values() for row in table.get("rows", []) + table.get("options", [])]
ROWS: list[Row] = [row for table in TABLES.values() for row in table.get("rows", []) if "asks" in row]
OPTION_ROWS: list[Row] = [row for table in TABLES.values() for row in table.get("options", []) if "asks" in row]
PREFIX = "nginx.ingress.kubernetes.io/"
NAMESPACE = "default"
HOST = re.compile(r"\b([a-z0-9]+)\.test\b")
SERVICE_HOST = re.compile(r"http://([a-z]+)-[a-z0-9-]+\.default\.svc\.cluster\.local")
# Of clients, and what the Secrets of rows have for them.
GOOD, FOREIGN = certs.Authority("good"), certs.Authority("foreign")
CLIENTS = {"good": GOOD.sign("good.client"), "foreign": FOREIGN.sign("stranger")}
SECURE = certs.self_signed("be.example")  # of backends that speak TLS
ROOT_OF_BACKENDS = certs.Authority("root")
DEEP = certs.chained("be.example", ROOT_OF_BACKENDS, 2)  # with two authorities between
TEXTS = {"{good-ca}": GOOD.pem.decode(), "{foreign-ca}": FOREIGN.pem.decode(), "{backend-ca}": SECURE.pem.decode(), "{root-ca}": ROOT_OF_BACKENDS.pem.decode(),
         "{client-cert}": CLIENTS["good"].pem.decode(), "{client-key}": CLIENTS["good"].key.decode()}


def of_row(row: Row, value: Any) -> Any:
    """The value with the names of the row in place of those of the table."""
    if isinstance(value, str):
        return HOST.sub(rf"\1.{row['id'].lower()}.test", value)
    if isinstance(value, list):
        return [of_row(row, item) for item in value]
    return {of_row(row, key): of_row(row, item) for key, item in value.items()} if isinstance(value, dict) else value


def name_in(row: Row, name: str) -> str:
    return f"{name}-{row['id'].lower()}"


def ingress_of(row: Row, index: int, class_name: str, wish: dict[str, Any]) -> dict[str, Any]:
    def backend(pool: str) -> dict[str, Any]:
        return {"service": {"name": name_in(row, pool), "port": {"number": port_of(row)}}}
    name = name_in(row, f"i{index}")
    annotations = {PREFIX + key: value for key, value in with_row(row, wish.get("annotations", {})).items()}
    rules = [{**({"host": of_row(row, host)} if host else {}),
              **({"http": {"paths": [{"path": path, "pathType": kind, "backend": backend(pool)} for path, kind, pool in paths]}} if paths else {})}
             for host, paths in rules_of(wish)]
    spec: dict[str, Any] = {"ingressClassName": class_name, **({"rules": rules} if rules else {})}
    if "tls" in wish:
        secret = wish.get("secret", "tls")
        spec["tls"] = [{**({"hosts": of_row(row, wish["tls"])} if wish["tls"] else {}), **({"secretName": name_in(row, secret)} if secret else {})}]
    if wish.get("default"):
        spec["defaultBackend"] = backend(wish["default"])
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
            "spec": spec}


def port_of(row: Row) -> int:
    """Of the Services; the one on which backends listen where these stand at the cluster addresses."""
    return 8080 if row.get("cluster") is True else 80


def rules_of(wish: dict[str, Any]) -> list[Any]:
    return wish.get("rules", [[wish.get("host", "a.test"), wish.get("paths", [["/", "Prefix", "app"]])]])


def pools_of(row: Row) -> set[str]:
    """Names of the pools that its paths lead to; `none` has no endpoints, `missing` no Service."""
    pools = {path[2] for wish in row["ingresses"] for _, paths in rules_of(wish) for path in paths}
    return pools | {wish["default"] for wish in row["ingresses"] if wish.get("default")} | set(row.get("pools", []))


def endpoints_of(row: Row, pool: str) -> list[str]:
    """Names of its backends; `refusing` is an address where nobody listens, `secure` speaks TLS, `sick` answers 503 to /healthz."""
    return row.get("endpoints", {}).get(pool, [] if pool in ("none", "missing") else [pool])


def with_row(row: Row, settings: dict[str, str]) -> dict[str, str]:
    """With the name of the row in place of {row}."""
    return {key: value.replace("{row}", row["id"].lower()) for key, value in of_row(row, settings).items()}


def config_map(name: str, data: dict[str, str], namespace: str = NAMESPACE) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def backend_of(name: str) -> Backend:
    """`secure...` speaks TLS, `securenew...` only TLS 1.3; `securedeep...` has a certificate with two authorities below the one that is trusted."""
    if not name.startswith("secure"):
        return Backend(name)
    return Backend(name, tls=DEEP if name.startswith("securedeep") else SECURE,
                   least=ssl.TLSVersion.TLSv1_3 if name.startswith("securenew") else None)


class World:
    """All rows, or some, as objects. Use it as a context manager: it has the backends. Without `has_names` there is nobody who knows the
    addresses of Services by their names, and so URLs of annotations have addresses in their place."""

    def __init__(self, rows: Iterable[Row], class_name: str, has_names: bool = True):
        self.rows = list(rows)
        self.class_name = class_name
        self.has_names = has_names
        names = {name for row in self.rows for pool in pools_of(row) for name in endpoints_of(row, pool)} - {"refusing"}
        self.backends = {name: backend_of(name) for name in sorted(names)}
        if "sick" in self.backends:
            self.backends["sick"].is_healthy = False
        self.refusing = Address(NETWORK)

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        self.refusing.release()
        for backend in self.backends.values():
            backend.stop()

    def hosts(self) -> set[str]:
        """That are served by their names."""
        return {of_row(row, rule[0]) for row in self.rows if not row.get("is_refused")
                for wish in row["ingresses"] if "canary" not in wish.get("annotations", {})
                for rule in rules_of(wish) if rule[0][:1] not in ("", "*")}

    def services(self, row: Row) -> Iterable[dict[str, Any]]:
        for pool in sorted(pools_of(row) - {"missing"}):
            name = name_in(row, pool)
            at = {"clusterIP": "None" if row["cluster"] == "none" else self.backends[pool].ip} if row.get("cluster") else {}
            yield {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": NAMESPACE},
                   "spec": {"ports": [{"name": "web", "port": port_of(row), "targetPort": 8080, **row.get("ports", {}).get(pool, {})}], **at}}
            ips = [] if row.get("cluster") is True else [self.refusing.ip if item == "refusing" else self.backends[item].ip for item in endpoints_of(row, pool)]
            yield {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                   "metadata": {"name": f"{name}-a", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": name}},
                   "ports": [{"name": "web", "port": 8080, "protocol": "TCP"}],
                   "endpoints": [{"addresses": [ip], "conditions": {"ready": True, "serving": True}} for ip in ips]}

    def secrets(self, row: Row) -> Iterable[dict[str, Any]]:
        names = sorted({name for wish in row["ingresses"] for name in of_row(row, wish.get("tls", []))})
        if names:
            pair = certs.self_signed(*names)
            yield {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": name_in(row, "tls"), "namespace": NAMESPACE},
                   "data": {"tls.crt": base64.b64encode(pair.pem).decode(), "tls.key": base64.b64encode(pair.key).decode()}}
        for name, keys in row.get("secrets", {}).items():
            kind = "kubernetes.io/tls" if "tls.crt" in keys and name != "opaque" else "Opaque"
            yield {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name_in(row, name), "namespace": NAMESPACE},
                   "data": {key: base64.b64encode(TEXTS.get(text, text).encode()).decode() for key, text in keys.items()}}

    def maps(self, row: Row) -> Iterable[dict[str, Any]]:
        for name, data in row.get("maps", {}).items():
            yield config_map(name_in(row, name), data)

    def ingress(self, row: Row, age: int) -> dict[str, Any]:
        made = ingress_of(row, age + 1, self.class_name, row["ingresses"][age])
        made["metadata"]["annotations"] = self.reachable(made["metadata"]["annotations"])
        return made

    def reachable(self, settings: dict[str, str]) -> dict[str, str]:
        """Annotations, or options, with URLs that lead to the backends."""
        def url(found: re.Match[str]) -> str:
            return f"http://{self.backends[found[1]].ip}:8080" if found[1] in self.backends else found[0]
        return settings if self.has_names else {key: SERVICE_HOST.sub(url, value) for key, value in settings.items()}

    def objects(self, age: int) -> list[dict[str, Any]]:
        """Those that are there at first (0), then the second Ingress of each row (1), and so on: Kubernetes counts ages in seconds."""
        found = [self.ingress(row, age) for row in self.rows if age < len(row["ingresses"])]
        if age == 0:
            found = [item for row in self.rows for kind in (self.services, self.secrets, self.maps) for item in kind(row)] + found
        return found

    def last(self) -> str:
        """The name of the Ingress that is made last."""
        return self.objects(self.ages() - 1)[-1]["metadata"]["name"]

    def rows_with(self, annotation: str) -> list[Row]:
        return [row for row in self.rows if any(annotation in wish.get("annotations", {}) for wish in row["ingresses"])]

    def ages(self) -> int:
        return max(len(row["ingresses"]) for row in self.rows)
