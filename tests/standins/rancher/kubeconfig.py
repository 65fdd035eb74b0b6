# SPDX-License-Identifier: Apache-2.0
"""Where the Kubernetes API is and how to log in, from a kubeconfig file."""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from dataclasses import dataclass, field
from typing import Any

import yaml


@dataclass
class Cluster:
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None


def from_file(path: str) -> Cluster:
    """The cluster of a kubeconfig's current context."""
    with open(path, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    chosen = _named(config, "contexts", config.get("current-context"), "context")
    cluster = _named(config, "clusters", chosen["cluster"], "cluster")
    user = _named(config, "users", chosen["user"], "user") if chosen.get("user") else {}
    folder = os.path.dirname(os.path.abspath(path))
    headers = {}
    token = user.get("token")
    if not token and user.get("tokenFile"):
        with open(os.path.join(folder, user["tokenFile"]), encoding="utf-8") as file:
            token = file.read().strip()
    if token:
        headers["Authorization"] = f"Bearer {token}"
    elif user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}".encode()
        headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()
    url = cluster["server"].rstrip("/")
    return Cluster(url, headers, _tls(cluster, user, folder) if url.startswith("https:") else None)


def _named(config: dict[str, Any], section: str, name: str | None, member: str) -> dict[str, Any]:
    for item in config.get(section) or []:
        if item.get("name") == name:
            return item.get(member) or {}
    raise ValueError(f"kubeconfig: {section} has no {name!r}")


def _tls(cluster: dict[str, Any], user: dict[str, Any], folder: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if cluster.get("certificate-authority-data"):
        context.load_verify_locations(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    elif cluster.get("certificate-authority"):
        context.load_verify_locations(os.path.join(folder, cluster["certificate-authority"]))
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if user.get("client-certificate-data"):
        _load_pair(context, user["client-certificate-data"], user["client-key-data"])
    elif user.get("client-certificate"):
        context.load_cert_chain(os.path.join(folder, user["client-certificate"]),
                                os.path.join(folder, user["client-key"]))
    return context


def _load_pair(context: ssl.SSLContext, certificate: str, key: str) -> None:
    # The ssl module takes client certificates from files only.
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.b64decode(certificate) + b"\n" + base64.b64decode(key))
        file.flush()
        context.load_cert_chain(file.name)
