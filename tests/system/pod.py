# SPDX-License-Identifier: Apache-2.0
"""docker/pod.yaml, run by podman with names, images and files of this run. The pod shares this machine's loopback, where the stand-ins listen."""
from __future__ import annotations

import errno
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import uuid
from typing import Callable

import yaml

from lib.wait import wait_for

from .machine import own_folder, podman

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTAINERS = {"translator": 65531, "watcher": 65530, "provider": 65532, "metrics": 65533}  # and the user that each runs as
LINE = ("translator", "watcher", "provider")  # those that do its work; the other one only shows the translator's admin server
GROUP = 65532
IMAGES = {"translator": "translator", "watcher": "watcher", "provider": "provider-rancher", "metrics": "sluicectl"}


def let_no_memory_grow(pid: int) -> None:
    """Lowers the memory limit of a running container to what it uses now, as if it had been set too low. After a restart it has the old limit."""
    row = next(row for row in pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
               if row.startswith("0::") or ":memory:" in row)
    if ":memory:" in row:
        limit = pathlib.Path("/sys/fs/cgroup/memory" + row.split(":", 2)[2]) / "memory.limit_in_bytes"
    else:
        limit = pathlib.Path("/sys/fs/cgroup" + row.split(":", 2)[2]) / "memory.max"
    used = int(re.search(r"^(?:total_rss|anon) (\d+)$", (limit.parent / "memory.stat").read_text(encoding="utf-8"), re.M)[1])
    for room in range(1 << 18, 64 << 20, 1 << 18):
        try:
            limit.write_text(str(used + room), encoding="utf-8")
            return
        except OSError as error:  # cgroup v1 refuses a limit below what is in use
            if error.errno != errno.EBUSY:
                raise
    raise AssertionError(f"no limit for process {pid}")


class Pod:
    """Use it as a context manager. `credentials` is {container: {file: text}}, `environment` {container: {name: value}}, `attacks`
    {container: what attacker.c tries in the place of its program}. The tag of the images and podman's configuration come from scripts/test-containers."""

    def __init__(self, credentials: dict[str, dict[str, str]], environment: dict[str, dict[str, str]],
                 attacks: dict[str, list[str]] | None = None) -> None:
        self.name = f"sluice-{uuid.uuid4().hex[:8]}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-pod-"))
        self.manifest = self.folder / "pod.yaml"
        for container, files in credentials.items():
            self._write_credentials(container, files)
        pod = self._adapted(environment)
        for container, attempts in (attacks or {}).items():
            self._replace_program(pod, container, attempts)
        self.manifest.write_text(yaml.safe_dump(pod), encoding="utf-8")

    def __enter__(self) -> "Pod":
        try:
            # In a folder of its own: podman would build an image from a folder of the same name.
            subprocess.run(["podman", "kube", "play", str(self.manifest)], cwd=self.folder, check=True, capture_output=True,
                           text=True, timeout=120)
        except subprocess.CalledProcessError as error:
            self.__exit__()
            raise AssertionError(f"podman kube play: {error.stderr}{error.stdout}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self.down()
        shutil.rmtree(self.folder, ignore_errors=True)

    def down(self) -> None:
        podman("kube", "down", str(self.manifest), check=False)

    def name_of(self, container: str) -> str:
        return f"{self.name}-{container}"

    @property
    def volume(self) -> str:
        return f"{self.name}-sockets"

    def inspect(self, container: str) -> dict:
        return json.loads(podman("container", "inspect", self.name_of(container)))[0]

    def pid(self, container: str) -> int:
        return self.inspect(container)["State"]["Pid"]

    def lives(self) -> dict[str, tuple[int, str]]:
        """Of each container its process, 0 if none runs, and when it was started."""
        found = json.loads(podman("container", "inspect", *map(self.name_of, CONTAINERS)))
        states = {container: each["State"] for container, each in zip(CONTAINERS, found, strict=True)}
        return {container: (state["Pid"], state["StartedAt"]) for container, state in states.items()}

    def signal(self, container: str, number: signal.Signals) -> None:
        os.kill(self.pid(container), number)

    def let_no_memory_grow(self, container: str) -> None:
        let_no_memory_grow(self.pid(container))

    def probe(self, container: str) -> bool:
        """Runs the liveness probe once; podman restarts a container whose probe has failed too often. Without systemd nothing else runs it."""
        done = subprocess.run(["podman", "healthcheck", "run", self.name_of(container)], capture_output=True, text=True,
                              timeout=180, check=False, cwd=own_folder())
        return done.returncode == 0

    def log(self, container: str) -> str:
        done = subprocess.run(["podman", "logs", self.name_of(container)], capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    def logs(self) -> str:
        return "\n".join(f"{container}:\n{self.log(container)[-2000:]}" for container in CONTAINERS)

    def run(self, container: str, *command: str) -> subprocess.CompletedProcess:
        return subprocess.run(["podman", "exec", self.name_of(container), *command], capture_output=True, text=True,
                              timeout=60, check=False)

    def wait_restart(self, container: str, life: tuple[int, str], meanwhile: Callable[[], object] = lambda: None) -> None:
        """Waits until the container runs another process than that of `life`. The restart count would not show it: restarts after a failed
        probe are not counted."""
        def back() -> bool:
            meanwhile()
            now = self.lives()[container]
            return now[0] > 0 and now != life
        wait_for(back, f"{container} to be started again", timeout=240, interval=0.1)

    def _write_credentials(self, container: str, files: dict[str, str]) -> None:
        folder = self.folder / container
        folder.mkdir(mode=0o700)
        for name, text in files.items():
            path = folder / name
            path.write_text(text, encoding="utf-8")
            path.chmod(0o400)
            os.chown(path, CONTAINERS[container], GROUP)
        os.chown(folder, CONTAINERS[container], GROUP)

    def _replace_program(self, pod: dict, name: str, attempts: list[str]) -> None:
        container = next(each for each in pod["spec"]["containers"] if each["name"] == name)
        program = self.folder / "attacker"
        shutil.copy(os.environ["SLUICE_ATTACKER"], program)
        program.chmod(0o755)
        container["command"], container["args"] = ["/attacker"], attempts
        container["volumeMounts"].append({"name": "attacker", "mountPath": "/attacker", "readOnly": True})
        pod["spec"]["volumes"].append({"name": "attacker", "hostPath": {"path": str(program), "type": "File"}})

    def _adapted(self, environment: dict[str, dict[str, str]]) -> dict:
        pod = yaml.safe_load((ROOT / "docker/pod.yaml").read_text(encoding="utf-8"))
        pod["metadata"]["name"] = self.name
        names = {"sluice-sockets": self.volume, "sluice-admin": f"{self.name}-admin", "watcher-credentials": "watcher", "rancher-credentials": "provider"}
        for container in pod["spec"]["containers"]:
            container["image"] = f"localhost/sluice-{IMAGES[container['name']]}:{os.environ['SLUICE_IMAGE_TAG']}"
            variables = {row["name"]: row["value"] for row in container.get("env", [])} | environment.get(container["name"], {})
            container["env"] = [{"name": name, "value": value} for name, value in variables.items()]
            for mount in container["volumeMounts"]:
                mount["name"] = names[mount["name"]]
        for volume in pod["spec"]["volumes"]:
            volume["name"] = names[volume["name"]]
            if "hostPath" in volume:
                volume["hostPath"]["path"] = str(self.folder / volume["name"])
        return pod
