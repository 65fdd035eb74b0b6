# SPDX-License-Identifier: Apache-2.0
"""Runs a stand-in for a test and turns its knobs.

`KubeStandin.api` is the public API and works the same against a real cluster; everything else here speaks
to the control socket and exists for the stand-in only.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ..process import StandinProcess
from .profiles import Profile
from .public import KubeApi

Documents = list[dict[str, Any]]


class KubeStandin:
    """A stand-in in a process of its own. Use it as a context manager."""

    def __init__(self, profile: str = "1.34", *arguments: str):
        self.profile = Profile.parse(profile)
        self.folder = Path(tempfile.mkdtemp(prefix="standin-kube-"))
        self._arguments = ["--dir", str(self.folder), "--profile", profile, "--until-eof", *arguments]
        self._process: StandinProcess | None = None
        self.log = self.folder / "server.log"

    def __enter__(self) -> KubeStandin:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> KubeStandin:
        try:
            self._process = StandinProcess("standins.kube", *self._arguments, log=self.log)
        except RuntimeError as error:
            raise RuntimeError(f"{error}:\n{self.log.read_text()}") from None
        info = self._process.info
        self.url: str = info["url"]
        self.kubeconfig = Path(info["kubeconfig"])
        self.controller_kubeconfig = Path(info["controller_kubeconfig"])
        self.token_file = Path(info["token_file"])
        self.ca_file = Path(info["ca_file"])
        self.api = KubeApi(self.kubeconfig)
        return self

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.stop()
            if errors := self.log.read_text():
                sys.stderr.write(f"stand-in server log:\n{errors}")
        shutil.rmtree(self.folder, ignore_errors=True)

    def control(self, command: str, **arguments: Any) -> Any:
        """One command of control.py. Raises ControlFailure."""
        assert self._process is not None
        return self._process.control(command, **arguments)

    def settings(self, **changes: Any) -> None:
        self.control("settings", **changes)

    def fault(self, do: str, when: dict[str, Any] | None = None, **more: Any) -> str:
        return self.control("fault", do=do, when=when, **more)

    def deny(self, verb: Any = None, resource: Any = None) -> str:
        """403 for some requests of the controller; returns the id of the fault."""
        return self.fault("respond", {"verb": verb, "resource": resource, "identity": "controller"}, with_="forbidden")

    def faults(self) -> Documents:
        return self.control("faults")

    def clear(self, fault: str | None = None) -> None:
        self.control("clear", id=fault)

    def streams(self, **match: Any) -> Documents:
        """Running watches whose description holds the given values."""
        return [stream for stream in self.control("streams") if match.items() <= stream.items()]

    def end_streams(self, end: str = "clean", when: dict[str, Any] | None = None, **more: Any) -> None:
        self.control("end_streams", end=end, when=when, **more)

    def wait_streams(self, count: int, timeout_s: float = 60, **match: Any) -> None:
        """Waits until so many watches run with their initial part sent. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while len(found := self.streams(initial_done=True, **match)) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{len(found)} of {count} watches {match} after {timeout_s} s")
            self.control("wait_requests", when={}, since=self.mark(), count=1, timeout_s=min(left, 0.05))

    def network(self, mode: str, drop: str | None = None) -> None:
        self.control("network", mode=mode, drop=drop)

    def drop(self) -> None:
        self.control("drop")

    def rotate_token(self, old_expires_in_s: float = 0) -> str:
        return self.control("rotate_token", old_expires_in_s=old_expires_in_s)

    def rules(self, rules: Documents | None) -> None:
        """Role rules of the controller: PolicyRules, optionally with `namespaces`. None allows everything."""
        self.control("rules", rules=rules)

    def mark(self) -> int:
        """The number of the latest request, for `since`."""
        return self.control("mark")

    def requests(self, since: int = 0, status: int | None = None, effect: str | None = None, **when: Any) -> Documents:
        return self.control("requests", since=since, status=status, effect=effect, when=when)

    def wait_requests(self, count: int = 1, since: int = 0, timeout_s: float = 60, status: int | None = None, **when: Any) -> Documents:
        """Waits until so many requests match. Raises TimeoutError."""
        found = self.control("wait_requests", count=count, since=since, timeout_s=timeout_s, status=status, when=when)
        if len(found) < count:
            raise TimeoutError(f"{len(found)} of {count} requests {when} after {timeout_s} s")
        return found

    def writes(self, since: int = 0, **when: Any) -> Documents:
        """Requests of the controller that wrote or tried to, whatever came of them; a question that is a POST is none."""
        return [
            entry
            for entry in self.requests(since, identity="controller", **when)
            if entry["verb"] not in ("get", "list", "watch") and entry["resource"] != "selfsubjectaccessreviews"
        ]

    def objects(self, resource: str, namespace: str = "", name: str | None = None) -> Documents:
        return self.control("objects", resource=resource, namespace=namespace, name=name)

    def put_object(self, resource: str, obj: dict[str, Any]) -> None:
        self.control("put_object", resource=resource, object=obj)

    def patch_object(self, resource: str, name: str, patch: dict[str, Any], namespace: str = "default") -> None:
        self.control("patch_object", resource=resource, name=name, change=patch, namespace=namespace)

    def delete_objects(self, resource: str, namespace: str, name: str) -> None:
        self.control("delete_objects", resource=resource, namespace=namespace, name=name)

    def forget(self, before: int | None = None) -> None:
        """Makes revisions before this one (default: the present one) unusable."""
        self.control("forget", before=before)

    def bump(self, by: int = 1) -> int:
        return self.control("bump", by=by)

    def snapshot(self) -> None:
        self.control("snapshot")

    def restore(self) -> None:
        self.control("restore")

    def bulk(self, **load: Any) -> None:
        self.control("bulk", **load)

    def churn(self, resource: str, count: int, interval_ms: float = 1) -> int:
        return self.control("churn", resource=resource, count=count, interval_ms=interval_ms)
