# SPDX-License-Identifier: Apache-2.0
"""In which form an answer goes out: the object itself, or a Table for `kubectl get`."""

from __future__ import annotations

import datetime
from typing import Any

from .encoding import to_json
from .resources import Served
from .statuses import ApiError
from .store import Record
from .wire import Request

TABLE = {"as": "Table", "g": "meta.k8s.io", "v": "v1"}
TYPES = ("*/*", "application/*", "application/json")
HOSTS_SHOWN = 3


def wants_table(request: Request) -> bool:
    """Whether the first form of those accepted that there is is a Table: clients name the best one first. Raises 406."""
    for clause in (request.headers.get("accept", "") or "*/*").split(","):
        media, *rest = [part.strip() for part in clause.split(";")]
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        if media in TYPES and parameters.keys() <= {"q"}:
            return False
        if media in TYPES and parameters.items() >= TABLE.items():
            return True
    raise ApiError(406, "NotAcceptable", "only the following media types are accepted: application/json")


def _age(meta: dict[str, Any]) -> str:
    made = datetime.datetime.fromisoformat(meta["creationTimestamp"])
    return f"{int((datetime.datetime.now(datetime.timezone.utc) - made).total_seconds())}s"


def _hosts(spec: dict[str, Any]) -> str:
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    more = f" + {len(hosts) - HOSTS_SHOWN} more..." if len(hosts) > HOSTS_SHOWN else ""
    return ",".join(hosts[:HOSTS_SHOWN]) + more if hosts else "*"


def _cells(plural: str, obj: dict[str, Any]) -> dict[str, str]:
    """Columns and what stands in them: those of an Ingress, and of everything else what is said of types that no server knows."""
    meta, spec = obj["metadata"], obj.get("spec") or {}
    if plural != "ingresses":
        return {"Name": meta["name"], "Created At": meta.get("creationTimestamp", "")}
    entries = (obj.get("status", {}).get("loadBalancer") or {}).get("ingress") or ()
    return {
        "Name": meta["name"],
        "Class": spec.get("ingressClassName", "<none>"),
        "Hosts": _hosts(spec),
        "Address": ",".join(sorted({entry.get("ip") or entry.get("hostname", "") for entry in entries} - {""})),
        "Ports": "80, 443" if spec.get("tls") else "80",
        "Age": _age(meta),
    }


EMPTY = {"metadata": {"name": "", "creationTimestamp": "1970-01-01T00:00:00+00:00"}}


def table(served: Served, records: list[Record], meta: dict[str, Any], headers: bool = True) -> bytes:
    plural, rows = served.resource.plural, []
    for record in records:
        obj = record.obj()
        shown = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
        rows.append({"cells": list(_cells(plural, obj).values()), "object": shown})
    columns = [
        {"name": name, "type": "string", "format": "name" if name == "Name" else "", "description": name, "priority": 0}
        for name in _cells(plural, EMPTY)
    ]
    return to_json(
        {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "columnDefinitions": columns if headers else None, "rows": rows}
    )


def one(served: Served, record: Record, as_table: bool) -> bytes:
    return (table(served, [record], {"resourceVersion": str(record.rev)}) if as_table else record.full(served)) + b"\n"


def many(served: Served, records: list[Record], as_table: bool, meta: dict[str, Any], null_items: bool = False) -> bytes:
    if as_table:
        return table(served, records, meta) + b"\n"
    head = {"kind": served.resource.kind + "List", "apiVersion": served.api_version, "metadata": meta}
    inner = b"null" if null_items else b"[" + b",".join(record.item(served) for record in records) + b"]"
    return to_json(head)[:-1] + b',"items":' + inner + b"}\n"
