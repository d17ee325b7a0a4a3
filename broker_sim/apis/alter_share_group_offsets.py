"""AlterShareGroupOffsets (api key 91): set the start offsets of a share group without members (KIP-932).

Precedence: share groups are off (35), an empty group id (24), the coordinator's state (14, 15, 16), a group of another
type (69), one with members (68); then per partition: an unknown one (3), an error of the share coordinator.
Mirrors KafkaApis.handleAlterShareGroupOffsetsRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.groups.share.state_requests import initialize_state, record_initialization
from broker_sim.coordinators.operation_errors import refused
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.share_partitions.share_partition_manager import shares
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.share.share_offsets import Alteration
    from broker_sim.coordinators.groups.share.state_requests import Results
    from protocol_specs.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsRequestTopic,
    )


def handle(request: AlterShareGroupOffsetsRequest, context: RequestContext) -> HandlerResult:
    """Record the alteration, have the share coordinator make it, and respond then."""
    broker = context.broker
    image = broker.metadata_cache.image
    if not shares(image):
        return _refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    if not context.may(AclOperation.READ, ResourceType.GROUP, request.group_id):
        return _refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, None)
    if not request.group_id:
        return _refusal(ErrorCode.INVALID_GROUP_ID, None)
    unknown: list[AlterShareGroupOffsetsResponseTopic] = []
    known: list[AlterShareGroupOffsetsRequestTopic] = []
    for topic in request.topics:
        if not context.may(AclOperation.READ, ResourceType.TOPIC, topic.topic_name):
            refused_topic = _refused_topic(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            if topic.topic_name in image.topics:
                refused_topic.topic_id = image.topics[topic.topic_name].topic_id
            unknown.append(refused_topic)
        elif topic.topic_name in image.topics:
            known.append(topic)
        elif topic.partitions:
            unknown.append(_refused_topic(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    groups, persister = broker.coordinators.groups, broker.share_partitions.persister

    def run(alteration: Alteration) -> Any:
        if not alteration.offsets:
            return AlterShareGroupOffsetsResponse(responses=_merged([*unknown, *alteration.responses]))
        done = initialize_state(persister, request.group_id, alteration.state_epoch, alteration.offsets)
        return done.addCallback(respond, alteration)

    def respond(results: Results, alteration: Alteration) -> AlterShareGroupOffsetsResponse:
        if not any(result.error_code for result in results.values()):
            record_initialization(groups, request.group_id, results)
        for topic in alteration.responses:
            for partition in topic.partitions:
                result = results.get((topic.topic_id, partition.partition_index))
                if result is not None and result.error_code:
                    partition.error_code, partition.error_message = result.error_code, result.error_message
        return AlterShareGroupOffsetsResponse(responses=_merged([*unknown, *alteration.responses]))

    written = groups.write(
        request.group_id, "share-group-offsets-alter", lambda shard: shard.share.offsets.alter(request.group_id, known)
    )
    return written.deferred.addCallback(run).addErrback(refused(_refusal))


def _refused_topic(topic: AlterShareGroupOffsetsRequestTopic, error: ErrorCode) -> AlterShareGroupOffsetsResponseTopic:
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=topic.topic_name,
        partitions=[
            AlterShareGroupOffsetsResponsePartition(
                partition_index=each.partition_index, error_code=error, error_message=default_message(error)
            )
            for each in topic.partitions
        ],
    )


def _merged(topics: list[AlterShareGroupOffsetsResponseTopic]) -> list[AlterShareGroupOffsetsResponseTopic]:
    """Return one entry per name, with the partitions of all. Mirrors AlterShareGroupOffsetsResponse.Builder."""
    merged: dict[str, AlterShareGroupOffsetsResponseTopic] = {}
    for topic in topics:
        first = merged.setdefault(topic.topic_name, topic)
        if first is not topic:
            first.partitions += topic.partitions
    return list(merged.values())


def _refusal(error_code: ErrorCode, message: str | None) -> AlterShareGroupOffsetsResponse:
    text = default_message(error_code) if message is None else message
    return AlterShareGroupOffsetsResponse(error_code=error_code, error_message=text)


HANDLER: Final = ApiHandler(handle=handle)
