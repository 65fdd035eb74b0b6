# SPDX-License-Identifier: Apache-2.0
"""The documented exchanges that write: status, leases, events."""

from __future__ import annotations

import json
from typing import Any, Callable

from standins.kube.client import KubeStandin

from .conftest import ingress
from .examples import UIDS, example, golden
from .raw import RawClient

STATUS = "/apis/networking.k8s.io/v1/namespaces/default/ingresses/web-c/status?fieldManager=lb-status"
MERGE = "application/merge-patch+json"
PATCH = (
    b'{"metadata":{"resourceVersion":"15040"},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.20"}]}}}'
)


def test_status_patch_and_a_stale_one(cluster: KubeStandin) -> None:
    raw = RawClient(cluster)
    cluster.bump(15259 - 15042)
    answer = raw.ask(STATUS, "PATCH", PATCH, content_type=MERGE)
    assert answer.status == 200 and answer.headers["content-length"] == "714"
    document = answer.json()
    assert document["metadata"]["resourceVersion"] == "15260" and document["metadata"]["generation"] == 1
    entry = document["metadata"]["managedFields"][0]
    assert entry | {"time": ""} == {
        "manager": "lb-status",
        "operation": "Update",
        "apiVersion": "networking.k8s.io/v1",
        "time": "",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:loadBalancer": {"f:ingress": {}}}},
        "subresource": "status",
    }
    assert document["status"] == {"loadBalancer": {"ingress": [{"ip": "192.0.2.20"}]}}

    stale = raw.ask(STATUS, "PATCH", PATCH, content_type=MERGE)
    assert stale.status == 409 and stale.headers["content-length"] == "350"
    assert stale.body == golden("stale-status")

    same = raw.ask(STATUS, "PATCH", PATCH.replace(b"15040", b"15260"), content_type=MERGE)
    assert same.status == 200 and same.json()["metadata"]["resourceVersion"] == "15260"
    assert [entry["effect"] for entry in cluster.requests(verb="patch")] == ["changed", "refused", "noop"]

    cleared = raw.ask(STATUS, "PATCH", b'{"status":{"loadBalancer":{"ingress":null}}}', content_type=MERGE)
    assert cleared.json()["status"] == {"loadBalancer": {}}


def test_put_with_the_uid_of_a_predecessor(cluster: KubeStandin) -> None:
    stale = json.loads(example("web-c", "15040")) | {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
    stale["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
    raw = RawClient(cluster)
    answer = raw.ask(STATUS, "PUT", json.dumps(stale).encode(), content_type="application/json")
    assert (
        answer.status == 409
        and "Precondition failed: UID in precondition: 00000000" in answer.json()["message"]
    )
    patch = b'{"metadata":{"uid":"00000000-0000-4000-8000-000000000000"}}'
    answer = raw.ask(STATUS, "PATCH", patch, content_type=MERGE)
    assert answer.status == 422 and answer.json()["details"]["causes"][0]["field"] == "metadata.uid"


def test_status_write_to_an_object_that_is_gone(raw: RawClient) -> None:
    answer = raw.ask(
        STATUS.replace("web-c", "web-z"), "PATCH", b'{"status":{"loadBalancer":{}}}', content_type=MERGE
    )
    assert answer.status == 404 and answer.headers["content-length"] == "234"
    assert answer.body == golden("not-found")


def test_invalid_status_value(cluster: KubeStandin) -> None:
    answer = RawClient(cluster).ask(
        STATUS, "PATCH", b'{"status":{"loadBalancer":{"ingress":[{"ip":"lb1"}]}}}', content_type=MERGE
    )
    assert answer.status == 422 and answer.headers["content-length"] == "536"
    assert answer.body == golden("invalid-status")


LEASES = "/apis/coordination.k8s.io/v1/namespaces/lb/leases"


def lease(**spec: Any) -> bytes:
    """A Lease document."""
    return json.dumps(
        {
            "kind": "Lease",
            "apiVersion": "coordination.k8s.io/v1",
            "metadata": {"name": "lb-leader", "namespace": "lb"},
            "spec": {"holderIdentity": "node1_5c1f", "leaseDurationSeconds": 15, **spec},
        }
    ).encode()


def test_lease(kube: KubeStandin, raw: RawClient) -> None:
    made = raw.ask(LEASES, "POST", lease(acquireTime="2026-07-14T09:00:00.000000Z"))
    assert made.status == 201
    rival = raw.ask(LEASES, "POST", lease())
    assert rival.status == 409 and rival.json()["reason"] == "AlreadyExists"
    assert rival.json()["message"] == 'leases.coordination.k8s.io "lb-leader" already exists'
    assert raw.ask(LEASES + "/lb-leader", "PUT", lease()).status == 422
    renewed = made.json()
    renewed["spec"]["renewTime"] = "2026-07-14T09:30:00.123456Z"
    answer = raw.ask(LEASES + "/lb-leader", "PUT", json.dumps(renewed).encode())
    assert answer.status == 200 and answer.json()["spec"]["renewTime"] == "2026-07-14T09:30:00.123456Z"
    assert answer.json()["metadata"]["resourceVersion"] != made.json()["metadata"]["resourceVersion"]
    assert raw.ask(LEASES + "/lb-leader", "PUT", json.dumps(renewed).encode()).status == 409
    assert raw.ask(LEASES, "POST", lease(renewTime="2026-07-14T09:30:00Z")).status == 400


def test_event(kube: KubeStandin, raw: RawClient) -> None:
    event: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "web-c.18a1f3c2d4e5f607", "namespace": "default"},
        "involvedObject": {
            "kind": "Ingress",
            "namespace": "default",
            "name": "web-c",
            "uid": UIDS["web-c"],
            "apiVersion": "networking.k8s.io/v1",
            "resourceVersion": "15260",
        },
        "reason": "Sync",
        "message": "Scheduled for sync",
        "source": {"component": "lb-watch"},
        "firstTimestamp": "2026-07-14T09:30:00Z",
        "lastTimestamp": "2026-07-14T09:30:00Z",
        "count": 1,
        "type": "Normal",
        "eventTime": None,
        "reportingComponent": "lb-watch",
        "reportingInstance": "node1",
    }
    answer = raw.ask("/api/v1/namespaces/default/events", "POST", json.dumps(event).encode())
    assert answer.status == 201
    body = answer.body.decode()
    assert body.endswith(
        '"count":1,"type":"Normal","eventTime":null,'
        '"reportingComponent":"lb-watch","reportingInstance":"node1"}\n'
    )
    event["metadata"]["name"], event["involvedObject"]["namespace"] = "other", "elsewhere"
    assert raw.ask("/api/v1/namespaces/default/events", "POST", json.dumps(event).encode()).status == 422


def test_all_versions_show_one_object(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.20")
    kube.api.create(ingress("web"))
    raw = RawClient(kube)
    versions = [
        raw.ask(f"/apis/{version}/namespaces/default/ingresses/web")
        for version in ("networking.k8s.io/v1", "networking.k8s.io/v1beta1", "extensions/v1beta1")
    ]
    documents = [answer.json() for answer in versions]
    assert (
        len(
            {(document["metadata"]["uid"], document["metadata"]["resourceVersion"]) for document in documents}
        )
        == 1
    )
    assert documents[1]["spec"]["rules"][0]["http"]["paths"][0]["backend"] == {
        "serviceName": "web",
        "servicePort": 80,
    }
