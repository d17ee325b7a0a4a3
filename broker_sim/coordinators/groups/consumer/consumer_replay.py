"""The replay of the records of consumer groups. Mirrors the replay methods of GroupMetadataManager.

Compaction leaves any mix of records: a value creates its group and member if they are missing, and a tombstone of an
unknown group or member is ignored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
from broker_sim.coordinators.groups.consumer.consumer_member import ClassicProtocolData, ConsumerMember
from broker_sim.coordinators.groups.consumer.resolved_regex import ResolvedRegex
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, from_topics
from protocol_specs.schemas.coordinator.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from protocol_specs.schemas.coordinator.consumer_group_member_metadata import ConsumerGroupMemberMetadataKey
from protocol_specs.schemas.coordinator.consumer_group_metadata import ConsumerGroupMetadataKey
from protocol_specs.schemas.coordinator.consumer_group_partition_metadata import ConsumerGroupPartitionMetadataKey
from protocol_specs.schemas.coordinator.consumer_group_regular_expression import ConsumerGroupRegularExpressionKey
from protocol_specs.schemas.coordinator.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from protocol_specs.schemas.coordinator.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
    from protocol_specs.message import Message

__all__ = ["ConsumerReplay"]

_NO_ASSIGNMENT_EPOCH = -1


class ConsumerReplay:
    """Applies records to the groups of one shard."""

    def __init__(self, snapshots: SnapshotRegistry, groups: GroupRegistry, *, behaviour: ReleaseBehaviour) -> None:
        self._snapshots = snapshots
        self._groups = groups
        self._behaviour = behaviour
        self._hashes = behaviour.groups_hash_their_topics

    @property
    def handlers(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The types of keys, and how they are replayed."""
        return {
            ConsumerGroupMetadataKey: self._group_epoch,
            ConsumerGroupPartitionMetadataKey: self._partition_metadata,
            ConsumerGroupMemberMetadataKey: self._member,
            ConsumerGroupTargetAssignmentMetadataKey: self._assignment_epoch,
            ConsumerGroupTargetAssignmentMemberKey: self._target,
            ConsumerGroupCurrentMemberAssignmentKey: self._current_assignment,
            ConsumerGroupRegularExpressionKey: self._regex,
        }

    def new_group(self, group_id: str) -> ConsumerGroup:
        """Return a group that is not among those of the shard."""
        return ConsumerGroup(self._snapshots, group_id, behaviour=self._behaviour)

    def _group(self, replayed: Replayed) -> ConsumerGroup | None:
        """Return the group of a record; a value creates it. An empty classic group of the id is replaced."""
        group = self._groups.get(replayed.key.group_id)
        if isinstance(group, ConsumerGroup):
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
        if self._hashes:
            group.metadata.set(replayed.value.metadata_hash)

    def _partition_metadata(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None or self._hashes:
            return
        topics = [] if replayed.value is None else replayed.value.topics
        group.metadata.set({topic.topic_name: _topic_metadata(topic) for topic in topics})

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
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                subscribed_topic_names=frozenset(value.subscribed_topic_names),
                subscribed_topic_regex=value.subscribed_topic_regex,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                server_assignor=value.server_assignor,
                classic=_classic(value.classic_member_metadata),
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
        if replayed.value is None:
            group.assignment_epoch.set(_NO_ASSIGNMENT_EPOCH)
            return
        group.assignment_epoch.set(replayed.value.assignment_epoch)
        group.assignment_timestamp_ms.set(replayed.value.assignment_timestamp)

    def _current_assignment(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None:
            return
        member_id, value = replayed.key.member_id, replayed.value
        if value is None:
            member = group.members.get(member_id)
            if member is not None:
                group.put_member(
                    replace(
                        member,
                        member_epoch=LEAVE_EPOCH,
                        previous_member_epoch=LEAVE_EPOCH,
                        assigned=NO_PARTITIONS,
                        pending_revocation=NO_PARTITIONS,
                        assignment_epochs={},
                    )
                )
            return
        group.put_member(
            replace(
                _member_of(group, member_id),
                member_epoch=value.member_epoch,
                previous_member_epoch=value.previous_member_epoch,
                state=MemberState.from_value(value.state),
                assigned=from_topics(value.assigned_partitions),
                pending_revocation=from_topics(value.partitions_pending_revocation),
                assignment_epochs={
                    (topic.topic_id, partition): epoch
                    for topic in [*value.assigned_partitions, *value.partitions_pending_revocation]
                    for partition, epoch in zip(topic.partitions, topic.assignment_epochs or (), strict=False)
                },
            )
        )

    def _regex(self, replayed: Replayed) -> None:
        group = self._group(replayed)
        if group is None:
            return
        regex, value = replayed.key.regular_expression, replayed.value
        if value is None:
            group.regexes.pop(regex)
        else:
            group.regexes[regex] = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)


def _member_of(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    return group.members.get(member_id) or ConsumerMember(member_id=member_id)


def _classic(metadata: Any) -> ClassicProtocolData | None:
    if metadata is None:
        return None
    protocols = tuple((protocol.name, bytes(protocol.metadata)) for protocol in metadata.supported_protocols)
    return ClassicProtocolData(metadata.session_timeout_ms, protocols)


def _topic_metadata(topic: Any) -> TopicMetadata:
    racks = {each.partition: tuple(each.racks) for each in topic.partition_metadata}
    return TopicMetadata(
        topic.topic_id,
        topic.num_partitions,
        tuple(racks.get(partition, ()) for partition in range(topic.num_partitions)) if racks else (),
    )
