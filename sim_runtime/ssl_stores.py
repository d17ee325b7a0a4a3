"""Keys and certificates in PEM, in files or in the configuration itself (KIP-651), and in PKCS12 files.

Mirrors DefaultSslEngineFactory's PemStore, FileBasedPemStore and FileBasedStore.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sim_runtime.spelling import reason_of
from sim_runtime.ssl_settings import SslConfigError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

    from sim_runtime.ssl_settings import SslSettings

    SigningKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey

__all__ = ["KeyStore", "key_store", "trusted_certificates"]

STORE_BYTES_MAX: Final = 4 * 1024 * 1024
"""The size limit of a store file."""
_BLOCK: Final = re.compile(
    r"-+BEGIN\s+(?P<label>[^-]*?)\s*-+(?P<body>[A-Za-z0-9/+=\s]+)-+END\s+[^-]*-+", re.ASCII | re.DOTALL
)
_CERTIFICATE: Final = "CERTIFICATE"
_ENCRYPTED_KEY: Final = "ENCRYPTED PRIVATE KEY"
_PRIVATE_KEY: Final = "PRIVATE KEY"
_LINE: Final = 64


@dataclass(slots=True, kw_only=True, frozen=True)
class KeyStore:
    """A private key, its certificate, and those between it and a root."""

    key: SigningKey
    certificate: x509.Certificate
    chain: tuple[x509.Certificate, ...]


def key_store(settings: SslSettings) -> KeyStore | None:
    """The key and certificate chain of this side, None if it has none."""
    if settings.keystore_key is not None:
        assert settings.keystore_certificate_chain is not None
        key = _key(settings.keystore_key, "ssl.keystore.key", settings.key_password)
        chain = _certificates(settings.keystore_certificate_chain, "ssl.keystore.certificate.chain")
        return KeyStore(key=key, certificate=chain[0], chain=tuple(chain[1:]))
    location = settings.keystore_location
    if location is None:
        return None
    place = f"ssl.keystore.location={location!r}"
    if settings.keystore_type == "PKCS12":
        return _key_store_of_pkcs12(_read(location, place), place, settings.keystore_password)
    text = _read(location, place).decode("ascii", "replace")
    chain = _certificates(text, place)
    return KeyStore(key=_key(text, place, settings.key_password), certificate=chain[0], chain=tuple(chain[1:]))


def trusted_certificates(settings: SslSettings) -> list[x509.Certificate] | None:
    """The certificates that the side trusts, None for those of the system."""
    if settings.truststore_certificates is not None:
        return _certificates(settings.truststore_certificates, "ssl.truststore.certificates")
    location = settings.truststore_location
    if location is None:
        return None
    place = f"ssl.truststore.location={location!r}"
    if settings.truststore_type == "PKCS12":
        return _trusted_of_pkcs12(_read(location, place), place, settings.truststore_password)
    return _certificates(_read(location, place).decode("ascii", "replace"), place)


def _read(location: str, place: str) -> bytes:
    try:
        with Path(location).open("rb") as file:
            content = file.read(STORE_BYTES_MAX + 1)
    except OSError as error:
        raise SslConfigError(f"{place} cannot be read: {reason_of(error)}") from None
    if len(content) > STORE_BYTES_MAX:
        raise SslConfigError(f"{place} is no key store: it is larger than {STORE_BYTES_MAX} bytes")
    return content


def _blocks(text: str) -> list[tuple[str, bytes]]:
    """Label and PEM of each block; line ends may have become blanks, as in a configuration of one line."""
    found = []
    for block in _BLOCK.finditer(text):
        label, body = block["label"], "".join(block["body"].split())
        lines = "\n".join(body[start : start + _LINE] for start in range(0, len(body), _LINE))
        found.append((label, f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n".encode()))
    return found


def _certificates(text: str, place: str) -> list[x509.Certificate]:
    from cryptography import x509

    found = [pem for label, pem in _blocks(text) if label.endswith(_CERTIFICATE)]
    if not found:
        raise SslConfigError(f"{place}: there is no -----BEGIN CERTIFICATE----- in it")
    try:
        return [x509.load_pem_x509_certificate(pem) for pem in found]
    except ValueError as error:
        raise SslConfigError(f"{place}: a certificate in it cannot be read: {error}") from None


def _key(text: str, place: str, password: str | None) -> SigningKey:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    keys = [(label, pem) for label, pem in _blocks(text) if label.endswith(_PRIVATE_KEY)]
    if not keys:
        raise SslConfigError(f"{place}: there is no -----BEGIN PRIVATE KEY----- in it")
    label, pem = keys[0]
    encrypted = label == _ENCRYPTED_KEY
    if encrypted and password is None:
        raise SslConfigError(f"{place}: the private key is encrypted, and ssl.key.password is not given")
    try:
        key = load_pem_private_key(pem, password.encode() if encrypted and password is not None else None)
    except (ValueError, TypeError) as error:
        hint = "ssl.key.password does not open the private key" if encrypted else "the private key cannot be read"
        raise SslConfigError(f"{place}: {hint}: {error}") from None
    return _signing(key, place)


def _signing(key: object, place: str) -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

    if isinstance(
        key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey)
    ):
        return key
    raise SslConfigError(f"{place}: the private key is of a kind that TLS has no use for: {type(key).__name__}")


def _key_store_of_pkcs12(content: bytes, place: str, password: str | None) -> KeyStore:
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates

    try:
        key, certificate, others = load_key_and_certificates(content, None if password is None else password.encode())
    except ValueError as error:
        raise SslConfigError(f"{place}: ssl.keystore.password does not open it, or it is no PKCS12: {error}") from None
    if key is None or certificate is None:
        raise SslConfigError(f"{place}: there is no private key with a certificate in it")
    return KeyStore(key=_signing(key, place), certificate=certificate, chain=tuple(others))


def _trusted_of_pkcs12(content: bytes, place: str, password: str | None) -> list[x509.Certificate]:
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        store = load_pkcs12(content, None if password is None else password.encode())
    except ValueError as error:
        reason = "ssl.truststore.password does not open it, or it is no PKCS12"
        raise SslConfigError(f"{place}: {reason}: {error}") from None
    found = [each.certificate for each in store.additional_certs]
    if not found:
        raise SslConfigError(f"{place}: there is no trusted certificate in it")
    return found
