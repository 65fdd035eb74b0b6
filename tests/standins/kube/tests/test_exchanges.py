# SPDX-License-Identifier: Apache-2.0
"""The exchanges that documents and sources of Kubernetes describe, byte by byte where they are fixed."""

from __future__ import annotations

import base64
import json
from typing import Any, Callable

import pytest

from standins.kube.client import KubeStandin

from .conftest import ingress
from .raw import INGRESSES, RawClient

UIDS = {"web-a": "4a42242c-bc17-4bf5-8b7a-d01076fa5270", "web-b": "969322ea-45d4-44d2-859e-8a7850cd4c68",
        "web-c": "3ba0edc5-75a3-4d7d-81e0-f2ab5d49eb97", "web-d": "b03b1aab-671d-49c5-8c55-3a57ef581c5a"}
TOKEN = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTUwNDIsInN0YXJ0IjoiZGVmYXVsdC93ZWItYlx1MDAwMCJ9"


def place(kube: KubeStandin, name: str, revision: int, status: dict[str, Any] | None = None, generation: int = 1) -> None:
    """Stores one of the example Ingresses under a given revision."""
    kube.bump(revision - 1 - kube.control("GET", "info")["revision"])
    backend = {"service": {"name": name, "port": {"number": 80}}}
    kube.put_object("ingresses", {
        "metadata": {"name": name, "namespace": "default", "uid": UIDS[name], "generation": generation,
                     "creationTimestamp": "2026-07-14T09:00:00Z"},
        "spec": {"ingressClassName": "lb", "rules": [{"host": f"{name}.example.org", "http": {
            "paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]},
        "status": {"loadBalancer": status or {}}})


def example(name: str, revision: str, generation: int = 1, status: str = "{}") -> str:
    """The example Ingress as an item of a list."""
    return ('{"metadata":{"name":"%s","namespace":"default","uid":"%s","resourceVersion":"%s","generation":%d,'
            '"creationTimestamp":"2026-07-14T09:00:00Z"},"spec":{"ingressClassName":"lb","rules":[{"host":"%s.example.org",'
            '"http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"%s","port":{"number":80}}}}]}}]},'
            '"status":{"loadBalancer":%s}}' % (name, UIDS[name], revision, generation, name, name, status))


@pytest.fixture
def cluster(start: Callable[..., KubeStandin]) -> KubeStandin:
    """The three example Ingresses under the revisions of the examples."""
    kube = start("1.34", "--first-revision", "14000", "--controller-user", "system:serviceaccount:lb:watcher")
    place(kube, "web-b", 14990, {"ingress": [{"ip": "192.0.2.10"}]})
    place(kube, "web-a", 15001)
    place(kube, "web-c", 15040)
    kube.bump(2)
    return kube


def test_discovery_of_a_group_version(raw: RawClient) -> None:
    answer = raw.ask("/apis/networking.k8s.io/v1")
    assert answer.status == 200 and answer.headers["content-length"] == "652"
    assert answer.body == (
        b'{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"networking.k8s.io/v1","resources":[{"name":"ingressclasses",'
        b'"singularName":"ingressclass","namespaced":false,"kind":"IngressClass","verbs":["create","delete","deletecollection",'
        b'"get","list","patch","update","watch"],"storageVersionHash":"l/iqIbDgFyQ="},{"name":"ingresses","singularName":"ingress",'
        b'"namespaced":true,"kind":"Ingress","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],'
        b'"shortNames":["ing"],"storageVersionHash":"39NQlfNR+bo="},{"name":"ingresses/status","singularName":"","namespaced":true,'
        b'"kind":"Ingress","verbs":["get","patch","update"]}]}\n')
    assert {"audit-id", "cache-control", "date", "x-kubernetes-pf-flowschema-uid"} <= answer.headers.keys()


@pytest.mark.parametrize("path", ["/apis/networking.k8s.io/v1beta1/ingresses?limit=500", "/apis/networking.k8s.io/v1beta1"])
def test_served_group_without_the_version(raw: RawClient, path: str) -> None:
    answer = raw.ask(path)
    assert answer.status == 404 and answer.headers["content-length"] == "174"
    assert answer.body == (b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not '
                           b'find the requested resource","reason":"NotFound","details":{},"code":404}\n')


def test_group_that_is_not_served(raw: RawClient) -> None:
    answer = raw.ask("/apis/extensions/v1beta1/ingresses")
    assert answer.status == 404 and answer.body == b"404 page not found\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_pages(cluster: KubeStandin) -> None:
    raw = RawClient(cluster)
    first = raw.ask(f"{INGRESSES}?limit=2")
    assert first.headers["content-length"] == "1048"
    assert first.body.decode() == (
        '{"kind":"IngressList","apiVersion":"networking.k8s.io/v1","metadata":{"resourceVersion":"15042","continue":"' + TOKEN
        + '","remainingItemCount":1},"items":[' + example("web-a", "15001") + ","
        + example("web-b", "14990", status='{"ingress":[{"ip":"192.0.2.10"}]}') + "]}\n")
    cluster.bump(100)
    last = raw.ask(f"{INGRESSES}?limit=2&continue={TOKEN}")
    assert last.headers["content-length"] == "502"
    assert last.body.decode() == ('{"kind":"IngressList","apiVersion":"networking.k8s.io/v1","metadata":{"resourceVersion":"15042"},'
                                  '"items":[' + example("web-c", "15040") + "]}\n")
    both = raw.ask(f"{INGRESSES}?limit=2&resourceVersion=5&continue={TOKEN}")
    assert both.status == 400


def test_expired_continue_token(cluster: KubeStandin) -> None:
    cluster.bump(10)
    cluster.forget()
    answer = RawClient(cluster).ask(f"{INGRESSES}?limit=2&continue={TOKEN}")
    document = answer.json()
    assert answer.status == 410 and document["reason"] == "Expired" and document["code"] == 410
    again = document["metadata"]["continue"]
    assert json.loads(base64.urlsafe_b64decode(again + "==")) == {"v": "meta.k8s.io/v1", "rv": -1, "start": "default/web-b\x00"}
    rest = RawClient(cluster).ask(f"{INGRESSES}?limit=2&continue={again}").json()
    assert [item["metadata"]["name"] for item in rest["items"]] == ["web-c"]
    assert rest["metadata"]["resourceVersion"] == "15052"


@pytest.mark.parametrize("query", ["resourceVersion=12&resourceVersionMatch=Exact", "resourceVersion=12&limit=500"])
def test_list_at_a_compacted_revision(raw: RawClient, query: str) -> None:
    answer = raw.ask(f"{INGRESSES}?{query}")
    assert answer.status == 410 and answer.headers["content-length"] == "165"
    assert answer.body == (b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"The resourceVersion for '
                           b'the provided list is too old.","reason":"Expired","code":410}\n')


def test_watch_frames_and_a_clean_end(cluster: KubeStandin) -> None:
    cluster.settings(final_bookmark_s=0.2)
    with RawClient(cluster).watch(f"{INGRESSES}?resourceVersion=15042&allowWatchBookmarks=true&timeoutSeconds=1") as stream:
        cluster.wait_streams(1)
        place(cluster, "web-d", 15051)
        place(cluster, "web-a", 15077, generation=2)
        cluster.bump(15099 - 15077)
        cluster.delete_objects("ingresses", "default", "web-a")
        cluster.bump(15230 - 15100)
        assert stream.ending() == "zero-chunk"
    head = '","object":{"kind":"Ingress","apiVersion":"networking.k8s.io/v1",'
    assert [chunk.decode() for chunk in stream.answer.chunks] == [
        '{"type":"ADDED' + head + example("web-d", "15051")[1:] + "}\n",
        '{"type":"MODIFIED' + head + example("web-a", "15077", 2)[1:] + "}\n",
        '{"type":"DELETED' + head + example("web-a", "15100", 2)[1:] + "}\n",
        '{"type":"BOOKMARK' + head + '"metadata":{"resourceVersion":"15230"},"spec":{},"status":{"loadBalancer":{}}}}\n']
    assert [len(chunk) for chunk in stream.answer.chunks] == [0x1d9, 0x1dc, 0x1db, 0xa2]


@pytest.mark.parametrize("path, shape", [
    ("/api/v1/services", '"kind":"Service","apiVersion":"v1","metadata":{%s},"spec":{},"status":{"loadBalancer":{}}'),
    ("/api/v1/secrets", '"kind":"Secret","apiVersion":"v1","metadata":{%s}'),
    ("/apis/discovery.k8s.io/v1/endpointslices", '"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{%s},'
     '"addressType":"","endpoints":null,"ports":null'),
    ("/api/v1/endpoints", '"kind":"Endpoints","apiVersion":"v1","metadata":{%s}'),
    ("/apis/networking.k8s.io/v1/ingressclasses", '"kind":"IngressClass","apiVersion":"networking.k8s.io/v1","metadata":{%s},"spec":{}'),
])
def test_bookmarks_of_other_kinds(kube: KubeStandin, raw: RawClient, path: str, shape: str) -> None:
    kube.settings(bookmark_period_s=0.05)
    revision = kube.control("GET", "info")["revision"]
    with raw.watch(f"{path}?resourceVersion={revision}&allowWatchBookmarks=true") as stream:
        chunk = stream.read_chunk()
    assert chunk is not None
    assert chunk.decode() == '{"type":"BOOKMARK","object":{%s}}\n' % (shape % f'"resourceVersion":"{revision}"')


def test_bookmarks_of_older_servers_show_a_null_time(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.33")
    kube.settings(bookmark_period_s=0.05)
    with RawClient(kube).watch("/api/v1/secrets?resourceVersion=15003&allowWatchBookmarks=true") as stream:
        assert b'"metadata":{"resourceVersion":"15003","creationTimestamp":null}' in (stream.read_chunk() or b"")


def test_watch_from_a_forgotten_revision(cluster: KubeStandin) -> None:
    cluster.forget(14801, lists=False)
    with RawClient(cluster).watch(f"{INGRESSES}?resourceVersion=900&allowWatchBookmarks=true&timeoutSeconds=420") as stream:
        assert stream.answer.status == 200
        assert stream.ending() == "zero-chunk"
    assert stream.answer.chunks == [
        b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource '
        b'version: 900 (14801)","reason":"Expired","code":410}}\n']


STREAMING = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=&allowWatchBookmarks=true&timeoutSeconds=480"


def test_streaming_list(cluster: KubeStandin) -> None:
    cluster.bump(15230 - 15042)
    with RawClient(cluster).watch(f"{INGRESSES}?{STREAMING}") as stream:
        start = stream.frames(4)
        place(cluster, "web-c", 15244, generation=2)
        live = stream.frames(1)[0]
    assert [frame["object"]["metadata"].get("name") for frame in start] == ["web-a", "web-b", "web-c", None]
    assert start[3] == {"type": "BOOKMARK", "object": {
        "kind": "Ingress", "apiVersion": "networking.k8s.io/v1",
        "metadata": {"resourceVersion": "15230", "annotations": {"k8s.io/initial-events-end": "true"}},
        "spec": {}, "status": {"loadBalancer": {}}}}
    assert live["type"] == "MODIFIED" and live["object"]["metadata"]["resourceVersion"] == "15244"


def test_streaming_list_refused(start: Callable[..., KubeStandin]) -> None:
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    answer = RawClient(start("1.33")).ask(f"{INGRESSES}?{query}")
    assert answer.status == 422 and answer.headers["content-length"] == "504"
    assert answer.body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ListOptions.meta.k8s.io \\"\\" is invalid: '
        b'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",'
        b'"reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden",'
        b'"message":"Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",'
        b'"field":"sendInitialEvents"}]},"code":422}\n')
    answer = RawClient(start("1.26")).ask(f"{INGRESSES}?{query}")
    assert answer.status == 422
    assert answer.body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ListOptions.meta.k8s.io \\"\\" is invalid: '
        b'[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch, resourceVersionMatch: Forbidden: '
        b'resourceVersionMatch is forbidden unless resourceVersion is provided]","reason":"Invalid","details":{"group":"meta.k8s.io",'
        b'"kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: resourceVersionMatch is forbidden for '
        b'watch","field":"resourceVersionMatch"},{"reason":"FieldValueForbidden","message":"Forbidden: resourceVersionMatch is '
        b'forbidden unless resourceVersion is provided","field":"resourceVersionMatch"}]},"code":422}\n')


def test_bad_token(kube: KubeStandin) -> None:
    answer = RawClient(kube, token="wrong").ask(f"{INGRESSES}?limit=500")
    assert answer.status == 401 and answer.headers["content-length"] == "129"
    assert answer.body == (b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized",'
                           b'"reason":"Unauthorized","code":401}\n')
    assert not any(name.startswith("x-kubernetes-pf") for name in answer.headers) and "www-authenticate" not in answer.headers


def test_denied(cluster: KubeStandin) -> None:
    cluster.deny("list", "ingresses")
    answer = RawClient(cluster).ask(f"{INGRESSES}?limit=500")
    assert answer.status == 403 and answer.headers["content-length"] == "347"
    assert answer.body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ingresses.networking.k8s.io is forbidden: '
        b'User \\"system:serviceaccount:lb:watcher\\" cannot list resource \\"ingresses\\" in API group \\"networking.k8s.io\\" at the '
        b'cluster scope","reason":"Forbidden","details":{"group":"networking.k8s.io","kind":"ingresses"},"code":403}\n')


def test_denied_in_a_namespace_without_credentials(kube: KubeStandin) -> None:
    answer = RawClient(kube, token="").ask("/api/v1/namespaces/shop/secrets", Authorization="")
    assert answer.status == 403
    assert answer.json()["message"] == ('secrets is forbidden: User "system:anonymous" cannot list resource "secrets" in API group '
                                        '"" in the namespace "shop"')
    assert "group" not in answer.json()["details"]


@pytest.mark.parametrize("name, status, length, body, headers", [
    ("throttled", 429, "43", b"Too many requests, please try again later.\n",
     {"retry-after": "1", "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}),
    ("throttled-json", 429, "181",
     b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"storage is (re)initializing",'
     b'"reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}\n', {"retry-after": "1"}),
    ("starting", 503, "248",
     b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the request has been made before all known '
     b'HTTP paths have been installed, please try again","reason":"ServiceUnavailable","details":{"retryAfterSeconds":5},'
     b'"code":503}\n', {"retry-after": "5"}),
    ("internal", 500, "233",
     b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Internal error occurred: etcdserver: leader '
     b'changed","reason":"InternalError","details":{"causes":[{"message":"etcdserver: leader changed"}]},"code":500}\n', {}),
    ("too-large-revision", 504, "292",
     b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 999999, '
     b'current: 15230","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource '
     b'version"}],"retryAfterSeconds":1},"code":504}\n', {"retry-after": "1"}),
    ("deadline", 504, "151",
     b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",'
     b'"reason":"Timeout","details":{},"code":504}', {"content-type": "text/plain; charset=utf-8"}),
])
def test_server_trouble(kube: KubeStandin, raw: RawClient, name: str, status: int, length: str, body: bytes,
                        headers: dict[str, str]) -> None:
    kube.fault("respond", {"resource": "ingresses"}, with_=name, count=1)
    answer = raw.ask(f"{INGRESSES}?limit=500")
    assert (answer.status, answer.body) == (status, body)
    assert answer.headers["content-length"] == length
    assert headers.items() <= answer.headers.items()
    assert raw.ask(f"{INGRESSES}?limit=500").status == 200


def test_list_from_the_future(kube: KubeStandin, raw: RawClient) -> None:
    kube.settings(too_large_wait_s=0.05)
    answer = raw.ask(f"{INGRESSES}?resourceVersion=99999999")
    assert answer.status == 504 and answer.headers["retry-after"] == "1"
    assert answer.json()["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


STATUS = "/apis/networking.k8s.io/v1/namespaces/default/ingresses/web-c/status?fieldManager=lb-status"
MERGE = "application/merge-patch+json"
PATCH = b'{"metadata":{"resourceVersion":"15040"},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.20"}]}}}'


def test_status_patch_and_a_stale_one(cluster: KubeStandin) -> None:
    raw = RawClient(cluster)
    cluster.bump(15259 - 15042)
    answer = raw.ask(STATUS, "PATCH", PATCH, content_type=MERGE)
    assert answer.status == 200 and answer.headers["content-length"] == "714"
    document = answer.json()
    assert document["metadata"]["resourceVersion"] == "15260" and document["metadata"]["generation"] == 1
    entry = document["metadata"]["managedFields"][0]
    assert entry | {"time": ""} == {
        "manager": "lb-status", "operation": "Update", "apiVersion": "networking.k8s.io/v1", "time": "", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}, "subresource": "status"}
    assert document["status"] == {"loadBalancer": {"ingress": [{"ip": "192.0.2.20"}]}}

    stale = raw.ask(STATUS, "PATCH", PATCH, content_type=MERGE)
    assert stale.status == 409 and stale.headers["content-length"] == "350"
    assert stale.body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Operation cannot be fulfilled on '
        b'ingresses.networking.k8s.io \\"web-c\\": the object has been modified; please apply your changes to the latest version and '
        b'try again","reason":"Conflict","details":{"name":"web-c","group":"networking.k8s.io","kind":"ingresses"},"code":409}\n')

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
    assert answer.status == 409 and "Precondition failed: UID in precondition: 00000000" in answer.json()["message"]
    patch = b'{"metadata":{"uid":"00000000-0000-4000-8000-000000000000"}}'
    answer = raw.ask(STATUS, "PATCH", patch, content_type=MERGE)
    assert answer.status == 422 and answer.json()["details"]["causes"][0]["field"] == "metadata.uid"


def test_status_write_to_an_object_that_is_gone(raw: RawClient) -> None:
    answer = raw.ask(STATUS.replace("web-c", "web-z"), "PATCH", b'{"status":{"loadBalancer":{}}}', content_type=MERGE)
    assert answer.status == 404 and answer.headers["content-length"] == "234"
    assert answer.body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ingresses.networking.k8s.io \\"web-z\\" not '
        b'found","reason":"NotFound","details":{"name":"web-z","group":"networking.k8s.io","kind":"ingresses"},"code":404}\n')


def test_apply_meets_another_owner(cluster: KubeStandin) -> None:
    raw = RawClient(cluster)
    raw.ask(STATUS, "PATCH", PATCH, content_type=MERGE)
    body = (b'{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"web-c"},"status":{"loadBalancer":{"ingress":'
            b'[{"hostname":"lb.example.org"}]}}}')
    target = STATUS.replace("lb-status", "lb-two")
    answer = raw.ask(target, "PATCH", body, content_type="application/apply-patch+yaml")
    assert answer.status == 409 and answer.headers["content-length"] == "494"
    details = answer.json()["details"]
    assert list(details) == ["causes"] and details["causes"][0]["field"] == ".status.loadBalancer.ingress"
    assert details["causes"][0]["message"].startswith('conflict with "lb-status" with subresource "status" using networking.k8s.io/v1 at ')
    taken = raw.ask(target + "&force=true", "PATCH", body, content_type="application/apply-patch+yaml")
    assert taken.json()["status"]["loadBalancer"]["ingress"] == [{"hostname": "lb.example.org"}]
    assert [entry["manager"] for entry in taken.json()["metadata"]["managedFields"]] == ["lb-two"]


def test_invalid_status_value(cluster: KubeStandin) -> None:
    answer = RawClient(cluster).ask(STATUS, "PATCH", b'{"status":{"loadBalancer":{"ingress":[{"ip":"lb1"}]}}}', content_type=MERGE)
    assert answer.status == 422 and answer.headers["content-length"] == "536"
    assert answer.body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Ingress.networking.k8s.io \\"web-c\\" is '
        b'invalid: status.loadBalancer.ingress[0].ip: Invalid value: \\"lb1\\": must be a valid IP address, (e.g. 10.9.8.7 or '
        b'2001:db8::ffff)","reason":"Invalid","details":{"name":"web-c","group":"networking.k8s.io","kind":"Ingress","causes":'
        b'[{"reason":"FieldValueInvalid","message":"Invalid value: \\"lb1\\": must be a valid IP address, (e.g. 10.9.8.7 or '
        b'2001:db8::ffff)","field":"status.loadBalancer.ingress[0].ip"}]},"code":422}\n')


LEASES = "/apis/coordination.k8s.io/v1/namespaces/lb/leases"


def lease(**spec: Any) -> bytes:
    """A Lease document."""
    return json.dumps({"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "lb-leader", "namespace": "lb"},
                       "spec": {"holderIdentity": "node1_5c1f", "leaseDurationSeconds": 15, **spec}}).encode()


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
    event = {"kind": "Event", "apiVersion": "v1", "metadata": {"name": "web-c.18a1f3c2d4e5f607", "namespace": "default"},
             "involvedObject": {"kind": "Ingress", "namespace": "default", "name": "web-c", "uid": UIDS["web-c"],
                                "apiVersion": "networking.k8s.io/v1", "resourceVersion": "15260"},
             "reason": "Sync", "message": "Scheduled for sync", "source": {"component": "lb-watch"},
             "firstTimestamp": "2026-07-14T09:30:00Z", "lastTimestamp": "2026-07-14T09:30:00Z", "count": 1, "type": "Normal",
             "eventTime": None, "reportingComponent": "lb-watch", "reportingInstance": "node1"}
    answer = raw.ask("/api/v1/namespaces/default/events", "POST", json.dumps(event).encode())
    assert answer.status == 201
    body = answer.body.decode()
    assert body.endswith('"count":1,"type":"Normal","eventTime":null,"reportingComponent":"lb-watch","reportingInstance":"node1"}\n')
    newer = raw.ask("/apis/events.k8s.io/v1/namespaces/default/events/web-c.18a1f3c2d4e5f607").json()
    assert newer["regarding"]["name"] == "web-c" and newer["note"] == "Scheduled for sync" and newer["deprecatedCount"] == 1
    event["metadata"]["name"], event["involvedObject"]["namespace"] = "other", "elsewhere"
    assert raw.ask("/api/v1/namespaces/default/events", "POST", json.dumps(event).encode()).status == 422


def test_all_versions_show_one_object(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.20")
    kube.api.create(ingress("web"))
    raw = RawClient(kube)
    versions = [raw.ask(f"/apis/{version}/namespaces/default/ingresses/web")
                for version in ("networking.k8s.io/v1", "networking.k8s.io/v1beta1", "extensions/v1beta1")]
    documents = [answer.json() for answer in versions]
    assert len({(document["metadata"]["uid"], document["metadata"]["resourceVersion"]) for document in documents}) == 1
    assert documents[1]["spec"]["rules"][0]["http"]["paths"][0]["backend"] == {"serviceName": "web", "servicePort": 80}
    assert "warning" not in versions[0].headers
    assert versions[2].headers["warning"] == ('299 - "extensions/v1beta1 Ingress is deprecated in v1.14+, unavailable in v1.22+; use '
                                              'networking.k8s.io/v1 Ingress"')
