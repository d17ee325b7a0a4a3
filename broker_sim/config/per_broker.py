"""Configurations of single brokers: `2:broker.rack` is broker 2's own `broker.rack`.

Kafka has one file per broker instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["split_by_broker"]


def split_by_broker(
    config: Mapping[str, str], broker_ids: Sequence[int]
) -> tuple[dict[str, str], dict[int, dict[str, str]]]:
    """Return the configurations of all brokers, and the complete ones of each broker that differs.

    Raises:
        ConfigError: A prefix names a broker that does not exist.
    """
    common: dict[str, str] = {}
    own: dict[int, dict[str, str]] = {}
    for name, value in config.items():
        broker_id, colon, bare = name.partition(":")
        if not colon:
            common[name] = value
        elif not broker_id.isdecimal() or int(broker_id) not in broker_ids:
            raise ConfigError(f"{name!r}: {broker_id!r} is not a broker: they are {broker_ids[0]} to {broker_ids[-1]}")
        else:
            own.setdefault(int(broker_id), {})[bare] = value
    return common, {broker_id: common | configs for broker_id, configs in own.items()}
