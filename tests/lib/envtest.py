# SPDX-License-Identifier: Apache-2.0
"""A real kube-apiserver with its etcd, and kube-controller-manager if it is there, too, from the folder that KUBEBUILDER_ASSETS names (the convention of envtest).

It offers the part of KubeStandin that speaks the public API, and the journal by its audit log; tests that need faults of the stand-in are
skipped with it. The controller is the service account of docker/kubernetes, with the rights that stand there and no others.
"""
from __future__ import annotations

import os
import pathlib
import re
import secrets
import shutil
import subprocess
import tempfile
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from standins.kube.client import KubeStandin
from standins.kube.public import KubeApi, write_kubeconfig

from .addresses import free_port
from .audit import AuditLog
from .cluster import Cluster
from .processes import WITH_US
from .wait import wait_for

CONTROLLERS = ("namespace-controller", "garbage-collector-controller", "endpointslice-controller")
# As the manifests of `sluicectl migrate` give them, but for all names: tests think of many.
RIGHTS_TO_OPTIONS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
KUBERNETES = pathlib.Path(__file__).resolve().parents[2] / "docker/kubernetes"
RIGHTS, RIGHTS_TO_PODS = KUBERNETES / "base/rights.yaml", KUBERNETES / "daemonset/rights.yaml"


def assets() -> pathlib.Path | None:
    """The folder with both programs, or None."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    return pathlib.Path(folder) if folder else None


def kube_server() -> KubeStandin | RealKube:
    """A started API server: the real one if there is one, else the stand-in. Who starts it by this runs against both."""
    return (RealKube() if assets() else KubeStandin("1.34")).start()


def needs_standin(to: str) -> pytest.MarkDecorator:
    """A mark for tests that a real API server makes impossible: what it cannot be told to do."""
    return pytest.mark.skipif(bool(assets()), reason=f"the real API server cannot be told to {to}")


class RealKube:
    """etcd, kube-controller-manager and kube-apiserver as child processes, which `children` holds in this order."""

    def __init__(self, **_: object):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-envtest-"))
        self.audit = AuditLog(self.folder)
        self.mark, self.requests, self.writes = self.audit.mark, self.audit.requests, self.audit.writes  # as the stand-in tells it
        self.kubeconfig = self.folder / "kubeconfig"
        self._cluster = Cluster(str(self.kubeconfig))
        self.controller_kubeconfig = self.folder / "controller.kubeconfig"
        self.children: list[subprocess.Popen] = []
        self.server: list[str] = []  # its command
        told = subprocess.run([str(assets() / "kube-apiserver"), "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
        self.minor = int(re.search(r"v1\.(\d+)", told)[1])

    def start(self) -> "RealKube":
        assert "SLUICE_POD_NETWORK" in os.environ, "a real API server takes no loopback pods: run this under tests/pod-network"
        etcd_port, peer_port, port = free_port(), free_port(), free_port()
        self._spawn("etcd", "--data-dir", str(self.folder / "etcd"),
                    f"--listen-client-urls=http://127.0.0.1:{etcd_port}",
                    f"--advertise-client-urls=http://127.0.0.1:{etcd_port}",
                    f"--listen-peer-urls=http://127.0.0.1:{peer_port}",
                    f"--initial-advertise-peer-urls=http://127.0.0.1:{peer_port}",
                    f"--initial-cluster=default=http://127.0.0.1:{peer_port}", "--unsafe-no-fsync")
        key = self._service_account_key()
        self.url = f"https://127.0.0.1:{port}"
        token = secrets.token_hex(16)
        token_file = self.folder / "tokens.csv"
        token_file.write_text(f'{token},admin,admin,"system:masters"\n')
        self._write_kubeconfig(self.kubeconfig, token)
        self.server = ["kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd_port}", f"--secure-port={port}",
                       "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--cert-dir={self.folder / 'certs'}",
                       f"--token-auth-file={token_file}", "--authorization-mode=RBAC", f"--service-account-key-file={key}",
                       f"--service-account-signing-key-file={key}", "--service-account-issuer=https://sluice.test",
                       f"--service-cluster-ip-range={os.environ['SLUICE_POD_NETWORK']}.0.0/16", "--disable-admission-plugins=ServiceAccount",
                       "--endpoint-reconciler-type=none", *self.audit.arguments()]
        try:
            self.start_server()
            if (assets() / "kube-controller-manager").exists():
                self._start_manager()
            self._write_kubeconfig(self.controller_kubeconfig, self._controller_token())
            self.api = KubeApi(self.kubeconfig)
        except BaseException:
            self.stop()
            raise
        return self

    def _start_manager(self) -> None:
        """The controllers that deal with what tests make; pods are nobody's, for there are no nodes."""
        server = self.children.pop()
        self._spawn("kube-controller-manager", f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", f"--secure-port={free_port()}",
                    "--bind-address=127.0.0.1", f"--cert-dir={self.folder / 'manager-certs'}", f"--controllers={','.join(CONTROLLERS)}")
        self.children.append(server)

    def start_server(self) -> None:
        self._spawn(*self.server)
        wait_for(self._is_ready, "kube-apiserver to be ready", 90, 0.5)

    def kill_server(self) -> None:
        """SIGKILL for the API server; etcd goes on."""
        server = self.children.pop()
        server.kill()
        server.wait()

    def network(self, mode: str, drop: str = "rst") -> None:
        """As with the stand-in, for everybody: `gone` is a server that was killed, `up` one that serves."""
        assert (mode, drop) in (("gone", "rst"), ("up", "rst"))
        if mode == "gone":
            self.kill_server()
        elif pathlib.Path(self.children[-1].args[len(WITH_US)]).name != "kube-apiserver":
            self.start_server()

    def objects(self, resource: str, namespace: str = "") -> list[dict[str, Any]]:
        return self.api.list(resource, namespace)["items"]

    def stop(self) -> None:
        for child in reversed(self.children):
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.children.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _spawn(self, program: str, *arguments: str) -> None:
        log = open(self.folder / f"{program}.log", "ab")
        self.children.append(subprocess.Popen([*WITH_US, str(assets() / program), *arguments], stdin=subprocess.DEVNULL,
                                              stdout=log, stderr=subprocess.STDOUT))
        log.close()

    def _service_account_key(self) -> pathlib.Path:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        path = self.folder / "service-account.key"
        path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
                                           serialization.NoEncryption()))
        return path

    def _write_kubeconfig(self, path: pathlib.Path, token: str) -> None:
        write_kubeconfig(path, {"token": token}, **{"server": self.url, "insecure-skip-tls-verify": True})

    def _is_ready(self) -> bool:
        for child in self.children:
            assert child.poll() is None, (self.folder / f"{pathlib.Path(child.args[0]).name}.log").read_text()[-2000:]
        return self._cluster.kubectl("get", "--raw", "/readyz", check=False) == "ok"

    def _controller_token(self) -> str:
        account = next(item for item in yaml.safe_load_all(RIGHTS.read_text()) if item["kind"] == "ServiceAccount")["metadata"]
        cluster = self._cluster.within(account["namespace"])
        cluster.kubectl("create", "namespace", account["namespace"])
        cluster.kubectl("apply", "-f", str(RIGHTS), "-f", str(RIGHTS_TO_PODS))
        group = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "options", "namespace": "default"}}
        self._cluster.apply({**group, "kind": "Role", "rules": [RIGHTS_TO_OPTIONS]},
                            {**group, "kind": "RoleBinding", "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "options"},
                             "subjects": [{"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}]})
        return cluster.kubectl("create", "token", account["name"], "--duration=24h").strip()
