# SPDX-License-Identifier: Apache-2.0
"""ACM: imported certificates; and the tagging API, which finds things of all services."""

from __future__ import annotations

import uuid
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509.oid import ExtensionOID, NameOID

from .account import Account, Certificate
from .errors import ApiError
from .paging import page

_CURVES = {"secp256r1": "EC_prime256v1", "secp384r1": "EC_secp384r1", "secp521r1": "EC_secp521r1"}
_LISTED_BY_DEFAULT = ("RSA_1024", "RSA_2048")


def _wrong(message: str) -> ApiError:
    return ApiError("ValidationException", message)


def _algorithm(key: Any) -> str:
    name = None
    if isinstance(key, rsa.RSAPublicKey) and key.key_size in (1024, 2048, 3072, 4096):
        name = f"RSA_{key.key_size}"
    elif isinstance(key, ec.EllipticCurvePublicKey):
        name = _CURVES.get(key.curve.name)
    if name is None:
        raise _wrong("The key type of the certificate is not supported.")
    return name


def _public_bytes(key: Any) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _check_issuer(leaf: x509.Certificate, issuer: x509.Certificate) -> None:
    key, problem = issuer.public_key(), leaf.issuer != issuer.subject
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(leaf.signature, leaf.tbs_certificate_bytes, padding.PKCS1v15(), leaf.signature_hash_algorithm)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(leaf.signature, leaf.tbs_certificate_bytes, ec.ECDSA(leaf.signature_hash_algorithm))
    except InvalidSignature:
        problem = True
    if problem:
        raise _wrong("Could not validate the certificate with the certificate chain.")


def _extension(leaf: x509.Certificate, oid: Any) -> Any:
    try:
        return leaf.extensions.get_extension_for_oid(oid).value
    except x509.ExtensionNotFound:
        return None


def _usages(leaf: x509.Certificate) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """Key usages and extended key usages; None: the extension is not there."""
    usage, extended = _extension(leaf, ExtensionOID.KEY_USAGE), _extension(leaf, ExtensionOID.EXTENDED_KEY_USAGE)
    names = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign")
    return (frozenset(n for n in names if getattr(usage, n)) if usage else None,
            frozenset(o.dotted_string for o in extended) if extended else None)


class Certificates:
    def __init__(self, account: Account):
        self.account = account

    def _find(self, arn: str) -> Certificate:
        certificate = self.account.find("certificate", arn)
        if certificate is None:
            raise ApiError("ResourceNotFoundException", f"Could not find certificate {arn} in account {self.account.id}.")
        return certificate

    def import_certificate(self, p: dict[str, Any]) -> dict[str, Any]:
        leaf, details = self._read(p)
        if "CertificateArn" in p:
            old = self._find(p["CertificateArn"])
            if "Tags" in p:
                raise _wrong("Tagging is not permitted on re-import.")
            self._check_again(old, details, _usages(leaf))
            old.details, old.usages, old.pem = {**details, "CertificateArn": old.arn}, _usages(leaf), p["Certificate"]
            return {"CertificateArn": old.arn}
        tags = self._tags(p.get("Tags", []), {})
        if len(self.account.certificates) >= self.account.settings.quotas["imported-certificates"]:
            raise ApiError("LimitExceededException", "You have reached the maximum number of imported certificates.")
        arn = self.account.arn("acm", f"certificate/{uuid.uuid4()}")
        certificate = Certificate(arn, self.account.clock.date(), {**details, "CertificateArn": arn}, _usages(leaf), p["Certificate"])
        self.account.certificates[arn] = certificate
        self.account.created("certificate", certificate)
        self.account.tag(arn, tags)
        return {"CertificateArn": arn}

    def _read(self, p: dict[str, Any]) -> tuple[x509.Certificate, dict[str, Any]]:
        if p["Certificate"].count(b"-----BEGIN CERTIFICATE-----") != 1:
            raise _wrong("The certificate field contains more than one certificate. You can specify only one certificate in this field.")
        try:
            leaf = x509.load_pem_x509_certificate(p["Certificate"])
        except ValueError:
            raise _wrong("The certificate is not PEM-encoded or is not valid.") from None
        try:
            key = load_pem_private_key(p["PrivateKey"], None)
        except (ValueError, TypeError):
            raise _wrong("The private key is not supported, is encrypted, or is not PEM-encoded.") from None
        if _public_bytes(key.public_key()) != _public_bytes(leaf.public_key()):
            raise _wrong("The private key doesn't match the certificate.")
        if "CertificateChain" in p:
            self._check_chain(leaf, p["CertificateChain"])
        now = self.account.clock.date().replace(tzinfo=None)
        if not leaf.not_valid_before <= now <= leaf.not_valid_after:
            raise _wrong("The certificate is not valid at this time.")
        if not leaf.issuer.rdns:
            raise _wrong("The certificate must have an issuer.")
        return leaf, self._details(leaf)

    @staticmethod
    def _check_chain(leaf: x509.Certificate, text: bytes) -> None:
        parts = [b"-----BEGIN CERTIFICATE-----" + part for part in text.split(b"-----BEGIN CERTIFICATE-----")[1:]]
        try:
            chain = [x509.load_pem_x509_certificate(part) for part in parts]
        except ValueError:
            chain = []
        if not chain:
            raise _wrong("The certificate chain is not PEM-encoded or is not valid.")
        for below, issuer in zip([leaf, *chain], chain):
            _check_issuer(below, issuer)

    def _details(self, leaf: x509.Certificate) -> dict[str, Any]:
        alternative = _extension(leaf, ExtensionOID.SUBJECT_ALTERNATIVE_NAME)
        names = alternative.get_values_for_type(x509.DNSName) if alternative else []
        common = [str(a.value) for a in leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        issuer = [str(a.value) for a in leaf.issuer.get_attributes_for_oid(NameOID.COMMON_NAME)]
        serial = f"{leaf.serial_number:x}"
        serial = serial.zfill(len(serial) + len(serial) % 2)
        domain = (common or names or [""])[0]
        # ACM's times are in UTC, those of the library have no zone.
        utc = self.account.clock.date().tzinfo
        return {"DomainName": domain, "SubjectAlternativeNames": names or [domain], "Serial": ":".join(serial[n:n + 2] for n in range(0, len(serial), 2)),
                "Subject": leaf.subject.rfc4514_string(), "Issuer": (issuer or [leaf.issuer.rfc4514_string()])[0],
                "ImportedAt": self.account.clock.date(), "Status": "ISSUED", "NotBefore": leaf.not_valid_before.replace(tzinfo=utc),
                "NotAfter": leaf.not_valid_after.replace(tzinfo=utc), "KeyAlgorithm": _algorithm(leaf.public_key()),
                "SignatureAlgorithm": "SHA256WITHRSA" if isinstance(leaf.public_key(), rsa.RSAPublicKey) else "SHA256WITHECDSA",
                "Type": "IMPORTED", "RenewalEligibility": "INELIGIBLE"}

    @staticmethod
    def _check_again(old: Certificate, details: dict[str, Any], usages: tuple[Any, ...]) -> None:
        if details["KeyAlgorithm"] != old.details["KeyAlgorithm"]:
            raise _wrong("The new certificate must have the same key algorithm as the previously imported certificate.")
        if not set(details["SubjectAlternativeNames"]) & set(old.details["SubjectAlternativeNames"]):
            raise _wrong("The new certificate must have at least one domain name of the previously imported certificate.")
        for before, after in zip(old.usages, usages):
            if (before is None and after) or (before and not before - {"key_encipherment", "1.3.6.1.5.5.7.3.2"} <= (after or frozenset())):
                raise _wrong("The new certificate must have the key usages of the previously imported certificate.")

    def describe_certificate(self, p: dict[str, Any]) -> dict[str, Any]:
        certificate = self._find(p["CertificateArn"])
        return {"Certificate": {**certificate.details, "InUseBy": self.account.users_of_certificate(certificate.arn)}}

    def list_certificates(self, p: dict[str, Any]) -> dict[str, Any]:
        kinds, statuses = p.get("Includes", {}).get("keyTypes") or _LISTED_BY_DEFAULT, p.get("CertificateStatuses")
        found = [c for c in self.account.seen("certificate") if c.details["KeyAlgorithm"] in kinds and (not statuses or "ISSUED" in statuses)]
        size = min(p.get("MaxItems", 1000), self.account.settings.page_max)
        shown, following = page(found, p.get("NextToken"), size, _wrong)
        told = ("DomainName", "Status", "Type", "KeyAlgorithm", "RenewalEligibility", "NotBefore", "NotAfter", "ImportedAt")
        return {"CertificateSummaryList": [
            {"CertificateArn": c.arn, "SubjectAlternativeNameSummaries": c.details["SubjectAlternativeNames"][:100],
             "InUse": bool(self.account.users_of_certificate(c.arn)), **{key: c.details[key] for key in told}} for c in shown], "NextToken": following}

    def delete_certificate(self, p: dict[str, Any]) -> dict[str, Any]:
        certificate = self._find(p["CertificateArn"])
        if self.account.users_of_certificate(certificate.arn) or self.account.lingers(certificate.arn, self.account.settings.certificate_release_s):
            raise ApiError("ResourceInUseException", f"Certificate {certificate.arn} is in use.")
        del self.account.certificates[certificate.arn]
        self.account.untag(certificate.arn)
        return {}

    # Tags

    @staticmethod
    def _tags(given: list[dict[str, str]], present: dict[str, str]) -> dict[str, str]:
        tags = {item["Key"]: item.get("Value", "") for item in given}
        if len(tags) != len(given) or any(key.lower().startswith("aws:") for key in tags):
            raise ApiError("InvalidTagException", "Tag keys must be different, and not begin with aws:")
        if len({**present, **tags}) > 50:
            raise ApiError("TooManyTagsException", "The maximum number of tags has been reached.")
        return tags

    def list_tags_for_certificate(self, p: dict[str, Any]) -> dict[str, Any]:
        tags = self.account.tags(self._find(p["CertificateArn"]).arn)
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}

    def add_tags_to_certificate(self, p: dict[str, Any]) -> dict[str, Any]:
        arn = self._find(p["CertificateArn"]).arn
        self.account.tag(arn, self._tags(p["Tags"], self.account.tags(arn)))
        return {}

    def remove_tags_from_certificate(self, p: dict[str, Any]) -> dict[str, Any]:
        arn = self._find(p["CertificateArn"]).arn
        present = self.account.tags(arn)
        self.account.tag(arn, {}, [t["Key"] for t in p["Tags"] if "Value" not in t or present.get(t["Key"]) == t["Value"]])
        return {}


class Tagging:
    """Knows of tags as they were a while ago."""

    def __init__(self, account: Account):
        self.account = account

    def get_resources(self, p: dict[str, Any]) -> dict[str, Any]:
        filters, kinds = p.get("TagFilters", []), p.get("ResourceTypeFilters", [])
        size, limit = p.get("ResourcesPerPage", 50), self.account.settings.page_max
        if not 1 <= size <= 100 or len({f.get("Key") for f in filters}) != len(filters):
            raise ApiError("InvalidParameterException", "ResourcesPerPage is between 1 and 100, and each key is given once")
        if set(p) - {"TagFilters", "ResourceTypeFilters", "ResourcesPerPage", "PaginationToken"}:
            raise ApiError("InvalidParameterException", "Only filters and pages are simulated")
        found = [(arn, tags) for arn, tags in sorted(self.account.tags_as_lagging().items())
                 if (not kinds or any(self._is_of(arn, kind) for kind in kinds)) and all(self._passes(f, tags) for f in filters)]
        shown, following = page(found, p.get("PaginationToken"), min(size, limit), self._expired)
        mappings = [{"ResourceARN": arn, "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]} for arn, tags in shown]
        return {"PaginationToken": following or "", "ResourceTagMappingList": mappings}

    @staticmethod
    def _expired(message: str) -> ApiError:
        return ApiError("PaginationTokenExpiredException", message)

    @staticmethod
    def _is_of(arn: str, kind: str) -> bool:
        service, _, resource = kind.partition(":")
        found = arn.split(":", 5)
        return found[2] == service and (not resource or found[5].split("/")[0] == resource)

    @staticmethod
    def _passes(given: dict[str, Any], tags: dict[str, str]) -> bool:
        key, values = given.get("Key"), given.get("Values", [])
        return key in tags and (not values or tags[key] in values)
