# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests."""
from __future__ import annotations

import datetime
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Pair:
    pem: bytes
    key: bytes
    der: bytes


def self_signed(*names: str, days: int = 30) -> Pair:
    """A fresh self-signed certificate for the DNS names; negative days: expired already."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.datetime.utcnow()
    end = now + datetime.timedelta(days=days)
    certificate = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
                   .serial_number(x509.random_serial_number()).not_valid_before(min(now, end) - datetime.timedelta(days=1))
                   .not_valid_after(end)
                   .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), False)
                   .sign(key, hashes.SHA256()))
    return Pair(certificate.public_bytes(serialization.Encoding.PEM),
                key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
                certificate.public_bytes(serialization.Encoding.DER))
