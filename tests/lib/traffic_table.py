# SPDX-License-Identifier: Apache-2.0
"""The table of what is done with requests (tests/cases/traffic*.json): its objects, which words of `policies` they need, its rows."""
from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

from .frames import frames
from .local_proxy import LB, host, pool
from .provider_link import Object
from .proxies import proxy_class
from .route_table import expand



def expand_all(value: Any) -> Any:
    """`{x*3}` is xxx, in every text of it."""
    if isinstance(value, dict):
        return {expand(key): expand_all(item) for key, item in value.items()}
    if isinstance(value, list):
        return [expand_all(item) for item in value]
    return expand(value) if isinstance(value, str) else value


def _topics() -> dict[str, dict[str, Any]]:
    """Those of all files."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((pathlib.Path(__file__).resolve().parents[1] / "cases").glob("traffic*.json")):
        topics = expand_all(json.loads(file.read_text()))["topics"]
        assert not found.keys() & topics.keys(), file
        found |= topics
    return found


TOPICS = _topics()
TOGETHER = "together"  # the world of all topics that do not want one for themselves
NO_BACKEND = {"EMPTY", "MISSING", ""}

# Which word of `policies` a key needs.
RULE_WORDS = {"regex": "regex", "conditions": "conditions", "pools": "weights", "redirect": "redirect", "answer": "fixed-answer"}
POLICY_WORDS = {"body_max_bytes": "body-limit", "cors": "cors", "https_redirect": "https-redirect", "hsts": "hsts", "rate_limits": "rate-limit",
                "source_access": "source-access", "basic_auth": "basic-auth", "rewrite": "rewrite", "request_headers": "request-headers",
                "response_headers": "response-headers", "timeouts": "timeouts", "external_auth": "external-auth", "mirrors": "mirror",
                "error_pages": "error-pages", "fallback_pool": "fallback-pool", "location_changes": "location-rewrite", "cookie_paths": "cookie-rewrite",
                "cookie_domains": "cookie-rewrite", "backend_http": "backend-http"}
WORDS = {"decoded-paths", "forwarded-headers", *RULE_WORDS.values(), *POLICY_WORDS.values()}


def world_of(topic: str) -> str:
    return topic if TOPICS[topic].get("alone") else TOGETHER


def rows() -> list[dict[str, Any]]:
    """All rows, each with its topic."""
    return [{**row, "topic": name} for name, topic in TOPICS.items() for row in topic["rows"]]


def title(row: dict[str, Any]) -> str:
    return f"{row['topic']}-{row['id']}"


def settings_of(listed: Any) -> Object:
    """A virtual host of the table: its rules, or a map with them."""
    return listed if isinstance(listed, dict) else {"rules": listed}


def words_of_host(topic: dict[str, Any], name: str) -> set[str]:
    """What a provider must have listed to be told of this virtual host."""
    settings = settings_of(topic["hosts"][name])
    words = {"decoded-paths"} if settings.get("decoded") else set()
    for rule in settings["rules"]:
        words |= {word for key, word in RULE_WORDS.items() if key in rule}
        words |= {word for key, word in POLICY_WORDS.items() if key in topic.get("policies", {}).get(rule.get("policy", ""), {})}
    return words


def host_of(topic: dict[str, Any], name: str) -> str | None:
    """The virtual host of the topic that a request for this host belongs to."""
    plain = name.rsplit(":", 1)[0] if not name.endswith("]") else name
    plain = plain.lower().rstrip(".")
    wildcard = "*." + plain.partition(".")[2]
    return next((item for item in (plain, wildcard, "") if item in topic["hosts"]), None)


def words_of(row: dict[str, Any]) -> set[str]:
    topic = TOPICS[row["topic"]]
    found = host_of(topic, row["request"]["host"])
    words = words_of_host(topic, found) if found is not None else set()
    return words | ({"forwarded-headers"} if "forwarding" in topic else set())


def rule_of(rule: Object) -> Object:
    whole = {"ingress": "default/web", **rule}
    if "regex" not in rule:
        whole.setdefault("match", "prefix")
    return whole


def hosts(world: str, claimed: set[str]) -> list[Object]:
    """The virtual hosts of a world for which a provider with these words has what they need."""
    return [host(name, *map(rule_of, settings_of(listed)["rules"]), **({"decoded": True} if settings_of(listed).get("decoded") else {}))
            for key, topic in TOPICS.items() if world_of(key) == world
            for name, listed in topic["hosts"].items() if words_of_host(topic, name) <= claimed]


def policies(world: str, claimed: set[str]) -> list[Object]:
    return [{"kind": "policy", "id": name, "ingress": name, **item}
            for key, topic in TOPICS.items() if world_of(key) == world for name, item in topic.get("policies", {}).items()
            if {word for member, word in POLICY_WORDS.items() if member in item} <= claimed]


def users(world: str, claimed: set[str]) -> list[Object]:
    return [{"kind": "users", "id": name, "users": [{"name": user, "hash": item[user]} for user in sorted(item)]}
            for key, topic in TOPICS.items() if world_of(key) == world and "basic-auth" in claimed
            for name, item in topic.get("users", {}).items()]


def pools_of_policy(policy: Object) -> set[str]:
    """Those that are asked or told beside the rule's."""
    others = [policy.get("external_auth", {}), policy.get("error_pages", {}), *policy.get("mirrors", [])]
    return {policy.get("fallback_pool", ""), *(item.get("pool", "") for item in others)}


def pools_of(world: str) -> set[str]:
    """The pools of a world that have a backend each."""
    names = {TOPICS[key].get("default_pool", "") for key in TOPICS if world_of(key) == world}
    for item in policies(world, WORDS):
        names |= pools_of_policy(item)
    for item in hosts(world, WORDS):
        for rule in item["rules"]:
            names |= {rule.get("pool", ""), *(choice["pool"] for choice in rule.get("pools", []))}
    return names - NO_BACKEND


def default_pool(world: str) -> str:
    return "" if world == TOGETHER else TOPICS[world].get("default_pool", "")


def forwarding(world: str) -> dict[str, Any]:
    """What the load balancer says of proxies in front, as more settings of it."""
    said = None if world == TOGETHER else TOPICS[world].get("forwarding")
    return {"forwarding": said} if said else {}


def objects(world: str, claimed: set[str], pods: list[Any]) -> list[Object]:
    """All but the load balancer."""
    return [pool("EMPTY"), *(pool(pod.name, pod) for pod in pods), *users(world, claimed), *policies(world, claimed), *hosts(world, claimed)]


def claimed_words(provider: str) -> set[str]:
    """What the provider's own hello lists, of the words of this table."""
    hello = subprocess.run([proxy_class(provider).program(), "--hello"], check=True, capture_output=True, timeout=120)
    (_, body), *_ = frames(hello.stdout)
    return set(body["capabilities"].get("policies", [])) & WORDS


assert LB == "sluice"  # the objects above belong to that load balancer
