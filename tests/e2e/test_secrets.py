# SPDX-License-Identifier: Apache-2.0
"""No secret is told: not in a log at its most talkative, not in Events, metrics, answers of the admin server or of sluicectl, nor on a command line,
whatever goes wrong with it."""
from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import subprocess
from typing import Any, Iterator

import pytest

from lib.certs import Authority, self_signed
from lib.elb_line import ElbLine
from lib.line import Line, build_folder
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for
from lib.admin import look

PASSWORD = "hunter2-is-the-password"
RUBBISH = "c2VjcmV0LXJ1YmJpc2g-no-key-at-all"


def key_lines(key: bytes) -> list[str]:
    """Every line of a key in PEM: each would tell a part of it."""
    return key.decode().splitlines()[1:-1]


class Told:
    """All that a line tells anybody."""

    def __init__(self, line: Any, names: list[str]):
        self.line = line
        self.names = names

    def pieces(self) -> Iterator[tuple[str, str]]:
        line, ctl = self.line, build_folder() / "sluicectl/sluicectl"
        for daemon in line.daemons():
            yield f"log of {daemon.program.name}", "\n".join(daemon.lines)
            yield f"command line of {daemon.program.name}", pathlib.Path(f"/proc/{daemon.pid}/cmdline").read_text()
        for path in line.folder.rglob("*.log"):
            yield str(path), path.read_text(errors="replace")
        for place in line.runtime.glob("*.admin"):
            for path in ("/readyz", "/metrics", "/healthz"):
                yield f"{place.name} {path}", look(place, path).text
        yield "Events", json.dumps(line.cluster.list("events"))
        yield "Ingresses", json.dumps(line.cluster.list("ingress"))
        environment = {**os.environ, "SLUICE_RUNTIME_DIR": str(line.runtime)}
        asks = [["status"], *(["get", kind, "-o", form] for kind in ("ingress", "lb", "pool", "cert") for form in ("json", "wide")),
                *(["explain", f"default/{name}", "-o", "json"] for name in self.names)]
        for arguments in asks:
            done = subprocess.run([ctl, *arguments], capture_output=True, text=True, timeout=60, check=False, env=environment)
            yield f"sluicectl {' '.join(arguments)}", done.stdout + done.stderr

    def check(self, secrets: list[str]) -> None:
        pieces = dict(self.pieces())
        assert all(len(secret) >= 8 for secret in secrets)
        # Whoever looks in vain must have looked at something.
        assert {"log of sluice-watcher", "translator.admin /metrics", "watcher.admin /readyz", "Events"} <= set(pieces)
        assert "level=debug" in pieces["log of sluice-watcher"] and "sluice_" in pieces["translator.admin /metrics"]
        found = [(where, secret) for where, text in pieces.items() for secret in secrets if secret in text]
        assert found == []


@contextlib.contextmanager
def rancher_line():
    with Line(log_level="debug") as line:
        yield line


@contextlib.contextmanager
def proxy_line(name: str):
    with ProxyLine(name, provider=["--log-level", "debug"], translator=["--log-level", "debug"], watcher=["--log-level", "debug"]) as line:
        yield line


@contextlib.contextmanager
def elb_line():
    with ElbLine(log_level="debug", source="session") as line:
        yield line


LINES = {"rancher": rancher_line, "elb": elb_line, **{name: lambda name=name: proxy_line(name) for name in PROXIES}}


def tls_ingress(cluster: Any, name: str, secret: str, **annotations: str) -> dict[str, Any]:
    return cluster.ingress(name, [{"host": f"{name}.test", "paths": [("/", "Prefix", "web", 80)]}], annotations or None,
                           tls=[{"hosts": [f"{name}.test"], "secretName": secret}])


@pytest.mark.parametrize("name", LINES)
def test_no_secret_of_the_line_is_told(name):
    good, other, me = self_signed("good.test"), self_signed("other.test"), Authority("clients").sign("me")
    with LINES[name]() as line:
        cluster = line.cluster
        token = line.kube.token_file.read_text().strip()
        secrets = [token, RUBBISH, base64.b64encode(RUBBISH.encode()).decode()]
        for pair in (good, other, me):
            secrets += key_lines(pair.key)
        cluster.apply(
            cluster.service("web"), cluster.slice("web", ["127.0.0.1"]), cluster.tls_secret("good", good.pem, good.key),
            # A key that is none, one of another certificate, and a certificate that is a key.
            cluster.tls_secret("rubbish", good.pem, RUBBISH.encode()), cluster.tls_secret("other", good.pem, other.key),
            cluster.tls_secret("swapped", good.key, good.pem), cluster.tls_secret("client", me.pem, me.key),
            tls_ingress(cluster, "good", "good"), tls_ingress(cluster, "rubbish", "rubbish"), tls_ingress(cluster, "other", "other"),
            tls_ingress(cluster, "swapped", "swapped"),
            tls_ingress(cluster, "client", "good", **{"sluice.io/backend-protocol": "https", "sluice.io/backend-tls.verify": "false",
                                                      "sluice.io/backend-tls.client-certificate": "client"}))
        for broken in ("rubbish", "other", "swapped"):
            wait_for(lambda broken=broken: cluster.events(broken), f"an Event on {broken}", PATIENCE)
        if name == "rancher":
            secrets += rancher_refuses(line)
        elif name == "elb":
            secrets += aws_refuses(line)
        else:
            wait_for(lambda: shows(line, good), "the certificate to be shown", PATIENCE)
        kubernetes_refuses(line, token)
        Told(line, ["good", "rubbish", "other", "swapped", "client"]).check(secrets)


def shows(line: ProxyLine, pair: Any) -> bool:
    with contextlib.suppress(OSError):
        return line.proxy.request("good.test", tls=True).certificate == pair.der
    return False


def kubernetes_refuses(line: Any, token: str) -> None:
    """With words that repeat the token."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401,
            "message": f"no such token: Bearer {token}"}
    fault = line.kube.fault("respond", {"identity": "controller"}, status=401, body=json.dumps(body), content_type="application/json")
    since = len(line.watcher.lines)
    line.kube.end_streams("clean")
    line.watcher.wait_event("watch-failed", "no such token", since=since, timeout=PATIENCE)
    wait_for(lambda: "no such token" in look(line.runtime / "watcher.admin", "/readyz").text
             or "401" in look(line.runtime / "watcher.admin", "/readyz").text, "the refusal to be told", PATIENCE)
    line.kube.clear(fault)


def rancher_refuses(line: Line) -> list[str]:
    """Likewise, in each form in which it has got them."""
    key, pair = line.rancher.secret_key, f"{line.rancher.access_key}:{line.rancher.secret_key}"
    encoded = base64.b64encode(pair.encode()).decode()
    fault = line.rancher.fault("error", status=401, code="Unauthorized", message=f"no such pair: {pair} (Basic {encoded})")
    line.provider.wait_event("rancher-outage", "no such pair", timeout=PATIENCE)
    wait_for(lambda: look(line.runtime / "provider-rancher.admin", "/readyz").status in (200, 503), "the admin server")
    line.rancher.clear(fault)
    line.provider.wait_event("rancher-outage-over", timeout=PATIENCE)
    return [key, encoded]


def aws_refuses(line: ElbLine) -> list[str]:
    """A certificate, with words that repeat its key, and everything, with words that repeat the token; the other key is not sent."""
    environment = line.provider.environment
    wait_for(line.aws.certificates, "the certificate to be imported", PATIENCE)
    other = self_signed("more.test")
    quoted = base64.b64encode(other.key).decode()
    line.aws.fault("error", action="ImportCertificate", status=400, code="ValidationException", count=1,
                   message=f"1 validation error detected: value '{quoted}' at 'privateKey' is {other.key.decode()}")
    line.cluster.apply(line.cluster.tls_secret("more", other.pem, other.key), tls_ingress(line.cluster, "more", "more"))
    line.provider.wait_event("certificate-failed", "ValidationException", timeout=PATIENCE)
    wait_for(lambda: line.cluster.events("more", "CertificateNotInAcm"), "the refusal to be told", PATIENCE)
    fault = line.aws.fault("error", status=403, code="SignatureDoesNotMatch", message=f"no such token: {environment['AWS_SESSION_TOKEN']}")
    line.cluster.apply(line.cluster.ingress("late", [{"host": "late.test", "paths": [("/", "Prefix", "web", 80)]}]))
    line.provider.wait_event("aws-outage", "SignatureDoesNotMatch", timeout=PATIENCE)
    wait_for(lambda: look(line.runtime / "provider-elb.admin", "/readyz").status in (200, 503), "the admin server")
    line.aws.clear(fault)
    return [environment["AWS_SECRET_ACCESS_KEY"], environment["AWS_SESSION_TOKEN"], quoted, *key_lines(other.key)]


# What is said of options that are wrong, before there is a log

WATCHER, RANCHER, ELB = "watcher/sluice-watcher", "provider-rancher/sluice-provider-rancher", "provider-elb/sluice-provider-elb"
WRONG = [
    (WATCHER, ["--kubernetes-url", f"https://me:{PASSWORD}@127.0.0.1:1"], {}, None),
    (RANCHER, ["--cattle-url", f"http://me:{PASSWORD}@127.0.0.1:1"], {}, None),
    (RANCHER, [], {"CATTLE_URL": f"me:{PASSWORD}@127.0.0.1"}, None),
    (RANCHER, [f"--secret-kye={PASSWORD}"], {}, None),
    (RANCHER, [], {"CATTLE_URL": "http://127.0.0.1:1", "CATTLE_SECRET_KEY": PASSWORD}, None),
    (RANCHER, [], {"CATTLE_SECRET_KEY": PASSWORD * 1000}, None),
    (RANCHER, [], {}, f"secret-kye = {PASSWORD}\n"),
    (RANCHER, [], {}, f"secret-key {PASSWORD}\n"),
    (RANCHER, [], {}, f"secret-key: {PASSWORD}\n"),
    (ELB, ["--cluster-name", "x"], {"AWS_REGION": "us-east-1", "AWS_SECRET_ACCESS_KEY": PASSWORD}, None),
    (ELB, ["--cluster-name", "x"], {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://me:{PASSWORD}@127.0.0.1:1"}, None),
    (ELB, ["--cluster-name", "x"], {"AWS_REGION": "us-east-1", "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://me:{PASSWORD}@192.0.2.1/"}, None),
]


@pytest.mark.parametrize("program,arguments,environment,file", WRONG)
def test_no_secret_is_told_when_an_option_is_wrong(tmp_path, program, arguments, environment, file):
    if file is not None:
        (tmp_path / "options").write_text(file)
        arguments = ["--config", str(tmp_path / "options")]
    done = subprocess.run([build_folder() / program, "--runtime-dir", str(tmp_path), "--log-level", "debug", *arguments],
                          env={"PATH": os.environ["PATH"], "SLUICE_ADMIN_ADDRESS": "off", **environment}, capture_output=True, text=True, timeout=30,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode != 0 and done.stderr and PASSWORD not in done.stderr + done.stdout, done


def test_a_secret_does_not_stay_on_the_command_line(tmp_path):
    process = subprocess.Popen([build_folder() / RANCHER, "--runtime-dir", str(tmp_path), "--admin-address", "off", "--cattle-url", "http://127.0.0.1:1",
                                "--access-key", PASSWORD + "-1", f"--secret-key={PASSWORD}-2"], stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        while "event=started" not in (lines or [""])[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        words = pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
        assert "--cattle-url" in words and PASSWORD not in words + "".join(lines)
    finally:
        process.terminate()
        process.communicate(timeout=30)
