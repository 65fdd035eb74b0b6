# SPDX-License-Identifier: Apache-2.0
"""A provider with its proxy on this machine, alone: a translator of the tests behind it, clients of the tests before it.

Each has folders and a loopback address of its own, so any number of them can run side by side, in any number of test runs.
"""
from __future__ import annotations

import contextlib
import http.client
import pathlib
import shutil
from typing import Any

from . import processes
from .addresses import Address, free_port
from .answer import Answer
from .daemon import SIGNS, Daemon, Room
from .line import build_folder
from .provider_link import Object, Translator, virtual_host
from .traffic import answers, request
from .wait import wait_for

LB = "sluice"  # id of the one load balancer of the class
PATIENCE = 90.0  # seconds: nothing that works takes so long, on the slowest of machines


# Tests that are about something else want more reloads in a minute than anybody.
HURRY = {"SLUICE_RELOAD_INTERVAL_MAX": "1"}


class LocalProxy(Room):
    """Use it as a context manager. Subclasses name the program (`provider-NAME/sluice-provider-NAME`) and know its proxy."""

    name = ""
    network = ""  # of its addresses: "127.x"
    own_arguments: list[str] = []
    folder_mode = 0o700

    def __init__(self, start: bool = True, arguments: list[str] | None = None, environment: dict[str, str] | None = None):
        super().__init__(self.name)
        self.folder.chmod(self.folder_mode)
        self.state_dir = self.folder / "state"
        self.proxy_dir = self.folder / "proxy"
        self._address = Address(self.network)
        self.address = self._address.ip
        self.http = free_port(self.address)
        self.https = self.other_port(self.http)
        self.translator = Translator(self.runtime)
        self._fence = 0
        self._connections_before = 0  # the provider was killed after so many
        self.provider = Daemon(self.program(),
                               ["--runtime-dir", str(self.runtime), "--state-dir", str(self.state_dir), "--proxy-dir", str(self.proxy_dir),
                                "--bind-address", self.address,
                                *self.own_arguments, *(arguments or [])],
                               self.folder / "provider.log", {processes.MARK: str(self.folder), **HURRY, **(environment or {})},
                               leaves_children=True)
        if start:
            self.start()

    @classmethod
    def program(cls) -> pathlib.Path:
        return build_folder() / f"provider-{cls.name}/sluice-provider-{cls.name}"

    def other_port(self, *taken: int) -> int:
        """A free port that is none of these."""
        return next(port for port in iter(lambda: free_port(self.address), 0) if port not in taken)

    # What is wanted

    def balancer(self, http: bool = True, https: bool = False, default_certificate: str = "", listeners: list[Object] | None = None,
                 default_pool: str = "", **more: Any) -> Object:
        """The load balancer of the class: with the usual listeners, and any more that are given as they are."""
        all_listeners = list(listeners or [])
        if http:
            all_listeners.append({"port": self.http, "protocol": "http"})
        if https:
            all_listeners.append({"port": self.https, "protocol": "https",
                                  **({"default_certificate": default_certificate} if default_certificate else {})})
        return {"kind": "load-balancer", "id": LB, "class": "sluice", "listeners": sorted(all_listeners, key=lambda item: item["port"]),
                **({"default_pool": default_pool} if default_pool else {}), **more}

    def send(self, *objects: Object) -> None:
        """Adds or replaces objects; commit() makes them count."""
        self.translator.put(*objects, commit=False)

    def remove(self, *ids: tuple[str, str]) -> None:
        """Takes objects away, given as (kind, id); commit() makes it count."""
        self.translator.remove(*ids, commit=False)

    def commit(self) -> None:
        self.translator.commit()

    def apply(self, *objects: Object, gone: list[tuple[str, str]] | None = None) -> None:
        """Sends these and takes `gone` away in one commit, and waits until all of it is in force.

        A status speaks of a load balancer object; so that one has to follow, the object gets a label, which means nothing.
        """
        self._fence += 1
        self.translator.put(*objects, commit=False)
        self.translator.remove(*(gone or []), commit=False)
        lb = {key: value for key, value in self.translator.objects["load-balancer", LB].items() if key != "rev"}
        self.translator.put({**lb, "labels": [{"key": "fence", "value": str(self._fence)}]}, commit=False)
        self.commit()
        self.wait_applied()

    def wait_applied(self, timeout: float = PATIENCE) -> Object:
        """The status that says that the load balancer wanted now is there, from the provider that runs now."""
        def applied() -> Object | None:
            self.raise_if_dead()
            status = self.translator.status(LB) if self.translator.connections > self._connections_before else None
            return status if status and status["state"] == "applied" else None

        try:
            return wait_for(applied, "the commit to be applied", timeout)
        except AssertionError as problem:
            raise AssertionError(f"{problem}\nlast status: {self.translator.statuses.get(LB)}\n"
                                 + "\n".join(self.provider.lines[-20:])) from None

    # Clients

    def request(self, host: str, path: str = "/", **how: Any) -> Answer:
        """One request, with `tls=True` to the https listener."""
        return request(self.address, self.https if how.get("tls") else self.http, host, path, timeout=PATIENCE, **how)

    def answers(self, host: str, path: str = "/", status: int = 200, **how: Any) -> bool:
        return answers(self.address, self.https if how.get("tls") else self.http, host, path, status, timeout=PATIENCE, **how)

    def reached(self, host: str, path: str = "/", **how: Any) -> str | int:
        """The name of the backend that answered, or the status of the proxy's own answer."""
        got = self.request(host, path, **how)
        return got.json["name"] if got.status == 200 else got.status

    def reached_or_none(self, host: str) -> str | int | None:
        """As reached(); None while nobody answers."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.reached(host)
        return None

    def wait_answers(self, host: str, path: str = "/", status: int = 200, timeout: float = PATIENCE, **how: Any) -> None:
        wait_for(lambda: self.answers(host, path, status, **how), f"{host}{path} to give {status}", timeout)

    # Processes

    def start(self) -> None:
        self.provider.start()

    def restart(self) -> None:
        """The provider dies and comes back; its proxy is left alone."""
        self._connections_before = self.translator.connections
        self.provider.restart()

    def kill_provider(self) -> None:
        self.provider.kill()

    def proxies(self) -> list[processes.Process]:
        return processes.marked(self.folder, self.name)

    def masters(self) -> list[int]:
        everyone = self.proxies()
        pids = {p.pid for p in everyone}
        return [p.pid for p in everyone if p.parent not in pids]

    def workers(self) -> list[int]:
        """Processes of the proxy that serve; a reload makes new ones."""
        everyone = self.proxies()
        pids = {p.pid for p in everyone}
        return [p.pid for p in everyone if p.parent in pids]

    def was_reloaded_since(self, workers: list[int]) -> bool:
        """Some process serves that was not among these; old ones may have ended."""
        now = set(self.workers())
        return not now or not now <= set(workers)

    def supervisors(self) -> list[processes.Process]:
        """Our sluice-proxy, which runs the proxy; another provider's may name our folder, too."""
        return [p for p in processes.marked(self.folder, "sluice-proxy") if processes.word_behind(p.pid, "--state-dir") == str(self.state_dir)]

    def supervisor_complaints(self) -> list[str]:
        """What a sanitizer or a broken invariant has said in the last two of them, whose log nobody else reads."""
        logs = [self.proxy_dir / "supervisor.log", self.proxy_dir / "supervisor.log.before"]
        lines = [line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines()]
        return [f"sluice-proxy: {line}" for line in lines if any(sign in line for sign in SIGNS)]

    def kill_supervisor(self) -> None:
        """SIGKILL: the proxy goes on, and nobody starts it again."""
        processes.kill(self.supervisors())

    def kill_proxy(self) -> None:
        """SIGKILL to all processes of the proxy, also to those that a reload is just making."""
        processes.end(self.folder, self.name)

    def is_dead(self) -> bool:
        """The provider has ended by itself."""
        return self.provider.process is not None and not self.provider.is_running()

    def raise_if_dead(self) -> None:
        assert not self.is_dead(), f"{self.provider.program.name} has ended: " + "\n".join(self.provider.lines[-30:])

    def stop(self) -> list[str]:
        found = self.provider.end() + self.translator.problems
        self.kill_supervisor()
        found += self.supervisor_complaints()
        self.kill_proxy()
        self.translator.stop()
        self._address.release()
        return self.leave(found)


# Objects as merged grouping has them


def remove_folder(folder: pathlib.Path) -> None:
    """All of it at once: who notices, and makes files in a new one, is not in the way of the removal of the old one."""
    gone = folder.with_name(f"{folder.name}.gone")
    folder.rename(gone)
    shutil.rmtree(gone)


def host(name: str, *rules: tuple | Object, **more: Any) -> Object:
    """The virtual host `name` ("" for any); `rules` are (path, pool[, match]) or whole rules, in order of precedence."""
    return {**virtual_host(LB, name), "rules": [rule if isinstance(rule, dict) else rule_of(*rule) for rule in rules], **more}


def rule_of(path: str, pool_id: str, match: str = "prefix", **more: Any) -> Object:
    return {"path": path, "pool": pool_id, "match": match, "ingress": "default/web", **more}


def passthrough(name: str, pool_id: str) -> Object:
    """TLS for this server name is passed through unopened."""
    return {**host(name, ("/", pool_id)), "id": f"{LB}/passthrough/{name}", "passthrough": True}


def pool(name: str, *endpoints: Any, **more: Any) -> Object:
    """Its id is `name`. Endpoints are (ip, port), anything with `ip` and `port`, or whole ones."""
    items = sorted((endpoint_of(item) for item in endpoints), key=lambda item: (item["ip"], item["port"]))
    service = {"namespace": "default", "name": "web", "uid": f"uid-{name}"[:128]}
    return {"kind": "pool", "id": name, "service": service, "port": 80, "target_port": 8080, "has_selector": True, "endpoints": items, **more}


def endpoint_of(item: Any, active: bool = True) -> Object:
    if isinstance(item, dict):
        return item
    ip, port = item if isinstance(item, tuple) else (item.ip, item.port)
    return {"ip": ip, "port": port, **({"active": True, "ready": True, "serving": True} if active else {"serving": True, "terminating": True})}


def certificate(name: str, pair: Any, *hosts: str) -> Object:
    """`pair` as from lib.certs, shown for `hosts`."""
    return {"kind": "certificate", "id": name, "namespace": "default", "name": name.replace("/", "-"), "chain": pair.pem,
            "private_key": pair.key, **({"hosts": sorted(hosts)} if hosts else {})}
