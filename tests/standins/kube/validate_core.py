# SPDX-License-Identifier: Apache-2.0
"""Validation of the core types and of EndpointSlice and Lease, where a load balancer's clients can tell."""

from __future__ import annotations

import base64
import re
from typing import Sequence

from . import names
from .profiles import Profile
from .statuses import FieldError, duplicate, forbids, invalid, required, too_long, unsupported
from .validate_networking import balancer_status

SERVICE_TYPES = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]
PROTOCOLS = ["TCP", "UDP", "SCTP"]
SECRET_MAX = 1024 * 1024
AFFINITY_S_MAX = 86400


def service(obj: dict, old: dict | None, _profile: Profile) -> list[FieldError]:
    """Type, addresses, ports."""
    spec = obj["spec"]
    found: list[FieldError] = []
    if spec["type"] not in SERVICE_TYPES:
        found.append(unsupported("spec.type", spec["type"], SERVICE_TYPES))
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and spec["type"] != "ExternalName":
        found.append(required("spec.ports"))
    if spec["type"] == "ExternalName":
        name = spec.get("externalName", "")
        complaint = names.subdomain(name.rstrip("."))
        if not name:
            found.append(required("spec.externalName"))
        elif complaint:
            found.append(invalid("spec.externalName", name, complaint))
    found += _service_ports(spec.get("ports") or ())
    found += _service_affinity(spec)
    found += _service_balancer(spec, (old or {}).get("spec") or {})
    found += [
        invalid(f"spec.externalIPs[{index}]", text, names.address(text))
        for index, text in enumerate(spec.get("externalIPs") or ())
        if names.address(text)
    ]
    if old is not None and _address_changed(spec, old["spec"]):
        found.append(invalid("spec.clusterIPs[0]", spec.get("clusterIP", ""), "may not change once set"))
    return found


def _service_balancer(spec: dict, old: dict) -> list[FieldError]:
    """What belongs to type LoadBalancer: the class, which stays as it is, and who may connect."""
    found: list[FieldError] = []
    balancer = spec["type"] == "LoadBalancer"
    wanted = spec.get("loadBalancerClass")
    if balancer and old.get("type") == "LoadBalancer" and old.get("loadBalancerClass") != wanted:
        found.append(invalid("spec.loadBalancerClass", wanted, "may not change once set"))
    if wanted is not None and not balancer:
        found.append(forbids("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'"))
    elif wanted is not None and names.qualified(wanted):
        found.append(invalid("spec.loadBalancerClass", wanted, names.qualified(wanted)))
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges and not balancer:
        found.append(
            forbids("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
        )
    for index, text in enumerate(ranges):
        # Padding is allowed, as it was in the annotation that came before the field.
        if names.network(text.strip()):
            path = f"spec.LoadBalancerSourceRanges[{index}]"
            found.append(invalid(path, text, names.network(text.strip())))
    return found


def _service_affinity(spec: dict) -> list[FieldError]:
    if spec["sessionAffinity"] not in ("None", "ClientIP"):
        return [unsupported("spec.sessionAffinity", spec["sessionAffinity"], ["ClientIP", "None"])]
    if spec["sessionAffinity"] == "ClientIP":
        timeout = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < timeout <= AFFINITY_S_MAX:
            return [
                invalid(
                    "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
                    timeout,
                    f"must be greater than 0 and less than {AFFINITY_S_MAX}",
                )
            ]
    return []


def _address_changed(spec: dict, old: dict) -> bool:
    held = old.get("clusterIP")
    return (
        bool(held)
        and spec["type"] != "ExternalName"
        and old.get("type") != "ExternalName"
        and spec.get("clusterIP") != held
    )


def _service_ports(ports: Sequence[dict]) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            found.append(required(f"{path}.name"))
        elif name and names.label(name):
            found.append(invalid(f"{path}.name", name, names.label(name)))
        if names.port_number(port["port"]):
            found.append(invalid(f"{path}.port", port["port"], names.port_number(port["port"])))
        if port["protocol"] not in PROTOCOLS:
            found.append(unsupported(f"{path}.protocol", port["protocol"], PROTOCOLS))
        found += _target_port(port["targetPort"], f"{path}.targetPort")
        for key, where, value in (
            (("name", name), f"{path}.name", name),
            ((port["port"], port["protocol"]), path, port),
        ):
            if key in seen and key != ("name", ""):
                found.append(duplicate(where, value))
            seen.add(key)
    return found


def _target_port(target: int | str, path: str) -> list[FieldError]:
    if isinstance(target, str):
        return [invalid(path, target, text) for text in names.port_name(target)]
    return [invalid(path, target, text) for text in [names.port_number(target)] if text]


def service_status(obj: dict, old: dict | None, profile: Profile) -> list[FieldError]:
    """The addresses of the load balancer; only of Services that ask for one."""
    entries = obj["status"]["loadBalancer"].get("ingress") or []
    before = (old or {}).get("status", {}).get("loadBalancer", {}).get("ingress") or []
    path = "status.loadBalancer.ingress"
    if (
        profile.status_only_of_balancers
        and entries
        and entries != before
        and obj["spec"]["type"] != "LoadBalancer"
    ):
        return [forbids(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    found = balancer_status(entries, path)
    for index, entry in enumerate(entries):
        mode = entry.get("ipMode")
        if mode is not None and not entry.get("ip"):
            found.append(forbids(f"{path}[{index}].ipMode", "may not be specified when `ip` is not set"))
        elif mode not in (None, "VIP", "Proxy"):
            found.append(unsupported(f"{path}[{index}].ipMode", mode, ["VIP", "Proxy"]))
    return found


def secret(obj: dict, old: dict | None, _profile: Profile) -> list[FieldError]:
    """Size, keys, what each type demands, what may not change."""
    data = obj.get("data") or {}
    found = _keys(data, "data")
    if sum(len(base64.b64decode(value)) for value in data.values()) > SECRET_MAX:
        found.append(too_long("data", SECRET_MAX))
    if obj["type"] == "kubernetes.io/tls":
        found += [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    if obj["type"] == "kubernetes.io/dockerconfigjson" and ".dockerconfigjson" not in data:
        found.append(required("data[.dockerconfigjson]"))
    if old is not None:
        if old.get("type") != obj["type"]:
            found.append(invalid("type", obj["type"], "field is immutable"))
        found += _frozen(obj, old, ("data",))
    return found


def config_map(obj: dict, old: dict | None, _profile: Profile) -> list[FieldError]:
    """Keys and size."""
    text, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    found = _keys(text, "data") + _keys(binary, "binaryData")
    found += [
        invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        for key in text
        if key in binary
    ]
    if (
        sum(len(value.encode("utf-8", "replace")) for value in (*text.values(), *binary.values()))
        > SECRET_MAX
    ):
        found.append(too_long("", SECRET_MAX))
    return found + (_frozen(obj, old, ("data", "binaryData")) if old is not None else [])


def _keys(data: dict, path: str) -> list[FieldError]:
    text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    return [
        invalid(f"{path}[{key}]", key, text)
        for key in data
        if not re.fullmatch(r"[-._a-zA-Z0-9]+", key) or key in (".", "..") or len(key) > 253
    ]


def _frozen(obj: dict, old: dict, members: tuple[str, ...]) -> list[FieldError]:
    if not old.get("immutable"):
        return []
    found = (
        [] if obj.get("immutable") else [forbids("immutable", "field is immutable when `immutable` is set")]
    )
    return found + [
        forbids(key, "field is immutable when `immutable` is set")
        for key in members
        if obj.get(key) != old.get(key)
    ]


def endpoints(obj: dict, _old: dict | None, _profile: Profile) -> list[FieldError]:
    """Addresses and ports of each subset."""
    found = []
    for index, subset in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            found.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for key in ("addresses", "notReadyAddresses"):
            for at, entry in enumerate(subset.get(key) or ()):
                complaint = names.address(entry["ip"]) or names.reachable_address(entry["ip"])
                if complaint:
                    found.append(invalid(f"{path}.{key}[{at}].ip", entry["ip"], complaint))
        for at, port in enumerate(subset.get("ports") or ()):
            if names.port_number(port["port"]):
                found.append(
                    invalid(f"{path}.ports[{at}].port", port["port"], names.port_number(port["port"]))
                )
    return found


def endpoint_slice(obj: dict, old: dict | None, profile: Profile) -> list[FieldError]:
    """Address type, addresses, names and numbers of ports."""
    kinds = ["IPv4", "IPv6", "FQDN"]
    found: list[FieldError] = []
    kind = obj["addressType"]
    if not kind:
        found.append(required("addressType"))
    elif kind not in kinds:
        found.append(unsupported("addressType", kind, kinds))
    elif old is not None and old["addressType"] != kind:
        return [invalid("addressType", None if profile.declares_validation else kind, "field is immutable")]
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        path = f"endpoints[{index}].addresses"
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            found.append(required(path, "" if profile.declares_validation else "must contain at least 1 address"))
        if kind in ("IPv4", "IPv6"):
            for at, text in enumerate(addresses):
                found += _endpoint_address(text, kind, path, at, profile)
    seen = set()
    for index, port in enumerate(obj.get("ports") or ()):
        name = port.get("name") or ""
        if name and names.label(name):
            found.append(invalid(f"ports[{index}].name", name, names.label(name)))
        if name in seen:
            found.append(duplicate(f"ports[{index}].name", name))
        seen.add(name)
        if port.get("protocol", "TCP") not in PROTOCOLS:
            found.append(unsupported(f"ports[{index}].protocol", port["protocol"], PROTOCOLS))
    return found


def _endpoint_address(text: str, kind: str, path: str, at: int, profile: Profile) -> list[FieldError]:
    complaint = (names.canonical_address if profile.strict_addresses else names.address)(text)
    if complaint:
        return [invalid(f"{path}[{at}]", text, complaint)]
    if (":" in text) != (kind == "IPv6"):
        return [invalid(path, text, f"must be an {kind} address")]
    return [invalid(f"{path}[{at}]", text, found) for found in [names.reachable_address(text)] if found]


def event(obj: dict, _old: dict | None, _profile: Profile) -> list[FieldError]:
    """The namespace, and for the newer API the fields it demands."""
    involved = obj["involvedObject"].get("namespace", "")
    namespace = obj["metadata"].get("namespace", "")
    found: list[FieldError] = []
    if involved != namespace and not (not involved and namespace in ("default", "kube-system")):
        found.append(invalid("involvedObject.namespace", involved, "does not match event.namespace"))
    if obj.get("eventTime"):
        found += [
            required(key)
            for key in ("reportingComponent", "reportingInstance", "action", "reason")
            if not obj.get(key)
        ]
        if obj.get("type") not in ("Normal", "Warning"):
            found.append(invalid("type", obj.get("type", ""), "has invalid value"))
        if len(obj.get("message", "").encode("utf-8", "replace")) > 1024:
            found.append(invalid("message", "", "can have at most 1024 characters"))
    return found


def lease(obj: dict, _old: dict | None, _profile: Profile) -> list[FieldError]:
    """Durations and counts."""
    spec = obj["spec"]
    found = []
    if "leaseDurationSeconds" in spec and spec["leaseDurationSeconds"] <= 0:
        found.append(
            invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
        )
    if spec.get("leaseTransitions", 0) < 0:
        found.append(
            invalid("spec.leaseTransitions", spec["leaseTransitions"], "must be greater than or equal to 0")
        )
    return found
