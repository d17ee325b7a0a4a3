"""OffsetDelete (api key 47): delete committed offsets of a group (KIP-496).

Precedence: per partition, a topic or partition that the metadata does not know (3); for the request, an empty group id
(24), the coordinator's state (14, 16), an unknown group (69), a group that is in use by something else than consumers
(68); then a subscribed topic (86). Mirrors KafkaApis.handleOffsetDeleteRequest and
GroupCoordinatorService.deleteOffsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.offset_results import KnownPartitions, by_topic
from broker_sim.apis.partition_order import immutable_order, partition_hash
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.operation_errors import refusal
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_delete import (
    OffsetDeleteRequestPartition,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.offset_results import Named, PartitionErrors
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.offset_delete import OffsetDeleteRequest


def handle(request: OffsetDeleteRequest, context: RequestContext) -> HandlerResult:
    """Refuse unknown partitions, and delete the offsets of the others."""
    known: KnownPartitions[OffsetDeleteRequestPartition] = KnownPartitions()
    for topic in request.topics:
        named = (topic.name, ZERO_UUID)
        if context.may(AclOperation.READ, ResourceType.TOPIC, topic.name):
            known.add_topic(named, topic.partitions, _index, context.broker.metadata_cache.image)
        else:
            known.refuse_topic(named, map(_index, topic.partitions), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    partitions = known.flat()
    in_maps = uses_old_coordinator(context.broker.config)
    if in_maps:
        partitions = list(
            {(topic[0], _index(partition)): (topic, partition) for topic, partition in partitions}.values()
        )

    def respond(errors: Mapping[TopicPartition, ErrorCode]) -> Message:
        results = _in_map_order(partitions, errors) if in_maps else _in_request_order(known.topics, errors)
        return _response(known.merged(results))

    written = context.broker.coordinators.groups.write(
        request.group_id,
        "delete-offsets",
        lambda shard: shard.offsets.delete(
            request.group_id, [TopicPartition(name, _index(partition)) for (name, _), partition in partitions]
        ),
    )
    result: HandlerResult = written.then(respond, refusal(lambda code, _: OffsetDeleteResponse(error_code=code)))
    return result


def _in_request_order(
    topics: list[tuple[Named, list[OffsetDeleteRequestPartition]]], errors: Mapping[TopicPartition, ErrorCode]
) -> PartitionErrors:
    """Return the results that the coordinator lists, in the order of the request."""
    return [
        (
            topic,
            [
                (_index(partition), errors[TopicPartition(topic[0], _index(partition))])
                for partition in partitions
                if TopicPartition(topic[0], _index(partition)) in errors
            ],
        )
        for topic, partitions in topics
    ]


def _in_map_order(
    partitions: list[tuple[Named, OffsetDeleteRequestPartition]], errors: Mapping[TopicPartition, ErrorCode]
) -> PartitionErrors:
    """Return results as the maps of the old coordinator list them: subscribed topics are put into them first."""
    results = [(each, errors[TopicPartition(each[0][0], _index(each[1]))]) for each in partitions]
    results.sort(key=lambda each: each[1] == ErrorCode.NONE)
    results = immutable_order(results, lambda each: partition_hash((each[0][0][0], _index(each[0][1]))))
    return by_topic([each for each, _ in results], [error for _, error in results], _index)


def _index(partition: OffsetDeleteRequestPartition) -> int:
    return partition.partition_index


def _response(errors: PartitionErrors) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=name,
                partitions=[
                    OffsetDeleteResponsePartition(partition_index=index, error_code=error_code)
                    for index, error_code in partitions
                ],
            )
            for (name, _), partitions in errors
        ]
    )


HANDLER: Final = ApiHandler(handle=handle)
