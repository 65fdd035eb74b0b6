# SPDX-License-Identifier: Apache-2.0
"""Create, update, delete and the actions: what a request does to the rows, without any HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import certificates, ports, schema, states
from .deployment import RUNS_NOWHERE, Deployment
from .engine import Engine
from .errors import ApiError, conflict, invalid, not_allowed, not_found, server_error
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
_UPDATABLE_AT_REST = ("upgraded", "canceled-upgrade")
_COMMON_AT_CREATE = {"transitioningProgress": None, "description": None}


@dataclass
class Caller:
    """Who asks: the role of the key and the project the request is about."""

    role: str
    project: str


@dataclass
class Outcome:
    """What came of a request: the row to show, the status, and whether anything was changed."""

    row: Row | None
    status: int
    changed: bool
    body: dict[str, Any] | None = None
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
            self._new_service(type_, fields, caller)
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
        starts = self._schedules(row, changes) and row.state not in _UPDATABLE_AT_REST
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

    def action(self, row: Row, name: str, body: dict[str, Any], caller: Caller) -> Outcome:
        if name not in schema.TYPES[row.type].actions:
            raise invalid("InvalidAction", "action")
        if name not in states.actions(row.type, row.state, self._hidden_by_system(row, caller)):
            raise invalid("ActionNotAvailable", "action")
        special = getattr(self, f"_action_{name}", None)
        if special is not None:
            return special(row, body, caller)
        self.engine.start(row, name)
        return Outcome(row, 202, True)

    # Actions that are more than the start of a process

    def _action_remove(self, row: Row, _body: dict[str, Any], caller: Caller) -> Outcome:
        return self._remove(row, caller, 202)

    def _action_update(self, row: Row, body: dict[str, Any], caller: Caller) -> Outcome:
        changes = clean(schema.TYPES[row.type], body, False, self._exists(caller))
        self._check_update(row, changes, caller, cert_needed=False)
        self._store_changes(row, changes)
        self.engine.start(row, "update")
        return Outcome(row, 202, True)

    def _action_upgrade(self, row: Row, body: dict[str, Any], caller: Caller) -> Outcome:
        if row.table == "service":
            strategy = body.get("inServiceStrategy")
            if not isinstance(strategy, dict) or not isinstance(strategy.get("launchConfig"), dict):
                raise invalid("MissingRequired", "launchConfig")
            fresh = self._launch_config(row, strategy["launchConfig"])
            row.internal["previousLaunchConfig"] = row["launchConfig"]
            row["launchConfig"] = fresh
            row["upgrade"] = {"type": "serviceUpgrade", "inServiceStrategy": strategy}
            self.store.touch(row)
        self.engine.start(row, "upgrade")
        return Outcome(row, 202, True)

    def _action_addservicelink(self, row: Row, body: dict[str, Any], caller: Caller) -> Outcome:
        name, target = self._link(body.get("serviceLink"), caller)
        return self._set_links(row, {**row.internal.get("links", {}), name: target})

    def _action_removeservicelink(self, row: Row, body: dict[str, Any], caller: Caller) -> Outcome:
        _, target = self._link(body.get("serviceLink"), caller)
        return self._set_links(row, {k: v for k, v in row.internal.get("links", {}).items() if v != target})

    def _action_setservicelinks(self, row: Row, body: dict[str, Any], caller: Caller) -> Outcome:
        return self._set_links(row, dict(self._link(item, caller) for item in body.get("serviceLinks") or []))

    def _action_activateservices(self, row: Row, _body: dict[str, Any], _caller: Caller) -> Outcome:
        return self._all_services(row, "activate")

    def _action_deactivateservices(self, row: Row, _body: dict[str, Any], _caller: Caller) -> Outcome:
        return self._all_services(row, "deactivate")

    def _action_addoutputs(self, row: Row, body: dict[str, Any], _caller: Caller) -> Outcome:
        row["outputs"] = {**(row["outputs"] or {}), **(body.get("outputs") or {})}
        self.store.touch(row)
        return Outcome(row, 200, True)

    def _action_exportconfig(self, row: Row, _body: dict[str, Any], _caller: Caller) -> Outcome:
        docker, rancher = ["version: '2'", "services:"], ["version: '2'", "services:"]
        for service in self.store.find("service_by_stack", row.id):
            image = (service["launchConfig"] or {}).get("imageUuid") or "rancher/none"
            docker += [f"  {service.name}:", f"    image: {image.removeprefix('docker:')}"]
            rancher += [f"  {service.name}:", f"    scale: {service['scale'] or 1}"]
        body = {"type": "composeConfig", "baseType": "composeConfig", "links": {}, "actions": {},
                "dockerComposeConfig": "\n".join(docker) + "\n",
                "rancherComposeConfig": "\n".join(rancher) + "\n"}
        return Outcome(None, 200, False, body)

    # Inside

    def _exists(self, caller: Caller):
        def exists(table: str, row_id: str) -> bool:
            row = self.store.get(table, row_id)
            return row is not None and (row["accountId"] == caller.project or row.table == "project")
        return exists

    def _launch_config(self, row: Row, body: dict[str, Any]) -> dict[str, Any]:
        launch: dict[str, Any] = {"type": "launchConfig",
                  **clean(schema.NESTED["launchConfig"], body, True, lambda _table, _id: True)}
        if launch.get("ports"):
            launch["ports"] = [str(p) for p in ports.parse_all(launch["ports"])]
        if row.type == "loadBalancerService":
            self.rules.fill_in(launch)
        return launch

    def _hidden_by_system(self, row: Row, caller: Caller) -> bool:
        stack = self.store.get("stack", row["stackId"]) if row.table == "service" else None
        return bool(stack is not None and stack["system"] and caller.role != "admin")

    def _new_service(self, type_: str, fields: dict[str, Any], caller: Caller) -> None:
        self.rules.create(type_, fields, caller.role)
        fields.update(publicEndpoints=None, healthState="healthy")
        stack = self.store.get("stack", fields["stackId"])
        fields["system"] = bool(stack is not None and stack["system"])

    def _check_update(self, row: Row, changes: dict[str, Any], caller: Caller,
                      cert_needed: bool = True) -> None:
        if row.type == "stack" and "name" in changes:
            self._stack_name(changes["name"], caller.project, row)
        elif row.type == "certificate":
            if "name" in changes:
                self._certificate_name(changes["name"], caller.project, row)
            if cert_needed or "cert" in changes:
                changes.update(certificates.derived(changes.get("cert")))
        elif row.table == "service":
            self.rules.update(row, changes, caller.role)
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
        if row.type == "loadBalancerService" and row["lbConfig"] is None and changes.get("lbConfig") is not None:
            row.internal["stuck"] = True
        for name, value in changes.items():
            differs = normal(row[name]) != normal(value)
            if differs or name in _SCHEDULES_EVEN_EQUAL:
                row[name] = value
            changed = changed or differs
        if changed:
            self.store.touch(row)
        return changed

    def _remove(self, row: Row, caller: Caller, status: int) -> Outcome:
        if row.table == "service":
            self.rules.system_stack(row["stackId"], caller.role, "remove")
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
        """The chain that creates and then activates the row overwrites the removal, or holds the lock that it needs."""
        if self.deployment.behaviour.early_removal == "conflict":
            raise conflict()
        if self.deployment.behaviour.early_removal == "lost":
            self.engine.show(row, "removing")
        else:
            self.engine.start(row, "remove")
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
        if any(own is None or r.id != own.id for r in self.store.find("stack_by_name",
                                                                      (project, name.lower()))):
            raise invalid("NotUnique", "name")

    def _certificate_name(self, name: Any, project: str, own: Row | None) -> None:
        found = self.store.find("certificate_by_name", (project, str(name).lower()))
        if any(own is None or r.id != own.id for r in found):
            raise invalid("NotUnique", "name")

    def _link(self, item: Any, caller: Caller) -> tuple[str, str]:
        if not isinstance(item, dict):
            raise invalid("MissingRequired", "serviceLink")
        target_id = item.get("serviceId")
        if not isinstance(target_id, str) or not self._exists(caller)("service", target_id):
            raise invalid("InvalidReference", "serviceId")
        target = self.store.get("service", target_id)
        if target is None:
            raise not_found()
        return item.get("name") or target.name, target_id

    def _set_links(self, row: Row, links: dict[str, str]) -> Outcome:
        row.internal["links"] = links
        self.store.touch(row)
        self.processes.relink(row)
        return Outcome(row, 200, True)

    def _all_services(self, stack: Row, process: str) -> Outcome:
        for service in self.store.find("service_by_stack", stack.id):
            if self.engine.allowed(service, process):
                self.engine.start(service, process)
        return Outcome(stack, 202, True)

