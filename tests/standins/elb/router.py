# SPDX-License-Identifier: Apache-2.0
"""The traffic of balancers: each listener of an active balancer is served on a port of the loopback interface, HTTP by the rules as they are stored,
TCP by splicing. Ports are mapped, because many balancers have the same."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import urllib.parse
from collections import Counter
from typing import Any, Iterator

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from . import conditions
from .account import Account, Balancer, Group, Listener, Rule, Target
from .balancers import Balancers
from .groups import Groups

_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
_ACTIVE = ("active", "active_impaired")
TARGET_TIMEOUT_S = 60.0
AT_ONCE_S = 0.01  # 0 would be for ever


class Port:
    """What serves one listener."""

    def __init__(self, server: asyncio.AbstractServer, web_server: web.Server | None, kind: tuple[str, str]):
        self.server, self.web_server, self.kind = server, web_server, kind
        self.number: int = server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """New connections are refused; requests in flight are answered."""
        self.server.close()
        if self.web_server is not None:
            await self.web_server.shutdown(TARGET_TIMEOUT_S)


class Router:
    def __init__(self, account: Account, balancers: Balancers, groups: Groups):
        self.account, self.balancers, self.groups = account, balancers, groups
        self.ports: dict[tuple[str, int], Port] = {}  # by DNS name and port of the balancer
        self.reach: dict[str, str] = {}  # "IP:port" of a target: the address where it really is
        self.requests: dict[str, int] = {}  # answered, by the ARN of the rule
        self.under_way: Counter[str] = Counter()  # requests, by "IP:port" of the target
        self._turns: dict[str, int] = {}
        self._credit: dict[str, dict[str, int]] = {}
        self._session: aiohttp.ClientSession | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    # Ports

    async def sync(self) -> None:
        wanted = {(b.dns_name, l.port): (b, l) for l in self.account.listeners.values() for b in [self.account.balancers[l.balancer]] if b.state in _ACTIVE}
        # Nothing is to be done after most calls.
        kinds = {key: (l.arn, l.protocol) for key, (_, l) in wanted.items()}
        if kinds == {key: port.kind for key, port in self.ports.items()}:
            return
        async with self._lock:
            for key in [k for k, port in self.ports.items() if kinds.get(k) != port.kind]:
                task = asyncio.get_running_loop().create_task(self.ports.pop(key).close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
            for key in [k for k in kinds if k not in self.ports]:
                self.ports[key] = await self._serve(*wanted[key])

    async def _serve(self, balancer: Balancer, listener: Listener) -> Port:
        loop, kind = asyncio.get_running_loop(), (listener.arn, listener.protocol)
        if balancer.is_alb:
            async def answer(request: web.BaseRequest) -> web.StreamResponse:
                return await self._answer(listener.arn, request)

            server = web.Server(answer, max_field_size=1 << 16, max_line_size=1 << 16, auto_decompress=False)  # type: ignore[arg-type]
            return Port(await loop.create_server(server, "127.0.0.1", 0), server, kind)

        async def splice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._splice(listener.arn, reader, writer)

        return Port(await asyncio.start_server(splice, "127.0.0.1", 0), None, kind)

    async def stop(self) -> None:
        for port in self.ports.values():
            port.server.close()
            if port.web_server is not None:
                await port.web_server.shutdown(AT_ONCE_S)
        self.ports.clear()
        for task in list(self._closing):
            task.cancel()
        if self._session is not None:
            await self._session.close()

    # Choosing

    def rule_for(self, listener: Listener, request: conditions.Request) -> Rule:
        ignores_case = self.account.settings.regex_ignores_case
        return next(r for r in self.account.rules_of(listener.arn) if r.priority is None or conditions.met(r.conditions, request, ignores_case))

    def _group(self, rule: Rule) -> Group | None:
        """By weight, the same order in every run. None: all weights are 0."""
        entries = rule.actions[0]["ForwardConfig"]["TargetGroups"]
        weights = {e["TargetGroupArn"]: e["Weight"] for e in entries if e["Weight"] > 0}
        if not weights:
            return None
        credit = self._credit.setdefault(rule.arn, {})
        for arn in list(credit):
            if arn not in weights:
                del credit[arn]
        for arn, weight in weights.items():
            credit[arn] = credit.get(arn, 0) + weight
        chosen = max(weights, key=lambda arn: credit[arn])
        credit[chosen] -= sum(weights.values())
        return self.account.groups[chosen]

    def _target(self, group: Group) -> Target | None:
        states = [(target, self.groups.health(group, target)["State"]) for target in group.targets.values()]
        usable = [t for t, state in states if state == "healthy"] or [t for t, state in states if state == "unhealthy"]
        if not usable and self.account.settings.initial_serves:
            usable = [t for t, state in states if state == "initial"]
        if not usable:
            return None
        turn = self._turns[group.arn] = self._turns.get(group.arn, -1) + 1
        return usable[turn % len(usable)]

    def _address(self, target: Target) -> tuple[str, int] | None:
        """None: nothing on this machine is said to be there, and no other one is asked."""
        place = self.reach.get(f"{target.id}:{target.port}")
        if place is not None:
            host, _, port = place.rpartition(":")
            return host, int(port)
        return (target.id, target.port) if ipaddress.ip_address(target.id).is_loopback else None

    @contextlib.contextmanager
    def _counted(self, target: Target) -> Iterator[None]:
        """Begun in the same step in which the target was chosen."""
        place = f"{target.id}:{target.port}"
        self.under_way[place] += 1
        try:
            yield
        finally:
            self.under_way[place] -= 1

    # HTTP

    async def _answer(self, arn: str, request: web.BaseRequest) -> web.StreamResponse:
        listener = self.account.listeners.get(arn)
        if listener is None:
            return web.Response(status=503)
        asked = self._asked(request)
        if not asked.host:
            return web.Response(status=400)
        rule = self.rule_for(listener, asked)
        self.requests[rule.arn] = self.requests.get(rule.arn, 0) + 1
        about = {"X-Standin-Rule": rule.arn, "Server": "awselb/2.0"}
        if listener.certificate:
            about["X-Standin-Certificate"] = listener.certificate
        action = rule.actions[0]
        if action["Type"] == "fixed-response":
            config = action["FixedResponseConfig"]
            return web.Response(status=int(config["StatusCode"]), text=config.get("MessageBody", ""), headers=about,
                                content_type=config.get("ContentType", "text/plain"))
        if action["Type"] == "redirect":
            location = self._location(action["RedirectConfig"], listener, asked)
            return web.Response(status=int(action["RedirectConfig"]["StatusCode"][5:]), headers={**about, "Location": location})
        group = self._group(rule)
        target = self._target(group) if group else None
        if group is None or target is None:
            return web.Response(status=503, text="<html><h1>503 Service Temporarily Unavailable</h1></html>", headers=about, content_type="text/html")
        with self._counted(target):
            return await self._forward(request, asked, rule, listener, target, about)

    def _asked(self, request: web.BaseRequest) -> conditions.Request:
        host = request.headers.get("Host", "")
        if self.account.settings.strips_port:
            host = host.rpartition(":")[0] if ":" in host else host
        headers = [(name, value) for name, value in request.headers.items()]
        return conditions.Request(request.method, host, request.raw_path, headers, request.remote or "127.0.0.1")

    @staticmethod
    def _location(config: dict[str, Any], listener: Listener, asked: conditions.Request) -> str:
        host = urllib.parse.urlsplit(f"//{asked.host}").hostname or ""
        present = {"protocol": listener.protocol, "port": str(listener.port), "host": host, "path": asked.path[1:], "query": asked.query}
        parts = {}
        for name in ("Protocol", "Host", "Port", "Path", "Query"):
            parts[name] = config[name]
            for word, value in present.items():
                parts[name] = parts[name].replace(f"#{{{word}}}", value)
        query = f"?{parts['Query']}" if parts["Query"] else ""
        return f"{parts['Protocol'].lower()}://{parts['Host']}:{parts['Port']}{parts['Path']}{query}"

    async def _forward(self, request: web.BaseRequest, asked: conditions.Request, rule: Rule, listener: Listener, target: Target,
                       about: dict[str, str]) -> web.StreamResponse:
        host, path = conditions.transformed(rule.transforms, asked) if rule.transforms else (request.headers["Host"], asked.target)
        place = self._address(target)
        if place is None:
            return web.Response(status=504, headers={**about, "X-Standin-Target": f"{target.id}:{target.port}"})
        address, port = place
        headers = CIMultiDict((k, v) for k, v in request.headers.items() if k.lower() not in _HOP)
        before = headers.get("X-Forwarded-For")
        headers["X-Forwarded-For"] = f"{before}, {asked.source}" if before else asked.source
        headers["X-Forwarded-Proto"], headers["X-Forwarded-Port"] = listener.protocol.lower(), str(listener.port)
        headers["X-Amzn-Trace-Id"] = f"Root=1-{secrets.token_hex(4)}-{secrets.token_hex(12)}"
        headers["Host"] = host
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=TARGET_TIMEOUT_S)
            # A connection for each request: one that its target closes just then would be an error that no ALB makes.
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True, limit=0), timeout=timeout, auto_decompress=False,
                                                  skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"))
        shown = f"[{address}]" if ":" in address else address
        response: web.StreamResponse | None = None
        try:
            body = request.content if request.can_read_body else None
            async with self._session.request(request.method, URL(f"http://{shown}:{port}{path}", encoded=True), headers=headers, data=body,
                                             allow_redirects=False) as got:
                response = web.StreamResponse(status=got.status, reason=got.reason)
                response.headers.extend((k, v) for k, v in got.headers.items() if k.lower() not in _HOP)
                response.headers.update({k: v for k, v in about.items() if k != "Server"})
                response.headers["X-Standin-Target"] = f"{target.id}:{target.port}"
                await response.prepare(request)
                async for chunk in got.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
                return response
        except asyncio.TimeoutError:
            status = 504
        except (aiohttp.ClientError, OSError):
            status = 502
        if response is not None and response.prepared:
            if request.transport is not None:
                request.transport.close()
            return response
        return web.Response(status=status, headers={**about, "X-Standin-Target": f"{target.id}:{target.port}"})

    # TCP

    async def _splice(self, arn: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            listener = self.account.listeners.get(arn)
            rule = self.account.rules[listener.default_rule] if listener else None
            group = self._group(rule) if rule else None
            target = self._target(group) if group else None
            place = self._address(target) if target else None
            if rule is None or place is None:
                writer.transport.abort()
                return
            self.requests[rule.arn] = self.requests.get(rule.arn, 0) + 1
            try:
                back_reader, back_writer = await asyncio.open_connection(*place)
            except OSError:
                writer.transport.abort()
                return
            with contextlib.closing(back_writer):
                await asyncio.gather(self._pump(reader, back_writer), self._pump(back_reader, writer))

    @staticmethod
    async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
