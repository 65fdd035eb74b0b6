# SPDX-License-Identifier: Apache-2.0
"""Attributes of balancers, target groups and listeners: which there are, their defaults, and what they may be; and tags."""

from __future__ import annotations

import re
from typing import Any

from .errors import ApiError, invalid

# key: (default, what it may be: a range, a set of words, or None for any text)
Table = dict[str, tuple[str, Any]]
_BOOLEAN = {"true", "false"}
_BALANCER: Table = {
    "deletion_protection.enabled": ("false", _BOOLEAN), "access_logs.s3.enabled": ("false", _BOOLEAN), "access_logs.s3.bucket": ("", None),
    "access_logs.s3.prefix": ("", None), "ipv6.deny_all_igw_traffic": ("false", _BOOLEAN), "zonal_shift.config.enabled": ("false", _BOOLEAN),
}
BALANCER: dict[str, Table] = {
    "application": _BALANCER | {
        "idle_timeout.timeout_seconds": ("60", range(1, 4001)), "client_keep_alive.seconds": ("3600", range(60, 604801)),
        "routing.http2.enabled": ("true", _BOOLEAN), "routing.http.drop_invalid_header_fields.enabled": ("false", _BOOLEAN),
        "routing.http.preserve_host_header.enabled": ("false", _BOOLEAN),
        "routing.http.xff_header_processing.mode": ("append", {"append", "preserve", "remove"}),
        "routing.http.xff_client_port.enabled": ("false", _BOOLEAN), "waf.fail_open.enabled": ("false", _BOOLEAN),
        "routing.http.desync_mitigation_mode": ("defensive", {"monitor", "defensive", "strictest"}),
        "load_balancing.cross_zone.enabled": ("true", {"true"}),
    },
    "network": _BALANCER | {
        "load_balancing.cross_zone.enabled": ("false", _BOOLEAN),
        "dns_record.client_routing_policy": ("any_availability_zone",
                                             {"any_availability_zone", "availability_zone_affinity", "partial_availability_zone_affinity"}),
    },
}
_GROUP: Table = {
    "deregistration_delay.timeout_seconds": ("300", range(0, 3601)), "stickiness.enabled": ("false", _BOOLEAN),
    "load_balancing.cross_zone.enabled": ("use_load_balancer_configuration", _BOOLEAN | {"use_load_balancer_configuration"}),
    **{f"target_group_health.{part}.minimum_healthy_targets.{unit}": (default, None)
       for part in ("dns_failover", "unhealthy_state_routing") for unit, default in (("count", "1"), ("percentage", "off"))},
}
GROUP: dict[str, Table] = {
    "application": _GROUP | {
        "stickiness.type": ("lb_cookie", {"lb_cookie", "app_cookie"}), "stickiness.lb_cookie.duration_seconds": ("86400", range(1, 604801)),
        "stickiness.app_cookie.cookie_name": ("", None), "stickiness.app_cookie.duration_seconds": ("86400", range(1, 604801)),
        "load_balancing.algorithm.type": ("round_robin", {"round_robin", "least_outstanding_requests", "weighted_random"}),
        "load_balancing.algorithm.anomaly_mitigation": ("off", {"on", "off"}), "slow_start.duration_seconds": ("0", {"0"} | {str(n) for n in range(30, 901)}),
    },
    "network": _GROUP | {
        "stickiness.type": ("source_ip", {"source_ip"}), "deregistration_delay.connection_termination.enabled": ("false", _BOOLEAN),
        "preserve_client_ip.enabled": ("false", _BOOLEAN), "proxy_protocol_v2.enabled": ("false", _BOOLEAN),
        "target_health_state.unhealthy.connection_termination.enabled": ("true", _BOOLEAN),
    },
}
LISTENER: dict[str, Table] = {
    "network": {"tcp.idle_timeout.seconds": ("350", range(60, 6001))},
    "application": {
        "routing.http.response.server.enabled": ("true", _BOOLEAN),
        **{f"routing.http.response.{name}.header_value": ("", None) for name in (
            "strict_transport_security", "access_control_allow_origin", "access_control_allow_methods", "access_control_allow_headers",
            "access_control_allow_credentials", "access_control_expose_headers", "access_control_max_age", "content_security_policy",
            "x_content_type_options", "x_frame_options")},
    },
}


def defaults(table: Table) -> dict[str, str]:
    return {key: default for key, (default, _) in table.items()}


def changed(table: Table, present: dict[str, str], given: list[dict[str, str]]) -> dict[str, str]:
    """All attributes after a change. Raises ApiError, and then nothing is to change."""
    after = dict(present)
    keys = [item.get("Key") for item in given]
    if len(keys) != len(set(keys)):
        raise invalid("An attribute key is given twice")
    for item in given:
        key, value = item.get("Key"), item.get("Value")
        if key not in table or value is None:
            raise invalid(f"Attribute key '{key}' is not recognized")
        if not _fits(table[key][1], value):
            raise invalid(f"'{value}' is not a valid value for the attribute '{key}'")
        after[key] = value
    if "stickiness.type" in after and after["stickiness.enabled"] == "true" and after["stickiness.type"] == "app_cookie":
        name = after["stickiness.app_cookie.cookie_name"]
        if not name or re.match(r"AWSALB(APP|TG)?", name):
            raise invalid(f"'{name}' is not a valid cookie name")
    algorithm = after.get("load_balancing.algorithm.type", "round_robin")
    if after.get("load_balancing.algorithm.anomaly_mitigation") == "on" and algorithm != "weighted_random":
        raise invalid("Anomaly mitigation is only for the algorithm weighted_random")
    if after.get("slow_start.duration_seconds", "0") != "0" and algorithm != "round_robin":
        raise invalid("Slow start is only for the algorithm round_robin")
    return after


def _fits(limit: Any, value: str) -> bool:
    if limit is None:
        return True
    if isinstance(limit, range):
        return value.isascii() and value.isdigit() and len(value) < 10 and int(value) in limit
    return value in limit


def listed(attributes: dict[str, str]) -> dict[str, Any]:
    return {"Attributes": [{"Key": key, "Value": value} for key, value in attributes.items()]}


def tags_of(given: list[dict[str, str]] | None, present: dict[str, str] | None = None) -> dict[str, str]:
    """Tags of a call of ELB, which together with those that are present have to be within the limits."""
    tags = {item["Key"]: item.get("Value", "") for item in given or []}
    if len(tags) != len(given or []):
        raise ApiError("DuplicateTagKeys", "A tag key was specified more than once")
    if any(key.lower().startswith("aws:") for key in tags):
        raise invalid("Tag keys that begin with aws: are reserved")
    if len({**(present or {}), **tags}) > 50:
        raise ApiError("TooManyTags", "You've reached the limit on the number of tags per load balancer")
    return tags


def tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
