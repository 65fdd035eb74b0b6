# SPDX-License-Identifier: Apache-2.0
"""provider-nginx: which endpoint of a pool a client comes to, by a cookie that says more than its value, or by a hash of what it asks for."""
from __future__ import annotations

import collections
import email.utils
import contextlib
import re
import time
from typing import Any, Iterator

import pytest

from lib.backend import Backend
from lib.local_proxy import host, pool
from lib.nginx import Nginx
from lib.provider_link import Object
from lib.traffic import Load
from lib.wait import wait_for

OLD_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/51.0.2704.103 Safari/537.36"
NEW_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"


@pytest.fixture(name="pods")
def fixture_pods() -> Iterator[list[Backend]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Backend(f"pod-{number}")) for number in range(9)]


@pytest.fixture(name="proxy")
def fixture_proxy() -> Iterator[Nginx]:
    with Nginx() as proxy:
        proxy.send(proxy.balancer(https=True))
        proxy.apply()
        yield proxy


def sticky(*pods: Backend, cookie: str = "SID", domain: str = "", **affinity: Any) -> Object:
    return pool("all", *pods, stickiness={"cookie": cookie, **({"domain": domain} if domain else {}), "affinity": {"secure": "tls", **affinity}})


def by(*pieces: Object, pods: list[Backend], **more: Any) -> Object:
    return pool("all", *pods, hash=list(pieces), **more)


def name_of(proxy: Nginx, path: str = "/", **headers: str) -> str:
    return str(proxy.reached("a.test", path, headers=headers))


# ---- affinity ----

@pytest.mark.parametrize("settings, tls, agent, wanted", [
    ({}, False, NEW_BROWSER, "Path=/; HttpOnly"),
    ({}, True, NEW_BROWSER, "Path=/; Secure; HttpOnly"),
    ({"secure": "never"}, True, NEW_BROWSER, "Path=/; HttpOnly"),
    ({"secure": "always"}, False, NEW_BROWSER, "Path=/; Secure; HttpOnly"),
    ({"path": "/some thing,(x)"}, False, NEW_BROWSER, "Path=/some thing,(x); HttpOnly"),
    ({"path": "/a; Domain=evil.test"}, False, NEW_BROWSER, "Path=/; HttpOnly"),
    ({"max_age_s": 259200, "domain": "foo.bar"}, False, NEW_BROWSER, "Max-Age=259200; Domain=foo.bar; Path=/; HttpOnly"),
    ({"same_site": "strict"}, False, NEW_BROWSER, "Path=/; HttpOnly; SameSite=Strict"),
    ({"same_site": "lax"}, False, OLD_BROWSER, "Path=/; HttpOnly; SameSite=Lax"),
    ({"same_site": "none"}, False, OLD_BROWSER, "Path=/; HttpOnly; SameSite=None"),
    ({"same_site": "none", "same_site_known": True}, False, OLD_BROWSER, "Path=/; HttpOnly"),
    ({"same_site": "none", "same_site_known": True}, False, NEW_BROWSER, "Path=/; HttpOnly; SameSite=None")])
def test_a_cookie_says_what_it_should(proxy: Nginx, pods: list[Backend], settings: Object, tls: bool, agent: str, wanted: str) -> None:
    proxy.apply(sticky(pods[0], **settings), host("a.test", ("/", "all")))
    answer = proxy.request("a.test", tls=tls, headers={"User-Agent": agent})
    assert re.fullmatch("SID=[0-9a-f]{16}; " + re.escape(wanted), answer.headers["set-cookie"]), answer.headers["set-cookie"]


def test_a_cookie_expires(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(sticky(pods[0], expires_s=172800, max_age_s=5), host("a.test", ("/", "all")))
    before = int(time.time())
    cookie = proxy.request("a.test").headers["set-cookie"]
    expires = re.fullmatch(r"SID=[0-9a-f]{16}; Expires=(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT); Max-Age=5; Path=/; HttpOnly", cookie)
    assert expires, cookie
    # The clock that nginx keeps may be a little behind.
    assert before - 60 <= email.utils.parsedate_to_datetime(expires.group(1)).timestamp() - 172800 <= time.time() + 60


def cookie_of(proxy: Nginx) -> tuple[str, str]:
    """A new client: its cookie, and who has answered."""
    answer = proxy.request("a.test")
    return answer.headers["set-cookie"].partition(";")[0], answer.json["name"]


def test_a_client_comes_back(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(sticky(*pods[:3]), host("a.test", ("/", "all")))
    cookie, name = cookie_of(proxy)
    for _ in range(20):
        answer = proxy.request("a.test", headers={"Cookie": f"a=b; {cookie}"})
        assert answer.json["name"] == name and "set-cookie" not in answer.headers
    for value in ("SID=x", "SID=", "SID=" + "0" * 16):
        assert "set-cookie" in proxy.request("a.test", headers={"Cookie": value}).headers


def test_a_client_whose_endpoint_fails_goes_on_or_stays(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(sticky(*pods[:2]), host("a.test", ("/", "all")))
    cookie, name = cookie_of(proxy)
    gone = next(pod for pod in pods if pod.name == name)
    gone.stop()
    answer = proxy.request("a.test", headers={"Cookie": cookie})
    assert answer.status == 200 and answer.json["name"] != name and "set-cookie" in answer.headers
    proxy.apply(sticky(*pods[:2], stays=True))
    for _ in range(6):
        answer = proxy.request("a.test", headers={"Cookie": cookie})
        assert answer.status == 502 and "set-cookie" not in answer.headers
    for _ in range(6):
        assert proxy.request("a.test").status == 200
    left = [pod for pod in pods[:2] if pod is not gone]
    proxy.apply(sticky(*left, stays=True))
    assert proxy.request("a.test", headers={"Cookie": cookie}).json["name"] == left[0].name


def test_a_new_client_is_not_bound_to_nobody(proxy: Nginx, pods: list[Backend]) -> None:
    gone = pods.pop()
    gone.stop()
    proxy.apply(sticky(gone, stays=True), host("a.test", ("/", "all")))
    answer = proxy.request("a.test")
    assert answer.status == 502 and "set-cookie" not in answer.headers


# ---- hashes ----

TARGET = {"value": "target"}
HEADER = {"value": "header", "text": "X-U"}


def spread(proxy: Nginx, keys: int) -> dict[int, str]:
    return {key: name_of(proxy, f"/k?{key}") for key in range(keys)}


def test_the_same_key_comes_to_the_same_endpoint(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:3]), host("a.test", ("/", "all")))
    assert len({name_of(proxy, "/same?x=1") for _ in range(30)}) == 1
    assert set(spread(proxy, 60).values()) == {pod.name for pod in pods[:3]}
    proxy.apply(by(HEADER, {"text": "-t"}, pods=pods[:3]))
    assert len({name_of(proxy, f"/{number}", **{"X-U": "one"}) for number in range(20)}) == 1
    assert len({name_of(proxy, f"/{number}") for number in range(20)}) == 1
    assert len({name_of(proxy, "/", **{"X-U": str(number)}) for number in range(60)}) == 3


def test_the_key_is_what_was_sent(proxy: Nginx, pods: list[Backend]) -> None:
    """Also where a policy changes it before the backend gets it, and where the client says what only we may say."""
    claim = {"value": "header", "text": "X-Forwarded-User"}
    policy = {"kind": "policy", "id": "p", "ingress": "default/web", "rewrite": [{"text": "/x"}], "request_headers": [{"name": "X-U", "value": [{"text": "other"}]}]}
    rule = {"path": "/", "match": "prefix", "ingress": "default/web", "pool": "all", "policy": "p"}
    for objects in ([host("a.test", ("/", "all"))], [policy, host("a.test", rule)]):
        proxy.apply(by(HEADER, TARGET, claim, pods=pods[:3]), *objects)
        for key in ("a", "b", "c", "d"):
            assert len({name_of(proxy, "/" + key, **{"X-U": key, "X-Forwarded-User": key}) for _ in range(8)}) == 1
        assert len({name_of(proxy, "/", **{"X-U": str(number)}) for number in range(60)}) == 3
        assert len({name_of(proxy, f"/{number}") for number in range(60)}) == 3
        assert len({name_of(proxy, "/", **{"X-Forwarded-User": str(number)}) for number in range(60)}) == 3


def test_only_the_keys_of_an_endpoint_that_goes_move(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:4]), host("a.test", ("/", "all")))
    before = spread(proxy, 400)
    proxy.apply(by(TARGET, pods=pods[:3]))
    after = spread(proxy, 400)
    assert all(after[key] == name for key, name in before.items() if name != pods[3].name)
    assert 40 < sum(after[key] != name for key, name in before.items()) < 180
    proxy.apply(by(TARGET, pods=pods[:4]))
    assert spread(proxy, 400) == before


def test_an_endpoint_that_refuses_hands_its_keys_on(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:3]), host("a.test", ("/", "all")))
    before = spread(proxy, 60)
    pods[2].stop()
    after = spread(proxy, 60)
    assert set(after.values()) == {pod.name for pod in pods[:2]}
    assert all(after[key] == name for key, name in before.items() if name != pods[2].name)


def test_a_key_may_have_several_endpoints(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods, hash_subset=3), host("a.test", ("/", "all")))
    sets = [frozenset(name_of(proxy, path) for _ in range(60)) for path in ("/a", "/b", "/c")]
    assert {len(names) for names in sets} == {3}
    assert len(set(sets)) > 1
    proxy.apply(by(TARGET, pods=pods, hash_subset=4000000000))
    got = collections.Counter(name_of(proxy, "/a") for _ in range(200))
    assert set(got) == {pod.name for pod in pods}


def test_a_cookie_goes_before_a_hash(proxy: Nginx, pods: list[Backend]) -> None:
    both = {**sticky(*pods[:3]), "hash": [TARGET]}
    proxy.apply(both, host("a.test", ("/", "all")))
    cookie, name = cookie_of(proxy)
    assert {name_of(proxy, f"/{number}", Cookie=cookie) for number in range(20)} == {name}


# ---- changes ----

def test_pools_change_under_load_without_a_reload(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:2]), host("a.test", ("/", "all")))
    workers = proxy.workers()
    with Load(proxy.address, proxy.http, [("a.test", f"/{number}") for number in range(50)], clients=4) as load:
        for number in range(60):
            some = [pods[0], *pods[number % 4:number % 4 + 4]]
            some = [*{pod.name: pod for pod in some}.values()]
            proxy.apply(sticky(*some, stays=True, max_age_s=number) if number % 3 == 0 else by(TARGET, pods=some, hash_subset=number % 3))
        wait_for(lambda: load.good > 500 or load.failures, "requests to be answered")
    assert not load.failures
    assert not proxy.was_reloaded_since(workers)


def test_a_hash_is_the_same_after_every_death(proxy: Nginx, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:3]), host("a.test", ("/", "all")))
    before = spread(proxy, 30)
    proxy.kill_proxy()
    wait_for(lambda: proxy.reached_or_none("a.test") in {pod.name for pod in pods[:3]}, "nginx to be started again")
    assert spread(proxy, 30) == before
