"""DeleteRecords (api key 21): move the log start offset of partitions up (KIP-107).

Versions: 0 to 2, alike; v2 is flexible. Offset -1 stands for the high watermark. Precedence: a topic or partition that
the metadata does not know (3), internal topics (17), a broker that does not lead (6), a topic that is compacted and
nothing else (44), an offset below 0 or above the high watermark (1). The response waits for the live followers. A
partition that is named twice counts once, with its last offset. Mirrors KafkaApis.handleDeleteRecordsRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.auto_topic_creation import is_internal
from broker_sim.apis.partition_order import grouped_by_topic, grouped_from_immutable, mutable_order, partition_hash
from broker_sim.replication.delayed_delete_records import DeleteResult
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.replication.delayed_delete_records import DeleteResults
    from protocol_specs.message import Message
    from protocol_specs.messages.delete_records import DeleteRecordsRequest


def handle(request: DeleteRecordsRequest, context: RequestContext) -> HandlerResult:
    """Refuse partitions by the metadata, delete records of the rest, wait for the followers."""
    broker = context.broker
    image = broker.replica_manager.image
    results: dict[TopicPartition, DeleteResult] = {}
    offsets: dict[TopicPartition, int] = {}
    for topic in request.topics:
        denied = not context.may(AclOperation.DELETE, ResourceType.TOPIC, topic.name)
        for partition in topic.partitions:
            key = TopicPartition(topic.name, partition.partition_index)
            if denied:
                results[key] = DeleteResult(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif image.partition(*key) is None:
                results[key] = DeleteResult(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif is_internal(topic.name, broker.config):
                results[key] = DeleteResult(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION)
            else:
                offsets[key] = partition.offset

    def respond(deleted: DeleteResults) -> Message:
        merged = {**deleted, **results}
        return _response(_as_grouped(merged, from_log=bool(deleted)))

    deleted = broker.replica_manager.delete_records(offsets, timeout_ms=request.timeout_ms)
    return deleted.addCallback(respond) if isinstance(deleted, Deferred) else respond(deleted)


def error_response(
    request: DeleteRecordsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> DeleteRecordsResponse:
    """The whole request fails: every partition has the error. Mirrors DeleteRecordsRequest.getErrorResponse."""
    return _response(
        {
            TopicPartition(topic.name, partition.partition_index): DeleteResult(error_code=error_code)
            for topic in request.topics
            for partition in topic.partitions
        }
    )


def _as_grouped(results: DeleteResults, *, from_log: bool) -> DeleteResults:
    """Return the results in the order of Kafka's maps: those of the log are in mutable ones."""
    if len(results) < 2:
        return results
    keys = list(results)
    grouped = grouped_by_topic(keys) if from_log else grouped_from_immutable(mutable_order(keys, partition_hash))
    return {key: results[key] for group in grouped.values() for key in group}


def _response(results: DeleteResults) -> DeleteRecordsResponse:
    topics: dict[str, DeleteRecordsTopicResult] = {}
    for (name, index), result in results.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = DeleteRecordsTopicResult(name=name, partitions=[])
        topic.partitions.append(
            DeleteRecordsPartitionResult(
                partition_index=index,
                low_watermark=result.low_watermark,
                error_code=result.error_code,
            )
        )
    return DeleteRecordsResponse(topics=list(topics.values()))


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
