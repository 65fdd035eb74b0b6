# SPDX-License-Identifier: Apache-2.0
"""Runs ingress-nginx as its image does, with Debian's nginx, in mounts of its own: it knows fixed paths only."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
from typing import Any

from lib.addresses import free_port
from lib.processes import WITH_US, descendants
from lib.raw_http import exchange
from lib.wait import wait_for

MODULES = ("ndk_http", "ngx_http_lua", "ngx_http_headers_more_filter", "ngx_http_set_misc", "ngx_stream")
# `mount` needs a folder to be there; a mount namespace keeps the rest of the machine out of it.
START = """
mkdir -p /etc/ingress-controller /tmp/nginx
mount -t tmpfs none /tmp/nginx
mount --bind "$ROOM/nginx" /etc/nginx
mount --bind "$ROOM/controller" /etc/ingress-controller
exec "$@"
"""
WANTED, DONE = "Configuration changes detected, backend reload required", "Backend successfully reloaded"
NGINX = """#!/bin/sh
exec /usr/sbin/nginx -g '{modules}user root;' "$@"
"""


class Original(contextlib.AbstractContextManager):
    """The controller of a cluster; `kube` is its API server. Use it as a context manager."""

    def __init__(self, kube: Any, *arguments: str):
        self.kube = kube
        self.arguments = arguments
        self.made = pathlib.Path(os.environ["SLUICE_INGRESS_NGINX"])
        self.room = pathlib.Path(tempfile.mkdtemp(prefix="sluice-ingress-nginx-"))
        self.address = "127.0.0.1"
        self.ports: dict[str, int] = {}
        self.process: subprocess.Popen | None = None
        self._streams: socket.socket | None = None

    def _listen(self) -> None:
        """Where it tells about TCP and UDP services, which are taken out; it looks first whether the port is free."""
        wait_for(lambda: self.process.poll() is not None or "Creating API client" in self.log(), "ingress-nginx to have looked at its ports")
        self._streams = socket.create_server((self.address, self.ports["stream"]))
        threading.Thread(target=self._drop, daemon=True).start()

    def _drop(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._streams.accept()
                with contextlib.closing(connection):
                    while connection.recv(65536):
                        pass

    @property
    def http(self) -> int:
        return self.ports["http"]

    @property
    def https(self) -> int:
        return self.ports["https"]

    def __enter__(self) -> "Original":
        shutil.copytree(self.made / "nginx", self.room / "nginx")
        for name in ("ssl", "auth", "geoip", "telemetry"):
            (self.room / "controller" / name).mkdir(parents=True)
        program = self.room / "nginx.sh"
        program.write_text(NGINX.format(modules="".join(f"load_module /usr/lib/nginx/modules/{name}_module.so; " for name in MODULES)))
        program.chmod(0o755)
        self.kube.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "original", "namespace": "default"},
                              "spec": {"nodeName": "node-1", "containers": [{"name": "controller", "image": "none"}]}})
        # Each worker takes over pools in its own time.
        self.kube.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "original", "namespace": "default"},
                              "data": {"worker-processes": "1"}})
        while len(set(self.ports.values())) < 8:
            self.ports = {name: free_port() for name in ("http", "https", "healthz", "status", "default-server", "ssl-passthrough-proxy", "profiler", "stream")}
        command = [str(self.made / "controller"), f"--kubeconfig={self.kube.kubeconfig}", "--update-status=false", "--disable-leader-election",
                   "--enable-annotation-validation", "--configmap=default/original", "--sync-rate-limit=10",
                   *(f"--{name}-port={port}" for name, port in self.ports.items()), *self.arguments]
        with (self.room / "log").open("wb") as log:
            self.process = subprocess.Popen([*WITH_US, "unshare", "--mount", "sh", "-euc", START, "sh", *command], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, env={**os.environ, "ROOM": str(self.room), "NGINX_BINARY": str(program),
                                                                           "POD_NAME": "original", "POD_NAMESPACE": "default"})
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        left = descendants(self.process.pid)
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        for one in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, 9)
        if self._streams is not None:
            self._streams.close()
        shutil.rmtree(self.room, ignore_errors=True)

    def log(self) -> str:
        return (self.room / "log").read_text(errors="replace")

    def wait_synced(self, hosts: set[str]) -> None:
        """It has read all that was there when it started: its configuration has these hosts, nginx has been told, and its Lua has pools."""
        def is_synced() -> bool:
            assert self.process.poll() is None, self.log()[-3000:]
            log = self.log()
            return not self.missing(hosts) and log.count(WANTED) == log.count(DONE) and self.has_pools(len(hosts))
        try:
            wait_for(is_synced, f"ingress-nginx to serve {len(hosts)} hosts", 60, 0.2)
        except AssertionError as problem:
            raise AssertionError(f"{problem}: {self.missing(hosts)}\n{self.log()[-3000:]}") from None

    def missing(self, hosts: set[str]) -> set[str]:
        """Those that its configuration does not have."""
        written = self.room / "nginx/nginx.conf"
        text = written.read_text() if written.exists() else ""
        return {host for host in hosts if f"## start server {host}\n" not in text}

    def has_pools(self, count: int) -> bool:
        """It has been told of so many; it takes them over within a second."""
        with contextlib.suppress(OSError, ValueError):
            told = exchange(self.address, self.ports["status"], b"GET /configuration/backends HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return sum(bool(pool.get("endpoints")) for pool in json.loads(told.body or b"[]")) >= count
        return False
