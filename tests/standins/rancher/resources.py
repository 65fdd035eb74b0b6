# SPDX-License-Identifier: Apache-2.0
"""Turns rows into the JSON resources that clients see: links, actions, dates."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from . import schema, states
from .jsontext import dumps
from .store import Row, Store


VERSION = "v2-beta"


@dataclass(frozen=True)
class Urls:
    """Where the request came in: links are built from it, the project part is echoed."""

    base: str           # http://host:port
    project: str | None  # id of the project named in the path

    @property
    def prefix(self) -> str:
        scope = f"/projects/{self.project}" if self.project else ""
        return f"{self.base}/{VERSION}{scope}"

    def collection(self, type_: str) -> str:
        return f"{self.prefix}/{schema.plural(type_)}"

    def resource(self, type_: str, row_id: str) -> str:
        return f"{self.collection(type_)}/{row_id}"


def iso_date(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms / 1000))


class Renderer:
    def __init__(self, store: Store):
        self.store = store

    def text(self, row: Row, urls: Urls, role: str, is_created: bool = False) -> str:
        """The resource as JSON text; `is_created` as the answer to its creation, which shows a little more and a little less. Rows that
        do not depend on other rows are rendered once per change."""
        if is_created or row.type in ("stack", "host", "project"):
            return self._dump(row, self.resource(row, urls, role, is_created))
        key = (urls, role)
        if key not in row.cache:
            row.cache[key] = self._dump(row, self.resource(row, urls, role))
        return row.cache[key]

    @staticmethod
    def _dump(row: Row, body: dict[str, Any]) -> str:
        """A setting has `baseType` twice in one object: the type of the row first, that of the list last."""
        text = dumps(body)
        return text if row.type != "activeSetting" else f'{text[:-1]},"baseType":"setting"}}'

    def resource(self, row: Row, urls: Urls, role: str, is_created: bool = False) -> dict[str, Any]:
        kind = schema.TYPES[row.type]
        own = urls.resource(row.type, row.id)
        body: dict[str, Any] = {
            "id": row.id, "type": row.type, "links": self._links(row, kind, own, urls),
            "actions": self._actions(row, own), "baseType": row.type if row.type == "activeSetting" else kind.base_type,
        }
        for name, spec in kind.fields.items():
            if name == "id" or not (schema.readable(spec, role) or name == "key"):
                continue
            value = row[name]
            if name == "key" and row.type == "certificate" and not is_created \
                    and not schema.readable(spec, role):
                value = None
            body[name] = value
            if spec.type == "date" and value is not None:
                body[name] = iso_date(value)
                body[name + "TS"] = value
        self._derived(row, body)
        if row.table == "service" and not is_created:
            body["secondaryLaunchConfigs"] = []
        return body

    def _links(self, row: Row, kind: schema.Type, own: str, urls: Urls) -> dict[str, str]:
        links = {"self": own}
        for link in kind.links:
            links[link] = f"{own}/{link.lower()}"
        if row.type == "project":
            scoped = Urls(urls.base, row.id)
            links.update({schema.plural(t): scoped.collection(t) for t in schema.LISTED})
        return links

    def _actions(self, row: Row, own: str) -> dict[str, str]:
        return {name: f"{own}/?action={name}" for name in states.actions(row.type, row.state)}

    def _derived(self, row: Row, body: dict[str, Any]) -> None:
        if row.table == "service":
            body["instanceIds"] = row["instanceIds"] or None
        if row.type == "stack":
            services = self.store.find("service_by_stack", row.id)
            body["serviceIds"] = [s.id for s in services] or None
            body["healthState"] = self._stack_health(services)
            body["startOnCreate"] = row["startOnCreate"] or None
        elif row.type == "host":
            containers = self.store.find("instance_by_host", row.id)
            body["instanceIds"] = [c.id for c in containers]
            balancers = {i for c in containers if not c.internal.get("pod") for i in c["serviceIds"] or []}
            endpoints = [e for i in sorted(balancers) for e in self._endpoints_of(i)
                         if e.get("hostId") == row.id]
            body["publicEndpoints"] = endpoints

    def _endpoints_of(self, service_id: str) -> list[dict[str, Any]]:
        service = self.store.get("service", service_id)
        return (service["publicEndpoints"] or []) if service is not None else []

    @staticmethod
    def _stack_health(services: list[Row]) -> str:
        health = {s["healthState"] for s in services} - {None, "healthy"}
        return "degraded" if health else "healthy"


def setting_row(store: Store, name: str, value: str) -> Row:
    row = store.get("setting", name)
    if row is None:
        return store.add("activeSetting", {"name": name, "value": value, "activeValue": value, "inDb": False,
                                           "source": "Code Packaged Defaults"}, row_id=name)
    row.fields.update(value=value, activeValue=value, inDb=True, source="Database")
    store.touch(row)
    return row
