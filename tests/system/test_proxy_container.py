# SPDX-License-Identifier: Apache-2.0
"""The proxy in a container of its own, as in docker/kubernetes: clients notice nothing of what happens to the provider's container."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import uuid
from typing import Iterator

import pytest
from lib.addresses import Address, free_port
from lib.backend import Backend
from lib.local_proxy import LB, host, pool
from lib.provider_link import Translator
from lib.traffic import Load, answers, request
from lib.wait import wait_for

from .machine import podman
from .manifests import rendered
from .pod import GROUP, let_no_memory_grow

PROXIES = ("haproxy", "nginx")
USER = 65532
PATIENCE_S = 120.0


class Containers:
    """Both containers with the images, user, limits and folders of the manifest; the translator is one of the tests'. They share this machine's
    loopback, where the backends listen."""

    def __init__(self, proxy: str) -> None:
        self.proxy = proxy
        self.name = f"sluice-{uuid.uuid4().hex[:8]}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-proxy-", dir="/var/tmp"))
        self._address = Address("127.83")
        self.address, self.port = self._address.ip, free_port(self._address.ip)
        self.manifest = {each["name"]: each for each in next(each for each in rendered(proxy) if each["kind"] == "Deployment")
                         ["spec"]["template"]["spec"]["containers"]}
        for folder in ("run", "admin", "state", "proxy", "tmp"):
            (self.folder / folder).mkdir(mode=0o770)
            os.chown(self.folder / folder, USER, GROUP)
        os.chown(self.folder, USER, GROUP)
        self.folder.chmod(0o711)
        self.translator = Translator(self.folder / "run")
        os.chown(self.folder / "run/provider.sock", USER, GROUP)
        self.volumes = {"sockets": "run", "admin": "admin", "state": "state", "proxy": "proxy", "tmp": "tmp"}

    def __enter__(self) -> "Containers":
        for container in ("proxy", "provider"):
            self.start(container)
        return self

    def __exit__(self, *_: object) -> None:
        for container in ("provider", "proxy"):
            podman("rm", "--force", "--time", "2", self.name_of(container), check=False)
        self.translator.stop()
        self._address.release()
        shutil.rmtree(self.folder, ignore_errors=True)

    def name_of(self, container: str) -> str:
        return f"{self.name}-{container}"

    def start(self, container: str) -> None:
        of = self.manifest[container]
        limit = of["resources"]["limits"]["memory"].lower().removesuffix("i")
        variables = {row["name"]: row["value"] for row in of["env"]} | {"SLUICE_ADMIN_ADDRESS": "off"}
        mounts = [f"{self.folder / self.volumes[mount['name']]}:{mount['mountPath']}:{'ro' if mount.get('readOnly') else 'rw'}"
                  for mount in of["volumeMounts"]]
        podman("run", "--detach", "--name", self.name_of(container), "--network=host", "--restart=always", "--read-only", "--cap-drop=all",
               "--security-opt=no-new-privileges", f"--user={USER}:{GROUP}", f"--memory={limit}",
               *(f"--volume={mount}" for mount in mounts), *(f"--env={name}={value}" for name, value in variables.items()),
               f"localhost/{of['image'].split(':')[0].rsplit('/')[-1]}:{os.environ['SLUICE_IMAGE_TAG']}",
               *(["--bind-address", self.address] if container == "provider" else []))

    def life(self, container: str) -> tuple[int, str]:
        state = json.loads(podman("container", "inspect", self.name_of(container)))[0]["State"]
        return state["Pid"], state["StartedAt"]

    def kill(self, container: str, number: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.life(container)[0], number)

    def wait_restart(self, container: str, before: tuple[int, str]) -> None:
        wait_for(lambda: (now := self.life(container))[0] > 0 and now != before, f"{container} to be started again", PATIENCE_S, 0.1)

    def apply(self, *objects: dict) -> None:
        self.translator.put(*objects)

    def balancer(self) -> dict:
        return {"kind": "load-balancer", "id": LB, "class": "sluice", "listeners": [{"port": self.port, "protocol": "http"}]}

    def wait_applied(self) -> None:
        try:
            wait_for(lambda: (status := self.translator.status(LB)) and status["state"] == "applied", "the commit to be applied", PATIENCE_S)
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self.log('provider')[-4000:]}\n{self.log('proxy')[-4000:]}") from None

    def log(self, container: str) -> str:
        done = subprocess.run(["podman", "logs", self.name_of(container)], capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    def serves(self, path: str, name: str) -> bool:
        return answers(self.address, self.port, "web.test", path) and request(self.address, self.port, "web.test", path).json["name"] == name


@pytest.fixture(name="line", params=PROXIES)
def running_line(request) -> Iterator[Containers]:
    with Backend("one") as one, Backend("two") as two, Containers(request.param) as line:
        line.pods = {"one": one, "two": two}
        line.apply(pool("web", one), host("web.test", ("/", "web")), line.balancer())
        line.wait_applied()
        yield line


def served_later(line: Containers) -> None:
    """Waits until the provider is back and carries out a change."""
    line.apply(pool("web", line.pods["two"]))
    wait_for(lambda: line.serves("/", "two"), f"the change to be served\n{line.log('provider')}", PATIENCE_S)


def oom_kills() -> int:
    return int(re.search(r"^oom_kill (\d+)$", pathlib.Path("/proc/vmstat").read_text(encoding="utf-8"), re.M)[1])


def grow(line: Containers) -> None:
    """Gives the provider more routes than it has memory for, until it is killed."""
    killed, before = oom_kills(), line.life("provider")
    let_no_memory_grow(line.life("provider")[0])
    number = 0

    def ended() -> bool:
        nonlocal number
        number += 1
        line.apply(*(host(f"h{number}-{each}.test", *((f"/{path}", "web") for path in range(20))) for each in range(200)))
        return oom_kills() > killed or line.life("provider") != before
    wait_for(ended, "the provider to want more memory than there is", PATIENCE_S, 0.1)


@pytest.mark.parametrize("event", ["killed", "hung", "out-of-memory", "new-image"])
def test_a_client_notices_nothing_of_what_happens_to_the_provider(line, event):
    proxy = line.life("proxy")
    with Load(line.address, line.port, [("web.test", "/")]) as load:
        before = line.life("provider")
        if event == "killed":
            line.kill("provider")
            line.wait_restart("provider", before)
        elif event == "hung":
            line.kill("provider", signal.SIGSTOP)
            asked = load.good
            wait_for(lambda: load.good > asked + 200, "requests while it hangs", PATIENCE_S)
            line.kill("provider", signal.SIGCONT)
        elif event == "out-of-memory":
            grow(line)
        else:
            podman("rm", "--force", "--time", "5", line.name_of("provider"))
            line.start("provider")
        served_later(line)
    assert load.failures == [] and load.good > 0
    assert line.life("proxy") == proxy


def test_a_killed_proxy_comes_back_with_the_newest_state(line):
    before = line.life("proxy")
    line.kill("proxy")
    line.apply(pool("web", line.pods["two"]))
    line.wait_restart("proxy", before)
    wait_for(lambda: line.serves("/", "two"), f"the newest state to be served\n{line.log('proxy')}", PATIENCE_S)
    line.wait_applied()


def test_it_drains_when_its_container_is_stopped(line):
    """As when the pod ends: requests under way are completed."""
    # The provider first: its probe's idle connection would count as one to be drained until it is used again.
    podman("stop", "--time", "5", line.name_of("provider"))
    podman("stop", "--time", "30", line.name_of("proxy"))
    assert "event=master-draining" in line.log("proxy") and "event=master-cut" not in line.log("proxy")
