# SPDX-License-Identifier: Apache-2.0
"""The public API as tests use it: through a kubeconfig, with the administrator's credentials, against the
stand-in or against a real cluster alike."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import ssl
import tempfile
import urllib.parse
from pathlib import Path
from typing import Any

import yaml

from lib.answer import Answer, read

# What a kind is called in paths, and where it is served.
KINDS = {
    "Ingress": ("ingresses", "networking.k8s.io/v1"),
    "IngressClass": ("ingressclasses", "networking.k8s.io/v1"),
    "EndpointSlice": ("endpointslices", "discovery.k8s.io/v1"),
    "Lease": ("leases", "coordination.k8s.io/v1"),
    "Service": ("services", "v1"),
    "Endpoints": ("endpoints", "v1"),
    "Secret": ("secrets", "v1"),
    "Namespace": ("namespaces", "v1"),
    "Event": ("events", "v1"),
    "Pod": ("pods", "v1"),
    "Node": ("nodes", "v1"),
    "ConfigMap": ("configmaps", "v1"),
}
CLUSTER_SCOPED = ("namespaces", "ingressclasses", "nodes")
API_VERSIONS = dict(KINDS.values())
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


USER_AGENT = "sluice-tests/1 (linux)"
TIMEOUT_S = 30.0


class ApiFailure(Exception):
    """An answer of 400 or more."""

    def __init__(self, response: Answer):
        super().__init__(f"{response.status}: {response.body[:500]!r}")
        self.status = response.status


def write_private(path: Path, content: bytes) -> None:
    """A file that only its owner reads, by rename, so that a reader never sees half of it."""
    fresh = path.with_name(path.name + ".new")
    fresh.touch(mode=0o600)
    fresh.write_bytes(content)
    fresh.replace(path)


def write_kubeconfig(path: Path, user: dict[str, Any], **cluster: Any) -> None:
    """One cluster, one user and one context."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user", "namespace": "default"}}],
    }
    write_private(path, yaml.safe_dump(document, sort_keys=False).encode())


class Access:
    """Where the server is, and the credentials, from a kubeconfig of one cluster and one user."""

    def __init__(self, kubeconfig: Path):
        document = yaml.safe_load(kubeconfig.read_text())
        cluster, self._user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        parts = urllib.parse.urlsplit(cluster["server"].rstrip("/"))
        self.host, self.port, self.prefix = parts.hostname or "", parts.port, parts.path
        self.tls = self._context(cluster) if parts.scheme == "https" else None

    def _context(self, cluster: dict[str, Any]) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if "certificate-authority-data" in cluster:
            context.load_verify_locations(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if "client-certificate-data" in self._user:
            with tempfile.NamedTemporaryFile() as pair:
                for key in ("client-certificate-data", "client-key-data"):
                    pair.write(base64.b64decode(self._user[key]) + b"\n")
                pair.flush()
                context.load_cert_chain(pair.name)
        return context

    def headers(self) -> dict[str, str]:
        """The Authorization header, if the user has a token."""
        token = self._user.get("token")
        if "tokenFile" in self._user:
            token = Path(self._user["tokenFile"]).read_text().strip()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def connect(self, timeout_s: float) -> http.client.HTTPConnection:
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)


def path_of(plural: str, namespace: str = "", name: str = "", subresource: str = "", api_version: str = "") -> str:
    version = api_version or API_VERSIONS[plural]
    parts = ["apis" if "/" in version else "api", version]
    if namespace and plural not in CLUSTER_SCOPED:
        parts += ["namespaces", namespace]
    return "/" + "/".join([*parts, plural, *filter(None, [name, subresource])])


class KubeApi:
    """A client of the Kubernetes API."""

    def __init__(self, kubeconfig: str | Path):
        self.kubeconfig = Path(kubeconfig)
        self.access = Access(self.kubeconfig)

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", headers: dict[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own. Never raises for a status."""
        sent = {"User-Agent": USER_AGENT, "Accept": "application/json", **self.access.headers(), **(headers or {})}
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent["Content-Type"] = content_type
        with contextlib.closing(self.access.connect(TIMEOUT_S)) as connection:
            connection.request(method, self.access.prefix + path, data, sent)
            return read(connection.getresponse())

    def _done(self, response: Answer) -> Any:
        if response.status >= 400:
            raise ApiFailure(response)
        return response.json

    def get(self, plural: str, name: str, namespace: str = "default") -> dict[str, Any]:
        """One object. Raises ApiFailure."""
        return self._done(self.request("GET", path_of(plural, namespace, name)))

    def find(self, plural: str, name: str, namespace: str = "default") -> dict[str, Any] | None:
        """One object, or nothing."""
        response = self.request("GET", path_of(plural, namespace, name))
        return None if response.status == 404 else self._done(response)

    def list(self, plural: str, namespace: str = "", **query: str) -> dict[str, Any]:
        """A collection."""
        text = "?" + urllib.parse.urlencode(query) if query else ""
        return self._done(self.request("GET", path_of(plural, namespace) + text))

    def create(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Creates an object; its namespace defaults to `default`."""
        plural, version = KINDS[obj["kind"]][0], obj["apiVersion"]
        path = path_of(plural, obj["metadata"].get("namespace", "default"), api_version=version)
        return self._done(self.request("POST", path, obj))

    def patch(
        self, plural: str, name: str, patch: Any, namespace: str = "default", subresource: str = "", content_type: str = MERGE
    ) -> dict[str, Any]:
        path = path_of(plural, namespace, name, subresource)
        return self._done(self.request("PATCH", path, patch, content_type))

    def delete(self, plural: str, name: str, namespace: str = "default") -> None:
        """It may be gone already."""
        response = self.request("DELETE", path_of(plural, namespace, name))
        if response.status != 404:
            self._done(response)

    def ensure_namespace(self, name: str) -> None:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        response = self.request("POST", path_of("namespaces"), namespace)
        if response.status != 409:
            self._done(response)

