# SPDX-License-Identifier: Apache-2.0
"""Every command of README.md does as it stands what the page says: run from a folder that looks like the source, after the build, on a machine of
the test's own (a network and folders that nobody else sees, with a Kubernetes and a Rancher server where the page expects them)."""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile

import pytest

from lib.backend import Backend
from lib.cluster import Cluster
from lib.commands import simple_commands
from lib.line import build_folder
from lib.local_proxy import PATIENCE
from lib.markdown import ROOT, pages
from lib.network import own_network
from lib.own_disk import IS_ROOT
from lib.traffic import answers
from lib.wait import wait_for
from standins.kube.client import KubeStandin
from standins.rancher.client import RancherStandin

README = next(page for page in pages() if page.path == ROOT / "README.md")
SCRIPTS = [block.text for block in README.blocks if block.language == "sh"]
# Commands that are not run here, and why.
ELSEWHERE = {
    "scripts/demo": "it installs packages; what it runs is told by tests/e2e/test_demo.py",
    "scripts/test": "it runs this test",
    "meson setup build --buildtype=release && ninja -C build": "it made the build folder that is tested",
}
# Programs of the line by themselves, each in the background: `sudo ... &`.
LINE = [line for text in SCRIPTS for line in text.splitlines() if line.startswith("sudo ") and line.endswith(" &")]
CALLS = [line.split("#")[0].strip() for text in SCRIPTS for line in text.splitlines()]
PREPARE = """set -e
mount -t tmpfs none /run
mkdir -p /var/lib/sluice
mount -t tmpfs none /var/lib
mount --bind {folder}/hosts /etc/hosts
cd {folder}
{commands}
wait
"""
pytestmark = pytest.mark.skipif(not IS_ROOT, reason="folders and networks of one's own are for root")


def provider_of(line: str) -> str | None:
    return next((name for name in ("rancher", "haproxy", "nginx") if f"sluice-provider-{name}" in line), None)


def test_every_command_is_accounted_for():
    offline = [call for call in CALLS if call.startswith("build/sluicectl/")]
    told = {*LINE, *offline, *ELSEWHERE, *(call for call in CALLS if call.startswith(("kubectl ", "sudo mkdir ")))}
    assert [call for call in CALLS if call not in told] == []
    assert [call for call in ELSEWHERE if call not in CALLS] == []
    assert {provider_of(line) for line in LINE} == {None, "rancher", "haproxy", "nginx"} and len(offline) == 2
    assert all(simple_commands(call) for call in CALLS)


@pytest.mark.parametrize("call", [call for call in CALLS if call.startswith("build/sluicectl/")])
def test_manifests_are_looked_at(call, tmp_path):
    make_source(tmp_path)
    done = subprocess.run(["bash", "-c", call], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout and not done.stderr, done.stdout + done.stderr


def make_source(folder: pathlib.Path) -> None:
    """A folder that looks like the source, with a build in it."""
    for name in ("examples", "scripts"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").symlink_to(build_folder())


@contextlib.contextmanager
def running(folder: pathlib.Path, commands: list[str], kubeconfig: pathlib.Path):
    """They run, on a machine that sees `folder` as the home of its user, and all that they started ends with them."""
    make_source(folder)
    (folder / ".kube").mkdir()
    (folder / ".kube/config").write_bytes(kubeconfig.read_bytes())
    (folder / "hosts").write_text("127.0.0.1 localhost rancher\n")
    (folder / "bin").mkdir()
    sudo = folder / "bin/sudo"
    sudo.write_text('#!/bin/sh\nexec env "$@"\n')
    sudo.chmod(0o755)
    (folder / "script").write_text(PREPARE.format(folder=folder, commands="\n".join(commands)))
    # Pods of a cluster have addresses of its own; here they are on loopback, where no endpoint may be otherwise.
    environment = {"HOME": str(folder), "PATH": f"{folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "SLUICE_ALLOW_EGRESS": "127.0.0.0/8"}
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", str(folder / "script")],
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)


@pytest.mark.parametrize("provider", ["rancher", "haproxy", "nginx"])
def test_the_line_from_the_source(provider):
    commands = [call for call in CALLS
                if call.startswith(("kubectl ", "sudo mkdir ")) or (call in LINE and provider_of(call) in (None, provider))]
    commands.sort(key=lambda call: call.startswith("kubectl "))
    with contextlib.ExitStack() as room:
        # Sockets stand in it, so its name is short; workers of nginx run as another user.
        folder = pathlib.Path(room.enter_context(tempfile.TemporaryDirectory(prefix="t-")))
        folder.chmod(0o755)
        room.enter_context(own_network())
        kube = KubeStandin("1.34").start()
        room.callback(kube.stop)
        rancher = RancherStandin(listen="127.0.0.1", port=8080, kubeconfig=kube.kubeconfig, agent_interval=0.1,
                                 access_key="...", secret_key="...")
        room.callback(rancher.stop)
        cluster = Cluster(str(kube.kubeconfig))
        pod = room.enter_context(Backend("pod"))
        cluster.apply(cluster.slice("nginx-service", [pod.ip]))
        room.enter_context(running(folder, commands, kube.kubeconfig))

        def said() -> str:
            return (folder / "output").read_text()

        def is_watched() -> bool:
            rows = [line.split() for line in said().splitlines() if line.startswith("test ")]
            return any("foo.bar.com" in row and row[3] != "80" for row in rows)
        try:
            wait_for(is_watched, "`kubectl get ingress --watch` to show an address", PATIENCE)
            addresses = cluster.addresses("test")
            assert provider == "rancher" or addresses == ["192.0.2.10"]
            at = addresses[0] if provider == "rancher" else "127.0.0.1"
            wait_for(lambda: answers(at, 80, "foo.bar.com", "/foo"), "the Ingress to be served", PATIENCE)
            assert " level=error " not in said()
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{said()}") from None
