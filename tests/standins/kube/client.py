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


class KubeStandin:
    """A stand-in in a process of its own. Use it as a context manager."""

    def __init__(
        self, profile: str = "1.34", *arguments: str, folder: str | Path | None = None, service_account_dir: bool = False
    ):
        self._profile = profile
        self._own_folder = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="standin-kube-"))
        self._arguments = ["--dir", str(self.folder), "--profile", profile, "--until-eof", *arguments]
        if service_account_dir:
            self._arguments += ["--service-account-dir", str(self.folder / "serviceaccount")]
        self._process: StandinProcess | None = None
        self.log = self.folder / "server.log"

    @property
    def profile(self) -> Profile:
        """Which release it is."""
        return Profile.parse(self._profile)

    def __enter__(self) -> KubeStandin:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> KubeStandin:
        """Starts the server and waits until it is ready."""
        try:
            self._process = StandinProcess("standins.kube", *self._arguments, log=self.log)
        except RuntimeError as error:
            raise RuntimeError(f"{error}:\n{self.log.read_text()}") from None
        info = self._process.info
        self.info: dict[str, Any] = info
        self.url: str = info["url"]
        self.kubeconfig = Path(info["kubeconfig"])
        self.controller_kubeconfig = Path(info["controller_kubeconfig"])
        self.token_file = Path(info["token_file"])
        self.ca_file = Path(info["ca_file"])
        self.service_account_dir = Path(info["service_account_dir"]) if info["service_account_dir"] else None
        self.api = KubeApi(self.kubeconfig)
        return self

    def stop(self) -> None:
        """Stops the server and removes its folder."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()
            self.api.close()
            if errors := self.log.read_text():
                sys.stderr.write(f"stand-in server log:\n{errors}")
        if self._own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def control(self, method: str, command: str, body: Any = None) -> Any:
        """One control command. Raises ControlFailure."""
        assert self._process is not None
        return self._process.control(method, command, body)

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Turns knobs; returns all of them."""
        return self.control("PATCH", "settings", changes)

    def fault(self, do: str, when: dict[str, Any] | None = None, **more: Any) -> str:
        """Switches a fault on; returns its id. A parameter called `with` is written `with_`."""
        spec = {"do": do, "when": when, **{key.rstrip("_"): value for key, value in more.items()}}
        return self.control("POST", "faults", spec)[0]["id"]

    def deny(self, verb: Any = None, resource: Any = None, identity: str = "controller", **when: Any) -> str:
        """403 for some requests of the controller; returns the id of the fault."""
        return self.fault(
            "respond", {"verb": verb, "resource": resource, "identity": identity, **when}, with_="forbidden"
        )

    def faults(self) -> list[dict[str, Any]]:
        """All faults with their hits."""
        return self.control("GET", "faults")

    def clear(self, fault: str | None = None) -> None:
        """Switches one fault, or all, off."""
        self.control("DELETE", f"faults/{fault}" if fault else "faults")

    def streams(self, **match: Any) -> list[dict[str, Any]]:
        """Running watches whose description holds the given values."""
        return [
            stream
            for stream in self.control("GET", "streams")
            if all(stream[key] == value for key, value in match.items())
        ]

    def end_streams(self, end: str = "clean", when: dict[str, Any] | None = None, **more: Any) -> int:
        """Ends or silences running watches; returns how many."""
        return self.control("POST", "streams", {"when": when, "end": end, **more})["streams"]

    def network(self, mode: str, drop: str | None = None) -> None:
        """up, gone or black-hole."""
        self.control("POST", "network", {"mode": mode, "drop": drop})

    def drop(self, how: str = "rst", when: dict[str, Any] | None = None) -> int:
        """Ends connections now; returns how many."""
        return self.control("POST", "connections/drop", {"how": how, "when": when})["connections"]

    def rotate_token(self, old_expires_in_s: float = 0, expires_in_s: float | None = None) -> str:
        """A new token in the controller's files."""
        return self.control(
            "POST", "tokens/rotate", {"old_expires_in_s": old_expires_in_s, "expires_in_s": expires_in_s}
        )["token"]

    def rules(self, rules: list[dict[str, Any]] | None, identity: str = "controller") -> None:
        """Role rules of an identity: PolicyRules, optionally with `namespaces`. None allows everything."""
        self.control("POST", "rules", {"identity": identity, "rules": rules})

    def mark(self) -> int:
        """The number of the latest request, for `since`."""
        return self.control("GET", "counters")["last"]

    def requests(
        self,
        since: int = 0,
        status: int | None = None,
        effect: str | None = None,
        limit: int | None = None,
        **when: Any,
    ) -> list[dict[str, Any]]:
        """Answered requests that match, oldest first."""
        return self.control(
            "POST",
            "requests",
            {"since": since, "status": status, "effect": effect, "limit": limit, "when": when},
        )

    def wait_requests(
        self,
        count: int = 1,
        since: int = 0,
        timeout_s: float = 60,
        status: int | None = None,
        effect: str | None = None,
        **when: Any,
    ) -> list[dict[str, Any]]:
        """Waits until so many requests match. Raises TimeoutError."""
        found = self.control(
            "POST",
            "requests/wait",
            {
                "count": count,
                "since": since,
                "timeout_s": timeout_s,
                "status": status,
                "effect": effect,
                "when": when,
            },
        )
        if len(found) < count:
            raise TimeoutError(f"{len(found)} of {count} requests {when} after {timeout_s} s")
        return found

    def writes(self, since: int = 0, identity: str = "controller", **when: Any) -> list[dict[str, Any]]:
        """Requests of the controller that wrote or tried to, whatever came of them; a question that is a POST is none."""
        return [
            entry
            for entry in self.requests(since, identity=identity, **when)
            if entry["verb"] not in ("get", "list", "watch") and entry["resource"] != "selfsubjectaccessreviews"
        ]

    def wait_streams(self, count: int, timeout_s: float = 60, **match: Any) -> list[dict[str, Any]]:
        """Waits until so many watches run with their initial part sent. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while len(found := self.streams(initial_done=True, **match)) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{len(found)} of {count} watches {match} after {timeout_s} s")
            self.control("POST", "requests/wait", {"since": self.mark(), "timeout_s": min(left, 0.05)})
        return found

    def objects(self, resource: str, namespace: str = "", name: str | None = None) -> list[dict[str, Any]]:
        """Stored objects, past the API."""
        text = f"objects?resource={resource}&namespace={namespace}" + (
            f"&name={name}" if name is not None else ""
        )
        return self.control("GET", text)["items"]

    def put_object(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
        """Stores an object past all checks, even one that no server would emit."""
        return self.control("PUT", "objects", {"resource": resource, "object": obj})

    def patch_object(
        self, resource: str, name: str, patch: dict[str, Any], namespace: str = "default"
    ) -> dict[str, Any]:
        """Merges a patch past all checks; returns the revision and the instant of publication."""
        return self.control(
            "PATCH", "objects", {"resource": resource, "namespace": namespace, "name": name, "patch": patch}
        )

    def delete_objects(self, resource: str, namespace: str = "", name: str | None = None) -> int:
        """Removes objects past all checks; returns how many."""
        return self.control(
            "DELETE", "objects", {"resource": resource, "namespace": namespace, "name": name}
        )["deleted"]

    def forget(
        self, before: int | None = None, resource: str | None = None, watch: bool = True, lists: bool = True
    ) -> int:
        """Makes revisions before this one (default: the present one) unusable."""
        body = {"watch": watch, "lists": lists} | ({"before": before} if before is not None else {})
        return self.control("POST", "forget", body | ({"resource": resource} if resource else {}))["before"]

    def bump(self, by: int = 1) -> int:
        """Moves the revision counter; returns it."""
        return self.control("POST", "revision", {"by": by})["revision"]

    def snapshot(self, name: str = "default") -> int:
        """Remembers the state; returns its revision."""
        return self.control("POST", "snapshot", {"name": name})["revision"]

    def restore(self, name: str = "default", streams: str | None = "clean") -> int:
        """Goes back to a remembered state and its smaller counter."""
        return self.control("POST", "restore", {"name": name, "streams": streams})["revision"]

    def bulk(self, **load: Any) -> dict[str, Any]:
        """Many realistic objects at once (see bulk.Load)."""
        return self.control("POST", "bulk", load)

    def churn(self, **plan: Any) -> list[dict[str, Any]]:
        """Changes objects at a steady pace; returns key, revision and CLOCK_MONOTONIC instant of each
        change."""
        return self.control("POST", "churn", plan)
