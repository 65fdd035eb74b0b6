# SPDX-License-Identifier: Apache-2.0
"""Small HTTP servers that play the pods: each on its own loopback address, answering with its name and what it saw."""
from __future__ import annotations

import functools
import http.server
import itertools
import json
import os
import socket
import threading

_hosts = itertools.count(2)


@functools.cache
def _network() -> tuple[str, socket.socket]:
    """A network that no other test process of this machine uses, and the abstract socket that claims it while this process lives."""
    for number in range(75):
        prefix = f"127.{125 + (os.getpid() + number) % 75}"
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0sluice-backends-{prefix}")
            return prefix, claim
        except OSError:
            claim.close()
    raise OSError("every network for backends is in use")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.count += 1
        body = json.dumps({"name": self.server.backend_name, "path": self.path,
                           "host": self.headers.get("Host")}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    count = 0
    backend_name = ""


class Backend:
    """A pod: `Backend("a").ip` is its address, `port` its container port."""

    def __init__(self, name: str, port: int = 8080, ip: str | None = None):
        number = next(_hosts)
        self.ip = ip or f"{_network()[0]}.{number // 250}.{number % 250 + 1}"
        self.server = _Server((self.ip, port), _Handler)
        self.server.backend_name = name
        self.name = name
        self.port = port
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def count(self) -> int:
        return self.server.count

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self) -> "Backend":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
