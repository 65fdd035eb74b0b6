# SPDX-License-Identifier: Apache-2.0
"""Following a Kubernetes API: a small one that serves lists from memory."""

from __future__ import annotations

import http.server
import json
import socket
import socketserver
import threading
from typing import Any, Iterator

import pytest

from .conftest import FAST, Rancher, rule
from .test_traffic import address, ask


class Cluster:
    """Objects by collection path; `fail` makes every answer a failure."""

    def __init__(self) -> None:
        self.objects: dict[str, list[dict[str, Any]]] = {
            "/api/v1/namespaces": [], "/api/v1/services": [], "/api/v1/endpoints": [],
            "/apis/discovery.k8s.io/v1/endpointslices": []}
        self.version = 1
        self.fail: str | None = None
        self.lists = 0
        self.agents: set[str] = set()
        self.namespace("default", "ns-1")

    def changed(self) -> None:
        self.version += 1

    def namespace(self, name: str, uid: str) -> None:
        self.objects["/api/v1/namespaces"].append({"metadata": {"name": name, "uid": uid}})
        self.changed()

    def service(self, name: str, uid: str, selector: dict[str, str] | None = None,
                namespace: str = "default") -> None:
        self.objects["/api/v1/services"].append({
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "spec": {"clusterIP": "10.43.0.1", "selector": selector, "ports": [{"port": 80}]}})
        self.changed()

    def slice(self, name: str, service: str, *endpoints: dict[str, Any]) -> None:
        items = self.objects["/apis/discovery.k8s.io/v1/endpointslices"]
        items[:] = [i for i in items if i["metadata"]["name"] != name]
        items.append({"metadata": {"name": name, "namespace": "default",
                                   "labels": {"kubernetes.io/service-name": service}},
                      "addressType": "IPv4", "endpoints": list(endpoints), "ports": [{"port": 8080}]})
        self.changed()

    def remove(self, path: str, name: str) -> None:
        self.objects[path] = [i for i in self.objects[path] if i["metadata"]["name"] != name]
        self.changed()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        cluster: Cluster = self.server.cluster
        path, _, query = self.path.partition("?")
        cluster.agents.add(self.headers["User-Agent"])
        if cluster.fail == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        items = cluster.objects.get(path)
        status = 404 if items is None else 500 if cluster.fail == "500" else 200
        page = items or []
        meta: dict[str, Any] = {"resourceVersion": str(cluster.version)}
        if "limit=1" == query:
            page = page[:1]
        else:
            cluster.lists += 1
            start = int(query.partition("continue=")[2] or 0)
            if len(page) > start + 2:
                meta["continue"] = str(start + 2)
            page = page[start:start + 2]
        body = json.dumps({"items": page, "metadata": meta}).encode()
        if cluster.fail == "garbage":
            body = b"{broken"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return None


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.cluster = Cluster()
    server.cluster.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server.cluster
    server.shutdown()
    server.server_close()


def start(cluster: Cluster, dataplane: bool = False, **options: Any) -> Rancher:
    settings = {**FAST, **options.pop("settings", {})}
    return Rancher(dataplane=dataplane, settings=settings, kubernetes_url=cluster.url, agent_interval=0.05,
                   **options)


def services(server: Rancher) -> dict[str, dict[str, Any]]:
    return {r["externalId"]: r for r in server.rows("kubernetesService")}


def ips(server: Rancher, uid: str) -> set[str]:
    row = services(server).get(uid) or {}
    return {c["primaryIpAddress"] for c in server.rows("container")
            if c["id"] in (row.get("instanceIds") or [])}


def ep(ip: str, **conditions: bool) -> dict[str, Any]:
    return {"addresses": [ip], "conditions": conditions, "nodeName": "host-1"}


def test_services_and_endpoints_are_followed(cluster: Cluster) -> None:
    cluster.service("web", "u1", {"app": "web"})
    cluster.slice("web-1", "web", ep("10.42.0.1"), ep("10.42.0.2", ready=True))
    cluster.slice("web-2", "web", ep("10.42.0.3", ready=False))
    for number in range(5):
        cluster.service(f"more{number}", f"m{number}", {"app": "x"})
    with start(cluster) as server:
        server.wait_for(lambda: len(services(server)) == 6 and ips(server, "u1"))
        row = server.wait_for(lambda: next((r for r in [services(server)["u1"]] if r["state"] == "active"),
                                           None))
        assert row["selectorContainer"] == "app=web,io.kubernetes.pod.namespace=default"
        assert row["vip"] == "10.43.0.1"
        assert row["template"]["metadata"]["uid"] == "u1"
        stack = server.get(row["stackId"], "stacks")
        assert (stack["name"], stack["externalId"]) == ("default", "kubernetes://ns-1")
        # Readiness is not Rancher's business.
        assert ips(server, "u1") == {"10.42.0.1", "10.42.0.2", "10.42.0.3"}
        cluster.slice("web-1", "web")
        server.wait_for(lambda: ips(server, "u1") == {"10.42.0.3"})
        assert all("kubernetes-agent" in a for a in cluster.agents)


def test_what_does_not_change_is_not_listed_again(cluster: Cluster) -> None:
    cluster.service("web", "u1", {"app": "web"})
    with start(cluster) as server:
        server.wait_for(lambda: server.control("agent")["synced"])
        lists = cluster.lists
        cluster.fail = None
        server.wait_for(lambda: services(server)["u1"]["state"] == "active")
        assert cluster.lists == lists
        cluster.changed()
        server.wait_for(lambda: cluster.lists > lists)


def test_a_service_without_selector_has_no_containers(cluster: Cluster) -> None:
    cluster.service("manual", "u1", None)
    cluster.slice("manual-1", "manual", ep("10.42.0.1"))
    with start(cluster) as server:
        server.wait_for(lambda: "u1" in services(server))
        assert services(server)["u1"]["selectorContainer"] is None and ips(server, "u1") == set()


def test_only_ready(cluster: Cluster) -> None:
    cluster.service("web", "u1", {"app": "web"})
    cluster.slice("web-1", "web", ep("10.42.0.1", ready=True), ep("10.42.0.2", ready=False))
    with start(cluster, agent_only_ready=True) as server:
        server.wait_for(lambda: ips(server, "u1") == {"10.42.0.1"})


def test_old_endpoints(cluster: Cluster) -> None:
    del cluster.objects["/apis/discovery.k8s.io/v1/endpointslices"]
    cluster.service("web", "u1", {"app": "web"})
    cluster.objects["/api/v1/endpoints"].append({
        "metadata": {"name": "web", "namespace": "default"},
        "subsets": [{"addresses": [{"ip": "10.42.0.1"}], "notReadyAddresses": [{"ip": "10.42.0.2"}]}]})
    with start(cluster) as server:
        server.wait_for(lambda: ips(server, "u1") == {"10.42.0.1", "10.42.0.2"})


def test_removal_and_replacement(cluster: Cluster) -> None:
    cluster.service("web", "u1", {"app": "web"})
    cluster.service("gone", "u2", {"app": "gone"})
    with start(cluster) as server:
        server.wait_for(lambda: [r["state"] for r in services(server).values()] == ["active"] * 2)
        old = services(server)["u1"]["id"]
        made = server.make("lb", [rule(old)]).json
        cluster.remove("/api/v1/services", "gone")
        cluster.remove("/api/v1/services", "web")
        cluster.service("web", "u3", {"app": "web"})
        server.wait_for(lambda: set(services(server)) == {"u3"}
                        and services(server)["u3"]["state"] == "active")
        server.settle()
        assert server.get(made["id"])["lbConfig"]["portRules"] == []
        cluster.objects["/api/v1/services"].clear()
        cluster.remove("/api/v1/namespaces", "default")
        server.wait_for(lambda: "default" not in [s["name"] for s in server.rows("stack")])


def test_failures_change_nothing(cluster: Cluster) -> None:
    cluster.service("web", "u1", {"app": "web"})
    with start(cluster) as server:
        server.wait_for(lambda: "u1" in services(server))
        for fail in ("500", "cut", "garbage"):
            cluster.fail = fail
            cluster.objects["/api/v1/services"][0]["metadata"]["labels"] = {"x": fail}
            cluster.changed()
            server.wait_for(lambda: server.control("agent")["error"])
            assert "u1" in services(server)
            cluster.fail = None
            server.wait_for(lambda: server.control("agent")["error"] is None)
        cluster.service("late", "u2", {"app": "late"})
        server.wait_for(lambda: "u2" in services(server))


def test_late_never_and_paused(cluster: Cluster) -> None:
    with start(cluster, settings={"agent_delay": 60.0}) as server:
        server.control("withhold-service", service="never")
        cluster.service("never", "u1", {"app": "never"})
        seen = cluster.lists
        cluster.service("late", "u2", {"app": "late"})
        server.wait_for(lambda: cluster.lists > seen)
        assert services(server) == {}
        server.control("configure", agent_delay=0.0)
        server.wait_for(lambda: set(services(server)) == {"u2"})
        server.control("agent", paused=True)
        server.control("withhold-service", service="never", withhold=False)
        cluster.remove("/api/v1/services", "late")
        server.control("agent", paused=False)
        server.wait_for(lambda: set(services(server)) == {"u1"})


def test_services_gone_while_the_server_was_away(cluster: Cluster, tmp_path: Any) -> None:
    cluster.service("web", "u1", {"app": "web"})
    cluster.service("gone", "u2", {"app": "gone"})
    state = str(tmp_path / "state")
    with start(cluster, state=state) as server:
        server.wait_for(lambda: len(services(server)) == 2)
        server.settle()
    cluster.remove("/api/v1/services", "gone")
    with start(cluster, state=state) as server:
        server.wait_for(lambda: set(services(server)) == {"u1"})


def test_traffic_follows_endpoints(cluster: Cluster, backend: Any) -> None:
    first, second = backend("first"), backend("second")
    cluster.service("web", "u1", {"app": "web"})
    cluster.slice("web-1", "web", ep("10.42.0.1"))
    with start(cluster, dataplane=True) as server:
        server.control("map-address", addresses={"10.42.0.1:8080": first.address,
                                                 "10.42.0.2:8080": second.address})
        server.wait_for(lambda: ips(server, "u1"))
        server.settle()
        server.make("web", [rule(services(server)["u1"]["id"])])
        assert ask(address(server, "web"))[1]["backend"] == "first"
        cluster.slice("web-1", "web", ep("10.42.0.2"))
        server.wait_for(lambda: ips(server, "u1") == {"10.42.0.2"})
        server.settle()
        assert ask(address(server, "web"))[1]["backend"] == "second"
