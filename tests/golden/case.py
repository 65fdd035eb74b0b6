# SPDX-License-Identifier: Apache-2.0
"""A golden case of the translator as its folder holds it, and what the watcher makes of it."""
from __future__ import annotations

import datetime
import pathlib
import re
import subprocess
from typing import Any

import yaml

from lib.engine import KINDS
from lib.frames import Body, frames

HERE = pathlib.Path(__file__).resolve().parent
NOW = "2025-12-29T09:20:00Z"
CERTIFICATE = re.compile(r"""["']@(\w+\.(?:crt|key))["']""")
SERVICE_NAME = "kubernetes.io/service-name"
TYPES = {"watcher": list, "translator": list, "provider": dict, "now": str, "not-synced": list, "without-endpoints": list, "answers": list}


class Loader(yaml.CSafeLoader):
    """Leaves times as text, as in JSON."""


Loader.yaml_implicit_resolvers = {first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
                                  for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()}


def quoted_file(match: re.Match[str]) -> str:
    return yaml.dump((HERE / "certs" / match[1]).read_text(), default_style='"', width=1 << 30).strip()


def slice_of(service: Body) -> Body:
    """The EndpointSlice that a cluster makes for a Service whose selector finds one pod."""
    name = service["metadata"]["name"]
    ports = [{key: port[key] for key in ("name", "protocol") if key in port} | {"port": port.get("targetPort", port["port"])}
             for port in service["spec"].get("ports", [])]
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": ports,
            "metadata": {"name": f"{name}-1", "namespace": namespace_of(service), "labels": {SERVICE_NAME: name}},
            "endpoints": [{"addresses": ["10.0.0.1"]}]}


def has_pods(item: Body) -> bool:
    spec = item.get("spec", {})
    return item["kind"] == "Service" and bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def namespace_of(item: Body) -> str:
    return item["metadata"].get("namespace", "default")


def service_of(item: Body) -> str:
    """The Service whose endpoints this object holds; for other objects a name that no Service has."""
    name = item["metadata"]["name"] if item["kind"] == "Endpoints" else item["metadata"].get("labels", {}).get(SERVICE_NAME)
    return f"{namespace_of(item)}/{name}"


class Case:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.text = (folder / "manifests.yaml").read_text()
        given = folder / "case.yaml"
        self.given: dict[str, Any] = yaml.load(given.read_text(), Loader) if given.exists() else {}
        for key, value in self.given.items():
            assert key in TYPES and isinstance(value, TYPES[key]), f"case.yaml: {key}"

    @property
    def seconds(self) -> int:
        return int(datetime.datetime.fromisoformat(self.given.get("now", NOW)).timestamp())

    @property
    def has_reason(self) -> bool:
        return self.text.startswith("# ")

    def manifests(self) -> str:
        """The case's manifests, and EndpointSlices for its Services with a selector that have none."""
        objects = [item for item in yaml.load_all(self.text, Loader) if item]
        sliced = {*self.given.get("without-endpoints", []), *map(service_of, objects)}
        made = [slice_of(item) for item in objects if has_pods(item) and f"{namespace_of(item)}/{item['metadata']['name']}" not in sliced]
        texts = [yaml.dump(item, Dumper=yaml.CSafeDumper) for item in made]
        return "---\n".join([CERTIFICATE.sub(quoted_file, self.text), *texts])

    def from_watcher(self, watcher: str) -> "Told":
        options = self.given.get("watcher", [])
        command = [watcher, "--manifests", "-", *options]
        done = subprocess.run(command, input=self.manifests().encode(), capture_output=True, check=False)
        assert done.returncode == 0 and not done.stderr, f"sluice-watcher: {done.stderr.decode()}"
        not_synced = [*self.given.get("not-synced", []), *(["ingress-class"] if "--ingress-classes=false" in options else []),
                      *([] if any("-configmap" in option for option in options) else ["config-map"])]
        return Told(done.stdout, [kind for kind in KINDS if kind not in not_synced])


class Told:
    """What the watcher says. As of a cluster, its settings name all kinds, also those of which there are no objects."""

    def __init__(self, output: bytes, kinds: list[str]):
        self.output = output
        said = frames(output)
        self.settings = next(body for kind, body in said if kind == "settings") | {"kinds": kinds}
        self.records = [body for kind, body in said if kind == "upsert" and body["kind"] in kinds]

    def uids(self) -> dict[tuple[str, str, str], str]:
        return {(record["kind"], record.get("namespace", ""), record["name"]): record["uid"] for record in self.records}
