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
from broker_sim.coordinators.operation_errors import refused
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
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.offset_results import PartitionErrors
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.offset_delete import OffsetDeleteRequest


def handle(request: OffsetDeleteRequest, context: RequestContext) -> HandlerResult:
    """Refuse unknown partitions, and delete the offsets of the others."""
    known: KnownPartitions[OffsetDeleteRequestPartition] = KnownPartitions()
    for topic in request.topics:
        known.add_topic((topic.name, ZERO_UUID), topic.partitions, _index, context.broker.metadata_cache.image)
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    partitions = known.flat()
    deferred = context.broker.coordinators.groups.write(
        request.group_id,
        "delete-offsets",
        lambda shard: shard.offsets.delete(
            request.group_id, [TopicPartition(name, _index(partition)) for (name, _), partition in partitions]
        ),
    )
    deferred.addCallback(lambda errors: _response(known.merged(by_topic(partitions, errors, _index))))
    deferred.addErrback(refused(lambda code, _: OffsetDeleteResponse(error_code=code)))
    return deferred


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
