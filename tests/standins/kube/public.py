# SPDX-License-Identifier: Apache-2.0
"""The public API as tests use it: through a kubeconfig, with the administrator's credentials, against the
stand-in or against a real cluster alike."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import subprocess
import tempfile
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

import yaml

API_VERSIONS = {
    "ingresses": "networking.k8s.io/v1",
    "ingressclasses": "networking.k8s.io/v1",
    "endpointslices": "discovery.k8s.io/v1",
    "leases": "coordination.k8s.io/v1",
    "services": "v1",
    "endpoints": "v1",
    "secrets": "v1",
    "namespaces": "v1",
    "events": "v1",
    "pods": "v1",
}
CLUSTER_SCOPED = ("namespaces", "ingressclasses", "nodes")
KINDS = {
    "Ingress": "ingresses",
    "IngressClass": "ingressclasses",
    "EndpointSlice": "endpointslices",
    "Lease": "leases",
    "Service": "services",
    "Endpoints": "endpoints",
    "Secret": "secrets",
    "Namespace": "namespaces",
    "Event": "events",
    "Pod": "pods",
}
MERGE, JSON, STRATEGIC = (f"application/{kind}+json" for kind in ("merge-patch", "json-patch", "strategic-merge-patch"))


class ApiFailure(Exception):
    """An answer of 400 or more."""

    def __init__(self, response: Response):
        super().__init__(f"{response.status}: {response.body[:500]!r}")
        self.response = response
        self.status = response.status


@dataclass
class Response:
    """An answer, read whole."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)


class Access:
    """Where the server is, and the credentials, from the current context of a kubeconfig."""

    def __init__(self, kubeconfig: Path):
        document = yaml.safe_load(kubeconfig.read_text())
        context = _named(document, "contexts", document["current-context"])["context"]
        cluster = _named(document, "clusters", context["cluster"])["cluster"]
        self._user = _named(document, "users", context["user"])["user"]
        self.server = cluster["server"].rstrip("/")
        parts = urllib.parse.urlsplit(self.server)
        self.host, self.port, self.prefix = parts.hostname or "", parts.port, parts.path
        self.tls = self._context(cluster, kubeconfig.parent) if parts.scheme == "https" else None
        self._folder = kubeconfig.parent

    def _context(self, cluster: dict[str, Any], folder: Path) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if "certificate-authority-data" in cluster:
            context.load_verify_locations(
                cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
            )
        elif "certificate-authority" in cluster:
            context.load_verify_locations(cafile=folder / cluster["certificate-authority"])
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if "client-certificate-data" in self._user:
            with tempfile.NamedTemporaryFile() as pair:
                for key in ("client-certificate-data", "client-key-data"):
                    pair.write(base64.b64decode(self._user[key]) + b"\n")
                pair.flush()
                context.load_cert_chain(pair.name)
        elif "client-certificate" in self._user:
            context.load_cert_chain(
                folder / self._user["client-certificate"], folder / self._user["client-key"]
            )
        return context

    def headers(self) -> dict[str, str]:
        """The Authorization header, if the user has a token."""
        token = self._user.get("token")
        if "tokenFile" in self._user:
            token = (self._folder / self._user["tokenFile"]).read_text().strip()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def connect(self, timeout_s: float) -> http.client.HTTPConnection:
        """A new connection."""
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)


def _named(document: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    return next(entry for entry in document[section] if entry["name"] == name)


def path_of(
    plural: str, namespace: str = "", name: str = "", subresource: str = "", api_version: str = ""
) -> str:
    """The path of a collection, an object or a subresource."""
    version = api_version or API_VERSIONS[plural]
    parts = ["apis" if "/" in version else "api", version]
    if namespace and plural not in CLUSTER_SCOPED:
        parts += ["namespaces", namespace]
    return "/" + "/".join([*parts, plural, *filter(None, [name, subresource])])


class KubeApi:
    """A client of the Kubernetes API, and kubectl with the same kubeconfig."""

    def __init__(
        self, kubeconfig: str | Path, kubectl: str = "", user_agent: str = "sluice-tests/1 (linux)"
    ):
        self.kubeconfig = Path(kubeconfig)
        self.access = Access(self.kubeconfig)
        self.kubectl_program = kubectl or os.environ.get("KUBECTL", "kubectl")
        self._agent = user_agent
        self._cache = tempfile.TemporaryDirectory(prefix="kubectl-cache-")

    def close(self) -> None:
        """Removes what was made for kubectl."""
        self._cache.cleanup()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
        timeout_s: float = 30,
    ) -> Response:
        """One request on a connection of its own. Never raises for a status."""
        connection = self.access.connect(timeout_s)
        try:
            sent = {
                "User-Agent": self._agent,
                "Accept": "application/json",
                **self.access.headers(),
                **(headers or {}),
            }
            data = None
            if body is not None:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                sent["Content-Type"] = content_type
            connection.request(method, self.access.prefix + path, data, sent)
            answer = connection.getresponse()
            return Response(
                answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
            )
        finally:
            connection.close()

    def _done(self, response: Response) -> Any:
        if response.status >= 400:
            raise ApiFailure(response)
        return response.json()

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
        return self._done(self.request("POST", self._collection(obj), obj))

    def _collection(self, obj: dict[str, Any]) -> str:
        return path_of(
            KINDS[obj["kind"]], obj["metadata"].get("namespace", "default"), api_version=obj["apiVersion"]
        )

    def replace(self, obj: dict[str, Any], subresource: str = "") -> dict[str, Any]:
        """Puts a whole object."""
        path = f"{self._collection(obj)}/{obj['metadata']['name']}" + (
            f"/{subresource}" if subresource else ""
        )
        return self._done(self.request("PUT", path, obj))

    def patch(
        self,
        plural: str,
        name: str,
        patch: Any,
        namespace: str = "default",
        subresource: str = "",
        content_type: str = MERGE,
    ) -> dict[str, Any]:
        """Patches an object, by merge unless told otherwise."""
        return self._done(
            self.request("PATCH", path_of(plural, namespace, name, subresource), patch, content_type)
        )

    def delete(self, plural: str, name: str, namespace: str = "default", missing_ok: bool = True) -> None:
        """Deletes an object."""
        response = self.request("DELETE", path_of(plural, namespace, name))
        if not (missing_ok and response.status == 404):
            self._done(response)

    def ensure_namespace(self, name: str) -> None:
        """Makes a namespace unless it exists."""
        response = self.request(
            "POST",
            path_of("namespaces"),
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        )
        if response.status != 409:
            self._done(response)

    def watch(
        self, plural: str, namespace: str = "", timeout_s: float = 30, **query: str
    ) -> Iterator[dict[str, Any]]:
        """Frames of a watch, until it ends or the time is up."""
        deadline = time.monotonic() + timeout_s
        connection = self.access.connect(timeout_s)
        try:
            text = urllib.parse.urlencode(
                {"watch": "true", "timeoutSeconds": str(int(timeout_s) + 1), **query}
            )
            connection.request(
                "GET",
                f"{self.access.prefix}{path_of(plural, namespace)}?{text}",
                None,
                {"User-Agent": self._agent, "Accept": "application/json", **self.access.headers()},
            )
            answer = connection.getresponse()
            if answer.status >= 400:
                raise ApiFailure(Response(answer.status, {}, answer.read()))
            while (left := deadline - time.monotonic()) > 0:
                if connection.sock:
                    connection.sock.settimeout(left)
                line = answer.readline()
                if not line:
                    return
                yield json.loads(line)
        except TimeoutError:
            return
        finally:
            connection.close()

    def wait(
        self,
        plural: str,
        name: str,
        test: Callable[[dict[str, Any] | None], Any],
        namespace: str = "default",
        timeout_s: float = 20,
    ) -> dict[str, Any] | None:
        """Waits until `test` of the object (None while absent) is true. Returns the object. Raises
        TimeoutError."""
        deadline = time.monotonic() + timeout_s
        current = self.find(plural, name, namespace)
        while not test(current):
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(
                    f"{plural} {namespace}/{name}: not as expected after {timeout_s} s: {json.dumps(current)}"
                )
            revision = current["metadata"]["resourceVersion"] if current else ""
            selected = {"fieldSelector": f"metadata.name={name}", "resourceVersion": revision}
            for frame in self.watch(plural, namespace, left, **selected):
                if frame["type"] == "ERROR":
                    break
                if frame["type"] == "BOOKMARK":
                    continue
                current = None if frame["type"] == "DELETED" else frame["object"]
                if test(current):
                    return current
            current = self.find(plural, name, namespace)
        return current

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True, timeout_s: float = 60
    ) -> subprocess.CompletedProcess:
        """Runs kubectl; output is captured as text."""
        command = [
            self.kubectl_program,
            "--kubeconfig",
            str(self.kubeconfig),
            "--cache-dir",
            self._cache.name,
            *arguments,
        ]
        environment = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "HOME")}
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            env=environment | {"HOME": self._cache.name},
        )
        if check and done.returncode != 0:
            raise AssertionError(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done
