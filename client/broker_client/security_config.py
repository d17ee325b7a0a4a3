"""security.protocol and ssl.*: which channels a client makes. Mirrors ClientUtils.createChannelBuilder.

OpenSSL is imported here alone, and only for security.protocol=SSL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.config_keys import KEYS, KeyStatus
from broker_client.core.network.channel_builder import PLAINTEXT_CHANNELS
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.core.network.channel_builder import ChannelBuilder

__all__ = ["SECURITY_KEYS", "channel_builder", "given_channel_builder"]

SECURITY_KEYS: Final = ("security.protocol", *(name for name in KEYS if name.startswith("ssl.")))
"""What Consumer and Admin take as Producer does."""
EXTRA: Final = "security.protocol=SSL needs OpenSSL for Python: pip install 'broker-sim[tls]'"


def channel_builder(value_of: Callable[[str], object]) -> ChannelBuilder:
    """The builder for the protocol that is configured; ConfigError for what cannot be, in the stores too."""
    protocol = str(value_of("security.protocol")).upper()
    if protocol == "PLAINTEXT":
        return PLAINTEXT_CHANNELS
    if protocol != "SSL":
        raise ConfigError(f"security.protocol={protocol!r} is refused: SASL is not spoken yet; PLAINTEXT and SSL are")
    try:
        from broker_client.core.network.ssl_channel import SslChannelBuilder
        from sim_runtime.ssl_engine import SslEngineFactory
    except ImportError as missing:
        raise ConfigError(f"{EXTRA} ({missing})") from None
    from sim_runtime.ssl_settings import SslConfigError, SslSettings

    try:
        return SslChannelBuilder(SslEngineFactory(SslSettings.read(value_of), server=False))
    except SslConfigError as error:
        raise ConfigError(str(error)) from None


def given_channel_builder(given: Mapping[str, object]) -> ChannelBuilder:
    """As `channel_builder`, of a client that is given some of SECURITY_KEYS; all others have their defaults."""

    def value_of(name: str) -> object:
        key = KEYS.get(name)
        if name not in given:
            return None if key is None else key.default
        value = given[name]
        if key is not None and key.status is KeyStatus.REFUSED and value != key.default:
            raise ConfigError(f"{name}={value!r} is refused: {key.note}")
        return value

    for name in given:
        value_of(name)
    return channel_builder(value_of)
