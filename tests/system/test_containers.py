# SPDX-License-Identifier: Apache-2.0
"""The line as a pod: each process in a container of its own, which is killed, hung and restarted without the others."""
from __future__ import annotations

import json
import pathlib
import re
import signal
import urllib.parse
from typing import Callable

import pytest
from lib.admin import look
from lib.cluster import Cluster
from lib.wait import wait_for
from standins.kube.client import KubeStandin
from standins.rancher.client import RancherStandin

from . import attack
from .machine import podman
from .manifests import rendered, rights, rules
from .pod import CONTAINERS, GROUP, LINE, Pod
from .test_systemd import self_contained

FIRST = "default-rancherlb-first"


class PodLine:
    """With `attack`, the program of one container is replaced by an attacker that tries `attack(line)`."""

    def __init__(self, victim: str = "", attack: Callable[["PodLine"], set[str]] = lambda line: set()) -> None:
        self.kube = KubeStandin("1.34").start()
        self.kube.rules(rules(rendered("rancher")))
        self.rancher = RancherStandin(kubeconfig=self.kube.kubeconfig, agent_interval=0.1, hosts=3)
        self.cluster = Cluster(str(self.kube.kubeconfig))
        self.pod = Pod({"watcher": {"kubeconfig": self_contained(pathlib.Path(self.kube.controller_kubeconfig))},
                        "provider": {"access-key": self.rancher.access_key, "secret-key": self.rancher.secret_key}},
                       # Without streaming lists, so that every right is used.
                       {"watcher": {"SLUICE_STREAMING_LISTS": "false"},
                        "provider": {"CATTLE_URL": self.rancher.url, "SLUICE_RANCHER_POLL_INTERVAL": "0.5"}},
                       {victim: sorted(attack(self))} if victim else None)

    def __enter__(self) -> "PodLine":
        try:
            self.pod.__enter__()
        except BaseException:
            self._stop_standins()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.pod.__exit__()
        self._stop_standins()

    def _stop_standins(self) -> None:
        self.rancher.stop()
        self.kube.stop()

    def wait_address(self, ingress: str) -> None:
        try:
            self.cluster.wait_addresses(ingress, timeout=120)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.pod.logs()}") from error

    def serves_another(self, name: str) -> None:
        """A new Ingress gets a load balancer, and the first one still has its own."""
        self.cluster.apply(self.cluster.ingress(name, [{"host": f"{name}.example.com", "paths": [("/", "Prefix", "web", 80)]}]))
        self.wait_address(name)
        self.cluster.delete("ingress", name)
        wait_for(lambda: self.rancher.balancer(f"default-rancherlb-{name}") is None, f"the load balancer of {name} to be gone", 120)
        assert self.rancher.balancer(FIRST)["state"] == "active"


@pytest.fixture(scope="module", name="line")
def running_line():
    with PodLine() as line:
        line.cluster.apply(line.cluster.service("web"), line.cluster.ingress(
            "first", [{"host": "foo.bar.com", "paths": [("/", "Prefix", "web", 80)]}]))
        line.wait_address("first")
        yield line


def test_an_ingress_gets_a_load_balancer(line):
    assert line.rancher.balancer(FIRST)["state"] == "active"


@pytest.mark.parametrize("container, user", CONTAINERS.items())
def test_a_container_has_no_rights(line, container, user):
    pid = line.pod.pid(container)
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    fields = {name: value.split() for name, value in (row.split(":", 1) for row in status.splitlines())}
    assert set(fields["Uid"]) == {str(user)} and set(fields["Gid"]) == {str(GROUP)}
    assert {name: int(fields[name][0], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == dict.fromkeys(
        ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0)
    assert fields["NoNewPrivs"] == ["1"] and fields["Seccomp"] == ["2"]
    mounts = [row.split() for row in pathlib.Path(f"/proc/{pid}/mounts").read_text(encoding="utf-8").splitlines()]
    assert [row[3].split(",")[0] for row in mounts if row[1] == "/"] == ["ro"]
    # Only the translator makes sockets there; nobody else can replace one.
    assert [row[3].split(",")[0] for row in mounts if row[1] == "/run/sluice"] == {"translator": ["rw"], "metrics": []}.get(container, ["ro"])
    assert [row[3].split(",")[0] for row in mounts if row[1] == "/run/sluice-admin"] == ["ro" if container == "metrics" else "rw"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_podman_limits_a_container(line, container):
    host = line.pod.inspect(container)["HostConfig"]
    assert host["ReadonlyRootfs"] is True and host["Privileged"] is False
    assert 0 < host["Memory"] <= 128 << 20 and host["NanoCpus"] + host["CpuQuota"] > 0
    assert host["RestartPolicy"]["Name"] == "always"


def test_credentials_are_where_they_are_needed(line):
    for container in CONTAINERS:
        found = line.pod.run(container, "ls", "/etc/sluice").stdout.split()
        assert found == {"watcher": ["kubeconfig"], "provider": ["access-key", "secret-key"]}.get(container, [])
        assert line.rancher.secret_key not in str(line.pod.inspect(container))
        assert line.rancher.secret_key not in line.pod.log(container)


def test_the_translators_admin_server_has_a_port_of_another_container(line):
    """While the translator does not answer, the port does, with 503."""
    assert look(10242, "/healthz").status == 200
    assert "sluice_translator_records" in look(10242, "/metrics").text
    assert look(10242, "/objects/secret").status == 404
    before = line.pod.lives()["translator"]
    line.pod.signal("translator", signal.SIGSTOP)
    try:
        assert look(10242, "/healthz").status == 503
    finally:
        line.pod.signal("translator", signal.SIGCONT)
    wait_for(lambda: look(10242, "/readyz").status == 200, "the translator to be ready again")
    assert line.pod.lives()["translator"] == before


def test_the_sockets_are_for_the_line_alone(line):
    shown = line.pod.run("translator", "stat", "--format=%n %a %u %g", "/run/sluice/source.sock", "/run/sluice/provider.sock").stdout
    assert shown.splitlines() == [f"/run/sluice/{name}.sock 660 {CONTAINERS['translator']} {GROUP}" for name in ("source", "provider")]


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_killed_container_comes_back_alone(line, container):
    before, balancer = line.pod.lives(), line.rancher.balancer(FIRST)["uuid"]
    line.pod.signal(container, signal.SIGKILL)
    line.pod.wait_restart(container, before[container])
    after = line.pod.lives()
    assert {other for other in CONTAINERS if before[other] != after[other]} == {container}
    line.serves_another(f"after-kill-{container}")
    assert line.rancher.balancer(FIRST)["uuid"] == balancer


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_hung_container_is_found_and_replaced_alone(line, container):
    for each in CONTAINERS:
        wait_for(lambda each=each: line.pod.probe(each), f"{each} to be found alive")
    before, balancer = line.pod.lives(), line.rancher.balancer(FIRST)["uuid"]
    line.pod.signal(container, signal.SIGSTOP)
    line.pod.wait_restart(container, before[container], lambda: line.pod.probe(container))
    after = line.pod.lives()
    assert {other for other in CONTAINERS if before[other] != after[other]} == {container}
    line.serves_another(f"after-hang-{container}")
    assert line.rancher.balancer(FIRST)["uuid"] == balancer


def _killed_for_memory() -> int:
    return int(re.search(r"^oom_kill (\d+)$", pathlib.Path("/proc/vmstat").read_text(encoding="utf-8"), re.M)[1])


@pytest.mark.parametrize("container", LINE)
def test_a_container_that_wants_too_much_memory_comes_back_alone(line, container):
    """It is killed while it has more work than memory; the work is done afterwards, and nothing is lost."""
    before, balancer, killed = line.pod.lives(), line.rancher.balancer(FIRST)["uuid"], _killed_for_memory()
    # As many as there are hosts whose port is still free.
    names = [f"memory-{container}-{number}" for number in range(2)]
    sizes = iter(range(1500, 6001, 1500))

    def is_done() -> bool:
        found = [line.rancher.balancer(f"default-rancherlb-{name}") for name in names]
        return all(balancer and len(balancer["lbConfig"]["portRules"]) >= size for balancer in found)

    def ingress(name: str, count: int) -> str:
        return json.dumps(line.cluster.ingress(name, [{"host": f"{name}-{number}.example.com", "paths": [("/", "Prefix", "web", 80)]}
                                                      for number in range(count)]))

    def ask_for_more(*command: str) -> int:
        """Not by `apply`, which copies the whole object into an annotation, too large for one; nor by `replace`, which conflicts with a status
        that is written meanwhile."""
        count = next(sizes)
        for name in names:
            line.cluster.kubectl(*(part.format(name) for part in command), text=ingress(name, count))
        return count

    def go_on() -> None:
        nonlocal size
        if is_done():
            size = ask_for_more("patch", "ingress", "{}", "--type=merge", "--patch-file=/dev/stdin")

    line.pod.let_no_memory_grow(container)
    try:
        size = ask_for_more("create", "-f", "-")
        line.pod.wait_restart(container, before[container], go_on)
        assert _killed_for_memory() > killed
        for name in names:
            line.wait_address(name)
        after = line.pod.lives()
        assert {other for other in CONTAINERS if before[other] != after[other]} == {container}
    finally:
        line.cluster.kubectl("delete", "ingress", "--wait=false", *names)
    wait_for(lambda: not [name for name in names if line.rancher.balancer(f"default-rancherlb-{name}")], "their load balancers to be gone", 120)
    line.serves_another(f"after-memory-{container}")
    assert line.rancher.balancer(FIRST)["uuid"] == balancer


CREDENTIALS = {"watcher": {"read=/etc/sluice/kubeconfig"}, "provider": {"read=/etc/sluice/access-key", "read=/etc/sluice/secret-key"}}
# Each socket lets in only the user of the program at its other end.
LINKS = {"connect=/run/sluice/source.sock", "connect=/run/sluice/provider.sock"}
LINK = {"watcher": "connect=/run/sluice/source.sock", "provider": "connect=/run/sluice/provider.sock"}
# The option that would let each in at the socket that is not its own.
STRANGER_TO = {"watcher": "--allow-provider-uid", "provider": "--allow-watcher-uid"}
ADMIN_SOCKETS = {name: f"ask=/run/sluice-admin/{file}.admin" for name, file in
           (("watcher", "watcher"), ("translator", "translator"), ("provider", "provider-rancher"))}
# What every container may. The containers of a pod share its network, but none sees the processes of another. podman's seccomp filter allows
# user namespaces, which that of Kubernetes does not; what is tried inside one must fail all the same.
EVERYBODY = {"read=/etc/hostname", "write=/run/sluice-admin", "write=/dev/shm", "root=namespace"}
RIGHTS = {f"root={how}" for how in ("setuid", "mount", "hostname", "module", "device")} | {"family=17"}
OTHERS = {"signal=-1", "see=2", "trace=2", "memory=2"}
FOLDERS = {f"write={folder}" for folder in ("/", "/etc", "/etc/sluice", "/usr/bin", "/tmp", "/var/tmp", "/run", "/root", "/proc/sys/kernel")}


def _may(line: PodLine, container: str) -> set[str]:
    ports = {f"tcp={urllib.parse.urlsplit(url).port}" for url in (line.kube.url, line.rancher.url)}
    may = EVERYBODY | ports | CREDENTIALS.get(container, set())
    if container == "metrics":
        # It looks into one admin server, and cannot replace the socket of any.
        return may - {"write=/run/sluice-admin"} | {ADMIN_SOCKETS["translator"]}
    if container == "translator":
        # sluicectl runs as its user, so that user may look into all admin servers.
        return may | {"write=/run/sluice", "listen=/run/sluice/attacker.sock"} | (set(ADMIN_SOCKETS.values()) - {ADMIN_SOCKETS[container]})
    return may | {LINK[container]}


def _all(line: PodLine, container: str) -> set[str]:
    attempts = set().union(*CREDENTIALS.values(), EVERYBODY, RIGHTS, OTHERS, FOLDERS)
    attempts |= {"write=/run/sluice", "listen=/run/sluice/attacker.sock", "read=/etc/shadow", "list=/root"}
    attempts |= {admin for name, admin in ADMIN_SOCKETS.items() if name != container}
    if container != "translator":
        attempts |= LINKS
    return attempts | _may(line, container)


@pytest.mark.parametrize("container", CONTAINERS)
def test_an_attacker_in_its_place_reaches_nothing_else(container):
    with PodLine(container, lambda line: _all(line, container)) as line:
        pod = line.pod
        wait_for(lambda: attack.is_over(pod.log(container)), f"the attacker to be done\n{pod.log(container)}")
        # It tries again in its next life, when all the others are there.
        for other in set(LINE) - {container}:
            wait_for(lambda other=other: "event=admin-listening" in pod.log(other), f"the admin server of {other}\n{pod.log(other)}")
        if container in LINK:
            other = "watcher" if container == "provider" else "provider"
            wait_for(lambda: "event=link-up" in pod.log(other), f"{other} to be connected\n{pod.log(other)}")
        before = pod.lives()
        first = pod.log(container)
        pod.signal(container, signal.SIGKILL)
        pod.wait_restart(container, before[container])
        said = wait_for(lambda: attack.of_last_life(first, pod.log(container)), "the attacker to be done again")
        may = _may(line, container)
        attack.check(said, may, _all(line, container) - may)
        if container in LINK:
            assert attack.refused_users(pod.log("translator")) == {STRANGER_TO[container]}


def test_the_rights_in_the_manifests_are_those_that_are_used(line):
    """The other tests use most of them; the rest is used here."""
    service = line.cluster.service("db", 5432)
    service["spec"] |= {"type": "LoadBalancer", "loadBalancerClass": "sluice.io/load-balancer", "allocateLoadBalancerNodePorts": False}
    line.cluster.apply(service)
    wait_for(lambda: ((line.cluster.get("service", "db") or {}).get("status", {}).get("loadBalancer", {}).get("ingress")),
             "an address of the Service", 120)
    line.cluster.kubectl("delete", "service", "db", "--wait=false")
    wait_for(lambda: line.cluster.get("service", "db") is None, "the Service to be gone", 120)
    line.cluster.apply(line.cluster.ingress("lost", [{"host": "lost.example.com", "paths": [("/", "Prefix", "nowhere", 80)]}]))
    wait_for(lambda: line.cluster.events("lost"), "an Event", 120)
    asked = [entry for entry in line.kube.requests(identity="controller") if entry["resource"]]
    assert not [entry for entry in asked if entry["status"] == 403]
    used = {(entry["group"], "/".join(filter(None, (entry["resource"], entry["subresource"]))), entry["verb"]) for entry in asked}
    # Everybody may ask what they are allowed to do.
    used = {right for right in used if right[0] != "authorization.k8s.io"}
    # Only a repeated Event is patched.
    assert used | {("", "events", "patch")} == rights(rendered("rancher"))


def test_taking_the_pod_down_leaves_the_load_balancers(line):
    """Must be the last test: it removes the pod."""
    balancer = line.rancher.balancer(FIRST)["uuid"]
    line.pod.down()
    assert not podman("ps", "--all", "--quiet", "--filter", f"name={line.pod.name}-").split()
    assert line.pod.volume not in podman("volume", "ls", "--format", "{{.Name}}").split()
    assert line.rancher.balancer(FIRST)["uuid"] == balancer
