# SPDX-License-Identifier: Apache-2.0
"""The programs of the line as filters: manifests to records, records to load balancer objects, those to files. No process listens, and none asks another."""
from __future__ import annotations

import base64
import io
import json
import pathlib
import struct
import subprocess
import tarfile

import msgpack
import pytest

from lib.certs import Authority, Pair, self_signed
from lib.frames import frame, frames
from lib.line import build_folder

INGRESS = """apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {rules: [{host: web.test, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 80}}}}]}}]}
"""
SERVICE = """apiVersion: v1
kind: Service
metadata: {name: one}
spec: {clusterIP: 10.9.0.1, ports: [{port: 80}]}
"""
BROKEN = """apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: broken}
spec: {rules: 7}
"""


def run(program: str, *arguments: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    folder = program.removeprefix("sluice-")
    return subprocess.run([build_folder() / folder / program, *map(str, arguments)], input=given, capture_output=True, timeout=60, check=False)


def watch(*texts: str, arguments: tuple[object, ...] = ()) -> bytes:
    done = run("sluice-watcher", "--manifests", "-", *arguments, given="---\n".join(texts).encode())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_manifests_become_records(tmp_path):
    done = run("sluice-watcher", "--manifests", "-", "--places", tmp_path / "places", given="---\n".join([INGRESS, SERVICE, BROKEN]).encode())
    assert done.returncode == 0 and done.stderr == b""
    told = frames(done.stdout)
    assert [kind for kind, _ in told[:2]] == ["hello", "settings"] and told[0][1]["role"] == "watcher"
    marks = [body["kind"] for kind, body in told if kind == "sync-end"]
    assert marks == told[1][1]["kinds"] == ["ingress", "service", "endpoints", "secret", "config-map"]
    upserts = {(body["kind"], body["namespace"], body["name"]) for kind, body in told if kind == "upsert"}
    assert upserts == {("ingress", "default", "web"), ("service", "default", "one")}
    [kept] = [body for kind, body in told if kind == "keep"]
    assert kept["name"] == "broken"
    *objects, counts = [json.loads(line) for line in (tmp_path / "places").read_text().splitlines()]
    assert counts == {"counts": {"ingress": 2, "ingress-class": 0, "service": 1, "endpoints": 0, "secret": 0, "config-map": 0, "pod": 0, "node": 0}}
    assert [(o["kind"], o["name"], o["file"]) for o in objects] == [
        ("Ingress", "web", "-"), ("Service", "one", "-"), ("Ingress", "broken", "-"), ("Ingress", "broken", "-")]
    assert [o["line"] for o in objects] == [1, 6, 11, 11]
    assert objects[-1]["reason"] == "Unusable" and "spec.rules" in objects[-1]["message"]


def test_what_cannot_be_used_is_told_on_standard_error():
    done = run("sluice-watcher", "--manifests", "-", given=(SERVICE + "---\n" + BROKEN).encode())
    [line] = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 0 and (line["name"], line["type"], line["line"]) == ("broken", "Warning", 6)


def test_manifests_over_records_of_a_running_line(tmp_path):
    (tmp_path / "records").write_bytes(b"".join(frame(kind, body) for kind, body in frames(watch(INGRESS, SERVICE)) if kind == "upsert"))
    [old] = [body for kind, body in frames(watch(INGRESS)) if kind == "upsert"]
    told = frames(watch(INGRESS.replace("web.test", "new.test"), INGRESS.replace("name: web", "name: more"),
                        arguments=("--records", tmp_path / "records")))
    there = {body["name"]: body for kind, body in told if kind == "upsert"}
    assert there.keys() == {"web", "more", "one"} and there["web"]["uid"] == old["uid"]
    assert there["web"]["rules"][0]["host"] == "new.test"
    # The new one is the youngest; the other keeps its age.
    assert there["more"]["created"] > there["web"].get("created", 0)
    (tmp_path / "records").write_bytes(frame("ping", {"seq": 1}))
    done = run("sluice-watcher", "--manifests", "-", "--records", tmp_path / "records", given=INGRESS.encode())
    assert done.returncode == 1 and b"frame 1" in done.stderr and done.stdout == b""


@pytest.mark.parametrize("arguments, text, code, words", [
    (["--manifests", "-"], "a: [", 1, "-: line 2"),
    (["--manifests", "/nonexistent.yaml"], "", 1, "/nonexistent.yaml"),
    (["--manifests", "-", "--places", "/nonexistent/places"], "", 1, "/nonexistent/places"),
    (["--manifests", "-", "--load-balancer-class="], "", 2, "--load-balancer-class"),
    (["--manifests", "-", "--page-size=0"], "", 2, "--page-size"),
])
def test_the_watcher_says_what_is_wrong(arguments, text, code, words):
    done = run("sluice-watcher", *arguments, given=text.encode())
    assert done.returncode == code and words in done.stderr.decode() and done.stdout == b""


def test_a_file_whose_name_has_a_comma(tmp_path):
    file = pathlib.Path(tmp_path / "a,b.yaml")
    file.write_text(SERVICE)
    done = run("sluice-watcher", "--manifests", file, "--manifests", file)
    assert done.returncode == 0 and done.stdout.count(b"upsert") == 1


HELLO = {"version_min": 1, "version_max": 1, "role": "provider", "name": "test", "software": "test 1",
         "capabilities": {"grouping": "per-ingress", "protocols": ["http", "https"]}}


@pytest.fixture(name="hello")
def fixture_hello(tmp_path) -> pathlib.Path:
    (tmp_path / "hello").write_bytes(frame("hello", HELLO))
    return tmp_path / "hello"


def translate(hello: pathlib.Path, records: bytes, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    return run("sluice-translator", "--once", "--hello", hello, *arguments, given=records)


def test_records_become_objects(hello, tmp_path):
    foreign = INGRESS.replace("name: web", "name: foreign").replace("spec: {", "spec: {ingressClassName: theirs, ")
    missing = INGRESS.replace("name: web", "name: missing").replace("name: one", "name: none")
    records = watch(INGRESS, SERVICE, foreign, missing)
    done = translate(hello, records, "--reports", tmp_path / "reports")
    assert done.returncode == 0 and done.stderr == b""
    told = frames(done.stdout)
    assert [told[0][0], told[1][0], told[-1][0]] == ["hello", "sync-begin", "commit"] and told[0][1]["role"] == "translator"
    assert {body["id"] for kind, body in told if kind == "upsert" and body["kind"] == "load-balancer"} == {"default/web", "default/missing"}
    reports = frames((tmp_path / "reports").read_bytes())
    assert reports[0][0] == "hello" and ("missing", "ServiceNotFound") in {(body["name"], body["reason"]) for kind, body in reports if kind == "event"}
    assert not any(body["name"] == "foreign" for kind, body in reports if kind == "event")
    # Nothing depends on an earlier run: a second one gives the same.
    assert translate(hello, records).stdout == done.stdout
    translate(hello, records, "--reports", tmp_path / "reports", "--report-foreign")
    [note] = [body for kind, body in frames((tmp_path / "reports").read_bytes()) if kind == "event" and body["name"] == "foreign"]
    assert (note.get("type", "normal"), note["reason"]) == ("normal", "ClassNotOurs")


def test_what_becomes_of_one_object(hello):
    records = watch(INGRESS, SERVICE)
    told = msgpack.unpackb(translate(hello, records, "--explain", "ingress/default/web").stdout, raw=False)
    assert told["load_balancer"] == "default/web" and told["provider"] == "test"
    done = translate(hello, records, "--explain", "service/default/web")
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("grouping, certificate, routes", [
    # host -> (only with TLS, not for, reason)
    ("merged", "", {"*.web.test": (True, ["own.web.test"], "NoListener"), "own.web.test": (False, [], "")}),
    ("merged", "other", {"*.web.test": (True, ["own.web.test"], "NoCertificate"), "own.web.test": (False, [], "")}),
    ("merged", "web", {"*.web.test": (True, ["own.web.test"], ""), "own.web.test": (False, [], "")}),
    ("per-ingress", "", {"*.web.test": (False, [], "NoListener"), "own.web.test": (False, [], "")}),
    ("per-ingress", "web", {"*.web.test": (True, [], ""), "own.web.test": (False, [], "")}),
])
def test_routes_that_plain_http_or_another_host_does_not_leave_to_it(tmp_path, grouping, certificate, routes):
    hello = {**HELLO, "capabilities": {**HELLO["capabilities"], "grouping": grouping}}
    (tmp_path / "hello").write_bytes(frame("hello", hello))
    pair = self_signed("*.web.test", "other.test")
    tls = {"": "", "web": 'tls: [{hosts: ["*.web.test"], secretName: pair}], ', "other": "tls: [{hosts: [other.test], secretName: pair}], "}[certificate]
    web = INGRESS.replace("{name: web}", '{name: web, annotations: {allow.http: "false"}}').replace("web.test", '"*.web.test"').replace("spec: {", "spec: {" + tls)
    own = INGRESS.replace("name: web", "name: own").replace("host: web.test", "host: own.web.test")
    secret = json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pair"}, "type": "kubernetes.io/tls",
                         "stringData": {"tls.crt": pair.pem.decode(), "tls.key": pair.key.decode()}})
    ready = ('{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: one, labels: {kubernetes.io/service-name: one}}, '
             'addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.0.0.1]}]}')
    records = watch(web, own, SERVICE, secret + "\n", ready)
    told = {}
    for name in ("web", "own"):
        answer = msgpack.unpackb(translate(tmp_path / "hello", records, "--explain", f"ingress/default/{name}").stdout, raw=False)
        for route in answer["routes"]:
            told[route["host"]] = (route.get("tls_only", False), route.get("excluded_hosts", []), route.get("reason", ""))
            assert route.get("served", False) == (not route.get("reason")), route
    assert told == routes


RECORDS = [("hello", {**HELLO, "role": "watcher"}), ("settings", {"kinds": ["ingress"], "ingress_class": "rancher", "controller_name": "x"}),
           ("sync-begin", {"kind": "ingress"}), ("sync-end", {"kind": "ingress"})]
STREAM = [frame(kind, {key: value for key, value in body.items() if key != "capabilities"}) for kind, body in RECORDS]


@pytest.mark.parametrize("given, words", [
    (b"", "hello of a watcher"),
    (STREAM[1], "frame 1: the hello of a watcher is expected"),
    (frame("hello", HELLO), "a watcher is expected here, and this is a provider"),
    (b"".join(STREAM[:3]), "records of kind ingress"),
    (b"".join(STREAM)[:-1], "frame 4: it ends in the middle"),
    (b"".join(STREAM[:2]) + struct.pack(">I", 4 * 1024 * 1024 + 1), "frame 3: it is longer than a frame may be"),
    (b"".join(STREAM[:2]) + struct.pack(">I", 0), "frame 3: it is empty"),
    (b"".join(STREAM[:2]) + struct.pack(">I", 1) + b"\xc1", "frame 3"),
    (STREAM[0] + frame("upsert", {"kind": "ingress", "name": 7}), "frame 2"),
])
def test_the_translator_refuses_what_a_link_refuses(hello, given, words):
    done = translate(hello, given)
    assert done.returncode == 1 and words in done.stderr.decode(), done.stderr


@pytest.mark.parametrize("arguments, code, words", [
    (["--once"], 2, "--hello"),
    (["--once", "--hello", "/nonexistent"], 1, "/nonexistent"),
    (["--once", "--hello", "/dev/null"], 1, "no hello of a provider"),
    (["--once", "--hello", "/dev/null", "--explain", "web"], 2, "ingress/NAMESPACE/NAME"),
    (["--once", "--hello", "/dev/null", "--explain", "http:///x"], 2, "it names no host"),
    (["--once", "--hello", "/dev/null", "--explain", "http://a:99999"], 2, "1 to 65535"),
    (["--once", "--hello", "/dev/null", "--http-port=443"], 2, "must differ"),
])
def test_the_translator_says_what_is_wrong(arguments, code, words):
    done = run("sluice-translator", *arguments, given=b"".join(STREAM))
    assert done.returncode == code and words in done.stderr.decode() and done.stdout == b""


def test_what_links_need_beside_the_records_is_passed_over(hello):
    done = translate(hello, STREAM[0] + frame("ping", {"seq": 1}) + frame("from-the-future", {"x": 1}) + b"".join(STREAM[1:]))
    assert done.returncode == 0 and [kind for kind, _ in frames(done.stdout)] == ["hello", "sync-begin", "commit"]


PROVIDERS = ["elb", "haproxy", "nginx", "rancher"]


def provider(name: str, *arguments: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return run(f"sluice-provider-{name}", *arguments, given=given)


def objects_for(name: str, folder: pathlib.Path, *texts: str) -> bytes:
    (folder / "provider").write_bytes(provider(name, "--hello").stdout)
    return translate(folder / "provider", watch(*texts)).stdout


@pytest.mark.parametrize("name", PROVIDERS)
def test_objects_become_files(name, tmp_path):
    [(kind, hello)] = frames(provider(name, "--hello").stdout)
    assert kind == "hello" and (hello["role"], hello["name"]) == ("provider", name) and hello["capabilities"]["protocols"]
    objects = objects_for(name, tmp_path, INGRESS, SERVICE)
    done = provider(name, "--render", tmp_path / "out", "--reports", tmp_path / "reports", given=objects)
    assert done.returncode == 0 and done.stdout == done.stderr == b""
    written = {str(path.relative_to(tmp_path / "out")): path for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert written and all(path.stat().st_mode & 0o777 == 0o600 for path in written.values())
    assert any(b"web.test" in path.read_bytes() for path in written.values())
    (own, _), *statuses = frames((tmp_path / "reports").read_bytes())
    assert own == "hello" and statuses and all(kind == "lb-status" and body["state"] == "pending" for kind, body in statuses)
    # The same as an archive, which any tar reads.
    archive = provider(name, "--render", "-", given=objects)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        assert {member.name: tar.extractfile(member).read() for member in tar} == {path: file.read_bytes() for path, file in written.items()}


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_refuses_what_is_not_whole(name, tmp_path):
    objects = objects_for(name, tmp_path, INGRESS, SERVICE)
    commit = objects.rindex(b"commit") - 6
    for given, words in ((b"", "before a commit"), (objects[:commit], "before a commit"), (objects[:-1], "ends in the middle"),
                         (STREAM[0], "a translator is expected here"), (frame("commit", {"serial": 1}), "the hello of a translator is expected"),
                         (objects + struct.pack(">I", 1 << 30), "longer than a frame may be")):
        done = provider(name, "--render", tmp_path / "out", given=given)
        assert done.returncode == 1 and words in done.stderr.decode(), (words, done.stderr)
    assert not (tmp_path / "out").exists()
    assert provider(name, "--render", "/proc/nowhere", given=objects).returncode == 1


def test_options_of_a_provider_are_checked():
    done = provider("haproxy", "--render", "-", "--state-dir=relative")
    assert done.returncode == 2 and b"absolute path" in done.stderr


def test_bad_certificates_among_hundreds(tmp_path):
    """Each is refused by name and for what is wrong with it; all others are sent, leaf first, however they were written."""
    authority = Authority("ca")
    pairs = {f"s{index}": authority.sign(f"s{index}.test") for index in range(300)}
    stranger = self_signed("x.test")
    bad = {
        "s17": (Pair(pairs["s17"].pem, stranger.key, b""), "tls.key does not fit tls.crt"),
        "s99": (Pair(b"rubbish", pairs["s99"].key, b""), "tls.crt holds no certificate"),
        "s100": (Pair(pairs["s100"].pem, pairs["s100"].key.replace(b"PRIVATE KEY-----\nM", b"PRIVATE KEY-----\nN"), b""), "tls.key holds a key that cannot be read"),
        "s101": (Pair(pairs["s101"].pem[:-40], pairs["s101"].key, b""), "tls.crt holds a PEM block that cannot be read"),
        "s299": (Pair(stranger.pem + pairs["s299"].pem, pairs["s298"].key, b""), "tls.key does not fit tls.crt"),
    }
    texts = [SERVICE]
    for index, (name, pair) in enumerate(pairs.items()):
        shown = bad[name][0] if name in bad else pair
        # As it should be, from the root down, and as some editors write it.
        chain = [shown.pem + authority.pem, authority.pem + shown.pem, (shown.pem + authority.pem).replace(b"\n", b"\r\n")][index % 3]
        data = {"tls.crt": base64.b64encode(chain).decode(), "tls.key": base64.b64encode(shown.key).decode()}
        texts.append(json.dumps({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": name}, "data": data}))
        texts.append(INGRESS.replace("name: web}", f"name: {name}}}").replace("web.test", f"{name}.test")
                     .replace("spec: {", f"spec: {{tls: [{{hosts: [{name}.test], secretName: {name}}}], "))
    (tmp_path / "hello").write_bytes(run("sluice-provider-nginx", "--hello").stdout)
    done = run("sluice-translator", "--once", "--hello", tmp_path / "hello", "--reports", tmp_path / "reports", given=watch("\n---\n".join(texts)))
    assert done.returncode == 0, done.stderr
    sent = {body["name"]: body for kind, body in frames(done.stdout) if kind == "upsert" and body["kind"] == "certificate"}
    assert sent.keys() == pairs.keys() - bad.keys()
    for name, body in sent.items():
        assert body["chain"] == pairs[name].pem + authority.pem and body["private_key"] == pairs[name].key and body["hosts"] == [f"{name}.test"]
    told = {body["name"]: body["message"] for kind, body in frames((tmp_path / "reports").read_bytes())
            if kind == "event" and "tls." in body["message"]}
    assert told.keys() == bad.keys()
    assert all(reason in told[name] for name, (_, reason) in bad.items()), told
