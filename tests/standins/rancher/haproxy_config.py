# SPDX-License-Identifier: Apache-2.0
"""Writes the HAProxy configuration of one LB container from its port rules, the way Rancher's LB image did.

Pure: a specification goes in, a text comes out. What differs from the image is what a real container's
network and root file system did for it: addresses are named instead of wildcards, there is no chroot, and
reloads keep all connections (`idle-close-on-response`, listeners handed over).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from . import custom_config

_HEALTH_PORT = 42
_HTTP = ("http", "https")
_SUPPORTED = ("http", "https", "tcp", "tls", "sni")


@dataclass(frozen=True)
class Endpoint:
    """A server: `ip` is the container's, `address` where it really listens."""

    ip: str
    address: str

    @property
    def name(self) -> str:
        return hashlib.sha1(self.ip.encode()).hexdigest()


@dataclass(frozen=True)
class Rule:
    """A port rule whose target is serving. `endpoints` may be empty: that is a backend which answers 503."""

    source_port: int
    protocol: str = "http"
    hostname: str = ""
    path: str = ""
    backend_name: str = ""
    priority: int = 0
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True)
class Bind:
    address: str
    port: int

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"


@dataclass
class Spec:
    rules: list[Rule] = field(default_factory=list)
    container_ip: str = "127.0.0.1"
    binds: dict[int, list[Bind]] = field(default_factory=dict)   # by source port
    has_default_certificate: bool = False
    default_certificate: str = ""                                # its name; the file is <name>.pem
    stickiness: dict[str, Any] | None = None
    custom: str | None = None


@dataclass(frozen=True)
class Paths:
    certificates: str
    stats_socket: str


@dataclass
class _Backend:
    name: str
    host: str
    comparator: str
    path: str
    protocol: str
    priority: int
    endpoints: list[Endpoint]
    config: list[str] = field(default_factory=list)
    server_suffix: dict[str, str] = field(default_factory=dict)


@dataclass
class _Frontend:
    port: int
    protocol: str
    backends: list[_Backend] = field(default_factory=list)
    config: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.port)


def backend_name(port: int, hostname: str, path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", f"{port}_{hostname}_{path}")


def render(spec: Spec, paths: Paths) -> str:
    frontends = [f for f in _frontends(spec) if f.protocol in _SUPPORTED]
    custom = custom_config.parse(spec.custom)
    _apply_custom(frontends, custom, spec)
    lines = ["global", *_tab(custom_config.merged(custom.lines("global"), _global(paths))), "",
             "defaults", *_tab(custom_config.merged(custom.lines("defaults"), _DEFAULTS)), ""]
    lines += ["listen default", f"    bind {spec.container_ip}:{_HEALTH_PORT}", ""]
    for frontend in frontends:
        lines += _frontend_lines(frontend, spec, paths)
    written: set[str] = set()
    for frontend in frontends:
        for backend in frontend.backends:
            # Of several backends with one name the first is written, the others are lost.
            if backend.name not in written:
                written.add(backend.name)
                lines += _backend_lines(backend)
    return "\n".join(lines)


# Generated options


def _global(paths: Paths) -> dict[str, str]:
    return {
        "maxconn": "4096", "maxpipes": "1024",
        "ssl-default-bind-options": "no-sslv3 no-tlsv10 no-tls-tickets",
        "stats socket": f"{paths.stats_socket} mode 600 level admin expose-fd listeners",
        "stats timeout": "2m",
        # Not in the image: it runs in a container of its own.
        "nbthread": "1", "noreuseport": "", "hard-stop-after": "30s", "no strict-limits": "",
    }


_DEFAULTS = {
    "mode": "tcp", "option redispatch": "", "option http-server-close": "", "option forwardfor": "",
    "maxconn": "4096", "retries": "3", "timeout connect": "5000", "timeout client": "50000",
    "timeout server": "50000",
    # Not in the image: without it a reload resets idle keep-alive connections under the client's next
    # request.
    "option idle-close-on-response": "",
}


def _tab(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


# From rules to frontends and backends


def _frontends(spec: Spec) -> list[_Frontend]:
    """Frontends with their backends in the image's order. The first rule of a port fixes its protocol."""
    frontends: dict[int, _Frontend] = {}
    backends: dict[tuple, _Backend] = {}
    for rule in spec.rules:
        frontend = frontends.setdefault(rule.source_port, _Frontend(rule.source_port, rule.protocol))
        routed = rule.protocol in _HTTP or rule.protocol == "sni"
        host, comparator = _host_match(rule.hostname if routed else "")
        path = rule.path if routed else ""
        key = (rule.source_port, host, path)
        if key in backends:
            known = {e.ip for e in backends[key].endpoints}
            backends[key].endpoints += [e for e in rule.endpoints if e.ip not in known]
            continue
        name = rule.backend_name or backend_name(rule.source_port, host, path)
        backends[key] = _Backend(name, host, comparator, path, rule.protocol, rule.priority,
                                 list(rule.endpoints))
        frontend.backends.append(backends[key])
    for frontend in frontends.values():
        frontend.backends.sort(key=_place)
    return list(frontends.values())


def _host_match(hostname: str) -> tuple[str, str]:
    return (hostname[1:], "end") if hostname.startswith("*") else (hostname, "eq")


def _place(backend: _Backend) -> tuple[bool, int, bool, bool]:
    """Rules with a priority come first, by it. The image's order of those without one depends on its sorting algorithm:
    nobody should."""
    return backend.priority == 0, backend.priority, not backend.host, backend.comparator != "eq"


# Custom configuration and stickiness


def _apply_custom(frontends: list[_Frontend], custom: custom_config.Custom, spec: Spec) -> None:
    policy = dict(spec.stickiness or {})
    for frontend in frontends:
        frontend.config += custom.lines(f"frontend {frontend.name}")
        sticky = bool(policy.get("mode")) and frontend.protocol in _HTTP
        for backend in frontend.backends:
            _complete(backend, custom, policy if sticky else None)


def _complete(backend: _Backend, custom: custom_config.Custom, policy: dict[str, Any] | None) -> None:
    generated = _FORWARDED if backend.protocol in _HTTP else {}
    backend.config = [*custom.lines(f"backend {backend.name}"),
                      *custom_config.merged(custom.lines("backend"), generated)]
    options = custom.server_options(backend.name)
    if policy is not None:
        # The first backend's name serves all of them when the policy names no cookie.
        policy["cookie"] = policy.get("cookie") or backend.name
        backend.config.append(_cookie_line(policy))
    for endpoint in backend.endpoints:
        parts = [options] if options else []
        if policy is not None:
            parts.append(f"cookie {endpoint.name}")
        backend.server_suffix[endpoint.name] = " ".join(parts)


_FORWARDED = {
    "http-request add-header X-Forwarded-Proto": "https if { ssl_fc } forwarded_proto",
    "http-request add-header X-Forwarded-Port": "%[var(txn.source_port)] if forwarded_port",
}


def _cookie_line(policy: dict[str, Any]) -> str:
    flags = [flag for flag in ("indirect", "nocache", "postonly") if policy.get(flag)]
    domain = ["domain", policy["domain"]] if policy.get("domain") else []
    return " ".join(["cookie", policy["cookie"], policy["mode"], *flags, *domain])


# Lines


def _frontend_lines(frontend: _Frontend, spec: Spec, paths: Paths) -> list[str]:
    lines = [f"frontend {frontend.name}"]
    options = ""
    if frontend.protocol in ("https", "tls"):
        if spec.has_default_certificate:
            name = spec.default_certificate.replace(" ", "\\ ")
            options = f" ssl crt {paths.certificates}/{name}.pem crt {paths.certificates}"
        else:
            options = f" ssl crt {paths.certificates} strict-sni"
    binds = spec.binds.get(frontend.port, [])
    for bind in [Bind(spec.container_ip, frontend.port), *binds]:
        lines.append(f"    bind {bind}{options}")
    lines += _tab(frontend.config)
    mode = "http" if frontend.protocol in _HTTP else "tcp"
    lines.append(f"    mode {mode}")
    if frontend.protocol == "sni":
        lines += ["    tcp-request inspect-delay 5s",
                  "    tcp-request content accept if { req_ssl_hello_type 1 }"]
    if mode == "http":
        lines.append(f"    http-request set-var(txn.source_port) int({frontend.port})")
    for backend in frontend.backends:
        lines += _routing_lines(backend, frontend, binds)
    return [*lines, ""]


def _routing_lines(backend: _Backend, frontend: _Frontend, binds: list[Bind]) -> list[str]:
    name, lines, conditions = backend.name, [], []
    if backend.host:
        conditions.append(f"{name}_host")
        test = "req_ssl_sni -i" if frontend.protocol == "sni" else \
            {"eq": "hdr(host) -i", "end": "hdr_end(host) -i"}[backend.comparator]
        seen = dict.fromkeys([frontend.port, *(b.port for b in binds)])
        for host in (backend.host, *(f"{backend.host}:{port}" for port in seen)):
            lines.append(f"    acl {name}_host {test} {host}")
    if backend.path:
        conditions.append(f"{name}_path")
        lines.append(f"    acl {name}_path path_beg -i {backend.path}")
    if conditions:
        lines.append(f"    use_backend {name} if {' '.join(conditions)}")
    else:
        lines.append(f"    default_backend {name}")
    return lines


def _backend_lines(backend: _Backend) -> list[str]:
    mode = "http" if backend.protocol in _HTTP else "tcp"
    lines = [f"backend {backend.name}"]
    if mode == "http":
        lines += ["    acl forwarded_proto hdr_cnt(X-Forwarded-Proto) eq 0",
                  "    acl forwarded_port hdr_cnt(X-Forwarded-Port) eq 0"]
    lines += _tab(backend.config)
    lines.append(f"    mode {mode}")
    for endpoint in sorted(backend.endpoints, key=lambda e: e.ip, reverse=True):
        lines.append(f"    server {endpoint.name} {endpoint.address} "
                     f"{backend.server_suffix[endpoint.name]}".rstrip())
    return [*lines, ""]
