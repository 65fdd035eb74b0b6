# SPDX-License-Identifier: Apache-2.0
"""Faults of single requests, of credentials and of the network; the log and the counters."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from standins.kube.client import ControlFailure, KubeStandin
from standins.kube.public import KubeApi

from .conftest import ingress
from .raw import INGRESSES, RawClient

ONE = "/apis/networking.k8s.io/v1/namespaces/default/ingresses/a"
MERGE = "application/merge-patch+json"


def test_counts_skips_and_scopes(kube: KubeStandin, raw: RawClient) -> None:
    fault = kube.fault(
        "respond",
        {"verb": "list", "resource": ["ingresses", "services"], "identity": "controller"},
        with_="throttled",
        skip=1,
        count=2,
    )
    got = [raw.ask(INGRESSES).status for _ in range(5)]
    assert got == [200, 429, 429, 200, 200]
    assert [(entry["id"], entry["hits"], entry["spent"]) for entry in kube.faults()] == [(fault, 2, True)]
    kube.clear(fault)
    kube.fault("respond", {"resource": "ingresses", "identity": "controller"}, with_="internal")
    assert raw.ask(INGRESSES).status == 500 and raw.ask("/api/v1/services").status == 200
    assert kube.api.list("ingresses")["items"] == []


def test_lasting_for_a_time(kube: KubeStandin, raw: RawClient) -> None:
    kube.fault("respond", {"resource": "ingresses"}, with_="starting", for_s=0.2)
    assert raw.ask(INGRESSES).status == 503
    deadline = time.monotonic() + 5
    while (status := raw.ask(INGRESSES).status) != 200 and time.monotonic() < deadline:
        assert status == 503
    assert status == 200


@pytest.mark.parametrize(
    "when, meets",
    [
        ({"namespace": "default"}, True),
        ({"namespace": "shop"}, False),
        ({"name": "a"}, True),
        ({"group": "networking.k8s.io"}, True),
        ({"subresource": "status"}, False),
        ({"path": "ingresses/a$"}, True),
        ({"user_agent": "^lbwatch/"}, True),
        ({"query": "x=1"}, False),
        ({"verb": "*"}, True),
        ({"version": "v1beta1"}, False),
    ],
)
def test_matching(kube: KubeStandin, raw: RawClient, when: dict[str, str], meets: bool) -> None:
    kube.fault("respond", when, with_="unauthorized")
    assert (raw.ask(ONE).status == 401) is meets


@pytest.mark.parametrize(
    "given, header",
    [
        ({}, "1"),
        ({"retry_after": 7}, "7"),
        ({"retry_after": None}, None),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT"}, "Wed, 21 Oct 2026 07:28:00 GMT"),
    ],
)
def test_retry_after(kube: KubeStandin, raw: RawClient, given: dict[str, object], header: str | None) -> None:
    for name in ("throttled", "throttled-json"):
        kube.fault("respond", {"resource": "ingresses"}, with_=name, count=1, **given)
        assert raw.ask(INGRESSES).headers.get("retry-after") == header


@pytest.mark.parametrize(
    "name, status, kind",
    [
        ("html", 502, "text/html"),
        ("garbage", 200, "application/json"),
        ("empty", 200, "application/json"),
        ("not-found-text", 404, "text/plain; charset=utf-8"),
        ("shutting-down", 503, "application/json"),
        ("shutting-down-text", 429, "text/plain; charset=utf-8"),
        ("etcd-timeout", 500, "application/json"),
        ("conflict", 409, "application/json"),
    ],
)
def test_other_answers(kube: KubeStandin, raw: RawClient, name: str, status: int, kind: str) -> None:
    kube.fault("respond", {"resource": "ingresses"}, with_=name)
    answer = raw.ask(ONE)
    assert (answer.status, answer.headers["content-type"]) == (status, kind)
    if name in ("garbage", "empty"):
        with pytest.raises(ValueError):
            answer.json()


def test_custom_answer(kube: KubeStandin, raw: RawClient) -> None:
    kube.fault(
        "respond",
        {"resource": "ingresses"},
        status=302,
        body="moved",
        headers={"Location": "http://127.0.0.1:1/"},
    )
    answer = raw.ask(INGRESSES)
    assert (answer.status, answer.body, answer.headers["location"]) == (302, b"moved", "http://127.0.0.1:1/")


def test_bad_faults_are_refused(kube: KubeStandin) -> None:
    for spec in (
        {"do": "nothing"},
        {"do": "respond", "with": "x"},
        {"do": "delay", "seconds": 1},
        {"do": "hang", "when": {"verbs": 1}},
        {"do": "stream", "end": "soon"},
        {"do": "delay", "ms": -1},
    ):
        with pytest.raises(ControlFailure):
            kube.control("POST", "faults", spec)
    with pytest.raises(ControlFailure):
        kube.settings(no_such_knob=1)
    with pytest.raises(ControlFailure):
        kube.settings(watch_order="sorted")
    assert kube.faults() == []


def test_delay(kube: KubeStandin, raw: RawClient) -> None:
    kube.fault("delay", {"resource": "ingresses"}, ms=150, count=1)
    start = time.monotonic()
    assert raw.ask(INGRESSES).status == 200
    assert time.monotonic() - start >= 0.15
    kube.fault("delay", {"resource": "ingresses"}, ms=60_000, count=1)
    answer = raw.ask(INGRESSES + "?timeout=100ms")
    assert answer.status == 504 and not answer.json().get("kind")


def test_hang(kube: KubeStandin, raw: RawClient) -> None:
    kube.fault("hang", {"resource": "ingresses"}, count=1)
    mark = kube.mark()
    with raw.open(INGRESSES) as stream:
        stream.socket.settimeout(0.2)
        with pytest.raises(socket.timeout):
            stream.socket.recv(1)
    entry = kube.wait_requests(since=mark, resource="ingresses")[0]
    assert (entry["effect"], entry["ended"]) == ("dropped", "client")


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_close_instead_of_an_answer(kube: KubeStandin, raw: RawClient, how: str) -> None:
    kube.fault("close", {"resource": "ingresses"}, how=how, count=1)
    answer = raw.ask(INGRESSES)
    assert (answer.status, answer.end) == (0, how)


@pytest.mark.parametrize("how", ["fin", "rst", "silence"])
def test_cut_bodies(kube: KubeStandin, raw: RawClient, how: str) -> None:
    for number in range(10):
        kube.api.create(ingress(f"a{number}"))
    kube.fault("cut", {"verb": "list"}, how=how, bytes=3000, count=1)
    with raw.open(INGRESSES) as stream:
        answer = stream.whole(0.3)
    assert answer.status == 200 and answer.end == how
    if how != "rst":
        assert len(answer.rest.partition(b"\r\n")[2]) == 3000


def test_slow_writing(kube: KubeStandin, raw: RawClient) -> None:
    for number in range(5):
        kube.api.create(ingress(f"a{number}"))
    size = len(raw.ask(INGRESSES).body)
    kube.fault("slow", {"verb": "list"}, bytes_per_s=size * 4, count=1)
    start = time.monotonic()
    assert len(raw.ask(INGRESSES).body) == size
    assert time.monotonic() - start > 0.2


def test_slow_reading(kube: KubeStandin, raw: RawClient) -> None:
    kube.settings(read_bytes_per_s=2000)
    body = json.dumps(ingress("a", metadata={"annotations": {"x": "y" * 1000}})).encode()
    start = time.monotonic()
    assert raw.ask("/apis/networking.k8s.io/v1/namespaces/default/ingresses", "POST", body).status == 201
    assert time.monotonic() - start > 0.4


def test_write_that_happened_although_the_answer_did_not_come(kube: KubeStandin, raw: RawClient) -> None:
    kube.api.create(ingress("a"))
    patch = b'{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}'
    kube.fault("respond", {"verb": "patch"}, with_="internal", after=True, count=1)
    mark = kube.mark()
    assert raw.ask(ONE + "/status", "PATCH", patch, content_type=MERGE).status == 500
    kube.fault("close", {"verb": "patch"}, how="rst", after=True, count=1)
    assert raw.ask(ONE + "/status", "PATCH", patch.replace(b".1", b".2"), content_type=MERGE).end == "rst"
    assert kube.api.get("ingresses", "a")["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.2"}]
    assert [entry["effect"] for entry in kube.writes(mark)] == ["changed", "changed"]


def test_race(kube: KubeStandin, raw: RawClient) -> None:
    revision = kube.api.create(ingress("a"))["metadata"]["resourceVersion"]
    kube.fault("race", {"verb": "patch", "subresource": "status"}, count=1)
    patch = json.dumps(
        {
            "metadata": {"resourceVersion": revision},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
        }
    ).encode()
    assert raw.ask(ONE + "/status", "PATCH", patch, content_type=MERGE).status == 409
    assert "standin.test/race" in kube.api.get("ingresses", "a")["metadata"]["annotations"]


def test_denials_meet_the_controller_only(kube: KubeStandin, raw: RawClient) -> None:
    fault = kube.deny("patch", "ingresses", subresource="status", namespace="default")
    kube.api.create(ingress("a"))
    assert raw.ask(ONE + "/status", "PATCH", b"{}", content_type=MERGE).status == 403
    kube.api.patch("ingresses", "a", {"status": {}}, subresource="status")
    kube.clear(fault)
    assert raw.ask(ONE + "/status", "PATCH", b"{}", content_type=MERGE).status == 200


def test_denied_watch_is_a_plain_answer(kube: KubeStandin, raw: RawClient) -> None:
    kube.deny("watch", "ingresses")
    answer = raw.ask(INGRESSES + "?watch=true")
    assert answer.status == 403 and answer.end == "length" and answer.json()["kind"] == "Status"


def test_role_rules(kube: KubeStandin, raw: RawClient) -> None:
    kube.rules(
        [
            {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["list", "watch"]},
            {
                "apiGroups": [""],
                "resources": ["secrets"],
                "verbs": ["get"],
                "resourceNames": ["crt"],
                "namespaces": ["default"],
            },
        ]
    )
    asked = {
        INGRESSES: 200,
        ONE: 403,
        "/api/v1/secrets": 403,
        "/api/v1/namespaces/default/secrets/crt": 404,
        "/api/v1/namespaces/shop/secrets/crt": 403,
        "/apis/networking.k8s.io/v1": 200,
        "/apis/extensions/v1beta1/ingresses": 403,
    }
    assert {path: raw.ask(path).status for path in asked} == asked


def test_whoever_has_credentials_may_ask_what_he_may(kube: KubeStandin, raw: RawClient) -> None:
    kube.rules([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}])
    for verb in ("get", "list"):
        wanted = {"spec": {"resourceAttributes": {"verb": verb, "resource": "secrets", "namespace": "default"}}}
        answer = raw.ask("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "POST", json.dumps(wanted).encode())
        assert answer.status == 201 and answer.json()["status"]["allowed"] == (verb == "get")


def test_running_watches_outlive_credentials_and_rules(start: Callable[..., KubeStandin]) -> None:
    kube = start()
    raw = RawClient(kube)
    with raw.watch_now() as stream:
        kube.control("POST", "tokens/expire", {})
        kube.rules([])
        kube.api.create(ingress("a"))
        assert stream.frames(1)[0]["type"] == "ADDED"
        assert raw.ask(INGRESSES).status == 401


def test_token_rotation(start: Callable[..., KubeStandin]) -> None:
    kube = start(service_account_dir=True)
    folder = kube.service_account_dir
    assert folder is not None
    assert sorted(os.listdir(folder))[1:] == ["..data", "ca.crt", "namespace", "token"]
    old, before = kube.token_file.read_text(), os.readlink(folder / "..data")
    assert (folder / "token").read_text() == old
    new = kube.rotate_token(old_expires_in_s=0.2)
    assert kube.token_file.read_text() == new == (folder / "token").read_text() != old
    assert os.readlink(folder / "..data") != before and not (folder / before).exists()
    assert RawClient(kube, old).ask(INGRESSES).status == 200
    deadline = time.monotonic() + 5
    while RawClient(kube, old).ask(INGRESSES).status != 401:
        assert time.monotonic() < deadline
    assert RawClient(kube, new).ask(INGRESSES).status == 200
    other = kube.control("POST", "tokens", {"identity": "someone", "expires_in_s": 60})["token"]
    RawClient(kube, other).ask(INGRESSES)
    assert kube.requests(identity="someone")[0]["status"] == 200


def test_credentials(kube: KubeStandin) -> None:
    administrator = kube.api.request("GET", "/api/v1/secrets")
    assert administrator.status == 200 and kube.requests(resource="secrets")[-1]["identity"] == "admin"
    controller = KubeApi(kube.controller_kubeconfig)
    assert controller.request("GET", "/api/v1/secrets").status == 200
    assert kube.requests(resource="secrets")[-1]["identity"] == "controller"
    controller.close()


def test_tls(start: Callable[..., KubeStandin], tmp_path: Path) -> None:
    kube = start()
    old = tmp_path / "old.crt"
    old.write_bytes(kube.ca_file.read_bytes())

    def names(authority: Path) -> list[str]:
        with socket.create_connection((kube.api.access.host, kube.api.access.port or 0)) as plain:
            context = ssl.create_default_context(cafile=authority)
            context.set_alpn_protocols(["h2", "http/1.1"])
            with context.wrap_socket(plain, server_hostname="kubernetes.default.svc") as secured:
                assert secured.selected_alpn_protocol() == "http/1.1"
                shown: Any = secured.getpeercert()
                return [name for kind, name in shown["subjectAltName"] if kind == "DNS"]

    assert "kubernetes.default.svc" in names(old)
    kube.control("POST", "authority/rotate")
    with pytest.raises(ssl.SSLCertVerificationError):
        names(old)
    assert "localhost" in names(kube.ca_file)


def test_plain_http_and_anonymous_administrators(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.34", "--no-https")
    assert kube.url.startswith("http://")
    assert kube.api.request("GET", "/api/v1/secrets").status == 200
    assert RawClient(kube, token="").ask("/api/v1/secrets", authorization="").status == 200


def test_network_gone_and_back(kube: KubeStandin, raw: RawClient) -> None:
    with raw.watch_now() as stream:
        kube.network("gone")
        assert stream.ending() == "rst"
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            raw.ask(INGRESSES)
    with pytest.raises(ConnectionRefusedError):
        kube.api.list("ingresses")
    kube.network("up")
    assert raw.ask(INGRESSES).status == 200 and kube.api.list("ingresses")["items"] == []


def test_black_hole(kube: KubeStandin, raw: RawClient) -> None:
    kube.network("gone")
    kube.network("black-hole")
    with raw.open(INGRESSES) as stream:
        stream.socket.settimeout(0.2)
        with pytest.raises(socket.timeout):
            stream.socket.recv(1)
        kube.network("up")
    assert raw.ask(INGRESSES).status == 200


def test_dropping_some_connections(kube: KubeStandin, raw: RawClient) -> None:
    with raw.watch_now() as one, raw.watch_now("/api/v1/services") as two:
        assert kube.drop("fin", {"resource": "ingresses", "identity": "controller"}) == 1
        assert one.ending() == "fin"
        assert two.frame(0.1) is None and two.answer.end == "silence"


def test_keep_alive_pipelining_and_close(kube: KubeStandin, raw: RawClient) -> None:
    connection = kube.api.access.connect(5)
    for _ in range(3):
        connection.request("GET", "/version")
        assert connection.getresponse().read()
    connection.close()
    with raw.open("/version") as stream:
        stream.socket.sendall(
            b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n"
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        data = b""
        while more := stream.socket.recv(65536):
            data += more
    assert data.count(b"HTTP/1.1 200 OK") == 3 and data.endswith(b"ok")


def test_malformed_and_oversized_requests(raw: RawClient) -> None:
    with socket.create_connection(raw.address, 5) as plain:
        plain.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
        assert b"400" in plain.recv(1000)
    target = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    with raw.open(target, "POST", Content_Length=str(4 * 1024 * 1024)) as stream:

        def send() -> None:
            try:
                stream.socket.sendall(b" " * (4 * 1024 * 1024))
            except OSError:
                pass

        sender = threading.Thread(target=send)
        sender.start()
        assert stream.read_head().status in (0, 413)
        sender.join()
    assert raw.ask(target, "POST", b"{").status == 400
    assert raw.ask(target, "POST", b"[]").status == 400
    assert raw.ask(target, "POST", b"{}", content_type="text/plain").status == 415


def test_expect_continue(kube: KubeStandin, raw: RawClient) -> None:
    body = json.dumps(ingress("a")).encode()
    with raw.open(
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
        "POST",
        expect="100-continue",
        content_length=str(len(body)),
    ) as stream:
        assert stream.read_head().status == 100
        stream.socket.sendall(body)
        assert stream.whole().status == 201


def test_log_counters_and_waiting(kube: KubeStandin, raw: RawClient) -> None:
    kube.control("DELETE", "requests")
    kube.api.create(ingress("a"))
    patch = b'{"metadata":{"annotations":{"x":"1"}}}'
    waiting = threading.Thread(
        target=lambda: [raw.ask(ONE, "PATCH", patch, content_type=MERGE) for _ in range(2)]
    )
    mark = kube.mark()
    waiting.start()
    found = kube.wait_requests(2, since=mark, verb="patch", resource="ingresses")
    waiting.join()
    assert [(entry["effect"], entry["body"], entry["content_type"]) for entry in found] == [
        ("changed", patch.decode(), MERGE),
        ("noop", patch.decode(), MERGE),
    ]
    assert found[0]["user_agent"] == "lbwatch/0.1 (linux/amd64)" and found[0]["name"] == "a"
    counted = {
        (entry["identity"], entry["verb"], entry["effect"]): entry["count"] for entry in kube.counters()
    }
    assert counted == {
        ("admin", "create", "changed"): 1,
        ("controller", "patch", "changed"): 1,
        ("controller", "patch", "noop"): 1,
    }
    assert kube.requests(effect="noop") == found[1:] and kube.requests(mark, limit=1) == found[1:]
    with pytest.raises(TimeoutError):
        kube.wait_requests(verb="delete", timeout_s=0.05)


def test_start_faults_and_refused_arguments(start: Callable[..., KubeStandin]) -> None:
    kube = start(
        "1.34",
        "--fault",
        '{"do": "respond", "with": "starting", "when": {"group": "networking.k8s.io"}, "count": 1}',
    )
    raw = RawClient(kube)
    assert [raw.ask(INGRESSES).status for _ in range(2)] == [503, 200]
    kube = start("1.34", "--setting", 'split={"cuts": 3}', "--setting", "page_max=7")
    settings = kube.control("GET", "settings")
    assert settings["split"]["cuts"] == 3 and settings["page_max"] == 7
    with pytest.raises(RuntimeError):
        KubeStandin("1.99").start()


def test_the_server_ends_with_its_starter() -> None:
    kube = KubeStandin().start()
    process = kube._process  # what is tested is the process itself
    assert process is not None and process.stdin is not None
    process.stdin.close()
    assert process.wait(10) == 0
    with pytest.raises((ConnectionError, http.client.HTTPException, OSError)):
        kube.api.list("ingresses")
    kube.stop()
