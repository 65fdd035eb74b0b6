# SPDX-License-Identifier: Apache-2.0
"""Hostile texts in every field of Ingresses, Services, slices, Secrets and annotations, past whatever an API server would have refused: the whole
line goes on, and the configuration of the proxy at its end has no directive but ours."""
from __future__ import annotations

import base64
import json
import subprocess

import pytest

from lib.backend import Backend
from lib.certs import self_signed
from lib.envtest import assets
from lib.proxies import PROXIES
from lib.proxy_line import ProxyLine
from test_haproxy_hostile import HOSTILE, check_files
from test_nginx_hostile import MARK, check_configuration

TEXTS = [text + MARK for text in [*HOSTILE, "\u0000", "a\u0000b", "\u0085", "http://[", "a.test "]]
STICKINESS = "name: {0}\ncookie: {0}\ndomain: {0}\nmode: insert\nindirect: {0}"


@pytest.fixture(params=PROXIES)
def line(request):
    if assets():
        pytest.skip("the real API server cannot be told to store objects that it refuses")
    with ProxyLine(request.param) as running:
        yield running


def probes(text: str) -> str:
    probe = {"httpGet": {"path": f"/{text}", "port": text, "host": text, "httpHeaders": [{"name": text, "value": text}]}, "periodSeconds": text}
    return json.dumps({text: probe, "web": {"httpGet": {"path": f"/{text}", "port": 8080}}})


def hostile_objects(line, number: int, text: str, address: str) -> dict[str, dict]:
    """One of each kind; the names are good, for they are what the API is asked by."""
    name = f"n{number}"
    service = line.cluster.service(name)
    service["metadata"]["annotations"] = {f"sluice.io/{key}": text for key in ("group", "tls-passthrough", "scale")}
    service["spec"]["ports"][0] |= {"name": text, "appProtocol": text}
    service["spec"] |= {"externalName": text, "loadBalancerClass": text, "loadBalancerSourceRanges": [text]}
    pods = line.cluster.slice(name, [address])
    pods["ports"][0] |= {"name": text, "appProtocol": text}
    pods["endpoints"].append({"addresses": [text], "conditions": {"ready": True}, "nodeName": text, "zone": text, "targetRef": {"uid": text}})
    secret = line.cluster.tls_secret(name, b"", b"")
    pair = self_signed("n.test")
    secret["data"] = {"tls.crt": base64.b64encode(text.encode() + b"\xff\x00\n\n" + pair.pem).decode(),
                      "tls.key": base64.b64encode(pair.key + b"\n\n" + text.encode() + b"\xfe").decode()}
    paths = [("/ok", "Prefix", "web", 80), (f"/{text}", "Prefix", "web", 80), (text, "Exact", name, 80), (f"/x{text}", "Exact", name, text)]
    annotations = {"io.rancher.stickiness.policy": STICKINESS.format(text), "io.rancher.kubernetes.livenessprobes": probes(text), "http.port": text,
                   "https.port": text, "config": text, "scale": text, "allow.http": text, "sluice.io/tls-passthrough": text, "sluice.io/group": text,
                   "io.rancher.scheduler.affinity:host_label": text}
    ingress = line.cluster.ingress(name, [{"host": f"{name}.test", "paths": paths}, {"host": text, "paths": paths}], annotations)
    ingress["spec"]["tls"] = [{"hosts": [text, f"{name}.test"], "secretName": name}, {"hosts": [f"{name}.test"], "secretName": text}]
    return {"services": service, "endpointslices": pods, "secrets": secret, "ingresses": ingress}


def test_hostile_texts_in_every_object(line):
    with Backend("web") as web:
        good = [line.cluster.service("web"), line.cluster.slice("web", [web.ip]),
                line.cluster.ingress("good", [{"host": "good.test", "paths": [("/", "Prefix", "web", 80)]}])]
        for obj in good:
            line.kube.api.create(obj)
        line.wait_serves("good.test", "/", "web")
        for number, text in enumerate(TEXTS):
            for resource, obj in hostile_objects(line, number, text, web.ip).items():
                line.kube.put_object(resource, obj)
        line.kube.api.create(line.cluster.ingress("last", [{"host": "last.test", "paths": [("/", "Prefix", "web", 80)]}]))
        line.wait_serves("last.test", "/", "web")
        line.wait_serves(f"n{TEXTS.index('#comment' + MARK)}.test", "/ok", "web")
        assert line.proxy.reached("good.test") == "web"
        # What may be said is there, as data.
        folder = line.proxy.state_dir
        data = [*folder.glob("maps/*.map")] if line.proxy.name == "haproxy" else [folder / "state"]
        assert any(f"/&&{MARK}".encode() in path.read_bytes() for path in data)
        if line.proxy.name == "haproxy":
            check_files(line.proxy)
        else:
            file = folder / "nginx.conf"
            check_configuration(file.read_text())
            subprocess.run(["nginx", "-t", "-q", "-e", "stderr", "-c", str(file)], check=True, capture_output=True)
        assert not line.provider.events("proxy-answer") and not line.provider.events("configuration-refused")
