# SPDX-License-Identifier: Apache-2.0
"""provider-nginx and what tenants write: nothing of it becomes a directive, and whatever is refused hurts only itself."""
from __future__ import annotations

import pathlib
import re
import socket
import subprocess

import pytest

from lib import nginx_conf
from lib.backend import Backend, TcpBackend
from lib.certs import self_signed
from lib.local_proxy import LB, certificate, host, passthrough, pool
from lib.nginx import Nginx
from lib.wait import wait_for

PATIENCE = 120.0
MARK = "0wned"
# Texts of the protocol are UTF-8 without NUL; everything else may come.
TEXTS = [f'"; {MARK}; #', f"'; {MARK} {{ }}", f"\\\"; {MARK};", f"${{{MARK}}}", f"${MARK}", f"a;{MARK}", f"}} {MARK} {{", f"a\n{MARK};", f"a\r{MARK};",
         f"a\u2028{MARK};", f"a\u0085{MARK}", f"%[{MARK}]", f"a||{MARK}", f"a&&{MARK}", f"# {MARK}", f"\t{MARK}", f"\x7f\x01{MARK}",
         f"*.{MARK}$", f"~^{MARK}.*", f"]]{MARK}[[", f"--{MARK}", f"a\\{MARK}", f"{MARK}" * 200, f"xn--{MARK}-\u00fc", f"../../{MARK}"]
DIRECTIVES = {
    "load_module", "user", "worker_processes", "worker_rlimit_nofile", "worker_shutdown_timeout", "error_log", "pid", "lock_file", "events",
    "worker_connections", "stream", "http", "server", "upstream", "map", "listen", "set", "location", "return", "allow", "deny",
    "lua_shared_dict", "lua_max_running_timers", "lua_transform_underscores_in_response_headers", "lua_package_path", "init_by_lua_block", "init_worker_by_lua_block",
    "balancer_by_lua_block", "set_by_lua_block", "if", "access_by_lua_block", "content_by_lua_block", "header_filter_by_lua_block", "log_by_lua_block",
    "ssl_certificate_by_lua_block", "ssl_client_hello_by_lua_block", "error_page", "break", "lua_socket_log_errors",
    "access_log", "log_format", "server_tokens", "default_type", "merge_slashes", "request_pool_size", "client_max_body_size",
    "client_body_buffer_size", "client_body_temp_path", "fastcgi_temp_path", "uwsgi_temp_path", "scgi_temp_path",
    "client_header_timeout", "large_client_header_buffers", "keepalive", "keepalive_timeout",
    "keepalive_requests", "uninitialized_variable_warn", "server_names_hash_bucket_size", "ssl_protocols", "ssl_prefer_server_ciphers", "ssl_session_cache",
    "ssl_session_timeout", "ssl_buffer_size", "ssl_certificate", "ssl_certificate_key", "ssl_preread", "set_real_ip_from", "geo",
    "real_ip_header", "real_ip_recursive", "least_conn", "hash", "preread_timeout", "map_hash_max_size", "map_hash_bucket_size", "thread_pool", "limit_rate_after",
}


def is_known(name: str) -> bool:
    return name in DIRECTIVES or name.startswith(("proxy_", "grpc_"))


def check_configuration(text: str) -> None:
    """Only directives of ours, nowhere a word of theirs."""
    assert MARK not in text
    for path, item in nginx_conf.walk(nginx_conf.parse(text)):
        if path and path[-1] in ("map", "geo"):
            continue  # keys
        assert is_known(item.name), f"{item.words} in {path}"


@pytest.fixture
def proxy():
    with Nginx() as one:
        yield one


def hostile_objects(proxy: Nginx, number: int, text: str) -> list[dict]:
    """One object of each kind with the text in every field that takes any."""
    port = 20000 + number
    name = f"n{number}"
    check = {"service": text[:253], "type": "http", "path": text}
    sticky = {"name": text[:253], "cookie": text[:253], "domain": text[:255], "mode": "insert"}
    told = {"cookie": "sid", "mode": "insert", "affinity": {"path": text, "secure": "tls"}}
    texts = [{"from": text, "to": "/"}, {"from": "/", "to": text}]
    pieces = [{"text": text}, *({"value": value, "text": text[:253]} for value in ("header", "cookie", "argument"))]
    service = {"namespace": text[:60], "name": text[:250], "uid": text[:120]}
    pair = self_signed("s.internal")
    tls = {"verify": "ca", "ca": pair.pem + text.encode(), "server_name": "s.internal", "client_chain": text.encode() + b"\n" + pair.pem,
           "client_key": pair.key}
    secure = {"protocol": "https", "endpoints": [{"ip": "127.0.0.1", "port": port, "active": True}]}
    rule = {"path": text, "pool": text[:1000], "match": "prefix", "ingress": text[:300]}
    return [
        {**pool(f"{name}{text}"[:1000]), "service": service, "port_name": text[:253], "external_name": text[:255], "stickiness": sticky,
         "health_check": check, "endpoints": [{"ip": text[:64], "port": port, "active": True, "node": text[:253], "zone": text[:253]}]},
        {**pool(f"{name}-hash{text}"[:1000]), "hash": pieces, "stickiness": told, "endpoints": secure["endpoints"]},
        {"kind": "policy", "id": f"{name}-policy{text}"[:1000], "ingress": text[:300], "location_changes": texts, "cookie_domains": texts, "cookie_paths": texts,
         "retries": {"on_error": True, "statuses": [{"status": 503}]}, "bandwidth": {"bytes_per_s": 10**9}},
        {**pool(f"{name}-ca{text}"[:1000]), **secure, "tls": tls},
        {**pool(f"{name}-name{text}"[:1000]), **secure, "tls": {**tls, "server_name": text[:253]}},
        {**pool(f"{name}-key{text}"[:1000]), **secure, "tls": {**tls, "client_key": text.encode()}},
        {**pool(f"{name}-ciphers{text}"[:1000]), **secure, "tls": {"verify": "off", "ciphers": ["AES128-SHA", text[:253]]}},
        {**pool(f"{name}-terms{text}"[:1000]), **secure, "tls": {**tls, "ca": pair.pem, "client_chain": pair.pem, "nameless": True, "min_version": 12, "max_depth": 3,
                                                               "ciphers": ["AES128-SHA"]}},
        {**host(f"{name}.test", rule, {"path": "/good", "match": "prefix", "pool": "good", "policy": f"{name}-policy{text}"[:1000]})},
        {**host(text[:255], ("/", "good")), "id": f"{name}-host{text}"[:1000], "match": "exact"},
        {**passthrough(text[:255], "tls"), "id": f"{name}-pass{text}"[:1000]},
        {**certificate(f"{name}{text}"[:240], self_signed(f"{name}.test"), text[:1000], f"{name}.test")},
    ]


def test_hostile_text_in_every_field(proxy):
    with Backend("good") as good, TcpBackend("tcp") as tcp:
        tcp_port = proxy.other_port(proxy.http, proxy.https)
        proxy.apply(pool("good", good), pool("tls", tcp, protocol="tcp"), host("good.test", ("/", "good")), passthrough("pass.test", "tls"),
                    proxy.balancer(https=True, listeners=[{"port": tcp_port, "protocol": "tcp", "pool": "tls", "service": TEXTS[0],
                                                           "source_ranges": [*TEXTS, "127.0.0.0/8"]}]))
        for number, text in enumerate(TEXTS):
            proxy.send(*hostile_objects(proxy, number, text))
        proxy.apply(proxy.balancer(https=True, default_certificate=TEXTS[1], default_pool=TEXTS[2], listeners=[
            {"port": tcp_port, "protocol": "tcp", "pool": "tls", "service": TEXTS[3], "source_ranges": [*TEXTS, "127.0.0.0/8"]}]))
        file = proxy.state_dir / "nginx.conf"
        check_configuration(file.read_text())
        subprocess.run(["nginx", "-t", "-q", "-e", "stderr", "-c", str(file)], check=True, capture_output=True)
        assert proxy.reached("good.test") == "good"
        for number in range(len(TEXTS)):
            assert proxy.reached(f"n{number}.test", "/good") == "good"
            assert proxy.answers(f"n{number}.test", "/good", tls=True)
        with socket.create_connection((proxy.address, tcp_port), timeout=60) as link:
            assert link.recv(10) == b"tcp\n"
        notices = proxy.translator.status(LB)["notices"]
        assert {"PathRefused", "SourceRangeRefused"} <= {item["reason"] for item in notices}
        assert not proxy.provider.complaints()


def test_hostile_fronts(proxy):
    """Networks and the header of proxies in front, of a load balancer: what is neither is nobody's."""
    everything = {key: True for key in ("believes_scheme", "believes_port", "believes_host", "appends", "keeps_claims", "request_id")}
    with Backend("good") as good:
        proxy.send(pool("good", good), host("good.test", ("/", "good")))
        for text in ["CF-Connecting-IP", *(each[:253] for each in TEXTS if re.search(r"[^a-zA-Z0-9-]", each))]:
            forwarding = {"trusted": [*(each[:253] for each in TEXTS), "127.0.0.77/32"], "client_header": text, "https_port": 443, **everything}
            proxy.apply(proxy.balancer(https=True, forwarding=forwarding))
            check_configuration((proxy.state_dir / "nginx.conf").read_text())
        assert proxy.reached("good.test") == "good"
        assert not proxy.provider.complaints()


REFUSING = """#!/bin/sh
# An nginx that takes no configuration in which one of the words stands. The file is the last argument.
for file; do :; done
for word in {words}; do
    if [ "$1" = -t ] && grep -q "$word" "$file"; then
        echo "nginx: [emerg] 1#1: \\"$word\\" is refused in $file:1" >&2
        exit 1
    fi
done
exec nginx "$@"
"""


def refusing_nginx(folder: pathlib.Path, *words: str) -> pathlib.Path:
    program = folder / "refusing-nginx"
    program.write_text(REFUSING.format(words=" ".join(f"'{word}'" for word in words)))
    program.chmod(0o755)
    return program


def test_refused_pieces_are_found_and_named(tmp_path):
    """Two listeners and a host are refused; everything else is served, and who wanted them is told."""
    tmp_path.chmod(0o755)
    with Nginx(start=False) as proxy, Backend("good") as good, TcpBackend("tcp") as tcp:
        ports: list[int] = []
        while len(ports) < 7:
            ports.append(proxy.other_port(proxy.http, proxy.https, *ports))
        bad = (ports[2], ports[5])
        words = [f":{port} " for port in bad] + ["bad[.]test"]
        proxy.provider.arguments += ["--nginx", str(refusing_nginx(tmp_path, *words))]
        listeners = [{"port": port, "protocol": "tcp", "pool": "tcp", "service": f"default/s{port}"} for port in ports]
        proxy.send(pool("good", good), pool("tcp", tcp, protocol="tcp"), host("good.test", ("/", "good")),
                   passthrough("bad.test", "tcp"), passthrough("fine.test", "tcp"), proxy.balancer(https=True, listeners=listeners))
        proxy.commit()
        proxy.start()
        proxy.wait_applied(PATIENCE)
        assert proxy.reached("good.test") == "good"

        def greeting(port: int) -> bytes:
            try:
                with socket.create_connection((proxy.address, port), timeout=60) as link:
                    return link.recv(10)
            except ConnectionRefusedError:
                return b""

        assert [port for port in ports if greeting(port) != b"tcp\n"] == sorted(bad, key=ports.index)
        notices = [item for item in proxy.translator.status(LB)["notices"] if item["reason"] == "ConfigurationRefused"]
        assert {item.get("service") or item.get("ingress") for item in notices} == {f"default/s{port}" for port in bad} | {"default/web"}
        assert all("is refused" in item["message"] for item in notices)
        proxy.apply(proxy.balancer(https=True, listeners=[item for item in listeners if item["port"] not in bad]),
                    gone=[("virtual-host", f"{LB}/passthrough/bad.test")])
        wait_for(lambda: not proxy.translator.status(LB).get("notices"), "the notices to go", PATIENCE)
