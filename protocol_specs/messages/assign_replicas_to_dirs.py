"""AssignReplicasToDirs (api key 73): a broker reports the log directories of its replicas to the controller.

Mirrors AssignReplicasToDirsRequest and AssignReplicasToDirsResponse; KIP-858.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """One replica in a log directory."""

    partition_index: int = field(Int32)


@struct
class TopicData(Struct):
    """The replicas of one topic in a log directory."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionData] = field(Array(PartitionData))


@struct
class DirectoryData(Struct):
    """A log directory by its id, with its replicas."""

    id: bytes = field(Uuid)
    topics: list[TopicData] = field(Array(TopicData))


@message(api_key=ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions="0", flexible="0+")
class AssignReplicasToDirsRequest(Message):
    """The request: a broker reports the log directories of its replicas to the controller."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64, default=-1)
    directories: list[DirectoryData] = field(Array(DirectoryData))


@struct
class ResponsePartitionData(Struct):
    """The result of one replica."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@struct
class ResponseTopicData(Struct):
    """The results of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[ResponsePartitionData] = field(Array(ResponsePartitionData))


@struct
class ResponseDirectoryData(Struct):
    """The results of one log directory."""

    id: bytes = field(Uuid)
    topics: list[ResponseTopicData] = field(Array(ResponseTopicData))


@message(api_key=ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions="0", flexible="0+")
class AssignReplicasToDirsResponse(Message):
    """The response: one result per replica, by log directory."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    directories: list[ResponseDirectoryData] = field(Array(ResponseDirectoryData))
