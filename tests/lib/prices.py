# SPDX-License-Identifier: Apache-2.0
"""What requests cost a proxy, beside plain ones of their length, and the shapes of texts that may cost more."""
from __future__ import annotations

import contextlib

from .cpu import used_ns
from .raw_http import dial

TAKEN_MAX = 12_000  # by HAProxy, in thousands: what is somewhat longer, and refused, may cost no more than three of these
RATIO_MAX = 3
REQUESTS = 6  # in one measurement, far above what the clock of the scheduler can tell
ROUNDS = 60  # measurements at most: noise only adds to the time that was used, so the least of them counts


def repeated(unit: str, end: str = ""):
    return lambda size: (unit * (size // len(unit) + 1))[:size - len(end)] + end


# Runs that a pattern may cut in many ways, and words of ours that come often.
SHAPES = {
    "digits": repeated("1", "!"), "letters": repeated("a", "!"), "dots": repeated("."), "labels": repeated("a."), "colons": repeated(":"),
    "brackets": repeated("["), "in-brackets": lambda size: "[" + ":" * (size - 1), "slashes": repeated("/"), "elements": repeated("/a"),
    "dot-elements": repeated("/./"), "escapes": repeated("%2f"), "questions": repeated("?"), "ampersands": repeated("&"),
    "equals": repeated("="), "semicolons": repeated(";"), "pairs": repeated("a=b;"), "names": repeated("a;"), "commas": repeated(","),
    "quotes": repeated('"'), "backslashes": repeated("\\"), "spaces": lambda size: "x" + " " * (size - 2) + "x", "tabs": lambda size: "x" + "\t" * (size - 2) + "x",
    "space-semicolons": repeated(" ;"), "ours": repeated("sid=a;"), "ours-spaced": repeated("sid =a;"), "nearly-ours": repeated("sid;"), "within": repeated("xsid=a;"),
    "websockets": repeated("websocket,"), "names-of-ours": repeated("x-forwarded-for,"),
}


def plain(size: int) -> bytes:
    """Passed on by a proxy that takes as many bytes."""
    lines = "".join(f"X-Plain: {'x' * min(4000, size - at)}\r\n" for at in range(0, size, 4000))
    return f"GET / HTTP/1.1\r\nHost: a.test\r\n{lines}\r\n".encode()


def cost(proxy, request: bytes) -> float:
    """Nanoseconds of the proxy's processes for one such request on a connection of its own."""
    pids = [process.pid for process in proxy.proxies()]
    before = used_ns(pids)
    for _ in range(REQUESTS):
        with contextlib.closing(dial(proxy.address, proxy.http)) as link, contextlib.suppress(ConnectionError):
            link.sendall(request)
            answer = b""
            while b"\r\n\r\n" not in answer and (piece := link.recv(65536)):
                answer += piece
    return (used_ns(pids) - before) / REQUESTS


class Prices:
    """What requests cost, the least that was seen of each."""

    def __init__(self, proxy):
        self.proxy = proxy
        self._known: dict[bytes, float] = {}

    def of(self, request: bytes, again: bool = False) -> float:
        if again or request not in self._known:
            self._known[request] = min(cost(self.proxy, request), self._known.get(request, float("inf")))
        return self._known[request]

    def ratio(self, request: bytes, size: int, ratio_max: float = RATIO_MAX) -> float:
        """To a plain one of the size, or to the longest that is taken. One that seems to be above `ratio_max` is measured again."""
        size = TAKEN_MAX if self.proxy.name == "haproxy" and size == 15_000 else size
        found = self.of(request) / self.of(plain(size))
        for _ in range(ROUNDS):
            if found <= ratio_max:
                break
            found = self.of(request, again=True) / self.of(plain(size), again=True)
        return found
