# SPDX-License-Identifier: Apache-2.0
"""Ways to the API server: kubeconfig of every kind, the pod's service account, and the original's way."""
from __future__ import annotations

import base64
import json
import os
import pathlib
import signal
import stat

import pytest
import yaml

from lib.wait import wait_for
from standins.kube.public import write_kubeconfig


def kubeconfig(rig, user: dict, **cluster: object) -> pathlib.Path:
    """A kubeconfig for the stand-in with that user."""
    path = rig.folder / "kubeconfig"
    cluster = {"server": rig.kube.url, "certificate-authority": str(rig.kube.ca_file), **cluster}
    cluster = {key: value for key, value in cluster.items() if value is not None}
    write_kubeconfig(path, user, **cluster)
    return path


def token(rig) -> str:
    return rig.kube.token_file.read_text().strip()


def admin(rig) -> dict:
    """The administrator's user entry, with a client certificate."""
    return yaml.safe_load(rig.kube.kubeconfig.read_text())["users"][0]["user"]


def test_a_literal_token_and_ca_data(rig):
    data = base64.b64encode(rig.kube.ca_file.read_bytes()).decode()
    rig.start(kubeconfig=kubeconfig(rig, {"token": token(rig)}, **{"certificate-authority": None, "certificate-authority-data": data}))


def test_a_client_certificate(rig):
    user = admin(rig)
    assert "client-certificate-data" in user
    rig.prepare(kubeconfig=kubeconfig(rig, {key: user[key] for key in ("client-certificate-data", "client-key-data")})).start()
    rig.link.wait_whole()


def test_a_client_certificate_in_files(rig):
    user = admin(rig)
    for name, key in (("cert.pem", "client-certificate-data"), ("key.pem", "client-key-data")):
        (rig.folder / name).write_bytes(base64.b64decode(user[key]))
    rig.prepare(kubeconfig=kubeconfig(rig, {"client-certificate": "cert.pem", "client-key": "key.pem"})).start()
    rig.link.wait_whole()


def test_a_wrong_authority_is_told(rig):
    wrong = rig.folder / "wrong.pem"
    from lib.certs import self_signed
    wrong.write_bytes(self_signed("other").pem)
    rig.prepare(kubeconfig=kubeconfig(rig, {"token": token(rig)}, **{"certificate-authority": str(wrong)})).start()
    rig.watcher.wait_event("not-ready", "TLS failed")


def test_a_wrong_authority_does_not_matter_to_the_careless(rig):
    rig.start(kubeconfig=kubeconfig(rig, {"token": token(rig)}, **{"certificate-authority": None, "insecure-skip-tls-verify": True}))


def test_another_name_in_the_certificate(rig):
    port = rig.kube.url.rsplit(":", 1)[1]
    rig.prepare(kubeconfig=kubeconfig(rig, {"token": token(rig)}, server=f"https://127.0.0.1:{port}", **{"tls-server-name": "nobody.example"})).start()
    rig.watcher.wait_event("not-ready", "TLS failed")
    rig.watcher.kill()
    rig.start(kubeconfig=kubeconfig(rig, {"token": token(rig)}, **{"tls-server-name": "kubernetes.default.svc"}))


def test_plain_http(make_rig):
    rig = make_rig("1.34", "--no-https")
    rig.prepare(kubeconfig=kubeconfig(rig, {"token": "never sent"}, **{"certificate-authority": None})).start()
    rig.link.wait_whole()
    assert {entry["identity"] for entry in rig.kube.requests()} == {"admin"}


def test_impersonation_is_asked_for(rig):
    rig.prepare(kubeconfig=kubeconfig(rig, {"token": token(rig), "as": "system:serviceaccount:a:b", "as-groups": ["g1", "g2"]})).start()
    rig.watcher.wait_event("started")
    rig.kube.wait_requests(1, identity="controller")


# Exec plugins

def plugin(rig, *lines: str) -> dict:
    """A user with an exec plugin that runs these shell lines; $T is the controller's token."""
    path = rig.folder / "plugin"
    path.write_text("\n".join(["#!/bin/sh", f"T=$(cat {rig.kube.token_file})", f"echo run >> {rig.folder}/runs", *lines]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "interactiveMode": "Never"}}


def answer(**status: str) -> str:
    body = json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})
    return f"cat <<END\n{body}\nEND"


def runs(rig) -> int:
    return len((rig.folder / "runs").read_text().splitlines())


def test_an_exec_plugin_runs_once_for_all(rig):
    rig.start(kubeconfig=kubeconfig(rig, plugin(rig, "sleep 0.2", answer(token="$T"))))
    assert runs(rig) == 1
    assert not rig.kube.requests(status=401)


def test_an_exec_plugin_that_fails_is_named_and_tried_again(rig):
    path = kubeconfig(rig, plugin(rig, f"[ -e {rig.folder}/good ] || {{ echo no luck today >&2; exit 3; }}", answer(token="$T")))
    rig.prepare(kubeconfig=path).start()
    rig.watcher.wait_event("credentials-problem", "ended with exit code 3: no luck today")
    rig.watcher.wait_event("not-ready", "no credentials")
    (rig.folder / "good").touch()
    rig.settle()


def test_an_exec_plugin_does_not_get_the_token_of_standard_input(rig):
    lines = f"cat > {rig.folder}/got; ls /proc/self/fd > {rig.folder}/fds"
    rig.start(kubeconfig=kubeconfig(rig, plugin(rig, lines, answer(token="$T"))), stdin=b"secret of somebody else")
    assert (rig.folder / "got").read_bytes() == b""


# The original's way, and the pod's

def test_url_and_token_on_standard_input(rig):
    rig.start("--ca-file", str(rig.kube.ca_file), kubeconfig=None, environment={"KUBERNETES_URL": rig.kube.url},
              stdin=f"\n {token(rig)} \n".encode())
    assert {entry["identity"] for entry in rig.kube.requests()} == {"controller"}


@pytest.mark.parametrize("stdin", [b"", b"  \n", b"two words"])
def test_no_token_on_standard_input_is_told(rig, stdin):
    rig.prepare("--ca-file", str(rig.kube.ca_file), kubeconfig=None, environment={"KUBERNETES_URL": rig.kube.url}, stdin=stdin).start()
    rig.watcher.wait_event("credentials-problem", "standard input")
    rig.watcher.wait_event("not-ready", "no credentials: standard input")


def test_signals_are_heard_while_the_token_has_not_come(rig):
    read, write = os.pipe()
    daemon = rig.prepare("--ca-file", str(rig.kube.ca_file), kubeconfig=None, environment={"KUBERNETES_URL": rig.kube.url})
    import subprocess
    process = subprocess.Popen([str(daemon.program), *daemon.arguments], env=daemon.environment, stdin=read, stderr=subprocess.PIPE)
    os.close(read)
    try:
        for line in process.stderr:
            if b"event=started" in line:
                break
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.stderr.close()
        os.close(write)
        process.kill()
    rig.watcher = None


def test_the_service_account_of_a_pod(make_rig):
    rig = make_rig()
    host, port = rig.kube.url.removeprefix("https://").rsplit(":", 1)
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    rig.start("--token-file", str(rig.kube.token_file), "--ca-file", str(rig.kube.ca_file), kubeconfig=None, environment=environment)
    assert "service account" in rig.watcher.wait_event("api-server")
    # The kubelet renames a new token into place.
    mark = rig.kube.mark()
    rig.kube.rotate_token()
    rig.kube.end_streams("clean")
    rig.ingress()
    rig.wait_host("a.example")
    assert rig.lists(mark) == []


def test_nothing_is_configured(rig):
    daemon = rig.prepare(kubeconfig=None, environment={"HOME": str(rig.folder)}).start()
    assert daemon.process.wait(10) == 1
    daemon.wait_event("start-failed", "no API server")
    daemon.kill()
    rig.watcher = None


def test_hangup_reads_everything_again(rig):
    rig.ingress()
    rig.start(kubeconfig=kubeconfig(rig, {"tokenFile": str(rig.kube.token_file)}))
    rig.kube.control("rotate_authority")
    since = len(rig.watcher.lines)
    rig.kube.drop()
    rig.watcher.wait_event("watch-failed", "TLS failed", since=since)
    os.kill(rig.watcher.pid, signal.SIGHUP)
    rig.watcher.wait_event("credentials-refreshed", "certificates")
    rig.kube.api.access.__init__(rig.kube.kubeconfig)
    rig.rehost("b.example")
    rig.wait_host("b.example")


def test_secrets_stand_in_no_log_line(rig):
    rig.kube.bulk(count=2, secrets=True)
    text = token(rig)
    rig.start()
    mark = rig.kube.mark()
    new = rig.kube.rotate_token()
    rig.kube.end_streams("clean")
    wait_for(lambda: rig.kube.requests(mark, verb="watch", status=200), "a watch with the new token")
    log = "\n".join(rig.watcher.lines)
    assert text not in log and new not in log and "PRIVATE KEY" not in log


@pytest.mark.parametrize("lines", [
    ["echo SECRET-OF-THE-PLUGIN"], ["echo SECRET-OF-THE-PLUGIN", "exit 3"], ["echo '{\"status\": {\"token\": \"SECRET-OF-THE-PLUGIN\"'"],
    [answer(token="two SECRET-OF-THE-PLUGIN")], [answer(clientKeyData="SECRET-OF-THE-PLUGIN")],
    [answer(token="SECRET-OF-THE-PLUGIN").replace("/v1", "/v9")], ["echo SECRET-OF-THE-PLUGIN; kill -9 $$"]])
def test_what_a_plugin_gives_stands_in_no_log_line(rig, lines):
    rig.prepare(kubeconfig=kubeconfig(rig, plugin(rig, *lines))).start()
    rig.watcher.wait_event("credentials-problem", "exec plugin")
    rig.watcher.wait_event("not-ready", "no credentials")
    assert "SECRET-OF-THE-PLUGIN" not in "\n".join(rig.watcher.lines)


def test_a_kubeconfig_that_is_broken_is_not_quoted(rig):
    path = rig.folder / "kubeconfig"
    for text in ("users: [{name: u, user: {token: SECRET-IN-THE-FILE", "- SECRET-IN-THE-FILE", "token: \"SECRET-IN-THE-FILE\n: {", "SECRET-IN-THE-FILE"):
        path.write_text(text)
        daemon = rig.prepare(kubeconfig=path).start()
        assert daemon.reap() == 1
        assert "SECRET-IN-THE-FILE" not in "\n".join(daemon.lines) and "event=start-failed" in daemon.lines[-1]
    rig.watcher = None


def test_a_right_that_is_missing_is_told_before_it_is_needed(rig):
    """Streaming lists are watches: the right to list is not needed until they cannot be had."""
    fault = rig.kube.fault("respond", {"resource": "selfsubjectaccessreviews"}, status=201, body='{"metadata": {}, "status": {"allowed": false}}', count=1)
    rig.ingress()
    rig.start()
    rig.watcher.wait_event("right-missing", 'right="list ingressclasses.networking.k8s.io"')
    rig.watcher.wait_event("not-ready", "list ingressclasses.networking.k8s.io (not allowed)")
    assert len(rig.watcher.events("right-missing")) == 1
    rig.kube.clear(fault)


def test_a_server_that_does_not_say_what_is_allowed(rig):
    rig.kube.fault("respond", {"resource": "selfsubjectaccessreviews"}, with_="forbidden")
    rig.start()
    rig.watcher.wait_event("ready")
    rig.kube.wait_requests(13, resource="selfsubjectaccessreviews", verb="create")
    assert not rig.watcher.events("right-missing")
