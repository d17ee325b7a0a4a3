"""The replay of the records of share groups. Mirrors the replay methods of GroupMetadataManager.

Compaction leaves any mix of records: a value creates its group and member if they are missing, and a tombstone of an
unknown group or member is ignored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, from_topics
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
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.message import Message

__all__ = ["ShareReplay"]

_NO_ASSIGNMENT_EPOCH = -1


class ShareReplay:
    """Applies records to the share groups of one shard."""

    def __init__(self, context: ShardContext, groups: GroupRegistry) -> None:
        self._context = context
        self._groups = groups

    @property
    def handlers(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The types of keys, and how they are replayed."""
        return {
            ShareGroupMetadataKey: self._group_epoch,
            ShareGroupMemberMetadataKey: self._member,
            ShareGroupTargetAssignmentMetadataKey: self._assignment_epoch,
            ShareGroupTargetAssignmentMemberKey: self._target,
            ShareGroupCurrentMemberAssignmentKey: self._current_assignment,
            ShareGroupStatePartitionMetadataKey: self._initialization,
        }

    def new_group(self, group_id: str) -> ShareGroup:
        """Return a group that is not among those of the shard."""
        return ShareGroup(self._context.snapshots, group_id)

    def _group(self, replayed: Replayed) -> ShareGroup | None:
        group = self._groups.get(replayed.key.group_id)
        if isinstance(group, ShareGroup):
            return group
        if replayed.value is None:
            return None
        created = self.new_group(replayed.key.group_id)
        self._groups.add(created)
        return created

    def _group_epoch(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None:
            return
        if replayed.value is None:
            self._groups.remove(group.group_id)
            return
        group.group_epoch.set(replayed.value.epoch)
        group.metadata.set(replayed.value.metadata_hash)

    def _member(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None:
            return
        member_id, value = replayed.key.member_id, replayed.value
        if value is None:
            group.remove_member(member_id)
            return
        group.put_member(
            replace(
                _member_of(group, member_id),
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                subscribed_topic_names=frozenset(value.subscribed_topic_names),
            )
        )

    def _target(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None:
            return
        if replayed.value is None:
            group.target.pop(replayed.key.member_id)
        else:
            group.target[replayed.key.member_id] = from_topics(replayed.value.topic_partitions)

    def _assignment_epoch(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None:
            return
        value = replayed.value
        group.assignment_epoch.set(_NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch)
        group.assignment_timestamp_ms.set(0 if value is None else value.assignment_timestamp)

    def _current_assignment(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None:
            return
        member_id, value = replayed.key.member_id, replayed.value
        if value is None:
            member = group.members.get(member_id)
            if member is not None:
                group.put_member(
                    replace(member, member_epoch=LEAVE_EPOCH, previous_member_epoch=LEAVE_EPOCH, assigned=NO_PARTITIONS)
                )
            return
        group.put_member(
            replace(
                _member_of(group, member_id),
                member_epoch=value.member_epoch,
                previous_member_epoch=value.previous_member_epoch,
                state=MemberState.from_value(value.state),
                assigned=from_topics(value.assigned_partitions),
            )
        )

    def _initialization(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None:
            return
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


def _member_of(group: ShareGroup, member_id: str) -> ModernMember:
    return group.members.get(member_id) or ModernMember(member_id=member_id)
