"""The TLS settings of listeners, and the key stores that a running broker may change to.

Mirrors the validation of SslFactory.reconfigure: a listener keeps its identity. The subject of a new certificate is the
old one, and its alternative names include the old ones (KIP-226, KIP-978).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.errors import ConfigError
from sim_runtime.ssl_settings import PROTOCOLS, SslConfigError, SslSettings

if TYPE_CHECKING:
    from cryptography import x509

    from broker_sim.config.broker_config import BrokerConfig
    from sim_runtime.ssl_stores import KeyStore

__all__ = ["check_key_store", "listener_settings"]

CLIENT_AUTH: Final = "ssl.client.auth"
ENABLED: Final = "ssl.enabled.protocols"
_REFUSED: Final = "Validation of dynamic config update of SSLFactory failed: org.apache.kafka.common"
_ALIAS: Final = "kafka"
"""The name that Kafka gives to the key of a PEM store."""


def listener_settings(config: BrokerConfig, listener: str, *, sasl: bool = False) -> SslSettings:
    """Return the validated TLS settings of a listener; one with SASL has its own ssl.client.auth alone (KIP-684).

    Raises:
        SslConfigError: A setting is invalid.
    """

    def value_of(name: str) -> object:
        value = config.for_listener(name, listener)
        own = f"listener.name.{listener.lower()}.{name}"
        if sasl and name == CLIENT_AUTH and not (own in config.values and config.behaviour.sasl_ssl_has_client_auth):
            return "none"
        if name == ENABLED and name not in config.static and own not in config.static and isinstance(value, list):
            # The defaults of old releases contain versions that OpenSSL no longer supports.
            return [each for each in value if each in PROTOCOLS]
        return value

    return SslSettings.read(value_of, server=True)


def check_key_store(listener: str, old: BrokerConfig, new: BrokerConfig) -> None:
    """Check that a listener with TLS can change to its new key and trust store.

    Raises:
        ConfigError: It cannot, with the text of a real broker.
    """
    before = listener_settings(old, listener)
    try:
        after = listener_settings(new, listener)
    except SslConfigError as error:
        text = _text_of(error, new, listener)
        raise ConfigError(f"{_REFUSED}.errors.InvalidConfigurationException: {text}") from None
    if after == before:
        return
    existing, found = _key_store(before), _key_store(after)
    if not _allows(old, "ssl.allow.dn.changes", listener):
        subjects = [each.certificate.subject.rfc4514_string() for each in (existing, found)]
        if subjects[0] != subjects[1]:
            shown = [f"{{alias={_ALIAS}, DN={each}}}" for each in subjects]
            _refuse(f"Keystore DistinguishedName does not match:  existing={shown[0]}, new={shown[1]}")
    if not _allows(old, "ssl.allow.san.changes", listener):
        names = [_alternative_names(each.certificate) for each in (existing, found)]
        if any(each not in names[1] for each in names[0]):
            shown = [f"{{alias={_ALIAS}, SAN=[{', '.join(each)}]}}" for each in names]
            _refuse(f"Keystore SubjectAltNames do not match:  existing={shown[0]}, new={shown[1]}")
    if after.has_truststore and not before.has_truststore:
        _refuse("Cannot add SSL truststore to an existing listener for which no truststore was configured.")


def _refuse(text: str) -> None:
    raise ConfigError(f"{_REFUSED}.config.ConfigException: {text}")


def _text_of(error: SslConfigError, config: BrokerConfig, listener: str) -> str:
    """Return Kafka's text for settings that contradict each other, else that of the simulator."""

    def given(name: str) -> bool:
        return config.values.get(f"listener.name.{listener.lower()}.{name}", config.values.get(name)) is not None

    if given("ssl.keystore.location") and given("ssl.keystore.key"):
        return "Both SSL key store location and separate private key are specified."
    is_pem = str(config.for_listener("ssl.keystore.type", listener)).upper() == "PEM"
    if not is_pem and given("ssl.keystore.location") and not given("ssl.keystore.password"):
        return "SSL key store is specified, but key store password is not specified."
    return str(error)


def _allows(config: BrokerConfig, name: str, listener: str) -> bool:
    return name in config.values and config.for_listener(name, listener) is True


def _key_store(settings: SslSettings) -> KeyStore:
    # Only brokers with TLS need the cryptography of the extra.
    from sim_runtime.ssl_stores import key_store

    try:
        found = key_store(settings)
    except SslConfigError:
        kind, location = settings.keystore_type, settings.keystore_location
        text = "Invalid PEM keystore configs"
        if location is not None:
            text = f"Failed to load PEM SSL keystore {location}"
            if kind != "PEM":
                text = f"Failed to load SSL keystore {location} of type {kind}"
        raise ConfigError(f"{_REFUSED}.errors.InvalidConfigurationException: {text}") from None
    assert found is not None, "a listener with TLS has started with a key store"
    return found


def _alternative_names(certificate: x509.Certificate) -> list[str]:
    """Return the names as Java prints them, with their numbers in RFC 5280: 1 mail, 2 host, 6 URI, 7 address."""
    from cryptography import x509

    numbers: dict[type[x509.GeneralName], int] = {
        x509.RFC822Name: 1,
        x509.DNSName: 2,
        x509.UniformResourceIdentifier: 6,
        x509.IPAddress: 7,
    }
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return [f"[{numbers.get(type(each), 0)}, {each.value}]" for each in extension.value]
