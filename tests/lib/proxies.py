# SPDX-License-Identifier: Apache-2.0
"""The local proxies by name, for tests that run with each of them."""
from __future__ import annotations

from .haproxy import HAProxy
from .local_proxy import LocalProxy
from .nginx import Nginx

_CLASSES: dict[str, type[LocalProxy]] = {"haproxy": HAProxy, "nginx": Nginx}
PROXIES = list(_CLASSES)


def proxy_class(name: str) -> type[LocalProxy]:
    return _CLASSES[name]
