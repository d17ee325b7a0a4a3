"""The configurations of a share group: its own (KIP-932), or the broker's. Mirrors ShareGroupConfigProvider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.config.config_resource import ResourceType
from broker_sim.config.values import TRIMMED, reset_duration_ms
from broker_sim.replication.requests import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, FetchIsolation

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_cache import MetadataCache

__all__ = ["ShareGroupSettings"]


class SettingsHost(Protocol):
    """The parts of its broker that the settings use."""

    config: BrokerConfig
    metadata_cache: MetadataCache

    def now_ms(self) -> int:
        """Return the broker's own wall clock, in milliseconds since the epoch."""


class ShareGroupSettings:
    """The present settings of all share groups; a change has effect at once."""

    def __init__(self, host: SettingsHost) -> None:
        self._host = host

    def record_lock_ms(self, group_id: str) -> int:
        """Return for how long a member may keep acquired records."""
        return self._number(group_id, "record.lock.duration.ms")

    def delivery_limit(self, group_id: str) -> int:
        """Return how often a record is delivered."""
        return self._number(group_id, "delivery.count.limit")

    def in_flight_limit(self, group_id: str) -> int:
        """Return how many records of a share partition may be in delivery."""
        return self._number(group_id, "partition.max.record.locks")

    def renews_locks(self, group_id: str) -> bool:
        """Return True if members may renew acquisition locks (KIP-1222)."""
        return self._of_group(group_id, "share.renew.acknowledge.enable", "true").lower() == "true"

    def isolation(self, group_id: str) -> FetchIsolation:
        """Return which records the group reads."""
        committed = self._of_group(group_id, "share.isolation.level", "read_uncommitted") == "read_committed"
        return FetchIsolation.TXN_COMMITTED if committed else FetchIsolation.HIGH_WATERMARK

    def reset_timestamp(self, group_id: str) -> int:
        """Return the timestamp, as in ListOffsets, from which a share partition without a start offset begins."""
        strategy = self._of_group(group_id, "share.auto.offset.reset", "latest")
        if strategy == "earliest":
            return EARLIEST_TIMESTAMP
        length_ms = reset_duration_ms(strategy)
        return LATEST_TIMESTAMP if length_ms is None else self._host.now_ms() - length_ms

    def _of_group(self, group_id: str, name: str, default: str) -> str:
        return self._host.metadata_cache.image.config_of(ResourceType.GROUP, group_id).get(name, default).strip(TRIMMED)

    def _number(self, group_id: str, name: str) -> int:
        own = self._host.metadata_cache.image.config_of(ResourceType.GROUP, group_id).get(f"share.{name}")
        value = self._host.config[f"group.share.{name}"] if own is None else int(own)
        assert isinstance(value, int)
        return value
