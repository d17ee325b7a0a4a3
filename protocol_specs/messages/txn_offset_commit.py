"""TxnOffsetCommit (api key 28): commit the offsets of a group within a transaction.

Mirrors TxnOffsetCommitRequest and TxnOffsetCommitResponse; KIP-98, KIP-447, KIP-848, KIP-890.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TxnOffsetCommitRequestPartition(Struct):
    """The offset to commit for one partition."""

    partition_index: int = field(Int32)
    committed_offset: int = field(Int64)
    committed_leader_epoch: int = field(Int32, versions="2+", default=-1, ignorable=True)
    committed_metadata: str | None = field(String, nullable="0+")


@struct
class TxnOffsetCommitRequestTopic(Struct):
    """The offsets to commit for one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[TxnOffsetCommitRequestPartition] = field(Array(TxnOffsetCommitRequestPartition))


@message(api_key=ApiKey.TXN_OFFSET_COMMIT, versions="0-5", flexible="3+")
class TxnOffsetCommitRequest(Message):
    """The request: commit the offsets of a group within a transaction."""

    transactional_id: str = field(String, entity="transactionalId")
    group_id: str = field(String, entity="groupId")
    producer_id: int = field(Int64, entity="producerId")
    producer_epoch: int = field(Int16)
    generation_id: int = field(Int32, versions="3+", default=-1)
    member_id: str = field(String, versions="3+")
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = field(Array(TxnOffsetCommitRequestTopic))


@struct
class TxnOffsetCommitResponsePartition(Struct):
    """The result of one partition."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@struct
class TxnOffsetCommitResponseTopic(Struct):
    """The results of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[TxnOffsetCommitResponsePartition] = field(Array(TxnOffsetCommitResponsePartition))


@message(api_key=ApiKey.TXN_OFFSET_COMMIT, versions="0-5", flexible="3+")
class TxnOffsetCommitResponse(Message):
    """The response: one error code per partition."""

    throttle_time_ms: int = field(Int32)
    topics: list[TxnOffsetCommitResponseTopic] = field(Array(TxnOffsetCommitResponseTopic))
