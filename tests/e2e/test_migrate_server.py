# SPDX-License-Identifier: Apache-2.0
"""sluicectl migrate of what an API server hands out: the same as of a folder of manifests, and what it prints a server takes. With the real one
(scripts/test-real) defaults, admission and the forms of all kinds are its own."""
from __future__ import annotations

import base64
import json
import os
import pathlib
import shutil
import subprocess
from typing import Any, Iterator

import pytest

from lib.certs import self_signed
from lib.cluster import Cluster
from lib.envtest import assets, kube_server
from lib.ingress_cases import PREFIX
from lib.line import build_folder
from lib.markdown import ROOT

KINDS = "ingresses,ingressclasses,services,endpointslices,configmaps,deployments,daemonsets,secrets"
LABELS = {"app": "ingress-nginx"}


def controller() -> dict[str, Any]:
    arguments = ["/nginx-ingress-controller", "--publish-service=$(POD_NAMESPACE)/ingress-nginx-controller", "--configmap=$(POD_NAMESPACE)/ingress-nginx-controller",
                 "--default-ssl-certificate=ingress-nginx/fallback", "--tcp-services-configmap=$(POD_NAMESPACE)/tcp", "--udp-services-configmap=$(POD_NAMESPACE)/udp"]
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx", "labels": LABELS},
            "spec": {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [
                {"name": "controller", "image": "registry.k8s.io/ingress-nginx/controller:v1.11.3", "args": arguments,
                 "env": [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}]}]}}}}


def config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ingress-nginx"}, "data": data}


def secret(name: str, namespace: str, data: dict[str, bytes], form: str = "Opaque") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "type": form, "metadata": {"name": name, "namespace": namespace},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()}}


def endpoints(service: str, address: str) -> dict[str, Any]:
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": f"{service}-a", "namespace": "default", "labels": {"kubernetes.io/service-name": service}},
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}], "ports": [{"name": "", "port": 8080, "protocol": "TCP"}]}


def ingress(name: str, tls: bool = False, **annotations: str) -> dict[str, Any]:
    paths = [{"path": f"/{name}", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name, "namespace": "default", "annotations": {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": "shop.test", "http": {"paths": paths}}],
                     **({"tls": [{"hosts": ["shop.test"], "secretName": "shop"}]} if tls else {})}}


def world() -> list[dict[str, Any]]:
    """What an operator of ingress-nginx has."""
    shop, fallback = self_signed("shop.test"), self_signed("fallback.test")
    tls = "kubernetes.io/tls"
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ingress-nginx"}},
        {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}},
        controller(),
        config_map("ingress-nginx-controller", {"use-forwarded-headers": "true", "proxy-real-ip-cidr": "10.0.0.0/8", "use-gzip": "true", "proxy-body-size": "banana"}),
        config_map("tcp", {"9000": "default/web:80:PROXY"}), config_map("udp", {"53": "default/web:80"}),
        secret("fallback", "ingress-nginx", {"tls.crt": fallback.pem, "tls.key": fallback.key}, tls), secret("shop", "default", {"tls.crt": shop.pem, "tls.key": shop.key}, tls),
        secret("users", "default", {"auth": b"bob:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M="}),
        # Without a selector: of others a server writes the endpoints itself, and here nobody runs pods.
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"}, "spec": {"ports": [{"port": 80, "targetPort": 8080}]}},
        endpoints("web", "10.9.8.7"),
        ingress("plain", tls=True, proxy_body_size="8m"), ingress("auth", auth_type="basic", auth_secret="users", auth_realm="shop"),
        ingress("outside", auth_url="https://login.example.com/check"), ingress("regex", use_regex="true", rewrite_target="/$1"),
        ingress("raw", configuration_snippet='more_set_headers "X-A: b";'), ingress("canary", canary="true", canary_weight="10"),
    ]


def sluicectl(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([build_folder() / "sluicectl/sluicectl", *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster() -> Iterator[Cluster]:
    kube = kube_server()
    try:
        cluster = Cluster(str(kube.kubeconfig))
        objects = world()
        for namespace in (None, "ingress-nginx", "default"):  # kubectl applies those of one namespace at a time
            of_it = [item for item in objects if item["metadata"].get("namespace") == namespace]
            cluster.within(namespace or "default").apply(*of_it)
        yield cluster
    finally:
        kube.stop()


@pytest.fixture(scope="module", name="listed")
def fixture_listed(cluster, tmp_path_factory) -> pathlib.Path:
    """What the page has people write: all that the server hands out."""
    kinds = KINDS.split(",")
    if not assets():  # the stand-in has none of these, and kubectl asks for all kinds at once
        kinds = [kind for kind in kinds if kind in cluster.kubectl("api-resources", "-o", "name").replace(".", "\n").split()]
    path = tmp_path_factory.mktemp("listed") / "cluster.json"
    path.write_text(cluster.kubectl("get", "-A", "-o", "json", ",".join(kinds)))
    return path


def report(path: pathlib.Path, *more: object) -> dict[str, Any]:
    done = sluicectl("migrate", "-f", path, "-o", "json", *more)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def without_places(value: Any) -> Any:
    """Where an object was read is not the same for a list and a folder; nor is what a server has of its own."""
    if isinstance(value, dict):
        return {key: without_places(item) for key, item in value.items() if key not in ("file", "line", "place", "source")}
    return [without_places(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("provider", ["nginx", "haproxy"])
def test_a_server_and_a_folder_are_told_the_same(listed, tmp_path, provider):
    folder = tmp_path / "manifests"
    folder.mkdir()
    for index, item in enumerate(world()):
        (folder / f"{index:02}.json").write_text(json.dumps(item))
    of_server, of_folder = (without_places(report(path, "-p", provider)) for path in (listed, folder))
    def by_name(made: dict[str, Any]) -> dict[str, Any]:
        return {one["name"]: one for one in made["ingresses"]}
    assert by_name(of_server).keys() == by_name(of_folder).keys() == {"plain", "auth", "outside", "regex", "raw", "canary"}
    for name, one in by_name(of_folder).items():
        assert by_name(of_server)[name]["rows"] == one["rows"], name
    # A server has keys in its own order.
    def of_controller(made: dict[str, Any]) -> dict[str, Any]:
        return {f'{one["kind"]}/{one["name"]}': sorted(one["rows"], key=lambda row: row["name"]) for one in made["controller"]}
    assert of_controller(of_server) == of_controller(of_folder)
    told = {row["name"]: row["verdict"] for one in of_server["controller"] for row in one["rows"]}
    assert told["use-forwarded-headers"] == "near" and told["proxy-body-size"] == "invalid" and told["udp-services-configmap"] == ("near" if provider == "nginx" else "refused")
    [closed] = [row for row in by_name(of_server)["outside"]["rows"] if row.get("closed")]
    assert "--egress-hosts" in closed["text"]


@pytest.mark.skipif(not assets(), reason="no real API server: KUBEBUILDER_ASSETS")
def test_a_server_takes_the_manifests(cluster, listed, tmp_path):
    """Each object that `migrate --manifests` leads to, by the server's own checks, and nothing is made."""
    shutil.copytree(ROOT / "docker", tmp_path / "docker")
    assert sluicectl("migrate", "-f", listed, "--manifests", tmp_path / "move").returncode in (0, 1)
    made = subprocess.run(["kubectl", "kustomize", tmp_path / "move"], capture_output=True, text=True, check=True, env={**os.environ, "KUBECONFIG": cluster.kubeconfig}).stdout
    assert "SLUICE_DEFAULT_CERTIFICATE" in made
    # Nobody can be asked about what is in a namespace that is not there.
    cluster.kubectl("create", "namespace", "sluice-system", check=False)
    before = cluster.kubectl("get", "-A", "-o", "name", KINDS)
    everywhere = cluster.within("")
    taken = everywhere.kubectl("apply", "--dry-run=server", "-f", "-", text=made)
    assert all(line.endswith("(server dry run)") for line in taken.splitlines()) and "deployment" in taken and "clusterrole" in taken
    assert cluster.kubectl("apply", "--dry-run=server", "-f", str(tmp_path / "move/ingressclass.yaml"))
    assert cluster.kubectl("get", "-A", "-o", "name", KINDS) == before
