"""`max.connections.per.ip.overrides` as a mapping. Mirrors KafkaConfig.maxConnectionsPerIpOverrides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.config.dynamic_listeners import comma_separated_pairs
from broker_sim.config.values import NamelessConfigError, parse_integer

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig


def connection_overrides(config: BrokerConfig) -> dict[str, int]:
    """Return the connection limits of single addresses.

    Raises:
        NamelessConfigError: An item is no pair of an address and a number.
    """
    option = "max.connections.per.ip.overrides"
    limits: dict[str, int] = {}
    for address, text in comma_separated_pairs(config, option).items():
        limit = parse_integer(text, 32)
        if limit is None:
            raise NamelessConfigError(f'For input string: "{text}"', about=option)
        limits[address] = limit
    return limits
