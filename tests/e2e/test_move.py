# SPDX-License-Identifier: Apache-2.0
"""doc/move-from-ingress-nginx.md from its first command to its last, on a machine of the test's own: each command is run as it stands on the page. What a cluster
does by itself is played: it runs the Deployments that were applied, gives Services addresses, and the old controller is an nginx with what it would have written."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
from typing import Any

import pytest

from lib.backend import Backend
from lib.line import build_folder
from lib.local_proxy import PATIENCE
from lib.markdown import ROOT, Page
from lib.network import ip, own_network
from lib.own_disk import IS_ROOT
from lib.proxy_line import ProxyLine
from lib.traffic import answers
from lib.wait import wait_for

PAGE = Page(ROOT / "doc/move-from-ingress-nginx.md")
COMMANDS = [line for block in PAGE.blocks if block.language == "sh" for line in block.text.splitlines()]
OLD, NEW, HOST = "192.0.2.80", "192.0.2.81", "shop.example"
PREFIX = "nginx.ingress.kubernetes.io/"
SNIPPET = PREFIX + "configuration-snippet"
LOGS = "kubectl -n ingress-nginx logs deployment/ingress-nginx-controller > access.log"
STATUS = "kubectl -n sluice-system exec deployment/sluice -c sluicectl -- sluicectl status"
LABELS = {"app.kubernetes.io/name": "ingress-nginx"}
CONTROLLER = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
    "spec": {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{
        "name": "controller", "image": "registry.k8s.io/ingress-nginx/controller:v1.13.9",
        "args": ["/nginx-ingress-controller", "--publish-service=$(POD_NAMESPACE)/ingress-nginx-controller",
                 "--configmap=$(POD_NAMESPACE)/ingress-nginx-controller"]}]}}}}
OPTIONS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
           "data": {"hsts": "true", "use-gzip": "true"}}
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}
NGINX = """
pid {folder}/pid;
error_log {folder}/error.log;
worker_processes 1;
events {{}}
http {{
    log_format upstreaminfo '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" '
        '$request_length $request_time [default-web-80] [] $upstream_addr - - - -';
    access_log {folder}/access.log upstreaminfo;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen {address}:80 default_server; location / {{ return 404; }} }}
    server {{
        listen {address}:80;
        server_name {host};
        add_header X-Frame-Options DENY always;
        location / {{ proxy_pass http://{pod}:8080; proxy_set_header Host $host; }}
        location = /old {{ return 301 https://{host}/new; }}
        location /old/ {{ return 301 https://{host}/new; }}
    }}
}}
"""
pytestmark = pytest.mark.skipif(not IS_ROOT, reason="networks of one's own are for root")


class Cluster:
    """What a cluster does by itself, and the folder in which the operator works."""

    def __init__(self, room: contextlib.ExitStack):
        self.folder = pathlib.Path(room.enter_context(tempfile.TemporaryDirectory(prefix="t-")))
        self.folder.chmod(0o755)
        room.enter_context(own_network())
        for address in (OLD, NEW):
            ip("address", "add", f"{address}/32", "dev", "lo")
        self.line = room.enter_context(ProxyLine("nginx", http=80, https=443, provider=["--bind-address", NEW]))
        self.line.watcher.stop()
        self.line.translator.stop()
        self.cluster = self.line.cluster
        self.pod = room.enter_context(Backend("pod"))
        self.left = list(COMMANDS)
        self.make_source()
        self.make_objects()
        self.start_old(room)

    def make_source(self) -> None:
        for name in ("doc", "docker", "examples"):
            shutil.copytree(ROOT / name, self.folder / name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/sluicectl").symlink_to(build_folder() / "sluicectl/sluicectl")

    def make_objects(self) -> None:
        made = self.cluster
        shop = made.ingress("shop", [{"host": HOST, "paths": [("/", "Prefix", "web", 80)]}], {SNIPPET: 'more_set_headers "X-Frame-Options: DENY";'},
                            ingressClassName="nginx")
        old = made.ingress("old", [{"host": HOST, "paths": [("/old", "Prefix", "web", 80)]}],
                           {PREFIX + "permanent-redirect": f"https://{HOST}/new"}, ingressClassName="nginx")
        made.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ingress-nginx"}})
        made.within("ingress-nginx").apply(CONTROLLER, OPTIONS)
        made.apply(CLASS, made.service("web"), made.slice("web", [self.pod.ip]), shop, old)

    def start_old(self, room: contextlib.ExitStack) -> None:
        folder = self.folder / "old"
        folder.mkdir()
        folder.chmod(0o777)
        conf = folder / "nginx.conf"
        conf.write_text(NGINX.format(folder=folder, address=OLD, host=HOST, pod=self.pod.ip))
        process = subprocess.Popen(["nginx", "-p", folder, "-c", conf, "-g", "daemon off;"], stdin=subprocess.DEVNULL)
        room.callback(process.wait, PATIENCE)
        room.callback(process.send_signal, signal.SIGTERM)
        wait_for(lambda: answers(OLD, 80, HOST, "/"), "the old controller to serve", PATIENCE)
        self.play_old()

    # What is played

    def play_old(self) -> None:
        """The old controller writes its address, unless it rests or was told otherwise."""
        spec = self.cluster.within("ingress-nginx").get("deployment", "ingress-nginx-controller")["spec"]
        told = [word for word in spec["template"]["spec"]["containers"][0]["args"] if word.startswith("--update-status=")]
        if spec["replicas"] == 0 or told[-1:] == ["--update-status=false"]:
            return
        for name in ("shop", "old"):
            self.cluster.kubectl("patch", "ingress", name, "--subresource=status", "--type=merge", "-p",
                                 json.dumps({"status": {"loadBalancer": {"ingress": [{"ip": OLD}]}}}))

    def play_line(self) -> None:
        """The processes of the Deployment are started anew with their environment, and its Service gets its address."""
        system = self.cluster.within("sluice-system")
        system.kubectl("patch", "service", "sluice-proxy", "--subresource=status", "--type=merge", "-p",
                       json.dumps({"status": {"loadBalancer": {"ingress": [{"ip": NEW}]}}}))
        containers = {one["name"]: one for one in system.get("deployment", "sluice")["spec"]["template"]["spec"]["containers"]}
        for name in ("translator", "watcher"):
            daemon = self.line.daemon(name)
            environment = {one["name"]: one["value"] for one in containers[name]["env"] if "ADMIN" not in one["name"]}
            if daemon.is_running() and environment.items() <= daemon.environment.items():
                continue
            daemon.stop()
            daemon.environment |= environment
            since = len(daemon.events("ready"))
            daemon.start()
            if name == "watcher":
                wait_for(lambda daemon=daemon, since=since: len(daemon.events("ready")) > since, "the watcher to be ready", PATIENCE)

    # What the operator does

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """As it stands on the page."""
        environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder), "LANG": "C.UTF-8",
                       "KUBECONFIG": str(self.line.kube.kubeconfig)}
        if command == LOGS:  # logs and exec need a node
            shutil.copy(self.folder / "old/access.log", self.folder / "access.log")
            return subprocess.CompletedProcess(command, 0, "", "")
        if command == STATUS:
            command = f"sluicectl status --runtime-dir {self.line.runtime}"
        scaled = re.search(r"(.*) scale (deployment \S+) --replicas (\d)$", command)
        if scaled:  # by a subresource that the stand-in does not have
            command = f"{scaled[1]} patch {scaled[2]} -p '{{\"spec\": {{\"replicas\": {scaled[3]}}}}}'"
        if " rollout status " in command:
            return subprocess.CompletedProcess(command, 0, "", "")
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if "-n ingress-nginx" in command and done.returncode == 0:
            self.play_old()
        if command.startswith("kubectl") and ("apply -k" in command or " set env " in command) and done.returncode == 0:
            self.play_line()
        return done

    def do(self, text: str) -> str:
        """The next command of the page, which has this text."""
        return self.find(text, 0)

    def find(self, text: str, code: int) -> str:
        """Likewise, for one that ends with this exit code."""
        command = self.left.pop(0)
        assert text in command, f"the page goes on with: {command}"
        done = self.run(command)
        assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def wait_shown(self, address: str) -> None:
        for name in ("shop", "old"):
            wait_for(lambda name=name: self.cluster.addresses(name) == [address], f"Ingress {name} to show {address}", PATIENCE)

    def check_both(self) -> None:
        """No client is without an answer, whichever address it knows."""
        for address in (OLD, NEW):
            wait_for(lambda address=address: answers(address, 80, HOST, "/"), f"{address} to serve", PATIENCE)


def row_of(report: dict[str, Any], kind: str, subject: str, name: str) -> dict[str, Any]:
    return next(row for one in report[kind] if one["name"] == subject for row in one["rows"] if row["name"] == name)


def test_the_page():
    with contextlib.ExitStack() as room:
        move = Cluster(room)
        # 1. See what will differ.
        move.do("kubectl get ingresses,")
        said = move.find("sluicectl migrate", 1)
        assert "for more_set_headers write sluice.io/response-headers" in said and "use-gzip: true" in said and "2 Ingresses of ingress-nginx on nginx" in said
        report = json.loads(move.run("sluicectl migrate -f cluster.json -o json").stdout)
        assert row_of(report, "ingresses", "old", "permanent-redirect")["verdict"] == "same"
        assert row_of(report, "ingresses", "shop", "configuration-snippet")["verdict"] == "refused"
        # 2. Install beside.
        move.do("kubectl apply -k move")
        move.do("rollout status")
        assert "sluice-proxy" in move.do("get service sluice-proxy")
        wait_for(lambda: answers(NEW, 80, HOST, "/"), "the line to serve", PATIENCE)
        assert json.loads(move.do("curl"))["name"] == "pod"
        move.wait_shown(OLD)
        # 3. Compare: the header of the snippet is missing, until somebody writes it as the report says.
        command = move.left[0]
        said = move.find("sluicectl compare -f cluster.json --old", 1)
        assert "header x-frame-options: DENY -> none" in said and "== Other answers ==" not in said, said
        move.cluster.annotate("ingress", "shop", **{SNIPPET: None, "sluice.io/response-headers": "set X-Frame-Options: DENY"})
        move.cluster.annotate("ingress", "old", **{"sluice.io/response-headers": "set X-Frame-Options: DENY"})
        wait_for(lambda: move.run(command + " --rate 1000").returncode == 0, "both to answer the same", PATIENCE)
        move.do("logs")
        said = move.do("sluicectl compare -f cluster.json --log")
        assert "clients get the same answers" in said
        assert [move.cluster.addresses(name) for name in ("shop", "old")] == [[OLD], [OLD]]  # the line has left them alone all the time
        # 4. Move.
        move.do("--update-status=false")
        move.do("rollout status")
        move.do("SLUICE_UPDATE_STATUS=true")
        move.wait_shown(NEW)
        assert NEW in move.do("kubectl get ingresses -A")
        move.check_both()
        # 5. Watch, then let the old one rest.
        assert "nginx" in move.do("sluicectl status")
        move.do("kubectl get events")
        move.do("--replicas 0")
        move.do("kubectl apply -f move/ingressclass.yaml")
        move.wait_shown(NEW)
        move.check_both()
        # And back.
        move.do("--replicas 1")
        move.do("SLUICE_UPDATE_STATUS=false")
        move.do("--update-status=true")
        move.wait_shown(OLD)
        assert OLD in move.do("kubectl get ingresses -A")
        move.check_both()
        move.do("kubectl delete -k move --ignore-not-found")
        assert move.left == []
        assert answers(OLD, 80, HOST, "/")
