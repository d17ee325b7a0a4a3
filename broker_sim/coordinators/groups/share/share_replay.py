"""The replay of the records of share groups. Mirrors the replay methods of GroupMetadataManager."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from broker_sim.coordinators.groups.modern.epoch_replay import EpochReplay
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, from_recorded_topics
from broker_sim.coordinators.groups.share.initialization import Initialization, InitializedTopic
from broker_sim.coordinators.groups.share.share_group import ShareGroup
from protocol_specs.schemas.coordinator.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentKey,
)
from protocol_specs.schemas.coordinator.share_group_member_metadata import ShareGroupMemberMetadataKey
from protocol_specs.schemas.coordinator.share_group_metadata import ShareGroupMetadataKey
from protocol_specs.schemas.coordinator.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
)
from protocol_specs.schemas.coordinator.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberKey,
)
from protocol_specs.schemas.coordinator.share_group_target_assignment_metadata import (
    ShareGroupTargetAssignmentMetadataKey,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.runtime.shard import ShardContext

__all__ = ["ShareReplay"]


class ShareReplay(EpochReplay[ShareGroup, ModernMember]):
    """Applies records to the share groups of one shard."""

    _no_assignment: ClassVar = {"assigned": NO_PARTITIONS}

    def __init__(self, context: ShardContext, groups: GroupRegistry) -> None:
        super().__init__(groups, ShareGroup, ModernMember)
        self._context = context

    def new_group(self, group_id: str) -> ShareGroup:
        """Return a group that is not among those of the shard."""
        return ShareGroup(self._context.snapshots, group_id)

    def _set_metadata(self, group: ShareGroup, value: Any) -> None:
        group.metadata.set(value.metadata_hash)

    def _described(self, member: ModernMember, value: Any) -> ModernMember:
        return replace(
            member,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
        )

    def _target(self, value: Any) -> TopicPartitions:
        return from_recorded_topics(value.topic_partitions)

    def _assigned(self, member: ModernMember, value: Any) -> ModernMember:
        return replace(
            member,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=MemberState.from_value(value.state),
            assigned=from_recorded_topics(value.assigned_partitions),
        )

    def _apply_initialization(self, group: ShareGroup, replayed: Replayed) -> None:
        value = replayed.value
        if value is None:
            group.initialization.set(None)
            return
        group.initialization.set(
            Initialization(
                self._topics(value.initializing_topics),
                self._topics(value.initialized_topics),
                frozenset(topic.topic_id for topic in value.deleting_topics),
            )
        )

    def _topics(self, topics: Iterable[Any]) -> dict[bytes, InitializedTopic]:
        now_ms = self._context.now_ms()
        return {
            topic.topic_id: InitializedTopic(topic.topic_name, frozenset(topic.partitions), now_ms) for topic in topics
        }

    _appliers: ClassVar = {
        ShareGroupMetadataKey: EpochReplay.apply_group_epoch,
        ShareGroupMemberMetadataKey: EpochReplay.apply_member,
        ShareGroupTargetAssignmentMetadataKey: EpochReplay.apply_assignment_epoch,
        ShareGroupTargetAssignmentMemberKey: EpochReplay.apply_target,
        ShareGroupCurrentMemberAssignmentKey: EpochReplay.apply_current_assignment,
        ShareGroupStatePartitionMetadataKey: _apply_initialization,
    }
