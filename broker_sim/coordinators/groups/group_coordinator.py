"""The group coordinator of one broker. Mirrors GroupCoordinatorService.

The handler of an API runs its operations here: a function of the shard that has the group. What an operation does is in
the shard's parts (`shard.offsets`, `shard.classic`, ...); checks that need no state are in the handler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import is_first_preview, uses_old_coordinator
from broker_sim.coordinators.groups.streams.internal_topics import InternalTopicCreations
from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.coordinators.runtime.append_settings import settings_of
from broker_sim.coordinators.runtime.coordinator_record import NO_PRODUCER, Log
from broker_sim.coordinators.runtime.coordinator_runtime import CoordinatorRuntime
from broker_sim.coordinators.runtime.load_settings import ALL_RECORDS, BadRecords, LoadSettings
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import ConcurrentKeys, string_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from broker_sim.coordinators.internal_partitions import InternalPartitions
    from broker_sim.coordinators.runtime.coordinator_record import Producer
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.runtime.pending_writes import PendingWrite
    from broker_sim.coordinators.runtime.shard import CoordinatorHost, ShardContext

__all__ = ["GroupCoordinator"]

_LINGER: Final = "group.coordinator.append.linger.ms"
_WRITE_TIMEOUT: Final = "offsets.commit.timeout.ms"
_CODEC: Final = "offsets.topic.compression.codec"


class GroupCoordinator:
    """Routes operations to the shards of `__consumer_offsets` that this broker leads."""

    topic: Final = Log.CONSUMER_OFFSETS.value

    def __init__(self, host: CoordinatorHost, internal_partitions: InternalPartitions) -> None:
        self._internal_partitions = internal_partitions
        self.internal_topics = InternalTopicCreations()
        self.old_order: ConcurrentKeys[str] = ConcurrentKeys(string_hash)
        """The ids of the groups of the old coordinator, in the order of its map."""
        is_old = uses_old_coordinator(host.config)
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            log=Log.CONSUMER_OFFSETS,
            host=host,
            make_shard=self._make_shard,
            settings=settings_of(host, linger=_LINGER, write_timeout=_WRITE_TIMEOUT, codec=_CODEC),
            load_settings=_load_settings(host.config),
            follows_foreign_appends=is_old or is_first_preview(host.config),
            required_acks=-1 if is_old else 1,
        )

    def _make_shard(self, context: ShardContext) -> GroupShard:
        # Imported with the first group: a hundred modules, which many a test never needs.
        from broker_sim.coordinators.groups.group_shard import GroupShard

        return GroupShard(context, self.old_order)

    @property
    def partitions(self) -> int:
        """The number of partitions over which groups are spread, 0 before the coordinator starts."""
        return self._internal_partitions.of(self.topic)

    def partition_for(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that has the group.

        Raises:
            CoordinatorError: The topic does not exist, so this broker does not coordinate the group.
        """
        partitions = self.partitions
        if not partitions:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        return partition_for(group_id, partitions)

    def topics_deleted(self, topic_ids: frozenset[bytes]) -> None:
        """Have the share groups forget the share partitions of deleted topics."""
        for write in self.runtime.write_everywhere(
            "maybe-cleanup-share-group-state", lambda shard: shard.share.delete_topics(topic_ids)
        ):
            write.addErrback(lambda failure: failure.trap(CoordinatorError))

    def write(
        self,
        group_id: str,
        name: str,
        operation: Callable[[GroupShard], CoordinatorResult[Any]],
        *,
        producer: Producer = NO_PRODUCER,
        guard: object | None = None,
    ) -> PendingWrite:
        """Run a write operation of a group; it completes with a CoordinatorError if it is refused."""
        partitions = self.partitions
        partition = partition_for(group_id, partitions) if partitions else -1
        return self.runtime.write(partition, name, operation, producer=producer, guard=guard)

    def write_applied(
        self, group_id: str, operation: Callable[[GroupShard, int, int], tuple[bytes, bytes] | None]
    ) -> bool | PendingWrite:
        """Run an operation that applies its only record itself; see `ShardRunner.write_applied`."""
        partitions = self._internal_partitions.of(self.topic)
        runner = self.runtime.runner(partition_for(group_id, partitions)) if partitions else None
        return False if runner is None else runner.write_applied(operation)

    def read(self, group_id: str, operation: Callable[[GroupShard, int], Any]) -> Any:
        """Return `operation(shard, committed offset)` of a group.

        Raises:
            CoordinatorError: The shard is loading or not here, or the operation is refused.
        """
        return self.runtime.read(self.partition_for(group_id), operation)


def _load_settings(config: BrokerConfig) -> LoadSettings:
    """Return how the coordinator of a release reads its log.

    The old coordinator reads one type of value beside keys of both versions of offsets, and knows no modern groups.
    """
    if uses_old_coordinator(config):
        from protocol_specs.schemas.coordinator.group_metadata import GroupMetadataKey
        from protocol_specs.schemas.coordinator.legacy_offset_commit import LegacyOffsetCommitKey
        from protocol_specs.schemas.coordinator.offset_commit import OffsetCommitKey, OffsetCommitValue

        keys = (LegacyOffsetCommitKey, OffsetCommitKey, GroupMetadataKey)
        return LoadSettings(
            value_types={LegacyOffsetCommitKey.RECORD_TYPE: OffsetCommitValue},
            record_types=frozenset(key.RECORD_TYPE for key in keys),
            bad_records=BadRecords.DISCARD_EVERYTHING,
        )
    if config.behaviour.consumer_groups_are_first_previews:
        from protocol_specs.schemas.coordinator.consumer_group_preview import PREVIEW_VALUES

        return LoadSettings(value_types=PREVIEW_VALUES)
    return ALL_RECORDS
