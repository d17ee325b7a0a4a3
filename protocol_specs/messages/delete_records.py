"""DeleteRecords (api key 21): delete the records of partitions before given offsets.

Mirrors DeleteRecordsRequest and DeleteRecordsResponse; KIP-107.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DeleteRecordsPartition(Struct):
    """The offset before which the records of one partition are deleted; -1 is the high watermark."""

    partition_index: int = field(Int32)
    offset: int = field(Int64)


@struct
class DeleteRecordsTopic(Struct):
    """The deletions of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[DeleteRecordsPartition] = field(Array(DeleteRecordsPartition))


@message(api_key=ApiKey.DELETE_RECORDS, versions="0-2", flexible="2+")
class DeleteRecordsRequest(Message):
    """The request: delete the records of partitions before given offsets."""

    topics: list[DeleteRecordsTopic] = field(Array(DeleteRecordsTopic))
    timeout_ms: int = field(Int32)


@struct
class DeleteRecordsPartitionResult(Struct):
    """The low watermark of one partition after the deletion, or an error."""

    partition_index: int = field(Int32, map_key=True)
    low_watermark: int = field(Int64)
    error_code: int = field(Int16)


@struct
class DeleteRecordsTopicResult(Struct):
    """The results of one topic."""

    name: str = field(String, map_key=True, entity="topicName")
    partitions: list[DeleteRecordsPartitionResult] = field(Array(DeleteRecordsPartitionResult))


@message(api_key=ApiKey.DELETE_RECORDS, versions="0-2", flexible="2+")
class DeleteRecordsResponse(Message):
    """The response: the low watermark or an error per partition."""

    throttle_time_ms: int = field(Int32)
    topics: list[DeleteRecordsTopicResult] = field(Array(DeleteRecordsTopicResult))
