"""The replay of the records of consumer groups. Mirrors the replay methods of GroupMetadataManager."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup, ResolvedRegex
from broker_sim.coordinators.groups.consumer.consumer_member import ClassicProtocolData, ConsumerMember
from broker_sim.coordinators.groups.modern.epoch_replay import EpochReplay
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, from_recorded_topics, from_topics
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
    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["ConsumerReplay"]


class ConsumerReplay(EpochReplay[ConsumerGroup, ConsumerMember]):
    """Applies records to the consumer groups of one shard."""

    _member_type: ClassVar[type[ConsumerMember]] = ConsumerMember
    _no_assignment: ClassVar = {
        "assigned": NO_PARTITIONS,
        "pending_revocation": NO_PARTITIONS,
        "assignment_epochs": MappingProxyType({}),
    }

    def __init__(self, snapshots: SnapshotRegistry, groups: GroupRegistry, *, behaviour: ReleaseBehaviour) -> None:
        super().__init__(groups, ConsumerGroup, self._member_type)
        self._snapshots = snapshots
        self._behaviour = behaviour
        self._hashes = behaviour.groups_hash_their_topics

    def new_group(self, group_id: str) -> ConsumerGroup:
        """Return a group that is not among those of the shard."""
        return ConsumerGroup(self._snapshots, group_id, behaviour=self._behaviour)

    def _set_metadata(self, group: ConsumerGroup, value: Any) -> None:
        if self._hashes:
            group.metadata.set(value.metadata_hash)

    def _described(self, member: ConsumerMember, value: Any) -> ConsumerMember:
        return replace(
            member,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
            subscribed_topic_regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=self._classic_of(value),
        )

    def _classic_of(self, value: Any) -> Any:
        return _classic(value.classic_member_metadata)

    def _target(self, value: Any) -> TopicPartitions:
        return from_recorded_topics(value.topic_partitions)

    def _assigned(self, member: ConsumerMember, value: Any) -> ConsumerMember:
        return replace(
            member,
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

    def _apply_partition_metadata(self, group: ConsumerGroup, replayed: Replayed) -> None:
        if not self._hashes:
            topics = [] if replayed.value is None else replayed.value.topics
            group.metadata.set({topic.topic_name: _topic_metadata(topic) for topic in topics})

    def _apply_regex(self, group: ConsumerGroup, replayed: Replayed) -> None:
        regex, value = replayed.key.regular_expression, replayed.value
        if value is None:
            group.regexes.pop(regex)
        else:
            group.regexes[regex] = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)

    _appliers: ClassVar = {
        ConsumerGroupMetadataKey: EpochReplay.apply_group_epoch,
        ConsumerGroupPartitionMetadataKey: _apply_partition_metadata,
        ConsumerGroupMemberMetadataKey: EpochReplay.apply_member,
        ConsumerGroupTargetAssignmentMetadataKey: EpochReplay.apply_assignment_epoch,
        ConsumerGroupTargetAssignmentMemberKey: EpochReplay.apply_target,
        ConsumerGroupCurrentMemberAssignmentKey: EpochReplay.apply_current_assignment,
        ConsumerGroupRegularExpressionKey: _apply_regex,
    }


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
