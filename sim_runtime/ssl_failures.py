"""Why a TLS connection could not be made, in words that name the configuration to change. Mirrors nothing of Kafka's.

OpenSSL says what it met, seldom whose configuration is at fault. A client and a server meet the same quarrel from two
sides: each is told what it can change itself, and what the other side may have to.
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
_WITHOUT_TLS: Final = "it answers without TLS: a PLAINTEXT listener, or no Kafka; security.protocol=SSL is ours"
_PLAIN_CLIENT: Final = "the client speaks without TLS: its security.protocol is PLAINTEXT, the listener's SSL"
_OTHER_VERSIONS: Final = "it speaks no version of TLS that ssl.enabled.protocols and ssl.protocol allow"
# What stands in OpenSSL's reason -> what it means to a client.
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
    "alert certificate expired": "the client says that our certificate has expired: renew the one of ssl.keystore",
    "unsupported protocol": "the client speaks no version of TLS that ssl.enabled.protocols and ssl.protocol allow",
    "no shared cipher": "the client has none of the listener's ssl.cipher.suites, or none for the key of ssl.keystore",
}


def openssl_reason(error: BaseException) -> str:
    """The last entry of OpenSSL's error queue, in its own words."""
    if isinstance(error, SSL.Error) and error.args and isinstance(error.args[0], list) and error.args[0]:
        return str(error.args[0][-1][-1])
    return str(error) or type(error).__name__


def why_client_failed(error: BaseException, peer: PeerCertificate) -> str:
    """What a client says of a server that it could not make a TLS connection to."""
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
    return _told(_TO_A_CLIENT, error)


def why_server_failed(error: BaseException, peer: PeerCertificate) -> str:
    """What a listener says of a client that it could not make a TLS connection with."""
    if peer.problem is not None:
        subject = peer.subject or "(no name)"
        if peer.problem == _EXPIRED:
            return f"the client's certificate, {subject}, has expired"
        if peer.problem in _UNTRUSTED:
            return f"the client's certificate, {subject}, is not trusted: ssl.truststore must have its issuer"
        return f"the client's certificate, {subject}, is refused (X509_V_ERR {peer.problem})"
    return _told(_TO_A_SERVER, error)


def _told(table: Mapping[str, str], error: BaseException) -> str:
    reason = openssl_reason(error)
    meaning = next((text for words, text in table.items() if words in reason.lower()), None)
    return reason if meaning is None else f"{meaning} ({reason})"
