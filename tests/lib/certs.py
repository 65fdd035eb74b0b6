# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests."""
from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID


@dataclass
class Pair:
    pem: bytes
    key: bytes
    der: bytes

    def load_into(self, context: ssl.SSLContext) -> None:
        """Connections made from now on show it."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.pem + self.key)
            file.flush()
            context.load_cert_chain(file.name)


def self_signed(*names: str, days: int = 30, key: Any = None) -> Pair:
    """A fresh self-signed certificate for the DNS names, of P-256 or with the given key; negative days: expired already."""
    return _make(names, days, None, key)


def weak_keys() -> dict[str, Any]:
    """Keys that OpenSSL's usual security level refuses."""
    return {"rsa-1024": rsa.generate_private_key(65537, 1024), "p-192": ec.generate_private_key(ec.SECP192R1())}


class Authority:
    """A CA; `pem` is its certificate. As with real ones, key identifiers tell what it has signed."""

    def __init__(self, name: str, above: Authority | None = None):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.utcnow()
        above = above or self
        certificate = (x509.CertificateBuilder().subject_name(self._name).issuer_name(above._name).public_key(self._key.public_key())
                       .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
                       .not_valid_after(now + datetime.timedelta(days=30))
                       .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
                       .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), False)
                       .sign(above._key, hashes.SHA256()))
        self.pem = certificate.public_bytes(serialization.Encoding.PEM)

    def sign(self, *names: str, days: int = 30) -> Pair:
        """A fresh certificate of this CA for the DNS names and addresses."""
        return _make(names, days, (self._name, self._key))

    def revoke(self, *pairs: Pair) -> bytes:
        """A list of these certificates, in PEM."""
        now = datetime.datetime.utcnow()
        builder = x509.CertificateRevocationListBuilder().issuer_name(self._name).last_update(now - datetime.timedelta(days=1))
        builder = builder.next_update(now + datetime.timedelta(days=30))
        for pair in pairs:
            number = x509.load_pem_x509_certificate(pair.pem).serial_number
            builder = builder.add_revoked_certificate(x509.RevokedCertificateBuilder().serial_number(number).revocation_date(now).build())
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def chained(name: str, root: Authority, between: int) -> Pair:
    """A certificate for the name, with its chain: so many authorities are between it and the root, which is not in it."""
    chain, above = b"", root
    for number in range(between):
        above = Authority(f"{name} {number}", above)
        chain = above.pem + chain
    pair = above.sign(name)
    return Pair(pair.pem + chain, pair.key, pair.der)


def _make(names: tuple[str, ...], days: int, issuer: tuple | None, key: Any = None) -> Pair:
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    issuer_name, issuer_key = issuer or (subject, key)
    now = datetime.datetime.utcnow()
    end = now + datetime.timedelta(days=days)
    builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer_name).public_key(key.public_key())
               .serial_number(x509.random_serial_number()).not_valid_before(min(now, end) - datetime.timedelta(days=1)).not_valid_after(end)
               .add_extension(x509.SubjectAlternativeName([_san(name) for name in names]), False))
    if issuer:
        builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), False)
    certificate = builder.sign(issuer_key, hashes.SHA256())
    return Pair(certificate.public_bytes(serialization.Encoding.PEM),
                key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
                certificate.public_bytes(serialization.Encoding.DER))


def _san(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
