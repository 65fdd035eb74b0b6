# SPDX-License-Identifier: Apache-2.0
"""The control socket: JSON over HTTP, apart from the API under test. README.md lists the commands."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING, Any, Awaitable, Callable

from . import admission, bulk, deletes, patch
from .encoding import MalformedDocument, from_json, to_json
from .faults import BadFault, RequestInfo, StreamPlan, When, STREAM_ENDS, answer
from .resources import BY_PLURAL, RESOURCES, Resource
from .state import BadSetting
from .store import Record
from .wire import Connection, Request

if TYPE_CHECKING:
    from .standin import Standin

Command = Callable[["Control", Request, Any], Awaitable[Any]]
WAIT_S_MAX = 300.0


class Refused(ValueError):
    """The command makes no sense."""


class Control:
    """Answers control requests."""

    def __init__(self, standin: Standin):
        self.standin = standin
        self.state = standin.state
        self._snapshots: dict[str, Any] = {}

    async def handle(self, connection: Connection, _number: int, request: Request) -> None:
        """Answers one control request."""
        try:
            command, rest = _find(request)
            body = from_json(request.body) if request.body else {}
            if rest:
                body = body | {"_rest": rest}
            status, document = 200, await command(self, request, body)
        except (
            Refused,
            BadFault,
            BadSetting,
            bulk.BadRequest,
            MalformedDocument,
            patch.PatchError,
        ) as error:
            status, document = 400, {"error": str(error)}
        except Exception as error:  # told to the test instead of ending the server
            traceback.print_exc()
            status, document = 500, {"error": repr(error)}
        connection.respond(status, [("Content-Type", "application/json")], to_json(document) + b"\n")
        await connection.drain()

    async def info(self, _request: Request, _body: Any) -> Any:
        """Addresses and files."""
        return self.standin.describe()

    async def get_settings(self, _request: Request, _body: Any) -> Any:
        """All knobs."""
        return self.state.describe_settings()

    async def set_settings(self, _request: Request, body: Any) -> Any:
        """Turns knobs."""
        self.state.set(body)
        return self.state.describe_settings()

    async def get_faults(self, _request: Request, _body: Any) -> Any:
        """All faults."""
        return self.state.faults.describe()

    async def add_fault(self, _request: Request, body: Any) -> Any:
        """Switches one fault, or a list of them, on."""
        faults = [self.state.faults.add(spec) for spec in (body if isinstance(body, list) else [body])]
        return [fault.describe() for fault in faults]

    async def remove_faults(self, _request: Request, body: Any) -> Any:
        """Switches all faults, or the named one, off."""
        return {"removed": self.state.faults.remove(body.get("_rest"))}

    async def get_streams(self, _request: Request, _body: Any) -> Any:
        """All running watches."""
        return [stream.describe() for stream in self.state.streams.values()]

    async def act_on_streams(self, _request: Request, body: Any) -> Any:
        """Ends or silences running watches."""
        when, end = When.parse(body.get("when")), body.get("end", "clean")
        if end not in (*STREAM_ENDS, "resume"):
            raise Refused(f"end is one of {(*STREAM_ENDS, 'resume')}")
        count = 0
        for stream in list(self.state.streams.values()):
            if not when.meets(stream.call.info, stream.call.identity, stream.call.request):
                continue
            count += 1
            if end == "resume":
                stream.resume()
                continue
            error = (
                answer({"with": "expired"} | body, RequestInfo("watch", "/"), None)
                if end == "error"
                else None
            )
            stream.act(StreamPlan(0, end, error))
        return {"streams": count}

    async def set_network(self, _request: Request, body: Any) -> Any:
        """up, gone or black-hole."""
        mode = body.get("mode")
        if mode not in ("up", "gone", "black-hole"):
            raise Refused("mode is up, gone or black-hole")
        await self.standin.network.set(mode, body.get("drop"))
        return {"mode": mode}

    async def drop_connections(self, _request: Request, body: Any) -> Any:
        """Ends connections now."""
        how = body.get("how", "rst")
        if how not in ("rst", "fin"):
            raise Refused("how is rst or fin")
        when = When.parse(body["when"]) if body.get("when") else None
        return {"connections": self.standin.network.drop(how, when)}

    async def expire_tokens(self, _request: Request, body: Any) -> Any:
        """Ends all tokens of an identity."""
        identity = self.state.authenticator.by_alias(body.get("identity", "controller"))
        self.state.authenticator.expire(identity, body.get("in_s", 0))
        return {}

    async def rotate_token(self, _request: Request, body: Any) -> Any:
        """A new token in the controller's files; the old one dies now or later."""
        return {"token": self.standin.rotate_token(body.get("old_expires_in_s", 0), body.get("expires_in_s"))}

    async def rotate_authority(self, _request: Request, _body: Any) -> Any:
        """A new CA and server certificate, in the files too."""
        self.standin.rotate_authority()
        return {}

    async def set_rules(self, _request: Request, body: Any) -> Any:
        """Role rules of an identity; null allows everything."""
        alias, rules = body.get("identity", "controller"), body.get("rules")
        if rules is None:
            self.state.authorizer.rules.pop(alias, None)
        else:
            self.state.authorizer.rules[alias] = rules
        return {"rules": self.state.authorizer.rules}

    async def get_requests(self, _request: Request, body: Any) -> Any:
        """The log, or the part of it that matches."""
        return [entry.describe() for entry in self.state.journal.find(*_search(body), **_filters(body))]

    async def wait_requests(self, _request: Request, body: Any) -> Any:
        """Waits until enough requests match."""
        when, since = _search(body)
        timeout = min(float(body.get("timeout_s", 10)), WAIT_S_MAX)
        filters = {key: value for key, value in _filters(body).items() if key != "limit"}
        found = await self.state.journal.wait(when, since, int(body.get("count", 1)), timeout, **filters)
        return [entry.describe() for entry in found]

    async def get_counters(self, _request: Request, _body: Any) -> Any:
        """The number of the latest request."""
        return {"last": self.state.journal.last}

    async def get_objects(self, request: Request, _body: Any) -> Any:
        """Stored objects of a resource."""
        resource = _resource(request.query.get("resource"))
        namespace, name = request.query.get("namespace", ""), request.query.get("name")
        records = self.state.store.table(resource).view().range(namespace)
        return {
            "revision": self.state.store.rev,
            "items": [
                json.loads(record.full(resource.hub)) for record in records if name in (None, record.name)
            ],
        }

    async def put_object(self, _request: Request, body: Any) -> Any:
        """Stores an object past all checks, even one that no server would."""
        resource, obj = _resource(body.get("resource")), body.get("object")
        if not isinstance(obj, dict) or not (obj.get("metadata") or {}).get("name"):
            raise Refused("object needs metadata.name")
        return json.loads(self._put(resource, obj).full(resource.hub))

    def _put(self, resource: Resource, obj: dict[str, Any]) -> Record:
        meta = {"uid": str(bulk.uuid.uuid4()), "creationTimestamp": admission.now()} | obj["metadata"]
        old = self.state.store.get(resource, meta.get("namespace", ""), meta["name"])
        if old is not None:
            meta["uid"] = obj["metadata"].get("uid") or old.uid
        meta["resourceVersion"] = "0"
        if meta.get("namespace"):
            admission.make_namespace(self.state, meta["namespace"])
        obj = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")} | {
            "metadata": meta
        }
        return self.state.store.put(resource, obj)

    async def patch_object(self, _request: Request, body: Any) -> Any:
        """Merges a patch into a stored object, past all checks. Tells when the change was published."""
        resource = _resource(body.get("resource"))
        record = self.state.store.get(resource, body.get("namespace", ""), body.get("name", ""))
        if record is None:
            raise Refused("no such object")
        obj = patch.merge(record.obj(), body.get("patch") or {})
        instant = bulk.monotonic_ns()
        return {"revision": self.state.store.put(resource, obj).rev, "at_ns": instant}

    async def delete_objects(self, _request: Request, body: Any) -> Any:
        """Removes objects at once, finalizers or not."""
        resource = _resource(body.get("resource"))
        table = self.state.store.table(resource)
        doomed = [
            record
            for record in list(table.view().range(body.get("namespace", "")))
            if body.get("name") in (None, record.name)
        ]
        for record in doomed:
            deletes.remove(self.state, record)
        return {"deleted": len(doomed)}

    async def bump(self, _request: Request, body: Any) -> Any:
        """Moves the revision counter as writes to other types would."""
        return {"revision": self.state.store.bump(int(body.get("by", 1)))}

    async def forget(self, _request: Request, body: Any) -> Any:
        """Makes old revisions unusable."""
        before = int(body.get("before", self.state.store.rev))
        resources = [_resource(body["resource"])] if body.get("resource") else RESOURCES
        for resource in resources:
            self.state.store.table(resource).forget(before, body.get("watch", True), body.get("lists", True))
        return {"before": before}

    async def snapshot(self, _request: Request, body: Any) -> Any:
        """Remembers the whole state under a name."""
        self._snapshots[body.get("name", "default")] = self.state.store.snapshot()
        return {"revision": self.state.store.rev}

    async def restore(self, _request: Request, body: Any) -> Any:
        """Goes back to a remembered state and its smaller counter. Running watches end, unless told
        otherwise."""
        saved = self._snapshots.get(body.get("name", "default"))
        if saved is None:
            raise Refused("no such snapshot")
        self.state.store.restore(saved)
        end = body.get("streams", "clean")
        for stream in list(self.state.streams.values()) if end else ():
            stream.act(StreamPlan(0, end))
        return {"revision": self.state.store.rev}

    async def bulk(self, _request: Request, body: Any) -> Any:
        """Many objects at once."""
        return await bulk.load(self.state, bulk.Load.parse(body))

    async def churn(self, _request: Request, body: Any) -> Any:
        """A steady stream of changes."""
        return await bulk.churn(self.state, body)

COMMANDS: dict[tuple[str, str], Command] = {
    ("GET", "info"): Control.info,
    ("GET", "settings"): Control.get_settings,
    ("PATCH", "settings"): Control.set_settings,
    ("GET", "faults"): Control.get_faults,
    ("POST", "faults"): Control.add_fault,
    ("DELETE", "faults"): Control.remove_faults,
    ("GET", "streams"): Control.get_streams,
    ("POST", "streams"): Control.act_on_streams,
    ("POST", "network"): Control.set_network,
    ("POST", "connections/drop"): Control.drop_connections,
    ("POST", "tokens/expire"): Control.expire_tokens,
    ("POST", "tokens/rotate"): Control.rotate_token,
    ("POST", "authority/rotate"): Control.rotate_authority,
    ("POST", "rules"): Control.set_rules,
    ("POST", "requests"): Control.get_requests,
    ("POST", "requests/wait"): Control.wait_requests,
    ("GET", "counters"): Control.get_counters,
    ("GET", "objects"): Control.get_objects,
    ("PUT", "objects"): Control.put_object,
    ("PATCH", "objects"): Control.patch_object,
    ("DELETE", "objects"): Control.delete_objects,
    ("POST", "revision"): Control.bump,
    ("POST", "forget"): Control.forget,
    ("POST", "snapshot"): Control.snapshot,
    ("POST", "restore"): Control.restore,
    ("POST", "bulk"): Control.bulk,
    ("POST", "churn"): Control.churn,
}


def _find(request: Request) -> tuple[Command, str]:
    path = request.path.strip("/")
    command = COMMANDS.get((request.method, path))
    if command is not None:
        return command, ""
    parent, _, rest = path.partition("/")
    command = COMMANDS.get((request.method, parent))
    if command is None or not rest:
        raise Refused(
            f"no command {request.method} /{path}; there are " + ", ".join(f"{m} /{p}" for m, p in COMMANDS)
        )
    return command, rest


def _search(body: dict[str, Any]) -> tuple[When, int]:
    return When.parse(body.get("when")), int(body.get("since", 0))


def _filters(body: dict[str, Any]) -> dict[str, Any]:
    return {key: body[key] for key in ("status", "effect", "limit") if body.get(key) is not None}


def _resource(plural: Any) -> Resource:
    if plural not in BY_PLURAL:
        raise Refused(f"resource is one of {sorted(BY_PLURAL)}")
    return BY_PLURAL[plural]
