# SPDX-License-Identifier: Apache-2.0
"""Random virtual hosts, policies and requests for them, by a seed; and whether a proxy does with them what proto/decision.h says.

What depends on time or on what came before (rate limits that refuse, timeouts that end) is left to the table of cases.
"""
from __future__ import annotations

import base64
import json
import pathlib
import random
import re
from typing import Any

from . import oracle, traffic_rows
from .answer import Answer
from .backend import Backend
from .certs import self_signed
from .local_proxy import LB, certificate, host, pool
from .proxies import proxy_class

Body = dict[str, Any]

POOLS = ["pool-a", "pool-b", "pool-c"]
OTHERS = ["auth", "pages", "stand-in"]  # who is asked beside them
SEGMENTS = ["a", "b", "ab", "admin", "%61", "%2F", "a%20b", "x.png", "%C3%A9", "", "", ".", "..", "%2e%2E", "~$&'(x)*+,;=:@", "A", "%25", "%3f", "%41%62"]
TEXTS = ["x", "a b", "100%", "%41", "\"q\"", "'s'", "$host", "${x}", "%[src]", "{y}", "\\n", "#c", "a,b;c", "<>", "`|^"]
NAMES = ["X-A", "x-b", "X-C", "X-Long-Name"]
VALUES = ["1", "yes", "no", "a b", "a, b", "%41", "\"q\"", "A", "", "0"]
ORIGINS = ["https://a.example", "https://b.example", "HTTPS://A.example", "https://x.wild.example", "https://x.y.wild.example", "https://wild.example", "null",
           "http://a.example", "http://a.example:81", "https://a_b.wild.example"]
NETWORKS = ["127.0.0.9/32", "127.0.0.8/31", "127.0.0.0/8", "0.0.0.0/0", "127.0.0.10/32", "10.0.0.0/8", "::/0", "127.0.0.0/29", "128.0.0.0/1"]
CLIENTS = ["127.0.0.9", "127.0.0.8", "127.0.0.10", "127.0.1.7"]
METHODS = ["GET", "GET", "GET", "POST", "OPTIONS", "HEAD", "PUT", "DELETE"]
# Of "secret".
HASHES = {"md5": "$1$abcdefgh$cHJi5PXp/ki/ktXzqlk6I1", "sha": "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "apr1": "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/"}
PIECES = ["", "", "group", "scheme", "host", "host-header", "port", "method", "path", "path-rest", "query", "arguments", "target", "target-unslashed", "client", "header",
          "cookie", "argument"]
SAYINGS = ["X-A: said", "x-b: said", "Access-Control-Allow-Origin: said", "Vary: Accept", "Strict-Transport-Security: max-age=1", "X-C: 1",
           "WWW-Authenticate: Who", "Location: http://in.test/a", "Set-Cookie: a=1; Path=/in/x; Domain=.IN.test", "Set-Cookie: b=2;path=/in;Secure"]
ALLOWED = ["https://a.example", "https://*.wild.example", "null", "http://a.example:81"]
PATTERNS = ["^/a", "^/(a|b)/?(.*)", "(?i)^/A/([^/]*)(/b)?", "\\.png$", "^/(.*)$", "b+", "^/[a-z]+/([0-9]|a)", "%2[0fF]", "^/$"]
QUERIES = ["", "?", "?a=1", "?a=yes&b=2", "?b=%31&a=no", "?a", "?a+b=1&a=a+b", "?x=%0d%0aX-Evil:1", "?a=1&a=2", "?%61=1", "?q=/?&", "?status=404", "?a=1&status=503", "?status=500", "?status=302"]
# What a proxy answers by nature, before any rule: a path that leads above the root, and escapes that are none.
UNSAFE = re.compile(r"%00|%(?![0-9a-fA-F]{2})")


class World:
    """Objects, made of random choices; `words` are those that may be used."""

    def __init__(self, seed: object, words: set[str], hosts: int = 12):
        self.random = random.Random(str(seed))
        self.words = words
        self.policies: dict[str, Body] = {}
        self.names = [f"h{number}.test" for number in range(hosts)]
        self.decoded = {name: self.has("decoded-paths", 0.25) for name in self.names}
        self.hosts = [host(name, *self.rules(), **({"decoded": True} if self.decoded[name] else {})) for name in self.names]

    def has(self, word: str, chance: float) -> bool:
        return word in self.words and self.random.random() < chance

    def some(self, items: list[Any], most: int) -> list[Any]:
        return self.random.sample(items, self.random.randint(1, min(most, len(items))))

    # Rules

    def rules(self) -> list[Body]:
        return [self.rule() for _ in range(self.random.randint(1, 6))]

    def rule(self) -> Body:
        rule: Body = {"ingress": "default/web"}
        if self.has("regex", 0.3):
            rule["regex"] = self.random.choice(PATTERNS)
        else:
            rule["path"] = self.random.choice(["/", "/a", "/a/b", "/admin", "/ab/", "/%61", "/a b" if self.random.random() < 0.1 else "/b"])
            rule["match"] = self.random.choice(["prefix", "prefix", "exact", "implementation-specific"])
        if self.has("conditions", 0.4):
            rule["conditions"] = [self.condition() for _ in range(self.random.randint(1, 2))]
        if self.random.random() < 0.1:
            rule["tls_only"] = True
        self.outcome(rule)
        if self.random.random() < 0.75:
            rule["policy"] = self.policy(has_one_pool="pools" not in rule)
        return rule

    def outcome(self, rule: Body) -> None:
        choice = self.random.random()
        if choice < 0.12 and "redirect" in self.words:
            rule["redirect"] = {"status": self.random.choice([301, 302, 303, 307, 308]), "location": [{"text": "https://to.test/"}, *self.pieces()]}
        elif choice < 0.24 and "fixed-answer" in self.words:
            rule["answer"] = {"status": self.random.choice([200, 403, 404, 410, 503]), "text": self.random.choice(TEXTS)}
        elif choice < 0.4 and "weights" in self.words:
            rule["pools"] = [{"pool": name, "weight": self.random.choice([1, 5, 1])} for name in self.some([*POOLS, "EMPTY"], 3)]
        else:
            rule["pool"] = self.random.choice([*POOLS, *POOLS, *POOLS, "EMPTY", "MISSING"])

    def condition(self) -> Body:
        subject = self.random.choice(["method", "header", "query", "cookie"])
        match = self.random.choice(["exact", "exact", "present", "regex"])
        names = {"method": [""], "header": NAMES, "query": ["a", "b", "a b", "x"], "cookie": ["a", "b"]}[subject]
        name = self.random.choice(names).lower()
        value = self.random.choice(METHODS if subject == "method" else VALUES)
        if match == "regex":
            value = self.random.choice(["^[a-z]+$", "1", "(?i)^y", "^$", "^(GET|POST)$"])
        return {"subject": subject, "match": match, **({"name": name} if name else {}), **({"value": value} if value and match != "present" else {})}

    # Policies

    def pieces(self) -> list[Body]:
        return [self.piece() for _ in range(self.random.randint(1, 3))]

    def piece(self) -> Body:
        kind = self.random.choice(PIECES)
        if kind == "":
            return {"text": self.random.choice(TEXTS)}
        if kind == "group":
            return {"value": kind, "group": self.random.randint(0, 3)}
        if kind in ("header", "cookie", "argument"):
            return {"value": kind, "text": self.random.choice(NAMES if kind == "header" else ["a", "b", "a b"] if kind == "argument" else ["a", "b"])}
        return {"value": kind}

    def changes(self) -> list[Body]:
        return [self.change() for _ in range(self.random.randint(1, 4))]

    def change(self) -> Body:
        action = self.random.choice(["set", "set", "add", "remove"])
        name = self.random.choice(NAMES)
        return {"name": name, "action": action} if action == "remove" else {"name": name, "action": action, "value": self.pieces()}

    def cors(self) -> Body:
        cors: Body = {"any_origin": True} if self.random.random() < 0.3 else {"origins": self.some(ALLOWED, 4)}
        for key, value in (("credentials", True), ("methods", "GET, PUT"), ("headers", "X-A, X-B"), ("expose_headers", "X-C"), ("max_age_s", 60)):
            if self.random.random() < 0.5:
                cors[key] = value
        return cors

    def access(self) -> Body:
        access = {key: self.some(NETWORKS, 3) for key in ("allow", "deny") if self.random.random() < 0.6}
        return access or {"deny": ["127.0.0.9/32"]}

    def external_auth(self) -> Body:
        status = self.random.choice([200, 200, 204, 401, 401, 403, 404, 302])
        auth: Body = {"pool": self.random.choice(["auth", "auth", "auth", "EMPTY"]),
                      "target": [{"text": f"/check?status={status}&of="}, {"value": "target-escaped"}, *self.pieces()]}
        for key, make in (("copied", lambda: self.some(NAMES, 2)), ("request_headers", self.changes), ("sign_in", lambda: [{"text": "https://in.test/"}, *self.pieces()]),
                          ("host", lambda: [{"text": "auth.test"}]), ("method", lambda: self.random.choice(["GET", "POST", "HEAD"])), ("cookies_always", lambda: True)):
            if self.random.random() < 0.4:
                auth[key] = make()
        return auth

    def error_pages(self) -> Body:
        pages: Body = {"statuses": [{"status": status} for status in sorted(self.some([403, 404, 500, 503, 413], 4))],
                       "pool": self.random.choice(["pages", "pages", "pages", "EMPTY"])}
        if self.random.random() < 0.5:
            pages["target"] = [{"text": "/of?"}, *self.pieces()]
        if self.random.random() < 0.5:
            pages["request_headers"] = [{"name": "X-C", "value": [{"value": "status"}]}, *self.changes()]
        if self.random.random() < 0.3:
            pages["own_only"] = True
        return pages

    def text_changes(self, words: list[str]) -> list[Body]:
        return [{"from": text, "to": self.random.choice(["out.test", "/out", "x"]), **({"pattern": True} if self.random.random() < 0.3 else {})}
                for text in self.some(words, 2)]

    def policy(self, has_one_pool: bool) -> str:
        """Its id; now and then of one that does not exist."""
        name = f"p/{len(self.policies)}"
        if self.random.random() < 0.03:
            return "p/none"
        makers = {"body_max_bytes": ("body-limit", lambda: self.random.choice([1, 5, 20])), "cors": ("cors", self.cors),
                  "https_redirect": ("https-redirect", lambda: self.random.choice([301, 302, 303, 307, 308])),
                  "hsts": ("hsts", lambda: {"max_age_s": self.random.choice([0, 5]), **({"subdomains": True} if self.random.random() < 0.5 else {})}),
                  "rate_limits": ("rate-limit", lambda: {"requests": [{"requests": 1000, "interval_s": 1, "burst": 1000}]}),
                  "source_access": ("source-access", self.access),
                  "basic_auth": ("basic-auth", lambda: {"realm": self.random.choice(["r", "a b", "100% $x"]), "users": "u/users"}),
                  "rewrite": ("rewrite", self.pieces), "request_headers": ("request-headers", self.changes),
                  "response_headers": ("response-headers", self.changes),
                  "external_auth": ("external-auth", self.external_auth),
                  "location_changes": ("location-rewrite", lambda: self.text_changes(["http://in.test", "http://in", "/a"])),
                  "cookie_paths": ("cookie-rewrite", lambda: self.text_changes(["/in/x", "/in", "/"])),
                  "cookie_domains": ("cookie-rewrite", lambda: self.text_changes(["in.test", ".IN.test", "test"])),
                  "timeouts": ("timeouts", lambda: {"connect_ms": 60000, "send_ms": 60000, "read_ms": 60000})}
        if has_one_pool:
            makers |= {"error_pages": ("error-pages", self.error_pages),
                       "fallback_pool": ("fallback-pool", lambda: self.random.choice(["stand-in", "stand-in", "EMPTY"])),
                       "fallback_headers": ("fallback-pool", self.changes)}
        policy = {key: make() for key, (word, make) in makers.items() if self.has(word, 0.22)}
        if "https_redirect" in policy and self.random.random() < 0.5:
            policy["https_port"] = 8443
        if len(policy.keys() & {"source_access", "basic_auth", "external_auth"}) > 1 and self.random.random() < 0.5:
            policy["satisfy_any"] = True
        self.policies[name] = policy
        return name

    # Requests

    def path(self, is_decoded: bool) -> str:
        for _ in range(20):
            path = "/" + "/".join(self.random.choice(SEGMENTS) for _ in range(self.random.randint(0, 4)))
            if is_decoded or not leads_above_root(path):
                return path
        return "/"

    def request(self) -> Body:
        name = self.random.choice(self.names)
        written = self.random.choice([name, name, name.upper(), name + ":99", name + "."])
        headers = [[header, self.random.choice(VALUES)] for header in self.some(NAMES, 3)]
        if self.random.random() < 0.5:
            headers.append(["Origin", self.random.choice(ORIGINS)])
        if self.random.random() < 0.5:
            headers.append(["Cookie", "; ".join(f"{key}={self.random.choice(VALUES)}" for key in self.some(["a", "b", "ab"], 3))])
        if self.random.random() < 0.5:
            pair = f"{self.random.choice([*HASHES, 'nobody'])}:{self.random.choice(['secret', 'secret', 'wrong'])}"
            headers.append(["Authorization", "Basic " + base64.b64encode(pair.encode()).decode()])
        for line in self.some(SAYINGS, 3):
            headers.append(["X-Say", line])
        method = self.random.choice(METHODS)
        body = "x" * self.random.choice([0, 1, 5, 6, 20, 21]) if method in ("POST", "PUT", "OPTIONS") else ""
        return {"method": method, "target": self.path(self.decoded[name]) + self.random.choice(QUERIES), "host": written, "headers": headers,
                "from": self.random.choice(CLIENTS), **({"tls": True} if self.random.random() < 0.3 else {}), **({"body": body} if body else {})}

    def objects(self) -> list[Body]:
        users = {"kind": "users", "id": "u/users", "users": [{"name": name, "hash": HASHES[name]} for name in sorted(HASHES)]}
        policies = [{"kind": "policy", "id": name, "ingress": name, **item} for name, item in self.policies.items()]
        return [*([users] if "basic-auth" in self.words else []), *policies, *self.hosts]


def leads_above_root(path: str) -> bool:
    depth = 0
    decoded = re.sub(r"%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), path)
    for segment in decoded.split("/"):
        depth += 0 if segment in ("", ".") else -1 if segment == ".." else 1
        if depth < 0:
            return True
    return False


class Trial:
    """A proxy that has a world's objects."""

    def __init__(self, name: str, world: World):
        self.world = world
        self.pods = {item: Backend(item) for item in [*POOLS, *OTHERS]}
        self.proxy = proxy_class(name)(start=False)
        self.ports = {"http": self.proxy.http, "https": self.proxy.https}
        balancer = self.proxy.balancer(https=True, default_certificate="default")
        self.objects = [pool("EMPTY"), *(pool(pod.name, pod) for pod in self.pods.values()), *world.objects()]
        self.proxy.send(certificate("default", self_signed("default.test")), *self.objects, balancer)
        self.proxy.commit()
        try:
            self.proxy.start()
            self.proxy.wait_applied()
        except AssertionError:
            self.stop()
            raise
        self.listening = [{"kind": "load-balancer", "id": LB, "listeners": balancer["listeners"]}]

    def stop(self) -> list[str]:
        complaints = self.proxy.stop()
        for pod in self.pods.values():
            pod.stop()
        return complaints

    def disagreements(self, tool: pathlib.Path, requests: list[Body]) -> list[str]:
        """Sends the requests; each that was not treated as decided, with what was decided."""
        asked = [oracle.request_of(request, self.ports) for request in requests]
        decided = oracle.decide(tool, [*self.listening, *self.objects], asked)
        found = [(request, decision, self.problem(request, decision)) for request, decision in zip(requests, decided, strict=True)]
        return [f"{problem}\n    request {request}\n    decided {decision}" for request, decision, problem in found if problem]

    def seen_by(self, name: str) -> Body:
        return json.loads(self.pods[name].last_answer)

    def problem(self, request: Body, decision: Body) -> str:
        """What differs; empty: nothing."""
        port = self.ports["https" if request.get("tls") else "http"]
        words = {"{port}": str(port)}
        for pod in self.pods.values():
            pod.last_answer = b"{}"
        try:
            before = {name: pod.count for name, pod in self.pods.items()}
            answer = traffic_rows.attempt(self.proxy.address, port, request, words, may_close=True)
            if found_nobody(decision, answer):
                return ""
            compare(request, decision, answer, self.seen_by)
            compare_questions(request, decision, self.seen_by, {name: pod.count - before[name] for name, pod in self.pods.items()})
        except AssertionError as problem:
            return str(problem)
        return ""


def found_nobody(decision: Body, answer: Answer) -> bool:
    """One of several pools was drawn that has no endpoints."""
    return "x-backend" not in answer.headers and answer.status == 503 and any(item.get("weight") and not item.get("endpoints")
                                                                             for item in decision.get("pools", []))


def compare(request: Body, decision: Body, answer: Answer, seen_by: Any) -> None:
    """AssertionError: the answer, or what the backend has seen, is not what was decided."""
    taken = answer.headers.get("x-backend")
    weights = {item["id"]: item.get("weight", 0) for item in decision.get("pools", [])}
    if decision.get("status"):
        compare_own(decision, answer, taken, request)
        return
    page = decision["questions"][-1] if decision.get("page_of") else None
    wanted = oracle.status_of((page or decision)["target"])
    assert answer.status == wanted, f"{answer.status} by {taken}, not {wanted}"
    assert taken == page["pool"] if page else weights.get(taken), f"{taken} answers, not {page['pool'] if page else weights}"
    sent = [["content-type", "application/json"], ["x-backend", taken], *said(request)]
    compare_headers("answer", oracle.apply(sent, decision.get("response_headers", [])), answer.headers, decision.get("response_headers", []), said(request))
    changes = [] if page else decision.get("request_headers", [])
    headers = oracle.pairs(page["headers"]) if page else oracle.apply(request["headers"], changes)
    compare_seen(taken, {"method": request["method"], **(page or {"target": decision["target"], "host": decision.get("host_header")})}, headers, seen_by(taken), changes,
                 request)


def compare_seen(pool: str, wanted: Body, headers: list[list[str]], seen: Body, changes: list[Body], request: Body) -> None:
    """`wanted` has target, host and method."""
    for key in ("target", "host", "method"):
        assert seen[key] == wanted[key], f"{pool} saw {key} {seen[key]!r}, not {wanted[key]!r}"
    compare_headers("request", headers, traffic_rows.joined(seen["headers"]), changes, request["headers"])


def compare_questions(request: Body, decision: Body, seen_by: Any, counts: dict[str, int]) -> None:
    """AssertionError: external authentication was asked something else, or asked at all. `counts`: how often pools were."""
    asked = [question for question in decision.get("questions", []) if question["role"] == "external-auth"]
    assert counts["auth"] == len(asked), f"external authentication was asked {counts['auth']} times, not {len(asked)}"
    for question in asked:
        compare_seen(question["pool"], question, oracle.pairs(question["headers"]), seen_by(question["pool"]), [], request)


def said(request: Body) -> list[list[str]]:
    return [[part.strip() for part in value.split(":", 1)] for name, value in request["headers"] if name == "X-Say"]


def compare_own(decision: Body, answer: Answer, taken: str | None, request: Body) -> None:
    assert answer.status == decision["status"] and taken is None, f"{answer.status} by {taken}, not {decision['status']} by the proxy"
    compare_headers("answer", oracle.pairs(decision["headers"]), answer.headers, decision["headers"], [])
    if decision.get("body") and request["method"] != "HEAD":
        assert answer.body.decode("latin-1") == decision["body"], f"body {answer.body!r}"


def without_empty(headers: list[list[str]], name: str) -> str:
    return ", ".join(value for key, value in headers if key.lower() == name and value)


def compare_headers(what: str, wanted: list[list[str]], got: dict[str, str], changes: list[Body], before: list[list[str]]) -> None:
    """Those that were changed, and those that were there before."""
    expected = traffic_rows.joined(wanted)
    names = {item["name"].lower() for item in changes} | {name.lower() for name, _ in before}
    if what == "answer":
        names |= {"access-control-allow-origin", "strict-transport-security", "vary", "location", "www-authenticate"}
    for name in sorted(names - {"x-forwarded-for", "host"}):
        if what == "request" and got.get(name, "") == without_empty(wanted, name):
            continue  # nginx forgets a line without a value when another one is added
        assert got.get(name) == expected.get(name), f"{what}: {name} is {got.get(name)!r}, not {expected.get(name)!r}"
