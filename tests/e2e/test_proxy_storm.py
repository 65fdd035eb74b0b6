# SPDX-License-Identifier: Apache-2.0
"""A tenant who wants reloads without end: they are few, so are the processes that they leave behind, and nobody else loses a request."""
from __future__ import annotations

import collections
import contextlib
import http.client
import threading
import time

import pytest

from lib.local_proxy import PATIENCE, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.traffic import Traffic, request
from lib.wait import wait_for

OLD_MAX = 4  # WORKERS_OLD_MAX of provider-supervisor/workers.h
FREE = 8  # PACE_FREE_COUNT of provider-proxy/pace.h
LEAST_S, MOST_S = 0.2, 1.5
PACE = ["--reload-interval", str(LEAST_S), "--reload-interval-max", str(MOST_S)]
WORKERS = {"haproxy": 1, "nginx": 2}
pytestmark = pytest.mark.plain


class Storm:
    def __init__(self, proxy, pod):
        self.proxy, self.pod = proxy, pod
        self.ports = [proxy.other_port(proxy.http, proxy.https) for _ in range(2)]
        self.flips = 0
        self.most = 0  # processes at once
        self.held: list[threading.Thread] = []

    def flip(self) -> None:
        self.flips += 1
        self.proxy.send(self.proxy.balancer(listeners=[{"port": self.ports[self.flips % 2], "protocol": "http"}]))
        self.proxy.commit()
        self.look()

    def look(self) -> None:
        self.most = max(self.most, len(self.proxy.workers()))

    def reloads(self) -> int:
        self.look()
        return len(self.proxy.provider.events("reloaded"))

    def keep_flipping(self, count: int, seconds: float) -> None:
        """Until so many reloads in a row have taken so long, and far more changes wanted one. A slow machine, whose reloads take long, is asked for them longer."""
        times, known = collections.deque(maxlen=count + 1), self.reloads()

        def are_apart() -> bool:
            nonlocal known
            self.flip()
            if self.reloads() == known:
                return False
            known = self.reloads()
            times.append(time.monotonic())
            return len(times) > count and times[-1] - times[0] >= seconds and self.flips > 3 * known
        wait_for(are_apart, f"{count} reloads in {seconds} s or more", PATIENCE, 0)

    def hold(self) -> None:
        """A request that the present process has to finish, however long that takes."""
        before = self.pod.count
        thread = threading.Thread(target=self._ask, daemon=True)
        thread.start()
        self.held.append(thread)
        wait_for(lambda: self.pod.count > before, "a request to be held", PATIENCE)

    def _ask(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            request(self.proxy.address, self.proxy.http, "storm.test", "/?hold", timeout=10 * PATIENCE)


@pytest.mark.parametrize("name", PROXIES)
def test_reloads_without_end(pods, name):
    quiet, pod = pods("quiet"), pods("storm")
    with proxy_class(name)(arguments=PACE) as proxy:
        proxy.apply(pool("quiet", quiet), pool("storm", pod), host("quiet.test", ("/", "quiet")), host("storm.test", ("/", "storm")),
                    proxy.balancer())
        storm = Storm(proxy, pod)
        with Traffic(proxy.address, proxy.http, "quiet.test") as traffic:
            for _ in range(FREE + 6):
                storm.hold()
                before = storm.reloads()
                storm.flip()
                wait_for(lambda before=before: storm.reloads() > before, "the reload", PATIENCE)
            # One may have been asked for just before.
            storm.keep_flipping(5, 4 * MOST_S)
        assert traffic.failures == [] and traffic.good > 0
        # Beside those of before four reloads: one that serves, one that begins, one that is on its way out.
        assert storm.most <= (OLD_MAX + 3) * WORKERS[name]
        wait_for(lambda: len(proxy.workers()) <= (OLD_MAX + 1) * WORKERS[name], "no more than four old processes", PATIENCE)
        assert "event=old-worker-ended" in (proxy.proxy_dir / "supervisor.log").read_text()
        pod.release()
        for thread in storm.held:
            thread.join(PATIENCE)
        wait_for(lambda: len(proxy.workers()) == WORKERS[name], "the old processes to end", PATIENCE)
