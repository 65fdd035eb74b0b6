# SPDX-License-Identifier: Apache-2.0
"""What tests turn and read, apart from the API under test. README.md lists the commands."""

from __future__ import annotations

import json
import uuid
from typing import Any

from ..commands import Commands
from . import admission, bulk, deletes, patch
from .faults import STREAM_ENDS, StreamPlan, When, answer
from .request_info import RequestInfo
from .resources import BY_PLURAL, RESOURCES
from .standin import Standin

Documents = list[dict[str, Any]]


class Control(Commands):
    """Each command is a method."""

    def __init__(self, standin: Standin):
        self.standin = standin
        self.state = standin.state
        self.store = standin.state.store
        self._snapshot: Any = None

    def do_settings(self, **changes: Any) -> None:
        self.state.settings.set(changes)

    def do_fault(self, **spec: Any) -> str:
        return self.state.faults.add(**spec)

    def do_faults(self) -> Documents:
        return self.state.faults.describe()

    def do_clear(self, id: str | None = None) -> None:
        self.state.faults.clear(id)

    def do_streams(self) -> Documents:
        return [stream.describe() for stream in self.state.streams.values()]

    def do_end_streams(self, end: str, when: dict[str, Any] | None = None, **error: Any) -> None:
        """Ends or silences running watches; `resume` ends a silence."""
        if end not in (*STREAM_ENDS, "resume"):
            raise ValueError(f"end is one of {(*STREAM_ENDS, 'resume')}")
        meant = When(**(when or {}))
        for stream in list(self.state.streams.values()):
            if not meant.meets(stream.call.info, stream.call.identity, stream.call.request):
                continue
            if end == "resume":
                stream.resume()
            else:
                told = answer(RequestInfo("watch", "/"), None, **{"with_": "expired"} | error)
                stream.act(StreamPlan(0, end, told))

    async def do_network(self, mode: str, drop: str | None = None) -> None:
        """up, gone or black-hole; `drop`: connections end."""
        await self.standin.network.set(mode)
        if drop:
            self.standin.network.drop()

    def do_drop(self) -> None:
        self.standin.network.drop()

    def do_expire_tokens(self) -> None:
        self.state.authenticator.expire(self.state.authenticator.controller)

    def do_rotate_token(self, old_expires_in_s: float = 0) -> str:
        """A new token in the controller's files; the old one dies now or later."""
        return self.standin.rotate_token(old_expires_in_s)

    def do_rotate_authority(self) -> None:
        """A new CA and server certificate, in the files too."""
        self.standin.rotate_authority()

    def do_rules(self, rules: Documents | None) -> None:
        """Role rules of the controller; null allows everything."""
        self.state.authorizer.rules = rules

    def do_requests(self, when: dict[str, Any], since: int = 0, **more: Any) -> Documents:
        """The log, or the part of it that matches."""
        return [entry.describe() for entry in self.state.journal.find(When(**when), since, **more)]

    async def do_wait_requests(self, when: dict[str, Any], since: int, count: int, timeout_s: float, **more: Any) -> Documents:
        found = await self.state.journal.wait(When(**when), since, count, timeout_s, **more)
        return [entry.describe() for entry in found]

    def do_mark(self) -> int:
        return self.state.journal.last

    # Objects, past all checks

    def do_objects(self, resource: str, namespace: str = "", name: str | None = None) -> Documents:
        records = self.store.table(BY_PLURAL[resource]).view().range(namespace)
        return [json.loads(record.full(record.resource.hub)) for record in records if name in (None, record.name)]

    def do_put_object(self, resource: str, object: dict[str, Any]) -> None:
        """Stores an object, even one that no server would."""
        meta = {"uid": str(uuid.uuid4()), "creationTimestamp": admission.now()} | object["metadata"]
        old = self.store.get(BY_PLURAL[resource], meta.get("namespace", ""), meta["name"])
        if old is not None:
            meta["uid"] = object["metadata"].get("uid") or old.uid
        if meta.get("namespace"):
            admission.make_namespace(self.state, meta["namespace"])
        self.store.put(BY_PLURAL[resource], object | {"metadata": meta})

    def do_patch_object(self, resource: str, name: str, change: dict[str, Any], namespace: str) -> None:
        record = self.store.get(BY_PLURAL[resource], namespace, name)
        if record is None:
            raise ValueError("no such object")
        self.store.put(record.resource, patch.merge(record.obj(), change))

    def do_delete_objects(self, resource: str, namespace: str, name: str) -> None:
        """Removes an object at once, finalizers or not."""
        record = self.store.get(BY_PLURAL[resource], namespace, name)
        if record is None:
            raise ValueError("no such object")
        deletes.remove(self.state, record)

    # Revisions

    def do_bump(self, by: int) -> int:
        """Moves the revision counter as writes to other types would; where it is then."""
        return self.store.bump(by)

    def do_forget(self, before: int | None = None) -> None:
        for resource in RESOURCES:
            self.store.table(resource).forget(self.store.rev if before is None else before)

    def do_snapshot(self) -> None:
        self._snapshot = self.store.snapshot()

    def do_restore(self) -> None:
        """Goes back to the remembered state and its smaller counter. Running watches are told nothing."""
        self.store.restore(self._snapshot)

    # Benchmarks

    async def do_bulk(self, **load: Any) -> None:
        await bulk.load(self.state, bulk.Load(**load))

    async def do_churn(self, resource: str, count: int, interval_ms: float = 1) -> int:
        return await bulk.churn(self.state, resource, count, interval_ms / 1000)
