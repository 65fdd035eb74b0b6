# SPDX-License-Identifier: Apache-2.0
"""Watches: changes arrive, whatever ends, breaks or silences the connection, and nothing is listed that need not be."""
from __future__ import annotations

import json
import re

import pytest

from lib.wait import stays, wait_for
from lib.admin import look

from .conftest import service

WATCHED = {"resource": "ingresses"}


def test_changes_arrive(rig):
    rig.start()
    rig.ingress()
    rig.wait_host("a.example")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    rig.kube.api.delete("ingresses", "web")
    rig.link.wait_gone("ingress", "web")
    assert [kind for kind, _ in rig.link.messages()][-3:] == ["upsert", "upsert", "delete"]


def test_what_translation_does_not_need_is_not_told(rig):
    rig.ingress()
    rig.start()
    mark = rig.link.count()
    rig.kube.api.patch("ingresses", "web", {"metadata": {"labels": {"a": "b"}, "annotations": {"kubectl.kubernetes.io/x": "y"}}})
    rig.kube.api.patch("ingresses", "web", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}, subresource="status")
    rig.kube.api.create(service())
    rig.link.wait_record("service", "web")
    assert [body["kind"] for _, body in rig.link.messages("upsert", mark)] == ["service"]


def test_made_anew_under_its_name(rig):
    rig.ingress()
    rig.start()
    old = rig.link.record("ingress", "web")["uid"]
    mark = rig.link.count()
    rig.kube.api.delete("ingresses", "web")
    rig.ingress(host="b.example")
    new = rig.wait_host("b.example")["uid"]
    told = [(kind, body["uid"]) for kind, body in rig.link.messages(since=mark)]
    assert old != new and told == [("delete", old), ("upsert", new)]


@pytest.mark.parametrize("gap", ["watch", "list"])
def test_made_anew_while_nobody_watched(rig, gap):
    rig.ingress()
    rig.start()
    old = rig.link.record("ingress", "web")["uid"]
    mark = rig.link.count()
    rig.kube.network("gone", drop="rst")
    rig.kube.delete_objects("ingresses", "default", "web")
    rig.kube.put_object("ingresses", {"metadata": {"name": "web", "namespace": "default"}, "spec": {"rules": [{"host": "b.example"}]}})
    if gap == "list":
        rig.kube.forget()
    rig.kube.network("up")
    new = rig.wait_host("b.example")["uid"]
    told = [(kind, body["uid"]) for kind, body in rig.link.messages(since=mark)]
    assert old != new and told == [("delete", old), ("upsert", new)]


def test_a_slice_may_move_to_another_service(rig):
    rig.kube.bulk(count=1, namespaces=1)
    rig.start()
    name = next(iter(rig.link.names("endpoints"))).split("/")[1]
    rig.kube.patch_object("endpointslices", name, {"metadata": {"labels": {"kubernetes.io/service-name": "other"}}}, "bench-0")
    rig.link.wait_record("endpoints", name, "bench-0", lambda record: record["service"] == "other")


def test_heartbeats_in_endpoints_are_not_told(make_rig):
    rig = make_rig("1.16")
    rig.kube.fault("respond", {"path": "^/apis/discovery.k8s.io"}, with_="not-found")
    rig.kube.put_object("endpoints", {"metadata": {"name": "leader", "namespace": "kube-system"}})
    rig.start()
    assert any(entry["resource"] == "endpoints" for entry in rig.kube.requests(verb="watch"))
    mark = rig.link.count()
    for beat in range(5):
        rig.kube.patch_object("endpoints", "leader", {"metadata": {"annotations": {"control-plane.alpha.kubernetes.io/leader": str(beat)}}}, "kube-system")
    rig.kube.api.create(service())
    rig.link.wait_record("service", "web")
    assert not [body for _, body in rig.link.messages("upsert", mark) if body["kind"] == "endpoints"]


# How watches end

@pytest.mark.parametrize("end", ["clean", "fin", "rst", "cut", "cut-rst"])
def test_a_watch_that_ends_goes_on_without_a_list(rig, end):
    rig.ingress()
    rig.start()
    wait_for(lambda: rig.watcher.is_running(), "running")
    mark = rig.kube.mark()
    for host in ("b.example", "c.example"):
        rig.kube.end_streams(end)
        rig.rehost(host)
        rig.wait_host(host)
    assert rig.lists(mark) == []
    assert len(rig.link.connections) == 1


@pytest.mark.parametrize("end, more", [("garbage", {}), ("error", {"with_": "expired"}), ("error", {"with_": "internal"})])
def test_a_watch_that_is_of_no_use_any_more_costs_a_list(rig, end, more):
    rig.ingress()
    rig.ingress("other")
    rig.start()
    mark = rig.kube.mark()
    told = rig.link.count()
    rig.kube.end_streams(end, WATCHED, **more)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert [entry["resource"] for entry in rig.lists(mark)] == ["ingresses"]
    # What did not change is not told again.
    assert {body["name"] for _, body in rig.link.messages(since=told)} == {"web"}


# Lists that lack what was there

def lists_of_ingresses(rig, mark) -> list[str]:
    return [entry["query"] for entry in rig.lists(mark) if entry["resource"] == "ingresses"]


def test_what_two_lists_lack_is_gone(rig):
    rig.ingress()
    rig.ingress("gone")
    rig.start()
    mark = rig.kube.mark()
    told = rig.link.count()
    rig.kube.network("gone", drop="rst")
    rig.kube.delete_objects("ingresses", "default", "gone")
    rig.kube.forget()
    rig.kube.network("up")
    rig.watcher.wait_event("list-lacks", "kind=ingress")
    assert rig.link.messages(since=told) == []
    rig.link.wait_gone("ingress", "gone", timeout=60)
    queries = lists_of_ingresses(rig, mark)
    # The second one asks for the newest, which no cache can answer.
    assert len(queries) == 2 and not re.search(r"(^|[?&])resourceVersion=[0-9]", queries[1])
    assert {body["name"] for _, body in rig.link.messages(since=told)} == {"gone"}


@pytest.mark.parametrize("resource, kind", [("ingresses", "ingress"), ("services", "service"), ("endpointslices", "endpoints")])
def test_a_list_that_is_wrong_for_a_moment_removes_nothing(make_rig, resource, kind):
    rig = make_rig("1.30")
    rig.kube.bulk(count=3, namespaces=1)
    rig.start()
    told = rig.link.count()
    empty = {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1000000000"}, "items": []}
    rig.kube.fault("respond", {"verb": "list", "resource": resource, "identity": "controller"}, status=200, body=json.dumps(empty), count=1)
    rig.kube.end_streams("error", {"resource": resource}, with_="expired")
    rig.watcher.wait_event("list-lacks", f"kind={kind} ")
    wait_for(lambda: len([line for line in rig.watcher.events("kind-resynced") if f"kind={kind} " in line]) == 2, "a second list", 60)
    assert not rig.link.messages(since=told)
    assert len(rig.watcher.events("list-lacks")) == 1


def test_load_shedding_as_a_frame_costs_no_list(rig):
    rig.ingress()
    rig.start()
    mark = rig.kube.mark()
    rig.kube.end_streams("error", WATCHED, with_="throttled-json")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []


def test_watches_that_end_at_once_do_not_list(rig):
    rig.ingress()
    rig.start()
    mark = rig.kube.mark()
    fault = rig.kube.fault("stream", WATCHED, end="clean", after_frames=0, count=5)
    rig.kube.end_streams("clean", WATCHED)
    wait_for(lambda: rig.kube.faults()[0]["spent"], "the fault to be spent")
    rig.kube.clear(fault)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []


@pytest.mark.parametrize("answer", ["throttled", "starting", "internal", "deadline", "unauthorized", "forbidden", "html", "shutting-down"])
def test_a_watch_that_is_refused_goes_on_without_a_list(rig, answer):
    rig.ingress()
    rig.start()
    mark = rig.kube.mark()
    rig.kube.fault("respond", {"verb": "watch", **WATCHED}, with_=answer, count=1 if answer == "starting" else 3, retry_after=None)
    rig.kube.end_streams("rst", WATCHED)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []


@pytest.mark.parametrize("as_status", [True, False], ids=["status", "frame"])
def test_410_in_both_forms(rig, as_status):
    rig.ingress()
    rig.start()
    mark = rig.kube.mark()
    if as_status:
        rig.kube.fault("respond", {"verb": "watch", **WATCHED}, with_="expired", count=1)
        rig.kube.end_streams("clean", WATCHED)
    else:
        rig.kube.network("gone", drop="rst")
        rig.kube.bump(10)
        rig.kube.forget()
        rig.kube.network("up")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert len([entry for entry in rig.lists(mark) if entry["resource"] == "ingresses"]) == 1
    # The list asks for what is not older than what we have, which a cache can answer.
    assert "resourceVersionMatch=NotOlderThan" in rig.lists(mark)[0]["query"] and "resourceVersion=&" not in rig.lists(mark)[0]["query"]


def test_bookmarks_keep_a_quiet_watch_within_the_admin(rig):
    rig.kube.settings(bookmark_period_s=0.1)
    rig.ingress()
    rig.start()
    revision = rig.kube.bump(1000)
    frames = {stream["id"]: stream["frames"] for stream in rig.kube.streams(identity="controller")}
    # The first of these may have been on its way already.
    wait_for(lambda: all(stream["frames"] >= frames[stream["id"]] + 2 for stream in rig.kube.streams(identity="controller")), "bookmarks")
    rig.kube.forget(before=revision)
    mark = rig.kube.mark()
    rig.kube.end_streams("clean")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []


# Bytes

@pytest.mark.parametrize("profile", ["1.31", "1.34", "1.37"])
@pytest.mark.parametrize("split", [{"cuts": 8}, {"cuts": 40, "chunks": True}, {"cuts": 3, "gap_ms": 1}], ids=str)
def test_bytes_may_come_in_any_pieces(make_rig, profile, split):
    rig = make_rig(profile)
    rig.kube.bulk(count=40, secrets=True, annotations={"text": "zwölf Boxkämpfer 你好 \\ \" \n <&>"})
    rig.kube.settings(split=split)
    rig.start("--page-size", "9")
    assert all({"key": "text", "value": "zwölf Boxkämpfer 你好 \\ \" \n <&>"} in record["annotations"]
               for key, record in rig.link.records.items() if key[0] == "ingress")
    rig.ingress("web", "ä.example".encode("idna").decode(), annotations={"a": "→" * 2000})
    assert rig.link.wait_record("ingress", "web")["annotations"][0]["value"] == "→" * 2000


def test_a_slow_server(rig):
    rig.kube.bulk(count=20)
    rig.kube.fault("slow", {"resource": "services", "identity": "controller"}, bytes_per_s=100_000)
    rig.start()
    assert len(rig.link.names("service")) == 20


# Silence

def test_a_silent_watch_is_replaced_before_it_is_dropped(rig):
    rig.kube.settings(bookmark_period_s=0.3)
    rig.ingress()
    rig.start("--watch-silence", "1.5")
    first = rig.kube.streams(resource="ingresses", identity="controller")[0]
    # Two bookmarks make the period known.
    wait_for(lambda: rig.kube.streams(resource="ingresses")[0]["frames"] >= first["frames"] + 3, "bookmarks")
    mark = rig.kube.mark()
    rig.kube.end_streams("silence", WATCHED)
    rig.rehost("b.example")
    rig.watcher.wait_event("watch-replaced", "kind=ingress")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []
    assert {entry["verb"] for entry in rig.kube.requests(mark, resource="ingresses", identity="controller")} == {"watch"}


def test_a_watch_without_bookmarks_is_given_up_at_its_deadline(rig):
    rig.kube.settings(bookmark_period_s=0)
    rig.ingress()
    rig.start("--watch-timeout", "1", "--watch-margin", "1")
    mark = rig.kube.mark()
    rig.kube.end_streams("silence", WATCHED)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []


def test_a_watch_ends_in_time_by_itself(rig):
    rig.ingress()
    rig.start("--watch-timeout", "1")
    mark = rig.kube.mark()
    rig.kube.wait_requests(2, since=mark, verb="watch", resource="ingresses", identity="controller")
    queries = [entry["query"] for entry in rig.kube.requests(mark, verb="watch", resource="ingresses")]
    assert all("timeoutSeconds=1" in query and "allowWatchBookmarks=true" in query for query in queries)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []


def test_a_watch_that_is_not_answered_is_given_up(rig):
    rig.ingress()
    rig.start("--request-timeout", "2")
    mark = rig.kube.mark()
    rig.kube.fault("hang", {"verb": "watch", **WATCHED}, count=2)
    rig.kube.end_streams("rst", WATCHED)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []


@pytest.mark.parametrize("mode", ["gone", "black-hole"])
def test_the_api_server_may_be_away(rig, mode):
    rig.kube.bulk(count=5)
    rig.ingress()
    rig.start("--request-timeout", "3", "--connect-timeout", "3")
    told = rig.link.count()
    mark = rig.kube.mark()
    since = len(rig.watcher.lines)
    rig.kube.network(mode, drop="rst")
    rig.watcher.wait_event("watch-failed", since=since)
    stays(lambda: not rig.link.messages(since=told), "silence on the link", 0.7)
    rig.kube.network("up")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert rig.lists(mark) == []
    assert {body["name"] for _, body in rig.link.messages(since=told)} == {"web"}


def test_a_restarted_api_server_is_followed_within_seconds(rig):
    """With the pauses of real life. A server that is being started refuses for a moment what it has not yet read to be allowed, and has
    no history: the pauses of its absence have nothing to do with either."""
    rig.ingress()
    rig.start("--backoff-first", "0.8", "--backoff-max", "30")
    admin = rig.folder / "run/watcher.admin"
    rig.watcher.wait_event("ready")
    assert look(admin, "/readyz").text == "ready\n"
    mark = rig.kube.mark()
    rig.kube.network("gone", drop="rst")
    rig.watcher.wait_event("watch-failed", "retry_s=3.2", timeout=30)
    assert re.search(r"^what is known is [0-9]+ s old: .*ingress", look(admin, "/readyz").text, re.M)
    rig.kube.bump(10)
    rig.kube.forget()
    rig.kube.fault("respond", {"identity": "controller"}, with_="forbidden", count=7)
    rig.kube.network("up")
    rig.rehost("b.example")
    # At most one pause of a server that is away, and one of a failure that stands alone.
    rig.wait_host("b.example", timeout=8 + 1.6 + 2)
    rig.kube.wait_streams(5, identity="controller")
    wait_for(lambda: look(admin, "/readyz").text == "ready\n", "readiness")
    assert sorted(entry["resource"] for entry in rig.lists(mark)) == [
        "endpointslices", "ingressclasses", "ingresses", "secrets", "services"]
    assert not rig.watcher.events("forbidden")


# The server goes back in time

@pytest.mark.parametrize("is_away", [True, False], ids=["reconnected", "watching"])
def test_a_restored_backup(rig, is_away):
    rig.kube.settings(bookmark_period_s=0.2)
    rig.ingress("kept", "a.example")
    rig.kube.snapshot()
    rig.start()
    rig.rehost("b.example", "kept")
    rig.ingress("lost")
    rig.link.wait_record("ingress", "lost")
    rig.wait_host("b.example", "kept")
    rig.kube.bump(1000)
    told = rig.link.count()
    wait_for(lambda: int(rig.kube.streams(resource="ingresses")[0]["frames"]) >= 2, "a bookmark")
    if is_away:
        rig.kube.network("gone", drop="rst")
        rig.watcher.wait_event("watch-failed", "kind=ingress ")
    rig.kube.restore()
    rig.kube.network("up")
    rig.link.wait_gone("ingress", "lost", timeout=60)
    rig.wait_host("a.example", "kept")
    rig.watcher.wait_event("revision-went-back")
    rig.ingress("later")
    rig.link.wait_record("ingress", "later")
    assert {body["name"] for _, body in rig.link.messages(since=told)} == {"kept", "lost", "later"}


def test_full_lists_now_and_then_find_what_watches_have_missed(rig):
    rig.ingress()
    rig.ingress("other")
    rig.start("--resync", "1")
    told = rig.link.count()
    mark = rig.kube.mark()
    wait_for(lambda: len([entry for entry in rig.lists(mark) if entry["resource"] == "ingresses"]) >= 2, "two full lists")
    assert not rig.link.messages(since=told)
    # Each asks for the newest.
    assert not [entry["query"] for entry in rig.lists(mark) if re.search(r"(^|[?&])resourceVersion=[0-9]", entry["query"])]


# Versions come and go

def test_a_version_that_is_not_served_any_more_is_looked_for_anew(make_rig):
    rig = make_rig("1.20")
    rig.ingress()
    v1 = rig.kube.fault("respond", {"path": "^/apis/networking.k8s.io/v1(/ingresses)?$"}, with_="not-found")
    rig.start("--no-ingress-classes")
    assert {entry["version"] for entry in rig.kube.requests(resource="ingresses", identity="controller")} == {"v1beta1"}
    told = rig.link.count()
    # The cluster is upgraded.
    rig.kube.clear(v1)
    rig.kube.fault("respond", {"path": "^/apis/(networking.k8s.io|extensions)/v1beta1"}, with_="not-found")
    rig.kube.end_streams("rst")
    rig.watcher.wait_event("discovered", "version=networking.k8s.io/v1 ")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert [body["name"] for _, body in rig.link.messages(since=told)] == ["web"]


def test_a_404_that_means_nothing_does_not_loop(rig):
    rig.ingress()
    rig.start()
    mark = rig.kube.mark()
    rig.kube.fault("respond", {"verb": "watch", **WATCHED}, with_="not-found-text", count=1)
    rig.kube.end_streams("rst", WATCHED)
    rig.rehost("b.example")
    rig.wait_host("b.example")
    assert len([entry for entry in rig.lists(mark) if entry["resource"] == "ingresses"]) == 1
    assert rig.link.names("ingress") == {"default/web"}


# Credentials

def test_a_rotated_token_costs_one_refresh_and_no_list(rig):
    rig.ingress()
    rig.start()
    mark = rig.kube.mark()
    rig.kube.rotate_token()
    rig.kube.end_streams("clean")
    rig.rehost("b.example")
    rig.wait_host("b.example")
    rig.kube.wait_streams(5, identity="controller")
    assert rig.lists(mark) == []
    refused = rig.kube.requests(mark, status=401)
    assert 1 <= len(refused) <= 5
    assert len(rig.watcher.events("credentials-refreshed")) == 1


def test_a_token_that_stays_refused_is_told_and_not_hammered(rig):
    rig.ingress()
    rig.start()
    rig.watcher.wait_event("ready")
    rig.kube.control("expire_tokens")
    mark = rig.kube.mark()
    since = len(rig.watcher.lines)
    rig.kube.end_streams("clean")
    rig.watcher.wait_event("not-ready", "401 Unauthorized", since=since)
    assert rig.link.names("ingress") == {"default/web"}
    rig.kube.rotate_token()
    rig.rehost("b.example")
    rig.wait_host("b.example")
    rig.watcher.wait_event("ready", since=since)
    assert rig.lists(mark) == []
