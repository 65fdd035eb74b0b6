# SPDX-License-Identifier: Apache-2.0
"""A real kubectl, against a recent and an old release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Callable

import pytest

from standins.kube.client import KubeStandin

from .conftest import ingress

pytestmark = pytest.mark.skipif(
    shutil.which(os.environ.get("KUBECTL", "kubectl")) is None, reason="kubectl is not installed"
)

MANIFEST = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, annotations: {scale: "1"}}
spec:
  ingressClassName: rancher
  tls: [{hosts: [foo.bar.com], secretName: crt}]
  rules:
  - host: foo.bar.com
    http: {paths: [{path: /foo, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3], conditions: {ready: true}}]
ports: [{name: http, port: 8080}]
"""
BETA = """\
apiVersion: extensions/v1beta1
kind: Ingress
metadata: {name: web}
spec:
  rules: [{host: foo.bar.com, http: {paths: [{path: /foo, backend: {serviceName: web, servicePort: 80}}]}}]
"""
ADDRESSES = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example.org"}]}}}

JSONPATH_WAIT_SINCE = 23


def client_minor(kube: KubeStandin) -> int:
    """The minor release of kubectl."""
    version = json.loads(kube.api.kubectl("version", "--client", "-o", "json").stdout)
    return int(version["clientVersion"]["minor"].rstrip("+"))


def words(text: str) -> list[list[str]]:
    """The cells of a printed table, split at white space."""
    return [line.split() for line in text.splitlines()]


def test_apply_get_describe_delete(kube: KubeStandin, tmp_path: Path) -> None:
    kubectl = kube.api.kubectl
    file = tmp_path / "web.yaml"
    file.write_text(MANIFEST)
    assert kubectl("apply", "-f", str(file)).stdout.splitlines()[0] == "ingress.networking.k8s.io/web created"
    mark = kube.mark()
    assert "ingress.networking.k8s.io/web unchanged" in kubectl("apply", "-f", str(file)).stdout
    assert {entry["effect"] for entry in kube.requests(mark, verb="patch")} <= {"noop"}
    kube.api.patch("ingresses", "web", ADDRESSES, subresource="status")
    header, row = words(kubectl("get", "ingress").stdout)
    assert header == ["NAME", "CLASS", "HOSTS", "ADDRESS", "PORTS", "AGE"]
    assert row[:-1] == ["web", "rancher", "foo.bar.com", "192.0.2.1,lb.example.org", "80,", "443"]
    shown = json.loads(kubectl("get", "ingress", "web", "-o", "json").stdout)
    assert shown["spec"]["ingressClassName"] == "rancher"
    kubectl("delete", "-f", str(file))
    assert "No resources found" in kubectl("get", "ingress").stderr


def test_other_tables_and_describe(kube: KubeStandin) -> None:
    kubectl = kube.api.kubectl
    kubectl("apply", "-f", "-", stdin=MANIFEST)
    kube.api.patch("ingresses", "web", ADDRESSES, subresource="status")
    header = "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR".split()
    assert words(kubectl("get", "svc", "-o", "wide").stdout)[0] == header
    assert words(kubectl("get", "endpointslices").stdout)[1][:4] == ["web-1", "IPv4", "8080", "10.1.2.3"]
    kube.api.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "web.1", "namespace": "default"},
            "type": "Warning",
            "reason": "Refused",
            "message": "no such service",
            "source": {"component": "sluice"},
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:00Z",
            "count": 1,
            "involvedObject": {
                "kind": "Ingress",
                "name": "web",
                "namespace": "default",
                "uid": kube.api.get("ingresses", "web")["metadata"]["uid"],
            },
        }
    )
    # Older kubectl releases ask for Endpoints, newer ones for slices.
    subset = {"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": "http", "port": 8080}]}
    meta = {"name": "web", "namespace": "default"}
    kube.api.create({"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]})
    described = kubectl("describe", "ingress", "web").stdout
    assert "192.0.2.1,lb.example.org" in described and "web:80 (10.1.2.3:8080)" in described
    assert ["Warning", "Refused"] == next(
        line.split()[:2] for line in described.splitlines() if "no such service" in line
    )
    assert "ingress/web" in kubectl("get", "events").stdout


def test_edits(kube: KubeStandin, tmp_path: Path) -> None:
    kubectl = kube.api.kubectl
    kubectl("apply", "-f", "-", stdin=MANIFEST)
    kubectl("annotate", "--overwrite", "ingress", "web", "scale=2")
    kubectl("patch", "ingress", "web", "-p", '{"spec":{"ingressClassName":"other"}}')
    kubectl("label", "svc", "web", "tier=front")
    kubectl("apply", "-f", "-", stdin=MANIFEST.replace("/foo", "/bar"))
    found = kube.api.get("ingresses", "web")
    assert found["metadata"]["annotations"]["scale"] == "1" and found["spec"]["ingressClassName"] == "rancher"
    assert found["spec"]["rules"][0]["http"]["paths"][0]["path"] == "/bar"
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=MANIFEST)
    assert kube.api.get("ingresses", "web")["spec"]["rules"][0]["http"]["paths"][0]["path"] == "/foo"
    kubectl("replace", "-f", "-", stdin=MANIFEST.replace("8080", "9090"))
    assert kube.api.get("services", "web")["spec"]["ports"][0]["targetPort"] == 9090
    bad = kubectl("apply", "-f", "-", stdin=MANIFEST.replace("pathType", "pathTyp"), check=False)
    assert bad.returncode == 1 and "pathTyp" in bad.stderr


def test_editor(kube: KubeStandin, monkeypatch: pytest.MonkeyPatch) -> None:
    kube.api.create(ingress("web", host="foo.com"))
    monkeypatch.setenv("KUBE_EDITOR", "sed -i s/foo.com/edited.com/")
    assert "ingress.networking.k8s.io/web edited" in kube.api.kubectl("edit", "ingress", "web").stdout
    assert kube.api.get("ingresses", "web")["spec"]["rules"][0]["host"] == "edited.com"


def test_creations(kube: KubeStandin, tmp_path: Path) -> None:
    kubectl = kube.api.kubectl
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=foo.bar.com",
            "-days",
            "2",
            "-keyout",
            str(tmp_path / "key"),
            "-out",
            str(tmp_path / "crt"),
        ],
        check=True,
        capture_output=True,
    )
    kubectl("create", "secret", "tls", "crt", f"--cert={tmp_path / 'crt'}", f"--key={tmp_path / 'key'}")
    assert kube.api.get("secrets", "crt")["type"] == "kubernetes.io/tls"
    kubectl(
        "create",
        "ingress",
        "simple",
        "--class=rancher",
        "--rule=foo.com/bar=svc1:8080,tls=crt",
        "--rule=*.x.com/*=svc2:http",
        "--default-backend=d:80",
        "--annotation=a=b",
    )
    spec = kube.api.get("ingresses", "simple")["spec"]
    assert spec["tls"] == [{"hosts": ["foo.com"], "secretName": "crt"}] and spec["defaultBackend"]["service"][
        "port"
    ] == {"number": 80}
    assert [(rule["host"], rule["http"]["paths"][0]["pathType"]) for rule in spec["rules"]] == [
        ("foo.com", "Exact"),
        ("*.x.com", "Prefix"),
    ]
    assert spec["rules"][1]["http"]["paths"][0]["backend"] == {
        "service": {"name": "svc2", "port": {"name": "http"}}
    }
    kubectl("create", "service", "clusterip", "plain", "--tcp=80:8080")
    assert kube.api.get("services", "plain")["spec"]["ports"][0]["targetPort"] == 8080
    kubectl("create", "namespace", "kubectl-made")
    kubectl("-n", "kubectl-made", "create", "configmap", "c", "--from-literal=a=b")
    kubectl("delete", "namespace", "kubectl-made")
    assert (
        kube.api.find("namespaces", "kubectl-made") is None
        and kube.objects("configmaps", "kubectl-made") == []
    )
    assert kubectl("auth", "can-i", "list", "secrets").stdout == "yes\n"


def test_waiting_for_a_value(kube: KubeStandin) -> None:
    if client_minor(kube) < JSONPATH_WAIT_SINCE:
        pytest.skip("this kubectl cannot wait for values")
    kube.api.kubectl("apply", "-f", "-", stdin=MANIFEST)

    def later() -> None:
        kube.wait_requests(verb="watch", resource="ingresses", identity="admin", timeout_s=20)
        kube.api.patch("ingresses", "web", ADDRESSES, subresource="status")

    thread = threading.Thread(target=later)
    thread.start()
    value = "--for=jsonpath={.status.loadBalancer.ingress[0].ip}=192.0.2.1"
    done = kube.api.kubectl("wait", value, "ingress/web", "--timeout=15s")
    thread.join()
    assert "condition met" in done.stdout


def test_watching(kube: KubeStandin) -> None:
    kube.api.kubectl("apply", "-f", "-", stdin=MANIFEST)
    command = [kube.api.kubectl_program, "--kubeconfig", str(kube.kubeconfig)]
    process = subprocess.Popen(
        [*command, "get", "ingress", "-w", "--no-headers"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().split()[0] == "web"
        kube.api.delete("ingresses", "web")
        assert process.stdout.readline().split()[:3] == ["web", "rancher", "foo.bar.com"]
    finally:
        process.terminate()
        process.communicate()


def test_while_frames_are_split(kube: KubeStandin) -> None:
    kube.settings(split={"cuts": 10, "gap_ms": 0})
    kube.api.kubectl("apply", "-f", "-", stdin=MANIFEST)
    kube.api.kubectl("delete", "-f", "-", stdin=MANIFEST)


@pytest.mark.parametrize("profile", ["1.16", "1.20"])
def test_old_releases(start: Callable[..., KubeStandin], profile: str) -> None:
    kube = start(profile)
    kubectl = kube.api.kubectl
    assert "ingress.extensions/web created" in kubectl("apply", "-f", "-", stdin=BETA).stdout
    mark = kube.mark()
    kubectl("apply", "-f", "-", stdin=BETA)
    assert {entry["effect"] for entry in kube.requests(mark, verb="patch")} <= {"noop"}
    assert words(kubectl("get", "ingress").stdout)[1][:3] == ["web", "<none>", "foo.bar.com"]
    assert "servicePort: 80" in kubectl("get", "ingress", "web", "-o", "yaml").stdout
    kubectl("delete", "-f", "-", stdin=BETA)
