# SPDX-License-Identifier: Apache-2.0
"""The environment variables of the programs, read from the tables that define them."""
from __future__ import annotations

import re

from .pod import ROOT

TABLES = ("common/common_options.def", "common/egress.def", "translator/config.def", "watcher/config.def", "provider-rancher/config.def")
_OPTION = re.compile(r'^(?:OPTION|SECRET)\([\w.]+, "[\w-]+", "(\w+)"', re.MULTILINE)


def environment_names() -> set[str]:
    found = {name for table in TABLES for name in _OPTION.findall((ROOT / table).read_text(encoding="utf-8"))}
    assert {"KUBERNETES_URL", "CATTLE_SECRET_KEY", "SLUICE_ALLOW_PROVIDER_UID", "SLUICE_ADMIN_ADDRESS"} <= found
    return found
