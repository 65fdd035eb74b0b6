# SPDX-License-Identifier: Apache-2.0
"""Syntax of names, labels, hosts and addresses, with the complaints that the API server prints.

Follows apimachinery's pkg/util/validation.
"""

from __future__ import annotations

import ipaddress
import re

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
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


def finalizer(text: str) -> str:
    """A finalizer: of Kubernetes itself, or with the domain of whose it is."""
    if "/" in text or text in ("kubernetes", "orphan", "foregroundDeletion"):
        return qualified(text)
    return qualified(text) or "name is neither a standard finalizer name nor is it fully qualified"


def is_address(text: str) -> bool:
    """Whether the text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
