"""The configurations of streams groups: the group's own, else the broker's. Mirrors GroupConfig."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.group_configs import group_config_int
from broker_sim.coordinators.groups.streams.sticky_assignor import STANDBY_REPLICAS

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.coordinators.runtime.shard import CoordinatorHost
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["StreamsConfig", "serves_streams_groups"]


class StreamsConfig:
    """The configurations of the groups of one broker, read when they are used."""

    def __init__(self, host: CoordinatorHost) -> None:
        self._host = host

    def session_timeout_ms(self, group_id: str) -> int:
        """The time without a heartbeat after which a member is removed."""
        return group_config_int(self._host, group_id, "streams.session.timeout.ms")

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """The time between heartbeats that members are requested to keep."""
        return group_config_int(self._host, group_id, "streams.heartbeat.interval.ms")

    def assignment_interval_ms(self, group_id: str) -> int:
        """The least time between two target assignments; 0 in releases that do not have it."""
        return group_config_int(self._host, group_id, "streams.assignment.interval.ms")

    def initial_rebalance_delay_ms(self, group_id: str) -> int:
        """The time that an empty group waits for more members before its first target assignment."""
        return group_config_int(self._host, group_id, "streams.initial.rebalance.delay.ms")

    def assignment_configs(self, group_id: str) -> dict[str, str]:
        """The configurations whose change makes a new epoch, as records have them."""
        return {STANDBY_REPLICAS: str(group_config_int(self._host, group_id, "streams.num.standby.replicas"))}


def serves_streams_groups(config: BrokerConfig, image: MetadataImage) -> bool:
    """Return True if the configuration has the protocol and the cluster the feature.

    Mirrors KafkaApis.isStreamsGroupProtocolEnabled.
    """
    protocols = config.values.get("group.coordinator.rebalance.protocols")
    if not isinstance(protocols, list) or "streams" not in (each.lower() for each in protocols):
        return False
    return image.finalized_features.get("streams.version", 0) > 0
