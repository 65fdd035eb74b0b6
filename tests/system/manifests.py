# SPDX-License-Identifier: Apache-2.0
"""What `kubectl kustomize` makes of docker/kubernetes."""
from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile

import yaml

from .pod import ROOT

KINDS = ("rancher", "haproxy", "nginx", "elb")
Right = tuple[str, str, str]  # group, resource with subresource, verb


def rendered(kind: str) -> list[dict]:
    done = subprocess.run(["kubectl", "kustomize", str(ROOT / "docker/kubernetes" / kind)], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def rendered_with(kind: str, component: str) -> list[dict]:
    """With a component put on top of it."""
    with tempfile.TemporaryDirectory() as folder:
        above = os.path.relpath(ROOT / "docker/kubernetes", os.path.realpath(folder))
        (pathlib.Path(folder) / "kustomization.yaml").write_text(f"resources: [{above}/{kind}]\ncomponents: [{above}/{component}]\n")
        return rendered(folder)


def rules(objects: list[dict]) -> list[dict]:
    return next(each for each in objects if each["kind"] == "ClusterRole")["rules"]


def rights(objects: list[dict]) -> set[Right]:
    return {(group, resource, verb) for rule in rules(objects) for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"]}
