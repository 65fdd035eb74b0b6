# SPDX-License-Identifier: Apache-2.0
"""sluicectl without a line: what it renders is what the running line writes; what it complains of is what owners hear."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess

import pytest

from lib.certs import self_signed
from lib.elb_line import ElbLine
from lib.line import Line, build_folder, is_sanitized
from lib.local_proxy import PATIENCE
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from lib.wait import wait_for

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
KINDS = "ingresses,ingressclasses,services,endpointslices,secrets"


def sluicectl(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([build_folder() / "sluicectl/sluicectl", *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=120, check=False)


def objects(cluster) -> list[dict]:
    pair = self_signed("secure.test", "www.secure.test")
    renewed = self_signed("*.wild.test")
    found = [cluster.service(name) for name in ("one", "two", "three")]
    found += [cluster.slice("one", ["10.1.1.1", "10.1.1.2"]), cluster.slice("two", ["10.1.2.1"]),
              cluster.slice("three", ["10.1.3.1"], conditions={"ready": False, "serving": True, "terminating": True})]
    found += [cluster.tls_secret("secure-tls", pair.pem, pair.key), cluster.tls_secret("wild-tls", renewed.pem, renewed.key)]
    found += [
        cluster.ingress("web", [{"host": "web.test", "paths": [("/", "Prefix", "one", 80), ("/two", "Exact", "two", 80)]}]),
        cluster.ingress("secure", [{"host": "secure.test", "paths": [("/", "Prefix", "two", 80)]},
                                   {"host": "www.secure.test", "paths": [("/a", "Prefix", "three", 80)]}],
                        tls=[{"hosts": ["secure.test", "www.secure.test"], "secretName": "secure-tls"}]),
        cluster.ingress("wild", [{"host": "*.wild.test", "paths": [("/", "ImplementationSpecific", "one", 80)]}],
                        tls=[{"hosts": ["*.wild.test"], "secretName": "wild-tls"}]),
        cluster.ingress("sticky", [{"host": "sticky.test", "paths": [("/", "Prefix", "one", 80)]}],
                        {"io.rancher.stickiness.policy": "name: policy\ncookie: SRV\nmode: insert\n"}),
        cluster.ingress("rest", defaultBackend={"service": {"name": "missing", "port": {"number": 80}}}),
    ]
    return found


def start_with_everything_there(line: ProxyLine) -> None:
    """All three begin with these objects, and the provider with an empty folder."""
    for daemon in (line.provider, line.watcher, line.translator):
        daemon.stop()
    line.proxy.kill_supervisor()
    line.proxy.kill_proxy()
    shutil.rmtree(line.proxy.state_dir)
    for daemon in (line.translator, line.watcher):
        since = len(daemon.events("ready"))
        daemon.start()
        wait_for(lambda daemon=daemon, since=since: daemon is line.translator or len(daemon.events("ready")) > since,
                 f"{daemon.program.name} to be ready", PATIENCE)
    wait_for(lambda: line.translator.lines and "event=ready" in "\n".join(line.translator.lines[-5:]), "the translator to be ready", PATIENCE)
    since = len(line.provider.events("ready"))
    line.provider.start()
    wait_for(lambda: len(line.provider.events("ready")) > since, "the proxy to serve", PATIENCE)


def settings(line: ProxyLine) -> list[str]:
    values = {"state-dir": line.proxy.state_dir, "proxy-dir": line.proxy.proxy_dir, "bind-address": line.proxy.address,
              "http-port": line.proxy.http, "https-port": line.proxy.https}
    own = line.proxy.own_arguments
    values |= {name.removeprefix("--"): value for name, value in zip(own[::2], own[1::2])}
    return [f"--with={name}={value}" for name, value in values.items()]


def files_below(folder: pathlib.Path, *patterns: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): without_probe(path.read_bytes()) for pattern in patterns for path in folder.glob(pattern)
            if path.is_file()}


def without_probe(content: bytes) -> bytes:
    """Without the rows by which a provider asks its own proxy, whose host is a secret of each machine, and without the length of a file that has them."""
    content = re.sub(rb"(?m)^# length \d+\n", b"", content)
    return re.sub(rb"(?m)^\S+ probe\n", b"", content)


@pytest.mark.parametrize("name", PROXIES)
def test_render_is_what_the_running_line_writes(name, tmp_path):
    with ProxyLine(name) as line:
        line.cluster.apply(*objects(line.cluster))
        start_with_everything_there(line)
        manifest = tmp_path / "all.yaml"
        manifest.write_text(line.cluster.kubectl("get", KINDS, "-A", "-o", "yaml"))
        done = sluicectl("render", "-p", name, "-f", manifest, "--to", tmp_path / "out", *settings(line))
        assert done.returncode == 0, done.stderr
        patterns = ("haproxy.d/*", "maps/*.map", "certs/*") if name == "haproxy" else ("nginx.conf",)
        rendered = files_below(tmp_path / "out", *patterns)
        wait_for(lambda: files_below(line.proxy.state_dir, *patterns).keys() >= rendered.keys(), "the files", PATIENCE)
        assert rendered == files_below(line.proxy.state_dir, *patterns)
        assert len(rendered) >= len(patterns)
        # And the same of the manifests as JSON, by standard input.
        again = sluicectl("render", "-p", name, "-f", "-", "--to", tmp_path / "again", *settings(line),
                          text=line.cluster.kubectl("get", KINDS, "-A", "-o", "json"))
        assert again.returncode == 0, again.stderr
        assert files_below(tmp_path / "again", "**/*.*") == files_below(tmp_path / "out", "**/*.*")
        # Who is told what: the warnings are the Events.
        told = {(e["involvedObject"]["name"], e["reason"], e["message"]) for e in line.cluster.list("events") if e["type"] == "Warning"}
        lint = sluicectl("lint", "-p", name, "-f", manifest, "-o", "json", *settings(line))
        assert lint.returncode == 1
        warned = {(w["name"], w["reason"], w["message"]) for w in json.loads(lint.stdout)}
        assert warned and warned <= told
        assert all(w["remedy"] and w["file"] == str(manifest) and w["line"] > 0 for w in json.loads(lint.stdout))


def test_render_for_rancher_is_what_rancher_is_sent(tmp_path):
    with Line() as line:
        line.cluster.apply(*[o for o in objects(line.cluster) if o["kind"] != "Ingress" or o["metadata"]["name"] in ("web", "secure")])
        for name in ("web", "secure"):
            line.wait_balancer(name)
        manifest = tmp_path / "all.yaml"
        manifest.write_text(line.cluster.kubectl("get", KINDS, "-A", "-o", "yaml"))
        done = sluicectl("render", "-p", "rancher", "-f", manifest, "--to", tmp_path)
        assert done.returncode == 0, done.stderr
        for name in ("web", "secure"):
            there = line.balancer(name)
            body = json.loads((tmp_path / f"loadBalancerServices/{there['name']}.json").read_text())
            for member in ("name", "externalId", "description"):
                assert body[member] == there[member]
            assert body["launchConfig"]["ports"] == there["launchConfig"]["ports"]
            rules = [[(r.get("protocol"), r.get("sourcePort"), r.get("hostname"), r.get("path"), r.get("priority"), r.get("targetPort"))
                      for r in load_balancer["lbConfig"]["portRules"]] for load_balancer in (body, there)]
            assert rules[0] and rules[0] == rules[1]
        certificates = [json.loads(path.read_text()) for path in (tmp_path / "certificates").iterdir()]
        assert sorted(c["name"] for c in certificates) == ["default-secure-tls"]


OF_ELB = ["-p", "elb", "--with=cluster-name=demo"]


def rules_of(listener: dict, action: str) -> list:
    """(priority, conditions) of each rule; AWS's answers hold the same as the calls."""
    return sorted((rule.get("Priority") or rule["priority"], [
        (c["Field"], (c.get("HostHeaderConfig") or c.get("PathPatternConfig") or c).get("Values") or
         (c.get("HostHeaderConfig") or c)["RegexValues"]) for c in rule.get("Conditions") or rule["conditions"]]) for rule in listener[action])


def test_render_for_elb_is_what_aws_has(tmp_path):
    with ElbLine() as line:
        manifest = tmp_path / "all.yaml"
        cluster = line.cluster
        cluster.apply(*objects(cluster))
        names = [ingress["metadata"]["name"] for ingress in cluster.list("ingress")]
        for name in names:
            cluster.wait_addresses(name, 1)
        line.settle()
        manifest.write_text(cluster.kubectl("get", KINDS, "-A", "-o", "yaml"))
        done = sluicectl("render", *OF_ELB, "-f", manifest, "--to", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        groups = {group["name"]: group for group in line.aws.groups()}
        for name in names:
            told = json.loads((tmp_path / f"out/ingresses/default.{name}.json").read_text())
            [balancer] = told["LoadBalancers"]
            there = line.balancer(f"default/{name}")
            assert (balancer["Name"], balancer["Type"], balancer["Scheme"]) == (there["name"], there["type"], there["scheme"])
            assert [(x["Port"], x["Protocol"], rules_of(x, "Rules")) for x in balancer["Listeners"]] == \
                [(x["port"], x["protocol"], rules_of(x, "rules")) for x in sorted(there["listeners"], key=lambda x: x["port"])]
            for group in balancer["TargetGroups"]:
                stored = groups.pop(group["Name"])
                assert group["Tags"] == stored["tags"] and group["Attributes"].items() <= stored["attributes"].items()
                assert [(t["Id"], t["Port"]) for t in group["Targets"]] == sorted((t["id"], t["port"]) for t in line.aws.targets(stored["arn"]))
        assert not groups
        # The warnings are the Events, and what is running does not differ from what it was made of.
        told = {(e["involvedObject"]["name"], e["reason"], e["message"]) for e in cluster.list("events") if e["type"] == "Warning"}
        lint = sluicectl("lint", *OF_ELB, "-f", manifest, "-o", "json")
        assert lint.returncode == 1 and {(w["name"], w["reason"], w["message"]) for w in json.loads(lint.stdout)} == told
        assert all(w["remedy"] for w in json.loads(lint.stdout))
        where = ["--runtime-dir", line.runtime]
        same = sluicectl("diff", *where, *OF_ELB, "-f", manifest)
        assert same.returncode == 0, same.stdout + same.stderr
        manifest.write_text(manifest.read_text().replace("path: /two", "path: /other"))
        other = sluicectl("diff", *where, *OF_ELB, "-f", manifest)
        assert other.returncode == 1 and "/other" in other.stdout and "/two" in other.stdout, other.stdout + other.stderr


def test_keys_are_not_printed_unless_asked_for(tmp_path):
    pair = self_signed("a.test")
    manifest = tmp_path / "tls.yaml"
    manifest.write_text("""
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata: {name: t}
stringData:
  tls.crt: |
%s
  tls.key: |
%s
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a}
spec:
  tls: [{hosts: [a.test], secretName: t}]
  rules:
  - host: a.test
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}
""" % tuple("\n".join("    " + line for line in part.decode().splitlines()) for part in (pair.pem, pair.key)))
    key_lines = pair.key.decode().splitlines()[1:-1]
    for provider in ("haproxy", "rancher"):
        shown = sluicectl("render", "-p", provider, "-f", manifest, "--show-secrets")
        hidden = sluicectl("render", "-p", provider, "-f", manifest)
        assert shown.returncode == hidden.returncode == 0
        assert all(line in shown.stdout for line in key_lines)
        assert not any(line in hidden.stdout + hidden.stderr for line in key_lines)
        assert pair.pem.decode().splitlines()[1] in hidden.stdout and "(not shown)" in hidden.stdout
    # What is rendered for AWS names the Secret only.
    named = sluicectl("render", *OF_ELB, "-f", manifest, "--show-secrets")
    assert named.returncode == 0 and "default/t" in named.stdout and not any(line in named.stdout + named.stderr for line in key_lines)


@pytest.mark.parametrize("text, code, words", [
    ("a: [", 3, "line 2"),
    ("just text", 3, "apiVersion"),
    ("resources: [web.yaml]", 3, "kubectl kustomize"),
    ("metadata:\n\tname: a", 3, "a tab, where only blanks may indent"),
    ("metadata:\n  name: {{ .Release.Name }}", 3, "a template, which has to be rendered first"),
    ("\ufeffapiVersion: v1\nkind: Pod\nmetadata: {name: p}", 0, "0 Ingresses"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}", 0, "0 Ingresses"),
    ("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: 7}", 1, "spec.rules"),
    ("x: &x {<<: *x}", 3, "line 1"),
    ("a: &a [*a]", 3, "nested"),
])
def test_manifests_that_are_wrong(text, code, words):
    done = sluicectl("lint", "-f", "-", text=text)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["lint", "render"])
def test_what_is_told_of_a_manifest_does_not_control_the_terminal(command):
    """Keys of annotations and names of fields are anybody's, in manifests that no API server has seen."""
    annotations = {"sluice.io/a\x1b[31m": "x", "sluice.io/b\x9b31m": "x"}
    text = json.dumps({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web", "annotations": annotations}, "spec": {"c\x1b[2J": 1}})
    done = sluicectl(command, "-f", "-", text=text)
    said = done.stdout + done.stderr
    assert "sluice.io/a?[31m" in said and "UnknownField: spec.c?[2J" in said
    assert "\x1b" not in said and "\x9b" not in said


def ingress_with(**members: object) -> str:
    rule = {"host": "a.test", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]}}
    return json.dumps({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"}, "spec": {"rules": [rule]}, **members})


@pytest.mark.parametrize("members, words", [
    ({"spec": {"rules": [{"hosts": ["a.test"]}]}}, "UnknownField: spec.rules[0].hosts"),
    ({"metadata": {"name": "web", "annotation": {}}}, "UnknownField: metadata.annotation"),
    ({"spec": {"tls": [{"secret": "s"}]}}, "UnknownField: spec.tls[0].secret"),
    ({"kind": "ingress"}, "Kubernetes has no ingress in this apiVersion; Ingress of networking.k8s.io/v1"),
    ({"apiVersion": "networking.k8s.io/v2"}, "Kubernetes has no Ingress in this apiVersion"),
    ({"apiVersion": "v1"}, "Kubernetes has no Ingress in this apiVersion"),
    ({"apiVersion": "networking.internal.knative.dev/v1alpha1"}, "0 Ingresses, 0 Services, 0 Secrets: 0 warnings"),
    ({"apiVersion": "networking.k8s.io/v1beta1", "spec": {"backend": {"serviceName": "web", "servicePort": 80}}}, "ServiceNotFound"),
])
def test_what_nobody_would_read_is_told(members, words):
    done = sluicectl("lint", "-f", "-", text=ingress_with(**members))
    assert words in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("UnknownField") == ("UnknownField" in words)
    assert done.returncode == ("0 warnings" not in words)


FOREIGN = """apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: theirs
  defaultBackend: {service: {name: missing, port: {number: 80}}}
"""


def test_an_ingress_of_a_foreign_class_is_named(tmp_path):
    (tmp_path / "web.yaml").write_text(FOREIGN)
    done = sluicectl("lint", "-f", tmp_path / "web.yaml")
    assert done.returncode == 0
    assert re.search(r'web.yaml:1: note: Ingress default/web: ClassNotOurs: its class "theirs" is not ours: ours is "rancher"', done.stdout)
    assert "1 Ingresses (1 not ours), 0 Services, 0 Secrets: 0 warnings" in done.stdout
    # Who reads only that there are no warnings has to know that nothing was looked at.
    assert "none of the Ingresses was checked: say which class is ours" in done.stderr
    [note] = json.loads(sluicectl("lint", "-o", "json", "-f", tmp_path / "web.yaml").stdout)
    assert (note["type"], note["reason"], note["name"]) == ("Normal", "ClassNotOurs", "web") and note["remedy"]
    # With the class that is asked for it is ours, and what is wrong with it is a warning.
    done = sluicectl("lint", "-f", tmp_path / "web.yaml", "--with", "ingress-class=theirs")
    assert done.returncode == 1 and "ServiceNotFound" in done.stdout and "not ours" not in done.stdout and done.stderr == ""
    # An IngressClass among the manifests decides, as in a cluster that has any.
    theirs = "\n---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: %s}\nspec: {controller: %s}\n"
    for name, controller, words in (("theirs", "example.com/other", 'there is no IngressClass "theirs" whose controller is'),
                                    ("rancher", "example.com/other", 'there is no IngressClass "theirs" whose controller is'),
                                    ("theirs", "sluice.io/ingress-controller", "ServiceNotFound")):
        done = sluicectl("lint", "-f", "-", "--with", "ingress-class=theirs", text=FOREIGN + theirs % (name, controller))
        assert words in done.stdout, (name, controller, done.stdout)


@pytest.mark.parametrize("arguments, words", [
    ([], "command"), (["dance"], "dance"), (["lint"], "--filename"), (["lint", "--nope"], "--nope"), (["render", "-p", "envoy"], "haproxy"),
    (["lint", "-f", "-", "--with", "no-such=1"], "no-such"), (["lint", "-f", "-", "--with", "http-port=0"], "http-port"),
    (["lint", "--to", "x"], "--to"),
])
def test_wrong_usage(arguments, words):
    done = sluicectl(*arguments, text="")
    assert done.returncode == 2 and words in done.stderr


def test_a_file_that_is_not_there():
    done = sluicectl("lint", "-f", "/nonexistent.yaml")
    assert done.returncode == 3 and "/nonexistent.yaml" in done.stderr


def complete_in_bash(folder: pathlib.Path, *words: str) -> set[str]:
    shell = (f"source {folder}/bash; COMP_WORDS=({' '.join(words)} ''); COMP_CWORD={len(words)}; _sluicectl; "
             "printf '%s\\n' \"${COMPREPLY[@]}\"")
    return set(subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True).stdout.split())


def complete_in_fish(folder: pathlib.Path, *words: str) -> set[str]:
    found: set[str] = set()
    # An option is offered when its dash is there.
    for last in ("", "-") if words[-1:] != ("--provider",) and words[-1:] != ("-p",) else ("",):
        shell = f"source {folder}/fish; complete -C '{' '.join([*words, last])}'"
        done = subprocess.run(["fish", "--no-config", "-c", shell], capture_output=True, text=True, check=True, timeout=60,
                              env={**os.environ, "HOME": str(folder)})
        found |= {line.split("\t")[0] for line in done.stdout.splitlines()}
    return found


# What the completion adds goes to a file; the rest is what a person at a terminal would see.
ZSH = r"""
PROMPT=
fpath=($FOLDER $fpath)
autoload -Uz compinit
compinit -u -d $FOLDER/dump
bindkey '^I' complete-word
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a hits
    builtin compadd -A hits "$@"
    print -rl -- $hits >>$FOLDER/hits
    builtin compadd "$@"
}
tell() { print COMPLETED }
comppostfuncs=(tell)
"""
ZPTY = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source $FOLDER/setup"
zpty -n -w shell "$WORDS"$'\t'
zpty -r shell seen '*COMPLETED*'
zpty -d shell
"""


def complete_in_zsh(folder: pathlib.Path, *words: str) -> set[str]:
    shutil.copy(folder / "zsh", folder / "_sluicectl")
    (folder / "setup").write_text(ZSH)
    (folder / "hits").write_text("")
    last = words[-1]
    for typed in ("", "-") if last not in ("--provider", "-p") else ("",):
        environment = {**os.environ, "HOME": str(folder), "FOLDER": str(folder), "WORDS": " ".join([*words, typed]), "TERM": "dumb"}
        subprocess.run(["zsh", "-f", "-c", ZPTY], capture_output=True, text=True, check=True, timeout=60, env=environment)
    return {word.rstrip("=") for word in (folder / "hits").read_text().split()}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / shell).write_text(sluicectl("completion", shell).stdout)
    how = {"bash": complete_in_bash, "zsh": complete_in_zsh, "fish": complete_in_fish}[shell]

    def completed(*words: str) -> set[str]:
        return how(tmp_path, *words)

    assert {"status", "get", "explain", "render", "diff", "lint"} <= completed("sluicectl")
    assert {"ingress", "lb", "pool", "cert", "--output"} <= completed("sluicectl", "get")
    assert completed("sluicectl", "render", "--provider") == completed("sluicectl", "render", "-p") == {"elb", "haproxy", "nginx", "rancher"}
    assert "--to" in completed("sluicectl", "render") and "--to" not in completed("sluicectl", "lint")
    # A value is no command, and options before the command count like those behind it.
    assert {"lint", "--output", "--version"} <= completed("sluicectl", "-n", "lint")
    assert {"lint", "--output"} <= completed("sluicectl", "--show-secrets")
    assert completed("sluicectl", "-p") == {"elb", "haproxy", "nginx", "rancher"}
    after = completed("sluicectl", "--namespace", "web", "render")
    assert "--to" in after and "lint" not in after
    assert {"ingress", "lb", "pool", "cert"} <= completed("sluicectl", "-o", "json", "get")


def test_options_stand_before_and_behind_the_command(tmp_path):
    (tmp_path / "web.yaml").write_text("""apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {defaultBackend: {service: {name: missing, port: {number: 80}}}}
""")
    behind = sluicectl("lint", "-n", "web", "-o", "json", "-f", str(tmp_path / "web.yaml"))
    assert json.loads(behind.stdout)[0]["namespace"] == "web"
    for words in (["-n", "web", "-o", "json", "-f", str(tmp_path / "web.yaml"), "lint"],
                  ["--namespace=web", "--output", "json", "lint", "-f", str(tmp_path / "web.yaml")]):
        assert sluicectl(*words).stdout == behind.stdout
    for command in ("status", "get", "explain", "events", "render", "diff", "lint", "completion"):
        told = sluicectl(command, "--help").stdout
        assert f"[OPTION...] {command} [OPTION...]" in told
        assert told == sluicectl("--help", command).stdout == sluicectl("help", command).stdout
        # Each option of the command's help is known to it wherever it stands, and each other one is refused by name.
        for option in re.findall(r"--([a-z-]+)", sluicectl("--help=markdown").stdout.split("| option |")[1]):
            value = {"provider": ["nginx"], "output": ["json"], "color": ["never"], "show-secrets": [], "worst-first": [], "rows": [], "once": []}.get(option, ["x"])
            before = sluicectl(f"--{option}", *value, command, "--help")
            assert before.stdout == (told if f"--{option}" in told else ""), (command, option)
            assert before.returncode == sluicectl(command, f"--{option}", *value, "--help").returncode == (0 if before.stdout else 2)


# Texts that could cost more than they are long; each takes how many times something stands in it.
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
ONE_INGRESS = """---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: n%d}
spec: {rules: [{host: h.test, http: {paths: [{path: /%d, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}
"""
SHAPES = {
    "brackets": lambda n: "a: " + "[" * n,
    "dashes": lambda n: "a:\n  " + "- " * n,
    "anchors": lambda n: CONFIG + "x:\n" + "".join(f"- &a{i} 1\n" for i in range(n)),
    "aliases": lambda n: CONFIG + "x:\n- &a 1\n" + "- *a\n" * n,
    "tag directives": lambda n: "".join(f"%TAG !a{i}! tag:x,2000:\n" for i in range(n)) + "---\n" + CONFIG,
    "keys": lambda n: CONFIG + "".join(f"k{i}: 1\n" for i in range(n)),
    "documents": lambda n: ("---\n" + CONFIG) * n,
    "empty documents": lambda n: "---\n" * n,
    "items": lambda n: "apiVersion: v1\nkind: List\nitems:\n" + "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n" * n,
    "ingresses of one host": lambda n: "".join(ONE_INGRESS % (i, i) for i in range(n // 4)),
    "scalar": lambda n: CONFIG + "x: '" + "a" * n * 10 + "'\n",
    "lines": lambda n: CONFIG + "x: a\n" + "  b\n" * n,
}
TIMES = 8
NOTHING = 100_000  # instructions
OWN_MAX = 1.25  # how much more each of eight times as many may cost


def instructions(text: str, folder: pathlib.Path) -> int:
    """What lint of it costs in all its programs together, counted by callgrind: the same on every machine."""
    (folder / "text.yaml").write_text(text)
    for former in folder.glob("out.*"):
        former.unlink()
    subprocess.run(["valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={folder}/out.%p", build_folder() / "sluicectl/sluicectl", "lint", "-f",
                    folder / "text.yaml"], capture_output=True, text=True, timeout=240, check=False,
                   env={**os.environ, "SLUICE_SANDBOX": "off"})  # in which valgrind could not write
    totals = [re.search(r"^(?:totals|summary): (\d+)", path.read_text(), re.M) for path in folder.glob("out.*")]
    assert len(totals) >= 3 and all(totals), f"{len(totals)} profiles, and not one of sluicectl, the watcher and the translator each"
    return sum(int(total[1]) for total in totals)


@pytest.fixture(scope="module")
def beginning(tmp_path_factory) -> int:
    """What lint costs before it reads: of a text that is refused at once."""
    return instructions("a: [", tmp_path_factory.mktemp("lint"))


@pytest.mark.skipif(shutil.which("valgrind") is None or is_sanitized(), reason="valgrind counts the instructions, of programs that nothing else looks into")
@pytest.mark.parametrize("shape", SHAPES)
def test_lint_is_linear(shape, beginning, tmp_path):
    small, large = (instructions(SHAPES[shape](n), tmp_path) - beginning for n in (500, 500 * TIMES))
    # Where a limit is met, both cost next to nothing.
    assert large < max(small, NOTHING) * TIMES * OWN_MAX, f"{shape}: {small} instructions, and {large} for {TIMES} times as much"


INGRESS = """apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: {0}}}
spec: {{rules: [{{host: {0}.test, http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: missing, port: {{number: 80}}}}}}}}]}}}}]}}
"""


def test_a_folder_stands_for_its_manifests(tmp_path):
    """Those that kubectl would take, in the order of their names, and more of them than a program may usually open."""
    count = 300
    for number in range(count):
        (tmp_path / f"web-{number:03d}.{('yaml', 'yml')[number % 2]}").write_text(INGRESS.format(f"web-{number:03d}"))
    for name in ("readme.txt", ".hidden.yaml", "folder.yaml/inner.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("no manifest")
    os.mkfifo(tmp_path / "pipe.yaml")
    command = f"ulimit -Sn 200; exec {build_folder()}/sluicectl/sluicectl lint --filename {tmp_path}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 1 and f"{count} Ingresses" in ran.stdout, ran
    found = re.findall(r"^(\S+):1: warning: Ingress default/(\S+): ServiceNotFound", ran.stdout, re.M)
    assert [name for _, name in found] == [f"web-{number:03d}" for number in range(count)]
    assert found[0][0] == str(tmp_path / "web-000.yaml")


def test_a_folder_without_manifests_is_named(tmp_path):
    (tmp_path / "readme.txt").write_text("no manifest")
    ran = sluicectl("lint", "--filename", tmp_path)
    assert ran.returncode != 0 and f"{tmp_path}: no file in this folder ends in .json, .yaml or .yml" in ran.stderr, ran
    (tmp_path / "a.yaml").symlink_to(tmp_path / "nothing")
    ran = sluicectl("lint", "--filename", tmp_path)
    assert ran.returncode != 0 and f"{tmp_path}/a.yaml: No such file" in ran.stderr, ran


OF_NGINX = """apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations:
    nginx.ingress.kubernetes.io/affinity: cookie
    nginx.ingress.kubernetes.io/auth-keepalive: "2"
    nginx.ingress.kubernetes.io/auth-url: http://auth.example
    nginx.ingress.kubernetes.io/configuration-snippet: 'more_set_headers "X-A: a";'
    nginx.ingress.kubernetes.io/cors-max-age: "60"
    nginx.ingress.kubernetes.io/rewrite-targt: /
spec:
  ingressClassName: nginx
  rules: [{host: web.test}]
"""


def test_what_differs_of_ingress_nginx_is_named():
    """With its difference, or what was decided, as a note, or as a warning if it is not heeded; what does the same is not."""
    done = sluicectl("lint", "-f", "-", "-o", "json", "--with", "ingress-nginx=true", text=OF_NGINX)
    found = {re.search(r"\[nginx[^]/]*/([a-z-]+)\]", one["message"])[1]: (one["type"], one["reason"]) for one in json.loads(done.stdout)
             if "[nginx" in one["message"]}
    assert found == {"affinity": ("Normal", "AnnotationDecided"), "auth-keepalive": ("Normal", "AnnotationNotNeeded"),
                     "auth-url": ("Warning", "InvalidAnnotation"), "configuration-snippet": ("Warning", "SnippetRefused"),
                     "rewrite-targt": ("Warning", "UnknownAnnotation")}
    assert "for more_set_headers write sluice.io/response-headers" in done.stdout
    # Others are not read by that dialect, so nothing is said of their annotations.
    done = sluicectl("lint", "-f", "-", "-o", "json", text=OF_NGINX)
    assert [one["reason"] for one in json.loads(done.stdout)] == ["ClassNotOurs"]


@pytest.mark.parametrize("command", ["render", "migrate"])
def test_who_waits_at_a_terminal_is_told_how_far_it_is(command, tmp_path):
    """A line that is gone at the end; standard output is without it, and so is an error output that is no terminal."""
    slow = tmp_path / "slow.yaml"
    manifest = (EXAMPLES / "broken.yaml").read_text()
    whole = sluicectl(command, "-f", "-", text=manifest)
    os.mkfifo(slow)
    ours, theirs = pty.openpty()
    try:
        # What it prints goes to a file: in a pipe it could wait for this test, which waits for the terminal.
        with (tmp_path / "told").open("wb") as out, subprocess.Popen([build_folder() / "sluicectl/sluicectl", command, "-f", slow],
                                                                     stdin=subprocess.DEVNULL, stdout=out, stderr=theirs) as slowly:
            os.close(theirs)
            seen = b""
            while b" KB of answers of the line's programs ..." not in seen:
                seen += os.read(ours, 4096)
            slow.write_text(manifest)
            with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
                while piece := os.read(ours, 4096):
                    seen += piece
    finally:
        os.close(ours)
    told = (tmp_path / "told").read_text()
    assert slowly.returncode == whole.returncode and told.replace(str(slow), "-") == whole.stdout and "\r" not in told
    assert seen.startswith(b"\r\033[K0 KB") and "\r" not in whole.stderr
    # It is wiped out before anything else is said.
    last = seen.rpartition(b" ...")[2]
    assert last.startswith(b"\r\033[K") and b"KB of answers" not in last
