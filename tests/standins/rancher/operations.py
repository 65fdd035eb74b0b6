# SPDX-License-Identifier: Apache-2.0
"""Create, update, delete and the actions: what a request does to the rows, without any HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import certificates, schema, states
from .deployment import RUNS_NOWHERE, Deployment
from .engine import Engine
from .errors import ApiError, conflict, invalid, not_allowed, server_error
from .processes import Processes
from .service_rules import ServiceRules
from .store import Row, Store
from .validation import check_name, clean, normal, storable

# Fields whose change schedules the update process; others are simply stored.
_SCHEDULES = {
    "service": frozenset(("scale", "scalePolicy", "name", "metadata", "retainIp", "selectorLink",
                          "selectorContainer", "lbConfig", "externalIpAddresses", "hostname")),
    "stack": frozenset(("name", "externalId")),
    "certificate": frozenset(("cert", "key", "certChain")),
}
# Stored nested objects carry marks that a sent one lacks, and numbers are compared with what JSON made of them: these always compare as
# different. A key is kept in another form than it came in.
_SCHEDULES_EVEN_EQUAL = ("lbConfig", "launchConfig", "scale", "key")
# Rows show all the actions that those of a real server do; of the others nobody makes use here.
_CARRIED_OUT = ("activate", "deactivate")
_COMMON_AT_CREATE = {"transitioningProgress": None, "description": None}


@dataclass
class Caller:
    """Who asks: the role of the key and the project the request is about."""

    role: str
    project: str


@dataclass
class Outcome:
    row: Row
    status: int
    changed: bool
    is_created: bool = False


class Operations:
    def __init__(self, store: Store, engine: Engine, deployment: Deployment, processes: Processes):
        self.store = store
        self.engine = engine
        self.deployment = deployment
        self.processes = processes
        self.rules = ServiceRules(store)

    # The four verbs

    def create(self, type_: str, body: dict[str, Any], caller: Caller) -> Outcome:
        kind = schema.TYPES[type_]
        if "POST" not in kind.collection_methods or type_ == "subscribe":
            raise not_allowed()
        if type_ == "stack" and "name" in body and body["name"] is None:
            raise server_error()
        fields = clean(kind, body, True, self._exists(caller))
        for name in kind.fields:
            fields.setdefault(name, None)
        fields.pop("id", None)
        fields.update(_COMMON_AT_CREATE, kind=type_, accountId=caller.project, state="requested",
                      description=fields.get("description"))
        if type_ == "stack":
            self._stack_name(fields["name"], caller.project, None)
            fields.update(system=False)
        elif type_ == "certificate":
            self._certificate_name(fields["name"], caller.project, None)
            fields.update(certificates.derived(fields["cert"]))
        else:
            self._new_service(type_, fields)
        for given_by_store in ("created", "uuid"):
            fields.pop(given_by_store, None)
        if not storable(fields):
            raise conflict()
        row = self.store.add(type_, fields)
        self.engine.start(row, "create")
        return Outcome(row, 201, True, is_created=True)

    def update(self, row: Row, body: dict[str, Any], caller: Caller) -> Outcome:
        kind = schema.TYPES[row.type]
        if "PUT" not in kind.resource_methods:
            raise not_allowed()
        changes = clean(kind, body, False, self._exists(caller))
        self._check_update(row, changes, caller)
        starts = self._schedules(row, changes)
        if not storable(changes) or (starts and not self.engine.allowed(row, "update")):
            raise conflict()
        changed = self._store_changes(row, changes)
        if starts:
            self.engine.start(row, "update")
        return Outcome(row, 200, changed)

    def delete(self, row: Row, caller: Caller) -> Outcome:
        if "DELETE" not in schema.TYPES[row.type].resource_methods:
            raise not_allowed()
        return self._remove(row, caller, 200)

    def action(self, row: Row, name: str, caller: Caller) -> Outcome:
        if name not in schema.TYPES[row.type].actions:
            raise invalid("InvalidAction", "action")
        if name not in states.actions(row.type, row.state):
            raise invalid("ActionNotAvailable", "action")
        if name == "remove":
            return self._remove(row, caller, 202)
        if name not in _CARRIED_OUT:
            raise not_allowed()
        self.engine.start(row, name)
        return Outcome(row, 202, True)

    # Inside

    def _exists(self, caller: Caller):
        def exists(table: str, row_id: str) -> bool:
            row = self.store.get(table, row_id)
            return row is not None and (row["accountId"] == caller.project or row.table == "project")
        return exists

    def _new_service(self, type_: str, fields: dict[str, Any]) -> None:
        self.rules.create(type_, fields)
        fields.update(publicEndpoints=None, healthState="healthy", system=False)

    def _check_update(self, row: Row, changes: dict[str, Any], caller: Caller) -> None:
        if row.type == "stack" and "name" in changes:
            self._stack_name(changes["name"], caller.project, row)
        elif row.type == "certificate":
            if "name" in changes:
                self._certificate_name(changes["name"], caller.project, row)
            changes.update(certificates.derived(changes.get("cert")))
        elif row.table == "service":
            self.rules.update(row, changes)
            # Written by the server alone, except for balancers that run nowhere.
            if (row["launchConfig"] or {}).get("imageUuid") != RUNS_NOWHERE:
                changes.pop("publicEndpoints", None)

    @staticmethod
    def _schedules(row: Row, changes: dict[str, Any]) -> bool:
        """Whether these values have the row's update process run."""
        schedules = _SCHEDULES.get(row.table, frozenset())
        if row.type == "loadBalancerService":
            schedules = schedules | {"launchConfig"}
        return any(name in schedules and (name in _SCHEDULES_EVEN_EQUAL or normal(row[name]) != normal(value))
                   for name, value in changes.items())

    def _store_changes(self, row: Row, changes: dict[str, Any]) -> bool:
        """Save what differs, and what is written whole. Tells whether anything really changed."""
        changed = False
        for name, value in changes.items():
            differs = normal(row[name]) != normal(value)
            if differs or name in _SCHEDULES_EVEN_EQUAL:
                row[name] = value
            changed = changed or differs
        if changed:
            self.store.touch(row)
        return changed

    def _remove(self, row: Row, caller: Caller, status: int) -> Outcome:
        if row.state in ("removing", "removed"):
            return Outcome(row, status, False)
        if row.table == "service" and row.state == "registering" and row["startOnCreate"]:
            return self._remove_too_early(row, status)
        if row.type == "certificate":
            self._certificate_unused(row)
        if not self.engine.allowed(row, "remove"):
            raise not_allowed() if row.type == "certificate" else conflict()
        self.engine.start(row, "remove")
        return Outcome(row, status, True)

    def _remove_too_early(self, row: Row, status: int) -> Outcome:
        """The chain that creates and then activates the row overwrites the removal."""
        self.engine.show(row, "removing")
        return Outcome(row, status, True)

    def _certificate_unused(self, row: Row) -> None:
        """Only the default certificate is protected; balancers that are being removed still count."""
        users = [b.name for b in self.store.live("loadBalancerService")
                 if (b["lbConfig"] or {}).get("defaultCertificateId") == row.id]
        if users:
            raise ApiError(405, "InvalidAction",
                           f"Certificate is in use by load balancer services: {','.join(users)}")

    def _stack_name(self, name: Any, project: str, own: Row | None) -> None:
        check_name(name, of_service=False)
        self.store.check_unused("stack_by_name", (project, name.lower()), own)

    def _certificate_name(self, name: Any, project: str, own: Row | None) -> None:
        self.store.check_unused("certificate_by_name", (project, str(name).lower()), own)
