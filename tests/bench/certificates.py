# SPDX-License-Identifier: Apache-2.0
"""What certificates cost: scripts/bench certificates.

At a start the translator checks each of them; its CPU time is compared with that of decoding the base64 in them, which any reader of PEM has to
do. nginx shows each in full TLS handshakes; the CPU time of its workers is compared with that of handshakes for a single name.
"""
from __future__ import annotations

import base64
import json
import pathlib
import re
import resource
import ssl
import subprocess
import tempfile
import time

from lib.backend import Backend
from lib.certs import Authority, Pair
from lib.line import build_folder
from lib.local_proxy import certificate, host, pool
from lib.proxies import proxy_class
from lib.raw_http import dial
from report import budget, cpu_s, figure

BUILD = build_folder()
ROUNDS = 3  # the least of them counts, because other processes can only make it more
CLASS = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "sluice"},
         "spec": {"controller": "sluice.io/ingress-controller"}}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
           "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80, "targetPort": 80}]}}


def name_of(index: int) -> str:
    return f"h{index}.test"


def make_pairs(count: int) -> list[Pair]:
    """P-256 certificates, each followed by its issuer's."""
    authority = Authority("bench")
    pairs = [authority.sign(name_of(index)) for index in range(count)]
    return [Pair(pair.pem + authority.pem, pair.key, pair.der) for pair in pairs]


# Translator


def manifests(pairs: list[Pair], has_tls: bool) -> bytes:
    """An Ingress for each pair; with `has_tls` also its Secret."""
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    objects: list[dict] = [CLASS, SERVICE]
    for index, pair in enumerate(pairs):
        rule = {"host": name_of(index), "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
        spec = {"ingressClassName": "sluice", "rules": [rule]}
        if has_tls:
            data = {"tls.crt": base64.b64encode(pair.pem).decode(), "tls.key": base64.b64encode(pair.key).decode()}
            objects.append({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": f"s{index}"}, "data": data})
            spec["tls"] = [{"hosts": [name_of(index)], "secretName": f"s{index}"}]
        objects.append({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": f"i{index}"}, "spec": spec})
    return "".join(f"---\n{json.dumps(item)}\n" for item in objects).encode()


def translate_s(folder: pathlib.Path, frames: bytes, certificates: int) -> float:
    """Seconds of CPU in which the translator handles all of it."""
    least = float("inf")
    for _ in range(ROUNDS):
        before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        out = subprocess.run([BUILD / "translator/sluice-translator", "--once", "--hello", folder / "hello"], input=frames, check=True, capture_output=True).stdout
        least = min(least, sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before)
        assert out.count(b"-BEGIN PRIVATE KEY-") == certificates, "a certificate was refused"
    return least


def decode_s(pairs: list[Pair]) -> float:
    """Seconds of CPU for decoding the base64 in them."""
    bodies = [body for pair in pairs for body in re.findall(rb"-----\n([^-]+)-----END", pair.pem + pair.key)]
    least = float("inf")
    for _ in range(ROUNDS):
        before = time.process_time()
        for body in bodies:
            base64.b64decode(body)
        least = min(least, time.process_time() - before)
    return least


def measure_translator(pairs: list[Pair]) -> None:
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as name:
        folder = pathlib.Path(name)
        (folder / "hello").write_bytes(subprocess.run([BUILD / "provider-nginx/sluice-provider-nginx", "--hello"], check=True, capture_output=True).stdout)
        spent = []
        for has_tls in (False, True):
            frames = subprocess.run([BUILD / "watcher/sluice-watcher", "--manifests", "-"], input=manifests(pairs, has_tls), check=True,
                                    capture_output=True).stdout
            spent.append(translate_s(folder, frames, len(pairs) if has_tls else 0))
    each_us, plain_us = (spent[1] - spent[0]) / len(pairs) * 1e6, decode_s(pairs) / len(pairs) * 1e6
    budget(f"translator, {len(pairs):,} certificates, against their base64", each_us / plain_us, 100, "x",
           f"{each_us:.0f} us each, {spent[1]:.2f} s in all, {spent[0]:.2f} s without them")
    budget(f"translator, start with {len(pairs):,} certificates", spent[1], 1, " s")


# nginx


def measure_nginx(pairs: list[Pair]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with Backend("pod") as pod, proxy_class("nginx")() as proxy:
        def shake(index: int) -> None:
            """A handshake with a session of its own: none is resumed."""
            with context.wrap_socket(dial(proxy.address, proxy.https), server_hostname=name_of(index)) as link:
                assert link.getpeercert(True) == pairs[index].der, f"{name_of(index)}: another certificate"

        def shakes_ms(indices: list[int]) -> float:
            before = sum(map(cpu_s, workers))
            for index in indices:
                shake(index)
            return (sum(map(cpu_s, workers)) - before) / len(indices) * 1e3

        proxy.send(pool("web", pod), host("web.test", ("/", "web")), proxy.balancer(https=True),
                   *[certificate(f"c{index}", pair, name_of(index)) for index, pair in enumerate(pairs)])
        proxy.commit()
        proxy.wait_applied(600)
        workers = proxy.workers()
        each = list(range(len(pairs)))
        figure(f"nginx, handshake, {len(pairs):,} certificates, first time", shakes_ms(each), " ms", "CPU of the workers")
        # So often that each worker has seen nearly all of them.
        for _ in range(3 * len(workers)):
            shakes_ms(each)
        in_turn = min(shakes_ms(each) for _ in range(ROUNDS))
        one = min(shakes_ms([0] * len(pairs)) for _ in range(ROUNDS))
    budget(f"nginx, handshakes, {len(pairs):,} certificates in turn against one", in_turn / one, 1.2, "x", f"{in_turn:.2f} ms, {one:.2f} ms")


def measure(count: int) -> None:
    pairs = make_pairs(count)
    measure_translator(pairs)
    measure_nginx(pairs)
