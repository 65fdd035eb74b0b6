# SPDX-License-Identifier: Apache-2.0
"""A stand-in as a process of its own, for the client classes: its start, its control socket, its end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
from pathlib import Path
from typing import Any

PYTHON = "/usr/bin/python3"  # Debian's, whose packages the stand-ins need, whichever runs this
TESTS_FOLDER = Path(__file__).resolve().parents[1]
START_S_MAX, STOP_S_MAX, ANSWER_S_MAX = 60.0, 60.0, 330.0


class ControlFailure(Exception):
    """The control socket refused a command; the text says why."""


class StandinProcess:
    """Runs a module that ends with its standard input and prints a line of JSON when it is ready."""

    def __init__(self, module: str, *arguments: str, log: Path | None = None):
        environment = os.environ | {"PYTHONPATH": str(TESTS_FOLDER)}
        with contextlib.ExitStack() as stack:
            errors = stack.enter_context(open(log, "ab")) if log else None
            self._process = subprocess.Popen(
                [PYTHON, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
            )
        self.info = self._ready(module)

    def _ready(self, module: str) -> dict[str, Any]:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], START_S_MAX)
        line = self._process.stdout.readline() if readable else b""
        if not line:
            self.stop()
            raise RuntimeError(f"{module} did not start")
        return json.loads(line)

    def stop(self) -> None:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def control(self, command: str, **arguments: Any) -> Any:
        """The result of a command. Raises ControlFailure."""
        with socket.socket(socket.AF_UNIX) as link, link.makefile("rwb") as lines:
            link.settimeout(ANSWER_S_MAX)
            link.connect(self.info["control"])
            lines.write(json.dumps({"command": command, **arguments}).encode() + b"\n")
            lines.flush()
            answer = json.loads(lines.readline())
        if "error" in answer:
            raise ControlFailure(f"{command}: {answer['error']}")
        return answer["result"]
