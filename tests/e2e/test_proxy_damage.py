# SPDX-License-Identifier: Apache-2.0
"""Damaged files of the state folder: whatever happens to one of them, the proxy starts at once, the log says what was wrong, and all is as it was.

The table is (proxy, file, damage). For each: provider and proxy are killed, the file is damaged, the provider is started. With a translator everything is
served again; without one, what does not hang on that file is.
"""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal

import pytest

from lib import processes
from lib.backend import Backend
from lib.certs import Authority, self_signed
from lib.local_proxy import LocalProxy, certificate, host, pool, remove_folder
from lib.proxies import PROXIES, proxy_class
from lib.traffic import Traffic
from lib.wait import wait_for

FOREIGN = 65534

# By a pattern of which the first match is damaged, and whether plain HTTP is served before the first snapshot all the same.
FILES = {
    "haproxy": {"haproxy.d/00-main.cfg": False, "haproxy.d/lua-off.lua": True, "haproxy.d/slots-00000.cfg": False,
                "haproxy.d/slots-00001.cfg": True, "maps/hosts.map": False, "maps/prefixes.map": True, "maps/pools.map": False,
                "certs/list.txt": True, "certs/default.pem": True, "certs/c*.pem": True, "trust/a*.pem": True},
    "nginx": {"nginx.conf": False, "state": False, "placeholder.pem": True, "trust/a*.pem": True},
}
DAMAGES = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "foreign": lambda path: os.chown(path, FOREIGN, FOREIGN),
}
CASES = [(name, file, damage) for name in PROXIES for file in FILES[name] for damage in DAMAGES]


class Room:
    """A proxy that serves one host in plain HTTP and with a certificate of its own, and one whose backend is verified."""

    def __init__(self, name: str):
        authority = Authority("backends")
        self.pods = {"pod": Backend("pod"), "tls": Backend("tls", tls=authority.sign("tls.test"))}
        self.proxy: LocalProxy = proxy_class(name)()
        self.proxy.send(certificate("default", self_signed("default.test")), certificate("web", self_signed("web.test"), "web.test"),
                        pool("web", self.pods["pod"]), host("web.test", ("/", "web")),
                        pool("tls", self.pods["tls"], protocol="https", tls={"verify": "ca", "ca": authority.pem, "server_name": "tls.test"}),
                        host("tls.test", ("/", "tls")),
                        self.proxy.balancer(https=True, default_certificate="default"))
        self.proxy.commit()
        self.proxy.wait_applied()

    def file(self, pattern: str) -> pathlib.Path:
        return sorted(self.proxy.state_dir.glob(pattern))[0]

    def settle(self) -> None:
        """All is served by the newest, and written."""
        self.proxy.translator.wait_connection(self.proxy.provider.starts)
        self.proxy.apply()
        assert self.proxy.reached("web.test") == "pod"
        assert self.proxy.reached("web.test", tls=True) == "pod"
        assert self.proxy.reached("tls.test") == "tls"

    def kill(self) -> None:
        """Everybody: nobody is left who would start the proxy again."""
        self.proxy.kill_provider()
        self.proxy.kill_supervisor()
        self.proxy.kill_proxy()

    def stop(self) -> None:
        found = self.proxy.stop()
        for pod in self.pods.values():
            pod.stop()
        assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def rooms():
    made: dict[str, Room] = {}

    def room(name: str) -> Room:
        if name not in made:
            made[name] = Room(name)
        return made[name]

    yield room
    for one in made.values():
        one.stop()


@pytest.fixture
def own_room():
    """For lives that get no connection, which settle() counts."""
    with contextlib.ExitStack() as stack:
        def room(name: str) -> Room:
            made = Room(name)
            stack.callback(made.stop)
            return made

        yield room


def told(proxy: LocalProxy, since: int, path: pathlib.Path) -> list[str]:
    return [line for line in proxy.provider.lines[since:] if "event=file-damaged" in line and path.name in line]


def tries(proxy: LocalProxy, since: int) -> int:
    """How often the proxy has ended by itself: there is a pause before each new start."""
    return sum("event=proxy-down" in line or "event=nginx-down" in line for line in proxy.provider.lines[since:])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name,file,damage", CASES)
def test_a_damaged_file(rooms, name, file, damage):
    """With a translator: everything is served after the first snapshot."""
    room = rooms(name)
    proxy, path = room.proxy, room.file(file)
    room.kill()
    DAMAGES[damage](path)
    since = len(proxy.provider.lines)
    proxy.start()
    room.settle()
    assert len(told(proxy, since, path)) == 1, "\n".join(proxy.provider.lines[since:])
    assert tries(proxy, since) == 0
    # What was made anew is whole: the next start has nothing to say.
    room.kill()
    since = len(proxy.provider.lines)
    proxy.start()
    room.settle()
    assert not any("event=file-damaged" in line for line in proxy.provider.lines[since:])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name,file,damage", CASES)
def test_a_damaged_file_and_nobody_else(rooms, name, file, damage):
    """Without a translator: the proxy is started from what can be used; and the rest comes with the snapshot, without a failed request."""
    room = rooms(name)
    proxy, path = room.proxy, room.file(file)
    room.kill()
    DAMAGES[damage](path)
    since = len(proxy.provider.lines)
    proxy.translator.hold_snapshot()
    proxy.start()
    proxy.provider.wait_event("file-damaged", path.name, since=since)
    if FILES[name][file]:
        proxy.wait_answers("web.test")
        with Traffic(proxy.address, proxy.http, "web.test") as load:
            proxy.translator.hold_snapshot(False)
            room.settle()
        assert load.failures == [] and load.good > 0
    else:
        proxy.translator.hold_snapshot(False)
        room.settle()
    assert len(told(proxy, since, path)) == 1 and tries(proxy, since) == 0, "\n".join(proxy.provider.lines[since:])


# File descriptors, from too few to begin with anything to enough for all that a provider needs before its first snapshot.
FEW = range(4, 14)


def contents(proxy: LocalProxy) -> dict[pathlib.Path, bytes]:
    return {path: path.read_bytes() for path in proxy.state_dir.rglob("*") if path.is_file()}


@pytest.mark.plain
@pytest.mark.parametrize("name", PROXIES)
def test_a_file_that_cannot_be_opened_is_not_damaged(own_room, name):
    """A provider that has no descriptors left ends, and the files stay: the proxy starts from them when there are enough again."""
    room = own_room(name)
    proxy, provider = room.proxy, room.proxy.provider
    program, arguments = provider.program, provider.arguments
    before = contents(proxy)
    proxy.translator.hold_snapshot()
    for few in FEW:
        room.kill()
        provider.program, provider.arguments = pathlib.Path("/usr/bin/prlimit"), [f"--nofile={few}", str(program), *arguments]
        since = len(provider.lines)
        proxy.start()
        wait_for(lambda: not provider.is_running() or any("event=link-up" in line for line in provider.lines[since:]),
                 f"an end of it with {few} descriptors", 30)
        assert not any("event=file-damaged" in line for line in provider.lines[since:]), "\n".join(provider.lines[since:])
    assert provider.is_running()
    room.kill()
    provider.program, provider.arguments = program, arguments
    assert contents(proxy) == before
    proxy.start()
    proxy.wait_answers("web.test")


@pytest.mark.parametrize("name,file,damage", [case for case in CASES if case[2] in ("missing", "garbage")])
def test_a_damaged_file_under_a_proxy_that_runs(rooms, name, file, damage):
    """The provider alone dies: nobody's request fails, and afterwards the files are whole."""
    room = rooms(name)
    proxy, path = room.proxy, room.file(file)
    masters = proxy.masters()
    with Traffic(proxy.address, proxy.http, "web.test") as load:
        proxy.kill_provider()
        DAMAGES[damage](path)
        since = len(proxy.provider.lines)
        proxy.start()
        room.settle()
    assert load.failures == [] and load.good > 0
    assert told(proxy, since, path)
    wait_for(lambda: proxy.masters() == masters, "it to be the same proxy", 30)
    room.kill()
    proxy.translator.hold_snapshot()
    proxy.start()
    proxy.wait_answers("web.test")
    assert proxy.reached("web.test", tls=True) == "pod"
    proxy.translator.hold_snapshot(False)
    room.settle()


def test_what_a_proxy_listens_on_is_its_own_before_it_is_found(rooms):
    """The first snapshot comes before the proxy's supervisor answers, and the file that names its ports is gone."""
    room = rooms("haproxy")
    proxy = room.proxy
    with Traffic(proxy.address, proxy.http, "web.test") as load:
        proxy.kill_provider()
        room.file("haproxy.d/00-main.cfg").unlink()
        supervisors = proxy.supervisors()
        processes.hold(supervisors)
        since = len(proxy.provider.lines)
        proxy.start()
        proxy.provider.wait_event("snapshot-complete", since=since)
        for one in supervisors:
            os.kill(one.pid, signal.SIGCONT)
        room.settle()
    assert load.failures == [] and load.good > 0
    assert not proxy.provider.events("listener-unserved")


@pytest.mark.parametrize("name", PROXIES)
def test_the_files_are_removed_while_it_runs(rooms, name):
    """It is noticed without a change, nothing is called applied until all is there again, and the proxy's death is no outage."""
    room = rooms(name)
    proxy = room.proxy
    since = len(proxy.provider.lines)
    for entry in proxy.state_dir.iterdir():
        remove_folder(entry) if entry.is_dir() else entry.unlink()
    proxy.provider.wait_event("folder-gone", since=since)
    room.settle()
    assert not proxy.is_dead()
    proxy.kill_proxy()
    proxy.wait_answers("web.test")
    assert proxy.reached("web.test", tls=True) == "pod" and proxy.reached("tls.test") == "tls"
    assert tries(proxy, since) == 1


@pytest.mark.parametrize("is_written", [False, True], ids=["idle", "written"])
@pytest.mark.parametrize("name", PROXIES)
def test_the_state_folder_itself_is_removed(rooms, name, is_written):
    """The sandbox knows a folder by more than its name. Where it keeps us from making another one, the provider ends with a failure, traffic goes on, and
    who starts it again, as a service manager does, has a line that works in every respect. So it is when a change could not be written in between."""
    room = rooms(name)
    proxy = room.proxy
    since = len(proxy.provider.lines)
    remove_folder(proxy.state_dir)
    if is_written:
        proxy.send(host("new.test", ("/", "web")))
        proxy.commit()
    proxy.provider.wait_event("folder-gone", since=since)
    wait_for(lambda: proxy.is_dead() or proxy.state_dir.exists(), "the folder to be made again, or the end", 30)
    if proxy.is_dead():
        assert proxy.provider.reap() == 1 and proxy.provider.events("folder-lost")
        assert proxy.reached("web.test") == "pod"
        proxy.start()
    room.settle()
    assert not is_written or proxy.reached("new.test") == "pod"
    # A listener takes a check and a reload, and all of it a start.
    extra = {"port": proxy.other_port(proxy.http, proxy.https), "protocol": "http"}
    proxy.apply(proxy.balancer(https=True, default_certificate="default", listeners=[extra]))
    proxy.apply(proxy.balancer(https=True, default_certificate="default"))
    proxy.kill_proxy()
    proxy.wait_answers("web.test")
    room.settle()
