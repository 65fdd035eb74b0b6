# SPDX-License-Identifier: Apache-2.0
"""One running stand-in: state, network, and the files that clients find the server by."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

from lib.certs import Authority

from . import admission, auth, public, tls
from .profiles import Profile
from .server import Network
from .state import State
from .store import Store

FIRST_REVISION = 15000


class Standin:
    """Files are written into `folder`. It serves when its network is up."""

    def __init__(self, folder: Path, profile: Profile, port: int, is_plain: bool, token: str):
        admin = auth.Identity(auth.ADMIN, "kubernetes-admin")
        controller = auth.Identity(auth.CONTROLLER, "system:serviceaccount:sluice-system:sluice")
        authenticator = auth.Authenticator(admin, controller, is_plain)
        self.state = State(profile, Store(FIRST_REVISION), authenticator)
        names = {
            "kubeconfig": "kubeconfig", "controller_kubeconfig": "controller.kubeconfig", "token_file": "token", "ca_file": "ca.crt",
            "control": "control.sock",
        }
        self.files = {what: str(folder / name) for what, name in names.items()}
        self._authority = Authority("standin-kube-ca")
        self._tls = None if is_plain else tls.server_context(self._authority)
        for name in admission.PROTECTED_NAMESPACES:
            admission.make_namespace(self.state, name)
        self.network = Network(self.state, port, self._tls)
        self._write("token_file", authenticator.issue(controller, token).encode())
        self._write_files()

    def _write(self, what: str, content: bytes) -> None:
        public.write_private(Path(self.files[what]), content)

    def _write_files(self) -> None:
        admin = self.state.authenticator.admin
        user: dict[str, Any] = {"token": self.state.authenticator.issue(admin)}
        if self._tls is not None:
            pair = self._authority.sign(admin.user)
            user = {"client-certificate-data": _encoded(pair.pem), "client-key-data": _encoded(pair.key)}
        self._write_kubeconfig("kubeconfig", user)
        self._write_kubeconfig("controller_kubeconfig", {"tokenFile": self.files["token_file"]})
        self._write("ca_file", self._authority.pem)

    def _write_kubeconfig(self, what: str, user: dict[str, Any]) -> None:
        cluster = {"certificate-authority-data": _encoded(self._authority.pem)} if self._tls is not None else {}
        public.write_kubeconfig(Path(self.files[what]), user, server=self.network.url, **cluster)

    def rotate_token(self, old_expires_in_s: float) -> str:
        """Writes a new controller token; the old ones die after the given time."""
        authenticator = self.state.authenticator
        authenticator.expire(authenticator.controller, old_expires_in_s)
        token = authenticator.issue(authenticator.controller)
        self._write("token_file", token.encode())
        return token

    def rotate_authority(self) -> None:
        """A new CA, server certificate and files. Certificates of the old CA are still accepted from
        clients."""
        assert self._tls is not None
        self._authority = Authority("standin-kube-ca-2")
        tls.renew_server(self._tls, self._authority)
        # Nobody may come back by a session of before, which needs no certificate to be looked at.
        self._tls.options |= ssl.OP_NO_TICKET
        self._write_files()


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
