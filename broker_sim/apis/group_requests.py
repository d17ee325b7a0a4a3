"""The parts that the handlers of groups share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.groups.client_info import ClientInfo
from broker_sim.security.acl import AclOperation, ResourceType
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_sim.apis.request_context import RequestContext

__all__ = ["client_info", "denied_heartbeat", "hide_groups_of_hidden_topics", "may_describe", "operations_on_group"]

HIDDEN_TOPICS: Final = "The group has described topic(s) that the client is not authorized to describe."


def client_info(context: RequestContext) -> ClientInfo:
    """Return the client of a request; a client without an id has an empty one, as in RequestHeader.parse."""
    return ClientInfo(context.client_id or "", f"/{context.client_host}", context.api_version, context.access)


def may_describe(names: Iterable[str], context: RequestContext) -> bool:
    """Return True if the client may describe all topics that a group names; older releases do not check them."""
    if context.access is None or not context.behaviour.groups_hide_topics:
        return True
    return all(context.may(AclOperation.DESCRIBE, ResourceType.TOPIC, name) for name in dict.fromkeys(names))


def denied_heartbeat(request: Any, topics: Iterable[str], context: RequestContext) -> ErrorCode | None:
    """Return the error of a heartbeat that the client may not send: READ on the group, DESCRIBE on its topics."""
    if not context.may(AclOperation.READ, ResourceType.GROUP, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return None if may_describe(topics, context) else ErrorCode.TOPIC_AUTHORIZATION_FAILED


def operations_on_group(context: RequestContext, group_id: str) -> int:
    """Return the operations on a group that the client may do, as a bit field (KIP-430)."""
    everything = context.behaviour.group_operations
    access = context.access
    return everything if access is None else access.operations(ResourceType.GROUP, group_id, mask=everything)


def hide_groups_of_hidden_topics(
    described: list[Any],
    topics_of: Callable[[Any], Iterable[str]],
    context: RequestContext,
    message: str = HIDDEN_TOPICS,
) -> list[Any]:
    """Return descriptions, with an error in place of those that name a topic which the client may not describe."""
    if context.access is None:
        return described
    return [
        group
        if group.error_code or may_describe(topics_of(group), context)
        else type(group)(
            group_id=group.group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=message
        )
        for group in described
    ]
