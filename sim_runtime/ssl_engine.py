"""OpenSSL contexts and connections from settings and stores: one context per side.

Mirrors SslFactory and DefaultSslEngineFactory. A connection keeps the reason for refusing its peer's certificate,
because OpenSSL's own error does not contain it.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL, crypto
from OpenSSL._util import lib
from service_identity import VerificationError
from service_identity.pyopenssl import verify_hostname, verify_ip_address

from sim_runtime.ssl_settings import HTTPS, ClientAuth, SslConfigError
from sim_runtime.ssl_stores import key_store, trusted_certificates

if TYPE_CHECKING:
    from cryptography import x509

    from sim_runtime.ssl_settings import SslSettings
    from sim_runtime.ssl_stores import KeyStore
    from sim_runtime.ssl_transport_layer import SslTransportLayer

__all__ = ["PeerCertificate", "SslEngineFactory", "verify_at"]

SESSION_ID_CONTEXT: Final = b"kafka"
_VERSIONS: Final = {"TLSv1.2": SSL.TLS1_2_VERSION, "TLSv1.3": SSL.TLS1_3_VERSION}
_TLS13_SUITE: Final = re.compile(r"TLS_(AES|CHACHA20)_[A-Z0-9_]+")
_JAVA_SUITE: Final = re.compile(r"TLS_(?P<exchange>[A-Z_]+?)_WITH_(?P<cipher>[A-Z0-9_]+)_(?P<digest>SHA\d*)")
_AUTHENTICATION: Final = {
    ClientAuth.NONE: SSL.VERIFY_NONE,
    ClientAuth.REQUESTED: SSL.VERIFY_PEER,
    ClientAuth.REQUIRED: SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT,
}


class PeerCertificate:
    """The peer's certificate of one connection, and the reason if it was refused."""

    __slots__ = ("problem", "subject")

    def __init__(self) -> None:
        self.problem: int | None = None
        """OpenSSL's number of the first reason (X509_V_ERR_...)."""
        self.subject = ""

    def verified(self, certificate: crypto.X509, error: int, accepted: bool) -> bool:  # noqa: FBT001
        """Record the verification of one certificate of the chain; the first refused one ends the handshake."""
        if not accepted and self.problem is None:
            self.problem = error
            self.subject = certificate.to_cryptography().subject.rfc4514_string()
        return accepted


class SslEngineFactory:
    """Makes the connections of one client, or of one listener.

    A `repeatable` server sends records of equal sizes in equal runs: its session tickets are references of one size
    instead of encrypted sessions.
    """

    def __init__(self, settings: SslSettings, *, server: bool, repeatable: bool = False) -> None:
        self.settings = settings
        self._server = server
        self.context = context = SSL.Context(SSL.TLS_SERVER_METHOD if server else SSL.TLS_CLIENT_METHOD)
        context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)
        if repeatable:
            context.set_options(SSL.OP_NO_TICKET)
        versions = [_VERSIONS[each] for each in _limited_by_suites(settings)]
        context.set_min_proto_version(min(versions))
        context.set_max_proto_version(max(versions))
        if settings.cipher_suites:
            _set_suites(context, settings.cipher_suites)
        own = key_store(settings)
        self._has_variable_signatures = own is not None and isinstance(own.key, ec.EllipticCurvePrivateKey)
        if own is not None:
            _use(context, own)
        elif server:
            raise SslConfigError(
                "a listener with TLS needs a certificate: give ssl.keystore.type=PEM and ssl.keystore.location, "
                "or ssl.keystore.key and ssl.keystore.certificate.chain"
            )
        _trust(context, trusted_certificates(settings), server=server)
        mode = _AUTHENTICATION[settings.client_auth] if server else SSL.VERIFY_PEER
        context.set_verify(mode, _verified)
        context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
        if server:
            # Without it OpenSSL refuses a Java client that resumes a session by a ticket and has sent a certificate.
            context.set_session_id(SESSION_ID_CONTEXT)

    def check_repeatable(self) -> None:
        """Check that equal runs have handshakes of equal sizes. Raises SslConfigError for an ECDSA key."""
        if self._has_variable_signatures:
            raise SslConfigError(
                "ssl.keystore: the key is an ECDSA key, whose signatures differ in size, so that no run on virtual "
                "time could be repeated: use an RSA or Ed25519 key there"
            )

    def connection(self, host: str | None = None) -> SSL.Connection:
        """A connection through memory; a client names the server by `host` (server name indication)."""
        connection = SSL.Connection(self.context, None)
        if self._server:
            connection.set_accept_state()
        else:
            connection.set_connect_state()
            if host is not None and not _is_address(host):
                connection.set_tlsext_host_name(host.rstrip(".").encode("idna"))
        return connection

    def host_problem(self, connection: SSL.Connection, host: str) -> str | None:
        """The reason why the certificate of a server is not for `host`; None if it is, or if the check is off."""
        if self.settings.endpoint_identification_algorithm != HTTPS:
            return None
        try:
            if _is_address(host):
                verify_ip_address(connection, host)
            else:
                verify_hostname(connection, host.rstrip("."))
        except VerificationError:
            names = ", ".join(_names_of(connection)) or "no name at all"
            return f"the certificate is for {names}, not for {host}"
        except Exception as error:  # noqa: BLE001 - the peer's certificate decides what it raises
            return f"the certificate cannot be compared with the name {host}: {error}"
        return None


def verify_at(connection: SSL.Connection, now_s: float) -> None:
    """Verify the certificate of the peer at `now_s`, in seconds since the epoch, instead of the machine's time."""
    # X509Store.set_time has an effect only once: a store keeps the first time that it is given.
    parameters = lib.SSL_get0_param(connection._ssl)  # noqa: SLF001 - pyOpenSSL has no other way
    lib.X509_VERIFY_PARAM_set_time(parameters, int(now_s))


def _verified(connection: SSL.Connection, certificate: crypto.X509, error: int, _: int, accepted: int) -> bool:
    layer: SslTransportLayer = connection.get_app_data()  # so Twisted sets it
    return layer.peer.verified(certificate, error, bool(accepted))


def _use(context: SSL.Context, own: KeyStore) -> None:
    try:
        context.use_certificate(own.certificate)
        for certificate in own.chain:
            context.add_extra_chain_cert(certificate)
        context.use_privatekey(own.key)
        context.check_privatekey()
    except SSL.Error:
        raise SslConfigError(
            "the private key does not belong to the certificate: ssl.keystore.certificate.chain (or the file of "
            "ssl.keystore.location) must begin with the certificate of the key"
        ) from None


def _trust(context: SSL.Context, certificates: list[x509.Certificate] | None, *, server: bool) -> None:
    if certificates is None:
        context.set_default_verify_paths()
        return
    store = context.get_cert_store()
    assert store is not None
    for certificate in certificates:
        store.add_cert(crypto.X509.from_cryptography(certificate))
        if server:
            context.add_client_ca(certificate)


def _limited_by_suites(settings: SslSettings) -> list[str]:
    """A version of TLS without any of the named suites is disabled, as in Java."""
    suites = settings.cipher_suites
    found = list(settings.protocols)
    if suites:
        newest = any(_TLS13_SUITE.fullmatch(each) for each in suites)
        older = any(not _TLS13_SUITE.fullmatch(each) for each in suites)
        found = [each for each in found if (newest if each == "TLSv1.3" else older)]
    if not found:
        raise SslConfigError(
            f"ssl.cipher.suites={','.join(suites)}: none is of {' or '.join(settings.protocols)}, "
            "which ssl.enabled.protocols and ssl.protocol allow"
        )
    return found


def _set_suites(context: SSL.Context, suites: tuple[str, ...]) -> None:
    older = []
    for name in suites:
        if not _TLS13_SUITE.fullmatch(name):
            translated = _openssl_name(name)
            try:
                context.set_cipher_list(translated.encode())
            except SSL.Error:
                raise SslConfigError(f"ssl.cipher.suites: OpenSSL has no {name!r}") from None
            older.append(translated)
    newest = [name for name in suites if _TLS13_SUITE.fullmatch(name)]
    for name in newest:
        try:
            context.set_tls13_ciphersuites(name.encode())
        except SSL.Error:
            raise SslConfigError(f"ssl.cipher.suites: OpenSSL has no {name!r}") from None
    if older:
        context.set_cipher_list(":".join(older).encode())
    if newest:
        context.set_tls13_ciphersuites(":".join(newest).encode())


def _openssl_name(name: str) -> str:
    """TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256; OpenSSL's own names stay."""
    found = _JAVA_SUITE.fullmatch(name)
    if found is None:
        return name
    exchange, cipher, digest = found["exchange"], found["cipher"], found["digest"]
    cipher = re.sub(r"^(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", cipher).removesuffix("_CBC")
    parts = [] if exchange == "RSA" else [exchange]
    return "-".join([*parts, cipher] if "POLY1305" in cipher else [*parts, cipher, digest]).replace("_", "-")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _names_of(connection: SSL.Connection) -> list[str]:
    from cryptography.x509 import ExtensionNotFound, SubjectAlternativeName

    certificate = connection.get_peer_certificate()
    if certificate is None:
        return []
    try:
        names = certificate.to_cryptography().extensions.get_extension_for_class(SubjectAlternativeName).value
    except (ExtensionNotFound, ValueError):
        return []
    return [str(each.value) for each in names]
