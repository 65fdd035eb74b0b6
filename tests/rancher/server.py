# SPDX-License-Identifier: Apache-2.0
"""A real Rancher 1.6 server for tests: MariaDB, cattle, hosts that its own simulator plays, and keys as deployed programs have them.

It lives in the network namespace that it is started in (tests/pod-network), listens on loopback only, and ends with the tests, however they end. No
container runs: load balancers become active, and no traffic flows through them.
"""
from __future__ import annotations

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from lib.processes import WITH_US
from lib.wait import wait_for

Row = dict[str, Any]
PORT = 8080
ROOT = f"http://127.0.0.1:{PORT}/v2-beta"
SUPERKEY = "superadmin:superadminpass"
# Packages of the JDK that libraries of 2017 open by force.
OPENED = ["java.base/java.lang", "java.base/java.lang.reflect", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.net", "java.base/java.io",
          "java.base/java.text", "java.base/java.math", "java.base/java.nio", "java.base/sun.nio.ch", "java.sql/java.sql", "java.desktop/java.beans",
          "java.management/sun.management", "jdk.management/com.sun.management.internal"]
ADDRESSES = "io.cattle.platform.agent.connection.simulator.AgentConnectionSimulator"


class Api:
    """Rancher's API with one key; paths are those of `base`."""

    def __init__(self, key: str = "", base: str = ROOT):
        self.base = base
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = "Basic " + base64.b64encode(key.encode()).decode()

    def ask(self, method: str, path: str, body: Row | None = None, **query: Any) -> Row:
        """The answer; HTTPError if that is none of success."""
        url = path if path.startswith("http") else self.base + path
        if query:
            url += "?" + urllib.parse.urlencode(query)
        request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), self._headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def rows(self, path: str, **query: Any) -> list[Row]:
        return self.ask("GET", path, limit=1000, **query)["data"]

    def make(self, path: str, body: Row, **query: Any) -> Row:
        return self.ask("POST", path, body, **query)

    def settled(self, row: Row) -> Row:
        """The row when it is on its way nowhere any more."""
        link = row["links"]["self"]
        return wait_for(lambda: (now := self.ask("GET", link))["transitioning"] != "yes" and now, f"{link} to settle", 90, 0.25)


class RealRancher:
    """`folder` is what cattle.py has made."""

    def __init__(self, folder: pathlib.Path, hosts: int = 3):
        self._built, self._hosts = folder, hosts
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-rancher-"))
        self._socket = self._folder / "database.sock"
        self._children: list[subprocess.Popen] = []
        self.key = self.system_key = self.outside_key = ""

    def __enter__(self) -> "RealRancher":
        try:
            self._start_database()
            self._start_server()
            self._prepare()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        for child in reversed(self._children):
            child.kill()
            child.wait()
        if not os.environ.get("SLUICE_KEEP"):
            shutil.rmtree(self._folder, ignore_errors=True)

    def _spawn(self, name: str, *command: str, **more: Any) -> subprocess.Popen:
        with open(self._folder / f"{name}.log", "wb") as log:
            child = subprocess.Popen([*WITH_US, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        self._children.append(child)
        return child

    # Its parts

    def _sql(self, *arguments: str, **more: Any) -> int:
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self._socket}", "--user=root", *arguments], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False, **more).returncode

    def _start_database(self) -> None:
        data = self._folder / "database"
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db", "--auth-root-authentication-method=normal"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        self._spawn("database", "mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={self._socket}", "--bind-address=127.0.0.1",
                    "--port=3306", "--character-set-server=utf8mb3", "--collation-server=utf8mb3_general_ci", "--innodb-flush-log-at-trx-commit=0",
                    "--max-allowed-packet=64M")
        wait_for(lambda: self._sql("-e", "select 1") == 0, "MariaDB to answer", 60)
        assert self._sql("-e", "create database cattle; create user cattle@'127.0.0.1' identified by 'cattle'; grant all on cattle.* to cattle@'127.0.0.1';"
                         "create user cattle@localhost identified by 'cattle'; grant all on cattle.* to cattle@localhost;") == 0
        with open(self._built / "database.sql", "rb") as dump:
            assert self._sql("cattle", stdin=dump) == 0

    def _start_server(self) -> None:
        application = self._built / "server"
        properties = {"cattle.http.port": PORT, "db.cattle.database": "mysql", "db.cattle.host": "127.0.0.1", "db.cattle.username": "cattle",
                      "db.cattle.password": "cattle", "cattle.home": f"{self._folder}/home/", "logback.log.dir": f"{self._folder}/logs/",
                      "config.item.dynamic": "false", "cattle.cluster.enabled": "false", "java.net.preferIPv4Stack": "true"}
        classes = ":".join(f"{application}{place}" for place in ("", "/WEB-INF/classes", "/WEB-INF/jetty/*", "/WEB-INF/lib/*"))
        server = self._spawn("server", "java", "-Xmx1500m", *(f"--add-opens={name}=ALL-UNNAMED" for name in OPENED),
                             *(f"-D{name}={value}" for name, value in properties.items()), "-cp", classes, "io.cattle.platform.launcher.jetty.Main", cwd=application)
        wait_for(lambda: server.poll() is not None or self._answers(), "Rancher to answer", 300, 0.5)
        assert server.poll() is None, f"Rancher has ended: {(self._folder / 'server.log').read_text()[-2000:]}"

    @staticmethod
    def _answers() -> bool:
        try:
            return bool(Api().ask("GET", ""))
        except (OSError, ValueError):
            return False

    # What an administrator does once

    def _prepare(self) -> None:
        """Keys first, for they can be had only while access control is off."""
        anyone = Api()
        highest, = anyone.rows("/accounts", name="superadmin")
        if highest["state"] == "inactive":
            anyone.settled(anyone.make(f"/accounts/{highest['id']}/", {}, action="activate"))
        public, secret = SUPERKEY.split(":")
        anyone.make("/apikeys", {"accountId": highest["id"], "publicValue": public, "secretValue": secret}, _role="superadmin")
        self._root = Api(SUPERKEY)
        account, = self._root.rows("/accounts", kind="project", name="Default")
        self.project = account["id"]
        self._root.ask("PUT", f"/accounts/{self.project}", {"orchestration": "kubernetes"})
        self.api = Api(SUPERKEY, f"{ROOT}/projects/{self.project}")
        self._make_network()
        self._close_to_strangers()
        for number in range(1, self._hosts + 1):
            self._add_host(number)
        self.key = self._key_of(self._container("environment"))
        self.outside_key = self._key_of(self._container("environmentAdmin"))
        self.system_key = self._key_of(self._system_container())
        self._agent_key = self._key_of(self._container("agent"))

    def _close_to_strangers(self) -> None:
        admin, = self._root.rows("/accounts", kind="admin", uuid="admin")
        key = self._root.make("/apikeys", {"accountId": admin["id"]})
        self._root.settled(key)
        boss = Api(f"{key['publicValue']}:{key['secretValue']}")
        boss.make("/localauthconfigs", {"enabled": True, "username": "admin", "password": "admin", "name": "admin"})
        wait_for(lambda: not self._lets_anyone_in(), "access control", 60)

    @staticmethod
    def _lets_anyone_in() -> bool:
        try:
            return bool(Api().rows("/projects"))
        except urllib.error.HTTPError:
            return False

    def _make_network(self) -> None:
        """That of the project, without which no container starts."""
        name = "simulated"
        stack = self.api.settled(self.api.make("/stacks", {"name": name, "system": True}))
        service = self.api.make("/networkDriverServices", {
            "name": name, "startOnCreate": True, "stackId": stack["id"], "selectorContainer": "none",
            "networkDriver": {"name": name, "cniConf": {}, "defaultNetwork": {
                "subnets": [{"networkAddress": "10.42.0.0/16"}], "dns": ["169.254.169.250"], "dnsSearch": ["rancher.internal"]}}})
        self.api.settled(service)
        wait_for(lambda: [row for row in self.api.rows("/networkDrivers", serviceId=service["id"]) if row["state"] == "active"], "the network", 60, 0.25)

    def _add_host(self, number: int) -> None:
        """One that the simulator plays, with the address 192.0.2.NUMBER."""
        address, key = f"192.0.2.{number}", f"host-{number}-{time.time_ns()}"
        token = self.api.settled(self.api.make("/registrationTokens", {"accountId": self.project}))
        self._root.make("/registers", {"key": key, "accountId": self.project, "agentUriFormat": "sim://%s"})
        joining = Api(f"registrationToken:{token['token']}")
        register = wait_for(lambda: next((row for row in joining.rows("/registers", key=key) if row.get("accessKey")), None), "the host's key", 60, 0.25)
        agent, = Api(f"{register['accessKey']}:{register['secretKey']}").rows("/agents")
        self._root.ask("PUT", f"/agents/{agent['id']}", {"uri": f"sim://{key}", "data": {ADDRESSES: {"ipAddress": address}}})
        ping, = self._root.rows("/tasks", name="agent.ping")
        wait_for(lambda: self._is_host_up(agent["id"], address, ping["id"]), f"host {number}", 90, 1)

    def _is_host_up(self, agent: str, address: str, ping: str) -> bool:
        rows = self._root.rows("/hosts", agentId=agent)
        if rows and rows[0]["state"] == "active" and rows[0]["agentIpAddress"] == address:
            return True
        self._root.make(f"/tasks/{ping}/", {}, action="execute")
        return False

    # Keys as programs have them that Rancher runs

    @staticmethod
    def _labels(role: str) -> Row:
        return {"io.rancher.container.create_agent": "true", "io.rancher.container.agent.role": role}

    def _container(self, role: str) -> Row:
        return self.api.settled(self.api.make("/containers", {"imageUuid": "sim:agent", "name": f"agent-{role}", "labels": self._labels(role)}))

    def _system_container(self) -> Row:
        """As the Go original is deployed."""
        stack = self.api.settled(self.api.make("/stacks", {"name": "kubernetes", "system": True, "externalId": "catalog://library:infra*k8s:63"}))
        service = self.api.settled(self.api.make("/services", {
            "name": "controller", "stackId": stack["id"], "startOnCreate": True, "scale": 1,
            "launchConfig": {"imageUuid": "sim:agent", "labels": self._labels("environmentAdmin")}}))
        return self.api.rows(f"/services/{service['id']}/instances")[0]

    def _key_of(self, container: Row) -> str:
        agent = self._root.ask("GET", self._root.ask("GET", f"/containers/{container['id']}")["links"]["agent"])
        key, = self._root.rows("/credentials", accountId=agent["accountId"], kind="agentApiKey")
        return f"{key['publicValue']}:{key['secretValue']}"

    # For tests

    def add_service(self, name: str, uid: str, namespace: str = "default") -> None:
        """Tells of a Kubernetes Service, as kubernetes-agent does, and waits until the server has made its rows of it."""
        template = {"metadata": {"name": name, "namespace": namespace, "uid": uid}}
        Api(self._agent_key).make("/externalServiceEvents", {
            "eventType": "service.create", "externalId": uid, "environment": {"name": namespace, "externalId": f"kubernetes://{namespace}"},
            "service": {"kind": "kubernetesService", "name": name, "externalId": uid, "vip": "10.43.0.7",
                        "selectorContainer": f"app={name},io.kubernetes.pod.namespace={namespace}", "data": {"fields": {"template": template}}}})
        wait_for(lambda: [row for row in self.api.rows("/kubernetesservices", externalId=uid) if row["state"] == "active"], f"Service {name}", 60, 0.25)

    def balancers(self) -> dict[str, Row]:
        """By name, but for those that are removed."""
        return {row["name"]: row for row in self.api.rows("/loadbalancerservices") if row["state"] not in ("removed", "purged")}

    def certificates(self) -> dict[str, Row]:
        return {row["name"]: row for row in self.api.rows("/certificates") if row["state"] not in ("removed", "purged")}
