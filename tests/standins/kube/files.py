# SPDX-License-Identifier: Apache-2.0
"""The files that clients find the server by: kubeconfigs, CA, token, and a directory as in a pod."""

from __future__ import annotations

import base64
import os
import shutil
import time
from pathlib import Path
from typing import Any

import yaml

from .pki import Pair


def write_secret(path: Path, content: bytes) -> None:
    """Writes a file that only its owner reads, by rename, so that a reader never sees half of it."""
    fresh = path.with_name(path.name + ".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    os.replace(fresh, path)


def kubeconfig(
    url: str, authority: bytes | None, user: dict[str, Any], name: str, namespace: str = "default"
) -> bytes:
    """A kubeconfig with one cluster, one user and one context."""
    cluster: dict[str, Any] = {"server": url}
    if authority is not None:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "standin",
        "clusters": [{"name": "standin", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [
            {"name": "standin", "context": {"cluster": "standin", "user": name, "namespace": namespace}}
        ],
    }
    return yaml.safe_dump(document, sort_keys=False).encode()


def certificate_user(pair: Pair) -> dict[str, str]:
    """The user entry that carries a client certificate."""
    return {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
    }


class ServiceAccountDirectory:
    """token, ca.crt and namespace, swapped together through the `..data` link as the kubelet does it."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, token: str, authority: bytes, namespace: str) -> None:
        """Makes a new time-stamped directory and turns the link to it."""
        stamp = time.strftime("..%Y_%m_%d_%H_%M_%S.") + str(time.time_ns() % 10**9)
        fresh = self.folder / stamp
        fresh.mkdir()
        for name, content in (
            ("token", token.encode()),
            ("ca.crt", authority),
            ("namespace", namespace.encode()),
        ):
            (fresh / name).write_bytes(content)
            visible = self.folder / name
            if not visible.is_symlink():
                visible.symlink_to(Path("..data") / name)
        data, link = self.folder / "..data", self.folder / "..data_tmp"
        old = os.readlink(data) if data.is_symlink() else None
        link.symlink_to(stamp)
        os.replace(link, data)
        if old:
            shutil.rmtree(self.folder / old, ignore_errors=True)
