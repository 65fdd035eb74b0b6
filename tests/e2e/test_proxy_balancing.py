# SPDX-License-Identifier: Apache-2.0
"""Which endpoint of a pool a client comes to, by a cookie that says more than its value, or by a hash of what it asks for."""
from __future__ import annotations

import collections
import email.utils
import contextlib
import re
import time
from typing import Any, Iterator

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.local_proxy import LocalProxy, certificate, host, pool
from lib.proxies import PROXIES, proxy_class
from lib.provider_link import Object
from lib.traffic import Load
from lib.wait import wait_for

OLD_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/51.0.2704.103 Safari/537.36"
NEW_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"


@pytest.fixture(name="pods")
def fixture_pods() -> Iterator[list[Backend]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Backend(f"pod-{number}")) for number in range(9)]


@pytest.fixture(name="proxy", params=PROXIES)
def fixture_proxy(request: pytest.FixtureRequest) -> Iterator[LocalProxy]:
    with proxy_class(request.param)() as proxy:
        proxy.send(certificate("default", self_signed("a.test")), proxy.balancer(https=True, default_certificate="default"))
        proxy.apply()
        yield proxy


def only(proxy: LocalProxy, name: str, why: str) -> None:
    if proxy.name != name:
        pytest.skip(why)


# The status when nobody can be connected to.
REFUSED = {"nginx": 502, "haproxy": 503}


def sticky(*pods: Backend, cookie: str = "SID", domain: str = "", **affinity: Any) -> Object:
    return pool("all", *pods, stickiness={"cookie": cookie, **({"domain": domain} if domain else {}), "affinity": {"secure": "tls", **affinity}})


def by(*pieces: Object, pods: list[Backend], **more: Any) -> Object:
    return pool("all", *pods, hash=list(pieces), **more)


def name_of(proxy: LocalProxy, path: str = "/", **headers: str) -> str:
    return str(proxy.reached("a.test", path, headers=headers))


# ---- affinity ----

def attributes(cookie: str) -> dict[str, str]:
    """In lower case; of two of one name the last counts (RFC 6265, 5.3). The value is the cookie's, of 16 hexadecimal digits, on nginx with 8 more that name the pool."""
    first, *others = cookie.split("; ")
    assert re.fullmatch(r"SID=[0-9a-f]{16}(\|[0-9a-f]{8})?", first), cookie
    return {name.lower(): value for name, _, value in (item.partition("=") for item in others)}


@pytest.mark.parametrize("settings, tls, agent, wanted", [
    ({}, False, NEW_BROWSER, {}),
    ({}, True, NEW_BROWSER, {"secure": ""}),
    ({"secure": "never"}, True, NEW_BROWSER, {}),
    ({"secure": "always"}, False, NEW_BROWSER, {"secure": ""}),
    ({"path": "/some thing,(x)"}, False, NEW_BROWSER, {"path": "/some thing,(x)"}),
    ({"path": "/a; Domain=evil.test"}, False, NEW_BROWSER, {}),
    ({"path": "/a\"$x\\%b"}, True, NEW_BROWSER, {"path": "/a\"$x\\%b", "secure": ""}),
    ({"max_age_s": 259200, "domain": "foo.bar"}, False, NEW_BROWSER, {"max-age": "259200", "domain": "foo.bar"}),
    ({"same_site": "strict"}, False, NEW_BROWSER, {"samesite": "Strict"}),
    ({"same_site": "lax"}, False, OLD_BROWSER, {"samesite": "Lax"}),
    ({"same_site": "none"}, False, OLD_BROWSER, {"samesite": "None"}),
    ({"same_site": "none", "same_site_known": True}, False, OLD_BROWSER, {}),
    ({"same_site": "none", "same_site_known": True}, False, NEW_BROWSER, {"samesite": "None"})])
def test_a_cookie_says_what_it_should(proxy: LocalProxy, pods: list[Backend], settings: Object, tls: bool, agent: str, wanted: Object) -> None:
    proxy.apply(sticky(pods[0], **settings), host("a.test", ("/", "all")))
    answer = proxy.request("a.test", tls=tls, headers={"User-Agent": agent})
    assert attributes(answer.headers["set-cookie"]) == {"path": "/", "httponly": "", **wanted}


def test_a_cookie_expires(proxy: LocalProxy, pods: list[Backend]) -> None:
    proxy.apply(sticky(pods[0], expires_s=172800, max_age_s=5), host("a.test", ("/", "all")))
    before = int(time.time())
    cookie = proxy.request("a.test").headers["set-cookie"]
    expires = re.fullmatch(r"SID=[0-9a-f]{16}(?:\|[0-9a-f]{8})?; Expires=(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT); Max-Age=5; Path=/; HttpOnly", cookie)
    assert expires, cookie
    # The clock that a proxy keeps may be a little behind.
    assert before - 60 <= email.utils.parsedate_to_datetime(expires.group(1)).timestamp() - 172800 <= time.time() + 60


def cookie_of(proxy: LocalProxy) -> tuple[str, str]:
    """A new client: its cookie, and who has answered."""
    answer = proxy.request("a.test")
    return answer.headers["set-cookie"].partition(";")[0], answer.json["name"]


def test_a_client_comes_back(proxy: LocalProxy, pods: list[Backend]) -> None:
    proxy.apply(sticky(*pods[:3]), host("a.test", ("/", "all")))
    cookie, name = cookie_of(proxy)
    for _ in range(20):
        answer = proxy.request("a.test", headers={"Cookie": f"a=b; {cookie}"})
        assert answer.json["name"] == name and "set-cookie" not in answer.headers
    for value in ("SID=x", "SID=", "SID=" + "0" * 16):
        assert "set-cookie" in proxy.request("a.test", headers={"Cookie": value}).headers


def test_balanced_sessions_move_when_an_endpoint_comes(proxy: LocalProxy, pods: list[Backend]) -> None:
    only(proxy, "nginx", "on HAProxy they stay with their endpoints")
    proxy.apply(sticky(*pods[:3], balanced=True), host("a.test", ("/", "all")))
    cookies = dict(cookie_of(proxy) for _ in range(120))
    assert len(cookies) == 120 and set(cookies.values()) == {pod.name for pod in pods[:3]}

    def moved(*now: Backend) -> int:
        proxy.apply(sticky(*now, balanced=True))
        count = 0
        for cookie, name in cookies.items():
            answer = proxy.request("a.test", headers={"Cookie": cookie})
            assert "set-cookie" not in answer.headers and answer.json["name"] in (name, pods[3].name)
            count += answer.json["name"] != name
        return count
    assert moved(*pods[:3]) == 0
    assert 8 < moved(*pods[:4]) < 60
    assert moved(*pods[:3]) == 0
    # A value that nobody has made belongs to an endpoint, too.
    answers = [proxy.request("a.test", headers={"Cookie": f"SID={value}"}) for value in ("x", "x|y", "x|")]
    assert len({answer.json["name"] for answer in answers}) == 1 and not any("set-cookie" in answer.headers for answer in answers)
    assert "set-cookie" in proxy.request("a.test", headers={"Cookie": "SID="}).headers


def test_the_backend_sees_the_cookie_unless_it_is_hidden(proxy: LocalProxy, pods: list[Backend]) -> None:
    only(proxy, "nginx", "HAProxy takes its cookie out of every request")
    proxy.apply(sticky(pods[0]), host("a.test", ("/", "all")))
    cookie, _ = cookie_of(proxy)
    answer = proxy.request("a.test", headers={"Cookie": f"a=b; {cookie}"})
    assert [value for name, value in answer.json["headers"] if name.lower() == "cookie"] == [f"a=b; {cookie}"]
    assert "cache-control" not in proxy.request("a.test").headers


def canary_rules(weight: int, **more: Any) -> Object:
    rule = {"path": "/", "match": "prefix", "ingress": "default/web", "cookie_path": "/shop", "canary": {"main": "all", "pool": "new", **more}}
    header = {"conditions": [{"subject": "header", "name": "x-c", "value": "always"}], "pool": "new"}
    return host("a.test", {**rule, **header}, {**rule, "pools": [{"pool": "all", "weight": 100 - weight}, {"pool": "new", "weight": weight}]})


def test_who_came_to_a_canary_stays_there(proxy: LocalProxy, pods: list[Backend]) -> None:
    only(proxy, "nginx", "on HAProxy each pool has its own cookie")
    services = {"all": {"namespace": "default", "name": "all"}, "new": {"namespace": "default", "name": "new"}}
    main = {**sticky(*pods[:2], balanced=True), "service": services["all"]}
    proxy.apply(main, pool("new", *pods[2:4], service=services["new"]), canary_rules(50))
    cookies = dict(cookie_of(proxy) for _ in range(60))
    assert {name for name in cookies.values()} == {pod.name for pod in pods[:4]}
    assert all("; Path=/shop; HttpOnly" in proxy.request("a.test").headers["set-cookie"] for _ in range(10))
    for _ in range(2):
        for cookie, name in cookies.items():
            answer = proxy.request("a.test", headers={"Cookie": cookie, "X-C": "always"})
            assert answer.json["name"] == name and "set-cookie" not in answer.headers
    # While the canary has nobody, all are the main pool's, and come back afterwards.
    proxy.apply(pool("new", service=services["new"]))
    assert all(proxy.request("a.test", headers={"X-C": "always"}).json["name"] in ("pod-0", "pod-1") for _ in range(20))
    for cookie in cookies:
        answer = proxy.request("a.test", headers={"Cookie": cookie})
        assert answer.json["name"] in ("pod-0", "pod-1") and "set-cookie" not in answer.headers
    proxy.apply(pool("new", *pods[2:4], service=services["new"]))
    assert all(proxy.request("a.test", headers={"Cookie": cookie}).json["name"] == name for cookie, name in cookies.items())
    # Where the main pool has nobody, the canary is not asked.
    proxy.apply({**sticky(balanced=True), "service": services["all"]})
    assert proxy.request("a.test", headers={"X-C": "always"}).status == 503


def test_a_loose_canary_has_no_sessions(proxy: LocalProxy, pods: list[Backend]) -> None:
    only(proxy, "nginx", "on HAProxy each pool has its own cookie")
    services = {"all": {"namespace": "default", "name": "all"}, "new": {"namespace": "default", "name": "new"}}
    proxy.apply({**sticky(pods[0]), "service": services["all"]}, pool("new", pods[1], service=services["new"]), canary_rules(50, loose=True))
    answers = [proxy.request("a.test") for _ in range(60)]
    assert {(answer.json["name"], "set-cookie" in answer.headers) for answer in answers} == {("pod-0", True), ("pod-1", False)}


# ---- by time ----

def test_who_answers_fast_gets_most(proxy: LocalProxy, pods: list[Backend]) -> None:
    only(proxy, "nginx", "HAProxy goes by how many requests an endpoint has")
    proxy.apply(pool("all", *pods[:3], fastest=True), host("a.test", ("/", "all")))
    pods[1].takes_s = 0.15
    for _ in range(6):  # until each has been asked
        proxy.request("a.test")
    found = collections.Counter(name_of(proxy) for _ in range(120))
    assert found["pod-1"] < 12 and found["pod-0"] > 30 and found["pod-2"] > 30, found
    # Who comes begins as the others are on an average, and who is alone has all.
    proxy.apply(pool("all", *pods[:4], fastest=True))
    assert {name_of(proxy) for _ in range(200)} >= {"pod-0", "pod-2", "pod-3"}
    proxy.apply(pool("all", pods[1], fastest=True))
    assert name_of(proxy) == "pod-1"


def test_a_client_whose_endpoint_fails_goes_on_or_stays(proxy: LocalProxy, pods: list[Backend]) -> None:
    proxy.apply(sticky(*pods[:2]), host("a.test", ("/", "all")))
    cookie, name = cookie_of(proxy)
    gone = next(pod for pod in pods if pod.name == name)
    gone.stop()
    answer = proxy.request("a.test", headers={"Cookie": cookie})
    assert answer.status == 200 and answer.json["name"] != name and "set-cookie" in answer.headers
    if proxy.name == "haproxy":
        return  # whoever stays with an endpoint that cannot be connected to would take new clients along
    proxy.apply(sticky(*pods[:2], stays=True))
    for _ in range(6):
        answer = proxy.request("a.test", headers={"Cookie": cookie})
        assert answer.status == 502 and "set-cookie" not in answer.headers
    for _ in range(6):
        assert proxy.request("a.test").status == 200
    left = [pod for pod in pods[:2] if pod is not gone]
    proxy.apply(sticky(*left, stays=True))
    assert proxy.request("a.test", headers={"Cookie": cookie}).json["name"] == left[0].name


def test_a_new_client_is_not_bound_to_nobody(proxy: LocalProxy, pods: list[Backend]) -> None:
    gone = pods.pop()
    gone.stop()
    proxy.apply(sticky(gone, stays=True), host("a.test", ("/", "all")))
    answer = proxy.request("a.test")
    assert answer.status == REFUSED[proxy.name] and "set-cookie" not in answer.headers


# ---- hashes ----

TARGET = {"value": "target"}
HEADER = {"value": "header", "text": "X-U"}


def spread(proxy: LocalProxy, keys: int) -> dict[int, str]:
    return {key: name_of(proxy, f"/k?{key}") for key in range(keys)}


def test_the_same_key_comes_to_the_same_endpoint(proxy: LocalProxy, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:3]), host("a.test", ("/", "all")))
    assert len({name_of(proxy, "/same?x=1") for _ in range(30)}) == 1
    assert set(spread(proxy, 60).values()) == {pod.name for pod in pods[:3]}
    proxy.apply(by(HEADER, {"text": "-t"}, pods=pods[:3]))
    assert len({name_of(proxy, f"/{number}", **{"X-U": "one"}) for number in range(20)}) == 1
    assert len({name_of(proxy, f"/{number}") for number in range(20)}) == 1
    assert len({name_of(proxy, "/", **{"X-U": str(number)}) for number in range(60)}) == 3


def test_the_key_is_what_was_sent(proxy: LocalProxy, pods: list[Backend]) -> None:
    """Also where a policy changes it before the backend gets it, and where the client says what only we may say."""
    only(proxy, "nginx", "HAProxy takes what the backend gets")
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


def test_only_the_keys_of_an_endpoint_that_goes_move(proxy: LocalProxy, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:4]), host("a.test", ("/", "all")))
    before = spread(proxy, 400)
    proxy.apply(by(TARGET, pods=pods[:3]))
    after = spread(proxy, 400)
    assert all(after[key] == name for key, name in before.items() if name != pods[3].name)
    assert 40 < sum(after[key] != name for key, name in before.items()) < 180
    proxy.apply(by(TARGET, pods=pods[:4]))
    again = spread(proxy, 400)
    if proxy.name == "haproxy":  # it comes back with another number, and so with other keys
        assert all(again[key] in (name, pods[3].name) for key, name in after.items())
    else:
        assert again == before


def test_an_endpoint_that_refuses_hands_its_keys_on(proxy: LocalProxy, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:3]), host("a.test", ("/", "all")))
    before = spread(proxy, 60)
    pods[2].stop()
    after = spread(proxy, 60)
    assert set(after.values()) == {pod.name for pod in pods[:2]}
    assert all(after[key] == name for key, name in before.items() if name != pods[2].name)


def test_a_key_may_have_several_endpoints(proxy: LocalProxy, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods, hash_subset=3), host("a.test", ("/", "all")))
    sets = [frozenset(name_of(proxy, path) for _ in range(60)) for path in ("/a", "/b", "/c")]
    if proxy.name == "haproxy":  # of the three some may be the same
        assert {len(names) for names in sets} <= {1, 2, 3} and max(map(len, sets)) > 1
    else:
        assert {len(names) for names in sets} == {3}
    assert len(set(sets)) > 1
    proxy.apply(by(TARGET, pods=pods, hash_subset=4000000000))
    got = collections.Counter(name_of(proxy, "/a") for _ in range(400))
    assert set(got) == {pod.name for pod in pods}


def test_a_cookie_goes_before_a_hash(proxy: LocalProxy, pods: list[Backend]) -> None:
    both = {**sticky(*pods[:3]), "hash": [TARGET]}
    proxy.apply(both, host("a.test", ("/", "all")))
    cookie, name = cookie_of(proxy)
    assert {name_of(proxy, f"/{number}", Cookie=cookie) for number in range(20)} == {name}


# ---- changes ----

def test_pools_change_under_load_without_a_reload(proxy: LocalProxy, pods: list[Backend]) -> None:
    only(proxy, "nginx", "on HAProxy each kind of cookie or hash that nobody had is a reload")
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


def test_endpoints_change_under_load_without_a_reload(proxy: LocalProxy, pods: list[Backend]) -> None:
    """And kinds that are there already; a new one is a reload on HAProxy, in which nothing is lost."""
    proxy.apply(by(TARGET, pods=pods[:2]), host("a.test", ("/", "all")))
    with Load(proxy.address, proxy.http, [("a.test", f"/{number}") for number in range(50)], clients=4) as load:
        proxy.apply(sticky(*pods[:2], stays=True))
        workers = proxy.workers()
        for number in range(60):
            some = [*{pod.name: pod for pod in [pods[0], *pods[number % 4:number % 4 + 4]]}.values()]
            proxy.apply(sticky(*some, stays=True) if number % 3 == 0 else by(TARGET, pods=some))
        wait_for(lambda: load.good > 500 or load.failures, "requests to be answered")
    assert not load.failures
    assert not proxy.was_reloaded_since(workers)


def test_odd_keys_break_nothing(proxy: LocalProxy, pods: list[Backend]) -> None:
    """What has a meaning in the configuration of a proxy is text here; a name that cannot be said is told."""
    odd = [{"text": "%[src] 100% \"q\" 's' $x ${HOME} \\n #c {y} %t"}, {"value": "query"}, {"value": "cookie", "text": "a"}, {"value": "argument", "text": "b"},
           {"value": "client"}, {"value": "host"}, {"value": "scheme"}, {"value": "method"}, {"value": "port"}]
    proxy.apply(by(*odd, pods=pods[:3]), host("a.test", ("/", "all")))
    assert len({name_of(proxy, f"/?b={number}") for number in range(60)}) == 3
    proxy.apply(by(TARGET, {"value": "header", "text": "X-U)],lua.x"}, pods=pods[:3]))
    assert proxy.request("a.test").status == 200


def test_a_hash_is_the_same_after_every_death(proxy: LocalProxy, pods: list[Backend]) -> None:
    proxy.apply(by(TARGET, pods=pods[:3]), host("a.test", ("/", "all")))
    before = spread(proxy, 30)
    proxy.kill_proxy()
    wait_for(lambda: proxy.reached_or_none("a.test") in {pod.name for pod in pods[:3]}, "the proxy to be started again")
    assert spread(proxy, 30) == before
