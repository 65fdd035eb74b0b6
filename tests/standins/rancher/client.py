# SPDX-License-Identifier: Apache-2.0
"""Starts the stand-in as a process of its own and speaks with it: for tests, the demo and the benchmark.

Needs only the standard library, and may be used from any thread.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import shutil
import tempfile
import urllib.parse
from typing import Any

from lib.answer import Answer, read

from ..process import StandinProcess


class RancherStandin(contextlib.AbstractContextManager):
    """One stand-in process. Arguments are those of its command line: `RancherStandin(hosts=3, dataplane=False,
    settings={"step_delay": 0.0})`. Use it as a context manager."""

    def __init__(self, settings: dict[str, Any] | None = None, dataplane: bool = True, **options: Any):
        # Made here and not there, so that it also goes when the process is killed.
        self._directory = tempfile.mkdtemp(prefix="rancher-standin-")
        arguments = ["--exit-with-stdin", "--directory", self._directory, *([] if dataplane else ["--no-dataplane"])]
        for name, value in options.items():
            arguments += ["--" + name.replace("_", "-"), str(value)]
        for name, value in (settings or {}).items():
            arguments += ["--set", f"{name}={json.dumps(value)}"]
        self._process: StandinProcess | None = StandinProcess("standins.rancher", *arguments)
        self.info = self._process.info
        self.url: str = self.info["url"]  # what to give as CATTLE_URL
        self.base: str = self.info["base"]
        self.project: str = self.info["project"]

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.stop()
            shutil.rmtree(self._directory, ignore_errors=True)

    def __exit__(self, *_: Any) -> None:
        self.stop()

    # Where it is

    @property
    def environment(self) -> dict[str, str]:
        """What tells provider-rancher of it."""
        return {"CATTLE_URL": self.url, "CATTLE_ACCESS_KEY": self.access_key, "CATTLE_SECRET_KEY": self.secret_key}

    @property
    def access_key(self) -> str:
        return self.info["access_key"]

    @property
    def secret_key(self) -> str:
        return self.info["secret_key"]

    # Control

    def control(self, command: str, /, **arguments: Any) -> Any:
        """Run a control command (README.md lists them) and return its result."""
        assert self._process is not None
        result = self._process.control(command, **arguments)
        if command == "rotate-key":
            self.info.update(result)
        return result

    def rows(self, type_: str, removed: bool = False) -> list[dict[str, Any]]:
        """All rows of a type or table, past the API's paging and permissions."""
        return self.control("rows", type=type_, removed=removed)

    def requests(self, **wanted: Any) -> list[dict[str, Any]]:
        """The request log: `since=number`, `method=`, `type=`, `id=`, `name=`, `action=`, `status=`."""
        return self.control("requests", **wanted)

    def writes(self) -> list[dict[str, Any]]:
        """The requests of the provider that are no GET."""
        return [r for r in self.requests() if r["method"] != "GET" and "provider" in (r["user_agent"] or "")]

    def traffic_addresses(self, balancer: str) -> list[tuple[str, int]]:
        return [(address, port) for address, port in self.control("traffic", lb=balancer)]

    def fault(self, fault: str, /, **scope: Any) -> int:
        """Inject a fault; returns its number for `clear`."""
        return self.control("fault", fault=fault, **scope)

    def clear(self, number: int | None = None) -> None:
        self.control("clear-faults", number=number)

    def settle(self, timeout: float = 60.0) -> None:
        self.control("settle", timeout=timeout)

    def balancer(self, name: str) -> dict[str, Any] | None:
        return next((r for r in self.rows("loadBalancerService") if r["name"] == name), None)

    # The API, as an ordinary client

    def api(self, method: str, path: str, body: Any = None) -> Answer:
        """One request. A path without a leading slash is taken within the project."""
        if not path.startswith("/"):
            path = f"/v2-beta/projects/{self.project}/{path}"
        pair = f"{self.access_key}:{self.secret_key}".encode()
        sent = {"Accept": "application/json", "Authorization": "Basic " + base64.b64encode(pair).decode()}
        data = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.base).netloc, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, data, sent)
            return read(connection.getresponse())
