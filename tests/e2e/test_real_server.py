# SPDX-License-Identifier: Apache-2.0
"""What only a real API server can show of itself. The stories are those of the other files."""
from __future__ import annotations

import re

import pytest

from lib.envtest import assets
from lib.traffic import request
from lib.wait import wait_for
from lib.web import HOST, change, reaches

pytestmark = pytest.mark.skipif(not assets(), reason="no real API server: KUBEBUILDER_ASSETS")
KINDS = {"ingresses", "ingressclasses", "services", "endpointslices", "secrets"}


def test_streaming_lists_are_used_where_they_are_served(line, served):
    text = line.kube.api.request("GET", "/metrics", headers={"Accept": "text/plain"}).body.decode()
    streamed = {match[1] for match in re.finditer(r'^apiserver_watch_list_duration_seconds_count\{.*resource="(\w+)".*\} [1-9]', text, re.M)}
    assert streamed >= KINDS if line.kube.minor >= 34 else not streamed


def test_a_server_that_is_killed_and_comes_back(line, served):
    balancer = line.balancer("web", served.namespace)["id"]
    status = served.get("ingress", "web")["metadata"]["resourceVersion"]
    since = len(line.watcher.lines)
    line.kube.kill_server()
    wait_for(lambda: len([e for e in line.watcher.lines[since:] if "event=watch-failed" in e]) >= len(KINDS), "each watch to fail")
    assert line.balancer("web", served.namespace)["id"] == balancer
    line.kube.start_server()
    # Nothing needless was written: the Ingress is as it was.
    assert served.get("ingress", "web")["metadata"]["resourceVersion"] == status
    change(line, served)
    assert line.balancer("web", served.namespace)["id"] == balancer
    assert len(served.wait_addresses("web")) == 1


def test_the_slices_of_a_service_are_those_of_its_controller(line, namespace, backends):
    pod = backends("chosen")
    api, labels = line.kube.api, {"app": "chosen"}
    line.cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "machine"}})
    api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "chosen", "namespace": namespace.namespace, "labels": labels},
                "spec": {"containers": [{"name": "web", "image": "none"}], "nodeName": "machine"}})
    now = "2026-01-01T00:00:00Z"
    api.patch("pods", "chosen", {"status": {"phase": "Running", "podIP": pod.ip, "podIPs": [{"ip": pod.ip}], "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": now}]}}, namespace.namespace, "status")
    service = namespace.service("chosen")
    service["spec"]["selector"] = labels
    namespace.apply(service, namespace.ingress("web", [{"host": HOST, "paths": [("/", "Prefix", "chosen", 80)]}]))
    reaches(line, namespace, "/", "chosen")
    # The controller empties it; nobody on that node would answer for the pod.
    namespace.kubectl("delete", "pod", "chosen", "--force", "--grace-period=0")
    wait_for(lambda: request(*line.entries("web", namespace.namespace)[0], HOST, "/").status == 503, "no endpoint to be left")
