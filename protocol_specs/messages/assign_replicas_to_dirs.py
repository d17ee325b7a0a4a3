"""AssignReplicasToDirs (api key 73): a broker says in which log directory its replicas are.

Mirrors AssignReplicasToDirsRequest and AssignReplicasToDirsResponse; KIP-858.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """One element of partitions."""

    partition_index: int = field(Int32)


@struct
class TopicData(Struct):
    """One element of topics."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionData] = field(Array(PartitionData))


@struct
class DirectoryData(Struct):
    """One element of directories."""

    id: bytes = field(Uuid)
    topics: list[TopicData] = field(Array(TopicData))


@message(api_key=ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions="0", flexible="0+")
class AssignReplicasToDirsRequest(Message):
    """The request: a broker says in which log directory its replicas are."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64, default=-1)
    directories: list[DirectoryData] = field(Array(DirectoryData))


@struct
class ResponsePartitionData(Struct):
    """One element of partitions."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@struct
class ResponseTopicData(Struct):
    """One element of topics."""

    topic_id: bytes = field(Uuid)
    partitions: list[ResponsePartitionData] = field(Array(ResponsePartitionData))


@struct
class ResponseDirectoryData(Struct):
    """One element of directories."""

    id: bytes = field(Uuid)
    topics: list[ResponseTopicData] = field(Array(ResponseTopicData))


@message(api_key=ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions="0", flexible="0+")
class AssignReplicasToDirsResponse(Message):
    """What the broker answers to AssignReplicasToDirsRequest."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    directories: list[ResponseDirectoryData] = field(Array(ResponseDirectoryData))
