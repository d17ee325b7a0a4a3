"""DeleteShareGroupOffsets (api key 92): delete the offsets of topics in a share group without members (KIP-932).

Precedence: share groups are off (35), an empty group id (24), the coordinator's state (14, 15, 16), an unknown group or
one of another type (69), one with members (68); then per topic: an unknown one, or one without offsets (3), an error
of the share coordinator. Mirrors KafkaApis.handleDeleteShareGroupOffsetsRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.groups.share.state_requests import delete_state
from broker_sim.coordinators.operation_errors import refused
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.share_partitions.share_partition_manager import shares
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import computed_order, hash_order_of_uuids, uuid_hash
from protocol_specs.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.share.share_offsets import Deletion
    from broker_sim.coordinators.groups.share.state_requests import Results
    from protocol_specs.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest


def handle(request: DeleteShareGroupOffsetsRequest, context: RequestContext) -> HandlerResult:
    """Record the deletion, have the share coordinator delete the state, and record the end."""
    broker = context.broker
    image = broker.metadata_cache.image
    if not shares(image):
        return _refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    if not context.may(AclOperation.DELETE, ResourceType.GROUP, request.group_id):
        return _refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, None)
    if not request.group_id:
        return _refusal(ErrorCode.INVALID_GROUP_ID, None)
    names = [topic.topic_name for topic in request.topics]
    may_read = [name for name in names if context.may(AclOperation.READ, ResourceType.TOPIC, name)]
    denied = [
        DeleteShareGroupOffsetsResponseTopic(
            topic_name=name,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=default_message(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        )
        for name in names
        if name not in may_read
    ]
    groups, persister = broker.coordinators.groups, broker.share_partitions.persister

    def run(deletion: Deletion) -> Any:
        if not deletion.partitions:
            return DeleteShareGroupOffsetsResponse(responses=[*denied, *deletion.refused])
        return delete_state(persister, request.group_id, deletion.partitions).addCallback(deleted, deletion)

    def deleted(results: Results, deletion: Deletion) -> Any:
        failed = list(deletion.refused)
        done: list[bytes] = []
        for topic_id in computed_order([each for each, of in deletion.partitions.items() for _ in of], uuid_hash):
            errors = [result for key, result in results.items() if key[0] == topic_id and result.error_code]
            if not errors:
                done.append(topic_id)
                continue
            name = image.topics_by_id[topic_id].name
            failed.append(
                DeleteShareGroupOffsetsResponseTopic(
                    topic_name=name,
                    topic_id=topic_id,
                    error_code=errors[0].error_code,
                    error_message=errors[0].error_message,
                )
            )
        written = groups.write(
            request.group_id,
            "complete-delete-share-group-offsets",
            lambda shard: shard.share.offsets.complete_delete(request.group_id, hash_order_of_uuids(done)),
        ).deferred
        return written.addCallback(
            lambda topics: DeleteShareGroupOffsetsResponse(responses=[*denied, *topics, *failed])
        )

    begun = groups.write(
        request.group_id,
        "initiate-delete-share-group-offsets",
        lambda shard: shard.share.offsets.begin_delete(request.group_id, may_read),
    )
    return begun.deferred.addCallback(run).addErrback(refused(_refusal))


def _refusal(error_code: ErrorCode, message: str | None) -> DeleteShareGroupOffsetsResponse:
    text = default_message(error_code) if message is None else message
    return DeleteShareGroupOffsetsResponse(error_code=error_code, error_message=text)


HANDLER: Final = ApiHandler(handle=handle)
