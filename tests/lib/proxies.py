# SPDX-License-Identifier: Apache-2.0
"""The local proxies by name, for tests that run with each of them."""
from __future__ import annotations

import pytest

from .haproxy import HAProxy
from .local_proxy import LocalProxy
from .nginx import Nginx

_CLASSES: dict[str, type[LocalProxy]] = {"haproxy": HAProxy, "nginx": Nginx}


def proxy_class(name: str) -> type[LocalProxy]:
    return _CLASSES[name]


PROXIES = [pytest.param(name, id=name, marks=pytest.mark.skipif(not one.program().exists(), reason=f"provider-{name} is not built"))
           for name, one in _CLASSES.items()]
