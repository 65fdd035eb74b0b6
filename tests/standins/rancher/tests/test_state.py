# SPDX-License-Identifier: Apache-2.0
"""A server that goes and comes back has lost nothing; its balancers never noticed."""

from __future__ import annotations

import http.client
import threading
from pathlib import Path
from typing import Any

import pytest

from standins.rancher.client import ControlError
from standins.rancher.store import Store

from .conftest import FAST, Pair, Rancher, rule
from .test_traffic import Load, address, ask


def reachable(server: Rancher) -> bool:
    try:
        return server.api("GET", "stacks").status == 200
    except (OSError, http.client.HTTPException):
        return False


def snapshot(server: Rancher) -> dict[str, Any]:
    """All rows, without the links (the port of the API may be another)."""
    return {kind: [{k: v for k, v in row.items() if k not in ("links",
                                                              "actions")} for row in server.rows(kind, True)]
            for kind in ("stack", "service", "certificate", "instance", "host", "project", "setting")}


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_nothing_is_lost(tmp_path: Path, foo_pair: Pair, way: str) -> None:
    state = str(tmp_path / "state")
    with Rancher(dataplane=False, settings=FAST, state=state) as server:
        target = server.target("web", ["10.42.0.5"])
        server.make("a", [rule(target)])
        gone = server.make("b", [rule(target)]).json
        server.api("DELETE", f"loadbalancerservices/{gone['id']}")
        server.api("POST", "certificates", {"name": "c", "cert": foo_pair.cert, "key": foo_pair.key})
        server.settle()
        before, keys = snapshot(server), (server.access_key, server.secret_key)
        server.wait_for(lambda: len(Store(state).tables["service"]) == 3)
        last = server.api("POST", "stacks", {"name": "last"}).json["id"]
        getattr(server, way)()
    with Rancher(dataplane=False, settings=FAST, state=state) as server:
        assert (server.access_key, server.secret_key) == keys
        server.settle()
        # An answered write survives, and its process goes on.
        assert server.get(last, "stacks")["state"] == "active"
        after = snapshot(server)
        after["stack"] = [s for s in after["stack"] if s["id"] != last]
        assert after == before
        assert server.api("POST", "stacks",
                          {"name": "next"}).json["id"] not in [s["id"] for s in before["stack"]]


def test_processes_are_taken_up(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with Rancher(dataplane=False, settings=FAST, state=state) as server:
        target = server.target()
        server.control("configure", step_delays={"service.activating": 30.0, "removing": 30.0})
        made = server.make("a", [rule(target)], settle=False).json
        server.wait_for(lambda: server.get(made["id"])["state"] == "activating")
        server.control("remove-service", uid="uid-web")
        server.api("GET", "stacks")
        server.kill()
    with Rancher(dataplane=False, settings=FAST, state=state) as server:
        server.settle()
        row = server.get(made["id"])
        assert row["state"] == "active" and row["lbConfig"]["portRules"] == []


def test_restart_within_the_process(tmp_path: Path, backend: Any) -> None:
    with Rancher(settings=FAST, state=str(tmp_path / "state")) as server:
        target = server.target("web", [backend("a").pod])
        made = server.make("web", [rule(target)]).json
        where, before = address(server, "web"), snapshot(server)
        pids = [p["pid"] for p in server.control("proxies", lb="web")]
        with Load(lambda: where, clients=2) as load:
            restart = threading.Thread(target=server.control, args=("restart",), kwargs={"down": 0.3})
            restart.start()
            server.wait_for(lambda: not reachable(server))
            restart.join()
            server.settle()
            assert snapshot(server) == before
            server.put(made["id"], {"lbConfig": {"portRules": [rule(target, path="/load")]}})
            server.settle()
        assert load.failures == [] and load.served
        assert ask(where, "/other")[0] == 503, "the change after the restart has arrived"
        assert [p["pid"] for p in server.control("proxies", lb="web")] == pids


def test_balancers_are_started_again(tmp_path: Path, backend: Any) -> None:
    state, back = str(tmp_path / "state"), backend("a")
    with Rancher(settings=FAST, state=state) as server:
        server.make("web", [rule(server.target("web", [back.pod]))])
        where = address(server, "web")
    with Rancher(settings=FAST, state=state) as server:
        assert address(server, "web") == where and ask(where)[0] == 200


def test_restart_needs_a_file(rancher: Rancher) -> None:
    with pytest.raises(ControlError, match="state file"):
        rancher.control("restart")


def test_networks_do_not_meet(rancher: Rancher) -> None:
    with Rancher(dataplane=False) as other:
        assert other.info["network"] != rancher.info["network"]
    with pytest.raises(RuntimeError):
        Rancher(dataplane=False, network=rancher.info["network"])
