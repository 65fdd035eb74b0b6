# SPDX-License-Identifier: Apache-2.0
"""Starts the stand-in as a process of its own and speaks with it: for tests, the demo and the benchmark.

Needs only the standard library, and may be used from any thread.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import select
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path
from typing import Any, Callable, TypeVar

_Self = TypeVar("_Self", bound="RancherStandin")

_TESTS = Path(__file__).resolve().parents[2]


class ControlError(Exception):
    """A control command was refused; the text says why."""


class ApiAnswer:
    """Status, headers and decoded body of an API request."""

    def __init__(self, status: int, headers: http.client.HTTPMessage, text: str):
        self.status = status
        self.headers = headers
        self.text = text

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class RancherStandin:
    """One stand-in process. Arguments are those of its command line: `RancherStandin(hosts=3,
    dataplane=False, state="/tmp/x", settings={"step_delay": 0.0})`; a list repeats an option. Use it as a
    context manager."""

    def __init__(self, settings: dict[str, Any] | None = None, dataplane: bool = True, security: bool = True,
                 ready_timeout: float = 60.0, start: bool = True, **options: Any):
        self._options = options
        self._settings = settings or {}
        self._dataplane = dataplane
        self._security = security
        self._ready_timeout = ready_timeout
        self._process: subprocess.Popen | None = None
        self._directory = ""
        self.info: dict[str, Any] = {}
        if start:
            self.start()

    # Life

    def start(self: _Self) -> _Self:
        environment = {**os.environ, "PYTHONPATH": str(_TESTS)}
        # Made here and not there, so that it also goes when the process is killed.
        self._directory = tempfile.mkdtemp(prefix="rancher-standin-")
        self._process = subprocess.Popen(
            [_python(), "-m", "standins.rancher", *self._arguments()], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=environment)
        self.info = json.loads(self._first_line())
        return self

    def stop(self) -> None:
        """End the process and its HAProxies."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def kill(self) -> None:
        """SIGKILL: nothing is put in order. The HAProxies go too; use control("restart") to keep them."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.stop()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    # Where it is

    @property
    def url(self) -> str:
        """http://host:port/v2-beta: what to give as CATTLE_URL."""
        return self.info["url"]

    @property
    def project_url(self) -> str:
        return self.info["project_url"]

    @property
    def base(self) -> str:
        return self.info["base"]

    @property
    def access_key(self) -> str:
        return self.info["access_key"]

    @property
    def secret_key(self) -> str:
        return self.info["secret_key"]

    @property
    def project(self) -> str:
        return self.info["project"]

    # Control

    def control(self, command: str, /, **arguments: Any) -> Any:
        """Run a control command (README.md lists them) and return its result."""
        address = self.info["control"]
        if address.startswith("/"):
            connection: http.client.HTTPConnection = _UnixConnection(address, 120.0)
        else:
            connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=120.0)
        with contextlib.closing(connection):
            connection.request("POST", "/" + command, json.dumps(arguments),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            result = json.loads(response.read())
        if response.status != 200:
            raise ControlError(f"{command}: {result.get('error')}")
        if command == "rotate-key":
            self.info.update(result)
        return result

    def rows(self, type_: str, removed: bool = False) -> list[dict[str, Any]]:
        """All rows of a type or table, past the API's paging and permissions."""
        return self.control("rows", type=type_, removed=removed)

    def requests(self, **wanted: Any) -> list[dict[str, Any]]:
        """The request log: `since=number`, `method=`, `type=`, `id=`, `name=`, `action=`, `status=`."""
        return self.control("requests", **wanted)

    def counters(self) -> dict[str, Any]:
        return self.control("counters")

    def traffic_addresses(self, balancer: str) -> list[tuple[str, int]]:
        """(address, port) pairs on which a balancer (name or id) really listens."""
        return [(t["address"], t["port"]) for t in self.control("traffic", lb=balancer)]

    def fault(self, fault: str, /, **scope: Any) -> int:
        """Inject a fault; returns its number for `clear`."""
        return self.control("fault", fault=fault, **scope)["number"]

    def clear(self, number: int | None = None) -> None:
        self.control("clear-faults", number=number)

    def settle(self, timeout: float = 60.0) -> None:
        """Wait until nothing is going on in the stand-in any more."""
        if not self.control("settle", timeout=timeout)["settled"]:
            raise TimeoutError("the stand-in did not come to rest")

    def balancer(self, name: str) -> dict[str, Any] | None:
        """The live load balancer of that name."""
        return next((r for r in self.rows("loadBalancerService") if r["name"] == name), None)

    def wait_for(self, condition: Callable[[], Any], timeout: float = 60.0, what: str = "condition") -> Any:
        """The first true value of `condition`, asked again and again until the time is over."""
        deadline = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {timeout} s in vain for: {what}")
            time.sleep(0.02)

    # The API, as an ordinary client

    def api(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None,
            timeout: float = 30.0, auth: bool = True) -> ApiAnswer:
        """One request. A path without a leading slash is taken within the project."""
        parts = urllib.parse.urlsplit(self.base)
        if not path.startswith("/"):
            path = f"/v2-beta/projects/{self.project}/{path}"
        sent = {"Accept": "application/json", **(headers or {})}
        if auth:
            pair = f"{self.access_key}:{self.secret_key}".encode()
            sent.setdefault("Authorization", "Basic " + base64.b64encode(pair).decode())
        data = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout,
                                                     context=ssl._create_unverified_context())
        else:
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            return ApiAnswer(response.status, response.headers, response.read().decode())

    # Inside

    def _arguments(self) -> list[str]:
        arguments = ["--exit-with-stdin"]
        if not {"control_socket", "control_port"} & set(self._options):
            arguments += ["--control-socket", os.path.join(self._directory, "control.sock")]
        if "run_directory" not in self._options:
            arguments += ["--run-directory", self._directory]
        for name, value in self._options.items():
            if value is None or value is False:
                continue
            flag = "--" + name.replace("_", "-")
            for item in value if isinstance(value, (list, tuple)) else [value]:
                arguments += [flag] if item is True else [flag, str(item)]
        for name, value in self._settings.items():
            arguments += ["--set", f"{name}={json.dumps(value)}"]
        return arguments + ([] if self._dataplane else ["--no-dataplane"]) \
            + ([] if self._security else ["--no-security"])

    def _first_line(self) -> str:
        assert self._process is not None and self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], self._ready_timeout)
        line = self._process.stdout.readline() if readable else b""
        if not line:
            self._process.kill()
            self._process.wait()
            self.stop()
            raise RuntimeError("the Rancher stand-in did not start; its messages are on standard error")
        return line.decode()


def _python() -> str:
    """Debian's interpreter, whose packages the stand-in needs, whichever runs this."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
