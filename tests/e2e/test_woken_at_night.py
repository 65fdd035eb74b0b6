# SPDX-License-Identifier: Apache-2.0
"""doc/woken-at-night.md: each of its commands, as it stands there, answers its question, with both proxies, within a minute."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from lib.addresses import free_port
from lib.backend import Backend
from lib.certs import self_signed
from lib.line import build_folder
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG = "/var/log/sluice/access.log"
PATIENCE = 60.0


def command(begin: str) -> str:
    """The one of the page that begins so."""
    text = (ROOT / "doc/woken-at-night.md").read_text(encoding="utf-8")
    [found] = [line for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S) for line in block.splitlines() if line.startswith(begin)]
    return found


class Night:
    def __init__(self, line: ProxyLine, log: pathlib.Path, web: Backend):
        self.line, self.log, self.web = line, log, web

    def ask(self, begin: str) -> str:
        """What the command prints, with our places in place of the page's."""
        text = command(begin).replace(LOG, str(self.log)).replace("-n default", f"-n {self.line.cluster.namespace}").replace("http://shop.example/", f"http://front.test:{self.line.proxy.http}/")
        environment = {**os.environ, "SLUICE_RUNTIME_DIR": str(self.line.runtime), "KUBECONFIG": self.line.cluster.kubeconfig,
                       "PATH": f"{build_folder() / 'sluicectl'}:{os.environ['PATH']}"}
        began = time.monotonic()
        done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert done.returncode in (0, 1), done.stderr  # 1: something is not served
        assert time.monotonic() - began < 60
        return done.stdout

    def wait_logged(self, path: str) -> None:
        wait_for(lambda: self.log.exists() and path in self.log.read_text("ascii"), f"{path} in the log", PATIENCE)


@pytest.fixture(scope="module", params=PROXIES, name="night")
def fixture_night(request, tmp_path_factory) -> Iterator[Night]:
    log = tmp_path_factory.mktemp("log") / "access.log"
    with Backend("web") as web, ProxyLine(request.param, provider=["--metrics-ingresses", "10000", "--access-log", "json", "--access-log-to", str(log)]) as line:
        cluster, soon, later = line.cluster, self_signed("front.test", days=5), self_signed("good.test", days=90)
        inside = {"sluice.io/allow-sources": "192.0.2.0/24"}
        cluster.apply(cluster.service("web"), cluster.slice("web", [web.ip], web.port), cluster.service("gone"), cluster.slice("gone", [web.ip], free_port(web.ip)),
                      cluster.tls_secret("soon", soon.pem, soon.key), cluster.tls_secret("later", later.pem, later.key),
                      cluster.ingress("front", [{"host": "front.test", "paths": [("/", "Prefix", "web", 80)]}], tls=[{"hosts": ["front.test"], "secretName": "soon"}]),
                      cluster.ingress("inside", [{"host": "front.test", "paths": [("/inside", "Prefix", "web", 80)]}], annotations=inside),
                      cluster.ingress("good", [{"host": "good.test", "paths": [("/", "Prefix", "web", 80)]}], tls=[{"hosts": ["good.test"], "secretName": "later"}]),
                      cluster.ingress("broken", [{"host": "broken.test", "paths": [("/", "Prefix", "gone", 80)]}]))
        for host in ("front.test", "good.test"):
            line.wait_serves(host, "/", "web")
        wait_for(lambda: line.proxy.request("front.test", "/inside").status == 403, "the guard", PATIENCE)
        yield Night(line, log, web)


def test_which_ingress_fails_and_from_which_endpoint(night):
    for number in range(20):
        night.line.proxy.request("front.test", f"/?status=500&{number}")
        night.line.proxy.request("good.test", "/")
    night.line.proxy.request("broken.test", "/never")
    night.wait_logged("/never")
    # Each worker of nginx writes its own lines, a moment later.
    for number in range(20):
        night.wait_logged(f'status=500&{number}"')
    told = night.ask("grep '\"status\":5'").splitlines()
    assert re.match(rf' *20 "namespace":"default","ingress":"front","service":"web:80","endpoint":"{night.web.ip}:{night.web.port}","reason":""$', told[0]), told
    assert any('"ingress":"broken"' in line and '"reason":"backend-failed"' in line for line in told)
    # Others go on failing while it is looked at.
    ended = threading.Event()

    def go_on() -> None:
        while not ended.is_set():
            night.line.proxy.request("front.test", "/?status=500")
    sender = threading.Thread(target=go_on)
    sender.start()
    try:
        head, first, *_ = night.ask("sluicectl top --once --sort errors").splitlines()
    finally:
        ended.set()
        sender.join()
    assert "5XX%" in head and re.match(r"default/front .* 100\.0 ", first), first


def test_who_is_slow(night):
    def hold() -> None:
        night.line.proxy.request("front.test", "/?hold")
    before, began = night.web.count, time.monotonic()
    waiting = threading.Thread(target=hold)
    waiting.start()
    wait_for(lambda: night.web.count > before, "the request to be at the backend", PATIENCE)
    # Meanwhile others are quick.
    while time.monotonic() - began < 0.7:
        assert night.line.proxy.reached("front.test", "/quick") == "web"
    night.web.release()
    waiting.join()
    night.wait_logged("/?hold")
    slowest = night.ask("grep '\"ingress\":\"front\"'").splitlines()[0]
    duration, first_byte = (int(re.search(rf'"{name}":(\d+)', slowest)[1]) for name in ("duration_ms", "first_byte_ms"))
    assert duration >= 500 and first_byte > 0.9 * duration, slowest


def test_which_certificate_ends_this_week(night):
    head, first, second = night.ask("sluicectl get cert").splitlines()
    assert "LEFT" in head and first.startswith("default/soon") and re.search(r"\b[45] d", first) and second.startswith("default/later")


def test_why_a_request_got_a_403(night):
    assert night.line.proxy.request("front.test", "/inside/this-one").status == 403
    night.wait_logged("/inside/this-one")
    last = night.ask("grep '\"status\":403'").splitlines()[-1]
    assert '"reason":"source-access"' in last and '"ingress":"inside"' in last
    told = night.ask("sluicectl request")
    assert "403" in told and "default/inside" in told


def test_who_made_the_last_change(night):
    lines = night.ask("kubectl").splitlines()
    assert any(re.fullmatch(r"20\d\d-\d\d-\d\dT\S+ kubectl\S* \w+", line) for line in lines), lines
    assert night.ask("sluicectl events --once")
