# SPDX-License-Identifier: Apache-2.0
"""Subscriptions, and the ways in which they go wrong."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import struct
import urllib.parse
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator

import aiohttp
import pytest

from .conftest import Rancher

PATH = "/subscribe?eventNames=resource.change"


@asynccontextmanager
async def subscribed(rancher: Rancher, path: str = PATH,
                     **options: Any) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    auth = aiohttp.BasicAuth(rancher.access_key, rancher.secret_key)
    async with aiohttp.ClientSession(auth=auth) as session:
        async with session.ws_connect(rancher.project_url + path, **options) as ws:
            yield ws


async def do(function: Any, *arguments: Any, **named: Any) -> Any:
    return await asyncio.to_thread(function, *arguments, **named)


async def names_until(ws: aiohttp.ClientWebSocketResponse, count: int) -> list[str]:
    return [json.loads((await ws.receive(5)).data)["name"] for _ in range(count)]


def test_pings_go_on(rancher: Rancher) -> None:
    async def run() -> None:
        await do(rancher.control, "configure", ping_interval=0.05, ping_count=3)
        async with subscribed(rancher) as ws:
            assert await names_until(ws, 3) == ["ping"] * 3
            assert (await ws.receive(5)).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED), \
                "after the last ping the server closes"
    asyncio.run(run())


def test_changes_are_batched(rancher: Rancher) -> None:
    async def run() -> None:
        await do(rancher.control, "configure", event_interval=0.5)
        await do(rancher.make, "web")
        async with subscribed(rancher) as ws:
            row = (await do(rancher.balancer, "web"))
            for number in range(20):
                await do(rancher.put, row["id"], {"description": str(number)})
            seen = []
            while not seen or seen[-1] != "19":
                event = json.loads((await ws.receive(5)).data)
                if event.get("resourceId") == row["id"]:
                    seen.append(event["data"]["resource"]["description"])
            assert len(seen) <= 3
    asyncio.run(run())


def test_removal_is_announced(rancher: Rancher) -> None:
    async def run() -> None:
        made = (await do(rancher.make, "web")).json
        async with subscribed(rancher) as ws:
            await do(rancher.api, "DELETE", f"loadbalancerservices/{made['id']}")
            while True:
                event = json.loads((await ws.receive(5)).data)
                if event.get("resourceId") == made["id"] and event["data"]["resource"]["state"] == "removed":
                    return
    asyncio.run(run())


def test_what_is_refused(rancher: Rancher) -> None:
    async def run() -> None:
        await do(rancher.control, "websocket", mode="off")
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            async with subscribed(rancher):
                pass
        assert caught.value.status == 404
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await session.ws_connect(rancher.project_url + PATH)
            assert caught.value.status == 401 and "WWW-Authenticate" not in caught.value.headers
    asyncio.run(run())
    assert rancher.api("GET", "subscribe?eventNames=resource.change").json["data"] == []
    answer = rancher.api("POST", "subscribe", {"eventNames": ["resource.change"]})
    assert (answer.status, answer.text) == (201, "")


def test_other_names_get_pings_only(rancher: Rancher) -> None:
    async def run(path: str, mode: str = "normal") -> list[str]:
        await do(rancher.control, "websocket", mode=mode)
        await do(rancher.control, "configure", ping_interval=0.1)
        async with subscribed(rancher, path) as ws:
            await ws.receive(5)
            await do(rancher.stack, "x" + str(len(await do(rancher.rows, "stack"))))
            return await names_until(ws, 5)
    assert set(asyncio.run(run("/subscribe?eventNames=service.event"))) == {"ping"}
    assert set(asyncio.run(run("/subscribe?eventNames=resource.*;account=1a5&eventNames=x"))) > {"ping"}
    assert set(asyncio.run(run("/subscribe"))) == set(asyncio.run(run("/subscribe?eventNames=a%20b"))) == {"ping"}
    assert set(asyncio.run(run(PATH, "pings-only"))) == {"ping"}


def test_silence(rancher: Rancher) -> None:
    async def run() -> None:
        await do(rancher.control, "websocket", mode="silent")
        async with subscribed(rancher) as ws:
            await do(rancher.make, "web")
            await ws.ping()
            with pytest.raises(asyncio.TimeoutError):
                await ws.receive(0.5)
    asyncio.run(run())


def test_cuts_and_logout(rancher: Rancher) -> None:
    async def run() -> None:
        async with subscribed(rancher) as ws:
            await do(rancher.control, "websocket", cut=True)
            assert (await ws.receive(5)).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
        async with subscribed(rancher) as ws:
            await do(rancher.control, "websocket", logout=True)
            assert json.loads((await ws.receive(5)).data) == {"name": "logout"}
            assert (await ws.receive(5)).type == aiohttp.WSMsgType.CLOSE
        await do(rancher.control, "websocket", mode="cut")
        async with subscribed(rancher) as ws:
            assert (await ws.receive(5)).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    asyncio.run(run())
    assert rancher.counters()["websockets"] == 3


@pytest.mark.parametrize("mode", ["garbage", "binary-garbage", "huge"])
def test_broken_messages(rancher: Rancher, mode: str) -> None:
    async def run() -> Any:
        async with subscribed(rancher, max_msg_size=0) as ws:
            await do(rancher.control, "websocket", mode=mode)
            await do(rancher.make, "web")
            return await ws.receive(5)
    message = asyncio.run(run())
    if mode == "garbage":
        with pytest.raises(ValueError):
            json.loads(message.data)
    elif mode == "huge":
        assert len(message.data) > 8 * 1024 * 1024
    else:
        assert message.type in (aiohttp.WSMsgType.ERROR, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSE)


def test_delayed_events(rancher: Rancher) -> None:
    async def run() -> None:
        await do(rancher.control, "configure", event_delay=0.6, ping_interval=60.0)
        async with subscribed(rancher) as ws:
            await do(rancher.control, "add-stack", name="late")
            with pytest.raises(asyncio.TimeoutError):
                await ws.receive(0.3)
    asyncio.run(run())


def test_slow_readers_are_disconnected(rancher: Rancher) -> None:
    """A subscriber that reads nothing is cut off once a hundred messages wait for it."""
    parts = urllib.parse.urlsplit(rancher.base)
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(10)
    raw.connect((parts.hostname, parts.port))
    pair = base64.b64encode(f"{rancher.access_key}:{rancher.secret_key}".encode()).decode()
    raw.sendall((f"GET /v2-beta{PATH} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Version: 13\r\n"
                 f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
                 f"Authorization: Basic {pair}\r\n\r\n").encode())
    rancher.wait_for(lambda: rancher.control("websocket")["subscribers"] == 1)
    rancher.control("configure", event_interval=0.0)
    big = "x" * 200000
    for number in range(20):
        rancher.control("add-stack", name=f"s{number}")

    def flooded() -> bool:
        for _ in range(20):
            rancher.control("websocket", send=json.dumps({"name": "resource.change", "x": big}))
        return rancher.control("websocket")["subscribers"] == 0
    rancher.wait_for(flooded, timeout=20)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()
