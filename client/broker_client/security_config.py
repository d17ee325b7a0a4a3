"""security.protocol, ssl.* and sasl.*: which channels a client makes. Mirrors ClientUtils.createChannelBuilder.

OpenSSL is imported here alone, and only for security.protocol=SSL and SASL_SSL.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Final, cast

from broker_client.core.network.channel_builder import PLAINTEXT_CHANNELS
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.network.channel_builder import ClientChannels
    from broker_client.core.network.sasl.login import Login
    from broker_client.core.network.ssl_channel import SslChannelBuilder

__all__ = ["channel_builder", "check_login"]

EXTRA: Final = "needs OpenSSL for Python: pip install 'broker-sim[tls]'"


def channel_builder(value_of: Callable[[str], object]) -> ClientChannels:
    """Return the channels for the configured protocol; `value_of` returns a configuration by its dotted name.

    Raises:
        ConfigError: OpenSSL is missing, a key store cannot be used, or the mechanism or its login is not served.
    """
    protocol = str(value_of("security.protocol")).upper()
    transports = _ssl_channels(protocol, value_of) if protocol.endswith("SSL") else PLAINTEXT_CHANNELS
    if not protocol.startswith("SASL"):
        return transports
    from broker_client.core.network.sasl.channel_builder import SaslChannels

    check_login(value_of)
    return SaslChannels(transports, lambda: _login(value_of))


def check_login(value_of: Callable[[str], object]) -> None:
    """Check sasl.mechanism, sasl.jaas.config and sasl.login.refresh.*, if the protocol needs them.

    Raises:
        ConfigError: the mechanism or its login is not served, or an option is missing or invalid.
    """
    if str(value_of("security.protocol")).upper().startswith("SASL"):
        _login(value_of)


def _ssl_channels(protocol: str, value_of: Callable[[str], object]) -> SslChannelBuilder:
    try:
        from broker_client.core.network.ssl_channel import SslChannelBuilder
        from sim_runtime.ssl_engine import SslEngineFactory
    except ImportError as missing:
        raise ConfigError(f"security.protocol={protocol} {EXTRA} ({missing})") from None
    from sim_runtime.ssl_settings import SslConfigError, SslSettings

    try:
        return SslChannelBuilder(SslEngineFactory(SslSettings.read(value_of), server=False))
    except SslConfigError as error:
        raise ConfigError(str(error)) from None


def _login(value_of: Callable[[str], object]) -> Login:
    from broker_client.core.network.sasl.login import login_of
    from broker_client.core.network.sasl.unsecured_tokens import RefreshConfig

    refresh = "sasl.login.refresh"
    for name in (f"{refresh}.window.factor", f"{refresh}.window.jitter"):
        if isnan(cast("float", value_of(name))):
            raise ConfigError(f"{name}=NaN: expected a number")
    return login_of(
        str(value_of("sasl.mechanism")),
        cast("str | None", value_of("sasl.jaas.config")),
        RefreshConfig(
            window_factor=cast("float", value_of(f"{refresh}.window.factor")),
            window_jitter=cast("float", value_of(f"{refresh}.window.jitter")),
            min_period_s=cast("int", value_of(f"{refresh}.min.period.seconds")),
            buffer_s=cast("int", value_of(f"{refresh}.buffer.seconds")),
        ),
    )
