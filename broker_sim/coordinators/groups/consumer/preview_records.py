"""The records of 3.7's preview of consumer groups whose values have other fields. Mirrors RecordHelpers of 3.7."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
from broker_sim.coordinators.groups.modern.topic_partitions import to_topics
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from protocol_specs.schemas.coordinator.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from protocol_specs.schemas.coordinator.consumer_group_member_metadata import ConsumerGroupMemberMetadataKey
from protocol_specs.schemas.coordinator.consumer_group_partition_metadata import ConsumerGroupPartitionMetadataKey
from protocol_specs.schemas.coordinator.consumer_group_preview import (
    PreviewCurrentMemberAssignmentValue,
    PreviewMemberMetadataValue,
    PreviewPartitionMetadataValue,
    PreviewTargetAssignmentMemberValue,
    TopicPartitions,
)
from protocol_specs.schemas.coordinator.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberKey,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.groups.modern import topic_partitions
    from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata

__all__ = ["current_assignment_record", "member_record", "partition_metadata_record", "target_record"]


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Return the record of a member's subscription."""
    return CoordinatorRecord(
        ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        PreviewMemberMetadataValue(**consumer_records.described(member)),
    )


def partition_metadata_record(group_id: str, topics: Mapping[str, TopicMetadata]) -> CoordinatorRecord:
    """Return the record of the subscribed topics."""
    return CoordinatorRecord(
        ConsumerGroupPartitionMetadataKey(group_id=group_id),
        PreviewPartitionMetadataValue(topics=consumer_records.recorded_topics(topics)),
    )


def target_record(group_id: str, member_id: str, target: topic_partitions.TopicPartitions) -> CoordinatorRecord:
    """Return the record of a member's target assignment."""
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        PreviewTargetAssignmentMemberValue(topic_partitions=to_topics(target, TopicPartitions)),
    )


def current_assignment_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Return the record of a member's epochs and partitions."""
    assert isinstance(member, PreviewMember)
    return CoordinatorRecord(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        PreviewCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            target_member_epoch=member.target_epoch,
            assigned_partitions=member.topics_of("assigned", TopicPartitions),
            partitions_pending_revocation=member.topics_of("pending_revocation", TopicPartitions),
            partitions_pending_assignment=member.topics_of("pending_assignment", TopicPartitions),
        ),
    )
