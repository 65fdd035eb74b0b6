# SPDX-License-Identifier: Apache-2.0
"""`sluicectl web` as a child process, and a line for it."""
from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import subprocess
import urllib.parse
from typing import Any, Iterator, Self

from .answer import Answer, read
from .backend import NETWORK
from .certs import self_signed
from .ctl import Ctl
from .daemon import sanitizer_options
from .proxies import PROXIES
from .proxy_line import ProxyLine
from .served import SLUICECTL
from .wait import wait_for

PATIENCE_S = 60.0


class WebPage:
    """Use it as a context manager. `url` is the address that it has printed; `key` the part of it that nobody can guess."""

    def __init__(self, runtime: pathlib.Path, *arguments: str):
        self.command = [str(SLUICECTL), "web", "--runtime-dir", str(runtime), *arguments]
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        assert self.stop() in (0, None)

    def start(self) -> Self:
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **sanitizer_options()})
        self.url = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.key = parts.hostname, parts.port, parts.path.strip("/")
        return self

    def stop(self) -> int | None:
        """Its exit code; None if it had been stopped."""
        if self.process is None:
            return None
        self.process.terminate()
        return self._reap()

    def kill(self) -> None:
        self.process.kill()
        self._reap()

    def _reap(self) -> int:
        code = self.process.wait(timeout=PATIENCE_S)
        self.process.stdout.close()
        self.process = None
        return code

    def request(self, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
        """`path` as it is, without the key; a Host header among `headers` replaces ours."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host="Host" in (headers or {}), skip_accept_encoding=True)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            connection.endheaders()
            return read(connection.getresponse())

    def get(self, path: str = "", **query: object) -> Answer:
        return self.request(f"/{self.key}/{path}" + ("?" + urllib.parse.urlencode(query) if query else ""))

    def api(self, name: str, **query: object) -> Any:
        got = self.get(f"api/{name}", **query)
        assert got.status == 200, got.text
        return [json.loads(line) for line in got.text.splitlines()] if "ndjson" in got.headers["content-type"] else json.loads(got.text)


@contextlib.contextmanager
def web_line() -> Iterator[ProxyLine]:
    """A line with something to see: an Ingress with a route that is served and one that is not, and one that redirects."""
    with ProxyLine(PROXIES[0]) as running:
        cluster, pair = running.cluster, self_signed("web.test")
        cluster.apply(cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1", f"{NETWORK}.0.2"]), cluster.tls_secret("tls", pair.pem, pair.key),
                      cluster.ingress("web", [{"host": "web.test", "paths": [("/", "Prefix", "web", 80), ("/cart", "Prefix", "carts", 80)]}],
                                      tls=[{"hosts": ["web.test"], "secretName": "tls"}]),
                      cluster.ingress("old", [{"host": "old.test", "paths": [("/", "Prefix", "web", 80)]}],
                                      annotations={"sluice.io/redirect": "https://new.test"}))
        ctl = Ctl(running)
        wait_for(lambda: ctl("status").returncode == 0 and ctl.explain("old").get("state") == "applied" and not ctl.reasons("old"), "the line to be whole", PATIENCE_S)
        yield running
