"""OffsetCommit (api key 8): commit the offsets that a group has consumed.

Mirrors OffsetCommitRequest and OffsetCommitResponse; KIP-211, KIP-320, KIP-345, KIP-848.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class OffsetCommitRequestPartition(Struct):
    """The offset to commit for one partition."""

    partition_index: int = field(Int32)
    committed_offset: int = field(Int64)
    committed_leader_epoch: int = field(Int32, versions="6+", default=-1, ignorable=True)
    commit_timestamp: int = field(Int64, versions="1", default=-1)
    committed_metadata: str | None = field(String, nullable="0+")


@struct
class OffsetCommitRequestTopic(Struct):
    """The offsets to commit for one topic."""

    name: str = field(String, versions="0-9", ignorable=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = field(Array(OffsetCommitRequestPartition))


@message(api_key=ApiKey.OFFSET_COMMIT, versions="0-10", flexible="8+")
class OffsetCommitRequest(Message):
    """The request: commit the offsets that a group has consumed."""

    group_id: str = field(String, entity="groupId")
    generation_id_or_member_epoch: int = field(Int32, versions="1+", default=-1, ignorable=True)
    member_id: str = field(String, versions="1+", ignorable=True)
    group_instance_id: str | None = field(String, versions="7+", nullable="7+", default=None)
    retention_time_ms: int = field(Int64, versions="2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = field(Array(OffsetCommitRequestTopic))


@struct
class OffsetCommitResponsePartition(Struct):
    """The result of one partition."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@struct
class OffsetCommitResponseTopic(Struct):
    """The results of one topic."""

    name: str = field(String, versions="0-9", ignorable=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = field(Array(OffsetCommitResponsePartition))


@message(api_key=ApiKey.OFFSET_COMMIT, versions="0-10", flexible="8+")
class OffsetCommitResponse(Message):
    """The response: one error code per partition."""

    throttle_time_ms: int = field(Int32, versions="3+", ignorable=True)
    topics: list[OffsetCommitResponseTopic] = field(Array(OffsetCommitResponseTopic))
