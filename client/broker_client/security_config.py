"""security.protocol and ssl.*: which channels a client makes. Mirrors ClientUtils.createChannelBuilder.

OpenSSL is imported here alone, and only for security.protocol=SSL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.channel_builder import PLAINTEXT_CHANNELS
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.network.channel_builder import ChannelBuilder

__all__ = ["SASL_NOT_SERVED", "channel_builder"]

SASL_NOT_SERVED: Final = "SASL is not supported yet; use PLAINTEXT or SSL"
EXTRA: Final = "security.protocol=SSL needs OpenSSL for Python: pip install 'broker-sim[tls]'"


def channel_builder(value_of: Callable[[str], object]) -> ChannelBuilder:
    """Return the builder for the configured protocol; `value_of` returns a configuration by its dotted name.

    Raises:
        ConfigError: the protocol is not served, OpenSSL is missing, or a key store cannot be used.
    """
    protocol = str(value_of("security.protocol")).upper()
    if protocol == "PLAINTEXT":
        return PLAINTEXT_CHANNELS
    if protocol != "SSL":
        raise ConfigError(f"security.protocol={protocol!r} is refused: {SASL_NOT_SERVED}")
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
