# SPDX-License-Identifier: Apache-2.0
"""Derives a certificate row's read-only fields from its PEM text; dates are not in the server's words."""

from __future__ import annotations

import re
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from .errors import invalid

# The server's words, which are those of its libraries.
_NOTHING = 'Cannot invoke "String.length()" because "s" is null'
_NO_PEM = 'Cannot invoke "org.bouncycastle.util.io.pem.PemObject.getContent()" because "pem" is null'
_NO_CERTIFICATE = "malformed data: unknown object in getInstance: org.bouncycastle.asn1.ASN1Integer"
_NO_DER = "unexpected end-of-contents marker"
_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)


def _alternative_names(certificate: x509.Certificate) -> list[str] | None:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return None
    return [str(getattr(name, "value", name)) for name in names] or None


def derived(pem: Any) -> dict[str, Any]:
    """Only the first PEM object counts, and it must be a certificate; the key is not looked at."""
    if pem is None:
        raise invalid("InvalidFormat", None, _NOTHING)
    first = _PEM.search(pem)
    if first is None:
        raise invalid("InvalidFormat", None, _NO_PEM)
    if first.group(1) != "CERTIFICATE":
        raise invalid("InvalidFormat", None, _NO_CERTIFICATE)
    try:
        certificate = x509.load_pem_x509_certificate(first.group(0).encode())
        common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        public = certificate.public_key()
        fingerprint = certificate.fingerprint(hashes.SHA1()).hex()
        return {
            "CN": str(common[0].value) if common else None,
            "issuer": certificate.issuer.rfc4514_string(),
            "issuedAt": str(certificate.not_valid_before),
            "expiresAt": str(certificate.not_valid_after),
            "algorithm": "SHA256WITHRSA" if isinstance(public, rsa.RSAPublicKey) else "SHA256WITHECDSA",
            "version": str(certificate.version.value + 1),
            "serialNumber": str(certificate.serial_number),
            "keySize": public.key_size if isinstance(public, rsa.RSAPublicKey) else None,
            "subjectAlternativeNames": _alternative_names(certificate),
            "certFingerprint": ":".join(fingerprint[i:i + 2] for i in range(0, len(fingerprint), 2)),
        }
    except ValueError:
        raise invalid("InvalidFormat", None, _NO_DER) from None
