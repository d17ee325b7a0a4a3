"""The records of share groups: types 10 to 15. Mirrors GroupCoordinatorRecordHelpers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.modern.topic_partitions import to_topics
from broker_sim.coordinators.groups.share.initialization import topic_names
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from protocol_specs.java_hash import hash_order_of_integers, hash_order_of_uuids
from protocol_specs.schemas.coordinator import share_group_current_member_assignment as current
from protocol_specs.schemas.coordinator import share_group_member_metadata as member_metadata
from protocol_specs.schemas.coordinator import share_group_metadata as metadata
from protocol_specs.schemas.coordinator import share_group_state_partition_metadata as state
from protocol_specs.schemas.coordinator import share_group_target_assignment_member as target_member
from protocol_specs.schemas.coordinator import share_group_target_assignment_metadata as target_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.modern.modern_member import ModernMember
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.groups.share.initialization import Initialization, InitializedTopic
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = [
    "assignment_epoch_record",
    "assignment_epoch_tombstone",
    "current_assignment_record",
    "current_assignment_tombstone",
    "group_epoch_record",
    "group_epoch_tombstone",
    "initialization_record",
    "initialization_tombstone",
    "member_record",
    "member_tombstone",
    "target_record",
    "target_tombstone",
]


def member_record(group_id: str, member: ModernMember) -> CoordinatorRecord:
    """Return the record of a member's subscription."""
    return CoordinatorRecord(
        member_metadata.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        member_metadata.ShareGroupMemberMetadataValue(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
        ),
    )


def member_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Return the record that deletes a member's subscription."""
    return CoordinatorRecord(member_metadata.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)


def group_epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Return the record of a group epoch."""
    value = metadata.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(metadata.ShareGroupMetadataKey(group_id=group_id), value)


def group_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes a group."""
    return CoordinatorRecord(metadata.ShareGroupMetadataKey(group_id=group_id), None)


def target_record(group_id: str, member_id: str, target: TopicPartitions) -> CoordinatorRecord:
    """Return the record of a member's target assignment."""
    return CoordinatorRecord(
        target_member.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        target_member.ShareGroupTargetAssignmentMemberValue(
            topic_partitions=to_topics(target, target_member.TopicPartition)
        ),
    )


def target_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Return the record that deletes a member's target assignment."""
    key = target_member.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(key, None)


def assignment_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Return the record of the epoch of a target assignment."""
    return CoordinatorRecord(
        target_metadata.ShareGroupTargetAssignmentMetadataKey(group_id=group_id),
        target_metadata.ShareGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=timestamp_ms
        ),
    )


def assignment_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes the epoch of a target assignment."""
    return CoordinatorRecord(target_metadata.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None)


def current_assignment_record(group_id: str, member: ModernMember) -> CoordinatorRecord:
    """Return the record of a member's epochs and partitions."""
    return CoordinatorRecord(
        current.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        current.ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state.value,
            assigned_partitions=to_topics(member.assigned, current.TopicPartitions),
        ),
    )


def current_assignment_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Return the record that deletes a member's epochs and partitions."""
    key = current.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(key, None)


def initialization_record(group_id: str, initialization: Initialization, image: MetadataImage) -> CoordinatorRecord:
    """Return the record of the share partitions that have state, or are to get or lose it."""
    deleting = topic_names(initialization.deleting, image)
    return CoordinatorRecord(
        state.ShareGroupStatePartitionMetadataKey(group_id=group_id),
        state.ShareGroupStatePartitionMetadataValue(
            initializing_topics=_partitions(initialization.initializing),
            initialized_topics=_partitions(initialization.initialized),
            deleting_topics=[
                state.TopicInfo(topic_id=topic_id, topic_name=deleting[topic_id])
                for topic_id in hash_order_of_uuids(deleting)
            ],
        ),
    )


def _partitions(topics: Mapping[bytes, InitializedTopic]) -> list[state.TopicPartitionsInfo]:
    return [
        state.TopicPartitionsInfo(
            topic_id=topic_id,
            topic_name=topics[topic_id].name,
            partitions=hash_order_of_integers(topics[topic_id].partitions),
        )
        for topic_id in hash_order_of_uuids(topics)
    ]


def initialization_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that forgets the share partitions."""
    return CoordinatorRecord(state.ShareGroupStatePartitionMetadataKey(group_id=group_id), None)
