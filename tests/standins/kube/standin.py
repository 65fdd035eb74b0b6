# SPDX-License-Identifier: Apache-2.0
"""One running stand-in: state, network, control socket and the files that clients need."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import admission, auth, files, pki
from .api import Api
from .control import Control
from .profiles import Profile
from .server import Endpoint, Network, serve
from .state import State
from .store import Store
from .wire import Connection, WireSettings



@dataclass
class Options:
    """How to start. Files are written into `folder`."""

    folder: Path
    profile: Profile
    address: str = "127.0.0.1"
    port: int = 0
    is_plain: bool = False
    service_account_dir: Path | None = None
    controller_user: str = "system:serviceaccount:sluice:sluice-watcher"
    token: str | None = None
    first_revision: int = 15000
    settings: dict[str, Any] = field(default_factory=dict)


class Standin:
    """Starts, describes itself, and stops."""

    def __init__(self, options: Options):
        self.options = options
        self.stopping = asyncio.Event()
        admin = auth.Identity(auth.ADMIN, "kubernetes-admin", ("system:masters", "system:authenticated"))
        controller = auth.Identity(
            auth.CONTROLLER, options.controller_user, ("system:serviceaccounts", "system:authenticated")
        )
        authenticator = auth.Authenticator(admin, controller, options.is_plain)
        self.state = State(
            options.profile,
            Store(options.first_revision),
            authenticator,
        )
        self._paths = {
            "kubeconfig": options.folder / "kubeconfig",
            "controller_kubeconfig": options.folder / "controller.kubeconfig",
            "token_file": options.folder / "token",
            "ca_file": options.folder / "ca.crt",
        }
        self.control_path = str(options.folder / "control.sock")
        self._authority = pki.Authority()
        self._directory = (
            files.ServiceAccountDirectory(options.service_account_dir)
            if options.service_account_dir
            else None
        )
        self._token = authenticator.issue(controller, None, options.token)
        self._admin_token = authenticator.issue(admin)
        self._control_server: asyncio.AbstractServer | None = None
        self._control_connections: dict[int, Connection] = {}

    async def start(self) -> None:
        """Listens, and writes the files."""
        options = self.options
        options.folder.mkdir(parents=True, exist_ok=True)
        for name in admission.PROTECTED_NAMESPACES:
            admission.make_namespace(self.state, name)
        self.state.set(options.settings)
        api = Api(self.state)
        self._tls = None if options.is_plain else pki.server_context(options.folder, self._authority, (options.address,))
        self.network = Network(self.state, Endpoint(options.address, options.port, api.handle, self.state.wire, self._tls))
        await self.network.set("up")
        await self._start_control()
        self._write_files()

    async def _start_control(self) -> None:
        control, wire = Control(self), WireSettings()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await serve(reader, writer, control.handle, wire, self._control_connections)

        if os.path.exists(self.control_path):
            os.unlink(self.control_path)
        old = os.umask(0o077)
        try:
            self._control_server = await asyncio.start_unix_server(accept, path=self.control_path)
        finally:
            os.umask(old)

    def describe(self) -> dict[str, Any]:
        """Addresses and files."""
        return {
            "url": self.network.endpoint.url,
            "control": self.control_path,
            "profile": f"1.{self.state.profile.minor}",
            "pid": os.getpid(),
            "network": self.network.mode,
            "revision": self.state.store.rev,
            "admin_token": self._admin_token,
            "service_account_dir": str(self._directory.folder) if self._directory else None,
            **{name: str(path) for name, path in self._paths.items()},
        }

    def _write_files(self) -> None:
        url, secure = self.network.endpoint.url, not self.options.is_plain
        authority = self._authority.certificate if secure else None
        admin = self.state.authenticator.admin
        pair = self._authority.issue(admin.user, ("system:masters",))
        user: dict[str, Any] = files.certificate_user(pair) if secure else {"token": self._admin_token}
        files.write_secret(self._paths["kubeconfig"], files.kubeconfig(url, authority, user, admin.user))
        self._paths["ca_file"].write_bytes(self._authority.certificate)
        files.write_secret(
            self._paths["controller_kubeconfig"],
            files.kubeconfig(
                url, authority, {"tokenFile": str(self._paths["token_file"])}, "controller", "sluice"
            ),
        )
        self._write_token()

    def _write_token(self) -> None:
        files.write_secret(self._paths["token_file"], self._token.encode())
        if self._directory:
            self._directory.write(self._token, self._authority.certificate, "sluice")

    def rotate_token(self, old_expires_in_s: float, expires_in_s: float | None) -> str:
        """Writes a new controller token; the old ones die after the given time."""
        authenticator = self.state.authenticator
        authenticator.expire(authenticator.controller, old_expires_in_s)
        self._token = authenticator.issue(authenticator.controller, expires_in_s)
        self._write_token()
        return self._token

    def rotate_authority(self) -> None:
        """A new CA, server certificate and files. Certificates of the old CA are still accepted from
        clients."""
        self._authority = pki.Authority("standin-kube-ca-2")
        if self._tls is not None:
            pki.renew_server(self._tls, self.options.folder, self._authority, (self.options.address,))
            # Nobody may come back by a session of before, which needs no certificate to be looked at.
            self._tls.options |= ssl.OP_NO_TICKET
        self._write_files()

    async def run(self) -> None:
        """Serves until told to stop."""
        await self.stopping.wait()
        await self.network.endpoint.stop()
        if self._control_server:
            self._control_server.close()
        if os.path.exists(self.control_path):
            os.unlink(self.control_path)
