"""The configurations of a coordinator's appends, of one configuration of its broker. Mirrors GroupCoordinatorConfig."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol_specs.records.compression import CompressionCodec

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.coordinators.runtime.shard import CoordinatorHost

__all__ = ["AppendSettings", "settings_of"]


@dataclass(frozen=True, slots=True)
class AppendSettings:
    """Times in milliseconds. With a linger time of 0 or less each operation has a batch of its own."""

    linger_ms: int
    write_timeout_ms: int
    codec: CompressionCodec = CompressionCodec.NONE


def settings_of(host: CoordinatorHost, *, linger: str, write_timeout: str, codec: str) -> Callable[[], AppendSettings]:
    """Return a function that returns the present settings of a broker, by the names of its configurations."""
    config: BrokerConfig | None = None
    settings = AppendSettings(0, 0)

    def present() -> AppendSettings:
        nonlocal config, settings
        if host.config is not config:
            config = host.config
            settings = AppendSettings(
                _number(config, linger), _number(config, write_timeout), CompressionCodec(_number(config, codec))
            )
        return settings

    return present


def _number(config: BrokerConfig, name: str) -> int:
    """Return a configuration; 0 in a release that does not have it. 0.8.2 has the codec as text."""
    value = config.values.get(name) or 0
    assert isinstance(value, int | str)
    return int(value)
