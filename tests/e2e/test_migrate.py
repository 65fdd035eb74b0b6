# SPDX-License-Identifier: Apache-2.0
"""sluicectl migrate and compare by themselves: what they say of manifests, what they send, and what they do not."""
from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
import yaml

from lib.backend import Backend
from lib.certs import self_signed
from lib.ingress_cases import PREFIX, ROWS, ingress_of
from lib.line import build_folder
from lib.markdown import ROOT
from lib.reference import DAEMONS, printed

ANNOTATIONS = re.findall(r'^NGINX_ANNOTATION\(\w+, "([\w-]+)"', (ROOT / "translator/dialects/ingress_nginx.def").read_text(), re.MULTILINE)
CLOSED = "127.0.0.1:1"


def sluicectl(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([build_folder() / "sluicectl/sluicectl", *map(str, arguments)], input=text, capture_output=True, text=True, timeout=120,
                          check=False)


def manifests(*objects: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def ingress(name: str, host: str = "a.test", path: str = "/", **annotations: str) -> dict[str, Any]:
    paths = [{"path": path, "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name, "namespace": "n", "annotations": {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": paths}}]}}


def controller(*arguments: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "controller", "namespace": "in"},
            "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "x/ingress-nginx/controller", "args": list(arguments)}]}}}}


# migrate

@pytest.mark.parametrize("provider", ["nginx", "haproxy"])
def test_every_annotation_of_every_case_has_a_verdict(provider):
    made = [ingress_of(row, index, "nginx", wish) for row in ROWS for index, wish in enumerate(row["ingresses"])]
    done = sluicectl("migrate", "-p", provider, "-f", "-", "-o", "json", text=manifests(*made))
    report = json.loads(done.stdout)
    assert report["provider"] == provider and len(report["ingresses"]) == len(made)
    told = {one["name"]: {row["name"] for row in one["rows"]} for one in report["ingresses"]}
    for one in made:
        wanted = {key.removeprefix(PREFIX) for key in one["metadata"]["annotations"]}
        assert wanted <= told[one["metadata"]["name"]], one["metadata"]["name"]


@pytest.mark.parametrize("provider", ["nginx", "haproxy"])
def test_an_ingress_without_annotations_is_the_same(provider):
    endpoints = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [{"port": 8080}],
                 "metadata": {"name": "web-1", "namespace": "n", "labels": {"kubernetes.io/service-name": "web"}}, "endpoints": [{"addresses": ["10.0.0.1"]}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "n"}, "spec": {"ports": [{"port": 80, "targetPort": 8080}]}}
    nginx = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}
    done = sluicectl("migrate", "-p", provider, "-f", "-", text=manifests(ingress("a"), service, endpoints, nginx))
    assert done.returncode == 0 and f"1 Ingresses of ingress-nginx on {provider}: 1 the same" in done.stdout, done.stdout


def test_ingresses_that_are_left_out_are_named():
    others = [ingress(f"other-{number:02}") for number in range(21)]
    for each in others:
        each["spec"]["ingressClassName"] = "gitlab-nginx"
    said = sluicectl("migrate", "-f", "-", text=manifests(ingress("ours"), *others[:2])).stdout
    assert "2 Ingresses are not those of ingress-nginx, and stay as they are: n/other-00, n/other-01\n" in said
    said = sluicectl("migrate", "-f", "-", text=manifests(ingress("ours"), *others)).stdout
    assert "21 Ingresses are not those of ingress-nginx" in said and ", n/other-19, ...\n" in said


def test_each_of_the_136_is_accounted_for():
    made = [ingress(f"i{number}", f"h{number}.test", **{name: "true"}) for number, name in enumerate(ANNOTATIONS)]
    report = json.loads(sluicectl("migrate", "-f", "-", "-o", "json", text=manifests(*made)).stdout)
    verdicts = {row["name"]: row["verdict"] for one in report["ingresses"] for row in one["rows"] if row["name"]}
    assert len(ANNOTATIONS) == 136 and set(verdicts) == set(ANNOTATIONS)
    assert "unknown" not in verdicts.values() and verdicts["server-snippet"] == "refused" and verdicts["proxy-buffer-size"] in ("not-needed", "invalid")


def test_values_of_the_options_are_tried(tmp_path):
    """From files at once; through a pipe, which cannot be read again, when it is said which ConfigMap it is."""
    options = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "options", "namespace": "in"},
               "data": {"proxy-body-size": "banana", "proxy-read-timeout": "90", "whitelist-source-range": "x", "use-gzip": "true", "hsts": "true", "nonsense": "1"}}
    text = manifests(ingress("a"), controller("--configmap=$(POD_NAMESPACE)/options"), options)
    (tmp_path / "all.json").write_text(text)
    for arguments, given in ((["-f", tmp_path / "all.json"], ""), (["-f", "-", "--with", "ingress-nginx-configmap=in/options"], text)):
        report = json.loads(sluicectl("migrate", "-o", "json", *arguments, text=given).stdout)
        rows = {row["name"]: row for one in report["controller"] if one["kind"] == "ConfigMap" for row in one["rows"]}
        assert {name: row["verdict"] for name, row in rows.items()} == {
            "proxy-body-size": "invalid", "proxy-read-timeout": "same", "whitelist-source-range": "invalid", "use-gzip": "not-heeded", "hsts": "same", "nonsense": "unknown"}
        assert "a number, perhaps with k, m or g, is expected" in rows["proxy-body-size"]["text"]
        [problem] = [row for one in report["ingresses"] for row in one["rows"] if row["verdict"] == "problem" and "InvalidOption" in row["text"]]
        assert "whitelist-source-range" in problem["text"] and problem["closed"]


def test_nothing_to_do_is_told_by_the_exit_code():
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "n"}, "spec": {"ports": [{"port": 80}]}}
    done = sluicectl("migrate", "-f", "-", text=manifests(ingress("a", permanent_redirect="https://b.test"), service))
    assert done.returncode == 0 and "1 Ingresses of ingress-nginx on nginx: 1 the same" in done.stdout, done.stdout
    refused = sluicectl("migrate", "-f", "-", text=manifests(ingress("a", server_snippet="return 403;"), service))
    assert refused.returncode == 1 and "for return write permanent-redirect" in refused.stdout


def test_control_characters_stay_off_the_terminal():
    done = sluicectl("migrate", "-f", "-", text=manifests(ingress("a", affinity="\x1b[2Jcookie", upstream_vhost="\u009b2J")))
    assert "?[2Jcookie" in done.stdout and not any(char in done.stdout for char in "\x1b\u009b")


@pytest.mark.parametrize("arguments", [["-f", "/nowhere"], ["-p", "elb", "-f", "-"], []])
def test_a_wrong_command_line(arguments):
    assert sluicectl("migrate", *arguments, text="").returncode in (2, 3)


def test_no_manifest_is_an_error():
    done = sluicectl("migrate", "-f", "-", text="{")
    assert done.returncode == 3 and done.stderr and not done.stdout


def test_manifests_for_a_move(tmp_path):
    hostile = 'a"}, {name: X, value: "y'
    text = manifests(ingress("a"), controller("--default-ssl-certificate=" + hostile, "--watch-namespace=shop", "--disable-svc-external-name"),
                     {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "edge"},
                      "spec": {"controller": "k8s.io/ingress-nginx"}})
    sluicectl("migrate", "-f", "-", "--manifests", tmp_path / "move", "-p", "haproxy", text=text)
    settings = yaml.safe_load((tmp_path / "move/settings.yaml").read_text())
    found = {one["name"]: {e["name"]: e["value"] for e in one["env"]} for one in settings["spec"]["template"]["spec"]["containers"]}
    assert found == {"translator": {"SLUICE_DEFAULT_CERTIFICATE": hostile, "SLUICE_INGRESS_NGINX": "true", "SLUICE_ALLOW_EXTERNAL_NAME": "false"},
                     "watcher": {"SLUICE_NAMESPACE": "shop", "SLUICE_WATCH_INGRESS_WITHOUT_CLASS": "false"},
                     "provider": {"SLUICE_ACCESS_LOG": "text", "SLUICE_METRICS_INGRESSES": "10000"}}
    classes = [one for one in yaml.safe_load_all((tmp_path / "move/ingressclass.yaml").read_text()) if one]
    assert [(one["metadata"]["name"], one["spec"]["controller"]) for one in classes] == [("edge", "k8s.io/ingress-nginx")]
    assert yaml.safe_load((tmp_path / "move/kustomization.yaml").read_text())["resources"] == ["../docker/kubernetes/haproxy"]
    assert not (tmp_path / "move/rights.yaml").exists()
    again = sluicectl("migrate", "-f", "-", "--manifests", tmp_path / "move", text=text)
    assert again.returncode == 3 and "is not written over" in again.stderr
    assert yaml.safe_load((tmp_path / "move/kustomization.yaml").read_text())["resources"] == ["../docker/kubernetes/haproxy"]


def test_manifests_have_a_right_to_the_options_alone(tmp_path):
    options = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "options", "namespace": "in"}, "data": {"disable-access-log": "true"}}
    text = manifests(controller("--configmap=in/options", "--enable-metrics=false"), options)
    sluicectl("migrate", "-f", "-", "--manifests", tmp_path / "move", text=text)
    settings = yaml.safe_load((tmp_path / "move/settings.yaml").read_text())
    found = {one["name"]: {e["name"]: e["value"] for e in one["env"]} for one in settings["spec"]["template"]["spec"]["containers"]}
    assert found["watcher"]["SLUICE_INGRESS_NGINX_CONFIGMAP"] == "in/options"
    assert found["provider"] == {"SLUICE_ACCESS_LOG": "off", "SLUICE_METRICS_INGRESSES": "0"}
    role, binding = yaml.safe_load_all((tmp_path / "move/rights.yaml").read_text())
    assert role["rules"] == [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["options"], "verbs": ["list", "watch"]}]
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "in" and binding["roleRef"]["name"] == role["metadata"]["name"]
    assert yaml.safe_load((tmp_path / "move/kustomization.yaml").read_text())["resources"] == ["../docker/kubernetes/nginx", "rights.yaml"]


# compare

@pytest.fixture
def both():
    with Backend("app", port=0, ip="127.0.0.1") as old, Backend("app", port=0, ip="127.0.0.1") as new:
        yield old, new


@pytest.fixture
def others():
    """They answer with their names, in a header X-Backend and in the body."""
    with Backend("old", port=0, ip="127.0.0.1") as old, Backend("new", port=0, ip="127.0.0.1") as new:
        yield old, new


def compare(old: Any, new: Any, *arguments: object, text: str | None = None, scheme: str = "http") -> subprocess.CompletedProcess[str]:
    return sluicectl("compare", "--old", f"{scheme}://127.0.0.1:{old.port}", "--new", f"{scheme}://127.0.0.1:{new.port}", "--rate", 1000, *arguments, text=text)


def log_line(request: str) -> str:
    return f'192.0.2.1 - bob [26/Nov/2026:12:10:58 +0000] "{request}" 200 3 "https://ref.test/" "agent"\n'


def test_both_get_the_same_requests_with_their_own_hosts(both):
    old, new = both
    done = compare(old, new, "-f", "-", text=manifests(ingress("a", "shop.test", "/cart")))
    assert done.returncode == 0 and "clients get the same answers" in done.stdout, done.stdout + done.stderr
    assert list(old.targets) == list(new.targets) and {"/cart", "/cart/", "/cartx", "/"} <= set(old.targets)
    got = json.loads(old.last_answer)
    assert got["host"] == "shop.test" and {name.lower() for name, _ in got["headers"]} == {"host", "user-agent", "accept"}


def test_bodies_count_when_they_are_asked_for(others):
    text = manifests(ingress("a"))
    assert compare(*others, "-f", "-", "--ignore-header", "X-Backend", text=text).returncode == 0
    done = compare(*others, "-f", "-", "--ignore-header", "X-Backend", "--bodies", "-o", "json", text=text)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert {one["kind"] for one in report["differences"]} == {"body"} and report["summary"]["other"] == report["summary"]["requests"]


def test_a_log_is_sent_without_what_may_change_something(others, tmp_path):
    old, new = others
    log = tmp_path / "access.log"
    log.write_text(log_line("GET /a?token=hidden HTTP/1.1") + log_line("POST /b HTTP/1.1") + log_line("DELETE /c HTTP/1.1") + log_line("HEAD /d HTTP/1.1") +
                   log_line("\\x16\\x03") + "x" * 200000 + "\n" + log_line("GET /e HTTP/1.1").rstrip("\n"))
    done = compare(old, new, "--log", log, "--host", "shop.test", "--bodies")
    assert set(old.targets) == set(new.targets) == {"/a?token=hidden", "/d", "/e"}
    assert "hidden" not in done.stdout and "GET shop.test/a?..." in done.stdout
    assert "left out: 2 lines of the log have a method" in done.stdout and "left out: 2 paths or lines are no request" in done.stdout
    compare(old, new, "--log", log, "--host", "shop.test", "--unsafe-methods")
    assert {"/b", "/c"} <= set(old.targets)


def test_a_log_without_hosts_is_not_guessed(both, tmp_path):
    log = tmp_path / "access.log"
    log.write_text(log_line("GET /a HTTP/1.1"))
    done = compare(*both, "--log", log)
    assert done.returncode == 3 and not both[0].targets


def test_headers_go_to_both_only_when_they_are_given(both):
    text = manifests(ingress("a"))
    compare(*both, "-f", "-", "-H", "Authorization: Basic Ym9iOng=", text=text)
    for one in both:
        assert ["Authorization", "Basic Ym9iOng="] in json.loads(one.last_answer)["headers"]
    assert compare(*both, "-f", "-", "-H", "Host: else.test", text=text).returncode == 2
    assert compare(*both, "-f", "-", "-H", "X: a\r\nY: b", text=text).returncode == 2


def test_no_more_requests_than_allowed(both):
    done = compare(*both, "-f", "-", "--requests", 2, text=manifests(ingress("a", path="/cart")))
    assert len(both[0].targets) == len(both[1].targets) == 2 and "requests beyond --requests were not sent" in done.stdout


def test_who_has_answered(others):
    text = manifests(ingress("a"))
    done = compare(*others, "-f", "-", "--backend-header", "x-BACKEND", text=text)
    assert done.returncode == 1 and "backend x-backend: old -> new" in done.stdout and "do not move yet" in done.stdout
    done = compare(*others, "-f", "-", text=text)
    assert done.returncode == 1 and "header x-backend: old -> new" in done.stdout and "move if these do not matter" in done.stdout


@pytest.mark.parametrize("count", [1, 20])
def test_nothing_answers(both, count):
    done = sluicectl("compare", "--old", f"http://{CLOSED}", "--new", f"http://{CLOSED}", "-f", "-", "--rate", 1000,
                     text=manifests(*(ingress(f"i{i}", f"h{i}.test") for i in range(count))))
    assert done.returncode == 4 and "failure" in done.stdout
    done = sluicectl("compare", "--old", f"http://127.0.0.1:{both[0].port}", "--new", f"http://{CLOSED}", "-f", "-", "--rate", 1000, text=manifests(ingress("a")))
    assert done.returncode == 4 and "do not move yet" in done.stdout


@pytest.mark.parametrize("url", ["127.0.0.1", "ftp://127.0.0.1", "http://127.0.0.1/path", "http://bob:x@127.0.0.1", "http://"])
def test_a_wrong_url(url):
    done = sluicectl("compare", "--old", url, "--new", "http://127.0.0.1", "-f", "-", text=manifests(ingress("a")))
    assert done.returncode == 2 and "is no URL such as" in done.stderr


def test_certificates_are_asked_for_by_the_host():
    pair = self_signed("shop.test")
    with Backend("app", port=0, ip="127.0.0.1", tls=pair) as old, Backend("app", port=0, ip="127.0.0.1", tls=pair) as new:
        text = manifests(ingress("a", "shop.test"))
        assert compare(old, new, "-f", "-", text=text, scheme="https").returncode == 0
        assert set(old.server_names) == set(new.server_names) == {"shop.test"}
        refused = compare(old, new, "-f", "-", "--verify", text=text, scheme="https")
        assert refused.returncode != 0 and "failure" in refused.stdout


def test_manuals_name_both():
    said = sluicectl("--help").stdout
    assert "migrate" in said and "compare" in said
    assert "--backend-header" in sluicectl("compare", "--help").stdout and "migrate" in sluicectl("completion", "bash").stdout


def test_the_options_that_it_names_exist():
    """What migrate tells to set instead of the original's options."""
    known = set(re.findall(r"--(?:\[no-\])?([a-z-]+)", "".join(printed(f"sluice-{name}", "--help") for name in DAEMONS)))
    rows = re.findall(r'^MIGRATE_(?:OPTION|ARGUMENT)\("([^"]+)", .*?, "((?:[^"\\]|\\.)*)"\)$', (ROOT / "sluicectl/migrate_options.def").read_text(), re.MULTILINE)
    assert len(rows) > 180 and len({name for name, _ in rows}) >= len(rows) - 2
    named = {option for _, text in rows for option in re.findall(r"--([a-z-]+)", text)}
    assert named and named <= known, named - known
    words = {word for _, text in rows for word in re.findall(r"sluice\.io/[a-z-]+", text)}
    annotations = (ROOT / "doc/configuration.md").read_text()
    assert all(word in annotations for word in words), words
