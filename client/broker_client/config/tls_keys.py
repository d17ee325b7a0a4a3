"""The security protocol, and TLS. From SslConfigs."""

from __future__ import annotations

from functools import partial
from typing import Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType

__all__ = ["TLS_KEYS"]

_PROTOCOLS: Final = "all; SSL and SASL_SSL need the extra broker-sim[tls]"
_STORES: Final = "PEM and PKCS12; JKS needs a JVM"
_TLS: Final = "it names a part of a JVM; this client uses OpenSSL"
_JVM: Final = "it loads classes into a JVM"
_T = ValueType
_I = Importance
_S = KeyStatus
_refused: Final = partial(ConfigKey, status=_S.REFUSED, note=_TLS)

TLS_KEYS: Final = (
    ConfigKey(
        name="security.protocol",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="PLAINTEXT",
        one_of=("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"),
        ignore_case=True,
        note=_PROTOCOLS,
        doc="Protocol of connections to brokers: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
    ),
    ConfigKey(
        name="security.providers",
        type=_T.STRING,
        importance=_I.LOW,
        status=_S.REFUSED,
        note=_JVM,
        doc="Classes that provide security algorithms to a JVM.",
    ),
    ConfigKey(
        name="ssl.protocol",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="TLSv1.3",
        doc="TLS version of the context.",
    ),
    _refused(
        name="ssl.provider",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="Security provider of a JVM for TLS.",
    ),
    ConfigKey(
        name="ssl.cipher.suites",
        type=_T.LIST,
        importance=_I.LOW,
        default=(),
        doc="Cipher suites that may be used.",
    ),
    ConfigKey(
        name="ssl.enabled.protocols",
        type=_T.LIST,
        importance=_I.MEDIUM,
        default=("TLSv1.2", "TLSv1.3"),
        doc="TLS versions that may be used.",
    ),
    ConfigKey(
        name="ssl.keystore.type",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="JKS",
        note=_STORES,
        doc="Format of the key store.",
    ),
    ConfigKey(
        name="ssl.keystore.location",
        type=_T.STRING,
        importance=_I.HIGH,
        note=_STORES,
        doc="File of the private key and certificate of this client.",
    ),
    ConfigKey(
        name="ssl.keystore.password",
        type=_T.PASSWORD,
        importance=_I.HIGH,
        doc="Password of the key store file.",
    ),
    ConfigKey(
        name="ssl.key.password",
        type=_T.PASSWORD,
        importance=_I.HIGH,
        doc="Password of the private key.",
    ),
    ConfigKey(
        name="ssl.keystore.key",
        type=_T.PASSWORD,
        importance=_I.HIGH,
        doc="Private key in PEM.",
    ),
    ConfigKey(
        name="ssl.keystore.certificate.chain",
        type=_T.PASSWORD,
        importance=_I.HIGH,
        doc="Certificate chain of the private key, in PEM.",
    ),
    ConfigKey(
        name="ssl.truststore.certificates",
        type=_T.PASSWORD,
        importance=_I.HIGH,
        doc="Trusted certificates, in PEM.",
    ),
    ConfigKey(
        name="ssl.truststore.type",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="JKS",
        note=_STORES,
        doc="Format of the trust store.",
    ),
    ConfigKey(
        name="ssl.truststore.location",
        type=_T.STRING,
        importance=_I.HIGH,
        note=_STORES,
        doc="File of the trusted certificates.",
    ),
    ConfigKey(
        name="ssl.truststore.password",
        type=_T.PASSWORD,
        importance=_I.HIGH,
        doc="Password of the trust store file.",
    ),
    _refused(
        name="ssl.keymanager.algorithm",
        type=_T.STRING,
        importance=_I.LOW,
        default="SunX509",
        doc="Algorithm of the key manager of a JVM.",
    ),
    _refused(
        name="ssl.trustmanager.algorithm",
        type=_T.STRING,
        importance=_I.LOW,
        default="PKIX",
        doc="Algorithm of the trust manager of a JVM.",
    ),
    ConfigKey(
        name="ssl.endpoint.identification.algorithm",
        type=_T.STRING,
        importance=_I.LOW,
        default="https",
        doc="https verifies the host name of the certificate; empty does not.",
    ),
    _refused(
        name="ssl.secure.random.implementation",
        type=_T.STRING,
        importance=_I.LOW,
        doc="Random source of a JVM for TLS.",
    ),
    _refused(
        name="ssl.engine.factory.class",
        type=_T.CLASS,
        importance=_I.LOW,
        doc="Class that creates TLS engines in a JVM.",
    ),
)
