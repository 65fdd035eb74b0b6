# SPDX-License-Identifier: Apache-2.0
"""The line as a pod: each process in a container of its own, killed, hung and restarted alone."""
from __future__ import annotations

import pathlib
import signal

import pytest
from lib.cluster import Cluster
from lib.wait import wait_for
from standins.kube.client import LOOPBACK_PODS, KubeStandin
from standins.rancher.client import RancherStandin

from .machine import podman
from .manifests import rendered, rights, rules
from .pod import CONTAINERS, GROUP, Pod
from .test_systemd import self_contained

FIRST = "default-rancherlb-first"


class PodLine:
    def __init__(self) -> None:
        self.kube = KubeStandin("1.34", *LOOPBACK_PODS).start()
        self.kube.rules(rules(rendered("rancher")))
        self.rancher = RancherStandin(kubeconfig=self.kube.kubeconfig, agent_interval=0.1, hosts=3)
        self.cluster = Cluster(str(self.kube.kubeconfig))
        self.pod = Pod({"watcher": {"kubeconfig": self_contained(pathlib.Path(self.kube.controller_kubeconfig))},
                        "provider": {"access-key": self.rancher.access_key, "secret-key": self.rancher.secret_key}},
                       # Without streaming lists, so that every right is used.
                       {"watcher": {"SLUICE_STREAMING_LISTS": "false"},
                        "provider": {"CATTLE_URL": self.rancher.url, "SLUICE_RANCHER_POLL_INTERVAL": "0.5"}})

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
        """Something new is done, and nothing old was lost."""
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
    # Only the translator makes sockets; nobody else can put one in the place of its.
    assert [row[3].split(",")[0] for row in mounts if row[1] == "/run/sluice"] == ["rw" if container == "translator" else "ro"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_podman_limits_a_container(line, container):
    host = line.pod.inspect(container)["HostConfig"]
    assert host["ReadonlyRootfs"] is True and host["Privileged"] is False
    assert 0 < host["Memory"] <= 128 << 20 and host["NanoCpus"] + host["CpuQuota"] > 0
    assert host["RestartPolicy"]["Name"] == "always"


def test_credentials_are_where_they_are_needed(line):
    for container in CONTAINERS:
        found = line.pod.run(container, "ls", "/etc/sluice").stdout.split()
        assert found == {"translator": [], "watcher": ["kubeconfig"], "provider": ["access-key", "secret-key"]}[container]
        assert line.rancher.secret_key not in str(line.pod.inspect(container))
        assert line.rancher.secret_key not in line.pod.log(container)


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


def test_the_rights_in_the_manifests_are_those_that_are_used(line):
    """The line runs with them all the time; here is done what needs the rest of them."""
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
    # An Event is patched when it is repeated.
    assert used | {("", "events", "patch")} == rights(rendered("rancher"))


def test_taking_the_pod_down_leaves_the_load_balancers(line):
    """The last test: the pod is gone afterwards."""
    balancer = line.rancher.balancer(FIRST)["uuid"]
    line.pod.down()
    assert not podman("ps", "--all", "--quiet", "--filter", f"name={line.pod.name}-").split()
    assert line.pod.volume not in podman("volume", "ls", "--format", "{{.Name}}").split()
    assert line.rancher.balancer(FIRST)["uuid"] == balancer
