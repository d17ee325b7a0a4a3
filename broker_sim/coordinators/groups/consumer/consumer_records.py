"""The records of consumer groups: types 3 to 8 and 16. Mirrors GroupCoordinatorRecordHelpers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.groups.consumer.partition_order import recorded_order
from broker_sim.coordinators.groups.modern.topic_partitions import to_topics
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from protocol_specs.schemas.coordinator.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from protocol_specs.schemas.coordinator.consumer_group_member_metadata import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from protocol_specs.schemas.coordinator.consumer_group_metadata import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from protocol_specs.schemas.coordinator.consumer_group_partition_metadata import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    PartitionMetadata,
    TopicMetadata,
)
from protocol_specs.schemas.coordinator.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from protocol_specs.schemas.coordinator.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from protocol_specs.schemas.coordinator.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.coordinators.groups.consumer.consumer_group import ResolvedRegex
    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.groups.consumer.partition_order import Epochs
    from broker_sim.coordinators.groups.modern import topic_partitions
    from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata as SubscribedTopic

__all__ = [
    "assignment_epoch_record",
    "assignment_epoch_tombstone",
    "current_assignment_record",
    "current_assignment_tombstone",
    "described",
    "group_epoch_record",
    "group_epoch_tombstone",
    "member_record",
    "member_tombstone",
    "member_tombstones",
    "partition_metadata_record",
    "partition_metadata_tombstone",
    "recorded_topics",
    "regex_record",
    "regex_tombstone",
    "target_record",
    "target_tombstone",
]


def described(member: ConsumerMember) -> dict[str, Any]:
    """Return the fields of a member's subscription that its record has in every release."""
    return {
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": sorted(member.subscribed_topic_names),
        "subscribed_topic_regex": member.subscribed_topic_regex,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "server_assignor": member.server_assignor,
    }


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Return the record of a member's subscription."""
    classic = member.classic
    return CoordinatorRecord(
        ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupMemberMetadataValue(
            **described(member),
            classic_member_metadata=None
            if classic is None
            else ClassicMemberMetadata(
                session_timeout_ms=classic.session_timeout_ms,
                supported_protocols=[
                    ClassicProtocol(name=name, metadata=metadata) for name, metadata in classic.protocols
                ],
            ),
        ),
    )


def member_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Return the record that deletes a member's subscription."""
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)


def group_epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Return the record of a group epoch; the hash is 0 before 4.1."""
    return CoordinatorRecord(
        ConsumerGroupMetadataKey(group_id=group_id),
        ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def group_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes a group."""
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None)


def partition_metadata_record(group_id: str, topics: Mapping[str, SubscribedTopic]) -> CoordinatorRecord:
    """Return the record of the subscribed topics, which was written up to 4.0."""
    return CoordinatorRecord(
        ConsumerGroupPartitionMetadataKey(group_id=group_id),
        ConsumerGroupPartitionMetadataValue(topics=recorded_topics(topics)),
    )


def recorded_topics(topics: Mapping[str, SubscribedTopic]) -> list[TopicMetadata]:
    """Return the subscribed topics as their record has them, in the order of the map."""
    return [
        TopicMetadata(
            topic_id=topics[name].topic_id,
            topic_name=name,
            num_partitions=topics[name].partitions,
            partition_metadata=[
                PartitionMetadata(partition=partition, racks=list(racks))
                for partition, racks in enumerate(topics[name].racks)
                if racks
            ],
        )
        for name in topics
    ]


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes the subscribed topics."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def target_record(group_id: str, member_id: str, target: topic_partitions.TopicPartitions) -> CoordinatorRecord:
    """Return the record of a member's target assignment."""
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        ConsumerGroupTargetAssignmentMemberValue(topic_partitions=to_topics(target, TopicPartition)),
    )


def target_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Return the record that deletes a member's target assignment."""
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None)


def assignment_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Return the record of the epoch of a target assignment; the timestamp is 0 before 4.3."""
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms),
    )


def assignment_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes the epoch of a target assignment."""
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)


def current_assignment_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Return the record of a member's epochs and partitions."""
    return CoordinatorRecord(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state.value,
            assigned_partitions=_with_epochs(member.assigned, member.assignment_epochs),
            partitions_pending_revocation=_with_epochs(member.pending_revocation, member.assignment_epochs),
        ),
    )


def _with_epochs(assignment: topic_partitions.TopicPartitions, epochs: Epochs) -> list[TopicPartitions]:
    return [
        TopicPartitions(
            topic_id=topic_id,
            partitions=partitions,
            assignment_epochs=[epochs[topic_id, partition] for partition in partitions] if epochs else None,
        )
        for topic_id, partitions in recorded_order(assignment, epochs).items()
    ]


def current_assignment_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Return the record that deletes a member's epochs and partitions."""
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    """Return the record of the topics that match a regular expression."""
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex),
        ConsumerGroupRegularExpressionValue(
            topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
        ),
    )


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Return the record that deletes a regular expression."""
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None)


def member_tombstones(group_id: str, member_ids: Iterable[str]) -> list[CoordinatorRecord]:
    """Return the records that remove members, in Kafka's order."""
    tombstones = (current_assignment_tombstone, target_tombstone, member_tombstone)
    return [tombstone(group_id, member_id) for member_id in member_ids for tombstone in tombstones]
