# SPDX-License-Identifier: Apache-2.0
"""docker/compose: the line as Compose starts it; its services are killed while a client keeps sending requests.

podman-compose runs the file, and `docker-compose config` says whether Docker's own Compose accepts it. Without systemd podman runs no health
checks, so the tests run them; Docker restarts nothing because of them.
"""
from __future__ import annotations

import json
import pathlib
import re
import signal
import subprocess

import pytest
import yaml
from lib.admin import look
from lib.backend import Backend
from lib.cluster import Cluster
from lib.traffic import Traffic
from lib.wait import wait_for
from standins.kube.client import KubeStandin
from standins.rancher.client import RancherStandin

from .compose import FOLDER, Compose, filled, names
from .machine import podman
from .manifests import rendered, rules
from .options import environment_names
from .pod import CONTAINERS, GROUP
from .test_containers import FIRST, PodLine
# These tests run on the containers of Compose, too.
from .test_containers import test_a_container_has_no_rights, test_podman_limits_a_container  # noqa: F401 pylint: disable=unused-import
from .test_containers import test_the_sockets_are_for_the_line_alone  # noqa: F401 pylint: disable=unused-import

HOST = "foo.bar.com"


class ComposeLine(PodLine):
    def __init__(self) -> None:
        # pylint: disable=super-init-not-called
        self.kube = KubeStandin("1.21").start()
        self.kube.rules(rules(rendered("rancher")))
        self.rancher = RancherStandin(kubeconfig=self.kube.kubeconfig, agent_interval=0.1, hosts=3)
        self.cluster = Cluster(str(self.kube.kubeconfig))
        self.pod = Compose({"KUBERNETES_URL": self.kube.url, "CATTLE_URL": self.rancher.url, "CATTLE_ACCESS_KEY": self.rancher.access_key,
                            "CATTLE_SECRET_KEY": self.rancher.secret_key},
                           {"token": self.kube.token_file.read_text(encoding="utf-8"),
                            "ca.pem": self.kube.ca_file.read_text(encoding="utf-8")})


@pytest.fixture(scope="module", name="line")
def running_line():
    backend = Backend("web-0")
    with ComposeLine() as line:
        line.cluster.apply(line.cluster.service("web"), line.cluster.slice("web", [backend.ip]),
                           line.cluster.ingress("first", [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}]))
        line.wait_address("first")
        yield line
    backend.stop()


def test_only_the_watcher_has_the_token_and_only_the_provider_the_keys(line):
    token = line.kube.token_file.read_text(encoding="utf-8").strip()
    for container in CONTAINERS:
        assert line.pod.run(container, "ls", "/etc/sluice").stdout.split() == (["ca.pem", "token"] if container == "watcher" else [])
        known = str(line.pod.inspect(container)) + line.pod.log(container)
        assert (line.rancher.secret_key in known) == (container == "provider")
        assert token not in known
    assert line.rancher.secret_key not in line.pod.log("provider")


def test_the_admin_servers_are_where_they_may_be_asked(line):
    shown = line.pod.run("translator", "stat", "--format=%a %u %g", "/run/sluice-admin").stdout.strip()
    assert shown == f"1770 0 {GROUP}"
    found = line.pod.run("translator", "ls", "/run/sluice-admin").stdout.split()
    assert found == ["provider-rancher.admin", "translator.admin", "watcher.admin"]


def test_the_translators_admin_server_has_a_port_of_another_container(line):
    assert look(10242, "/healthz").status == 200 and "sluice_translator_records" in look(10242, "/metrics").text
    assert look(10242, "/about").status == 404


@pytest.mark.parametrize("container", CONTAINERS)
def test_docker_would_see_it_alive(line, container):
    check = line.pod.inspect(container)["Config"]["Healthcheck"]
    assert check["Test"][-1] == "/bin/sh -c /usr/bin/sluice-alive" and check["Retries"] == 2
    wait_for(lambda: line.pod.probe(container), f"{container} to be found alive")


def test_docker_would_see_it_hung(line):
    line.pod.signal("watcher", signal.SIGSTOP)
    try:
        assert not line.pod.probe("watcher")
    finally:
        line.pod.signal("watcher", signal.SIGCONT)
    wait_for(lambda: line.pod.probe("watcher"), "the watcher to be found alive")


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_killed_container_comes_back_alone_and_no_request_is_lost(line, container):
    before, balancer = line.pod.lives(), line.rancher.balancer(FIRST)["uuid"]
    address, port = wait_for(lambda: line.rancher.traffic_addresses(FIRST), "the load balancer to listen")[0]
    with Traffic(address, port, HOST) as traffic:
        line.pod.signal(container, signal.SIGKILL)
        line.pod.wait_restart(container, before[container])
        line.serves_another(f"after-kill-{container}")
    assert traffic.good > 0 and not traffic.failures
    after = line.pod.lives()
    assert {other for other in CONTAINERS if before[other] != after[other]} == {container}
    assert line.rancher.balancer(FIRST)["uuid"] == balancer


def test_down_leaves_the_load_balancers(line):
    """Must be the last test with the containers: it removes them."""
    balancer, addresses = line.rancher.balancer(FIRST)["uuid"], line.cluster.addresses("first")
    address, port = line.rancher.traffic_addresses(FIRST)[0]
    with Traffic(address, port, HOST) as traffic:
        line.pod.down()
        assert not podman("ps", "--all", "--quiet", "--filter", f"name={line.pod.name}_").split()
        assert line.pod.volume not in podman("volume", "ls", "--format", "{{.Name}}").split()
        so_far = traffic.good
        wait_for(lambda: traffic.good > so_far + 10, "more requests")
    assert not traffic.failures
    assert line.rancher.balancer(FIRST)["uuid"] == balancer
    assert line.cluster.addresses("first") == addresses


# ---- the file, without containers ----


def config(folder: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run(["docker-compose", "--file", str(FOLDER / "compose.yaml"), "--env-file", str(folder / "env"), "config"],
                          capture_output=True, text=True, timeout=60, check=False)


def test_docker_compose_reads_it(tmp_path):
    """Version 1.29 checks the file against the schema of the version that it names; podman-compose checks nothing."""
    (tmp_path / "env").write_text(filled({"CATTLE_ACCESS_KEY": "access", "CATTLE_SECRET_KEY": "secret"}), encoding="utf-8")
    done = config(tmp_path)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert services.keys() == CONTAINERS.keys()
    for name, service in services.items():
        assert service["user"] == f"{CONTAINERS[name]}:{GROUP}"
        assert service["healthcheck"]["test"] == ["CMD", "/usr/bin/sluice-alive"]
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"]
        assert service["restart"] == "always" and "privileged" not in service and "ports" not in service
    assert "secret" not in json.dumps({name: services[name] for name in ("translator", "watcher", "metrics")})


def test_what_has_to_be_filled_in_is_asked_for(tmp_path):
    (tmp_path / "env").write_text(filled({}), encoding="utf-8")
    done = config(tmp_path)
    assert done.returncode != 0 and "is missing, see .env.example" in done.stderr


def test_each_name_is_an_option_or_composes_own():
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    example = names((FOLDER / ".env.example").read_text(encoding="utf-8"))
    assert sorted(example) == sorted(set(re.findall(r"\$\{([A-Z_]+)", text)))
    options = environment_names()
    assert set(example) - options == {"KUBERNETES_CREDENTIALS", "SLUICE_IMAGES", "SLUICE_TAG"}
    for service in yaml.safe_load(text)["services"].values():
        assert set(service["environment"]) <= options


def test_the_names_of_the_go_original_are_there():
    of_the_original = {"KUBERNETES_URL", "CATTLE_URL", "CATTLE_ACCESS_KEY", "CATTLE_SECRET_KEY", "RANCHER_LB_SEPARATOR",
                       "RANCHER_CLIENT_TIMEOUT"}
    assert of_the_original <= set(names((FOLDER / ".env.example").read_text(encoding="utf-8")))
