"""Explains a failed TLS handshake and names the configuration to change. No class of Kafka does this.

OpenSSL names the failure, but seldom the configuration at fault. Client and server see the same failure from two
sides: each text names the settings that this side, or the other side, can change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from OpenSSL import SSL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sim_runtime.ssl_engine import PeerCertificate

__all__ = ["openssl_reason", "why_client_failed", "why_server_failed"]

_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
_UNTRUSTED: Final = (2, 18, 19, 20, 21)
_NO_CERTIFICATE: Final = "peer did not return a certificate"
_WITHOUT_TLS: Final = "it responds without TLS: a PLAINTEXT listener, or no Kafka; security.protocol=SSL is ours"
_PLAIN_CLIENT: Final = "the client speaks without TLS: its security.protocol is PLAINTEXT, the listener's SSL"
_OTHER_VERSIONS: Final = "it speaks no version of TLS that ssl.enabled.protocols and ssl.protocol allow"
# A part of OpenSSL's reason -> its meaning to a client.
_TO_A_CLIENT: Final[Mapping[str, str]] = {
    "wrong version number": _WITHOUT_TLS,
    "packet length too long": _WITHOUT_TLS,
    "record layer failure": _WITHOUT_TLS,
    "alert certificate required": "it requires a client's certificate (its ssl.client.auth=required): give "
    "ssl.keystore.location, or ssl.keystore.key and ssl.keystore.certificate.chain",
    "alert unknown ca": "it does not trust our certificate: its ssl.truststore needs the issuer of our ssl.keystore",
    "alert certificate unknown": "it does not take our certificate: its ssl.truststore must have the issuer of our "
    "ssl.keystore",
    "alert bad certificate": "it does not take our certificate, or requires one: see ssl.keystore",
    "alert certificate expired": "our certificate has expired: renew the one of ssl.keystore",
    "alert protocol version": _OTHER_VERSIONS,
    "unsupported protocol": _OTHER_VERSIONS,
    "alert handshake failure": "it agrees to none of our ssl.cipher.suites and ssl.enabled.protocols, or requires a "
    "client's certificate (ssl.keystore)",
}
_TO_A_SERVER: Final[Mapping[str, str]] = {
    "http request": "the client speaks HTTP to a TLS listener",
    "wrong version number": _PLAIN_CLIENT,
    "packet length too long": _PLAIN_CLIENT,
    "record layer failure": _PLAIN_CLIENT,
    _NO_CERTIFICATE: "the client has shown no certificate, and ssl.client.auth is required",
    "alert unknown ca": "the client does not trust us: its ssl.truststore lacks the issuer of ssl.keystore",
    "alert certificate unknown": "the client refuses our certificate: its ssl.truststore lacks the issuer of "
    "ssl.keystore, or the name that it connects to is not in the certificate",
    "alert bad certificate": "the client refuses our certificate (ssl.keystore)",
    "alert certificate expired": "the client reports that our certificate has expired: renew the one of ssl.keystore",
    "unsupported protocol": "the client speaks no version of TLS that ssl.enabled.protocols and ssl.protocol allow",
    "no shared cipher": "the client has none of the listener's ssl.cipher.suites, or none for the key of ssl.keystore",
}


def openssl_reason(error: BaseException) -> str:
    """The text of the last entry of OpenSSL's error queue."""
    if isinstance(error, SSL.Error) and error.args and isinstance(error.args[0], list) and error.args[0]:
        return str(error.args[0][-1][-1])
    return str(error) or type(error).__name__


def why_client_failed(error: BaseException, peer: PeerCertificate) -> str:
    """The text of a client's failed TLS connection to a server."""
    if peer.problem is not None:
        subject = peer.subject or "(no name)"
        if peer.problem == _EXPIRED:
            return f"its certificate, {subject}, has expired: the broker's ssl.keystore needs a new one"
        if peer.problem == _NOT_YET_VALID:
            return f"its certificate, {subject}, is not valid yet: a clock, or the broker's ssl.keystore, is wrong"
        if peer.problem in _UNTRUSTED:
            return (
                f"its certificate, {subject}, is not trusted: ssl.truststore.location or ssl.truststore.certificates "
                "must have its issuer"
            )
        return f"its certificate, {subject}, is refused (X509_V_ERR {peer.problem})"
    return _explain(_TO_A_CLIENT, error)


def why_server_failed(error: BaseException, peer: PeerCertificate) -> str:
    """The text of a listener's failed TLS connection with a client."""
    if peer.problem is not None:
        subject = peer.subject or "(no name)"
        if peer.problem == _EXPIRED:
            return f"the client's certificate, {subject}, has expired"
        if peer.problem in _UNTRUSTED:
            return f"the client's certificate, {subject}, is not trusted: ssl.truststore must have its issuer"
        return f"the client's certificate, {subject}, is refused (X509_V_ERR {peer.problem})"
    return _explain(_TO_A_SERVER, error)


def _explain(table: Mapping[str, str], error: BaseException) -> str:
    reason = openssl_reason(error)
    meaning = next((text for words, text in table.items() if words in reason.lower()), None)
    return reason if meaning is None else f"{meaning} ({reason})"
