"""The replica that a consumer should read from: the leader, unless replica.selector.class is set (KIP-392).

Mirrors ReplicaManager.findPreferredReadReplica, ReplicaView and RackAwareReplicaSelector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.errors import ConfigError, nearest

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.replication.isr import FollowerState
    from broker_sim.replication.partition import Partition

__all__ = ["NO_REPLICA", "RackAwareReplicaSelector", "ReplicaSelector", "preferred_read_replica", "replica_selector"]

NO_REPLICA: Final = -1
RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class ReplicaSelector(Protocol):
    """Chooses among the leader and those of its followers that have the requested offset."""

    def select(
        self, partition: Partition, *, rack_id: str, fetch_offset: int, image: MetadataImage, local_id: int
    ) -> int:
        """Return the follower to read from, NO_REPLICA for the leader itself."""


class RackAwareReplicaSelector:
    """Selects the leader if it is in the client's rack, else the most advanced follower in that rack."""

    def select(
        self, partition: Partition, *, rack_id: str, fetch_offset: int, image: MetadataImage, local_id: int
    ) -> int:
        """Consider followers in the ISR alone: a client would be sent to a lagging one again and again."""
        brokers = image.brokers
        if not rack_id or _rack(image, local_id) == rack_id:
            return NO_REPLICA
        furthest: FollowerState | None = None
        for follower in partition.followers.values():
            broker = brokers.get(follower.broker_id)
            if (
                broker is not None
                and broker.rack == rack_id
                and follower.broker_id in partition.isr
                and follower.log_start_offset <= fetch_offset <= follower.log_end_offset
                and (furthest is None or _progress(follower) > _progress(furthest))
            ):
                furthest = follower
        return NO_REPLICA if furthest is None else furthest.broker_id


def preferred_read_replica(
    selector: ReplicaSelector,
    partition: Partition,
    rack_id: str,
    fetch_offset: int,
    image: MetadataImage,
    local_id: int,
) -> int:
    """Return the replica to which a leader sends a consumer, NO_REPLICA for the leader or from a follower."""
    if not partition.is_leader:
        return NO_REPLICA
    return selector.select(partition, rack_id=rack_id, fetch_offset=fetch_offset, image=image, local_id=local_id)


def replica_selector(config: BrokerConfig) -> ReplicaSelector | None:
    """Return the broker's selector, None (every consumer reads from leaders) where none is configured.

    Raises:
        ConfigError: The class cannot run here.
    """
    name = config["replica.selector.class"]
    if name is None:
        return None
    if name != RACK_AWARE:
        msg = f"replica.selector.class: {name!r} cannot run here, only {RACK_AWARE} can"
        raise ConfigError(msg + nearest(str(name), [RACK_AWARE]))
    return config.part_types.of(RackAwareReplicaSelector)()


def _rack(image: MetadataImage, broker_id: int) -> str | None:
    broker = image.brokers.get(broker_id)
    return None if broker is None else broker.rack


def _progress(follower: FollowerState) -> tuple[int, int, int]:
    return follower.log_end_offset, follower.last_caught_up_ms, follower.broker_id
