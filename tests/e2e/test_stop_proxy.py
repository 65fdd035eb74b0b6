# SPDX-License-Identifier: Apache-2.0
"""--stop-proxy: a proxy that is stopped with its provider finishes what is under way, and is not taken up again."""
from __future__ import annotations

import contextlib
import signal
import socket
from typing import Iterator

import pytest

from lib.backend import Backend
from lib.local_proxy import PATIENCE, LocalProxy, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.raw_http import dial, read_answer
from lib.wait import wait_for

ENDING, CUT = {"haproxy": "proxy-ending", "nginx": "nginx-ending"}, {"haproxy": "proxy-cut", "nginx": "nginx-cut"}
HOLD = b"GET /?stream HTTP/1.1\r\nHost: web.test\r\n\r\n"
LONG = ["--stop-proxy", "--stop-timeout", "3600"]


@contextlib.contextmanager
def under_way(name: str, arguments: list[str]) -> Iterator[tuple[LocalProxy, Backend, socket.socket]]:
    """A proxy with a request of which the answer has begun and goes on when `pod.release()` is called."""
    with Backend("pod") as pod, proxy_class(name)(arguments=arguments) as proxy:
        proxy.send(pool("web", pod), host("web.test", ("/", "web")), proxy.balancer())
        proxy.commit()
        proxy.wait_applied()
        with contextlib.closing(dial(proxy.address, proxy.http)) as link:
            link.sendall(HOLD)
            assert link.recv(12, socket.MSG_PEEK).startswith(b"HTTP/1.1")
            yield proxy, pod, link


def refuses(proxy: LocalProxy) -> bool:
    try:
        dial(proxy.address, proxy.http).close()
    except ConnectionRefusedError:
        return True
    return False


def begin_to_stop(proxy: LocalProxy) -> None:
    """SIGTERM, and the proxy has heard of it."""
    proxy.provider.process.terminate()
    proxy.provider.wait_event(ENDING[proxy.name])
    wait_for(lambda: refuses(proxy), "new connections to be refused", PATIENCE)


def assert_answered_whole(link: socket.socket) -> None:
    answer = read_answer(link)
    assert answer.status == 200 and answer.json["name"] == "pod"


def wait_serves_anew(proxy: LocalProxy, before: list[int]) -> None:
    """After a start, by another proxy."""
    proxy.wait_answers("web.test")
    assert set(proxy.masters()) - set(before)
    proxy.translator.wait_connection(2)
    proxy.apply()


@pytest.mark.parametrize("name", PROXIES)
def test_a_request_under_way_is_answered_whole(name):
    with under_way(name, LONG) as (proxy, pod, link):
        before = proxy.masters()
        begin_to_stop(proxy)
        assert proxy.provider.is_running() and proxy.masters() == before
        # What a reload would look at is gone.
        proxy.provider.process.send_signal(signal.SIGHUP)
        proxy.provider.wait_event("hangup")
        pod.release()
        assert_answered_whole(link)
        link.close()
        assert proxy.provider.reap() == 0
        assert proxy.masters() == [] and not proxy.provider.events(CUT[name])
        proxy.start()
        wait_serves_anew(proxy, before)


@pytest.mark.parametrize("name", PROXIES)
def test_one_that_is_ending_is_not_taken_up_again(name):
    """The provider is killed while its proxy ends; the next one starts another beside it."""
    with under_way(name, LONG) as (proxy, pod, link):
        before = proxy.masters()
        begin_to_stop(proxy)
        proxy.kill_provider()
        proxy.start()
        wait_serves_anew(proxy, before)
        assert set(before) < set(proxy.masters())
        pod.release()
        assert_answered_whole(link)
        link.close()
        wait_for(lambda: not set(before) & set(proxy.masters()), "the old proxy to end", PATIENCE)
        proxy.wait_answers("web.test")


@pytest.mark.parametrize("name", PROXIES)
def test_one_that_was_to_end_and_has_not_heard_of_it_ends(name):
    """Provider and supervisor were killed when it was noted that the proxy ends, before it could be told."""
    with under_way(name, LONG) as (proxy, pod, link):
        before = proxy.masters()
        proxy.kill_provider()
        proxy.kill_supervisor()
        pid_file = proxy.proxy_dir / ("nginx.pid" if name == "nginx" else "proxy.pid")
        pid_file.write_text(pid_file.read_text().rstrip("\n") + " ending\n")
        proxy.start()
        wait_for(lambda: set(proxy.masters()) - set(before), "another proxy", PATIENCE)
        pod.release()
        assert_answered_whole(link)
        link.close()
        wait_for(lambda: not set(before) & set(proxy.masters()), "the old proxy to end", PATIENCE)
        wait_serves_anew(proxy, before)


@pytest.mark.parametrize("how", ["limit", "second-signal"])
@pytest.mark.parametrize("name", PROXIES)
def test_what_goes_on_for_too_long_is_cut(name, how):
    with under_way(name, LONG if how == "second-signal" else ["--stop-proxy", "--stop-timeout", "1"]) as (proxy, _, link):
        begin_to_stop(proxy)
        if how == "second-signal":
            proxy.provider.process.terminate()
        assert proxy.provider.reap() == 0
        assert proxy.provider.events(CUT[name])
        wait_for(lambda: proxy.masters() == [], "the proxy to end", PATIENCE)
        with pytest.raises((ConnectionError, ValueError, OSError)):
            read_answer(link)


@pytest.mark.parametrize("name", PROXIES)
def test_without_connections_it_ends_at_once(name):
    with under_way(name, LONG) as (proxy, pod, link):
        pod.release()
        assert_answered_whole(link)
        link.close()
        assert proxy.provider.stop() == 0
        assert proxy.proxies() == [] and not proxy.provider.events(CUT[name])
