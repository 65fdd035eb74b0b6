# SPDX-License-Identifier: Apache-2.0
"""`sluicectl request`: what it says is done with a request is what is done, of manifests and at a running line."""
from __future__ import annotations

import base64
import json
import subprocess

import pytest

from lib.certs import Authority, self_signed
from lib.ctl import Ctl
from lib.line import build_folder
from lib.proxy_line import ProxyLine
from lib.raw_http import exchange

MANIFESTS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  annotations: {sluice.io/deny-sources: 203.0.113.0/24}
spec:
  rules:
  - host: shop.example
    http:
      paths:
      - {path: /cart, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /gone, pathType: Exact, backend: {service: {name: missing, port: {number: 80}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80, targetPort: 8080}], selector: {app: web}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.1.1.1], conditions: {ready: true}}]
ports: [{port: 8080}]
"""


def request(*words: str, text: str = MANIFESTS) -> subprocess.CompletedProcess[str]:
    return subprocess.run([build_folder() / "sluicectl/sluicectl", "request", "--filename", "-", *words], input=text, capture_output=True, text=True,
                          timeout=120, check=False)


def decision(*words: str) -> dict:
    return json.loads(request(*words, "--output", "json").stdout)


def test_a_request_is_led_to_its_endpoints():
    done = request("GET http://shop.example/cart/1?x=1", "--from", "198.51.100.7")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["Ingress", "default/shop"] in lines
    assert ["endpoints", "10.1.1.1:8080"] in lines
    assert ["is", "asked", "for", "/cart/1?x=1"] in lines
    assert "198.51.100.7 is let in  [Ingress default/shop]" in done.stdout
    assert done.stdout.index(" route ") < done.stdout.index(" pool ") < done.stdout.index(" source-access ")


def test_a_step_that_answers_is_the_last():
    done = request("shop.example/cart", "--from", "203.0.113.9")
    assert done.returncode == 0 and "403, by the proxy" in done.stdout and "Backend" not in done.stdout
    got = decision("shop.example/cart", "--from", "203.0.113.9")
    assert got["status"] == 403
    assert [step["step"] for step in got["steps"] if step.get("answers")] == ["source-access"]
    assert next(step["policy"] for step in got["steps"] if step["step"] == "source-access") == "default/shop"


def test_json_names_everything():
    got = decision("PUT", "http://SHOP.example./cart?a=b", "-H", "Cookie: a=b", "--body-bytes", "7")
    assert (got["host"], got["path"], got["match"], got["ingress"], got["target"]) == ("shop.example", "/cart", "prefix", "default/shop", "/cart?a=b")
    [pool] = got["pools"]
    assert pool["service"] == "web" and pool["endpoints"] == [{"ip": "10.1.1.1", "port": 8080, "active": True}]


@pytest.mark.parametrize(("url", "status", "step"), [("shop.example/else", 404, "route"), ("other.example/", 404, "route"), ("shop.example/gone", 503, "pool")])
def test_what_is_not_served_has_its_own_exit_code(url, status, step):
    assert request(url).returncode == 1
    got = decision(url)
    assert got["status"] == status and got["steps"][-1]["step"] == step


@pytest.mark.parametrize("words", [(), ("GET", "http://a.test/", "more"), ("http://",), ("ftp://a.test/",), ("http://a.test:0/",), ("a.test", "--from", "me"), ("G T http://a.test",),
                                   ("a.test", "--body-bytes", "x"), ("a.test", "--header", "no colon"), ("a.test", "-H", "X: a\nb"), ("http://a.test/\x1b[2J",)])
def test_what_is_no_request_is_refused(words):
    done = request(*words)
    assert done.returncode == 2 and done.stderr.startswith("sluicectl: ") and "\x1b" not in done.stderr
    assert not done.stdout


def test_nobody_listens_there():
    done = request("https://shop.example/cart")
    assert done.returncode == 5 and "no load balancer listens for HTTPS" in done.stderr


def test_text_does_not_control_the_terminal():
    done = request("shop.example/cart/\u009b2J", "-H", "X-A: \u009b2J", "--from", "203.0.113.9")
    assert done.returncode == 0 and "\u009b" not in done.stdout and "/cart/??2J" in done.stdout
    assert "\x1b" in request("shop.example/cart", "--from", "203.0.113.9", "--color", "always").stdout
    assert "\x1b" not in done.stdout


OTHERS = """
  annotations:
    nginx.ingress.kubernetes.io/auth-url: http://web.default.svc.cluster.local/check
    nginx.ingress.kubernetes.io/auth-signin: https://login.example/?rd=$escaped_request_uri
    nginx.ingress.kubernetes.io/auth-response-headers: X-User
    nginx.ingress.kubernetes.io/mirror-target: http://web.default.svc.cluster.local/copy
    nginx.ingress.kubernetes.io/custom-http-errors: "404"
    nginx.ingress.kubernetes.io/default-backend: web
    nginx.ingress.kubernetes.io/proxy-next-upstream-tries: "2"
    kubernetes.io/ingress.class: nginx
"""


def test_who_else_is_asked_is_a_step_of_its_own():
    text = MANIFESTS.replace("\n  annotations: {sluice.io/deny-sources: 203.0.113.0/24}\n", OTHERS)
    words = ("shop.example/cart?a", "--provider", "nginx", "--with", "ingress-nginx=true", "--with", "ingress-class=nginx")
    shown = request(*words, text=text)
    assert shown.returncode == 0, shown.stderr
    got = json.loads(request(*words, "--output", "json", text=text).stdout)
    steps = [step["step"] for step in got["steps"]]
    assert [step for step in steps if step in ("external-auth", "mirror", "retries", "error-pages")] == ["external-auth", "mirror", "retries", "error-pages"]
    assert {question["role"]: question["target"] for question in got["questions"]} == {"external-auth": "/check", "mirror": "/copy"}
    assert got["asks_others"] and "2xx lets it pass, 401 is answered with a 302" in shown.stdout
    assert {"action": "remove", "name": "X-User"} in got["request_headers"]


CLIENTS = """
  annotations:
    nginx.ingress.kubernetes.io/auth-tls-secret: default/clients
    nginx.ingress.kubernetes.io/auth-tls-error-page: /cart/why
    nginx.ingress.kubernetes.io/ssl-ciphers: ECDHE-ECDSA-AES256-GCM-SHA384
    kubernetes.io/ingress.class: nginx
"""


def test_what_is_done_without_a_certificate_is_a_step_of_its_own():
    pair = self_signed("shop.example")
    secrets = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind, "data": {key: base64.b64encode(value).decode() for key, value in data.items()}}
               for name, kind, data in (("clients", "Opaque", {"ca.crt": Authority("clients").pem}), ("tls", "kubernetes.io/tls", {"tls.crt": pair.pem, "tls.key": pair.key}))]
    text = MANIFESTS.replace("\n  annotations: {sluice.io/deny-sources: 203.0.113.0/24}\n", CLIENTS).replace("spec:\n  rules:", "spec:\n  tls: [{secretName: tls}]\n  rules:")
    text += "".join(f"---\n{json.dumps(secret)}\n" for secret in secrets)

    def said(*words: str, of: str = text) -> dict:
        words = ("https://shop.example/cart?a=b", "--provider", "nginx", "--with", "ingress-nginx=true", "--with", "ingress-class=nginx", *words, "--output", "json")
        done = request(*words, text=of)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    got = said()
    steps = [(step["step"], step["what"]) for step in got["steps"]]
    assert got["target"] == "/cart/why" and [step for step, _ in steps][:4] == ["route", "handshake", "client-tls", "route"]
    assert "as if it had asked for /cart/why" in steps[2][1] and steps[1][1] == "TLS 1.2: with ciphers of its own (1), in the server's order"
    assert said("--client-certificate")["target"] == "/cart?a=b"
    off = said("--client-certificate", of=text.replace("auth-tls-error-page: /cart/why", 'auth-tls-verify-client: "off"'))
    assert off["target"] == "/cart?a=b" and {"action": "set", "name": "ssl-client-verify", "value": "NONE"} in off["request_headers"]


def test_the_running_line_does_what_it_says(backends):
    with ProxyLine("haproxy") as line:
        cluster, ctl = line.cluster, Ctl(line)
        cluster.apply(cluster.service("web"), cluster.slice("web", [backends("web").ip]))
        cluster.apply(cluster.ingress("shop", [{"host": "shop.example", "paths": [("/cart", "Prefix", "web", 80)]}],
                                      {"sluice.io/deny-sources": "127.0.0.77/32"}))
        cluster.wait_addresses("shop", 1)
        for client, status in (("127.0.0.77", 403), ("127.0.0.78", 200)):
            got = exchange(line.proxy.address, line.proxy.http, b"GET /cart HTTP/1.1\r\nHost: shop.example\r\n\r\n", source=client)
            said = ctl.json("request", f"http://shop.example:{line.proxy.http}/cart", "--from", client)
            assert got.status == status == said.get("status", 200)
        assert "Service default/web" in ctl("request", "shop.example/cart").stdout
