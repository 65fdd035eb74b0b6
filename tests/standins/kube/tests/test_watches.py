# SPDX-License-Identifier: Apache-2.0
"""Watches: start points, what is sent, and every way to end."""

from __future__ import annotations

import json
import zlib
from typing import Any, Callable

import pytest

from standins.kube.client import KubeStandin

from .conftest import ingress, service
from .raw import INGRESSES, RawClient, RawStream

STREAMING = (
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=&allowWatchBookmarks=true"
)


def brief(frames: list[dict[str, Any]]) -> list[str]:
    """TYPE name of each frame."""
    return [f"{frame['type']} {frame['object']['metadata'].get('name', '-')}" for frame in frames]


def test_initial_events_are_in_key_order(kube: KubeStandin, raw: RawClient) -> None:
    for name in ("c", "a", "b"):
        kube.api.create(ingress(name))
    for query in ("", "?resourceVersion=0"):
        with raw.watch(INGRESSES + query) as stream:
            frames = stream.frames(3)
            assert brief(frames) == ["ADDED a", "ADDED b", "ADDED c"]
            assert all(frame["object"]["kind"] == "Ingress" for frame in frames)
            revisions = [int(frame["object"]["metadata"]["resourceVersion"]) for frame in frames]
            assert revisions != sorted(revisions)


def test_only_what_follows_the_revision(kube: KubeStandin, raw: RawClient) -> None:
    kube.api.create(ingress("a"))
    start = kube.control("GET", "info")["revision"]
    kube.api.create(ingress("b"))
    kube.api.patch("ingresses", "a", {"metadata": {"annotations": {"x": "1"}}})
    kube.api.delete("ingresses", "b")
    with raw.watch(f"{INGRESSES}?resourceVersion={start}") as stream:
        frames = stream.frames(3)
        assert brief(frames) == ["ADDED b", "MODIFIED a", "DELETED b"]
        revisions = [int(frame["object"]["metadata"]["resourceVersion"]) for frame in frames]
        assert revisions == sorted(revisions) and revisions[0] > start
        kube.api.create(ingress("b"))
        again = stream.frames(1)[0]
        assert (
            again["type"] == "ADDED"
            and again["object"]["metadata"]["uid"] != frames[0]["object"]["metadata"]["uid"]
        )


def test_future_revision_is_silent_until_it_is_reached(kube: KubeStandin, raw: RawClient) -> None:
    future = kube.control("GET", "info")["revision"] + 2
    with raw.watch(f"{INGRESSES}?resourceVersion={future}") as stream:
        kube.wait_streams(1)
        for name in ("a", "b", "c"):
            kube.api.create(ingress(name))
        assert brief(stream.frames(1)) == ["ADDED c"]


def test_selectors_turn_changes_into_additions_and_deletions(kube: KubeStandin, raw: RawClient) -> None:
    with raw.watch_now(f"{INGRESSES}?labelSelector=app%3Dyes") as stream:
        kube.api.create(ingress("a"))
        kube.api.patch("ingresses", "a", {"metadata": {"labels": {"app": "yes"}}})
        kube.api.patch("ingresses", "a", {"metadata": {"annotations": {"x": "1"}}})
        left = kube.api.patch(
            "ingresses", "a", {"metadata": {"labels": {"app": "no"}, "annotations": {"x": "2"}}}
        )
        frames = stream.frames(3)
    assert brief(frames) == ["ADDED a", "MODIFIED a", "DELETED a"]
    assert frames[2]["object"]["metadata"]["labels"] == {"app": "yes"}
    assert frames[2]["object"]["metadata"]["annotations"] == {"x": "1"}
    assert frames[2]["object"]["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]
    assert kube.api.find("ingresses", "a") is not None


def test_namespace_name_and_type(kube: KubeStandin, raw: RawClient) -> None:
    with raw.watch_now("/apis/networking.k8s.io/v1/namespaces/shop/ingresses") as one, raw.watch_now(
        f"{INGRESSES}?fieldSelector=metadata.name%3Db"
    ) as two, raw.watch_now("/api/v1/secrets?fieldSelector=type%3Dkubernetes.io/tls") as three:
        kube.api.create(ingress("a", "shop"))
        kube.api.create(ingress("b"))
        for name, kind in (("plain", "Opaque"), ("tls", "kubernetes.io/tls")):
            kube.api.create(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": name},
                    "type": kind,
                    "stringData": {"tls.crt": "x", "tls.key": "y"},
                }
            )
        assert brief(one.frames(1)) == ["ADDED a"]
        assert brief(two.frames(1)) == ["ADDED b"]
        assert brief(three.frames(1)) == ["ADDED tls"]


def test_older_versions_see_their_form(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.20")
    kube.api.create(ingress("a"))
    with RawClient(kube).watch("/apis/extensions/v1beta1/ingresses") as stream:
        frame = stream.frames(1)[0]
    assert frame["object"]["apiVersion"] == "extensions/v1beta1"
    assert frame["object"]["spec"]["rules"][0]["http"]["paths"][0]["backend"] == {
        "serviceName": "a",
        "servicePort": 80,
    }


@pytest.mark.parametrize(
    "profile, status, marked",
    [
        ("1.18", 200, False),
        ("1.19", 422, False),
        ("1.26", 422, False),
        ("1.27", 422, False),
        ("1.31", 422, False),
        ("1.32", 200, True),
        ("1.33", 422, False),
        ("1.34", 200, True),
        ("1.37", 200, True),
    ],
)
def test_streaming_lists_by_release(
    start: Callable[..., KubeStandin], profile: str, status: int, marked: bool
) -> None:
    kube = start(profile)
    kube.settings(bookmark_period_s=0.1)
    kube.api.create(service("a"))
    with RawClient(kube).watch(f"/api/v1/services?{STREAMING}") as stream:
        assert stream.answer.status == status
        if status == 200:
            frames = stream.frames(2)
            assert brief(frames) == ["ADDED a", "BOOKMARK -"]
            assert ("annotations" in frames[1]["object"]["metadata"]) is marked


def test_unset_revision_streams_on_newer_servers(kube: KubeStandin, raw: RawClient) -> None:
    with raw.watch(f"{INGRESSES}?allowWatchBookmarks=true") as stream:
        assert stream.frames(1)[0]["object"]["metadata"]["annotations"] == {
            "k8s.io/initial-events-end": "true"
        }
    with raw.watch(f"{INGRESSES}?{STREAMING.replace('&allowWatchBookmarks=true', '')}") as stream:
        assert stream.frame(0.2) is None and stream.answer.end == "silence"


def test_missing_end_marker(kube: KubeStandin, raw: RawClient) -> None:
    kube.api.create(ingress("a"))
    kube.settings(end_marker=False, bookmark_period_s=0.1)
    with raw.watch(f"{INGRESSES}?{STREAMING}") as stream:
        frames = stream.frames(3)
    assert (
        brief(frames) == ["ADDED a", "BOOKMARK -", "BOOKMARK -"]
        and "annotations" not in frames[1]["object"]["metadata"]
    )


@pytest.mark.parametrize(
    "query",
    [
        "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan",
        "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
    ],
)
def test_refused_streaming_parameters(raw: RawClient, query: str) -> None:
    with raw.watch(f"{INGRESSES}?{query}") as stream:
        assert stream.answer.status == 422


def test_streaming_list_from_the_future(kube: KubeStandin, raw: RawClient) -> None:
    kube.settings(too_large_wait_s=0.05)
    query = STREAMING.replace("resourceVersion=&", "resourceVersion=99999999&")
    with raw.watch(f"{INGRESSES}?{query}") as stream:
        frame = stream.frames(1)[0]
        assert frame["type"] == "ERROR" and frame["object"]["code"] == 504
        assert frame["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
        assert stream.ending() == "zero-chunk"


def test_gzip_members_of_the_newest_servers(start: Callable[..., KubeStandin]) -> None:
    kube = start("1.37")
    kube.api.create(ingress("a"))
    raw = RawClient(kube)
    with raw.watch(f"{INGRESSES}?{STREAMING}", accept_encoding="gzip") as stream:
        assert stream.answer.headers["content-encoding"] == "gzip"
        chunks = [stream.read_chunk(), stream.read_chunk()]
        kube.api.create(ingress("b"))
        chunks.append(stream.read_chunk())
    frames = []
    for chunk in chunks:
        member = zlib.decompressobj(31)
        frames.append(json.loads(member.decompress(chunk or b"")))
        assert member.eof
    assert brief(frames) == ["ADDED a", "BOOKMARK -", "ADDED b"]
    with raw.watch(f"{INGRESSES}?resourceVersion={kube.bump()}", accept_encoding="gzip") as stream:
        assert "content-encoding" not in stream.answer.headers


def test_bookmarks_follow_the_counter(kube: KubeStandin, raw: RawClient) -> None:
    kube.settings(bookmark_period_s=0.05)
    with raw.watch_now(f"{INGRESSES}?allowWatchBookmarks=true") as stream:
        moved = kube.bump(7)
        revisions = {int(frame["object"]["metadata"]["resourceVersion"]) for frame in stream.frames(3)}
        assert moved in revisions
    kube.settings(bookmark_period_s=0)
    with raw.watch_now(f"{INGRESSES}?allowWatchBookmarks=true") as stream:
        assert stream.frame(0.2) is None


def test_no_bookmarks_unless_asked(kube: KubeStandin, raw: RawClient) -> None:
    kube.settings(bookmark_period_s=0.02)
    with raw.watch_now() as stream:
        assert stream.frame(0.2) is None and stream.answer.end == "silence"


def test_timeout_ends_cleanly(kube: KubeStandin, raw: RawClient) -> None:
    mark = kube.mark()
    with raw.watch_now(f"{INGRESSES}?timeoutSeconds=1") as stream:
        assert stream.ending() == "zero-chunk"
    assert [entry["ended"] for entry in kube.requests(mark, verb="watch")] == ["timeout"]


def act(kube: KubeStandin, stream: RawStream, end: str) -> str:
    """Ends the stream and reads it out."""
    assert kube.end_streams(end, {"resource": "ingresses"}) == 1
    return stream.ending(0.5)


@pytest.mark.parametrize(
    "end, seen",
    [
        ("clean", "zero-chunk"),
        ("fin", "fin"),
        ("rst", "rst"),
        ("cut", "fin"),
        ("cut-rst", "rst"),
        ("garbage", "zero-chunk"),
        ("error", "zero-chunk"),
        ("silence", "silence"),
    ],
)
def test_ends_of_running_streams(kube: KubeStandin, raw: RawClient, end: str, seen: str) -> None:
    with raw.watch_now() as stream:
        kube.api.create(ingress("a"))
        assert brief(stream.frames(1)) == ["ADDED a"]
        assert act(kube, stream, end) == seen
        if end == "cut":
            assert stream.answer.rest and b"\n" not in stream.answer.rest.partition(b"\r\n")[2]
        if end == "garbage":
            with pytest.raises(ValueError):
                json.loads(stream.answer.chunks[-1])
        if end == "error":
            assert json.loads(stream.answer.chunks[-1])["object"]["code"] == 410


def test_a_clean_end_leaves_the_connection_usable(kube: KubeStandin, raw: RawClient) -> None:
    with raw.watch_now() as stream:
        assert act(kube, stream, "clean") == "zero-chunk"
        stream.socket.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
        assert stream.read_head().status == 200


def test_silence_holds_back_and_resumes(kube: KubeStandin, raw: RawClient) -> None:
    with raw.watch_now() as stream:
        kube.end_streams("silence")
        kube.api.create(ingress("a"))
        assert stream.frame(0.2) is None and stream.answer.end == "silence"
        kube.end_streams("resume")
        assert brief(stream.frames(1)) == ["ADDED a"]


def test_planned_ends(kube: KubeStandin, raw: RawClient) -> None:
    kube.fault("stream", {"verb": "watch", "resource": "ingresses"}, end="cut", after_frames=1, count=1)
    with raw.watch_now() as stream:
        kube.api.create(ingress("a"))
        kube.api.create(ingress("b"))
        assert stream.ending() == "fin"
        assert len(stream.answer.chunks) == 1 and b'"ADDED"' in stream.answer.rest
    kube.fault("stream", {"verb": "watch", "resource": "ingresses"}, end="clean", count=3)
    for _ in range(3):
        with raw.watch(INGRESSES + "?resourceVersion=0") as stream:
            assert stream.ending() == "zero-chunk" and stream.answer.chunks == []
    with raw.watch(INGRESSES + "?resourceVersion=0") as stream:
        assert len(stream.frames(2)) == 2


@pytest.mark.parametrize(
    "answer, code",
    [("expired", 410), ("internal", 500), ("throttled-json", 429), ("too-large-revision", 504)],
)
def test_error_frames(kube: KubeStandin, raw: RawClient, answer: str, code: int) -> None:
    kube.fault("stream", {"verb": "watch"}, end="error", after_frames=0, with_=answer, count=1)
    with raw.watch(INGRESSES) as stream:
        assert stream.answer.status == 200
        frame = stream.frames(1)[0]
        assert frame["type"] == "ERROR" and frame["object"]["code"] == code
        assert stream.ending() == "zero-chunk"


def test_split_frames(kube: KubeStandin, raw: RawClient) -> None:
    kube.settings(split={"cuts": 12, "gap_ms": 0.2})
    for number in range(5):
        kube.api.create(
            ingress(f"a{number}", metadata={"annotations": {"text": "\u00e4\u20ac\U0001f600" * 20}})
        )
    with raw.watch(INGRESSES) as stream:
        assert brief(stream.frames(5)) == [f"ADDED a{number}" for number in range(5)]
        kube.api.delete("ingresses", "a3")
        frame = stream.frames(1)[0]
        assert (
            brief([frame]) == ["DELETED a3"]
            and frame["object"]["metadata"]["annotations"]["text"] == "\u00e4\u20ac\U0001f600" * 20
        )
        for number in range(40):
            kube.api.patch("ingresses", "a1", {"metadata": {"labels": {"number": str(number)}}})
        frames = stream.frames(40)
        assert [frame["object"]["metadata"]["labels"]["number"] for frame in frames] == list(
            map(str, range(40))
        )
        assert not all(chunk.endswith(b"\n") for chunk in stream.answer.chunks)


def test_slow_clients_are_ended(kube: KubeStandin, raw: RawClient) -> None:
    kube.settings(watch_buffer_bytes=200_000)
    with raw.watch_now() as stream:
        for number in range(60):
            kube.put_object(
                "ingresses",
                {
                    "metadata": {
                        "name": f"n{number}",
                        "namespace": "default",
                        "annotations": {"x": "y" * 200_000},
                    },
                    "spec": {},
                    "status": {},
                },
            )
        assert stream.ending() == "zero-chunk"
        assert 0 < len(stream.answer.chunks) < 60


def test_tables_for_kubectl(kube: KubeStandin, raw: RawClient) -> None:
    kube.api.create(ingress("a"))
    with raw.watch(
        INGRESSES, accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    ) as stream:
        first = stream.frames(1)[0]["object"]
        kube.api.create(ingress("b"))
        second = stream.frames(1)[0]["object"]
    assert first["kind"] == "Table" and first["columnDefinitions"] and first["rows"][0]["cells"][0] == "a"
    assert second["columnDefinitions"] is None and second["rows"][0]["cells"][0] == "b"


def test_the_log_tells_of_streams(kube: KubeStandin, raw: RawClient) -> None:
    mark = kube.mark()
    with raw.watch_now() as stream:
        kube.api.create(ingress("a"))
        stream.frames(1)
        running = kube.streams(resource="ingresses")
        assert [entry["frames"] for entry in running] == [1] and running[0]["identity"] == "controller"
        kube.end_streams("rst")
        stream.ending()
    entry = kube.requests(mark, verb="watch")[0]
    assert (entry["frames"], entry["ended"]) == (1, "rst") and kube.streams() == []
