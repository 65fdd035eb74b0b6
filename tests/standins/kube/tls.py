# SPDX-License-Identifier: Apache-2.0
"""The certificate of the server, and what it asks of clients."""

from __future__ import annotations

import ssl

from lib.certs import Authority

SERVER_NAMES = ("kubernetes", "localhost", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "::1")


def server_context(authority: Authority) -> ssl.SSLContext:
    """A TLS context that asks for a client certificate and does not insist."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    renew_server(context, authority)
    return context


def renew_server(context: ssl.SSLContext, authority: Authority) -> None:
    """Gives the server a new certificate; connections made from now on see it."""
    authority.sign(*SERVER_NAMES).load_into(context)
    context.load_verify_locations(cadata=authority.pem.decode())
