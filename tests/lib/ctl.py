# SPDX-License-Identifier: Apache-2.0
"""sluicectl at a running line."""
from __future__ import annotations

import json
import os
import subprocess

from .line import build_folder
from .local_proxy import PATIENCE
from .proxy_line import ProxyLine
from .wait import wait_for


class Ctl:
    def __init__(self, line: ProxyLine):
        self.line = line

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SLUICE_RUNTIME_DIR": str(self.line.runtime)}
        return subprocess.run([build_folder() / "sluicectl/sluicectl", *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, check=False, env=environment)

    def json(self, *arguments: object) -> object:
        done = self(*arguments, "-o", "json")
        return json.loads(done.stdout or "null")

    def explain(self, name: str) -> dict:
        return self.json("explain", f"default/{name}") or {}

    def reasons(self, name: str) -> set[str]:
        got = self.explain(name)
        return {item["reason"] for item in got.get("problems", []) + got.get("routes", []) if item.get("reason")}

    def wait_reason(self, name: str, reason: str) -> None:
        wait_for(lambda: reason in self.reasons(name), f"{reason} of {name}, told: {self.reasons(name)}", PATIENCE)
