# SPDX-License-Identifier: Apache-2.0
"""A proxy that runs and does not answer: it is noticed without a change, told, and replaced; and only the present proxy's answer counts."""
from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess

import pytest

from lib.backend import Backend
from lib.local_proxy import host, pool
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

TIMEOUT = "1"
FLOOD_LEN = 5 * 1024 * 1024  # more than PROXY_LOG_LEN_MAX of provider-proxy/proxy_log.h


@pytest.fixture(params=PROXIES)
def proxy(request):
    with Backend("pod") as pod, proxy_class(request.param)(arguments=["--proxy-timeout", TIMEOUT]) as one:
        one.send(pool("web", pod), host("web.test", ("/", "web")), one.balancer())
        one.commit()
        one.wait_applied()
        yield one


def readiness(proxy) -> list[str]:
    return [line for line in proxy.provider.lines if "event=not-ready" in line or "event=ready" in line]


def is_told(proxy) -> bool:
    status = proxy.translator.status("sluice")
    return status["state"] == "failed" and "does not answer" in status["message"]


def stop_workers(proxy) -> None:
    for pid in proxy.workers():
        os.kill(pid, signal.SIGSTOP)


def test_a_hanging_proxy_is_told_and_replaced(proxy):
    """SIGSTOP of all that serves: nothing changes, and yet it is not ready, not applied, and then another serves."""
    before = proxy.workers()
    stop_workers(proxy)
    proxy.provider.wait_event("proxy-silent", timeout=60)
    wait_for(lambda: is_told(proxy), "the status to say so", 30)
    assert "does not answer" in readiness(proxy)[-1]
    proxy.provider.wait_event("proxy-hung", timeout=60)
    proxy.wait_answers("web.test")
    proxy.wait_applied()
    wait_for(lambda: "event=ready" in readiness(proxy)[-1], "it to be ready", 30)
    assert not set(before) & set(proxy.workers())


def test_one_that_goes_on_is_not_replaced(proxy):
    """A pause that is shorter than what is called hanging."""
    before = proxy.masters()
    stop_workers(proxy)
    proxy.provider.wait_event("proxy-silent", timeout=60)
    for pid in proxy.workers():
        os.kill(pid, signal.SIGCONT)
    proxy.provider.wait_event("proxy-heard", timeout=30)
    proxy.wait_applied()
    assert proxy.masters() == before and not proxy.provider.events("proxy-hung")


def test_a_hanging_supervisor_does_not_let_the_log_fill_the_memory(proxy):
    """Who keeps the proxy's log short does not run; the provider sees to it, and traffic goes on."""
    logs = [path for path in (proxy.proxy_dir / "proxy.log", proxy.proxy_dir / "nginx.log") if path.exists()]
    supervisors = [one.pid for one in proxy.supervisors()]
    assert len(logs) == 1 and len(supervisors) == 1
    os.kill(supervisors[0], signal.SIGSTOP)
    try:
        with open(logs[0], "ab") as log:
            log.write(b"x" * FLOOD_LEN)
        proxy.provider.wait_event("proxy-log-cut", timeout=60)
        wait_for(lambda: logs[0].stat().st_size < FLOOD_LEN, "the log to be short", 30)
        assert proxy.reached("web.test") == "pod"
    finally:
        os.kill(supervisors[0], signal.SIGCONT)
    proxy.wait_applied()


def leave_one_descriptor(pid: int) -> None:
    """A process has one more than are in use now. Whoever calls it again takes away what was in use for a moment before."""
    used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    _, second = itertools.islice((number for number in itertools.count() if number not in used), 2)
    limit, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(limit, second), most))


@pytest.mark.parametrize("proxy", ["haproxy"], indirect=True)
def test_one_that_cannot_connect_to_endpoints_is_not_ready(proxy):
    """With a descriptor for the client and none for an endpoint nobody is served; it is not ready as long as that lasts."""
    [worker] = proxy.workers()
    before = resource.prlimit(worker, resource.RLIMIT_NOFILE)

    def is_noticed() -> bool:
        leave_one_descriptor(worker)
        return any("answered with 503" in line for line in proxy.provider.events("proxy-silent"))

    try:
        wait_for(is_noticed, "it to be noticed", 60)
        assert proxy.reached("web.test") == 503
        wait_for(lambda: "answered with 503" in readiness(proxy)[-1], "it not to be ready", 30)
    finally:
        resource.prlimit(worker, resource.RLIMIT_NOFILE, before)
    proxy.provider.wait_event("proxy-heard", timeout=30)
    proxy.wait_applied()
    wait_for(lambda: "event=ready" in readiness(proxy)[-1], "it to be ready", 30)
    assert proxy.reached("web.test") == "pod" and proxy.workers() == [worker]


FOREIGN = """if 1:
    import http.server, socket, sys
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "1")
            self.end_headers()
            self.wfile.write(b"1")
        def log_message(self, *_):
            pass
    class Server(http.server.ThreadingHTTPServer):
        def server_bind(self):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            super().server_bind()
    server = Server((sys.argv[1], int(sys.argv[2])), Handler)
    print(flush=True)
    server.serve_forever()"""


@pytest.mark.parametrize("proxy", ["haproxy"], indirect=True)
def test_who_shares_the_port_is_noticed(proxy):
    """HAProxy lets others of its user bind its ports, and the kernel deals connections out to all: it is not ready as long as that lasts."""
    foreign = subprocess.Popen(["/usr/bin/python3", "-c", FOREIGN, proxy.address, str(proxy.http)], stdout=subprocess.PIPE)
    try:
        assert foreign.stdout.readline()
        proxy.provider.wait_event("proxy-silent", "another program", timeout=60)
        wait_for(lambda: "another program" in readiness(proxy)[-1], "it not to be ready", 30)
    finally:
        foreign.kill()
        foreign.wait()
    proxy.provider.wait_event("proxy-heard", timeout=30)
    proxy.wait_applied()
    assert not proxy.provider.events("proxy-hung")
