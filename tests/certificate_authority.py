"""A certification authority for tests: keys on a small curve, made once a session, in a folder that goes with it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from sim_runtime.issued_certificates import SIGNS_CERTIFICATES, general_name

if TYPE_CHECKING:
    from pathlib import Path

    Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

FROM: Final = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
ENDED: Final = dt.datetime(2021, 1, 1, tzinfo=dt.UTC)
UNTIL: Final = dt.datetime(2119, 1, 1, tzinfo=dt.UTC)


def subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


@dataclass(frozen=True)
class Identity:
    """A key, its certificate, and the two in one file as ssl.keystore.location takes them."""

    key: Key
    certificate: x509.Certificate
    file: Path

    @property
    def key_pem(self) -> str:
        return self.sealed_key_pem(None)

    def sealed_key_pem(self, password: str | None) -> str:
        seal = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, seal).decode()

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()


class CertificateAuthority:
    """Signs certificates, by default for the names of this machine."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = subject(name)
        self.certificate = self._sign(self.name, self.key.public_key(), [], until=UNTIL, authority=True)
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        self.file = folder / "ca.pem"
        self.file.write_text(self.pem, "ascii")

    def issue(
        self,
        name: str,
        *,
        hosts: tuple[str, ...] = ("localhost", "127.0.0.1"),
        expired: bool = False,
        key: Key | None = None,
        file: str | None = None,
    ) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1()) if key is None else key
        certificate = self._sign(subject(name), key.public_key(), list(hosts), until=ENDED if expired else UNTIL)
        made = Identity(key, certificate, self.folder / f"{file or name}.pem")
        made.file.write_text(made.key_pem + made.certificate_pem, "ascii")
        return made

    def _sign(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey,
        hosts: list[str],
        *,
        until: dt.datetime,
        authority: bool = False,
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(FROM)
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            # From 3.13 on Python's ssl refuses certificates without these.
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        if authority:
            builder = builder.add_extension(SIGNS_CERTIFICATES, critical=True)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([general_name(each) for each in hosts]), False)
        return builder.sign(self.key, hashes.SHA256())


@dataclass(frozen=True)
class Certificates:
    """The certificates of a test: an authority, a broker and a client of it, and an untrusted authority."""

    authority: CertificateAuthority
    stranger: CertificateAuthority
    broker: Identity
    client: Identity

    @property
    def listeners(self) -> dict[str, str]:
        """The configuration of a broker that listens in plaintext and in TLS."""
        return {
            "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.broker.file),
        }


def certificates_in(folder: Path) -> Certificates:
    authority = CertificateAuthority(folder / "trusted")
    return Certificates(
        authority=authority,
        stranger=CertificateAuthority(folder / "stranger", "another authority"),
        broker=authority.issue("broker"),
        client=authority.issue("client"),
    )
