"""The coordinators of one broker, and their way to leaderships and metadata. Mirrors the part of BrokerServer and
BrokerMetadataPublisher that starts, elects and ends them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.groups.group_coordinator import GroupCoordinator
from broker_sim.coordinators.internal_partitions import InternalPartitions
from broker_sim.coordinators.share.share_coordinator import ShareCoordinator
from broker_sim.coordinators.transactions.partition_verifier import PartitionVerifier
from broker_sim.coordinators.transactions.transaction_coordinator import TransactionCoordinator

if TYPE_CHECKING:
    from broker_sim.coordinators.runtime.coordinator_runtime import CoordinatorRuntime
    from broker_sim.coordinators.transactions.transaction_coordinator import TransactionHost
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.topic_partition import TopicPartition

__all__ = ["Coordinators"]


class Coordinators:
    """All coordinators of one run of a broker."""

    def __init__(self, host: TransactionHost) -> None:
        self.partitions = InternalPartitions(host.config)
        self.groups = GroupCoordinator(host, self.partitions)
        self.share = ShareCoordinator(host, self.partitions)
        self.transactions = TransactionCoordinator(host, self.partitions)
        self.verifier = host.config.part_types.of(PartitionVerifier)(host, self.transactions.partition_for)
        self._runtimes: dict[str, CoordinatorRuntime[Any]] = {
            self.groups.topic: self.groups.runtime,
            self.share.topic: self.share.runtime,
            self.transactions.topic: self.transactions.runtime,
        }

    def elected(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        """Load the shard of an internal topic's partition that the broker leads now."""
        runtime = self._runtimes.get(topic_partition.topic)
        if runtime is not None:
            runtime.elected(topic_partition.partition, leader_epoch)
        if topic_partition.topic == self.share.topic:
            self.share.elected()
        elif topic_partition.topic == self.transactions.topic:
            self.transactions.elected()

    def resigned(self, topic_partition: TopicPartition) -> None:
        """Unload the shard of a partition that the broker does not lead any more."""
        runtime = self._runtimes.get(topic_partition.topic)
        if runtime is not None:
            runtime.resigned(topic_partition.partition)
        if topic_partition.topic == self.transactions.topic:
            self.transactions.resigned(topic_partition.partition)

    def apply_image(self, old: MetadataImage, new: MetadataImage) -> None:
        """Notify the shards of changed and deleted topics. The first image starts the coordinators."""
        self.partitions.count(new)
        for runtime in self._runtimes.values():
            runtime.apply_image(old, new)
        self.transactions.metadata_changed()
        if new.topics_by_id is not old.topics_by_id:
            deleted = frozenset(old.topics_by_id.keys() - new.topics_by_id.keys())
            if deleted:
                self.groups.topics_deleted(deleted)
                self.share.topics_deleted(deleted)

    def stop(self) -> None:
        """End with the process."""
        for runtime in self._runtimes.values():
            runtime.stop()
        self.share.stop()
        self.transactions.stop()
        self.verifier.stop()
