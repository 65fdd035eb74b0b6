# SPDX-License-Identifier: Apache-2.0
"""docker/catalog: Rancher 1.6 could deploy it, and its containers make up the line.

There is no Rancher server: the template is checked against the other files, and podman runs its containers with the same options,
environments and volumes. The tests do what Rancher does because of labels: they give agents their keys, and ask admin servers as health
checks do.
"""
from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import pathlib
import re
import secrets
import signal
import subprocess

import pytest
import yaml
from lib.backend import Backend
from lib.cluster import Cluster
from lib.traffic import Traffic, answers, request
from lib.wait import wait_for
from standins.kube.client import KubeStandin
from standins.rancher.client import RancherStandin

from .catalog import AGENT, ENTRY, ONCE, ROLE, SIDEKICKS, TEMPLATE, VARIABLE, Stack, questions, rancher_compose, security_words, services, text_of
from .certificates import Certificates
from .machine import podman
from .manifests import rendered, rules
from .options import environment_names
from .pod import CONTAINERS, GROUP, ROOT
from .test_containers import FIRST, PodLine

HOST = "foo.bar.com"
KUBERNETES_FILES = "/etc/kubernetes/ssl"
CHECKS = {name: service["health_check"] for name, service in rancher_compose()["services"].items() if "health_check" in service}
# The container whose health check tells about each: the translator's admin server is shown by another one.
ASKED = {"translator": "metrics", "watcher": "watcher", "provider": "provider", "metrics": "metrics"}
# Variables that the template shares with the Go original's; the CATTLE_ ones come from Rancher.
OF_THE_ORIGINAL = {"KUBERNETES_URL", "RANCHER_LB_SEPARATOR", "RANCHER_METADATA_ADDRESS", "RANCHER_CLIENT_TIMEOUT"}


# ---- the files ----


def test_the_entry_is_whole():
    entry = yaml.safe_load((ENTRY / "config.yml").read_text(encoding="utf-8"))
    catalog = rancher_compose()["catalog"]
    # Rancher offers the version of the entry first, so there must be a template of that version.
    assert entry["version"] == catalog["version"] and entry["name"] == catalog["name"]
    assert list(ENTRY.glob("catalogIcon-sluice.*")) and (TEMPLATE / "README.md").is_file()
    assert catalog["minimum_rancher_version"].startswith("v1.6.")
    assert [yaml.safe_load(text_of(name))["version"] for name in ("docker-compose.yml", "rancher-compose.yml")] == ["2", "2"]


def test_every_question_is_used_and_every_variable_asked_for():
    asked = [question["variable"] for question in questions()]
    assert sorted(asked) == sorted(set(VARIABLE.findall(text_of("docker-compose.yml"))))
    assert not VARIABLE.findall(text_of("rancher-compose.yml"))
    # Rancher replaces what it does not understand, such as a default, by nothing.
    assert text_of("docker-compose.yml").count("$") == len(VARIABLE.findall(text_of("docker-compose.yml")))


def test_questions_are_answerable():
    for question in questions():
        assert {"variable", "label", "type", "required", "default"} <= question.keys()
        assert question["type"] in ("string", "int", "boolean", "enum", "password", "service", "multiline", "certificate")
        assert ("options" in question) == (question["type"] == "enum")
        assert question["type"] != "enum" or question["default"] in question["options"]
    levels = next(question["options"] for question in questions() if question["variable"] == "SLUICE_LOG_LEVEL")
    assert f'"{"|".join(levels)}"' in (ROOT / "common/common_options.def").read_text(encoding="utf-8")


def test_images_are_built_by_the_dockerfile():
    targets = set(re.findall(r"^FROM \S+ AS (\S+)$", (ROOT / "docker/Dockerfile").read_text(encoding="utf-8"), re.MULTILINE))
    for service in services({"SLUICE_IMAGES": "there/sluice", "SLUICE_TAG": "v1"}).values():
        image, tag = service["image"].split(":")
        assert image.removeprefix("there/sluice-") in targets and tag == "v1"


def test_environments_are_our_options_or_the_originals():
    used = {name for service in services().values() for name in service["environment"]}
    assert OF_THE_ORIGINAL <= used
    assert used - environment_names() == {"RANCHER_METADATA_ADDRESS"}
    assert "${RANCHER_METADATA_ADDRESS:-" in (ROOT / "docker/kubernetes-access").read_text(encoding="utf-8")


def test_sidekicks_and_volumes_name_services():
    all_of = services()
    labels = {name: service.get("labels", {}) for name, service in all_of.items()}
    primaries = {name: those[SIDEKICKS].split(",") for name, those in labels.items() if SIDEKICKS in those}
    assert list(primaries) == ["translator"]
    assert sorted(["translator", *primaries["translator"]]) == sorted(all_of)
    for name, service in all_of.items():
        assert set(service.get("volumes_from", [])) <= all_of.keys() - {name}
    # Rancher starts the owners of volumes first, so they must not form a circle.
    assert not [name for name in ("translator", "access") if "volumes_from" in all_of[name]]
    assert [name for name, service in all_of.items() if "access" in service.get("volumes_from", [])] == ["watcher"]


def test_health_checks_ask_the_admin_server():
    all_of = services()
    assert CHECKS.keys() == CONTAINERS.keys() - {"translator"}
    ports = {name: check["port"] for name, check in CHECKS.items()}
    assert ports == {"watcher": 10241, "metrics": 10242, "provider": 10243}
    assert all_of["metrics"]["command"] == ["serve", "translator", "--listen", f"0.0.0.0:{CHECKS['metrics']['port']}"]
    assert all_of["metrics"]["user"].split(":")[0] == all_of["translator"]["environment"]["SLUICE_ADMIN_ALLOW_UID"]
    for name, check in CHECKS.items():
        assert name == "metrics" or all_of[name]["environment"]["SLUICE_ADMIN_ADDRESS"] == f"0.0.0.0:{check['port']}"
        assert check["request_line"] == "GET /healthz HTTP/1.0" and check["strategy"] == "recreate"


def test_only_those_who_ask_rancher_are_agents():
    roles = {name: service["labels"][ROLE] for name, service in services().items() if service.get("labels", {}).get(AGENT)}
    assert roles == {"provider": "environment", "access": "environmentAdmin"}


def test_docker_compose_reads_it(tmp_path):
    """It has the schema of version 2: what only Rancher understands is in labels and in the other file."""
    answers = {question["variable"]: question["default"] for question in questions()}
    (tmp_path / "env").write_text("".join(f"{name}={value}\n" for name, value in answers.items()), encoding="utf-8")
    done = subprocess.run(
        ["docker-compose", "--file", str(TEMPLATE / "docker-compose.yml"), "--env-file", str(tmp_path / "env"), "config"],
        capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["services"].keys() == services().keys()


# ---- the containers ----


class StackLine(PodLine):
    def __init__(self) -> None:
        # pylint: disable=super-init-not-called
        self.backend = Backend("web-0")
        key = secrets.token_hex(100).encode() + b"\n"
        self.token = hashlib.sha256(key).hexdigest()
        self.kube = KubeStandin("1.21", "--token", self.token).start()
        self.kube.rules(rules(rendered("rancher")))
        self.rancher = RancherStandin(kubeconfig=self.kube.kubeconfig, agent_interval=0.1, hosts=3)
        self.cluster = Cluster(str(self.kube.kubeconfig))
        self.admin = {"CATTLE_ACCESS_KEY": "administrators-access", "CATTLE_SECRET_KEY": "administrators-secret"}
        self.certificates = Certificates(*self.admin.values(), self.kube.ca_file.read_text(encoding="utf-8"), key)
        self.pod = Stack(
            {"SLUICE_IMAGES": "localhost/sluice", "SLUICE_TAG": os.environ["SLUICE_IMAGE_TAG"], "KUBERNETES_URL": self.kube.url,
             "RANCHER_METADATA_ADDRESS": self.certificates.address},
            {"environment": {"CATTLE_URL": self.rancher.url, "CATTLE_ACCESS_KEY": self.rancher.access_key,
                             "CATTLE_SECRET_KEY": self.rancher.secret_key},
             "environmentAdmin": {"CATTLE_URL": self.certificates.url, **self.admin}})
        self.left = self._leave_as_the_original()
        self.traffic = Traffic(*wait_for(lambda: self.rancher.traffic_addresses(FIRST), "the load balancer to listen")[0], HOST)
        wait_for(lambda: answers(*self.traffic.target[:3]), "the load balancer to serve")

    def _leave_as_the_original(self) -> dict:
        """An Ingress and its load balancer, as the Go original leaves them: it takes the addresses out of the Ingress when it ends."""
        self.cluster.apply(self.cluster.service("web"), self.cluster.slice("web", [self.backend.ip]),
                           self.cluster.ingress("first", [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}]))
        uid = self.cluster.get("service", "web")["metadata"]["uid"]
        wait_for(lambda: uid in str(self.rancher.rows("kubernetesService")), "Rancher to know the Service")
        self.rancher.control("seed-balancers", items=[{"name": "first", "hostname": HOST, "path": "/", "uid": uid}])
        return self.rancher.balancer(FIRST)

    def _stop_standins(self) -> None:
        super()._stop_standins()
        self.certificates.stop()
        self.backend.stop()


@pytest.fixture(scope="module", name="line")
def running_line():
    line = StackLine()
    with line.traffic, line:
        line.wait_address("first")
        yield line


def test_the_originals_load_balancer_is_taken_over_in_place(line):
    """A client sends requests from before the start."""
    wait_for(lambda: line.rancher.balancer(FIRST).get("description"), "the load balancer to be marked as ours")
    taken = line.rancher.balancer(FIRST)
    assert not line.left.get("description")
    for name in ("uuid", "externalId", "launchConfig"):
        assert taken[name] == line.left[name]
    assert line.traffic.good > 0 and not line.traffic.failures


def test_the_access_is_made_once(line):
    state = line.pod.inspect("access")["State"]
    assert (state["Status"], state["ExitCode"]) == ("exited", 0)
    # Rancher refused the first requests, so the watcher had to wait for its token.
    assert "trying again" in line.pod.log("access") and line.certificates.refusals == 0
    files = [f"{KUBERNETES_FILES}/{name}" for name in ("ca.pem", "token")]
    assert line.pod.run("watcher", "stat", "--format=%n %a %u", *files).stdout.splitlines() == [f"{path} 400 65530" for path in files]
    # Nothing else is left there, such as the certificate's key.
    assert line.pod.run("watcher", "ls", "-A", KUBERNETES_FILES).stdout.split() == ["ca.pem", "token"]
    assert line.pod.run("watcher", "cat", f"{KUBERNETES_FILES}/token").stdout.strip() == line.token
    assert [entry["status"] for entry in line.kube.requests(identity="controller") if entry["status"] in (401, 403)] == []


def test_each_has_only_its_own_credentials(line):
    keys = {"provider": line.rancher.secret_key, "access": line.admin["CATTLE_SECRET_KEY"]}
    for name in line.pod.services:
        known = str(line.pod.inspect(name))
        assert {owner for owner, key in keys.items() if key in known} == ({name} & keys.keys())
        assert not [key for key in [*keys.values(), line.token] if key in line.pod.log(name)]
    for name in ("translator", "provider"):
        assert line.pod.run(name, "ls", KUBERNETES_FILES).stdout == ""


@pytest.mark.parametrize("container, user", CONTAINERS.items())
def test_a_container_has_no_rights(line, container, user):
    status = pathlib.Path(f"/proc/{line.pod.pid(container)}/status").read_text(encoding="utf-8")
    fields = {name: value.split() for name, value in (row.split(":", 1) for row in status.splitlines())}
    assert set(fields["Uid"]) == {str(user)} and set(fields["Gid"]) == {str(GROUP)}
    assert int(fields["CapBnd"][0], 16) == int(fields["CapEff"][0], 16) == 0 and fields["NoNewPrivs"] == ["1"]
    host = line.pod.inspect(container)["HostConfig"]
    assert host["ReadonlyRootfs"] is True and host["Memory"] == 128 << 20


@pytest.mark.parametrize("container", CONTAINERS)
def test_only_the_translator_can_make_sockets(line, container):
    # It belongs to the translator, whichever container was the first to use the volume.
    assert line.pod.run(container, "stat", "--format=%a %u %g", "/run/sluice").stdout.split() == ["750", "65531", str(GROUP)]
    assert line.pod.run(container, "stat", "--format=%a %u %g", "/run/sluice-admin").stdout.split() == ["1770", "0", str(GROUP)]
    made = line.pod.run(container, "touch", "/run/sluice/mine").returncode == 0
    assert made == (container == "translator")
    assert line.pod.run(container, "touch", "/mine").returncode != 0


def asked_by_rancher(line: StackLine, container: str) -> bool:
    """Asks once what the health check in rancher-compose.yml asks."""
    check = CHECKS[ASKED[container]]
    method, path, _ = check["request_line"].split()
    try:
        answer = request(line.pod.address.ip, check["port"], "rancher", path, method=method, timeout=check["response_timeout"] / 1000)
        return answer.status == 200
    except (OSError, http.client.HTTPException):
        return False


@pytest.mark.parametrize("container", CONTAINERS)
def test_health_checks_tell_a_hung_container(line, container):
    wait_for(lambda: asked_by_rancher(line, container), f"{container} to be healthy")
    line.pod.signal(container, signal.SIGSTOP)
    try:
        assert not asked_by_rancher(line, container)
        assert all(asked_by_rancher(line, other) for other in CONTAINERS if ASKED[other] != ASKED[container])
    finally:
        line.pod.signal(container, signal.SIGCONT)
    wait_for(lambda: asked_by_rancher(line, container), f"{container} to be healthy again")


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


def log_of(name: str) -> str:
    done = subprocess.run(["podman", "logs", name], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("container, environment", [
    ("watcher", {"KUBERNETES_URL": "http://kubernetes.invalid"}),
    ("provider", {"CATTLE_URL": "http://rancher.invalid/v1", "CATTLE_ACCESS_KEY": "access", "CATTLE_SECRET_KEY": "secret"}),
    ("access", {"CATTLE_URL": "http://rancher.invalid/v1", "CATTLE_ACCESS_KEY": "access", "CATTLE_SECRET_KEY": "secret",
                "RANCHER_METADATA_ADDRESS": "metadata.invalid"}),
])
def test_names_are_looked_up_where_docker_is_old(tmp_path, container, environment):
    """An old Docker's filter answers EPERM to system calls that it does not know, but the C library does without them only after ENOSYS."""
    unknown = ["clone3", "faccessat2", "openat2", "close_range", "statx", "rseq", "pidfd_open", "epoll_pwait2", "landlock_create_ruleset"]
    (tmp_path / "filter.json").write_text(json.dumps({
        "defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": unknown, "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}]}))
    service = services({"SLUICE_IMAGES": "localhost/sluice", "SLUICE_TAG": os.environ["SLUICE_IMAGE_TAG"]})[container]
    name = f"sluice-old-{secrets.token_hex(4)}"
    podman("run", "--detach", f"--name={name}", "--network=none", *security_words(service, tmp_path / "filter.json"),
           *[f"--env={key}={value}" for key, value in environment.items()], service["image"])
    try:
        found = wait_for(lambda: re.search(r"resolve host|thread failed", log_of(name)), "a name to be looked up")
        assert found[0] == "resolve host"
    except AssertionError as error:
        raise AssertionError(f"{error}\n{log_of(name)}") from error
    finally:
        podman("rm", "--force", "--time", "1", name)


def test_removing_the_stack_leaves_the_load_balancers(line):
    """Must be the last test: it removes the containers."""
    balancer, addresses = line.rancher.balancer(FIRST)["uuid"], line.cluster.addresses("first")
    volumes = {mount["Name"] for name in line.pod.services for mount in line.pod.inspect(name)["Mounts"]}
    line.pod.down()
    assert not line.pod.names() and not volumes & set(podman("volume", "ls", "--format", "{{.Name}}").split())
    assert line.rancher.balancer(FIRST)["uuid"] == balancer
    assert line.cluster.addresses("first") == addresses
    assert not line.traffic.failures
