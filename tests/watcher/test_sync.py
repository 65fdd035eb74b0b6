# SPDX-License-Identifier: Apache-2.0
"""From nothing to a whole snapshot: versions, pages, streams, and everything that can go wrong with a list."""
from __future__ import annotations

import pytest

from lib.wait import stays, wait_for

from .conftest import ingress, service

PAGED = "1.31"  # without streaming lists


@pytest.mark.parametrize("profile", ["1.16", "1.18", "1.19", "1.21", "1.25", "1.31", "1.34", "1.37"])
def test_every_release_gives_the_same_records(make_rig, profile):
    rig = make_rig(profile)
    rig.kube.bulk(count=30, namespaces=3, secrets=True)
    rig.start()
    kinds = set(rig.link.connection.settings["kinds"])
    assert kinds == {"ingress", "service", "endpoints", "secret", "config-map"} | ({"ingress-class"} if int(profile[2:]) >= 18 else set())
    for kind in ("ingress", "service", "endpoints", "secret"):
        assert len(rig.link.names(kind)) == 30
    record = rig.link.record("ingress", "app-00001", "bench-1")
    path = record["rules"][0]["paths"][0]
    assert path["path"] == "/" and path["backend"] == {"service": "app-00001", "port_number": 80}
    endpoints = next(record for key, record in rig.link.records.items() if key[0] == "endpoints")
    assert endpoints["service"].startswith("app-") and len(endpoints["subsets"][0]["addresses"]) == 2
    secret = rig.link.record("secret", next(n for n in rig.link.names("secret")).split("/")[1], next(n for n in rig.link.names("secret")).split("/")[0])
    assert b"BEGIN CERTIFICATE" in secret["certificate"] and b"PRIVATE KEY" in secret["private_key"]
    assert rig.writes() == []


def test_settings_carry_the_class_options(rig):
    rig.start("--ingress-class", "lb", "--controller-name", "x.io/y", "--no-watch-ingress-without-class", "--no-ingress-classes")
    settings = rig.link.connection.settings
    assert settings["ingress_class"] == "lb" and settings["controller_name"] == "x.io/y" and "without_class" not in settings
    assert "ingress-class" not in settings["kinds"]


def test_without_the_end_mark_pages_are_used_and_that_is_remembered(rig):
    rig.kube.bulk(count=20)
    rig.kube.settings(end_marker=False)
    rig.start("--stream-timeout", "0.5")
    assert len(rig.link.names("ingress")) == 20
    assert len(rig.watcher.events("no-streaming-lists")) == 1
    mark = rig.kube.mark()
    rig.kube.forget()
    rig.kube.end_streams("error")
    rig.kube.wait_requests(5, since=mark, verb="list", identity="controller")
    assert not [entry for entry in rig.kube.requests(mark) if "sendInitialEvents" in entry["query"]]


def test_only_tls_secrets_are_asked_for(rig):
    rig.kube.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other"}, "type": "Opaque", "stringData": {"a": "b"}})
    rig.start()
    assert rig.link.names("secret") == set()
    asked = rig.kube.requests(resource="secrets", identity="controller")
    assert asked and all("fieldSelector=type%3Dkubernetes.io%2Ftls" in entry["query"] for entry in asked)


# Pages

def test_pages(make_rig):
    rig = make_rig(PAGED)
    rig.kube.bulk(count=50)
    rig.start("--page-size", "7")
    assert len(rig.link.names("ingress")) == 50
    pages = rig.kube.requests(resource="ingresses", verb="list", identity="controller")
    assert len(pages) == 8
    assert all("limit=7" in page["query"] for page in pages)
    assert all("resourceVersion=" not in page["query"] for page in pages)


@pytest.mark.parametrize("page", [{"max": 3}, {"empty": True, "max": 5}, {"null_items": True, "max": 5}])
def test_pages_of_any_size_are_taken_until_the_token_ends(make_rig, page):
    rig = make_rig(PAGED)
    rig.kube.bulk(count=20)
    empty = "empty" in page or "null_items" in page
    rig.kube.fault("page", {"resource": "ingresses", "verb": "list"}, **page, **({"count": 1} if empty else {}))
    rig.start("--page-size", "10")
    assert len(rig.link.names("ingress")) == 20


def test_a_token_that_expires_costs_one_list_in_one_piece(make_rig):
    rig = make_rig(PAGED)
    rig.kube.bulk(count=30)
    rig.kube.fault("respond", {"verb": "list", "resource": "ingresses", "query": "continue="}, with_="expired", count=1)
    rig.start("--page-size", "10")
    assert len(rig.link.names("ingress")) == 30
    queries = [entry["query"] for entry in rig.kube.requests(resource="ingresses", verb="list", identity="controller")]
    assert len(queries) == 3 and "limit" not in queries[2]


def test_a_page_that_fails_is_asked_for_again_and_not_the_whole_list(make_rig):
    rig = make_rig(PAGED)
    rig.kube.bulk(count=30)
    rig.kube.fault("respond", {"verb": "list", "resource": "ingresses", "query": "continue="}, with_="internal", count=3)
    rig.start("--page-size", "10")
    queries = [entry["query"] for entry in rig.kube.requests(resource="ingresses", verb="list", identity="controller")]
    assert len([query for query in queries if "continue" not in query]) == 1
    assert len(rig.link.names("ingress")) == 30


# What can go wrong

LIST_FAULTS = [("respond", {"with_": name}) for name in (
    "throttled", "throttled-json", "starting", "shutting-down", "shutting-down-text", "too-large-revision", "deadline", "internal",
    "etcd-timeout", "unauthorized", "forbidden", "expired", "html", "garbage", "empty", "not-found", "not-found-text")]
LIST_FAULTS += [("respond", {"status": 200, "body": "{}"}), ("respond", {"status": 200, "body": '{"items":[]}'}),
                ("respond", {"status": 302, "body": "", "headers": {"Location": "https://example.invalid/"}}), ("respond", {"status": 418, "body": "x"}),
                ("close", {"how": "fin"}), ("close", {"how": "rst"}), ("cut", {"fraction": 0.6, "how": "fin"}), ("cut", {"fraction": 0.6, "how": "rst"})]


# Each fault meets one of the two ways to list, in turn; with --long it meets both.
FAILING_LISTS = [pytest.param(profile, do, more, marks=[] if (at + of) % 2 == 0 else pytest.mark.long,
                              id=f"{do}-{'-'.join(map(str, more.values()))[:30]}-{profile}")
                 for at, (do, more) in enumerate(LIST_FAULTS) for of, profile in enumerate((PAGED, "1.34"))]


@pytest.mark.parametrize("profile, do, more", FAILING_LISTS)
def test_a_list_that_fails_is_tried_again_and_nothing_half_is_told(make_rig, profile, do, more):
    rig = make_rig(profile)
    rig.kube.bulk(count=10)
    if "with_" in more and more["with_"] in ("throttled", "throttled-json", "starting", "shutting-down", "shutting-down-text", "etcd-timeout",
                                             "too-large-revision"):
        more = {**more, "retry_after": 0.0 or None}
    rig.kube.fault(do, {"verb": ["list", "watch"], "resource": "ingresses", "identity": "controller"}, count=3, **more)
    rig.start()
    assert len(rig.link.names("ingress")) == 10
    assert len(rig.link.connections) == 1
    rig.watcher.wait_event("ready")


def test_retry_after_is_heeded(make_rig):
    rig = make_rig(PAGED)
    rig.kube.fault("respond", {"verb": "list", "resource": "ingresses", "identity": "controller"}, with_="throttled", retry_after=1, count=1)
    rig.start()
    first, second = rig.kube.requests(resource="ingresses", verb="list", identity="controller")[:2]
    assert second["at_ns"] - first["at_ns"] >= 1e9
    line = rig.watcher.wait_event("watch-failed", "cause=throttled")
    assert "retry_s=1.000" in line


def test_discovery_waits_for_a_server_that_starts(rig):
    rig.kube.fault("respond", {"path": "^/apis/networking"}, with_="starting", retry_after=None, count=3)
    rig.kube.fault("respond", {"path": "^/api/v1$"}, with_="forbidden", count=2)
    rig.start()
    assert rig.watcher.events("discovery-failed")


# Readiness

def test_a_kind_that_may_not_be_read_is_named_and_holds_the_snapshot(rig):
    rig.kube.bulk(count=3)
    rig.kube.rules([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["ingresses", "ingressclasses", "services", "endpointslices"]}])
    rig.prepare().start()
    line = rig.watcher.wait_event("not-ready", "secret (")
    line = rig.watcher.wait_event("not-ready", "403 Forbidden")
    assert "secrets is forbidden" in line and "cannot" in line
    wait_for(lambda: "ingress (" not in rig.watcher.events("not-ready")[-1], "the secrets alone are missing")
    rig.watcher.wait_event("forbidden", "kind=secret")
    stays(lambda: not rig.link.messages("sync-begin"), "no snapshot", 0.5)
    rig.kube.rules(None)
    rig.settle()
    rig.watcher.wait_event("ready")


def test_a_kind_that_is_forbidden_later_keeps_its_objects(rig):
    rig.kube.bulk(count=3, secrets=True)
    rig.start()
    rig.watcher.wait_event("ready")
    mark = rig.link.count()
    rig.kube.rules([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["ingresses", "ingressclasses", "services", "endpointslices"]}])
    rig.kube.end_streams("clean", {"resource": "secrets"})
    rig.watcher.wait_event("not-ready", "watch secrets: 403")
    rig.ingress()
    rig.wait_host("a.example")
    assert len(rig.link.names("secret")) == 3 and not rig.link.messages("delete", mark)
    since = len(rig.watcher.lines)
    rig.kube.rules(None)
    rig.watcher.wait_event("ready", since=since)


def test_namespaces(rig):
    for namespace in ("a", "b", "c"):
        rig.ingress(namespace=namespace)
        rig.kube.api.create(service(namespace=namespace))
    rules = [{"verbs": ["list", "watch"], "apiGroups": ["*"], "resources": ["ingresses", "services", "endpointslices", "secrets"], "namespaces": ["a", "b"]},
             {"verbs": ["list", "watch"], "apiGroups": ["*"], "resources": ["ingressclasses"]}]
    rig.kube.rules(rules)
    rig.prepare("--namespace", "a", "--namespace", "b").start()
    rig.link.wait_whole()
    assert rig.link.names("ingress") == {"a/web", "b/web"} and rig.link.names("service") == {"a/web", "b/web"}
    rig.kube.wait_streams(9, identity="controller")
    rig.ingress("new", namespace="b")
    rig.link.wait_record("ingress", "new", "b")
    # A full list of one namespace does not take away what is in the other.
    mark = rig.kube.mark()
    rig.kube.forget()
    rig.kube.end_streams("error", {"namespace": "a"})
    wait_for(lambda: len(rig.lists(mark)) >= 4, "the kinds of namespace a to be listed")
    rig.kube.wait_streams(9, identity="controller")
    assert rig.link.names("ingress") == {"a/web", "b/web", "b/new"}


def test_usage_errors_end_with_2(rig):
    for arguments in (["--namespace", "A/B"], ["--page-size", "0"], ["--ingress-class", "x" * 300]):
        daemon = rig.prepare(*arguments).start()
        assert daemon.process.wait(20) == 2
        daemon.kill()
    rig.watcher = None


# One bad object

def test_one_bad_object_hurts_only_itself_and_its_owner_hears_of_it(rig):
    rig.ingress("good")
    rig.kube.put_object("ingresses", ingress("bad") | {"spec": {"rules": "none"}})
    rig.start()
    assert rig.link.names("ingress") == {"default/good"}
    rig.watcher.wait_event("object-refused", "name=bad")
    event = wait_for(lambda: rig.events("Unusable", "bad"), "an Event")[0]
    assert event["type"] == "Warning" and "spec.rules: must be a list" in event["message"]
    assert event["involvedObject"]["uid"] == rig.kube.objects("ingresses", "default", "bad")[0]["metadata"]["uid"]
    # Mended, it is served; broken again, it stays as it was, and the others go on.
    uid = event["involvedObject"]["uid"]
    rig.kube.put_object("ingresses", ingress("bad", uid=uid))
    record = rig.link.wait_record("ingress", "bad")
    rig.kube.put_object("ingresses", ingress("bad", uid=uid) | {"spec": {"rules": [7]}})
    wait_for(lambda: len(rig.events("Unusable", "bad")) == 2, "another Event")
    rig.rehost("b.example", "good")
    rig.wait_host("b.example", "good")
    assert rig.link.record("ingress", "bad") == record


def test_a_nul_in_an_annotation_makes_nobody_unreadable(rig):
    rig.ingress("nul", annotations={"a": "x\0y"})
    rig.ingress("good")
    rig.start()
    assert rig.link.names("ingress") == {"default/good", "default/nul"}
    assert rig.link.record("ingress", "nul")["annotations"] == [{"key": "a", "value": "x\ufffdy"}]


@pytest.mark.parametrize("profile", [PAGED, "1.34"])
def test_an_object_over_the_limit_is_left_out(make_rig, profile):
    rig = make_rig(profile)
    rig.ingress("big")
    for number in range(5):  # the stand-in takes no more than 3 MiB at once
        rig.kube.patch_object("ingresses", "big", {"metadata": {"annotations": {f"a{number}": "x" * (2 * 1024 * 1024)}}})
    rig.ingress("good")
    rig.start()
    assert rig.link.names("ingress") == {"default/good"} and ("ingress", "default", "big") in rig.link.kept
    rig.watcher.wait_event("object-refused", "longer than an object may be")
    rig.ingress("another")
    rig.link.wait_record("ingress", "another")


def test_the_folder_of_sockets_gets_the_admin_and_nothing_else(rig):
    rig.start()
    assert {path.name for path in rig.runtime.iterdir()} == {"source.sock", "watcher.admin"}
