"""FindCoordinator (api key 10): which broker coordinates a group, a transactional id or a share partition.

Versions: v0 groups only. v1 key types and error texts. v4 many keys (KIP-699), without texts. v6 (4.x) share
partitions, `group:topic id:partition` (KIP-932). The coordinator is the leader of the key's partition of an internal
topic; the first request has the topic created and gets COORDINATOR_NOT_AVAILABLE. Mirrors
KafkaApis.handleFindCoordinatorRequest and getCoordinator.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.auto_topic_creation import create_in_background
from broker_sim.config.values import TRIMMED, parse_integer
from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.metadata.topic_names import (
    GROUP_METADATA_TOPIC_NAME,
    SHARE_GROUP_STATE_TOPIC_NAME,
    TRANSACTION_STATE_TOPIC_NAME,
)
from broker_sim.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from protocol_specs import uuids
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.find_coordinator import Coordinator, FindCoordinatorResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.find_coordinator import FindCoordinatorRequest

BATCHES_SINCE: Final = 4
ERROR_TEXTS_SINCE: Final = 1
SHARE_SINCE: Final = 6
NO_NODE: Final = (-1, "", -1)

_TEXTS: Final = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the message was "
        "sent to an incompatible broker. See the broker logs for more details."
    ),
}


class CoordinatorType(IntEnum):
    """The kind of a key. Mirrors FindCoordinatorRequest.CoordinatorType."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


def handle(request: FindCoordinatorRequest, context: RequestContext) -> FindCoordinatorResponse:
    """Return one result per key; an unknown key type fails the whole request."""
    try:
        key_type = CoordinatorType(request.key_type)
    except ValueError:
        return error_response(request, context, ErrorCode.INVALID_REQUEST)
    if key_type is CoordinatorType.SHARE and not context.behaviour.share_coordinator:
        return error_response(request, context, ErrorCode.INVALID_REQUEST)
    if context.api_version < BATCHES_SINCE:
        error_code, node = _find(request.key, key_type, context)
        return _single(error_code, node, context)
    if key_type is CoordinatorType.SHARE and context.api_version >= SHARE_SINCE and not _is_of_the_cluster(context):
        return error_response(request, context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    coordinators = []
    for key in request.coordinator_keys:
        error_code, (node_id, host, port) = _find(key, key_type, context)
        coordinators.append(
            Coordinator(key=key, node_id=node_id, host=host, port=port, error_code=error_code, error_message="")
        )
    return FindCoordinatorResponse(coordinators=coordinators)


def error_response(
    request: FindCoordinatorRequest, context: RequestContext, error_code: ErrorCode
) -> FindCoordinatorResponse:
    """The whole request fails: every key has the error and its text."""
    if context.api_version < BATCHES_SINCE:
        return _single(error_code, NO_NODE, context)
    node_id, host, port = NO_NODE
    text = _TEXTS.get(error_code)
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, node_id=node_id, host=host, port=port, error_code=error_code, error_message=text)
            for key in request.coordinator_keys
        ]
    )


def _single(error_code: ErrorCode, node: tuple[int, str, int], context: RequestContext) -> FindCoordinatorResponse:
    node_id, host, port = node
    has_text = context.api_version >= ERROR_TEXTS_SINCE and context.behaviour.coordinators_have_texts
    text = _TEXTS.get(error_code) if has_text else None
    if text and error_code is ErrorCode.GROUP_AUTHORIZATION_FAILED and context.behaviour.group_refusals_are_exceptions:
        text = f"Not authorized to access group: {text}"
    return FindCoordinatorResponse(error_code=error_code, error_message=text, node_id=node_id, host=host, port=port)


def _find(key: str, key_type: CoordinatorType, context: RequestContext) -> tuple[ErrorCode, tuple[int, str, int]]:
    if key_type is not CoordinatorType.SHARE:
        resource_type, denied = _RIGHTS[key_type]
        if not context.may(AclOperation.DESCRIBE, resource_type, key):
            return denied, NO_NODE
    elif context.api_version < SHARE_SINCE or not is_share_partition_key(key):
        return ErrorCode.INVALID_REQUEST, NO_NODE
    broker = context.broker
    image = broker.metadata_cache.image
    name = _TOPICS[key_type]
    topic = image.topics.get(name)
    if topic is None:
        create_in_background(broker, [name])
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_NODE
    index = partition_for(key, broker.coordinators.partitions.of(name))
    if index >= len(topic.partitions):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_NODE
    leader = image.nodes(context.listener_name).get(topic.partitions[index].leader)
    if leader is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_NODE
    return ErrorCode.NONE, (leader.id, leader.host, leader.port)


def _is_of_the_cluster(context: RequestContext) -> bool:
    return context.may(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)


_RIGHTS: Final = {
    CoordinatorType.GROUP: (ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    CoordinatorType.TRANSACTION: (
        ResourceType.TRANSACTIONAL_ID,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
}
"""The resources that a client must be allowed to describe, and the errors."""

_TOPICS: Final = {
    CoordinatorType.GROUP: GROUP_METADATA_TOPIC_NAME,
    CoordinatorType.TRANSACTION: TRANSACTION_STATE_TOPIC_NAME,
    CoordinatorType.SHARE: SHARE_GROUP_STATE_TOPIC_NAME,
}


def is_share_partition_key(key: str) -> bool:
    """Return True for a key `group:topic id:partition`. Mirrors SharePartitionKey.validate.

    As Java's split, it ignores colons at the end; a group id has colons, but not blanks alone.
    """
    parts = key.rstrip(":").rsplit(":", 2)
    if len(parts) != 3:
        return False
    group_id, topic_id, partition = parts
    if not group_id.strip(TRIMMED) or partition != partition.strip(TRIMMED) or parse_integer(partition, 32) is None:
        return False
    try:
        uuids.from_text(topic_id)
    except ValueError:
        return False
    return True


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
