# SPDX-License-Identifier: Apache-2.0
"""The result of a golden case of the translator, short enough to be read: what follows from the rest of the line, or is usual, is left out; if
a usual member is missing, it is shown as `null`, or as `false` if it is usually true. Each omission has only one meaning, so different
results never look alike. Usual are:

 load-balancers  of class rancher, owned by the object after which they are named, with one listener: HTTP on port 80
 virtual-hosts   rules match by prefix and are those of the Ingress after which the load balancer is named
 pools           of the Service and port after which they are named, which has a selector; an endpoint that is ready is ADDRESS:PORT
 policies        of the Ingress after which they are named
 certificates    named after their Secret, with the key of the same name as the chain
 events          warnings, as [KIND] NAMESPACE/NAME REASON: MESSAGE; the usual KIND is Ingress
 statuses        what is written into the objects
 uid             the one in the manifest

Times are written as in manifests.
"""
from __future__ import annotations

import datetime
import json
import pathlib
from typing import Any

import yaml

Body = dict[str, Any]
Uids = dict[tuple[str, str, str], str]  # by kind, namespace and name
SECTIONS = {"load-balancer": "load-balancers", "virtual-host": "virtual-hosts", "pool": "pools", "certificate": "certificates", "policy": "policies", "users": "users"}
WIDTH = 120
FILES = {path.read_bytes().strip(): f"@{path.name}" for path in (pathlib.Path(__file__).parent / "certs").glob("*.[ck]*")}


def without(body: Body, usual: Body) -> Body:
    """What differs from the usual, and usual members that are missing."""
    told = {key: value for key, value in body.items() if key not in usual or usual[key] != value}
    return told | {key: False if value is True else None for key, value in usual.items() if key not in body}


def time(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def plain(value: Any) -> Any:
    """With the names of files instead of certificates and keys, and with readable times."""
    if isinstance(value, bytes):
        return FILES.get(value.strip()) or value.decode()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: time(item) if key in ("created", "not_after") else plain(item) for key, item in value.items()}
    return value


class Brief:
    def __init__(self, uids: Uids):
        self.uids = uids

    def reference(self, kind: str, namespace: str, name: str) -> Body:
        """An object as messages name it."""
        uid = self.uids.get((kind, namespace, name))
        return {"namespace": namespace, "name": name} | ({"uid": uid} if uid else {})

    def load_balancer(self, body: Body) -> Body:
        namespace, _, name = body["id"].partition("/")
        kind, _, named = name.rpartition(":")
        usual: Body = {"name": named, "class": "rancher", "listeners": [{"port": 80, "protocol": "http"}]}
        if namespace not in ("class", "own-class"):
            usual["namespace"] = namespace
            owner = self.reference(kind or "ingress", namespace, named)
            usual["owners"] = [owner | ({"is_service": True} if kind == "service" else {})]
        if kind == "group":
            usual["group"] = True
        told = without(body, usual)
        if told.get("owners"):
            told["owners"] = [self.owner(owner) for owner in told["owners"]]
        return told

    def owner(self, body: Body) -> str | Body:
        kind = "service" if body.get("is_service") else "ingress"
        told = without(body, self.reference(kind, body["namespace"], body["name"]))
        return told or f"{body['namespace']}/{body['name']}"

    def virtual_host(self, body: Body) -> Body:
        balancer, _, host = body["id"].partition("|")
        match = "wildcard" if host.startswith("*.") else "exact"
        told = without(body, {"load_balancer": balancer, "host": host, "match": match} if host else {"load_balancer": balancer, "match": "any"})
        usual = {"match": "prefix"} | ({"ingress": balancer} if balancer.split("/")[0] not in ("class", "own-class") else {})
        if "rules" in told:
            told["rules"] = [without(rule | {"match": rule.get("match", "implementation-specific")}, usual) for rule in told["rules"]]
        return told

    def pool(self, body: Body) -> Body:
        namespace, _, rest = body["id"].partition("/")
        name, _, port = rest.partition(":")
        number = port.split("+")[0].rpartition(":")[2]
        usual: Body = {"service": self.reference("service", namespace, name), "has_selector": True}
        if number.isdigit():
            usual["port"] = int(number)
        told = without(body, usual)
        if "endpoints" in told:
            told["endpoints"] = [endpoint(item) for item in told["endpoints"]]
        return told

    def certificate(self, body: Body) -> Body:
        namespace, _, name = body["id"].partition("/")
        return without(body, {"namespace": namespace, "name": name, "private_key": body["chain"].replace(".crt", ".key")})

    def policy(self, body: Body) -> Body:
        return without(body, {"ingress": body["id"]})

    def users(self, body: Body) -> Body:
        return body

    def whose(self, body: Body) -> tuple[str, Body]:
        """The object that an event or a status is about, and the rest of it."""
        kind = body.get("kind", "ingress")
        namespace = body.get("namespace", "")
        name = f"{namespace}/{body['name']}" if namespace else body["name"]
        rest = {key: value for key, value in body.items() if key not in ("kind", "namespace", "name")}
        uid = self.uids.get((kind, namespace, body["name"]))
        return name if kind == "ingress" else f"{kind} {name}", without(rest, {"uid": uid} if uid else {})

    def event(self, body: Body) -> Body:
        who, rest = self.whose(body)
        message = rest.pop("message")
        reason = rest.pop("reason")
        rest = without(rest, {"type": "warning"})
        return {f"{who} {reason}": {"message": message, **rest} if rest else message}

    def result(self, objects: list[Body], events: list[Body], statuses: list[Body]) -> Body:
        shown: Body = {section: {} for section in SECTIONS.values()}
        for body in objects:
            told = getattr(self, body["kind"].replace("-", "_"))(plain(body))
            rest = {key: value for key, value in told.items() if key not in ("kind", "id", "rev")}
            shown[SECTIONS[body["kind"]]][body["id"]] = rest["rules"] if rest.keys() == {"rules"} else rest
        shown["events"] = sorted((self.event(body) for body in events), key=json.dumps)
        shown["statuses"] = {}
        for body in statuses:
            who, rest = self.whose(body)
            assert who not in shown["statuses"], f"{who} has two statuses"
            shown["statuses"][who] = plain(rest)
        return {key: value for key, value in shown.items() if value}


def endpoint(body: Body) -> str | Body:
    told = without(body, {"active": True, "ready": True, "serving": True})
    if set(told) != {"ip", "port"}:
        return told
    return f"[{told['ip']}]:{told['port']}" if ":" in told["ip"] else f"{told['ip']}:{told['port']}"


# As text

class Dumper(yaml.SafeDumper):
    """Without anchors, which say that two values are the same object."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def flow(value: Any) -> str:
    return yaml.dump(value, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=1 << 30, allow_unicode=True).split("\n...")[0].rstrip("\n")


def lines(value: Any, indent: str = "") -> list[str]:
    """One line for each element that fits into one; the elements of others are on lines of their own below it."""
    result = []
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        head = f"{indent}{flow(key)}:" if isinstance(value, dict) else f"{indent}-"
        line = f"{head} {flow(item)}"
        if not isinstance(item, (dict, list)) or not item or (indent and len(line) <= WIDTH):
            result.append(line)
        elif isinstance(value, dict):
            result += [head, *lines(item, indent + ("  " if isinstance(item, dict) else ""))]
        else:
            first, *others = lines(item, indent + "  ")
            result += [f"{indent}- {first.lstrip()}", *others]
    return result


def text(shown: Body) -> str:
    return "".join(f"{line}\n" for line in lines(shown))
