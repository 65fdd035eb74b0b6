# SPDX-License-Identifier: Apache-2.0
"""The configuration writer: matching, order, names, stickiness, certificates, custom text."""

from __future__ import annotations

import itertools
import random

import pytest

from standins.rancher import custom_config
from standins.rancher.gosort import go_sorted
from standins.rancher.haproxy_config import (Bind, Endpoint, Paths, Rule, Spec, _Backend, _less, backend_name,
                                              render)

PATHS = Paths("/certs", "/stats.sock")
POD = Endpoint("10.42.0.5", "127.0.0.1:4000")
POD_NAME = "d3427f61b679467699ff91558cc9d5b54f74474d"  # SHA-1 of 10.42.0.5, as the image names servers


def sections(spec: Spec) -> dict[str, list[str]]:
    """Header line -> lines of the section."""
    found: dict[str, list[str]] = {}
    current = ""
    for line in render(spec, PATHS).splitlines():
        if line and not line.startswith(" "):
            current = line
            found[current] = []
        elif line.strip():
            found[current].append(line.strip())
    return found


def of(*rules: Rule, **spec: object) -> dict[str, list[str]]:
    return sections(Spec(list(rules), "127.77.128.1", **spec))  # type: ignore[arg-type]


def routes(lines: list[str]) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith(("use_backend", "default_backend"))]


def rule(host: str = "", path: str = "", port: int = 80, **more: object) -> Rule:
    return Rule(port, hostname=host, path=path, endpoints=(POD,), **more)  # type: ignore[arg-type]


def test_backend_names() -> None:
    assert backend_name(80, "foo.bar.com", "/a/b") == "80_foo_bar_com_a_b"
    assert backend_name(80, "", "") == "80_"
    assert backend_name(80, ".foo.com", "") == backend_name(80, "foo.com", ""), "names may collide"


def test_a_simple_rule() -> None:
    found = of(rule("foo.bar.com", "/foo"), binds={80: [Bind("127.77.1.1", 80)]})
    assert found["frontend 80"] == [
        "bind 127.77.128.1:80", "bind 127.77.1.1:80", "mode http",
        "http-request set-var(txn.source_port) int(80)",
        "acl 80_foo_bar_com_foo_host hdr(host) -i foo.bar.com",
        "acl 80_foo_bar_com_foo_host hdr(host) -i foo.bar.com:80",
        "acl 80_foo_bar_com_foo_path path_beg -i /foo",
        "use_backend 80_foo_bar_com_foo if 80_foo_bar_com_foo_host 80_foo_bar_com_foo_path"]
    assert found["backend 80_foo_bar_com_foo"] == [
        "acl forwarded_proto hdr_cnt(X-Forwarded-Proto) eq 0",
        "acl forwarded_port hdr_cnt(X-Forwarded-Port) eq 0",
        "http-request add-header X-Forwarded-Port %[var(txn.source_port)] if forwarded_port",
        "http-request add-header X-Forwarded-Proto https if { ssl_fc } forwarded_proto", "mode http",
        f"server {POD_NAME} 127.0.0.1:4000"]
    assert found["listen default"] == ["bind 127.77.128.1:42"]


@pytest.mark.parametrize("host,acl", [
    ("foo.com", "hdr(host) -i foo.com"), ("*.foo.com", "hdr_end(host) -i .foo.com"),
    ("foo.*", "hdr_beg(host) -i foo."), ("*", "hdr(host) -i *"), ("*a", "hdr(host) -i *a")])
def test_host_forms(host: str, acl: str) -> None:
    lines = of(rule(host))["frontend 80"]
    assert any(line.endswith(acl) for line in lines), lines


def test_default_backend_and_union_of_servers() -> None:
    other = Endpoint("10.42.0.6", "127.0.0.1:4001")
    found = of(rule(), Rule(80, endpoints=(other, POD)))
    assert routes(found["frontend 80"]) == ["80_"]
    assert [line.split()[2] for line in found["backend 80_"] if line.startswith("server")] == \
        ["127.0.0.1:4001", "127.0.0.1:4000"]


def test_first_rule_fixes_the_protocol_and_udp_is_skipped() -> None:
    found = of(rule("a.com"), rule("b.com", protocol="tcp"), Rule(53, "udp", endpoints=(POD,)))
    assert "mode http" in found["frontend 80"] and "frontend 53" not in found


@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_hosts_and_paths_are_ignored_in_tcp(protocol: str) -> None:
    found = of(rule("a.com", "/x", protocol=protocol), rule("b.com", protocol=protocol))
    assert routes(found["frontend 80"]) == ["80_"] and "mode tcp" in found["frontend 80"]


def test_sni() -> None:
    lines = of(rule("a.com", "/x", protocol="sni", port=443))["frontend 443"]
    assert "tcp-request content accept if { req_ssl_hello_type 1 }" in lines
    assert "acl 443_a_com_x_host req_ssl_sni -i a.com" in lines


def test_priority_comes_first_then_the_kinds_of_host() -> None:
    found = of(rule("*.w.com"), rule("", "/p"), rule("a.com"), rule("z.com", priority=2),
               rule("y.com", priority=1),
               rule())
    assert routes(found["frontend 80"]) == ["80_y_com_", "80_z_com_", "80_a_com_", "80_w_com_", "80_p", "80_"]


def test_path_length_is_not_considered() -> None:
    """Whichever comes out first, it does so by its place and not by its path."""
    orders = [routes(of(rule("a.com", first), rule("a.com", second))["frontend 80"])
              for first, second in (("/", "/api"), ("/api", "/"))]
    assert orders[0] == orders[1][::-1]


def test_priority_makes_every_order_the_same() -> None:
    rules = [rule("a.com", "/" + "x" * n, priority=20 - n, backend_name=f"b{n}") for n in range(1, 20)]
    wanted = [f"b{n}" for n in range(19, 0, -1)]
    for seed in range(20):
        random.Random(seed).shuffle(rules)
        assert routes(of(*rules)["frontend 80"]) == wanted


def test_colliding_names_lose_the_second_backend() -> None:
    found = of(rule("a-b.com"), Rule(80, hostname="a.b.com", endpoints=(Endpoint("10.42.0.9", "x:1"),)))
    assert len([h for h in found if h.startswith("backend")]) == 1
    assert len(routes(found["frontend 80"])) == 2


def test_certificates() -> None:
    strict = of(rule(protocol="https", port=443))["frontend 443"][0]
    assert strict == "bind 127.77.128.1:443 ssl crt /certs strict-sni"
    default = of(rule(protocol="https", port=443), has_default_certificate=True,
                 default_certificate="my cert")
    assert default["frontend 443"][0] == "bind 127.77.128.1:443 ssl crt /certs/my\\ cert.pem crt /certs"


def test_stickiness() -> None:
    policy = {"mode": "insert", "indirect": True, "nocache": True, "postonly": False, "domain": ".x",
              "name": "n"}
    found = of(rule("a.com"), rule("b.com"), Rule(90, "tcp", endpoints=(POD,)), stickiness=policy)
    lines = [line for header, body in found.items() if header.startswith("backend") for line in body]
    cookies = [line for line in lines if line.startswith("cookie")]
    first = routes(found["frontend 80"])[0]
    assert cookies == [f"cookie {first} insert indirect nocache domain .x"] * 2, "the first name serves all"
    assert sum(f"cookie {POD_NAME}" in line for line in lines) == 2
    assert not any("cookie" in line for line in of(rule(), stickiness={"cookie": "c"})["backend 80_"])


def test_weights() -> None:
    heavy = Endpoint("10.42.0.5", "127.0.0.1:4000", weight=7)
    assert of(Rule(80, endpoints=(heavy,)))["backend 80_"][-1].endswith("127.0.0.1:4000 weight 7")


CUSTOM = """
global
    maxconn 2048
    tune.bufsize 32768
defaults
    timeout client 7000
    log global
frontend 80
    accept-proxy
    option httplog
frontend extra
    bind *:8080
    bind :8081
    default_backend nowhere
backend 80_a_com_
    balance leastconn
    server $IP check inter 500
backend
    option httpclose
    http-request add-header X-Forwarded-Proto http
backend unknown
    balance source
    server $IP check
listen stats
    bind 0.0.0.0:9000
userlist u
    user a password b
"""


def test_custom_text_is_merged() -> None:
    found = of(rule("a.com"), custom=CUSTOM)
    assert "maxconn 2048" in found["global"] and "maxconn 4096" not in found["global"]
    assert "tune.bufsize 32768" in found["global"]
    assert "timeout client 7000" in found["defaults"] and "timeout client 50000" not in found["defaults"]
    assert "timeout server 50000" in found["defaults"]
    assert found["frontend 80"][0] == "bind 127.77.128.1:80 accept-proxy"
    assert "option httplog" in found["frontend 80"]
    backend = found["backend 80_a_com_"]
    assert "balance leastconn" in backend and "option httpclose" in backend
    assert "http-request add-header X-Forwarded-Proto http" in backend
    assert not any("https if { ssl_fc }" in line for line in backend)
    assert backend[-1].endswith("127.0.0.1:4000 check inter 500")
    assert found["frontend extra"] == ["bind 127.77.128.1:8080", "bind 127.77.128.1:8081",
                                       "default_backend nowhere"]
    assert found["listen stats"] == ["bind 127.77.128.1:9000"]
    assert found["userlist u"] == ["user a password b"]
    assert found["backend unknown"] == ["balance source"], "server lines of an unmatched backend are dropped"


def test_custom_parser() -> None:
    parsed = custom_config.parse("backend  x\n  server $IP check\n\n  a b\nBACKEND y\n c")
    assert parsed.sections == {"backend x": ["a b"], "BACKEND y": ["c"]}
    assert parsed.server_options("x") == "check"


# The sort


def test_sort_sorts() -> None:
    numbers = random.Random(1)
    for size in (0, 1, 2, 12, 13, 40, 41, 200, 1000):
        for values in ([numbers.random() for _ in range(size)], list(range(size)), [0] * size,
                       list(range(size, 0, -1)),
                       [n % 3 for n in range(size)]):
            assert go_sorted(values, lambda a, b: a < b) == sorted(values)


def test_sort_is_the_unstable_one() -> None:
    """Pairs that compare equal come out as Go's algorithm leaves them, not as they were."""
    pairs = [(n % 2, n) for n in range(20)]
    result = go_sorted(pairs, lambda a, b: a[0] < b[0])
    assert [p[0] for p in result] == [0] * 10 + [1] * 10 and result != sorted(pairs)


def test_comparison_contradicts_itself() -> None:
    """Why a priority is needed: two exact hosts with paths are each before the other."""
    a, b = (_Backend("n", "a.com", "eq", path, "http", 0, []) for path in ("/a", "/b"))
    assert _less(a, b) and _less(b, a)
    with_priority = [_Backend("n", "a.com", "eq", p, "http", n, []) for n,
                     p in enumerate(("/a", "/b", "/c"), 1)]
    for x, y in itertools.combinations(with_priority, 2):
        assert _less(x, y) and not _less(y, x)
