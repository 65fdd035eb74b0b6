# SPDX-License-Identifier: Apache-2.0
"""provider-nginx with its nginx, for tests."""
from __future__ import annotations

from .local_proxy import LocalProxy


class Nginx(LocalProxy):
    name = "nginx"
    network = 82
