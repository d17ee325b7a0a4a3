"""AlterReplicaLogDirs (api key 34): move replicas between the log directories of this broker (KIP-113).

Versions: 0 to 2; 4.x takes v1 on. For each partition, in this order: too long a name for the directory of a future
replica (17), a directory that `log.dirs` does not have (57), a partition that the metadata does not know (3) or that
has no replica here (9). A partition that is named twice goes to the directory that is named last. Mirrors
ReplicaManager.alterReplicaLogDirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.partition_order import grouped_by_topic
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest

DIRECTORY_NAME_LENGTH_MAX: Final = 255
FUTURE_SUFFIX_LENGTH: Final = len(".-future") + 32


def handle(request: AlterReplicaLogDirsRequest, context: RequestContext) -> AlterReplicaLogDirsResponse:
    """Move each replica at once, or record the directory of a replica that is created later."""
    wanted = {
        TopicPartition(topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    errors = {each: _move(each, path, context.broker) for each, path in wanted.items()}
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=each.partition, error_code=errors[each])
                    for each in partitions
                ],
            )
            for name, partitions in grouped_by_topic(errors).items()
        ]
    )


def error_response(
    request: AlterReplicaLogDirsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> AlterReplicaLogDirsResponse:
    """The whole request fails: every partition has the error."""
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error_code)
                    for index in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )


def _move(topic_partition: TopicPartition, path: str, broker: BrokerView) -> ErrorCode:
    directories = broker.storage.directories
    if len(f"{topic_partition.topic}-{topic_partition.partition}") + FUTURE_SUFFIX_LENGTH > DIRECTORY_NAME_LENGTH_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if path not in directories.names:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if path in directories.offline or topic_partition in broker.replica_manager.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    broker.storage.move(topic_partition, path)
    partition = broker.replica_manager.get_partition(topic_partition)
    if partition is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    return partition if isinstance(partition, ErrorCode) else ErrorCode.NONE


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
