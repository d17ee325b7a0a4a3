"""DescribeProducers (api key 61): the producers that a partition remembers (KIP-664).

Versions: 0 in both releases. Every replica responds from its own log, followers too. The response lists partitions as
the request does, repetitions included; producers come in the order of Kafka's hash table. Mirrors
KafkaApis.handleDescribeProducersRequest and Partition.activeProducerState.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.default_messages import default_message
from broker_sim.metadata.topic_names import refused_name
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order_of_longs
from protocol_specs.messages.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.log.producer_state import ProducerStateEntry
    from protocol_specs.message import Message
    from protocol_specs.messages.describe_producers import DescribeProducersRequest, TopicRequest

__all__ = ["error_response", "handle"]

NOT_HOSTED: Final = "This server does not host this topic-partition."


def handle(request: DescribeProducersRequest, context: RequestContext) -> HandlerResult:
    """Return one result per partition."""
    return DescribeProducersResponse(topics=[_topic(topic, context) for topic in request.topics])


def error_response(
    request: DescribeProducersRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> Message:
    """One error for every partition. Mirrors DescribeProducersRequest.getErrorResponse."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=index, error_code=error_code) for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _topic(topic: TopicRequest, context: RequestContext) -> TopicResponse:
    message: str | None
    invalid = refused_name(topic.name, illegal=context.behaviour.illegal_topic_names)
    if invalid is not None:
        error, message = ErrorCode.INVALID_TOPIC_EXCEPTION, invalid
    elif not context.may(AclOperation.READ, ResourceType.TOPIC, topic.name):
        error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        message = default_message(error) if context.behaviour.refused_producers_have_texts else None
    elif topic.name not in context.broker.metadata_cache.image.topics:
        error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED
    else:
        described = [_partition(topic.name, index, context) for index in topic.partition_indexes]
        return TopicResponse(name=topic.name, partitions=described)
    refused = [
        PartitionResponse(partition_index=index, error_code=error, error_message=message)
        for index in topic.partition_indexes
    ]
    return TopicResponse(name=topic.name, partitions=refused)


def _partition(topic: str, index: int, context: RequestContext) -> PartitionResponse:
    partition = context.broker.replica_manager.get_partition(TopicPartition(topic, index))
    if isinstance(partition, ErrorCode):
        return PartitionResponse(partition_index=index, error_code=partition)
    producers = partition.log.producers
    producers.remove_expired(context.broker.now_ms())
    return PartitionResponse(partition_index=index, active_producers=_states(producers.active_producers))


def _states(producers: Mapping[int, ProducerStateEntry]) -> list[ProducerState]:
    return [
        ProducerState(
            producer_id=producer_id,
            producer_epoch=producers[producer_id].producer_epoch,
            last_sequence=producers[producer_id].last_sequence,
            last_timestamp=producers[producer_id].last_timestamp,
            coordinator_epoch=producers[producer_id].coordinator_epoch,
            current_txn_start_offset=producers[producer_id].transaction_start,
        )
        for producer_id in hash_order_of_longs(producers)
    ]


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
