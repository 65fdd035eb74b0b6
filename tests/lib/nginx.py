# SPDX-License-Identifier: Apache-2.0
"""provider-nginx with its nginx, for tests."""
from __future__ import annotations

import pathlib

from .local_proxy import PATIENCE, LocalProxy
from .provider_link import Object
from .wait import wait_for

LUA_DIR = pathlib.Path(__file__).parents[2] / "provider-nginx/lua"


class Nginx(LocalProxy):
    name = "nginx"
    network = "127.82"
    own_arguments = ["--lua-dir", str(LUA_DIR), "--workers", "2"]
    # Workers run as another user when we are root, and have to reach sockets below the state folder.
    folder_mode = 0o711

    def wait_applied(self, timeout: float = PATIENCE) -> Object:
        """Also until both workers are there: the first one that serves makes the status true."""
        status = super().wait_applied(timeout)
        wait_for(lambda: len(self.workers()) >= 2, "both workers", timeout)
        return status
