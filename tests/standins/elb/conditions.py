# SPDX-License-Identifier: Apache-2.0
"""Conditions of rules: what the API takes, and whether a request meets them. Pure."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass
from typing import Any

from .errors import invalid

VALUES_MAX = 3  # of one condition
_CONFIGS = {"host-header": "HostHeaderConfig", "path-pattern": "PathPatternConfig", "http-header": "HttpHeaderConfig",
            "http-request-method": "HttpRequestMethodConfig", "query-string": "QueryStringConfig", "source-ip": "SourceIpConfig"}
_SEVERAL = ("http-header", "query-string")
_HOST = re.compile(r"[A-Za-z0-9.*?-]{1,128}")
_PATH = re.compile(r"[A-Za-z0-9_.$/~\"'@:+&*?-]{1,128}")
_REGEX_REFUSED = re.compile(r"\(\?(?!:)|\\[1-9]|\\[kgpPX]|[*+?}]\+|\(\*|\\[uU]")


def checked(given: list[dict[str, Any]], quotas: dict[str, int]) -> list[dict[str, Any]]:
    """In the form with Config members only. Raises ApiError."""
    if not given:
        raise invalid("A condition must be specified")
    conditions = [_condition(item) for item in given]
    fields = [c["Field"] for c in conditions]
    for field in fields:
        if field not in _SEVERAL and fields.count(field) > 1:
            raise invalid(f"A rule can only have one '{field}' condition")
    count, wildcards = 0, 0
    for condition in conditions:
        values = values_of(condition)
        limit = quotas["condition-values-per-alb-rule"] if condition["Field"] == "source-ip" else VALUES_MAX
        if not 1 <= len(values) <= limit:
            raise invalid(f"A condition '{condition['Field']}' must have between 1 and {limit} values")
        count += len(values)
        if condition["Field"] != "http-request-method" and not is_regex(condition):
            wildcards += sum(_wildcards(value) for value in values)
    if count > quotas["condition-values-per-alb-rule"]:
        raise invalid(f"A rule can only have '{quotas['condition-values-per-alb-rule']}' condition values")
    if wildcards > quotas["condition-wildcards-per-alb-rule"]:
        raise invalid(f"A rule can only have '{quotas['condition-wildcards-per-alb-rule']}' condition wildcards")
    return conditions


def _wildcards(value: Any) -> int:
    texts = [value] if isinstance(value, str) else list(value.values())
    return sum(len(re.findall(r"[*?]", re.sub(r"\\.", "", text))) for text in texts)


def _condition(item: dict[str, Any]) -> dict[str, Any]:
    field = item.get("Field", "")
    if field not in _CONFIGS:
        raise invalid(f"Condition field '{field}' must be one of '[{', '.join(sorted(_CONFIGS))}]'")
    name = _CONFIGS[field]
    if item.keys() - {"Field", "Values", name}:
        raise invalid(f"A condition '{field}' can only have the member {name}")
    config = item.get(name)
    if "Values" in item:
        if field not in ("host-header", "path-pattern"):
            raise invalid(f"Values cannot be specified for a condition '{field}'")
        if config is not None:
            raise invalid("You cannot specify both Values and the configuration of a condition")
        config = {"Values": item["Values"]}
    if not config:
        raise invalid("A condition value must be specified")
    condition = {"Field": field, name: config}
    if "Values" in config and "RegexValues" in config:
        raise invalid("You cannot specify both values and regular expressions in a condition")
    if field == "http-header":
        header = config.get("HttpHeaderName", "")
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}", header) or header.lower() == "host":
            raise invalid(f"Condition header name '{header}' is not valid")
    for value in config.get("RegexValues", []):
        _check_regex(value)
    for value in config.get("Values", []):
        _check_value(field, value)
    return condition


def _check_value(field: str, value: Any) -> None:
    if field == "query-string":
        good = bool(value.get("Value")) and all(re.fullmatch(r"[!-~]{1,128}", text) for text in value.values())
    elif field == "source-ip":
        try:
            good = "/" in value and bool(ipaddress.ip_network(value))
        except ValueError:
            good = False
    elif field == "host-header":
        good = bool(_HOST.fullmatch(value)) and bool(re.search(r"\.[A-Za-z]+$", value))
    elif field == "path-pattern":
        good = bool(_PATH.fullmatch(value))
    elif field == "http-request-method":
        good = bool(re.fullmatch(r"[A-Z_-]{1,40}", value))
    else:
        good = bool(re.fullmatch(r"[ -~]{1,128}", value))
    if not good:
        raise invalid(f"Condition value '{value}' contains a character that is not valid, or is too long, for a condition '{field}'")


def _check_regex(text: str) -> None:
    if not re.fullmatch(r"[!-~]{1,128}", text) or _REGEX_REFUSED.search(text):
        raise invalid(f"The regular expression '{text}' is not supported")
    try:
        re.compile(text)
    except re.error:
        raise invalid(f"The regular expression '{text}' is not valid") from None


def config_of(condition: dict[str, Any]) -> dict[str, Any]:
    return condition[_CONFIGS[condition["Field"]]]


def is_regex(condition: dict[str, Any]) -> bool:
    return "RegexValues" in config_of(condition)


def values_of(condition: dict[str, Any]) -> list[Any]:
    config = config_of(condition)
    return config.get("RegexValues", config.get("Values", []))


def answered(condition: dict[str, Any], both_forms: bool) -> dict[str, Any]:
    field = condition["Field"]
    if not both_forms or field not in ("host-header", "path-pattern") or is_regex(condition):
        return condition
    return {"Field": field, "Values": values_of(condition), **condition}


# Transforms


def checked_transforms(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kinds = [item["Type"] for item in given]
    if len(set(kinds)) != len(kinds):
        raise invalid("A rule can only have one transform of each type")
    for item in given:
        name = {"url-rewrite": "UrlRewriteConfig", "host-header-rewrite": "HostHeaderRewriteConfig"}[item["Type"]]
        rewrites = item.get(name, {}).get("Rewrites", [])
        if item.keys() != {"Type", name} or len(rewrites) != 1:
            raise invalid(f"A transform {item['Type']} must have one rewrite in {name}")
        regex, replace = rewrites[0]["Regex"], rewrites[0]["Replace"]
        if len(regex) > 1024 or len(replace) > 1024 or _REGEX_REFUSED.search(regex):
            raise invalid(f"The transform '{regex}' is not supported")
        try:
            re.compile(regex)
        except re.error:
            raise invalid(f"The regular expression '{regex}' is not valid") from None
    return given


def transformed(transforms: list[dict[str, Any]], request: "Request") -> tuple[str, str]:
    """Host and target (path with query) after a rule's transforms."""
    host, target = request.host, request.target
    for item in transforms:
        config = item.get("UrlRewriteConfig") or item["HostHeaderRewriteConfig"]
        rewrite = config["Rewrites"][0]
        replacement = re.sub(r"\$(\d)", r"\\g<\1>", rewrite["Replace"].replace("\\", "\\\\"))
        if item["Type"] == "url-rewrite":
            target = re.sub(rewrite["Regex"], replacement, target, count=1)
        else:
            host = re.sub(rewrite["Regex"], replacement, host, count=1)
    return host, target


# Requests


@dataclass
class Request:
    method: str
    host: str
    target: str
    headers: list[tuple[str, str]]
    source: str

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


def met(conditions: list[dict[str, Any]], request: Request, regex_ignores_case: bool) -> bool:
    return all(any(_holds(c, value, request, regex_ignores_case) for value in values_of(c)) for c in conditions)


def _holds(condition: dict[str, Any], value: Any, request: Request, regex_ignores_case: bool) -> bool:
    field = condition["Field"]
    if field == "host-header":
        if is_regex(condition):
            return bool(re.search(value, request.host, re.I if regex_ignores_case else 0))
        return _globbed(value.lower(), request.host.lower())
    if field == "path-pattern":
        return bool(re.search(value, request.path)) if is_regex(condition) else _globbed(value, request.path)
    if field == "http-request-method":
        return value == request.method
    if field == "source-ip":
        return ipaddress.ip_address(request.source) in ipaddress.ip_network(value)
    if field == "query-string":
        pairs = urllib.parse.parse_qsl(request.query.lower(), keep_blank_values=True)
        return any(("Key" not in value or _globbed(value["Key"].lower(), k)) and _globbed(value["Value"].lower(), v) for k, v in pairs)
    name = config_of(condition)["HttpHeaderName"].lower()
    sent = [text for header, text in request.headers if header.lower() == name]
    if is_regex(condition):
        return any(re.search(value, text) for text in sent)
    return any(_globbed(value.lower(), text.lower()) for text in sent)


def _globbed(pattern: str, text: str) -> bool:
    parts = re.findall(r"\\[*?\\]|.", pattern, re.S)
    regex = "".join({"*": ".*", "?": "."}.get(p, re.escape(p[1:] if len(p) == 2 else p)) for p in parts)
    return bool(re.fullmatch(regex, text, re.S))
