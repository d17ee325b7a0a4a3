"""Certificates and keys that a run makes for itself: a pure function of their facts and of the time of the start.

Kafka has no counterpart. A key is derived from its name, so that it protects nothing: it is for simulated clusters
alone. Ed25519 keys are used because their signatures are deterministic and have one size.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

__all__ = ["SIGNS_CERTIFICATES", "CertificateFacts", "IssuedCertificate", "general_name", "issue"]

_AUTHORITY_FROM: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_AUTHORITY_UNTIL: Final = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
_KEY_BYTES: Final = 32
_SERIAL_BYTES: Final = 8
SIGNS_CERTIFICATES: Final = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
"""The use of an authority's key."""


@dataclass(slots=True, kw_only=True, frozen=True)
class CertificateFacts:
    """The content of a certificate. `subject` is a distinguished name as RFC 4514 writes it: `CN=a,O=b`."""

    subject: str
    hosts: tuple[str, ...]
    """The subject alternative names: host names and IP addresses."""
    valid_from_s: int
    """The first second of the validity, relative to the start of the run."""
    valid_until_s: int
    """The last second of the validity, relative to the start of the run."""
    authority: str
    """The name of the authority that signs it; each name is another authority."""


@dataclass(slots=True, kw_only=True, frozen=True)
class IssuedCertificate:
    """A private key, its certificate and the certificate of the authority, each in PEM."""

    key: str
    chain: str
    authority: str


@lru_cache(maxsize=64)
def issue(name: str, facts: CertificateFacts, *, started_s: int) -> IssuedCertificate:
    """Make the key and the certificate called `name` for a run that starts at `started_s`, in seconds since the epoch.

    Raises:
        ValueError: The subject is no distinguished name, or a time is beyond the calendar.
    """
    signer = _key_of(f"authority {facts.authority}")
    issuer = x509.Name.from_rfc4514_string(f"CN={facts.authority}")
    root = _signed(
        _builder(issuer, issuer, signer, _AUTHORITY_FROM, _AUTHORITY_UNTIL, label="")
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(SIGNS_CERTIFICATES, critical=True),
        signer,
        signer,
    )
    key = _key_of(f"certificate {name}")
    begins, ends = (
        dt.datetime.fromtimestamp(started_s + seconds, dt.UTC) for seconds in (facts.valid_from_s, facts.valid_until_s)
    )
    try:
        subject = x509.Name.from_rfc4514_string(facts.subject)
    except ValueError:
        raise ValueError(
            f"{facts.subject!r} is no distinguished name: expected one such as CN=broker,O=example"
        ) from None
    builder = _builder(subject, issuer, key, begins, ends, label=name).add_extension(
        x509.BasicConstraints(ca=False, path_length=None), critical=True
    )
    if facts.hosts:
        names = x509.SubjectAlternativeName([general_name(each) for each in facts.hosts])
        builder = builder.add_extension(names, critical=False)
    certificate = _signed(builder, key, signer)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return IssuedCertificate(key=private.decode(), chain=_pem(certificate), authority=_pem(root))


def _key_of(label: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(_hash_of(label, _KEY_BYTES))


def _hash_of(label: str, size: int) -> bytes:
    return hashlib.blake2b(f"broker-sim\n{label}".encode(), digest_size=size).digest()


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: Ed25519PrivateKey,
    begins: dt.datetime,
    ends: dt.datetime,
    *,
    label: str,
) -> x509.CertificateBuilder:
    serial = int.from_bytes(_hash_of(f"serial {label} {begins} {ends}", _SERIAL_BYTES), "big") >> 1
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial or 1)
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _signed(builder: x509.CertificateBuilder, key: Ed25519PrivateKey, signer: Ed25519PrivateKey) -> x509.Certificate:
    # From 3.13 on Python's ssl refuses certificates without these.
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    other = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return builder.add_extension(own, critical=False).add_extension(other, critical=False).sign(signer, None)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def general_name(host: str) -> x509.GeneralName:
    """Return an IP address or a host name as a subject alternative name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
