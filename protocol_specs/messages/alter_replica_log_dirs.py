"""AlterReplicaLogDirs (api key 34): move replicas between the log directories of a broker.

Mirrors AlterReplicaLogDirsRequest and AlterReplicaLogDirsResponse; KIP-113.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class AlterReplicaLogDirTopic(Struct):
    """The partitions of one topic to move to a directory."""

    name: str = field(String, map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@struct
class AlterReplicaLogDir(Struct):
    """A target log directory with the replicas to move there."""

    path: str = field(String, map_key=True)
    topics: list[AlterReplicaLogDirTopic] = field(Array(AlterReplicaLogDirTopic))


@message(api_key=ApiKey.ALTER_REPLICA_LOG_DIRS, versions="0-2", flexible="2+")
class AlterReplicaLogDirsRequest(Message):
    """The request: move replicas between the log directories of a broker."""

    dirs: list[AlterReplicaLogDir] = field(Array(AlterReplicaLogDir))


@struct
class AlterReplicaLogDirPartitionResult(Struct):
    """The result of one replica."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@struct
class AlterReplicaLogDirTopicResult(Struct):
    """The results of one topic."""

    topic_name: str = field(String, entity="topicName")
    partitions: list[AlterReplicaLogDirPartitionResult] = field(Array(AlterReplicaLogDirPartitionResult))


@message(api_key=ApiKey.ALTER_REPLICA_LOG_DIRS, versions="0-2", flexible="2+")
class AlterReplicaLogDirsResponse(Message):
    """The response: one result per replica."""

    throttle_time_ms: int = field(Int32)
    results: list[AlterReplicaLogDirTopicResult] = field(Array(AlterReplicaLogDirTopicResult))
