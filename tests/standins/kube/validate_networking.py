# SPDX-License-Identifier: Apache-2.0
"""Validation of Ingress and IngressClass, as k/k pkg/apis/networking/validation does it."""

from __future__ import annotations

from typing import Iterable

from . import names
from .profiles import Profile
from .statuses import FieldError, forbids, invalid, required, unsupported

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
PATH_TYPES = ["Exact", "Prefix", "ImplementationSpecific"]
SEQUENCES_REFUSED = ("//", "/./", "/../", "%2f", "%2F")
ENDS_REFUSED = ("/..", "/.")


def ingress(obj: dict, old: dict | None, profile: Profile) -> list[FieldError]:
    """The spec, and on creation the pair of class annotation and class field."""
    spec = obj["spec"]
    found: list[FieldError] = []
    if old is None:
        found += _class_pair(obj, profile)
    if not spec.get("rules") and "defaultBackend" not in spec:
        found.append(invalid("spec", [], "either `defaultBackend` or `rules` must be specified"))
    if "defaultBackend" in spec:
        found += _backend(spec["defaultBackend"], "spec.defaultBackend", profile)
    for index, tls in enumerate(spec.get("tls") or ()):
        found += _tls(tls, f"spec.tls[{index}]")
    for index, rule in enumerate(spec.get("rules") or ()):
        found += _rule(rule, f"spec.rules[{index}]", profile)
    name = spec.get("ingressClassName")
    if name is not None and names.subdomain(name):
        found.append(invalid("spec.ingressClassName", name, names.subdomain(name)))
    return found


def _class_pair(obj: dict, profile: Profile) -> list[FieldError]:
    word = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    name = obj["spec"].get("ingressClassName")
    if word is None or name is None:
        return []
    path = f"annotations.{CLASS_ANNOTATION}"
    if not profile.equal_class_pair:
        return [invalid(path, word, "can not be set when the class field is also set")]
    if word != name:
        return [invalid(path, word, "must match `ingressClassName` when both are specified")]
    return []


def _host(host: str, path: str) -> list[FieldError]:
    if not host:
        return []
    if names.is_address(host):
        return [invalid(path, host, "must be a DNS name, not an IP address")]
    complaint = names.wildcard(host) if "*" in host else names.subdomain(host)
    return [invalid(path, host, complaint)] if complaint else []


def _tls(tls: dict, path: str) -> list[FieldError]:
    found = []
    for index, host in enumerate(tls.get("hosts") or ()):
        found += _host(host, f"{path}.hosts[{index}]")
    name = tls.get("secretName", "")
    if name and names.subdomain(name):
        found.append(invalid(f"{path}.secretName", name, names.subdomain(name)))
    return found


def _rule(rule: dict, path: str, profile: Profile) -> list[FieldError]:
    found = _host(rule.get("host", ""), f"{path}.host")
    if "http" not in rule:
        return found
    paths = rule["http"].get("paths") or ()
    if not paths:
        found.append(required(f"{path}.http.paths"))
    for index, entry in enumerate(paths):
        found += _path(entry, f"{path}.http.paths[{index}]", profile)
    return found


def _path(entry: dict, path: str, profile: Profile) -> list[FieldError]:
    kind, text = entry.get("pathType"), entry.get("path", "")
    found: list[FieldError] = []
    if kind is None:
        found.append(required(f"{path}.pathType", "pathType must be specified"))
    elif kind not in PATH_TYPES:
        found.append(unsupported(f"{path}.pathType", kind, PATH_TYPES))
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            found.append(invalid(f"{path}.path", text, "must be an absolute path"))
    else:
        found += _strict_path(text, f"{path}.path")
    return found + _backend(entry["backend"], f"{path}.backend", profile)


def _strict_path(text: str, path: str) -> list[FieldError]:
    found = [] if text.startswith("/") else [invalid(path, text, "must be an absolute path")]
    found += [invalid(path, text, f"must not contain '{part}'") for part in SEQUENCES_REFUSED if part in text]
    found += [
        invalid(path, text, f"cannot end with '{part}'") for part in ENDS_REFUSED if text.endswith(part)
    ]
    return found


def _backend(backend: dict, path: str, profile: Profile) -> list[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return [required(f"{path}.resource.{key}") for key in ("kind", "name") if not resource.get(key)]
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    found = []
    name = service.get("name", "")
    complaint = (names.label if profile.relaxed_service_names else names.label_1035)(name)
    if not name:
        found.append(required(f"{path}.service.name"))
    elif complaint:
        found.append(invalid(f"{path}.service.name", name, complaint))
    return found + _backend_port(service.get("port") or {}, path)


def _backend_port(port: dict, path: str) -> list[FieldError]:
    name, number = port.get("name"), port.get("number")
    if name and number:
        return [invalid(path, "", "cannot set both port name & port number")]
    if name:
        return [invalid(f"{path}.service.port.name", name, text) for text in names.port_name(name)]
    if number:
        return [
            invalid(f"{path}.service.port.number", number, text)
            for text in [names.port_number(number)]
            if text
        ]
    return [required(path, "port name or number is required")]


def ingress_status(obj: dict, _old: dict | None, _profile: Profile) -> list[FieldError]:
    """The addresses of the load balancer."""
    return balancer_status(obj["status"]["loadBalancer"].get("ingress") or (), "status.loadBalancer.ingress")


def balancer_status(entries: Iterable[dict], path: str) -> list[FieldError]:
    """Entries of a load balancer status, of an Ingress or a Service."""
    found = []
    for index, entry in enumerate(entries):
        ip, host = entry.get("ip", ""), entry.get("hostname", "")
        if ip and names.address(ip):
            found.append(invalid(f"{path}[{index}].ip", ip, names.address(ip)))
        if host and names.subdomain(host):
            found.append(invalid(f"{path}[{index}].hostname", host, names.subdomain(host)))
        if host and names.is_address(host):
            found.append(invalid(f"{path}[{index}].hostname", host, "must be a DNS name, not an IP address"))
    return found


def ingress_class(obj: dict, old: dict | None, _profile: Profile) -> list[FieldError]:
    """The controller's name and the parameters reference."""
    spec = obj["spec"]
    controller, parameters = spec.get("controller", ""), spec.get("parameters")
    found: list[FieldError] = []
    if old is not None and old["spec"].get("controller", "") != controller:
        found.append(invalid("spec.controller", controller, "field is immutable"))
    if not controller:
        found.append(required("spec.controller"))
    elif len(controller) > 250 or "/" not in controller or names.subdomain(controller.partition("/")[0]):
        found.append(
            invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
        )
    if parameters:
        found += [required(f"spec.parameters.{key}") for key in ("kind", "name") if not parameters.get(key)]
        scope = parameters.get("scope", "Cluster")
        if scope not in ("Cluster", "Namespace"):
            found.append(unsupported("spec.parameters.scope", scope, ["Cluster", "Namespace"]))
        if scope == "Namespace" and not parameters.get("namespace"):
            found.append(required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'"))
        if scope == "Cluster" and parameters.get("namespace"):
            found.append(forbids("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'"))
    return found
