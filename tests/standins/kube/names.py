# SPDX-License-Identifier: Apache-2.0
"""Syntax of names, labels, hosts and addresses, with the complaints that the API server prints.

Follows apimachinery's pkg/util/validation.
"""

from __future__ import annotations

import ipaddress
import re

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_VALUE = rf"({QUALIFIED})?"


def _check(text: str, pattern: str, limit: int, complaint: str) -> str:
    if len(text) > limit:
        return f"must be no more than {limit} characters"
    return "" if re.fullmatch(pattern, text) else f"{complaint}, regex used for validation is '{pattern}')"


def subdomain(text: str) -> str:
    """RFC 1123 subdomain; returns the complaint or nothing."""
    return _check(
        text,
        SUBDOMAIN,
        253,
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        "must start and end with an alphanumeric character (e.g. 'example.com'",
    )


def label(text: str) -> str:
    """RFC 1123 label."""
    return _check(
        text,
        LABEL,
        63,
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
        "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc'",
    )


def label_1035(text: str) -> str:
    """RFC 1035 label, the syntax of Service names."""
    return _check(
        text,
        LABEL_1035,
        63,
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123'",
    )


def wildcard(text: str) -> str:
    """A host that begins with "*."."""
    return _check(
        text,
        r"\*\." + SUBDOMAIN,
        253,
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
        "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character "
        "(e.g. '*.example.com'",
    )


def qualified(text: str) -> str:
    """A label or annotation key: an optional DNS prefix and a name."""
    prefix, slash, name = text.rpartition("/")
    if slash and subdomain(prefix):
        return "prefix part " + subdomain(prefix)
    return _check(
        name,
        QUALIFIED,
        63,
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc'",
    )


def label_value(text: str) -> str:
    """The value of a label."""
    return _check(
        text,
        LABEL_VALUE,
        63,
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
        "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345'",
    )


def port_name(text: str) -> list[str]:
    """The name of a port, as in a container or an Ingress backend."""
    found = []
    if len(text) > 15:
        found.append("must be no more than 15 characters")
    if not re.fullmatch(r"[-a-z0-9]+", text):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", text):
        found.append("must contain at least one letter (a-z)")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def port_number(value: int) -> str:
    """A port number."""
    return "" if 1 <= value <= 65535 else "must be between 1 and 65535, inclusive"


def address(text: str) -> str:
    """An IP address."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        if re.fullmatch(r"(\d{1,3}\.){3}\d{1,3}", text) and re.search(r"(^|\.)0\d", text):
            return "must not have leading 0s"
        return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    if "%" in text:
        return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        return "must not be an IPv4-mapped IPv6 address"
    return ""


def canonical_address(text: str) -> str:
    """An IP address as it is usually written."""
    complaint = address(text)
    if complaint:
        return complaint
    canonical = str(ipaddress.ip_address(text))
    return "" if canonical == text else f'must be in canonical form ("{canonical}")'


LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"


def reachable_address(text: str) -> str:
    """An IP address of a pod, or of anything that others than its own machine can reach."""
    found = ipaddress.ip_address(text)
    if found.is_unspecified:
        return f"may not be unspecified ({found})"
    if found.is_loopback:
        return LOOPBACK
    if found.is_link_local:
        return "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    local = ipaddress.ip_network("224.0.0.0/24" if found.version == 4 else "ff02::/16")
    return "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)" if found in local else ""


def finalizer(text: str) -> str:
    """A finalizer: of Kubernetes itself, or with the domain of whose it is."""
    if "/" in text or text in ("kubernetes", "orphan", "foregroundDeletion"):
        return qualified(text)
    return qualified(text) or "name is neither a standard finalizer name nor is it fully qualified"


def network(text: str) -> str:
    """An IP network in CIDR notation."""
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
    return "" if "/" in text else "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def is_address(text: str) -> bool:
    """Whether the text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
