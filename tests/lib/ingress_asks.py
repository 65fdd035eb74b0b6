# SPDX-License-Identifier: Apache-2.0
"""The requests of a row of tests/cases/ingress-nginx, and how the answers differ from what it wants."""
from __future__ import annotations

import base64
import collections
import contextlib
import json
import re
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterable

from .answer import Answer
from .backend import Backend
from .ingress_cases import CLIENTS, Row, World, of_row
from .raw_http import client_context, dial, read_answer
from .wait import wait_for

Wish = dict[str, Any]
State = dict[str, Any]  # of a row: the cookies that have been set, the backend that has answered last, and the cipher of its connection
PATIENCE = 20.0
TRIES = 200  # until a rate forbids the next one, which it never does while they come more slowly


class Asker:
    """Sends the requests of rows to a controller that has a world's objects."""

    def __init__(self, world: World, address: str, http: int, https: int):
        self.backends = world.backends
        self.address, self.http, self.https = address, http, https

    def problems(self, row: Row) -> dict[str, list[str]]:
        """By request: what of the row is not so."""
        state: State = {"cookies": {}, "backend": None, "cipher": None}
        found = {}
        for index, wish in enumerate(self._expanded(row, row["asks"])):
            try:
                wrong = list(self._differences_of(wish)(wish, state))
            except OSError as error:
                wrong = [] if wish.get("status") == 0 else [f"no answer: {error}"]
            if wrong:
                found[f"{index}: {wish.get('method', 'GET')} {wish.get('target', '/')}"] = wrong
        return found

    def _expanded(self, row: Row, value: Any) -> Any:
        """With the names of the row, and the controller's ports in place of {http} and {https}."""
        text = json.dumps(of_row(row, [{"host": "a.test", **wish} for wish in value]))
        return json.loads(text.replace("{https}", str(self.https)).replace("{http}", str(self.http)).replace("{row}", row["id"].lower()))

    def _differences_of(self, wish: Wish) -> Callable[[Wish, State], Iterable[str]]:
        return self._count_differences if "times" in wish else self._rate_differences if "until" in wish else self._problems_of

    def _problems_of(self, wish: Wish, state: State) -> list[str]:
        counts = {name: self.backends[name].count for name in wish.get("asked", {})}
        begun = time.monotonic()
        got = self.ask(wish, state)
        lasted = time.monotonic() - begun
        found = list(differences(wish, got, state["backend"]))
        state["backend"] = got.headers.get("x-backend")
        name, is_cookie, value = got.headers.get("set-cookie", "").partition(";")[0].partition("=")
        if is_cookie:
            state["cookies"][name] = value
        if wish.get("cipher", state["cipher"]) != state["cipher"]:
            found.append(f"the cipher is {state['cipher']}")
        if "lasts" in wish and not wish["lasts"][0] <= lasted <= wish["lasts"][1]:
            found.append(f"it took {lasted:.2f} s")
        for name, wanted in wish.get("asked", {}).items():
            found += asked_differences(self.backends[name], counts[name], wanted)
        return found

    def _count_differences(self, wish: Wish, state: State) -> Iterable[str]:
        """Sends it several times at once; `statuses` and `pools` say how many of each may come."""
        with ThreadPoolExecutor(16) as threads:
            before = self._begun()
            first = threads.submit(self.ask, wish, state)
            if "?hold" in wish["target"]:
                # Of those that come in the same instant HAProxy may take none.
                wait_for(lambda: first.done() or self._begun() > before, "the first to be held", PATIENCE)
            answers = [*threads.map(lambda _: self.ask(wish, state), range(wish["times"] - 1)), first.result()]
        pools = collections.Counter(answer.headers.get("x-backend", "") for answer in answers)
        for key, seen in (("statuses", collections.Counter(str(answer.status) for answer in answers)), ("pools", pools)):
            for name, (least, most) in wish.get(key, {}).items():
                if not least <= seen[name] <= most:
                    yield f"{name} came {seen[name]} times, not {least} to {most}: {dict(seen)}"
        if wish.get("distinct", len(pools)) != len(pools):
            yield f"not {wish['distinct']} backends: {dict(pools)}"

    def _rate_differences(self, wish: Wish, state: State) -> Iterable[str]:
        """Sends it in turn `until` that status comes. `statuses` says how many of each may come before; `per_s` more of them for each second that this takes."""
        begun = time.monotonic()
        seen: collections.Counter[str] = collections.Counter()
        while (status := self.ask(wish, state).status) != wish["until"] and seen.total() < TRIES:
            seen[str(status)] += 1
        more = int(wish["per_s"] * (time.monotonic() - begun))
        wanted = wish["statuses"]
        if status != wish["until"]:
            yield f"{wish['until']} never came: {dict(seen)}"
        if set(seen) != set(wanted) or not all(least <= seen[name] <= most + more for name, (least, most) in wanted.items()):
            yield f"before {wish['until']} came {dict(seen)}, not {wanted} and {more} more at most"

    def _begun(self) -> int:
        """How many requests backends have got."""
        return sum(len(backend.begun) for backend in self.backends.values())

    def ask(self, wish: Wish, state: State) -> Answer:
        method, host = wish.get("method", "GET"), wish["host"]
        body = b"x" * wish.get("body", 0)
        headers = {"Host": host, **wish.get("headers", {}), "Connection": "close"}
        if wish.get("is_chunked"):
            headers["Transfer-Encoding"] = "chunked"
            body = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        elif body or method == "POST":
            headers["Content-Length"] = str(len(body))
        if wish.get("user"):
            headers["Authorization"] = "Basic " + base64.b64encode(wish["user"].encode()).decode()
        if wish.get("keeps"):
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in state["cookies"].items())
        text = f"{method} {wish.get('target', '/')} HTTP/1.1\r\n" + "".join(f"{key}: {line}\r\n" for key, value in headers.items() for line in ([value] if isinstance(value, str) else value)) + "\r\n"
        with contextlib.closing(self._connect(wish, host)) as link:
            state["cipher"] = link.cipher()[0] if wish.get("tls") else None
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the answer may be there before all was read
                link.sendall(text.encode("latin-1") + body)
            return read_answer(link, method)

    def hsts_of(self, row: Row) -> str | None:
        """The header of the host that tells which options are in force, asked as the row asks; None: nobody answers."""
        wish = {"host": "mark.test", "target": "/", "tls": True, **({"proxy": row["asks"][0]["proxy"]} if "proxy" in row["asks"][0] else {})}
        try:
            return self.ask(wish, {"cookies": {}}).headers.get("strict-transport-security", "")
        except (OSError, ValueError):  # it has yet to open its ports, or to listen for something else first
            return None

    def _dial(self, wish: Wish) -> Any:
        """`proxy`: the client and the port, as the PROXY protocol says before all else."""
        link = dial(self.address, self.https if wish.get("tls") else self.http)
        if "proxy" in wish:
            link.sendall(f"PROXY TCP4 {wish['proxy'][0]} 127.0.0.1 1234 {wish['proxy'][1]}\r\n".encode())
        return link

    def _connect(self, wish: Wish, host: str) -> Any:
        if not wish.get("tls"):
            return self._dial(wish)
        context = client_context()
        if "client" in wish:
            CLIENTS[wish["client"]].load_into(context)
        if "ciphers" in wish:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(wish["ciphers"])
        link = self._dial(wish)
        try:
            return context.wrap_socket(link, server_hostname=wish.get("sni", host).split(":")[0])
        except OSError:
            link.close()
            raise


def differences(wish: Wish, got: Answer, former: str | None) -> Iterable[str]:
    """How the answer differs from what the row wants; `former`: which backend has answered the request before."""
    if got.status != wish["status"]:
        yield f"status {got.status}, not {wish['status']}"
    for name, value in wish.get("answer", {}).items():
        if got.headers.get(name.lower()) != value:
            yield f"{name}: {got.headers.get(name.lower())!r}, not {value!r}"
    for name, pattern in wish.get("matches", {}).items():
        if not re.fullmatch(pattern, got.headers.get(name.lower(), "")):
            yield f"{name}: {got.headers.get(name.lower())!r} does not match {pattern!r}"
    for name in wish.get("lacks", []):
        if name.lower() in got.headers:
            yield f"{name} is there: {got.headers[name.lower()]!r}"
    backend = got.headers.get("x-backend")
    wanted = wish.get("pool", "app" if wish["status"] == 200 else None)
    if wanted == "any" and backend or wanted == "same" and backend == former or wanted == "another" and backend not in (None, former):
        wanted = backend
    if backend != wanted:
        yield f"it reached {backend}, not {wanted}"
    elif backend and wish.get("method") != "HEAD":
        yield from seen_differences(wish, got.json)


def seen_differences(wish: Wish, seen: dict[str, Any]) -> Iterable[str]:
    """How what a backend got differs from what the row wants."""
    headers = {name.lower(): value for name, value in seen["headers"]}
    if "gets" in wish and seen["target"] != wish["gets"]:
        yield f"the backend got {seen['target']}, not {wish['gets']}"
    if wish.get("got_method", seen["method"]) != seen["method"]:
        yield f"the backend got {seen['method']}"
    if wish.get("got_version", seen["version"]) != seen["version"]:
        yield f"the backend got {seen['version']}"
    for name, value in wish.get("sees", {}).items():
        if headers.get(name.lower()) != value:
            yield f"the backend saw {name}: {headers.get(name.lower())!r}, not {value!r}"
    for name, pattern in wish.get("sees_like", {}).items():
        if not re.fullmatch(pattern, headers.get(name.lower(), "")):
            yield f"the backend saw {name}: {headers.get(name.lower())!r}, not like {pattern!r}"
    for name, value in wish.get("handshake", {}).items():
        if seen["tls"][name] != value:
            yield f"the backend saw {seen['tls']} in the handshake, not {name} of {value!r}"
    for name in wish.get("sees_not", []):
        if name.lower() in headers:
            yield f"the backend saw {name}: {headers[name.lower()]!r}"


def asked_differences(backend: Backend, before: int, wanted: Wish) -> list[str]:
    """Of another server that is asked on the way, or gets a copy, `times` (1)."""
    times = wanted.get("times", 1)
    end = time.monotonic() + (PATIENCE if times else 0)
    while backend.count - before < times and time.monotonic() < end:
        time.sleep(0.01)  # a copy may come after the answer
    if backend.count - before != times:
        return [f"{backend.name} was asked {backend.count - before} times, not {times}"]
    return [f"{backend.name}: {text}" for text in seen_differences(wanted, json.loads(backend.last_answer))] if times else []
