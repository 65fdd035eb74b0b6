# SPDX-License-Identifier: Apache-2.0
"""Server-side printing: the columns that `kubectl get` shows.

Follows k/k pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Callable

from .resources import Resource

NONE, UNKNOWN = "<none>", "<unknown>"
HOSTS_SHOWN, ENDPOINTS_SHOWN = 3, 3


@dataclass(frozen=True)
class Column:
    """One column; `wide` ones appear with -o wide only."""

    name: str
    value: Callable[[dict, bool], Any]
    wide: bool = False
    type: str = "string"
    format: str = ""

    def definition(self) -> dict[str, Any]:
        """The column as a Table declares it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.name,
            "priority": 1 if self.wide else 0,
        }


def columns(resource: Resource) -> list[Column]:
    """The columns of a resource."""
    return _COLUMNS.get(resource.plural, [NAME, CREATED])


def row(resource: Resource, obj: dict[str, Any]) -> list[Any]:
    """The cells of one object."""
    return [_cell(column, obj) for column in columns(resource)]


def _cell(column: Column, obj: dict[str, Any]) -> Any:
    # Pods and Deployments are kept as they come, and a test may store what no server would.
    try:
        return column.value(obj, column.wide)
    except (AttributeError, KeyError, TypeError, ValueError):
        return UNKNOWN


def duration(seconds: float) -> str:
    """A duration as kubectl prints it: two units at most, as precise as is useful."""
    seconds = int(seconds)
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if hours < 8760 * 2:
        return f"{days}d"
    if hours < 8760 * 8:
        return _two(days // 365, "y", days % 365, "d")
    return f"{hours // 8760}y"


def _two(first: int, first_unit: str, second: int, second_unit: str) -> str:
    return f"{first}{first_unit}{second}{second_unit}" if second else f"{first}{first_unit}"


def since(stamp: str | None) -> str:
    """How long ago an instant was."""
    if not stamp:
        return UNKNOWN
    moment = datetime.datetime.fromisoformat(stamp)
    return duration((datetime.datetime.now(datetime.timezone.utc) - moment).total_seconds())


def _meta(obj: dict, _wide: bool = False) -> dict:
    return obj["metadata"]


def _age(obj: dict, _wide: bool) -> str:
    return since(_meta(obj).get("creationTimestamp"))


NAME = Column("Name", lambda obj, _: obj["metadata"]["name"], format="name")
AGE = Column("Age", _age)
CREATED = Column("Created At", lambda obj, _: obj["metadata"].get("creationTimestamp", ""), type="date")


def _ingress_hosts(obj: dict, _wide: bool) -> str:
    hosts = [rule["host"] for rule in obj["spec"].get("rules") or () if rule.get("host")]
    if not hosts:
        return "*"
    more = f" + {len(hosts) - HOSTS_SHOWN} more..." if len(hosts) > HOSTS_SHOWN else ""
    return ",".join(hosts[:HOSTS_SHOWN]) + more


def _addresses(obj: dict) -> list[str]:
    entries = (obj.get("status", {}).get("loadBalancer") or {}).get("ingress") or ()
    return sorted({entry.get("ip") or entry.get("hostname", "") for entry in entries} - {""})


def _ingress_address(obj: dict, _wide: bool) -> str:
    return ",".join(_addresses(obj))


def _ports_of_ingress(obj: dict, _wide: bool) -> str:
    return "80, 443" if obj["spec"].get("tls") else "80"


def _external(obj: dict, _wide: bool) -> str:
    spec = obj["spec"]
    given = spec.get("externalIPs") or []
    if spec["type"] == "ExternalName":
        return spec.get("externalName", "")
    if spec["type"] == "LoadBalancer":
        return ",".join([*_addresses(obj), *given]) or "<pending>"
    return ",".join(given) or NONE


def _ports_of_service(obj: dict, _wide: bool) -> str:
    ports = obj["spec"].get("ports") or ()
    texts = [
        f"{port['port']}:{port['nodePort']}/{port['protocol']}"
        if port.get("nodePort")
        else f"{port['port']}/{port['protocol']}"
        for port in ports
    ]
    return ",".join(texts) or NONE


def _selector(obj: dict, _wide: bool) -> str:
    return (
        ",".join(f"{key}={value}" for key, value in sorted((obj["spec"].get("selector") or {}).items()))
        or NONE
    )


def _shorten(items: list[str], total: int | None = None) -> str:
    total = len(items) if total is None else total
    if not items:
        return NONE
    more = f" + {total - ENDPOINTS_SHOWN} more..." if total > ENDPOINTS_SHOWN else ""
    return ",".join(items[:ENDPOINTS_SHOWN]) + more


def _endpoints(obj: dict, _wide: bool) -> str:
    found = []
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            found += [_join(address["ip"], port["port"]) for address in subset.get("addresses") or ()]
    return _shorten(found)


def _join(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _slice_ports(obj: dict, _wide: bool) -> str:
    ports = obj.get("ports") or ()
    return (
        _shorten([str(port["port"]) if port.get("port") is not None else "*" for port in ports])
        if ports
        else "<unset>"
    )


def _slice_endpoints(obj: dict, _wide: bool) -> str:
    return (
        _shorten(
            [
                address
                for endpoint in obj.get("endpoints") or ()
                for address in endpoint.get("addresses") or ()
            ]
        )
        if obj.get("endpoints")
        else "<unset>"
    )


def _event_seen(obj: dict, first: bool) -> str:
    series = (obj.get("series") or {}).get("lastObservedTime")
    last = obj.get("lastTimestamp") or series or obj.get("eventTime")
    return since((obj.get("firstTimestamp") or obj.get("eventTime")) if first else last)


def _event_object(obj: dict, _wide: bool) -> str:
    involved = obj["involvedObject"]
    return f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"


def _event_source(obj: dict, _wide: bool) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent", "")
    host = source.get("host") or obj.get("reportingInstance", "")
    return ", ".join(filter(None, [component, host]))


def _event_count(obj: dict, _wide: bool) -> int:
    return (obj.get("series") or {}).get("count") or obj.get("count") or 1


def _class_parameters(obj: dict, _wide: bool) -> str:
    parameters = obj["spec"].get("parameters")
    if not parameters:
        return NONE
    group = parameters.get("apiGroup")
    return f"{parameters['kind']}{'.' + group if group else ''}/{parameters['name']}"


def _pod_ready(obj: dict, _wide: bool) -> str:
    statuses = obj["status"].get("containerStatuses") or ()
    total = len(obj["spec"].get("containers") or ())
    return f"{sum(1 for status in statuses if status.get('ready'))}/{total}"


def _pod_status(obj: dict, _wide: bool) -> str:
    return (
        "Terminating" if obj["metadata"].get("deletionTimestamp") else obj["status"].get("phase", "Pending")
    )


_COLUMNS: dict[str, list[Column]] = {
    "ingresses": [
        NAME,
        Column("Class", lambda obj, _: obj["spec"].get("ingressClassName") or NONE),
        Column("Hosts", _ingress_hosts),
        Column("Address", _ingress_address),
        Column("Ports", _ports_of_ingress),
        AGE,
    ],
    "ingressclasses": [
        NAME,
        Column("Controller", lambda obj, _: obj["spec"].get("controller", "")),
        Column("Parameters", _class_parameters),
        AGE,
    ],
    "services": [
        NAME,
        Column("Type", lambda obj, _: obj["spec"]["type"]),
        Column("Cluster-IP", lambda obj, _: obj["spec"].get("clusterIP") or NONE),
        Column("External-IP", _external),
        Column("Port(s)", _ports_of_service),
        AGE,
        Column("Selector", _selector, True),
    ],
    "endpoints": [NAME, Column("Endpoints", _endpoints), AGE],
    "endpointslices": [
        NAME,
        Column("AddressType", lambda obj, _: obj["addressType"]),
        Column("Ports", _slice_ports),
        Column("Endpoints", _slice_endpoints),
        AGE,
    ],
    "secrets": [
        NAME,
        Column("Type", lambda obj, _: obj.get("type", "")),
        Column("Data", lambda obj, _: len(obj.get("data") or ()), type="integer"),
        AGE,
    ],
    "configmaps": [
        NAME,
        Column(
            "Data",
            lambda obj, _: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()),
            type="integer",
        ),
        AGE,
    ],
    "serviceaccounts": [
        NAME,
        Column("Secrets", lambda obj, _: len(obj.get("secrets") or ()), type="integer"),
        AGE,
    ],
    "namespaces": [NAME, Column("Status", lambda obj, _: obj["status"].get("phase", "")), AGE],
    "leases": [NAME, Column("Holder", lambda obj, _: obj["spec"].get("holderIdentity", "")), AGE],
    "pods": [
        NAME,
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", lambda obj, _: "0"),
        AGE,
        Column("IP", lambda obj, _: obj["status"].get("podIP") or NONE, True),
        Column("Node", lambda obj, _: obj["spec"].get("nodeName") or NONE, True),
    ],
    "deployments": [
        NAME,
        Column(
            "Ready",
            lambda obj, _: f"{obj['status'].get('readyReplicas', 0)}/{obj['spec'].get('replicas', 1)}",
        ),
        Column("Up-to-date", lambda obj, _: obj["status"].get("updatedReplicas", 0), type="integer"),
        Column("Available", lambda obj, _: obj["status"].get("availableReplicas", 0), type="integer"),
        AGE,
    ],
    # Events show their name last, and only when wide.
    "events": [
        Column("Last Seen", lambda obj, _: _event_seen(obj, first=False)),
        Column("Type", lambda obj, _: obj.get("type", "")),
        Column("Reason", lambda obj, _: obj.get("reason", "")),
        Column("Object", _event_object),
        Column("Subobject", lambda obj, _: obj["involvedObject"].get("fieldPath", ""), True),
        Column("Source", _event_source, True),
        Column("Message", lambda obj, _: obj.get("message", "").strip()),
        Column("First Seen", lambda obj, _: _event_seen(obj, first=True), True),
        Column("Count", _event_count, True, "integer"),
        Column("Name", NAME.value, True, format="name"),
    ],
}
