"""TLS settings under Kafka's names: `ssl.*` of a client or of a listener. Mirrors SslConfigs.

Nothing here needs OpenSSL: a program with PLAINTEXT listeners alone can read these without the cost of TLS.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ClientAuth", "SslConfigError", "SslSettings"]

PROTOCOLS: Final = ("TLSv1.2", "TLSv1.3")
STORE_TYPES: Final = ("PEM", "PKCS12")
HTTPS: Final = "https"
_OLD_PROTOCOLS: Final = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
_WITHOUT_MEANING: Final = {
    "ssl.engine.factory.class": "it loads a class into a JVM; TLS is OpenSSL's here",
    "ssl.provider": "it names a provider of a JVM; TLS is OpenSSL's here",
    "ssl.secure.random.implementation": "it names a generator of a JVM; OpenSSL uses the system's",
}


class SslConfigError(SimRuntimeError, ValueError):
    """An invalid `ssl.*` configuration, with its name, its value and the expected form."""


class ClientAuth(Enum):
    """ssl.client.auth: a listener does not request, requests or requires a client's certificate."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(slots=True, kw_only=True, frozen=True)
class SslSettings:
    """Parsed and checked settings, without the content of the stores."""

    protocol: str = "TLSv1.3"
    enabled_protocols: tuple[str, ...] = PROTOCOLS
    cipher_suites: tuple[str, ...] = ()
    endpoint_identification_algorithm: str = HTTPS
    client_auth: ClientAuth = ClientAuth.NONE
    keystore_type: str = "JKS"
    keystore_location: str | None = None
    keystore_password: str | None = None
    keystore_certificate_chain: str | None = None
    keystore_key: str | None = None
    key_password: str | None = None
    truststore_type: str = "JKS"
    truststore_location: str | None = None
    truststore_password: str | None = None
    truststore_certificates: str | None = None

    @classmethod
    def read(cls, value_of: Callable[[str], object], *, server: bool = False) -> SslSettings:
        """Parse the `ssl.*` values by name; None if one is missing. Raises SslConfigError for an invalid one."""

        def text(name: str) -> str | None:
            value = value_of(name)
            return None if value is None else str(value)

        for name, reason in _WITHOUT_MEANING.items():
            if text(name):
                raise SslConfigError(f"{name}={text(name)!r} is refused: {reason}")
        settings = cls(
            protocol=text("ssl.protocol") or "TLSv1.3",
            enabled_protocols=_names(value_of("ssl.enabled.protocols")) or PROTOCOLS,
            cipher_suites=_names(value_of("ssl.cipher.suites")),
            endpoint_identification_algorithm=(text("ssl.endpoint.identification.algorithm") or "").lower(),
            client_auth=_client_auth(text("ssl.client.auth") or "none") if server else ClientAuth.NONE,
            keystore_type=(text("ssl.keystore.type") or "JKS").upper(),
            keystore_location=text("ssl.keystore.location"),
            keystore_password=text("ssl.keystore.password"),
            keystore_certificate_chain=text("ssl.keystore.certificate.chain"),
            keystore_key=text("ssl.keystore.key"),
            key_password=text("ssl.key.password"),
            truststore_type=(text("ssl.truststore.type") or "JKS").upper(),
            truststore_location=text("ssl.truststore.location"),
            truststore_password=text("ssl.truststore.password"),
            truststore_certificates=text("ssl.truststore.certificates"),
        )
        settings._check()
        return settings

    @property
    def protocols(self) -> tuple[str, ...]:
        """The usable versions: those of ssl.enabled.protocols that ssl.protocol's context has."""
        newest = len(PROTOCOLS) if self.protocol == "TLS" else PROTOCOLS.index(self.protocol) + 1
        return tuple(each for each in PROTOCOLS[:newest] if each in self.enabled_protocols)

    @property
    def has_keystore(self) -> bool:
        """True if this side has a key and a certificate."""
        return self.keystore_key is not None or self.keystore_location is not None

    @property
    def has_truststore(self) -> bool:
        """True if a trust store is set; the default is the system's."""
        return self.truststore_certificates is not None or self.truststore_location is not None

    # DefaultSslEngineFactory refuses the same when it makes its stores.

    def _check(self) -> None:
        _check_protocol("ssl.protocol", self.protocol, (*PROTOCOLS, "TLS"))
        for each in self.enabled_protocols:
            _check_protocol("ssl.enabled.protocols", each, PROTOCOLS)
        if not self.protocols:
            enabled = ",".join(self.enabled_protocols)
            raise SslConfigError(
                f"ssl.enabled.protocols={enabled} and ssl.protocol={self.protocol} have none in common"
            )
        if self.endpoint_identification_algorithm not in {"", HTTPS}:
            raise SslConfigError(
                f"ssl.endpoint.identification.algorithm={self.endpoint_identification_algorithm!r}: expected https, "
                "or an empty text, which checks no host names"
            )
        self._check_keystore()
        self._check_truststore()

    def _check_keystore(self) -> None:
        location, password = self.keystore_location, self.keystore_password
        if self.keystore_key is not None:
            if self.keystore_type != "PEM":
                raise SslConfigError(f"ssl.keystore.key: ssl.keystore.type is {self.keystore_type}, set it to PEM")
            if self.keystore_certificate_chain is None:
                raise SslConfigError("ssl.keystore.key is given, but ssl.keystore.certificate.chain is not")
            if location is not None:
                raise SslConfigError("ssl.keystore.location and ssl.keystore.key are both given: one of them must go")
        elif self.keystore_certificate_chain is not None:
            raise SslConfigError("ssl.keystore.certificate.chain is given, but ssl.keystore.key is not")
        elif location is not None:
            _check_type("ssl.keystore", location, self.keystore_type)
        if self.keystore_type == "PEM" and password is not None:
            raise SslConfigError("ssl.keystore.password cannot be given for PEM: ssl.key.password opens its key")
        if password is not None and location is None:
            raise SslConfigError("ssl.keystore.password is given, but ssl.keystore.location is not")

    def _check_truststore(self) -> None:
        location, password = self.truststore_location, self.truststore_password
        if self.truststore_certificates is not None:
            if self.truststore_type != "PEM":
                kind = self.truststore_type
                raise SslConfigError(f"ssl.truststore.certificates: ssl.truststore.type is {kind}, set it to PEM")
            if location is not None:
                raise SslConfigError(
                    "ssl.truststore.location and ssl.truststore.certificates are both given: one of them must go"
                )
        elif location is not None:
            _check_type("ssl.truststore", location, self.truststore_type)
        if self.truststore_type == "PEM" and password is not None:
            raise SslConfigError("ssl.truststore.password cannot be given for PEM: certificates are no secret")
        if password is not None and location is None:
            raise SslConfigError("ssl.truststore.password is given, but ssl.truststore.location is not")


def _check_protocol(name: str, value: str, known: Sequence[str]) -> None:
    if value in known:
        return
    if value in _OLD_PROTOCOLS:
        raise SslConfigError(f"{name}={value!r} is refused: OpenSSL speaks it no longer; {' and '.join(PROTOCOLS)} are")
    raise SslConfigError(f"{name}={value!r}: expected one of {', '.join(known)}")


def _check_type(store: str, location: str, kind: str) -> None:
    if kind in STORE_TYPES:
        return
    hint = "its default; " if kind == "JKS" else ""
    raise SslConfigError(
        f"{store}.location={location!r}: {store}.type is {kind}, {hint}which a JVM alone reads: make it PEM or PKCS12 "
        f"(keytool -importkeystore -deststoretype PKCS12) and set {store}.type"
    )


def _client_auth(value: str) -> ClientAuth:
    try:
        return ClientAuth(value.lower())
    except ValueError:
        raise SslConfigError(f"ssl.client.auth={value!r}: expected one of none, requested, required") from None


def _names(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, (list, tuple)) else str(value or "").split(",")
    return tuple(text for each in items if (text := str(each).strip()))
