# SPDX-License-Identifier: Apache-2.0
"""What proto/decision.h says is done with requests: answers as a proxy that does it would give them, by tests/decide/decide_tool.c."""
from __future__ import annotations

import hashlib
import json
import pathlib
import re
import subprocess
import tempfile
from typing import Any

from .frames import frame

CLIENT = "127.0.0.9"
Body = dict[str, Any]


def as_frames(objects: list[Body]) -> bytes:
    """Upserts, as the translator sends them."""
    whole = []
    for item in objects:
        item = {key: value for key, value in item.items() if value not in ("", [], None)}
        digest = hashlib.sha256(json.dumps(item, sort_keys=True).encode()).digest()
        whole.append(frame("upsert", {**item, "rev": int.from_bytes(digest[:8], "big")}))
    return b"".join(whole)


def as_bytes(value: Any) -> Any:
    """Texts of the tool are UTF-8; here one character is one byte."""
    if isinstance(value, dict):
        return {key: as_bytes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_bytes(item) for item in value]
    return value.encode().decode("latin-1") if isinstance(value, str) else value


def as_text(value: Any) -> Any:
    """The reverse."""
    if isinstance(value, dict):
        return {key: as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return value.encode("latin-1").decode() if isinstance(value, str) else value


def decide(tool: pathlib.Path, objects: list[Body], requests: list[Body]) -> list[Body]:
    """The decision about each request: a map with method, target, host, headers, tls, port, client and length."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(as_frames(objects))
        file.flush()
        done = subprocess.run([tool, file.name], input=json.dumps(as_text(requests)).encode(), capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    return as_bytes(json.loads(done.stdout))


def request_of(request: Body, ports: dict[str, int]) -> Body:
    """A request of the table (tests/cases/traffic.json) as the tool takes it."""
    client = request.get("from", CLIENT)
    length = 0 if request.get("chunked") else len(request.get("body", ""))
    port = ports["https" if request.get("tls") else "http"]
    return {"method": request.get("method", "GET"), "target": request["target"], "host": request["host"].replace("{port}", str(port)),
            "headers": request.get("headers", []), "tls": request.get("tls", False), "port": port, "client": client, "length": length}


def status_of(target: str) -> int:
    """What a pool of the tests (lib/backend.py) answers to it."""
    words = target.partition("?")[2].split("&")
    return next((int(word[7:]) for word in words if re.fullmatch("status=[2-5][0-9]{2}", word)), 200)


def pairs(listed: list[Body]) -> list[list[str]]:
    return [[item["name"], item.get("value", "")] for item in listed]


def apply(headers: list[list[str]], changes: list[Body]) -> list[list[str]]:
    """What becomes of headers by changes, in order."""
    for change in changes:
        if change["action"] != "add":
            headers = [item for item in headers if item[0].lower() != change["name"].lower()]
        if change["action"] != "remove":
            headers = [*headers, [change["name"], change.get("value", "")]]
    return headers
