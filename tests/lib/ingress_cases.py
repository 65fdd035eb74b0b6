# SPDX-License-Identifier: Apache-2.0
"""The table tests/cases/ingress-nginx.json: what a controller of such Ingresses has to do, as objects and requests.

Each row has hosts and Services of its own (`a.test` stands for `a.ROW.test`), so that all of them can be in one cluster at once.
"""
from __future__ import annotations

import base64
import json
import pathlib
import re
from typing import Any, Iterable

from . import certs
from .answer import Answer
from .backend import Backend
from .raw_http import exchange

TABLE = json.loads((pathlib.Path(__file__).resolve().parents[1] / "cases/ingress-nginx.json").read_text())
ROWS: list[dict[str, Any]] = TABLE["rows"]
OPTION_ROWS: list[dict[str, Any]] = TABLE["options"]
PREFIX = "nginx.ingress.kubernetes.io/"
NAMESPACE = "default"
HOST = re.compile(r"\b([a-z0-9]+)\.test\b")


def of_row(row: dict[str, Any], value: Any) -> Any:
    """The value with the names of the row in place of those of the table."""
    if isinstance(value, str):
        return HOST.sub(rf"\1.{row['id'].lower()}.test", value)
    if isinstance(value, list):
        return [of_row(row, item) for item in value]
    return {of_row(row, key): of_row(row, item) for key, item in value.items()} if isinstance(value, dict) else value


def name_in(row: dict[str, Any], name: str) -> str:
    return f"{name}-{row['id'].lower()}"


def ingress_of(row: dict[str, Any], index: int, class_name: str, wish: dict[str, Any]) -> dict[str, Any]:
    def backend(pool: str) -> dict[str, Any]:
        return {"service": {"name": name_in(row, pool), "port": {"number": port_of(row)}}}
    name = name_in(row, f"i{index}")
    annotations = {PREFIX + key: value for key, value in with_row(row, wish.get("annotations", {})).items()}
    rules = [{**({"host": of_row(row, host)} if host else {}),
              "http": {"paths": [{"path": path, "pathType": kind, "backend": backend(pool)} for path, kind, pool in paths]}}
             for host, paths in wish.get("rules", [[wish.get("host", "a.test"), wish.get("paths", [["/", "Prefix", "app"]])]])]
    spec: dict[str, Any] = {"ingressClassName": class_name, "rules": rules}
    if wish.get("tls"):
        spec["tls"] = [{"hosts": of_row(row, wish["tls"]), "secretName": name_in(row, "tls")}]
    if wish.get("default"):
        spec["defaultBackend"] = backend(wish["default"])
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
            "spec": spec}


def port_of(row: dict[str, Any]) -> int:
    """Of the Services; the one on which backends listen where these stand at the cluster addresses."""
    return 8080 if row.get("cluster") else 80


def pools_of(row: dict[str, Any]) -> set[str]:
    """Names of the pools that its paths lead to; `none` has no endpoints, `missing` no Service."""
    pools = {path[2] for wish in row["ingresses"] for _, paths in wish.get("rules", [["", wish.get("paths", [["/", "Prefix", "app"]])]]) for path in paths}
    return pools | {wish["default"] for wish in row["ingresses"] if wish.get("default")} | set(row.get("pools", []))


def with_row(row: dict[str, Any], settings: dict[str, str]) -> dict[str, str]:
    """With the name of the row in place of {row}."""
    return {key: value.replace("{row}", row["id"].lower()) for key, value in of_row(row, settings).items()}


def config_map(name: str, data: dict[str, str], namespace: str = NAMESPACE) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


class World:
    """All rows, or some, as objects. Use it as a context manager: it has the backends."""

    def __init__(self, rows: Iterable[dict[str, Any]], class_name: str):
        self.rows = list(rows)
        self.class_name = class_name
        self.backends = {name: Backend(name) for name in sorted(set().union(*map(pools_of, self.rows)) - {"none", "missing"})}

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        for backend in self.backends.values():
            backend.stop()

    def hosts(self) -> set[str]:
        """That are served by their names."""
        return {of_row(row, rule[0]) for row in self.rows if not row.get("is_refused")
                for wish in row["ingresses"] if "canary" not in wish.get("annotations", {})
                for rule in wish.get("rules", [[wish.get("host", "a.test")]]) if rule[0][:1] not in ("", "*")}

    def services(self, row: dict[str, Any]) -> Iterable[dict[str, Any]]:
        for pool in sorted(pools_of(row) - {"missing"}):
            name = name_in(row, pool)
            ips = [self.backends[pool].ip] if pool in self.backends else []
            at = {"clusterIP": ips[0]} if row.get("cluster") else {}
            yield {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": NAMESPACE},
                   "spec": {"ports": [{"name": "web", "port": port_of(row), "targetPort": 8080}], **at}}
            ips = [] if at else ips
            yield {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                   "metadata": {"name": f"{name}-a", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": name}},
                   "ports": [{"name": "web", "port": 8080, "protocol": "TCP"}],
                   "endpoints": [{"addresses": [ip], "conditions": {"ready": True, "serving": True}} for ip in ips]}

    def secrets(self, row: dict[str, Any]) -> Iterable[dict[str, Any]]:
        names = sorted({name for wish in row["ingresses"] for name in of_row(row, wish.get("tls", []))})
        if names:
            pair = certs.self_signed(*names)
            yield {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": name_in(row, "tls"), "namespace": NAMESPACE},
                   "data": {"tls.crt": base64.b64encode(pair.pem).decode(), "tls.key": base64.b64encode(pair.key).decode()}}
        for name, keys in row.get("secrets", {}).items():
            yield {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name_in(row, name), "namespace": NAMESPACE},
                   "data": {key: base64.b64encode(text.encode()).decode() for key, text in keys.items()}}

    def maps(self, row: dict[str, Any]) -> Iterable[dict[str, Any]]:
        for name, data in row.get("maps", {}).items():
            yield config_map(name_in(row, name), data)

    def objects(self, age: int) -> list[dict[str, Any]]:
        """Those that are there at first (0), then the second Ingress of each row (1), and so on: Kubernetes counts ages in seconds."""
        found = [ingress_of(row, age + 1, self.class_name, row["ingresses"][age]) for row in self.rows if age < len(row["ingresses"])]
        if age == 0:
            found = [item for row in self.rows for kind in (self.services, self.secrets, self.maps) for item in kind(row)] + found
        return found


def ask(row: dict[str, Any], wish: dict[str, Any], address: str, http: int, https: int) -> Answer:
    method, target, host = wish.get("method", "GET"), of_row(row, wish.get("target", "/")), of_row(row, wish.get("host", "a.test"))
    body = b"x" * wish.get("body", 0)
    headers = {"Host": host, **of_row(row, wish.get("headers", {})), "Connection": "close"}
    if body or method == "POST":
        headers["Content-Length"] = str(len(body))
    if wish.get("user"):
        headers["Authorization"] = "Basic " + base64.b64encode(wish["user"].encode()).decode()
    text = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in headers.items()) + "\r\n"
    is_tls = wish.get("tls", False)
    return exchange(address, https if is_tls else http, text.encode("latin-1") + body, sni=host.split(":")[0] if is_tls else None, tls=is_tls)


def problems_of(row: dict[str, Any], address: str, http: int, https: int) -> dict[str, list[str]]:
    """By request: what of the row is not so."""
    def problems(wish: dict[str, Any]) -> list[str]:
        try:
            return differences(row, wish, ask(row, wish, address, http, https))
        except OSError as error:
            return [f"no answer: {error}"]
    return {f"{index}: {wish.get('method', 'GET')} {wish['target']}": found for index, wish in enumerate(row["asks"]) if (found := problems(wish))}


def differences(row: dict[str, Any], wish: dict[str, Any], got: Answer) -> list[str]:
    """How the answer differs from what the row wants."""
    found = [] if got.status == wish["status"] else [f"status {got.status}, not {wish['status']}"]
    for name, value in of_row(row, wish.get("answer", {})).items():
        if got.headers.get(name.lower()) != value:
            found.append(f"{name}: {got.headers.get(name.lower())!r}, not {value!r}")
    for name, pattern in of_row(row, wish.get("matches", {})).items():
        if not re.fullmatch(pattern, got.headers.get(name.lower(), "")):
            found.append(f"{name}: {got.headers.get(name.lower())!r} does not match {pattern!r}")
    found += [f"{name} is there: {got.headers[name.lower()]!r}" for name in wish.get("lacks", []) if name.lower() in got.headers]
    backend = got.headers.get("x-backend")
    wanted = wish.get("pool", "app" if wish["status"] == 200 else None)
    if backend != wanted:
        return [*found, f"it reached {backend}, not {wanted}"]
    return found + list(seen_differences(row, wish, got)) if backend and not found else found


def seen_differences(row: dict[str, Any], wish: dict[str, Any], got: Answer) -> Iterable[str]:
    if wish.get("method") == "HEAD":
        return
    seen = got.json
    headers = {name.lower(): value for name, value in seen["headers"]}
    if "gets" in wish and seen["target"] != of_row(row, wish["gets"]):
        yield f"the backend got {seen['target']}, not {of_row(row, wish['gets'])}"
    for name, value in of_row(row, wish.get("sees", {})).items():
        if headers.get(name.lower()) != value:
            yield f"the backend saw {name}: {headers.get(name.lower())!r}, not {value!r}"
    for name in wish.get("sees_not", []):
        if name.lower() in headers:
            yield f"the backend saw {name}: {headers[name.lower()]!r}"
