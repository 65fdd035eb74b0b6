# SPDX-License-Identifier: Apache-2.0
"""A certificate authority of its own, made at start, and what it signs."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=30)
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
SERVER_ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")


@dataclass(frozen=True)
class Pair:
    """A certificate and its key in PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A private CA."""

    def __init__(self, name: str = "standin-kube-ca"):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        builder = _builder(self._name, self._name, self._key)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=True), critical=True)
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
        )
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.certificate = self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(
        self,
        common_name: str,
        groups: tuple[str, ...] = (),
        names: tuple[str, ...] = (),
        addresses: tuple[str, ...] = (),
    ) -> Pair:
        """Signs a server certificate when names or addresses are given, a client certificate otherwise."""
        key: Any = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(common_name, groups), self._name, key)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        server = bool(names or addresses)
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
        )
        if server:
            entries: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
            entries += [x509.IPAddress(ipaddress.ip_address(text)) for text in addresses]
            builder = builder.add_extension(x509.SubjectAlternativeName(entries), critical=False)
        return Pair(
            builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )


def server_context(folder: Path, authority: Authority, addresses: tuple[str, ...]) -> ssl.SSLContext:
    """A TLS context that asks for a client certificate and does not insist."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    renew_server(context, folder, authority, addresses)
    return context


def renew_server(
    context: ssl.SSLContext, folder: Path, authority: Authority, addresses: tuple[str, ...]
) -> None:
    """Gives the server a new certificate; connections made from now on see it."""
    pair = authority.issue(
        "kube-apiserver", names=SERVER_NAMES, addresses=tuple({*SERVER_ADDRESSES, *addresses})
    )
    chain = folder / "server.pem"
    chain.touch(mode=0o600)
    chain.write_bytes(pair.certificate + pair.key)
    context.load_cert_chain(chain)
    context.load_verify_locations(cadata=authority.certificate.decode())


def _name(common_name: str, groups: tuple[str, ...] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
    )


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
