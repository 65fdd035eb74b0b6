# SPDX-License-Identifier: Apache-2.0
"""provider-nginx with its nginx, for tests."""
from __future__ import annotations

import pathlib
from typing import Any

from .local_proxy import PATIENCE, LocalProxy
from .provider_link import Object
from .wait import wait_for

LUA_DIR = pathlib.Path(__file__).parents[2] / "provider-nginx/lua"


class Nginx(LocalProxy):
    name = "nginx"
    network = "127.82"
    own_arguments = ["--lua-dir", str(LUA_DIR), "--workers", "2"]

    def __init__(self, *arguments: Any, **more: Any):
        super().__init__(*arguments, **{**more, "start": False})
        # Workers run as another user when we are root, and have to reach sockets below the state folder.
        self.folder.chmod(0o711)
        if more.get("start", True) and not (arguments and arguments[0] is False):
            self.start()

    def wait_applied(self, timeout: float = PATIENCE) -> Object:
        """Also until both workers are there: the first one that serves makes the status true."""
        status = super().wait_applied(timeout)
        wait_for(lambda: len(self.workers()) >= 2, "both workers", timeout)
        return status
