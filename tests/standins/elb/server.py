# SPDX-License-Identifier: Apache-2.0
"""The HTTP side: which service a request is for, who sent it, what becomes of it."""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import time
import traceback
import urllib.parse
from typing import Any

from aiohttp import web
from botocore import xform_name

from .account import Account
from .actions import Actions
from .balancers import Balancers
from .certificates import Certificates, Tagging
from .errors import ApiError
from .faults import Fault, Faults, Rates
from .groups import Groups
from .identity import Identity
from .journal import READS, Entry, Journal, shown
from .listeners import Listeners
from .network import Network
from .policy import Policy
from .route53 import Route53
from .router import AT_ONCE_S, Router
from .settings import Settings
from .signature import scope_of, verify
from .wire import NAMES, SERVICES, Service

BODY_MAX = 4 * 1024 * 1024
# Writes after which everything uses what it used before: the frequent ones.
USES_NOTHING = {"RegisterTargets", "DeregisterTargets", "AddTags", "CreateTargetGroup", "ModifyTargetGroup", "ModifyTargetGroupAttributes"}
# Codes of credentials as the services other than ELB spell them: (code, status).
_SPELLED = {
    "ec2": {"InvalidClientTokenId": ("AuthFailure", 401), "SignatureDoesNotMatch": ("AuthFailure", 401), "ExpiredToken": ("RequestExpired", 400),
            "RequestExpired": ("RequestExpired", 400), "IncompleteSignature": ("AuthFailure", 401), "AccessDenied": ("UnauthorizedOperation", 403)},
    "json": {"InvalidClientTokenId": ("UnrecognizedClientException", 400), "SignatureDoesNotMatch": ("InvalidSignatureException", 400),
             "ExpiredToken": ("ExpiredTokenException", 400), "RequestExpired": ("InvalidSignatureException", 400),
             "IncompleteSignature": ("IncompleteSignatureException", 400), "AccessDenied": ("AccessDeniedException", 400)},
    "query": {"RequestExpired": ("SignatureDoesNotMatch", 403), "SignatureDoesNotMatch": ("SignatureDoesNotMatch", 403),
              "IncompleteSignature": ("IncompleteSignature", 400)},
}
_SPELLED["rest-xml"] = _SPELLED["query"]
_GLOBAL_REGION = "us-east-1"  # of services that are one for all regions
_THROTTLED = {"ec2": ("RequestLimitExceeded", "Request limit exceeded.", 503), "json": ("ThrottlingException", "Rate exceeded", 400),
              "query": ("Throttling", "Rate exceeded", 400), "rest-xml": ("Throttling", "Rate exceeded", 400)}


class Cut(Exception):
    """The connection ends without an answer."""


class Standin:
    def __init__(self, options: argparse.Namespace):
        self.settings = Settings()
        cidrs = [options.vpc_cidr, *(["127.0.0.0/8"] if options.loopback_targets else [])]
        self.account = Account(self.settings, options.region, cidrs, options.zones, json.loads(options.subnet_tags))
        self.identity = Identity(self.account)
        self.faults, self.rates, self.journal = Faults(), Rates(), Journal()
        self.policy = Policy(self.account)
        self.check_answers = options.check_answers
        self.failures: list[str] = []  # of the stand-in itself: tests look here
        self.balancers, self.groups = Balancers(self.account), Groups(self.account)
        self.network, self.route53 = Network(self.account), Route53(self.account)
        handlers = {"elasticloadbalancing": [self.balancers, self.groups, Listeners(self.account, Actions(self.account, self.groups))],
                    "ec2": [self.network], "acm": [Certificates(self.account)], "tagging": [Tagging(self.account)], "sts": [self.identity],
                    "route53": [self.route53]}
        self._handlers: dict[str, list[Any]] = handlers
        self.router = Router(self.account, self.balancers, self.groups)
        self._listen, self._port = options.listen, options.port
        self._server: web.Server | None = None
        self._socket: asyncio.AbstractServer | None = None
        self._tick: asyncio.Task[None] | None = None
        self.url = ""

    # Life

    async def start(self) -> None:
        await self.up()
        self._tick = asyncio.get_running_loop().create_task(self._follow())

    async def up(self) -> None:
        if self._socket is not None:
            return
        loop = asyncio.get_running_loop()
        self._server = web.Server(self._answer, request_factory=self._request, max_field_size=1 << 16, max_line_size=1 << 16)  # type: ignore[arg-type]
        self._socket = await loop.create_server(self._server, self._listen, self._port, reuse_address=True)
        self._port = self._socket.sockets[0].getsockname()[1]
        self.url = f"http://{self._listen}:{self._port}"

    async def down(self) -> None:
        """Connections are refused, and those that are open end."""
        if self._socket is not None and self._server is not None:
            self._socket.close()
            await self._server.shutdown(AT_ONCE_S)
            self._socket = None

    async def stop(self) -> None:
        if self._tick is not None:
            self._tick.cancel()
        self.faults.clear()
        await self.down()
        await self.router.stop()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            try:
                await self.changed()
            except Exception:
                self.failures.append(traceback.format_exc())

    async def changed(self) -> None:
        """After calls and commands, and as time goes by: what follows from them."""
        for balancer in self.account.balancers.values():
            self.balancers.advance(balancer)
        await self.router.sync()

    @staticmethod
    def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, asyncio.get_running_loop(), client_max_size=BODY_MAX)

    # Requests

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        if request.path.startswith(("/latest/", "/v1/")):
            entry = self.journal.begin("metadata", f"Get {request.path}")
            told = self.identity.metadata(request.method, request.path, request.headers)
            entry.status, entry.outcome = told.status, "ok" if told.status == 200 else str(told.status)
            return web.json_response(told.body, status=told.status) if isinstance(told.body, dict) else web.Response(text=told.body, status=told.status)
        try:
            return await self._call(request, body)
        except Cut:
            if request.transport is not None:
                request.transport.close()
            return web.Response()
        except Exception:
            self.failures.append(traceback.format_exc())
            traceback.print_exc()
            return web.Response(status=500, text="<html>the stand-in failed</html>", content_type="text/html")

    async def _call(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        request_id = secrets.token_hex(16)
        service, action = SERVICES["elasticloadbalancing"], "?"
        entry: Entry | None = None
        fault: Fault | None = None
        try:
            service, action, signed = self._addressed(request, body)
            entry = self.journal.begin(service.name, action)
            entry.user_agent = request.headers.get("User-Agent")
            if signed is not None:
                entry.access_key = signed.access_key
                key = self.identity.key(signed.access_key, request.headers.get("X-Amz-Security-Token"))
                verify(signed, key.secret, request.method, request.raw_path, request.headers, body, time.time() + self.settings.skew_s)
            if not self.rates.take(service.name, action):
                raise ApiError(*_THROTTLED[service.protocol])
            fault = self.faults.hit(service.name, action)
            entry.fault = fault.kind if fault else None
            if fault is not None and not fault.after:
                early = await self._strike(fault, service)
                if early is not None:
                    entry.status = early.status
                    return early
            result = self.carry_out(service, action, body, entry, request.raw_path)
            content_type, text = service.answer(action, result, request_id)
            if self.check_answers:
                service.check(action, result, text)
            entry.status, entry.outcome = 200, "ok"
            if fault is not None and fault.after:
                late = await self._strike(fault, service)
                if late is not None:
                    return late
            if fault is not None and fault.kind == "truncate":
                return await self._truncated(request, text)
        except ApiError as problem:
            problem = self._spelled(service, problem)
            entry = entry or self.journal.begin(service.name, action)
            entry.status, entry.outcome, entry.message = problem.status, problem.code, problem.message
            content_type, text = service.error(problem, request_id)
            return web.Response(status=problem.status, body=text, content_type=content_type, headers={"x-amzn-RequestId": request_id})
        finally:
            if entry is not None:
                entry.ended = self.account.clock.now()
            await self.changed()
        return web.Response(body=text, content_type=content_type, headers={"x-amzn-RequestId": request_id})

    def _addressed(self, request: web.BaseRequest, body: bytes) -> tuple[Service, str, Any]:
        """The service by the scope of the signature, or by the action of an unsigned call to STS; and what is called."""
        signed = scope_of(request.headers)
        is_form = signed is None or request.raw_path == "/"
        form = {} if not is_form or "X-Amz-Target" in request.headers else dict(urllib.parse.parse_qsl(body.decode("latin-1"), keep_blank_values=True))
        if signed is None:
            if form.get("Action") != "AssumeRoleWithWebIdentity":
                raise ApiError("MissingAuthenticationToken", "Request is missing Authentication Token", 403)
            return SERVICES["sts"], "AssumeRoleWithWebIdentity", None
        if signed.service not in NAMES:
            raise ApiError("SignatureDoesNotMatch", f"Credential should be scoped to correct service, not '{signed.service}'", 403)
        service = SERVICES[signed.service]
        if signed.region != (_GLOBAL_REGION if service.is_rest else self.account.region):
            raise ApiError("SignatureDoesNotMatch", f"Credential should be scoped to a valid region, not '{signed.region}'", 403)
        if service.is_rest:
            return service, service.addressed(request.method, request.raw_path), signed
        if request.method != "POST" or request.raw_path != "/":
            raise ApiError("MalformedQueryString", "Calls are a POST to / without a query")
        content_type = request.headers.get("Content-Type", "").partition(";")[0]
        if service.is_json:
            prefix, _, action = request.headers.get("X-Amz-Target", "").partition(".")
            if prefix != service.model.metadata["targetPrefix"] or content_type != "application/x-amz-json-1.1":
                raise self._spelled(service, ApiError("UnknownOperationException", "X-Amz-Target or Content-Type are wrong"))
            return service, action, signed
        if content_type != "application/x-www-form-urlencoded" or "Action" not in form:
            raise ApiError("MissingAction", "The request must contain the parameter Action, in a form")
        return service, form["Action"], signed

    def carry_out(self, service: Service, action: str, body: bytes, entry: Entry, target: str) -> dict[str, Any]:
        params = service.parameters(action, body, target)
        entry.params = shown(params)
        self.policy.check(service.name, action, params)
        result = self.apply(service.name, action, params)
        entry.applied = True
        return result

    def apply(self, service: str, action: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carries out a call by its parameters. Raises ApiError."""
        name = xform_name(action)
        handler = next((h for h in self._handlers[service] if hasattr(h, name)), None)
        if handler is None:
            raise ApiError("InvalidAction", f"{action} is not simulated")
        result = getattr(handler, name)(params)
        if not action.startswith(READS) and action not in USES_NOTHING:
            self.account.note_uses()
        return result

    @staticmethod
    def _spelled(service: Service, problem: ApiError) -> ApiError:
        code, status = _SPELLED[service.protocol].get(problem.code, (problem.code, problem.status))
        return ApiError(code, problem.message, status)

    async def _strike(self, fault: Fault, service: Service) -> web.StreamResponse | None:
        """None: the call goes on."""
        spec = fault.spec
        if fault.kind == "error":
            raise ApiError(spec.get("code", "InternalFailure"), spec.get("message", "An internal error has occurred"), spec.get("status", 500))
        if fault.kind == "throttle":
            raise ApiError(*_THROTTLED[service.protocol])
        if fault.kind == "page":
            return web.Response(status=spec.get("status", 503), text=spec.get("body", "<html>unavailable</html>"), content_type="text/html")
        if fault.kind == "slow":
            await asyncio.sleep(spec.get("delay", 1.0))
        if fault.kind in ("hold", "hang"):
            await fault.cleared.wait()
        if fault.kind in ("close", "hang"):
            raise Cut
        return None

    @staticmethod
    async def _truncated(request: web.BaseRequest, text: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(text)), "Content-Type": "text/xml"})
        await response.prepare(request)
        await response.write(text[:len(text) // 2])
        raise Cut
