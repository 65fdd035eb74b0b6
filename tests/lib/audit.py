# SPDX-License-Identifier: Apache-2.0
"""What a real API server was asked and what came of it, from its audit log, in the words of the stand-in's journal."""
from __future__ import annotations

import json
import pathlib
import urllib.parse
from typing import Any

import yaml

CONTROLLER = "system:serviceaccount:sluice-system:sluice"
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
# Revisions tell writes that changed something from those that did not. Secrets are in none of these.
POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "RequestResponse", "verbs": list(METHODS), "resources": [
            {"group": "networking.k8s.io", "resources": ["ingresses", "ingresses/status"]},
            {"group": "coordination.k8s.io", "resources": ["leases"]},
            {"group": "", "resources": ["services", "services/status", "events"]}]},
        {"level": "Metadata", "users": [CONTROLLER]},
        {"level": "None"}],
}


class AuditLog:
    """Reads the log as far as it has been written. Entries are numbered from 1."""

    def __init__(self, folder: pathlib.Path):
        self._policy, self._log = folder / "audit-policy.yaml", folder / "audit.log"
        self._policy.write_text(yaml.safe_dump(POLICY))
        self._offset = 0
        self._entries: list[dict[str, Any]] = []
        self._revisions: dict[tuple[str, str, str], str] = {}

    def arguments(self) -> list[str]:
        """Of kube-apiserver; a request is in the log before its answer has ended."""
        return [f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}", "--audit-log-mode=blocking-strict"]

    def mark(self) -> int:
        return len(self._read())

    def requests(self, since: int = 0, **wanted: Any) -> list[dict[str, Any]]:
        """Entries after a mark whose members have the given values, oldest first."""
        return [entry for entry in self._read()[since:] if all(entry[key] == value for key, value in wanted.items())]

    def writes(self, since: int = 0, **wanted: Any) -> list[dict[str, Any]]:
        """What the controller wrote or tried to; a question that is a POST is none."""
        return [entry for entry in self.requests(since, identity="controller", **wanted)
                if entry["verb"] in METHODS and entry["resource"] != "selfsubjectaccessreviews"]

    def _read(self) -> list[dict[str, Any]]:
        if self._log.exists():
            with open(self._log, "rb") as log:
                log.seek(self._offset)
                for line in log:
                    if not line.endswith(b"\n"):
                        break
                    self._offset += len(line)
                    self._take(json.loads(line))
        return self._entries

    def _take(self, event: dict[str, Any]) -> None:
        # A watch is told when it begins, and once more when it ends.
        if (event["stage"] == "ResponseStarted") != (event["verb"] == "watch"):
            return
        about, user = event.get("objectRef", {}), event["user"]["username"]
        status = event.get("responseStatus", {}).get("code", 0)
        self._entries.append({
            "identity": "controller" if user == CONTROLLER else user, "verb": event["verb"], "method": METHODS.get(event["verb"], "GET"),
            "resource": about.get("resource", ""), "subresource": about.get("subresource", ""), "namespace": about.get("namespace", ""),
            "name": about.get("name", ""), "query": urllib.parse.urlsplit(event["requestURI"]).query, "status": status,
            "body": json.dumps(event.get("requestObject")), "effect": self._effect(event, about, status)})

    def _effect(self, event: dict[str, Any], about: dict[str, Any], status: int) -> str:
        if event["verb"] not in METHODS:
            return "read"
        if status >= 400:
            return "refused"
        its = event.get("responseObject", {}).get("metadata", {})
        key = (about.get("resource", ""), about.get("namespace", ""), its.get("name", about.get("name", "")))
        revision = its.get("resourceVersion", "")
        was, self._revisions[key] = self._revisions.get(key), revision
        return "noop" if revision and was == revision else "changed"
