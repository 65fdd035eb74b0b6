# SPDX-License-Identifier: Apache-2.0
"""Starts the stand-in as a process of its own and speaks with it: for tests. Needs only the standard library, and may be used from any thread."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from lib.answer import Answer, read

from ..process import StandinProcess

# Sources of credentials: what the program is told of.
SOURCES = ("environment", "session", "web-identity", "container", "instance")


class Aws(contextlib.AbstractContextManager):
    """One stand-in process. Arguments are those of its command line: `Aws(settings={"provisioning_polls": 3}, zones=2)`. Use it as a context manager."""

    def __init__(self, settings: dict[str, Any] | None = None, loopback_targets: bool = True, check_answers: bool = True, **options: Any):
        # Made here and not there, so that it also goes when the process is killed.
        self._directory = tempfile.mkdtemp(prefix="elb-standin-")
        arguments = ["--exit-with-stdin", "--directory", self._directory, *(["--loopback-targets"] if loopback_targets else []),
                     *([] if check_answers else ["--no-check"])]
        for name, value in options.items():
            arguments += ["--" + name.replace("_", "-"), value if isinstance(value, str) else json.dumps(value)]
        for name, value in (settings or {}).items():
            arguments += ["--set", f"{name}={json.dumps(value)}"]
        self._process: StandinProcess | None = StandinProcess("standins.elb", *arguments)
        self.info = self._process.info
        self.url: str = self.info["url"]
        self.region: str = self.info["region"]
        self.vpc: str = self.info["vpc"]
        self.subnets: list[str] = self.info["subnets"]

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.stop()
            shutil.rmtree(self._directory, ignore_errors=True)

    def __exit__(self, *_: Any) -> None:
        self.stop()

    # What a program is told

    def environment(self, source: str = "environment") -> dict[str, str]:
        """For a process, whose own environment should hold no other AWS_ variables; the credentials come from this source."""
        common = {"AWS_ENDPOINT_URL": self.url, "AWS_REGION": self.region, "AWS_EC2_METADATA_DISABLED": "true"}
        if source == "environment":
            return common | {"AWS_ACCESS_KEY_ID": self.info["access_key"], "AWS_SECRET_ACCESS_KEY": self.info["secret_key"]}
        if source == "session":
            key = self.control("issue")
            return common | {"AWS_ACCESS_KEY_ID": key["access"], "AWS_SECRET_ACCESS_KEY": key["secret"], "AWS_SESSION_TOKEN": key["token"]}
        if source == "web-identity":
            token = self._file("web-identity-token", self.info["web_identity_token"])
            return common | {"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": self.info["role"]}
        if source == "container":
            token = self._file("container-token", self.info["container_token"])
            return common | {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.url}/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": token}
        if source == "instance":
            del common["AWS_EC2_METADATA_DISABLED"]
            return common | {"AWS_EC2_METADATA_SERVICE_ENDPOINT": self.url}
        raise ValueError(f"credentials come from {', '.join(SOURCES)}")

    def _file(self, name: str, text: str) -> str:
        path = Path(self._directory) / name
        path.write_text(text)
        return str(path)

    # Control

    def control(self, command: str, /, **arguments: Any) -> Any:
        """Run a control command (README.md lists them) and return its result. Raises ControlFailure."""
        assert self._process is not None
        result = self._process.control(command, **arguments)
        if command == "rotate-key":
            self.info.update(result)
        return result

    def configure(self, **settings: Any) -> dict[str, Any]:
        return self.control("configure", **settings)

    def fault(self, fault: str, /, **scope: Any) -> int:
        """Its number, for `clear`."""
        return self.control("fault", fault=fault, **scope)

    def clear(self, number: int | None = None) -> None:
        """Faults end, and calls that they hold go on."""
        self.control("clear-faults", number=number)

    def call(self, service: str, action: str, **params: Any) -> Any:
        """A call that somebody else makes, past journal and faults."""
        return self.control("call", service=service, action=action, **params)

    # What there is

    def balancers(self) -> list[dict[str, Any]]:
        """With their listeners, and the rules of each."""
        return self.control("balancers")

    def balancer(self, name: str) -> dict[str, Any]:
        """By its name, its ARN, or the start of its name."""
        return next(b for b in self.balancers() if name == b["arn"] or b["name"].startswith(name))

    def rules(self, listener: str) -> list[dict[str, Any]]:
        """Of a listener's ARN, in their order, without the default one."""
        return self.control("rules", listener=listener)

    def groups(self) -> list[dict[str, Any]]:
        return self.control("groups")

    def targets(self, group: str) -> list[dict[str, Any]]:
        """Of a target group's name or ARN, with their health."""
        return self.control("targets", group=group)

    def certificates(self) -> list[dict[str, Any]]:
        return self.control("certificates")

    def security_groups(self) -> list[dict[str, Any]]:
        return self.control("security-groups")

    def zone(self, name: str) -> str:
        """Makes a hosted zone; its id."""
        return self.control("zone", name=name)

    def records(self, zone: str) -> list[dict[str, Any]]:
        """In Route 53's order, with the zone's own SOA and NS."""
        return self.control("records", zone=zone)

    # What was called

    def calls(self, action: str | None = None, since: int = 0) -> list[dict[str, Any]]:
        return self.control("calls", since=since, **({"action": action} if action else {}))

    def writes(self) -> list[dict[str, Any]]:
        return self.control("writes")

    def counts(self) -> dict[str, int]:
        """Calls by their action."""
        return self.control("counts")

    def forget(self) -> None:
        self.control("clear-calls")

    # Traffic

    def port(self, dns_name: str, port: int) -> int | None:
        """The port of 127.0.0.1 where this port of a balancer is served; None: nobody listens."""
        return self.control("port", dns_name=dns_name, port=port)

    def request(self, dns_name: str, port: int, host: str | None = None, path: str = "/", method: str = "GET", body: bytes | None = None,
                headers: dict[str, str] | None = None, timeout: float = 30.0) -> Answer:
        """A request through a balancer; plain HTTP for HTTPS listeners, too. Raises ConnectionRefusedError when nobody listens."""
        number = self.port(dns_name, port)
        if number is None:
            raise ConnectionRefusedError(f"nobody listens on {dns_name}:{port}")
        connection = http.client.HTTPConnection("127.0.0.1", number, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, body, {"Host": host or dns_name, "Connection": "close", **(headers or {})})
            return read(connection.getresponse())
