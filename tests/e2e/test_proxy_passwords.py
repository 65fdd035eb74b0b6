# SPDX-License-Identifier: Apache-2.0
"""Passwords on each local proxy: users change without a reload, hashes are kept like keys, slow ones make nobody else wait, and what is left when something dies."""
from __future__ import annotations

import base64
import concurrent.futures
import stat
import threading
from typing import Iterator

import pytest

from lib.backend import Backend
from lib.local_proxy import LocalProxy, host, pool
from lib.provider_link import Object
from lib.proxies import PROXIES, proxy_class
from lib.wait import wait_for

SHA512 = "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/"  # of "password"
SHA1 = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="  # likewise
SHA1_OTHER = "{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc="  # of "admin"
SLOW = "$2b$11$abcdefghijklmnopqrstuu0000000000000000000000000000000"  # of nothing, and takes more than a tenth of a second


def rule(policy: str = "p", path: str = "/") -> Object:
    return {"path": path, "match": "prefix", "ingress": "default/web", "pool": "one", "policy": policy}


def policy(name: str = "p", users: str = "u", **settings: object) -> Object:
    return {"kind": "policy", "id": name, "ingress": "default/web", "basic_auth": {"realm": "r", "users": users}, **settings}


def users(listed: dict[str, str], name: str = "u") -> Object:
    return {"kind": "users", "id": name, "users": [{"name": key, "hash": listed[key]} for key in sorted(listed)]}


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


@pytest.fixture(name="proxy", params=PROXIES)
def fixture_proxy(request: pytest.FixtureRequest) -> Iterator[LocalProxy]:
    with Backend("one") as pod, proxy_class(request.param)() as proxy:
        proxy.send(pool("one", pod), host("plain.test", ("/", "one")), proxy.balancer())
        proxy.apply()
        yield proxy


def logs_of(proxy: LocalProxy) -> str:
    return "\n".join([*proxy.provider.lines, *(file.read_text(errors="replace") for file in proxy.folder.rglob("*.log"))])


def test_users_change_at_once(proxy: LocalProxy) -> None:
    proxy.apply(users({"alice": SHA512, "bob": SHA1}), policy(), host("a.test", rule()))
    workers = proxy.workers()
    assert proxy.request("a.test").headers["www-authenticate"] == 'Basic realm="r"'
    for name in ("alice", "bob", "alice", "bob"):
        assert proxy.reached("a.test", headers=basic(name, "password")) == "one"
        assert proxy.reached("a.test", headers=basic(name, "wrong")) == 401
    proxy.apply(users({"bob": SHA1_OTHER}))
    assert proxy.reached("a.test", headers=basic("alice", "password")) == 401
    assert proxy.reached("a.test", headers=basic("bob", "password")) == 401
    assert proxy.reached("a.test", headers=basic("bob", "admin")) == "one"
    proxy.apply(gone=[("users", "u")])
    assert proxy.reached("a.test", headers=basic("bob", "admin")) == 503
    proxy.apply({"kind": "users", "id": "u", "missing": True})
    assert proxy.reached("a.test", headers=basic("bob", "admin")) == 503
    assert not proxy.was_reloaded_since(workers)


def test_a_policy_takes_other_users_under_load(proxy: LocalProxy) -> None:
    """Whoever is on both lists is let in throughout."""
    proxy.apply(users({"bob": SHA1}, "u0"), policy(users="u0"), host("a.test", rule()))
    seen: set[object] = set()
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            seen.add(proxy.reached("a.test", headers=basic("bob", "password")))

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(ask) for _ in range(4)]
        try:
            for turn in range(1, 60):
                proxy.apply(users({"bob": SHA1, f"t{turn}": SHA1}, f"u{turn}"), policy(users=f"u{turn}"), gone=[("users", f"u{turn - 1}")])
        finally:
            is_over.set()
        for one in asking:
            one.result()
    assert seen == {"one"}


def test_no_name_is_the_beginning_of_another(proxy: LocalProxy) -> None:
    names = ["a", "a/", "a/b", "ab", "A", "a b", "a|b", "a%2F", '"', "\\", "$", "f\u00fc", "x" * 256]
    proxy.apply(users({name: SHA1 for name in names}), policy(), host("a.test", rule()))
    for name in names:
        assert proxy.reached("a.test", headers=basic(name, "password")) == "one", name
    for name in ("", "/", "a/b/", "a/bc", "aa", "b", "x" * 255, "x" * 257, "*"):
        assert proxy.reached("a.test", headers=basic(name, "password")) == 401, name


def test_many_users(proxy: LocalProxy) -> None:
    """Ten lists, each as long as the protocol lets one be."""
    listed = {f"user-{number}": SHA1 for number in range(1000)}
    for turn in range(10):
        proxy.send(users(listed, f"u{turn}"), policy(f"p{turn}", f"u{turn}"))
    proxy.apply(host("a.test", *(rule(f"p{turn}", f"/{turn}") for turn in range(10))))
    for number in (0, 500, 999):
        assert proxy.reached("a.test", f"/{number % 10}", headers=basic(f"user-{number}", "password")) == "one"
        assert proxy.reached("a.test", f"/{number % 10}", headers=basic(f"user-{number}", "admin")) == 401
    proxy.apply(users({**listed, "user-500": SHA1_OTHER}, "u3"))
    assert proxy.reached("a.test", "/3", headers=basic("user-500", "admin")) == "one"
    assert proxy.reached("a.test", "/3", headers=basic("user-499", "password")) == "one"
    assert proxy.reached("a.test", "/2", headers=basic("user-500", "admin")) == 401
    proxy.kill_proxy()
    wait_for(lambda: proxy.reached_or_none("plain.test") == "one", "it to be started again")
    assert proxy.reached("a.test", "/3", headers=basic("user-500", "admin")) == "one"


def test_slow_hashes_make_nobody_else_wait(proxy: LocalProxy) -> None:
    """As many are asked for as one list may, again and again: requests of others come between them, and further ones of the list are told that it is busy."""
    proxy.apply(users({f"s{number}": SLOW for number in range(40)}), users({"bob": SHA512}, "v"), policy(), policy("q", "v"), host("a.test", rule()),
                host("b.test", rule("q")))
    with concurrent.futures.ThreadPoolExecutor(80) as threads:
        asked = [threads.submit(proxy.request, "a.test", headers=basic(f"s{number % 40}", str(number))) for number in range(80)]
        wait_for(lambda: any(one.done() and one.result().status == 503 for one in asked), "the list to be busy")
        for _ in range(20):
            assert proxy.reached("plain.test") == "one"
        assert not all(one.done() for one in asked)
        if proxy.name == "haproxy":
            # Lists take turns; nginx has one queue for all.
            assert proxy.reached("b.test", headers=basic("bob", "password")) == "one"
            assert not all(one.done() for one in asked)
        statuses = {one.result().status for one in asked}
    assert statuses == {401, 503}
    assert proxy.reached("a.test", headers=basic("s1", "x")) == 401


def test_many_requests_with_one_pair_make_one_check(proxy: LocalProxy) -> None:
    proxy.apply(users({"slow": SLOW}), policy(), host("a.test", rule()))
    with concurrent.futures.ThreadPoolExecutor(40) as threads:
        asked = [threads.submit(proxy.request, "a.test", headers=basic("slow", "x")) for _ in range(40)]
        assert {one.result().status for one in asked} == {401}


def test_hashes_are_kept_like_keys(proxy: LocalProxy) -> None:
    proxy.apply(users({"alice": SHA512}), policy(), host("a.test", rule()))
    assert proxy.reached("a.test", headers=basic("alice", "password")) == "one"
    words = SHA512.rsplit("$", 1)[1]
    logs = logs_of(proxy)
    assert words not in logs and "alice" not in logs and b"alice".hex().upper() not in logs
    found = [file for file in proxy.folder.rglob("*") if file.is_file() and words.encode().replace(b"/", b"%2F") in file.read_bytes().replace(b"/", b"%2F")]
    assert found
    for file in found:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert file.suffix not in (".cfg", ".conf", ".lua"), file


def test_guards_outlive_everybody(proxy: LocalProxy) -> None:
    """A proxy begins with them from its files; a provider that has died finds them there."""
    proxy.apply(users({"alice": SHA1}), policy(), host("a.test", rule()))

    def is_guarded() -> bool:
        return (proxy.reached_or_none("a.test"), proxy.reached_or_none("plain.test")) == (401, "one")

    assert is_guarded()
    proxy.kill_proxy()
    wait_for(is_guarded, "it to be started again")
    assert proxy.reached("a.test", headers=basic("alice", "password")) == "one"
    workers = proxy.workers()
    proxy.restart()
    proxy.wait_applied()
    assert is_guarded() and not proxy.was_reloaded_since(workers)
    proxy.apply(users({"alice": SHA1_OTHER}))
    assert proxy.reached("a.test", headers=basic("alice", "password")) == 401


def test_nobody_is_refused_when_sluice_proxy_dies(proxy: LocalProxy) -> None:
    """Who was let in a moment ago is not asked again, and others wait until the next one is there."""
    proxy.apply(users({"alice": SHA512, "bob": SHA512}), policy(), host("a.test", rule()))
    assert proxy.reached("a.test", headers=basic("alice", "password")) == "one"
    for _ in range(3):
        proxy.kill_supervisor()
        assert proxy.reached("a.test", headers=basic("alice", "password")) == "one"
        assert proxy.reached("a.test", headers=basic("bob", "password")) == "one"
        assert proxy.reached("a.test", headers=basic("bob", "wrong")) == 401
        wait_for(proxy.supervisors, "the next sluice-proxy")
        proxy.wait_applied()
