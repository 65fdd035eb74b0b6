# SPDX-License-Identifier: Apache-2.0
"""Makes examples/provider.py serve: one small HTTP server for each port of its load balancers, for faults that only requests can show."""
from __future__ import annotations

import contextlib
import http.client
import http.server
import sys
import threading
from typing import Any

Objects = dict[tuple[str, str], dict[str, Any]]


class Servers:
    """Those that run; apply() makes them agree with the objects of a provider."""

    def __init__(self, ip: str):
        self.ip = ip
        self.objects: Objects = {}
        self._running: dict[int, http.server.ThreadingHTTPServer] = {}

    def apply(self, objects: Objects) -> None:
        self.objects = dict(objects)
        wanted = {item["port"] for (kind, _), lb in objects.items() if kind == "load-balancer" for item in lb.get("listeners", [])}
        for port in wanted - self._running.keys():
            server = self._running[port] = Server((self.ip, port), Handler)
            server.servers = self
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        for port in self._running.keys() - wanted:
            server = self._running.pop(port)
            server.shutdown()
            server.server_close()

    def endpoint_of(self, host: str) -> tuple[str, int] | None:
        for (kind, _), item in self.objects.items():
            if kind == "virtual-host" and item.get("host") == host and ("load-balancer", item["load_balancer"]) in self.objects:
                pool = self.objects.get(("pool", item["rules"][0]["pool"]), {})
                return next(((e["ip"], e["port"]) for e in pool.get("endpoints", []) if e.get("active")), None)
        return None


class Server(http.server.ThreadingHTTPServer):
    servers: Servers
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        endpoint = self.server.servers.endpoint_of(self.headers.get("Host", ""))
        if endpoint is None:
            self.send_error(404)
            return
        try:
            with contextlib.closing(http.client.HTTPConnection(*endpoint, timeout=5)) as link:
                link.request("GET", self.path)
                got = link.getresponse()
        except (OSError, http.client.HTTPException):
            self.send_error(503)
            return
        self.send_response(got.status)
        self.send_header("X-Backend", got.headers.get("X-Backend", ""))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # pylint: disable=redefined-builtin
        pass


def servers_of_provider(provider: Any) -> Servers:
    """An argument is the loopback address to serve at; what it commits is served before it answers."""
    servers = Servers(next(word for word in sys.argv if word.startswith("127.")))
    take_commit = provider.take_commit

    def serve_commit(link: Any, objects: Objects, staged: Objects, address: Any) -> None:
        servers.apply({key: item for key, item in {**objects, **staged}.items() if item})
        take_commit(link, objects, staged, address)
    provider.take_commit = serve_commit
    return servers
