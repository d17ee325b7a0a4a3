"""The values that 3.7's preview of consumer groups writes: those of record types 4, 5, 7 and 8 have other fields there.

Both forms are version 0. Only the release of a log can decide between them; the registry has the later form.

Mirrors ConsumerGroupPartitionMetadataValue, ConsumerGroupMemberMetadataValue, ConsumerGroupTargetAssignmentMemberValue
and ConsumerGroupCurrentMemberAssignmentValue of 3.7; KIP-848.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.fields import Array, Bytes, Int8, Int16, Int32, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct
from protocol_specs.schemas.coordinator.consumer_group_partition_metadata import TopicMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping


@message(kind=Kind.COORDINATOR_VALUE, record_type=4, versions="0", flexible="0+")
class PreviewPartitionMetadataValue(Message):
    """The subscribed topics of a group."""

    epoch: int = field(Int32)
    topics: list[TopicMetadata] = field(Array(TopicMetadata))


@struct
class Assignor(Struct):
    """An assignor of a client."""

    name: str = field(String)
    minimum_version: int = field(Int16)
    maximum_version: int = field(Int16)
    reason: int = field(Int8)
    version: int = field(Int16)
    metadata: bytes = field(Bytes)


@message(kind=Kind.COORDINATOR_VALUE, record_type=5, versions="0", flexible="0+")
class PreviewMemberMetadataValue(Message):
    """The metadata that a member has sent."""

    instance_id: str | None = field(String, nullable="0+")
    rack_id: str | None = field(String, nullable="0+")
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String))
    subscribed_topic_regex: str | None = field(String, nullable="0+")
    rebalance_timeout_ms: int = field(Int32, default=-1)
    server_assignor: str | None = field(String, nullable="0+")
    assignors: list[Assignor] = field(Array(Assignor))


@struct
class TopicPartitions(Struct):
    """The partitions of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[int] = field(Array(Int32))


@message(kind=Kind.COORDINATOR_VALUE, record_type=7, versions="0", flexible="0+")
class PreviewTargetAssignmentMemberValue(Message):
    """The target assignment of a member."""

    error: int = field(Int8)
    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))
    metadata_version: int = field(Int16)
    metadata_bytes: bytes = field(Bytes)


@message(kind=Kind.COORDINATOR_VALUE, record_type=8, versions="0", flexible="0+")
class PreviewCurrentMemberAssignmentValue(Message):
    """The current assignment of a member; its state follows from the partitions that it waits for."""

    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    target_member_epoch: int = field(Int32)
    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions))
    partitions_pending_revocation: list[TopicPartitions] = field(Array(TopicPartitions))
    partitions_pending_assignment: list[TopicPartitions] = field(Array(TopicPartitions))
    error: int = field(Int8)
    metadata_version: int = field(Int16)
    metadata_bytes: bytes = field(Bytes)


PREVIEW_VALUES: Final[Mapping[int, type[Message]]] = {
    cls.RECORD_TYPE: cls
    for cls in (
        PreviewPartitionMetadataValue,
        PreviewMemberMetadataValue,
        PreviewTargetAssignmentMemberValue,
        PreviewCurrentMemberAssignmentValue,
    )
}
"""The values by record type."""
