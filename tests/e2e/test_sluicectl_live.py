# SPDX-License-Identifier: Apache-2.0
"""sluicectl at a running line: what stands there, why something is not served, and what is said when a piece of the line is gone."""
from __future__ import annotations

import contextlib
import datetime
import json
import os
import pty
import shutil
import socket
import subprocess
import termios

import pytest
import yaml

from lib.backend import NETWORK
from lib.certs import self_signed
from lib.ctl import Ctl
from lib.line import build_folder
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for


PROVIDER = f"provider-{PROXIES[0]}"
# The setting of the running translator for what is rendered without one.
WITH = ["--with", "allow-egress=127.0.0.0/8"]


@pytest.fixture(params=PROXIES[:1])
def line(request):
    with ProxyLine(request.param) as running:
        yield running


@pytest.fixture
def ctl(line):
    return Ctl(line)


def one(cluster, name: str, service: str, host: str | None = None, path: str = "/", **spec) -> dict:
    return cluster.ingress(name, [{"host": host or f"{name}.test", "paths": [(path, "Prefix", service, 80)]}], **spec)


@pytest.mark.quick
def test_what_is_served_is_told_with_everything_it_goes_through(line, ctl):
    cluster = line.cluster
    pair = self_signed("web.test")
    cluster.apply(cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1", f"{NETWORK}.0.2"]), cluster.tls_secret("tls", pair.pem, pair.key),
                  one(cluster, "web", "web", tls=[{"hosts": ["web.test"], "secretName": "tls"}]))
    assert cluster.wait_addresses("web", 1, PATIENCE) == [line.proxy.address]
    wait_for(lambda: ctl.explain("web").get("state") == "applied" and not ctl.reasons("web"), "the Ingress to be served", PATIENCE)
    got = ctl.explain("web")
    (route,) = got["routes"]
    assert (route["host"], route["path"], route["match"], route["service"], route["port"]) == ("web.test", "/", "prefix", "default/web", "80")
    assert [e["address"] for e in route["endpoints"]] == [f"{NETWORK}.0.1:8080", f"{NETWORK}.0.2:8080"] and route["served"]
    assert got["load_balancer"] == "class/rancher" and got["addresses"] == [line.proxy.address] and got["provider"] == line.proxy.name
    assert sorted(got["listeners"]) == [f"http {line.proxy.http}", f"https {line.proxy.https}"]
    done = ctl("explain", "default/web")
    assert done.returncode == 0 and "✓ web.test/" in done.stdout and f"{NETWORK}.0.2:8080" in done.stdout and "\033" not in done.stdout
    assert "\033[32m" in ctl("explain", "default/web", "--color", "always").stdout
    # Lists, in every form.
    assert [i["name"] for i in ctl.json("get", "ingress")] == ["web"]
    assert ctl.json("get", "ingress", "default/web")[0]["rules"][0]["host"] == "web.test"
    assert [p["id"] for p in ctl.json("get", "pool")] == ["default/web:80"]
    assert ctl.json("get", "lb")[0]["listeners"]
    (certificate,) = ctl.json("get", "cert")
    assert certificate["hosts"] == ["web.test"] and "private_key" not in certificate
    assert pair.key.decode().splitlines()[1] not in ctl("get", "cert", "-o", "yaml").stdout
    table = ctl("get", "lb").stdout
    assert "applied" in table and line.proxy.address in table
    assert ctl("get", "pool", "-n", "other").stdout.splitlines()[1:] == []
    assert ctl("get", "ingress", "default/none").returncode == ctl("explain", "default/none").returncode == 5
    status = ctl("status")
    assert status.returncode == 0 and status.stdout.count("●") == 3 and "1 ingress" in status.stdout


def programs(ctl) -> dict[str, dict]:
    return {item["program"]: item for item in ctl.json("status")["programs"]}


def test_status_says_of_each_program_how_it_is(line, ctl):
    cluster = line.cluster
    cluster.apply(cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1"]), one(cluster, "web", "web"))
    wait_for(lambda: programs(ctl)[PROVIDER].get("load_balancers", {}).get("applied") == 1, "the load balancer to be applied", PATIENCE)
    before = programs(ctl)
    assert list(before) == ["watcher", "translator", PROVIDER]
    for name, item in before.items():
        assert item["state"] == "ready" and item["version"] and item["started"] <= item["ready"], name
    assert before["watcher"]["counts"]["ingress"] == 1 and before["watcher"]["lag_s"] == 0
    assert before[PROVIDER]["counts"]["pool"] == 1
    text = ctl("status").stdout
    assert text.count(f"({before['watcher']['version']}, up ") == 3 and "behind" not in text and "load balancers: " in text, text
    assert "last error" not in text, "nothing is amiss"
    # A provider that goes is an error of the translator, that is told with what to do.
    line.provider.kill()
    wait_for(lambda: "link-down" in programs(ctl)["translator"].get("problem", ""), "the translator to say so", PATIENCE)
    found = programs(ctl)["translator"]
    assert found["remedy"] and found["problem_at"] >= before["translator"]["started"]
    line.provider.start()
    wait_for(lambda: ctl("status").returncode == 0, "the line to be whole", PATIENCE)
    assert programs(ctl)[PROVIDER]["started"] >= before[PROVIDER]["started"]


def test_why_a_program_does_not_answer(line, ctl):
    admin = line.runtime / "translator.admin"
    # No socket.
    done = ctl("get", "ingress", "-r", "/nonexistent")
    assert done.returncode == 4 and "there is no such socket" in done.stderr and "start sluice-translator" in done.stderr
    # It hangs.
    line.translator.pause()
    try:
        done = ctl("get", "ingress", "--timeout", "0.5")
        assert done.returncode == 4 and "has not answered for 0.5 s" in done.stderr and "look at its log" in done.stderr, done.stderr
        assert "does not answer" in ctl("status", "--timeout", "0.5").stdout
    finally:
        line.translator.resume()
    # It refuses: by its own judgement, and by the mode of its socket.
    if os.geteuid() == 0:
        line.runtime.chmod(0o755)
        shutil.copy(build_folder() / "sluicectl/sluicectl", line.runtime)
        for mode in (0o666, 0o660):
            admin.chmod(mode)
            done = subprocess.run(["./sluicectl", "get", "ingress", "-r", "."], cwd=line.runtime, user=65534, group=65534, extra_groups=[],
                                  capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 4 and "user 65534 may not look in" in done.stderr, (mode, done.stderr)
            assert "--admin-allow-uid 65534" in done.stderr
    # It has ended, and left its socket.
    line.translator.kill()
    done = ctl("get", "ingress")
    assert done.returncode == 4 and "nobody listens there any more" in done.stderr, done.stderr
    line.translator.start()
    wait_for(lambda: ctl("status").returncode == 0, "the line to be whole", PATIENCE)


def test_a_provider_that_was_replaced_is_not_missed(line, ctl):
    """It was killed and has left its socket; the one that is connected serves."""
    wait_for(lambda: ctl("status").returncode == 0, "the line to be whole", PATIENCE)
    left = line.runtime / "provider-former.admin"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(left))
        listener.listen()
    try:
        found = ctl("status")
        assert found.returncode == 0, found.stdout
        assert "provider-former    does not run: it has ended, and another provider is connected" in found.stdout
        assert programs(ctl)["provider-former"]["state"] == "ended"
        line.provider.stop()
        wait_for(lambda: "sluice-provider-former has ended; start it" in ctl("status").stdout,
                 "the link to be lost", PATIENCE)
        assert ctl("status").returncode == 4
    finally:
        left.unlink()
        if not line.provider.is_running():
            line.provider.start()
        wait_for(lambda: ctl("status").returncode == 0, "the line to be whole", PATIENCE)


def test_no_key_of_a_client_certificate_is_shown(line, ctl):
    cluster = line.cluster
    pair = self_signed("me.test")
    says = {"sluice.io/backend-protocol": "https", "sluice.io/backend-tls.verify": "false", "sluice.io/backend-tls.client-certificate": "me"}
    cluster.apply(cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1"]), cluster.tls_secret("me", pair.pem, pair.key),
                  one(cluster, "web", "web", annotations=says))
    found = wait_for(lambda: [p for p in ctl.json("get", "pool") or [] if p.get("tls", {}).get("client_chain")], "the pool", PATIENCE)
    assert "client_key" not in found[0]["tls"]
    assert pair.key.decode().splitlines()[1] not in ctl("get", "pool", "-o", "yaml").stdout


def test_each_reason_of_not_being_served(line, ctl):
    cluster = line.cluster
    other = self_signed("other.test")
    cluster.apply(
        cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1"]), cluster.service("empty"),
        cluster.tls_secret("other", other.pem, other.key),
        one(cluster, "no-service", "gone"), one(cluster, "no-endpoints", "empty"),
        cluster.ingress("no-port", [{"host": "no-port.test", "paths": [("/", "Prefix", "web", 81)]}]),
        one(cluster, "no-secret", "web", tls=[{"hosts": ["no-secret.test"], "secretName": "none"}]),
        one(cluster, "wrong-secret", "web", tls=[{"hosts": ["wrong-secret.test"], "secretName": "other"}]),
        one(cluster, "foreign", "web", ingressClassName="somebody-else"),
        one(cluster, "bad-annotation", "web") | {"metadata": {"name": "bad-annotation", "namespace": "default",
                                                              "annotations": {"allow.http": "perhaps"}}},
    )
    cluster.apply(one(cluster, "first", "web", "shared.test"))
    wait_for(lambda: ctl.explain("first"), "the older one", PATIENCE)
    cluster.apply(one(cluster, "second", "web", "shared.test"))
    for name, reason in {"no-service": "ServiceNotFound", "no-endpoints": "NoEndpoints", "no-port": "ServicePortNotFound",
                         "no-secret": "SecretNotFound", "wrong-secret": "CertificateNameMismatch", "foreign": "ClassNotOurs",
                         "bad-annotation": "InvalidAnnotation"}.items():
        ctl.wait_reason(name, reason)
        done = ctl("explain", f"default/{name}")
        assert done.returncode == 1 and reason in done.stdout and "→ " in done.stdout, done.stdout
    wait_for(lambda: {"PathConflict"} == ctl.reasons("first") | ctl.reasons("second"), "one of them to lose", PATIENCE)


def balancer(cluster, name: str, *ports: int, **spec: object) -> dict:
    made = cluster.service(name)
    made["spec"] |= {"type": "LoadBalancer", "loadBalancerClass": "sluice.io/load-balancer", "allocateLoadBalancerNodePorts": False,
                     "ports": [{"name": f"p{port}", "port": port, "targetPort": 8080} for port in ports]} | spec
    return made


def endpoints(cluster, name: str, ips: list[str], *ports: int) -> dict:
    made = cluster.slice(name, ips)
    made["ports"] = [{"name": f"p{port}", "port": 8080, "protocol": "TCP"} for port in ports]
    return made


def test_services_of_type_loadbalancer(line, ctl, tmp_path):
    cluster, port = line.cluster, []
    for _ in range(3):
        port.append(line.proxy.other_port(*port))
    cluster.apply(balancer(cluster, "first", port[0]), endpoints(cluster, "first", [f"{NETWORK}.0.1"], port[0]))
    wait_for(lambda: (ctl.json("explain", "service/default/first") or {}).get("state") == "applied", "the first Service", PATIENCE)
    objects = [balancer(cluster, "second", *port[:2]), endpoints(cluster, "second", [f"{NETWORK}.0.2"], *port[:2])]
    cluster.apply(*objects, balancer(cluster, "bare", port[2]), cluster.service("inner"),
                  balancer(cluster, "foreign", 81, loadBalancerClass="example.com/other"))
    good = ctl.json("explain", "service/default/first")
    (route,) = good["routes"]
    assert (good["kind"], good["addresses"], route["listener"], route["service"]) == ("Service", [line.proxy.address], f"tcp {port[0]}", "default/first")
    assert route["served"] and [e["address"] for e in route["endpoints"]] == [f"{NETWORK}.0.1:8080"]
    done = wait_for(lambda: (got := ctl("explain", "service/default/first")).returncode == 0 and got, "all to be applied", PATIENCE)
    assert f"✓ tcp {port[0]} → Service default/first, port {port[0]}" in done.stdout, done.stdout

    def routes(name: str) -> dict[str, str]:
        return {route["listener"]: route.get("reason", "") for route in (ctl.json("explain", f"service/default/{name}") or {}).get("routes", [])}

    wait_for(lambda: routes("second") == {f"tcp {port[0]}": "PortConflict", f"tcp {port[1]}": ""}, "the second to have one port", PATIENCE)
    done = ctl("explain", "service/default/second")
    assert done.returncode == 1 and "the older Service default/first" in done.stdout and "→ Use another port" in done.stdout, done.stdout
    assert done.stdout.count("PortConflict") == 1, "it is told once"
    assert wait_for(lambda: list(routes("bare").values()), "the Service without endpoints", PATIENCE) == ["NoEndpoints"]
    for name, reason in {"foreign": "LoadBalancerClassNotOurs", "inner": "ServiceNotLoadBalancer"}.items():
        wait_for(lambda name=name: ctl("explain", f"service/default/{name}").returncode == 1, f"Service {name}", PATIENCE)
        done = ctl("explain", f"service/default/{name}")
        assert reason in done.stdout and "→ Set spec." in done.stdout, done.stdout
    assert ctl("explain", "service/default/none").returncode == 5
    # The same of manifests, before anybody applies them.
    file = tmp_path / "manifests.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    done = ctl("explain", "-f", file, *WITH, "service/default/second")
    assert done.stdout.count("✓ tcp ") == 2 and f"{NETWORK}.0.2:8080" in done.stdout, done.stdout


def test_a_piece_of_the_line_is_gone(line, ctl):
    cluster = line.cluster
    cluster.apply(cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1"]), one(cluster, "web", "web"))
    wait_for(lambda: ctl("status").returncode == 0, "the line to be whole", PATIENCE)
    line.provider.stop()
    ctl.wait_reason("web", "ProviderAway")
    gone = ctl("status")
    assert gone.returncode == 4 and "lost" in gone.stdout
    line.provider.start()
    wait_for(lambda: ctl("status").returncode == 0, "the line to be whole", PATIENCE)
    wait_for(lambda: ctl("explain", "default/web").returncode == 0, "the routes to be served", PATIENCE)
    line.watcher.kill()
    wait_for(lambda: ctl("status").returncode == 4 and "does not run" in ctl("status").stdout, "the watcher to be missed", PATIENCE)
    assert programs(ctl)["watcher"]["state"] == "ended"
    assert ctl("explain", "default/web").returncode == 0, "the last state stays"
    line.translator.kill()
    for command in (["explain", "default/web"], ["get", "ingress"], ["events"], ["status"]):
        done = ctl(*command)
        assert done.returncode == 4 and "translator" in done.stdout + done.stderr, command
    done = ctl("get", "ingress", "-r", "/nonexistent")
    assert done.returncode == 4 and "/nonexistent/translator.admin" in done.stderr
    line.translator.start()
    line.watcher.start()
    wait_for(lambda: ctl("status").returncode == 0, "the line to be whole again", PATIENCE)


def test_events_come_as_they_happen(line, ctl):
    environment = {**os.environ, "SLUICE_RUNTIME_DIR": str(line.runtime)}
    with subprocess.Popen([build_folder() / "sluicectl/sluicectl", "events", "-o", "json"], stdout=subprocess.PIPE, text=True,
                          env=environment) as process:
        try:
            line.cluster.apply(one(line.cluster, "web", "gone"))
            seen = []
            for text in process.stdout:
                seen.append(json.loads(text))
                if seen[-1]["reason"] == "ServiceNotFound":
                    break
            assert seen[-1]["name"] == "web" and seen[-1]["type"] == "warning"
            assert "WatcherUp" in [event["reason"] for event in seen], "what is remembered comes first"
        finally:
            process.terminate()


def test_every_form_says_the_same(line, ctl):
    cluster = line.cluster
    many = [f"host{number}.test" for number in range(6)]
    ips = [f"{NETWORK}.0.{number}" for number in range(1, 7)]
    cluster.apply(cluster.service("web"), cluster.slice("web", ips), one(cluster, "one", "web"),
                  cluster.ingress("many", [{"host": host, "paths": [("/", "Prefix", "web", 80)]} for host in many]))
    wait_for(lambda: ctl.explain("many").get("state") == "applied" and not ctl.reasons("many"), "the Ingresses to be served", PATIENCE)
    for what, rows in {"ingress": 2, "lb": 1, "pool": 1, "cert": 0}.items():
        found = ctl.json("get", what)
        assert len(found) == rows == len(ctl("get", what).stdout.splitlines()) - 1, what
        assert yaml.safe_load(ctl("get", what, "-o", "yaml").stdout) == found
    short, wide = ctl("get", "ingress").stdout, ctl("get", "ingress", "-o", "wide").stdout
    assert ",+3" in short and not any(many[-1] in row for row in short.splitlines()) and ",".join(many) in wide and ",+" not in wide
    assert ",".join(f"{ip}:8080" for ip in ips) in ctl("get", "pool", "-o", "wide").stdout
    for command in (["explain", "default/many"], ["status"]):
        told = [yaml.safe_load(ctl(*command, "-o", form).stdout) for form in ("json", "yaml")]
        for item in told[0].get("programs", []) + told[1].get("programs", []):
            item.pop("lag_s", None)
        assert told[0] == told[1]


def on_a_terminal(line, columns: int, *arguments: str, **environment: str) -> str:
    """What a person sees at a terminal of that width."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    try:
        with subprocess.Popen([build_folder() / "sluicectl/sluicectl", *arguments], stdin=subprocess.DEVNULL, stdout=theirs,
                              env={**os.environ, "SLUICE_RUNTIME_DIR": str(line.runtime), **environment}):
            os.close(theirs)
            seen = b""
            with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
                while piece := os.read(ours, 65536):
                    seen += piece
    finally:
        os.close(ours)
    return seen.decode().replace("\r\n", "\n")


def test_a_terminal_and_none(line, ctl):
    cluster = line.cluster
    cluster.apply(cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1"]), one(cluster, "web", "web", "a-host-with-a-long-name.example.test"))
    wait_for(lambda: not ctl.reasons("web") and ctl("status").returncode == 0, "the line to be whole", PATIENCE)
    assert "\033[32m" in on_a_terminal(line, 80, "status") and "\033[32m" in on_a_terminal(line, 80, "explain", "default/web")
    for told in (ctl("status").stdout, on_a_terminal(line, 80, "status", NO_COLOR="1"), on_a_terminal(line, 80, "status", "--color", "never")):
        assert "\033" not in told and "● watcher" in told
    assert "\033[32m" in on_a_terminal(line, 80, "status", "--color", "always", NO_COLOR="1")
    whole = ctl("get", "ingress").stdout
    assert on_a_terminal(line, 200, "get", "ingress").count("\n") == whole.count("\n")
    for width in (1, 9, 20, 40):
        rows = on_a_terminal(line, width, "get", "ingress").splitlines()
        assert len(rows) == 2 and max(map(len, rows)) == width, rows
        assert all(row.endswith("…") and full.startswith(row[:-1]) for row, full in zip(rows, whole.splitlines())), rows
    rows = on_a_terminal(line, 40, "get", "ingress", "-o", "wide").splitlines()
    assert rows[0] == whole.splitlines()[0] and "a-host-with-a-long-name.example.test" in rows[1]


def test_output_that_is_not_taken(line, ctl):
    cluster = line.cluster
    hosts = [f"{number}.{'long' * 12}.test" for number in range(200)]
    cluster.apply(cluster.service("web"), cluster.ingress("many", [{"host": host, "paths": [("/", "Prefix", "web", 80)]} for host in hosts]))
    wait_for(lambda: len(ctl("get", "ingress", "-o", "json").stdout) > 16384, "the Ingress", PATIENCE)
    program, environment = build_folder() / "sluicectl/sluicectl", {**os.environ, "SLUICE_RUNTIME_DIR": str(line.runtime)}
    # `| head -1` is answered, and nothing is complained of.
    done = subprocess.run(["bash", "-c", f"set -o pipefail; for i in {{1..40}}; do {program} get ingress -o yaml; done | head -1"], capture_output=True,
                          text=True, timeout=120, check=False, env=environment)
    assert done.stdout.startswith("- ") and done.stderr == "" and done.returncode in (0, 141), done.stderr
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([program, "get", "ingress", "-o", "yaml"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
                              env=environment)
    assert done.returncode == 3 and "standard output: No space left" in done.stderr


def test_events_end_with_the_translator(line, ctl):
    wait_for(lambda: ctl("status").returncode == 0, "the line to be whole", PATIENCE)
    environment = {**os.environ, "SLUICE_RUNTIME_DIR": str(line.runtime)}
    with subprocess.Popen([build_folder() / "sluicectl/sluicectl", "events", "-o", "yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment) as process:
        assert process.stdout.readline() == "---\n"
        line.translator.stop()
        told, complaint = process.stdout.read(), process.stderr.read()
    assert process.returncode == 4 and "sluice-translator ended" in complaint
    assert {"WatcherUp", "ProviderUp"} <= {event["reason"] for event in yaml.safe_load_all("---\n" + told)}


@pytest.mark.parametrize("name", PROXIES)
def test_diff_says_what_applying_changes(name, tmp_path):
    with ProxyLine(name) as line:
        ctl, cluster = Ctl(line), line.cluster
        pair = self_signed("web.test")
        manifests = [cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1"]), cluster.tls_secret("tls", pair.pem, pair.key),
                     one(cluster, "web", "web", tls=[{"hosts": ["web.test"], "secretName": "tls"}])]
        cluster.apply(*manifests)
        wait_for(lambda: ctl.explain("web").get("state") == "applied" and not ctl.reasons("web"), "the Ingress to be served", PATIENCE)
        file = tmp_path / "apply.json"

        def diff(*objects: dict) -> subprocess.CompletedProcess[str]:
            file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
            return ctl("diff", "-f", file, "--with", f"http-port={line.proxy.http}", "--with", f"https-port={line.proxy.https}", *WITH)

        same = diff(*manifests)
        assert (same.returncode, same.stdout) == (0, "0 added, 0 changed, 0 removed\n"), same.stdout + same.stderr
        more = cluster.slice("web", [f"{NETWORK}.0.1", f"{NETWORK}.0.9"])
        changed = diff(more)
        assert changed.returncode == 1 and "0 added, 1 changed, 0 removed" in changed.stdout
        assert any(f"{NETWORK}.0.9" in text for text in changed.stdout.splitlines() if text.startswith("  +")), changed.stdout
        # A younger Ingress does not take a path from an older one, and its owner would hear of it.
        loses = diff(one(cluster, "aaa", "gone", "web.test"))
        assert "new warning: Ingress default/aaa: PathConflict" in loses.stdout, loses.stdout
        other = self_signed("web.test")
        renewed = diff(cluster.tls_secret("tls", other.pem, other.key))
        assert renewed.returncode == 1 and "change certificate default/tls" in renewed.stdout
        assert other.key.decode().splitlines()[1] not in renewed.stdout
        # What is done with requests is among it, and passwords are no more shown than keys.
        digest = "{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M="
        users = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": "default"}, "stringData": {"auth": f"bob:{digest}"}}
        guarded = cluster.ingress("guarded", [{"host": "guarded.test", "paths": [("/", "Prefix", "web", 80)]}],
                                  {"sluice.io/basic-auth.secret": "users", "sluice.io/hsts.max-age": "60"})
        added = diff(users, guarded)
        assert added.returncode == 1 and "add policy " in added.stdout and "add users " in added.stdout, added.stdout + added.stderr
        assert "bob" in added.stdout and digest not in added.stdout
        # Nothing of it has been applied.
        assert [e["address"] for e in ctl.explain("web")["routes"][0]["endpoints"]] == [f"{NETWORK}.0.1:8080"]


def test_routes_are_found_by_whatever_they_are_made_of(line, ctl):
    cluster = line.cluster
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, cluster.service("web"), cluster.slice("web", [f"{NETWORK}.0.1"]),
                  one(cluster, "web", "web", host="www.example", path="/cart"), one(cluster, "other", "none", host="other.example"))
    shop = cluster.within("shop")
    shop.apply(one(shop, "far", "till", host="far.example"))
    wait_for(lambda: ctl.json("routes")["matches"] == 3 and ctl.explain("web").get("state") == "applied", "all to be there", PATIENCE)

    def found(*arguments: object) -> list[str]:
        return [f"{item['namespace']}/{item['name']}" for item in ctl.json("routes", *arguments)["ingresses"]]

    assert found() == ["default/other", "default/web", "shop/far"]
    for text, names in {"WWW.Exam": ["default/web"], "/cart": ["default/web"], "default/o": ["default/other"], "till": ["shop/far"],
                        "example": ["default/other", "default/web", "shop/far"], "nothing": []}.items():
        assert found(text) == names, text
    assert found("example", "-n", "shop") == ["shop/far"]
    assert found("--skip", 1, "--limit", 1) == ["default/web"] and ctl.json("routes", "--limit", 1)["matches"] == 3
    # Whether each is served, and why not.
    wait_for(lambda: ctl("routes", "www").returncode == 0, "the route to be served", PATIENCE)
    rows = ctl("routes")
    assert rows.returncode == 1 and "ServiceNotFound" in rows.stdout and rows.stdout.count(" served") == 1, rows.stdout
    assert "these are 1 of 3 Ingresses" in ctl("routes", "--limit", 1).stderr
    assert ctl("routes", "--limit", "many").returncode == 2


def test_parts_of_lists(line, ctl):
    cluster = line.cluster
    cluster.apply(*[item for name in ("a", "b", "c") for item in (cluster.service(name), one(cluster, name, name))], cluster.slice("b", [f"{NETWORK}.0.1"]))
    wait_for(lambda: len(ctl.json("get", "pool")) == 3, "the pools to be there", PATIENCE)
    got = ctl.json("get", "pool", "--rows", "--worst-first", "--skip", 1)
    assert got["columns"][0] == "ID" and got["matches"] == 3 and [row[0] for row in got["rows"]] == ["default/c:80", "default/b:80"]
    assert ctl.json("get", "pool", "--rows", "--match", "/B:")["rows"][0][2] == "1/1"
    assert len(ctl("get", "pool", "--match", "default", "--limit", 2).stdout.splitlines()) == 3
    # The objects themselves are not chosen among, and nobody shall think so.
    assert "--rows" in (done := ctl("get", "pool", "--limit", 1, "-o", "json")).stderr and done.returncode == 2


def test_events_of_the_past_alone(line, ctl):
    cluster = line.cluster
    cluster.apply(one(cluster, "web", "none"))

    def past() -> list[str]:
        done = ctl("events", "--once", "-o", "json")
        assert done.returncode == 0, done.stderr
        return [json.loads(text)["reason"] for text in done.stdout.splitlines()]

    wait_for(lambda: "ServiceNotFound" in past(), "the Event to be remembered", PATIENCE)
    assert {"WatcherUp", "ProviderUp"} <= set(past())
    # When it was is said as logs and kubectl say it, with the day, wherever whoever asks is.
    said = subprocess.run([build_folder() / "sluicectl/sluicectl", "events", "--once"], capture_output=True, text=True, timeout=PATIENCE, check=True,
                          env={**os.environ, "SLUICE_RUNTIME_DIR": str(line.runtime), "TZ": "Asia/Tokyo"}).stdout
    moments = {datetime.datetime.fromisoformat(text.split()[0]) for text in said.splitlines()}
    assert all(abs(datetime.datetime.now(datetime.timezone.utc) - at) < datetime.timedelta(hours=1) for at in moments), said
