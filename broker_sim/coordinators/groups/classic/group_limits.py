"""The limits of classic groups, which came with later releases. Mirrors GroupConfig."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["UNLIMITED", "group_limit"]

UNLIMITED: Final = 2**31 - 1


def group_limit(config: BrokerConfig, name: str, without: int) -> int:
    """Return the value of a group's limit, or `without` in a release that does not have it."""
    value = config.values.get(name, without)
    assert isinstance(value, int)
    return value
